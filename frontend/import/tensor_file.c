/* SPDX-License-Identifier: MIT
 *
 * Tensors in files: NumPy's .npy, read and written, and ONNX's TensorProto (.pb), read. Elements are copied, so the
 * file is closed when the call returns. */
#include <string.h>

#include "core/files/file.h"
#include "core/files/path.h"
#include "npulab/graph.h"
#include "npulab/tensor_file.h"
#include "onnx_proto.h"
#include "tensor_file.h"
#include "tensor_npy.h"

#define MAX_NPY_BYTES ((size_t)1 << 40)
#define MAX_PB_BYTES  (((size_t)2 << 30) - 1)

/* Makes an owned tensor from the given type, shape and bytes. */
static int copy_tensor(const struct npl_tensor *from, const void *data, struct npl_tensor *tensor, struct npl_err *err)
{
	*tensor = (struct npl_tensor){.dtype = from->dtype, .shape = from->shape};
	int rc = npl_tensor_alloc(tensor, err);
	if (!rc && npl_tensor_bytes(tensor))
		memcpy(tensor->data, data, npl_tensor_bytes(tensor));
	return rc;
}

int npl_tensor_load_npy_memory(const void *data, size_t bytes, struct npl_tensor *tensor, struct npl_err *err)
{
	struct npl_tensor header = {0};
	size_t start = 0;
	int rc = npy_read_header(data, bytes, &header, &start, err);
	if (rc)
		return rc;
	char text[192];
	int64_t count = npl_tensor_count(&header);
	if (count < 0)
		return npl_fail(err, NPL_EINPUT, "the shape %s is not possible",
				npl_shape_text(&header.shape, text, sizeof text));
	if (npl_tensor_bytes(&header) != bytes - start)
		return npl_fail(err, NPL_EINPUT, "%s %s needs %zu bytes after the header, the file has %zu",
				npl_dtype_name(header.dtype), npl_shape_text(&header.shape, text, sizeof text),
				npl_tensor_bytes(&header), bytes - start);
	const unsigned char *elements = (const unsigned char *)data + start;
	if (header.dtype == NPL_BOOL)
		for (int64_t i = 0; i < count; i++)
			if (elements[i] > 1)
				return npl_fail(err, NPL_EINPUT, "element %lld, %d, is not a bool", (long long)i,
						elements[i]);
	return copy_tensor(&header, elements, tensor, err);
}

int npl_tensor_load_pb_memory(const void *data, size_t bytes, struct npl_tensor *tensor, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct npl_err local = {0};
	struct npl_tensor parsed;
	const struct onnx_reader reader = {.start = data, .arena = &arena, .err = &local};
	const unsigned char *start = data;
	int rc = onnx_tensor(&reader, (struct onnx_span){start, start + bytes}, &parsed);
	if (!rc)
		rc = copy_tensor(&parsed, parsed.data, tensor, &local);
	npl_arena_free(&arena);
	if (rc && err)
		*err = local;
	return rc;
}

int npl_tensor_load(const char *path, struct npl_tensor *tensor, struct npl_err *err)
{
	bool npy = npl_path_ends_in(path, ".npy");
	struct npl_file file;
	*tensor = (struct npl_tensor){0};
	if (!npy && !npl_path_ends_in(path, ".pb"))
		return npl_fail(err, NPL_EINPUT, "%s: the name of a tensor file must end in .npy or .pb", path);
	int rc = npl_file_map(path, npy ? MAX_NPY_BYTES : MAX_PB_BYTES, &file, err);
	if (rc)
		return rc;
	rc = npy ? npl_tensor_load_npy_memory(file.data, file.bytes, tensor, err)
		 : npl_tensor_load_pb_memory(file.data, file.bytes, tensor, err);
	if (!rc && npl_file_unchanged(&file, err)) {
		npl_tensor_free(tensor);
		npl_file_unmap(&file);
		return NPL_EINPUT;
	}
	npl_file_unmap(&file);
	if (!rc)
		return 0;
	*tensor = (struct npl_tensor){0};
	npl_prefix(err, "%s", path);
	return rc;
}

int npl_tensor_save_npy(const char *path, const struct npl_tensor *tensor, struct npl_err *err)
{
	char header[NPY_HEADER_ROOM];
	if (npl_tensor_count(tensor) < 0 || (npl_tensor_bytes(tensor) && !tensor->data))
		return npl_fail(err, NPL_EINTERNAL, "%s: the tensor to be written has no data", path);
	if (!npy_has_type(tensor->dtype))
		return npl_fail(err, NPL_EINPUT, "%s: '%s' is %s, which .npy has no type for", path,
				tensor->name ? tensor->name : "the tensor", npl_dtype_name(tensor->dtype));
	const struct npl_file_piece piece[] = {{header, npy_write_header(tensor, header)},
					       {tensor->data, npl_tensor_bytes(tensor)}};
	return npl_file_write(path, piece, 2, err);
}
