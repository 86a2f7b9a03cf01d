/* SPDX-License-Identifier: MIT
 *
 * External data: tensors whose elements are raw bytes in another file, which must be in the model's folder. Each file
 * is mapped once, and its bytes are used in place. A tensor names the file, the offset of its bytes (by default 0) and
 * their number (by default all to the file's end). Two tensors may share all their bytes, as tied weights do; a file in
 * which two tensors only overlap is refused. Checksums are not read.
 */
#ifndef NPULAB_FRONTEND_IMPORT_ONNX_EXTERNAL_H
#define NPULAB_FRONTEND_IMPORT_ONNX_EXTERNAL_H

#include "core/files/file.h"
#include "onnx_wire.h"

struct onnx_extent { /* the range of a file that one tensor uses */
	int file;
	size_t offset, bytes;
	const char *tensor;
};

struct onnx_external_file {
	char *location;
	struct npl_file file; /* zeroed once the graph has it */
};

struct onnx_external { /* zero-initialise before use */
	char *folder;
	struct onnx_external_file *file;
	int n_files;
	int64_t file_capacity;
	struct onnx_extent *extent;
	int64_t n_extents, extent_capacity;
};

int onnx_external_open(struct onnx_external *external, const char *model_path, struct npl_err *err);
void onnx_external_close(struct onnx_external *external);

/* Gives the `bytes` bytes that a TensorProto's entries (fields of this number) name. The span lasts as long as the
 * files. */
int onnx_external_data(const struct onnx_reader *reader, struct onnx_span tensor, uint32_t field_number, size_t bytes,
		       const char *tensor_name, struct onnx_span *raw);

/* Checks, after all tensors, that none overlap. Returns NPL_EINPUT with two that do. external may be NULL. */
int onnx_external_check(struct onnx_external *external, struct npl_err *err);

#endif
