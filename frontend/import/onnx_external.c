/* SPDX-License-Identifier: MIT
 *
 * External data (onnx_external.h): StringStringEntryProto messages that name a file and a range of it. */
#include "onnx_external.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

#define MAX_FILES 4096 /* more mappings than this reach the system's limit */

int onnx_external_open(struct onnx_external *external, const char *model_path, struct npl_err *err)
{
	const char *slash = strrchr(model_path, '/');
	*external = (struct onnx_external){0};
	if (slash)
		external->folder = strndup(model_path, slash == model_path ? 1 : (size_t)(slash - model_path));
	else
		external->folder = strdup(".");
	return external->folder ? 0 : npl_no_memory(err);
}

void onnx_external_close(struct onnx_external *external)
{
	for (int i = 0; i < external->n_files; i++) {
		npl_file_unmap(&external->file[i].file);
		free(external->file[i].location);
	}
	free(external->file);
	free(external->extent);
	free(external->folder);
	*external = (struct onnx_external){0};
}

/* The entries of a tensor. */
struct range {
	const char *location, *offset, *length; /* NULL: not given */
};

static int read_entry(const struct onnx_reader *reader, struct onnx_span entry, struct range *range)
{
	struct onnx_field field;
	const char *key = "", *value = "";
	int rc;
	while ((rc = onnx_next(reader, &entry, &field)) > 0) {
		rc = 0;
		if (field.number == ENTRY_KEY)
			rc = onnx_string(reader, &field, "the key of external data", &key);
		else if (field.number == ENTRY_VALUE)
			rc = onnx_string(reader, &field, "the value of external data", &value);
		if (rc)
			return rc;
	}
	const char **target = !strcmp(key, "location") ? &range->location
			      : !strcmp(key, "offset") ? &range->offset
			      : !strcmp(key, "length") ? &range->length
						       : NULL;
	if (!rc && target && *target)
		return npl_fail(reader->err, NPL_EINPUT, "its external data has two entries '%s'", key);
	if (target)
		*target = value;
	return rc;
}

static int read_range(const struct onnx_reader *reader, struct onnx_span tensor, uint32_t field_number,
		      struct range *range)
{
	struct onnx_field field;
	int rc;
	while ((rc = onnx_next(reader, &tensor, &field)) > 0)
		if (field.number == field_number && (rc = read_entry(reader, field.bytes, range)) != 0)
			return rc;
	if (!rc && !range->location)
		rc = npl_fail(reader->err, NPL_EINPUT, "its elements are in another file, which it does not name");
	return rc;
}

/* Reads a number of bytes: decimal digits and nothing else. */
static int read_bytes(const struct onnx_reader *reader, const char *field_name, const char *text, size_t *bytes)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno || *end || text[strspn(text, "0123456789")] || !*text || number > SIZE_MAX)
		return npl_fail(reader->err, NPL_EINPUT,
				"the %s of its external data is '%s', expected a number of bytes", field_name, text);
	*bytes = (size_t)number;
	return 0;
}

/* Returns the index of a file of the folder, which is mapped when it is first named, or a negative code. */
static int open_file(const struct onnx_reader *reader, const char *location)
{
	struct onnx_external *external = reader->external;
	for (int i = 0; i < external->n_files; i++)
		if (!strcmp(external->file[i].location, location))
			return i;
	if (external->n_files == MAX_FILES)
		return npl_fail(reader->err, NPL_EINPUT, "the model names more than %d other files", MAX_FILES);
	struct onnx_external_file *files = npl_grow(external->file, external->n_files, &external->file_capacity,
						    sizeof *files);
	if (!files)
		return npl_no_memory(reader->err);
	external->file = files;
	struct onnx_external_file file = {.location = strdup(location)};
	if (!file.location)
		return npl_no_memory(reader->err);
	int rc = npl_file_map_beneath(external->folder, location, SIZE_MAX, &file.file, reader->err);
	if (rc) {
		free(file.location);
		return rc;
	}
	files[external->n_files] = file;
	return external->n_files++;
}

int onnx_external_data(const struct onnx_reader *reader, struct onnx_span tensor, uint32_t field_number, size_t bytes,
		       const char *tensor_name, struct onnx_span *raw)
{
	struct onnx_external *external = reader->external;
	struct range range = {0};
	struct onnx_extent extent = {.tensor = tensor_name ? tensor_name : ""};
	int rc = read_range(reader, tensor, field_number, &range);
	if (rc)
		return rc;
	if (!external)
		return npl_fail(
			reader->err, NPL_EINPUT,
			"its elements are in another file, '%s' (external data), but what is read has no folder",
			range.location);
	if (range.offset && (rc = read_bytes(reader, "offset", range.offset, &extent.offset)))
		return rc;
	extent.bytes = bytes;
	if (range.length && (rc = read_bytes(reader, "length", range.length, &extent.bytes)))
		return rc;
	if (extent.bytes != bytes)
		return npl_fail(reader->err, NPL_EINPUT, "it needs %zu bytes, its external data has %zu", bytes,
				extent.bytes);
	extent.file = open_file(reader, range.location);
	if (extent.file < 0)
		return extent.file;
	const struct npl_file *file = &external->file[extent.file].file;
	if (extent.offset > file->bytes || file->bytes - extent.offset < bytes)
		return npl_fail(reader->err, NPL_EINPUT,
				"it needs %zu bytes from %zu on of the file '%s', which has %zu", bytes, extent.offset,
				range.location, file->bytes);
	if (!range.length && file->bytes - extent.offset != bytes)
		return npl_fail(reader->err, NPL_EINPUT,
				"it needs %zu bytes, the file '%s' has %zu from %zu on and no length is given", bytes,
				range.location, file->bytes - extent.offset, extent.offset);
	struct onnx_extent *extents = npl_grow(external->extent, external->n_extents, &external->extent_capacity,
					       sizeof *extents);
	if (!extents)
		return npl_no_memory(reader->err);
	external->extent = extents;
	extents[external->n_extents++] = extent;
	raw->at = (const unsigned char *)file->data + extent.offset;
	raw->end = raw->at + bytes;
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct onnx_extent *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

int onnx_external_check(struct onnx_external *external, struct npl_err *err)
{
	if (!external || !external->n_extents)
		return 0;
	qsort(external->extent, (size_t)external->n_extents, sizeof *external->extent, by_offset);
	const struct onnx_extent *last = &external->extent[0];
	for (int64_t i = 1; i < external->n_extents; i++) {
		const struct onnx_extent *next = &external->extent[i];
		const bool is_same = next->file == last->file && next->offset == last->offset &&
				     next->bytes == last->bytes;
		if (!is_same && next->file == last->file && next->bytes && next->offset < last->offset + last->bytes)
			return npl_fail(
				err, NPL_EINPUT,
				"tensors '%s' and '%s' overlap in the file '%s': bytes %zu to %zu and %zu to %zu",
				last->tensor, next->tensor, external->file[last->file].location, last->offset,
				last->offset + last->bytes, next->offset, next->offset + next->bytes);
		if (next->bytes)
			last = next;
	}
	return 0;
}
