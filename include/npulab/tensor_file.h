/* SPDX-License-Identifier: MIT
 *
 * Tensors in files: NumPy's .npy, and .pb, a TensorProto of ONNX.
 *
 *     struct npl_tensor x;
 *     if (npl_tensor_load("x.npy", &x, &err)) ...
 *     npl_tensor_free(&x);
 */
#ifndef NPULAB_TENSOR_FILE_H
#define NPULAB_TENSOR_FILE_H

#include "npulab/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a tensor from NAME.npy or NAME.pb; the name's ending says which. The tensor owns its data (npl_tensor_free);
 * its name is not set. Returns NPL_EINPUT, with the path, for a file that cannot be read or is not such a tensor, or
 * NPL_ENOMEM. */
int npl_tensor_load(const char *path, struct npl_tensor *tensor, struct npl_err *err);
/* Writes a tensor as .npy, whole or not at all: a failed write leaves the path as it was. Returns NPL_EOUTPUT, or
 * NPL_EINPUT for a type that .npy does not have. */
int npl_tensor_save_npy(const char *path, const struct npl_tensor *tensor, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
