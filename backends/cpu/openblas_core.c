/* SPDX-License-Identifier: MIT
 *
 * The processor's vectors and OpenBLAS's kernel families (openblas_core.h). The families' names are from the table of
 * corename in OpenBLAS's driver/others/dynamic.c, version 0.3.21. */
#include "openblas_core.h"

#include <cpuid.h>
#include <stddef.h>
#include <strings.h>

#include "npulab/cpu_features.h"

static enum cpu_level level_of(bool (*has)(unsigned set))
{
	if (!has(NPL_CPU_AVX))
		return CPU_SSE;
	if (!has(NPL_CPU_AVX2 | NPL_CPU_FMA))
		return CPU_AVX;
	return has(NPL_CPU_AVX512) ? CPU_AVX512 : CPU_AVX2;
}

struct cpu_vectors cpu_vectors_detect(void)
{
	unsigned eax, ebx, ecx = 0, edx = 0;
	__builtin_cpu_init();
	const bool extended = __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx);
	return (struct cpu_vectors){.level = level_of(npl_cpu_has),
				    .amd = __builtin_cpu_is("amd"),
				    .limited = npl_cpu_cap(),
				    .detected = level_of(npl_cpu_has_uncapped),
				    .fma4 = extended && (ecx & bit_FMA4),
				    .three_d_now = extended && (edx & bit_3DNOW)};
}

const char *cpu_level_name(enum cpu_level level)
{
	switch (level) {
	case CPU_SSE:
		return "SSE";
	case CPU_AVX:
		return "AVX";
	case CPU_AVX2:
		return "AVX2";
	case CPU_AVX512:
		return "AVX-512";
	}
	return NULL;
}

/* Returns the name of the kernel family for a processor. SkylakeX fits every AVX-512 processor: its float32 kernels are
 * those of Cooperlake too (180 and 170 GFLOP/s on a 1024^3 product, within the noise; Haswell's reach 100, Prescott's
 * 37). OpenBLAS 0.3.21 looks up no later name: for Cooperlake, SapphireRapids or nonsense it warns that it knows no
 * such core. */
const char *cpu_core_for(struct cpu_vectors vectors)
{
	switch (vectors.level) {
	case CPU_AVX512:
		return "SkylakeX";
	case CPU_AVX2:
		return vectors.amd ? "Zen" : "Haswell";
	case CPU_AVX:
		return vectors.limited ? "Sandybridge" : NULL;
	default: /* OpenBLAS's SSE3 kernels; in 64 bits it has none of SSE2 alone */
		return vectors.limited ? "Prescott" : NULL;
	}
}

static const struct family {
	const char *name;
	enum cpu_level level;
	enum { NOTHING_ELSE, FMA4, THREE_D_NOW } needs;
} families[] = {
	{"Katmai", CPU_SSE, NOTHING_ELSE},
	{"Coppermine", CPU_SSE, NOTHING_ELSE},
	{"Northwood", CPU_SSE, NOTHING_ELSE},
	{"Prescott", CPU_SSE, NOTHING_ELSE},
	{"Banias", CPU_SSE, NOTHING_ELSE},
	{"Atom", CPU_SSE, NOTHING_ELSE},
	{"Core2", CPU_SSE, NOTHING_ELSE},
	{"Penryn", CPU_SSE, NOTHING_ELSE},
	{"Dunnington", CPU_SSE, NOTHING_ELSE},
	{"Nehalem", CPU_SSE, NOTHING_ELSE},
	{"Athlon", CPU_SSE, NOTHING_ELSE},
	{"Opteron", CPU_SSE, THREE_D_NOW},
	{"Opteron_SSE3", CPU_SSE, THREE_D_NOW},
	{"Barcelona", CPU_SSE, NOTHING_ELSE},
	{"Nano", CPU_SSE, NOTHING_ELSE},
	{"Bobcat", CPU_SSE, NOTHING_ELSE},
	{"Sandybridge", CPU_AVX, NOTHING_ELSE},
	{"Bulldozer", CPU_AVX, FMA4},
	{"Piledriver", CPU_AVX, FMA4},
	{"Steamroller", CPU_AVX, FMA4},
	{"Excavator", CPU_AVX2, FMA4},
	{"Haswell", CPU_AVX2, NOTHING_ELSE},
	{"Zen", CPU_AVX2, NOTHING_ELSE},
	{"SkylakeX", CPU_AVX512, NOTHING_ELSE},
	{"Cooperlake", CPU_AVX512, NOTHING_ELSE},
};

static const struct family *family_called(const char *name)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!strcasecmp(name, families[i].name))
			return &families[i];
	return NULL;
}

enum cpu_level cpu_core_level(const char *core)
{
	const struct family *family = family_called(core);
	return family ? family->level : CPU_AVX512;
}

bool cpu_core_runs(const char *core, struct cpu_vectors vectors)
{
	const struct family *family = family_called(core);
	if (!family)
		return true;
	return family->level <= vectors.detected && (family->needs != FMA4 || vectors.fma4) &&
	       (family->needs != THREE_D_NOW || vectors.three_d_now);
}
