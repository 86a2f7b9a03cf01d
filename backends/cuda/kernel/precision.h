/* SPDX-License-Identifier: MIT
 *
 * The precisions of the cuda device: what float32 tensors are stored as on the GPU and what products are computed in.
 */
#ifndef NPULAB_BACKENDS_CUDA_KERNEL_PRECISION_H
#define NPULAB_BACKENDS_CUDA_KERNEL_PRECISION_H

#include <stddef.h>

/* X(constant, word, further words for it, the members of struct cu_precision_def after the word) */
#define CU_PRECISION_LIST(X)                                                                                           \
	X(CU_F32, "f32", "/float32", 50, NULL, 0, "float32")                                                           \
	X(CU_TF32, "tf32", "", 80, "tf32", 4, "products of float32 in TF32")                                           \
	X(CU_F16, "f16", "/float16", 53, "float16", 2, "values in float16, sums in float32")                           \
	X(CU_BF16, "bf16", "/bfloat16", 80, "bfloat16", 2, "values in bfloat16, sums in float32")                      \
	X(CU_INT8, "int8", "", 75, NULL, 0, "int8, sums in int32")

#define CU_PRECISION_CONSTANT(constant, ...) constant,
enum cu_precision { CU_PRECISION_LIST(CU_PRECISION_CONSTANT) CU_PRECISIONS };

struct cu_precision_def {
	const char *word;
	int capability;      /* the least compute capability of a GPU that has it; 53: 5.3 */
	const char *element; /* NULL: the number format's name and bytes are right */
	size_t element_bytes;
	const char *numbers; /* for the device's description */
};
extern const struct cu_precision_def cu_precisions[CU_PRECISIONS];

#endif
