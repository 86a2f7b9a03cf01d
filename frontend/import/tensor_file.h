/* SPDX-License-Identifier: MIT
 *
 * Private: npl_tensor_load on a buffer, for tests and fuzzing. Messages have no path.
 */
#ifndef NPULAB_FRONTEND_IMPORT_TENSOR_FILE_H
#define NPULAB_FRONTEND_IMPORT_TENSOR_FILE_H

#include "npulab/tensor.h"

int npl_tensor_load_npy_memory(const void *data, size_t bytes, struct npl_tensor *tensor, struct npl_err *err);
int npl_tensor_load_pb_memory(const void *data, size_t bytes, struct npl_tensor *tensor, struct npl_err *err);

#endif
