/* SPDX-License-Identifier: MIT
 *
 * Whole files, for the readers of models, tensors and machine descriptions: a regular file mapped read-only,
 * refused with one clear line when it is missing, a directory, a device, empty or larger than the caller allows.
 *
 *     struct npl_file file;
 *     if (npl_file_map("net.onnx", 2u << 30, &file, &err)) ...
 *     parse(file.data, file.bytes);
 *     npl_file_unmap(&file);
 *
 * The mapping is private, but a file that another program shortens meanwhile still faults on access, as with
 * any mapping; copies of it would cost a large model its load time.
 */
#ifndef NPULAB_FILE_H
#define NPULAB_FILE_H

#include <stddef.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_file {
	const void *data; /* page-aligned, read-only */
	size_t bytes;     /* > 0 */
};

/* NPL_EINPUT, with the path in the message: cannot be opened, not a regular file, empty, more than max_bytes. */
int npl_file_map(const char *path, size_t max_bytes, struct npl_file *file, struct npl_err *err);
/* The same of a file that another file names: `location` is relative to the folder and must stay inside it, also through links
 * (a link to a file of the folder is followed). NPL_EINPUT too when it does not. */
int npl_file_map_beneath(const char *folder, const char *location, size_t max_bytes, struct npl_file *file,
			 struct npl_err *err);
void npl_file_unmap(struct npl_file *file); /* accepts a zeroed one; leaves it zeroed */

/* Writes a whole file or none: to a temporary beside it, then renamed over it; a failure leaves no file behind
 * and the old one as it was. The pieces are written one after the other. NPL_EOUTPUT. */
struct npl_file_piece {
	const void *data;
	size_t bytes;
};
int npl_file_write(const char *path, const struct npl_file_piece *piece, int n_pieces, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
