/* SPDX-License-Identifier: MIT
 *
 * Private: the header of NumPy's .npy format (numpy.lib.format, versions 1.0 and 2.0): a magic string, a length and
 * a Python dictionary with the element type, the order and the shape.
 */
#ifndef NPULAB_FRONTEND_IMPORT_TENSOR_NPY_H
#define NPULAB_FRONTEND_IMPORT_TENSOR_NPY_H

#include "npulab/tensor.h"

#define NPY_MAX_HEADER 65536

/* Reads the header; *start is the position of the elements. Returns NPL_EINPUT for a bad header. */
int npy_read_header(const unsigned char *data, size_t bytes, struct npl_tensor *tensor, size_t *start,
		    struct npl_err *err);

bool npy_has_type(enum npl_dtype dtype);

/* Writes a version 1.0 header, padded to a multiple of 64 bytes, and returns its length. */
#define NPY_HEADER_ROOM 512 /* enough for NPL_MAX_RANK dimensions */
size_t npy_write_header(const struct npl_tensor *tensor, char header[NPY_HEADER_ROOM]);

#endif
