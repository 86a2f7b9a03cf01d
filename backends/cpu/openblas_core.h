/* SPDX-License-Identifier: MIT
 *
 * What vector instructions this processor has, which of OpenBLAS's kernel families fits them, and how old a
 * family is. OpenBLAS 0.3.21 (Debian 12) knows processors by model number and takes Intel's since Sapphire Rapids
 * for a Prescott of 2004, whose SSE3 kernels are five times slower; it is told the family by OPENBLAS_CORETYPE.
 */
#ifndef NPULAB_BACKENDS_CPU_OPENBLAS_CORE_H
#define NPULAB_BACKENDS_CPU_OPENBLAS_CORE_H

#include <stdbool.h>

enum cpu_level { CPU_SSE, CPU_AVX, CPU_AVX2, CPU_AVX512 }; /* float32 vectors of 4, 8, 8 with FMA, 16 with FMA */

struct cpu_vectors {
	enum cpu_level level;
	bool amd;
	bool limited;            /* by NPULAB_MAX_ISA, of which OpenBLAS knows nothing */
	enum cpu_level detected; /* of the processor, whatever that variable says */
	bool fma4,
		three_d_now; /* of some of AMD's processors: kernels of Bulldozer to Excavator, and of Opteron, end the program elsewhere */
};

/* What CPUID says and the operating system saves on a task switch (XCR0). */
struct cpu_vectors cpu_vectors_detect(void);
/* "SSE", "AVX", "AVX2", "AVX-512" */
const char *cpu_level_name(enum cpu_level level);

/* The value of OPENBLAS_CORETYPE for a processor, or NULL to leave the choice to OpenBLAS. */
const char *cpu_core_for(struct cpu_vectors vectors);
/* The vectors that a kernel family uses, by the name that openblas_get_corename gives; an unknown name, of a later
 * OpenBLAS, is taken for one that it chose well: the highest level. */
enum cpu_level cpu_core_level(const char *core);
/* Whether the processor has the instructions of these kernels; of an unknown name, which OpenBLAS does not take,
 * true. */
bool cpu_core_runs(const char *core, struct cpu_vectors vectors);

#endif
