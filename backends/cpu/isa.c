/* SPDX-License-Identifier: MIT
 *
 * Processor and kernel families; see isa.h. Names of families: the table of corename in OpenBLAS's
 * driver/others/dynamic.c, version 0.3.21. */
#include "isa.h"

#include <stddef.h>
#include <strings.h>

#include "npulab/isa.h"

struct cpu_isa cpu_isa_detect(void)
{
	__builtin_cpu_init();
	struct cpu_isa isa = {.level = CPU_SSE, .amd = __builtin_cpu_is("amd"), .limited = npl_isa_limit()};
	if (npl_isa_has(NPL_ISA_AVX))
		isa.level = CPU_AVX;
	if (npl_isa_has(NPL_ISA_AVX2 | NPL_ISA_FMA))
		isa.level = CPU_AVX2;
	if (isa.level == CPU_AVX2 && npl_isa_has(NPL_ISA_AVX512))
		isa.level = CPU_AVX512;
	return isa;
}

const char *cpu_level_name(enum cpu_level level)
{
	static const char *const names[] = {
		[CPU_SSE] = "SSE", [CPU_AVX] = "AVX", [CPU_AVX2] = "AVX2", [CPU_AVX512] = "AVX-512"};
	return names[level];
}

/* SkylakeX for every AVX-512 processor: its float32 kernels are those of Cooperlake too (180 and 170 GFLOP/s on a
 * 1024^3 product, within the noise, where Haswell's reach 100 and Prescott's 37), and 0.3.21 looks up no name beyond
 * it: asked for Cooperlake, SapphireRapids or nonsense it warns that it knows no such core. */
const char *cpu_core_for(struct cpu_isa isa)
{
	switch (isa.level) {
	case CPU_AVX512:
		return "SkylakeX";
	case CPU_AVX2:
		return isa.amd ? "Zen" : "Haswell";
	case CPU_AVX:
		return isa.limited ? "Sandybridge" : NULL;
	default: /* its kernels of SSE3; it has none of SSE2 alone in 64 bits */
		return isa.limited ? "Prescott" : NULL;
	}
}

enum cpu_level cpu_core_level(const char *core)
{
	static const struct {
		const char *name;
		enum cpu_level level;
	} table[] = {
		{"Katmai", CPU_SSE},       {"Coppermine", CPU_SSE}, {"Northwood", CPU_SSE},  {"Prescott", CPU_SSE},
		{"Banias", CPU_SSE},       {"Atom", CPU_SSE},       {"Core2", CPU_SSE},      {"Penryn", CPU_SSE},
		{"Dunnington", CPU_SSE},   {"Nehalem", CPU_SSE},    {"Athlon", CPU_SSE},     {"Opteron", CPU_SSE},
		{"Opteron_SSE3", CPU_SSE}, {"Barcelona", CPU_SSE},  {"Nano", CPU_SSE},       {"Bobcat", CPU_SSE},
		{"Sandybridge", CPU_AVX},  {"Bulldozer", CPU_AVX},  {"Piledriver", CPU_AVX}, {"Steamroller", CPU_AVX},
		{"Excavator", CPU_AVX2},   {"Haswell", CPU_AVX2},   {"Zen", CPU_AVX2},       {"SkylakeX", CPU_AVX512},
		{"Cooperlake", CPU_AVX512}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcasecmp(core, table[i].name))
			return table[i].level;
	return CPU_AVX512;
}
