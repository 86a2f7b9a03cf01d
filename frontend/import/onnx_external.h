/* SPDX-License-Identifier: MIT
 *
 * External data: tensors whose elements are raw bytes in another file, which must lie in the model's folder. Each file
 * is mapped once, and its bytes are used where they are. A tensor names the file, where its bytes begin (0 unless said)
 * and how many there are (all to the file's end unless said). Two tensors may share their bytes as a whole, as tied
 * weights do; where they only overlap, something is wrong with the file, and it is refused. Checksums are not looked
 * at.
 */
#ifndef NPULAB_FRONTEND_IMPORT_ONNX_EXTERNAL_H
#define NPULAB_FRONTEND_IMPORT_ONNX_EXTERNAL_H

#include "core/files/file.h"
#include "onnx_wire.h"

struct onnx_extent { /* of a file, as one tensor uses it */
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

/* The `bytes` bytes that a TensorProto's entries (fields of this number) name. The span lasts as long as the files. */
int onnx_external_data(const struct onnx_reader *reader, struct onnx_span tensor, uint32_t field_number, size_t bytes,
		       const char *tensor_name, struct onnx_span *raw);

/* After all tensors: NPL_EINPUT naming two that overlap. NULL is accepted. */
int onnx_external_check(struct onnx_external *external, struct npl_err *err);

#endif
