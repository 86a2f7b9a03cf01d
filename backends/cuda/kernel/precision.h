/* SPDX-License-Identifier: MIT
 *
 * The precisions of the cuda device: what float32 tensors are stored as on the GPU and what products are computed in.
 */
#ifndef NPULAB_BACKENDS_CUDA_KERNEL_PRECISION_H
#define NPULAB_BACKENDS_CUDA_KERNEL_PRECISION_H

enum cu_precision { CU_F32, CU_TF32, CU_F16, CU_BF16, CU_INT8, CU_PRECISIONS };

#endif
