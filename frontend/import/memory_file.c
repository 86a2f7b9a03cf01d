/* SPDX-License-Identifier: MIT
 *
 * A machine's memory from a file (memory_file.h). A text is read twice: the first time to know how many bytes it
 * makes. */
#include "memory_file.h"

#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/nearest.h"
#include "core/files/file.h"
#include "core/files/path.h"
#include "core/files/words.h"
#include "npulab/graph.h"
#include "npulab/tensor_file.h"
#include "tensor_file.h"

#define MAX_BYTES ((size_t)1 << 31) /* the most bytes of a text, and of its values */

/* The types of numbers with the range of integers; that of float32 is not a range of integers. */
static const struct type {
	enum npl_dtype dtype;
	int64_t low, high;
} types[] = {
	{NPL_I8, INT8_MIN, INT8_MAX}, {NPL_U8, 0, UINT8_MAX},          {NPL_I16, INT16_MIN, INT16_MAX},
	{NPL_U16, 0, UINT16_MAX},     {NPL_I32, INT32_MIN, INT32_MAX}, {NPL_F32, 0, 0},
};
enum { TYPES = sizeof types / sizeof *types };
/* The numbers that 8 bits can hold, with a sign or without. */
static const struct type byte = {NPL_U8, INT8_MIN, UINT8_MAX};

static const char *name_of(const struct type *type)
{
	return type == &byte ? "a byte" : npl_dtype_name(type->dtype);
}

struct reader {
	struct npl_words words;
	const struct type *type;
	uint8_t *bytes; /* NULL: they are only counted */
	uint64_t n;     /* bytes so far */
	uint64_t row;   /* bytes of every row; 0: as many as its numbers need */
	/* The numbers in each line of the matrix; 0: the next line begins a matrix. */
	int64_t columns;
	int columns_line;
};

static int no_number(struct reader *r)
{
	if (r->type->dtype == NPL_F32)
		return npl_words_complain(&r->words, "'%s' is not a number, expected one of float32", r->words.word);
	return npl_words_complain(&r->words, "'%s' is not a whole number, expected one from %lld to %lld (%s)",
				  r->words.word, (long long)r->type->low, (long long)r->type->high, name_of(r->type));
}

static int put(struct reader *r, uint32_t bits, size_t bytes)
{
	if (bytes > MAX_BYTES - r->n)
		return npl_words_complain(&r->words, "more than %zu bytes of memory", MAX_BYTES);
	for (size_t i = 0; i < bytes && r->bytes; i++)
		r->bytes[r->n + i] = (uint8_t)(bits >> 8 * i);
	r->n += bytes;
	return 0;
}

/* Reads a whole number, which may be written as 3, 0x03 and, as numpy.savetxt does, 3.0e+00. */
static bool whole_number(const char *word, int64_t *value)
{
	double real;
	if (npl_parse_integer(word, value))
		return true;
	if (!npl_parse_number(word, &real) || real != floor(real) || fabs(real) > UINT32_MAX)
		return false;
	*value = (int64_t)real;
	return true;
}

static int take_number(struct reader *r)
{
	double real;
	float rounded;
	int64_t value;
	uint32_t bits;
	if (r->type->dtype == NPL_F32) {
		if (!npl_parse_number(r->words.word, &real))
			return no_number(r);
		rounded = (float)real;
		if (isinf(rounded))
			return npl_words_complain(&r->words, "%s is out of range, float32 ends at 3.4e38",
						  r->words.word);
		memcpy(&bits, &rounded, sizeof bits);
		return put(r, bits, sizeof bits);
	}
	if (!whole_number(r->words.word, &value))
		return no_number(r);
	if (value < r->type->low || value > r->type->high)
		return npl_words_complain(&r->words, "%s is out of range, expected %lld to %lld (%s)", r->words.word,
					  (long long)r->type->low, (long long)r->type->high, name_of(r->type));
	return put(r, (uint32_t)value, npl_dtype_size(r->type->dtype));
}

/* Takes the number after .row or .at. */
static int take_count(struct reader *r, const char *directive, uint64_t least, uint64_t *count)
{
	int64_t value;
	if (npl_words_next(&r->words))
		return NPL_EINPUT;
	if (!npl_parse_integer(r->words.word, &value) || value < (int64_t)least || (uint64_t)value > MAX_BYTES)
		return npl_words_complain(&r->words, "%s '%s', expected a number of bytes from %llu to %zu", directive,
					  r->words.word, (unsigned long long)least, MAX_BYTES);
	*count = (uint64_t)value;
	return 0;
}

/* Takes a directive that follows this many numbers of the line. */
static int take_directive(struct reader *r, int64_t numbers)
{
	static const char *const known[] = {".int8",  ".uint8",   ".int16", ".uint16",
					    ".int32", ".float32", ".row",   ".at"};
	const bool row = !strcmp(r->words.word, ".row"), at = !strcmp(r->words.word, ".at");
	if ((row || at) && numbers)
		return npl_words_complain(&r->words, "%s after a number, expected it at the beginning of the line",
					  r->words.word);
	if (row || at)
		return take_count(r, row ? ".row" : ".at", row ? 1 : r->n, row ? &r->row : &r->n);
	for (int i = 0; i < TYPES; i++)
		if (!strcmp(npl_dtype_name(types[i].dtype), r->words.word + 1)) {
			r->type = &types[i];
			return 0;
		}
	return npl_words_complain(&r->words, "there is no '%s'%s", r->words.word,
				  NPL_NEAREST(r->words.word, known, (int)(sizeof known / sizeof *known)));
}

static void end_row(struct reader *r, uint64_t begin, int64_t numbers)
{
	if (!r->columns) {
		r->columns = numbers;
		r->columns_line = r->words.line;
	}
	if (numbers != r->columns)
		npl_words_complain(&r->words,
				   "%lld numbers, expected %lld as in line %d (a word like .int8, .row or .at begins "
				   "another matrix)",
				   (long long)numbers, (long long)r->columns, r->columns_line);
	else if (r->row && r->n - begin > r->row)
		npl_words_complain(&r->words, "a row of %llu bytes, expected at most the %llu of .row",
				   (unsigned long long)(r->n - begin), (unsigned long long)r->row);
	else if (r->row && r->row > MAX_BYTES - begin)
		npl_words_complain(&r->words, "more than %zu bytes of memory", MAX_BYTES);
	else if (r->row)
		r->n = begin + r->row;
}

static bool is_directive(const char *word)
{
	return *word == '.' && !(word[1] >= '0' && word[1] <= '9');
}

/* Takes a line: directives and numbers. It has as many numbers as the line before, unless it begins with a
 * directive. */
static void take_line(struct reader *r)
{
	uint64_t begin = r->n;
	int64_t numbers = 0;
	if (is_directive(r->words.word))
		r->columns = 0;
	for (; *r->words.word; npl_words_next(&r->words)) {
		const bool directive = is_directive(r->words.word);
		if (directive ? take_directive(r, numbers) : take_number(r))
			return;
		numbers += !directive;
		begin = numbers ? begin : r->n;
	}
	if (numbers)
		end_row(r, begin, numbers);
}

/* Counts the bytes, or stores them. */
static int read_text(struct reader *r, const char *path, const struct npl_file *file, const struct type *type,
		     struct npl_err *err)
{
	*r = (struct reader){.bytes = r->bytes, .type = type};
	npl_words_open(&r->words, path, file->data, file->bytes, err);
	while (npl_words_line(&r->words))
		take_line(r);
	if (!r->words.rc && !r->n)
		return npl_fail(err, NPL_EINPUT, "%s: no numbers, expected rows of them", path);
	return r->words.rc;
}

static int load_text(const char *path, const struct npl_file *file, enum npl_dtype word, struct npl_tensor *bytes,
		     struct npl_err *err)
{
	const struct type *type = &byte;
	struct reader reader = {0};
	for (int i = 0; i < TYPES && word != NPL_U8; i++)
		if (types[i].dtype == word)
			type = &types[i];
	if (memchr(file->data, '\0', file->bytes))
		return npl_fail(err, NPL_EINPUT, "%s: neither .npy nor text, expected rows of numbers", path);
	if (read_text(&reader, path, file, type, err))
		return err->code;
	*bytes = (struct npl_tensor){.dtype = NPL_U8, .shape = npl_shape_of(1, (int64_t)reader.n)};
	if (npl_tensor_alloc(bytes, err))
		return err->code;
	reader.bytes = bytes->data;
	return read_text(&reader, path, file, type, err);
}

static int load(const char *path, enum npl_dtype word, struct npl_tensor *bytes, struct npl_err *err)
{
	static const char npy[] = "\x93NUMPY";
	struct npl_file file;
	if (npl_path_ends_in(path, ".npy") || npl_path_ends_in(path, ".pb"))
		return npl_tensor_load(path, bytes, err);
	if (npl_file_map(path, MAX_BYTES, &file, err))
		return err->code;
	int rc;
	if (file.bytes >= sizeof npy - 1 && !memcmp(file.data, npy, sizeof npy - 1)) {
		rc = npl_tensor_load_npy_memory(file.data, file.bytes, bytes, err);
		if (rc)
			npl_prefix(err, "%s", path);
	} else {
		rc = load_text(path, &file, word, bytes, err);
	}
	if (!rc)
		rc = npl_file_unchanged(&file, err);
	npl_file_unmap(&file);
	return rc;
}

int npl_memory_load(const char *path, enum npl_dtype word, struct npl_tensor *bytes, struct npl_err *err)
{
	*bytes = (struct npl_tensor){0};
	int rc = load(path, word, bytes, err);
	if (!rc && !npl_is_byte(bytes->dtype) && bytes->dtype != word)
		rc = npl_fail(err, NPL_EINPUT, "%s: elements of %s, expected uint8 or int8%s: memory is bytes", path,
			      npl_dtype_name(bytes->dtype), word == NPL_I16 ? ", or int16, the machine's words" : "");
	if (rc) {
		npl_tensor_free(bytes);
		return rc;
	}
	const int64_t n = (int64_t)npl_tensor_bytes(bytes);
	bytes->dtype = NPL_U8;
	bytes->shape = npl_shape_of(1, n);
	return 0;
}
