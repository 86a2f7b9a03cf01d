/* SPDX-License-Identifier: MIT
 *
 * Writes bytes of a memory as numbers (exec_output.h). */
#include "exec_output.h"

#include <string.h>

#include "common.h"
#include "core/base/arith.h"
#include "core/files/words.h"

static const enum npl_dtype types[] = {NPL_U8, NPL_I8, NPL_I16, NPL_I32};
enum { TYPES = sizeof types / sizeof *types };

bool exec_output_is_text(const char *path)
{
	const size_t n = strlen(path);
	return !strcmp(path, "-") || (n > 4 && !strcmp(path + n - 4, ".txt"));
}

/* Reads "64x512" or "64x512:8". */
static bool read_shape(const char *text, struct exec_form *form)
{
	char word[80];
	if (snprintf(word, sizeof word, "%s", text) >= (int)sizeof word)
		return false;
	char *x = strchr(word, 'x'), *cursor = strchr(word, ':');
	if (!x || (cursor && cursor < x) || (cursor && !npl_parse_count(cursor + 1, &form->first)))
		return false;
	*x = '\0';
	if (cursor)
		*cursor = '\0';
	return npl_parse_count(word, &form->rows) && npl_parse_count(x + 1, &form->columns) && form->rows > 0 &&
	       form->columns > 0 && form->rows <= NPL_MAX_ELEMENTS / form->columns;
}

int exec_form_read(const char *option, const char *text, struct exec_form *form, struct npl_err *err)
{
	*form = (struct exec_form){.type = NPL_U8, .has_type = text != NULL, .first = -1};
	if (!text)
		return 0;
	const size_t length = strcspn(text, ":");
	int found = -1;
	for (int i = 0; i < TYPES; i++) {
		const char *name = npl_dtype_name(types[i]);
		if (strlen(name) == length && !strncmp(name, text, length))
			found = i;
	}
	if (found < 0 || (text[length] && !read_shape(text + length + 1, form)))
		return npl_fail(err, NPL_EUSAGE,
				"--%s %s: expected uint8, int8, int16 or int32, then nothing, or the shape as "
				"int32:64x512, or where it begins too, as int32:64x512:128",
				option, text);
	form->type = types[found];
	return 0;
}

/* The layout of the numbers: blocks of `wide` columns side by side, each with `rows` rows a plane, one plane after the
 * other. */
struct layout {
	int64_t rows, columns, wide;
	int64_t planes; /* bytes of a number that are in rows of their own */
	int64_t size;   /* bytes of a number that are side by side */
	int64_t origin; /* offset of the numbers among the bytes */
};

static int64_t blocks_of(const struct layout *l)
{
	return npl_div_up_i64(l->columns, l->wide);
}

/* Returns the bytes from the first one of the numbers to the last. */
static int64_t bytes_of(const struct layout *l)
{
	return blocks_of(l) * l->planes * l->rows * l->wide * l->size;
}

static int wrong_size(const struct exec_form *form, const struct exec_bytes *bytes, const struct layout *l,
		      struct npl_err *err)
{
	const char *type = npl_dtype_name(form->type),
		   *planes = l->planes > 1 ? ", each byte in a plane of its own" : "";
	if (!form->columns)
		return npl_fail(err, NPL_EINPUT, "%zu bytes of %s were written, expected a multiple of %lld for %s%s",
				bytes->n, bytes->name,
				(long long)(l->planes * l->size * (bytes->row_bytes ? l->wide : 1)), type, planes);
	return npl_fail(err, NPL_EINPUT, "%s: bytes %zu to %zu were written, expected %lld%s for %s of %lldx%lld%s",
			bytes->name, bytes->address, bytes->address + bytes->n - 1, (long long)bytes_of(l),
			form->first < 0 ? "" : " of them from there on", type, (long long)l->rows,
			(long long)l->columns, planes);
}

/* Fills in what the option does not state: rows as wide as the memory's, or one row. */
static int lay_out(const struct exec_form *form, const struct exec_bytes *bytes, struct layout *l, struct npl_err *err)
{
	const int64_t size = (int64_t)npl_dtype_size(form->type), n = (int64_t)bytes->n;
	const int64_t wide = (int64_t)bytes->row_bytes, unit = wide ? wide : 1;
	*l = (struct layout){.rows = form->rows,
			     .columns = form->columns,
			     .planes = bytes->planes ? size : 1,
			     .size = bytes->planes ? 1 : size};
	if (!form->columns) {
		l->columns = wide ? wide : n / size;
		l->rows = wide ? n / size / wide : 1;
	}
	l->wide = wide ? wide : l->columns ? l->columns : 1;
	if (form->first < 0)
		return bytes_of(l) == n ? 0 : wrong_size(form, bytes, l, err);
	if (form->first > (int64_t)(bytes->address + bytes->n) / unit)
		return wrong_size(form, bytes, l, err);
	l->origin = form->first * unit - (int64_t)bytes->address;
	return l->origin >= 0 && bytes_of(l) <= n - l->origin ? 0 : wrong_size(form, bytes, l, err);
}

static int32_t number_at(const struct layout *l, const struct exec_bytes *bytes, enum npl_dtype type, int64_t row,
			 int64_t column)
{
	const int64_t block = column / l->wide * l->planes * l->rows, lane = column % l->wide;
	uint32_t bits = 0;
	for (int64_t p = 0; p < l->planes; p++)
		for (int64_t b = 0; b < l->size; b++) {
			const int64_t at = l->origin + ((block + p * l->rows + row) * l->wide + lane) * l->size + b;
			bits |= (uint32_t)bytes->data[at] << 8 * (p + b);
		}
	return type == NPL_I8 ? (int8_t)bits : type == NPL_I16 ? (int16_t)bits : (int32_t)bits;
}

static void put_text(FILE *out, const void *data)
{
	const struct npl_tensor *numbers = data;
	const int64_t columns = numbers->shape.dim[numbers->shape.rank - 1];
	for (int64_t i = 0; i < npl_tensor_count(numbers); i++)
		fprintf(out, "%.0f%c", npl_tensor_real(numbers, i), (i + 1) % columns ? ' ' : '\n');
}

static void put_number(struct npl_tensor *numbers, int64_t i, int32_t value)
{
	const size_t size = npl_dtype_size(numbers->dtype);
	const int8_t narrow = (int8_t)value;
	const int16_t middle = (int16_t)value;
	memcpy((char *)numbers->data + size * (size_t)i,
	       size == 1   ? (const void *)&narrow
	       : size == 2 ? (const void *)&middle
			   : (const void *)&value,
	       size);
}

int exec_output_make(const struct exec_form *form, const struct exec_bytes *bytes, bool text,
		     struct npl_tensor *numbers, struct npl_err *err)
{
	struct exec_form resolved = *form;
	struct layout l;
	*numbers = (struct npl_tensor){0};
	if (!form->has_type && text)
		resolved.type = bytes->word;
	if (lay_out(&resolved, bytes, &l, err))
		return err->code;
	*numbers = (struct npl_tensor){.dtype = resolved.type, .shape = npl_shape_of(2, l.rows, l.columns)};
	if (!form->has_type && !text)
		numbers->shape = npl_shape_of(1, l.rows * l.columns);
	const int rc = npl_tensor_alloc(numbers, err);
	for (int64_t i = 0; !rc && i < l.rows * l.columns; i++)
		put_number(numbers, i, number_at(&l, bytes, resolved.type, i / l.columns, i % l.columns));
	return rc;
}

int exec_output_write(const char *path, const struct npl_tensor *numbers, struct npl_err *err)
{
	return exec_output_is_text(path) ? cli_write_text(path, put_text, numbers, err)
					 : cli_write_tensor(path, numbers, err);
}
