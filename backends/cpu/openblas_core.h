/* SPDX-License-Identifier: MIT
 *
 * The processor's vector instructions, the kernel family of OpenBLAS that fits them, and the instructions that a family
 * uses. OpenBLAS 0.3.21 (Debian 12) knows processors by model number and takes Intel's processors since Sapphire Rapids
 * for a Prescott of 2004, whose SSE3 kernels are five times slower. OPENBLAS_CORETYPE tells it the right family.
 */
#ifndef NPULAB_BACKENDS_CPU_OPENBLAS_CORE_H
#define NPULAB_BACKENDS_CPU_OPENBLAS_CORE_H

#include <stdbool.h>

enum cpu_level { CPU_SSE, CPU_AVX, CPU_AVX2, CPU_AVX512 }; /* float32 vectors of 4, 8, 8 with FMA, 16 with FMA */

struct cpu_vectors {
	enum cpu_level level;
	bool amd;
	bool limited;            /* NPULAB_MAX_ISA lowers the level, which OpenBLAS does not know */
	enum cpu_level detected; /* the processor's level, without NPULAB_MAX_ISA */
	/* Instructions of some AMD processors. Without them kernels of Bulldozer to Excavator, or of Opteron, end the
	 * program. */
	bool fma4, three_d_now;
};

/* Asks CPUID for the instructions, and XCR0 whether the operating system saves their registers. */
struct cpu_vectors cpu_vectors_detect(void);
/* Returns "SSE", "AVX", "AVX2" or "AVX-512". */
const char *cpu_level_name(enum cpu_level level);

/* Returns the value of OPENBLAS_CORETYPE for a processor, or NULL to leave the choice to OpenBLAS. */
const char *cpu_core_for(struct cpu_vectors vectors);
/* Returns the level of vectors that a kernel family uses, by its name from openblas_get_corename. For an unknown name,
 * of a later OpenBLAS, it is the highest level, as if OpenBLAS had chosen well. */
enum cpu_level cpu_core_level(const char *core);
/* Says whether the processor has the instructions of these kernels; true for an unknown name, which OpenBLAS does not
 * accept. */
bool cpu_core_runs(const char *core, struct cpu_vectors vectors);

#endif
