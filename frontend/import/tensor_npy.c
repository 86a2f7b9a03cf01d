/* SPDX-License-Identifier: MIT
 *
 * The .npy header, parsed strictly: the three keys once each, nothing else. Refused: version 3.0 (field names in
 * UTF-8, which plain arrays do not have), big-endian and structured types, Fortran order beyond one dimension. */
#include "tensor_npy.h"

#include <stdio.h>
#include <string.h>

#include "core/base/message.h"

static const char magic[6] = "\x93NUMPY";

/* NULL: NumPy has no such type. */
static const char *const descrs[] = {
#define NPL_ELEMENT_TYPE(constant, name, bytes, kind, descr) descr,
#include "npulab/element_types.def"
};

struct cursor {
	const char *next, *end;
	struct npl_err *err;
};

static void skip_spaces(struct cursor *c)
{
	while (c->next < c->end && (*c->next == ' ' || *c->next == '\n' || *c->next == '\t'))
		c->next++;
}

/* Takes the character if it comes next, after spaces. */
static bool take(struct cursor *c, char character)
{
	skip_spaces(c);
	if (c->next == c->end || *c->next != character)
		return false;
	c->next++;
	return true;
}

static bool take_word(struct cursor *c, const char *word)
{
	size_t length = strlen(word);
	skip_spaces(c);
	if ((size_t)(c->end - c->next) < length || memcmp(c->next, word, length) != 0)
		return false;
	c->next += length;
	return true;
}

/* Takes a quoted string without escapes. */
static bool take_string(struct cursor *c, char *text, size_t size)
{
	skip_spaces(c);
	if (c->next == c->end || (*c->next != '\'' && *c->next != '"'))
		return false;
	char quote = *c->next++;
	size_t n = 0;
	for (; c->next < c->end && *c->next != quote; c->next++) {
		if (n + 1 == size || *c->next == '\\')
			return false;
		text[n++] = *c->next;
	}
	text[n] = '\0';
	return take(c, quote);
}

static int fail_malformed(struct cursor *c, const char *expected)
{
	return npl_fail(c->err, NPL_EINPUT, "the .npy header is malformed: expected %s", expected);
}

static int read_dim(struct cursor *c, int64_t *dim)
{
	const char *start = c->next;
	*dim = 0;
	for (; c->next < c->end && *c->next >= '0' && *c->next <= '9'; c->next++)
		if (__builtin_mul_overflow(*dim, 10, dim) || __builtin_add_overflow(*dim, *c->next - '0', dim))
			return npl_fail(c->err, NPL_EINPUT, "a dimension of the .npy header is more than 2^63");
	return c->next == start ? fail_malformed(c, "a dimension") : 0;
}

/* Reads a shape, written as "()", "(3,)", "(3, 4)" or "(3, 4,)". */
static int read_shape(struct cursor *c, struct npl_shape *shape)
{
	if (!take(c, '('))
		return fail_malformed(c, "a tuple of dimensions");
	while (!take(c, ')')) {
		if (shape->rank == NPL_MAX_RANK)
			return npl_fail(c->err, NPL_EINPUT, "the array has more than %d dimensions", NPL_MAX_RANK);
		int rc = read_dim(c, &shape->dim[shape->rank++]);
		if (rc)
			return rc;
		bool comma = take(c, ',');
		skip_spaces(c);
		if (!comma && (shape->rank == 1 || c->next == c->end || *c->next != ')'))
			return fail_malformed(c, "a tuple of dimensions");
	}
	return 0;
}

static int read_descr(struct cursor *c, enum npl_dtype *dtype)
{
	char descr[32];
	if (!take_string(c, descr, sizeof descr))
		return fail_malformed(c, "a plain element type");
	for (*dtype = 0; *dtype < NPL_DTYPES; (*dtype)++)
		if (descrs[*dtype] && !strcmp(descr, descrs[*dtype]))
			return 0;
	return npl_fail(c->err, NPL_EINPUT,
			"element type '%s' is not supported; f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 and b1, "
			"little-endian, are",
			descr);
}

enum { DESCR = 1, ORDER = 2, SHAPE = 4 };

static int read_entry(struct cursor *c, struct npl_tensor *tensor, bool *fortran, unsigned *keys_seen)
{
	static const char *const keys[] = {"descr", "fortran_order", "shape"};
	char key[16];
	unsigned key_index = 0;
	if (!take_string(c, key, sizeof key) || !take(c, ':'))
		return fail_malformed(c, "a key");
	while (key_index < 3 && strcmp(key, keys[key_index]) != 0)
		key_index++;
	if (key_index == 3)
		return npl_fail(c->err, NPL_EINPUT, "the .npy header has an unknown key '%s'", key);
	if (*keys_seen & 1u << key_index)
		return npl_fail(c->err, NPL_EINPUT, "the .npy header has the key '%s' twice", key);
	*keys_seen |= 1u << key_index;
	if (key_index == 0)
		return read_descr(c, &tensor->dtype);
	if (key_index == 2)
		return read_shape(c, &tensor->shape);
	*fortran = take_word(c, "True");
	return *fortran || take_word(c, "False") ? 0 : fail_malformed(c, "True or False");
}

static int read_dictionary(struct cursor *c, struct npl_tensor *tensor)
{
	bool fortran = false;
	unsigned keys_seen = 0;
	if (!take(c, '{'))
		return fail_malformed(c, "a dictionary");
	while (!take(c, '}')) {
		int rc = read_entry(c, tensor, &fortran, &keys_seen);
		if (rc)
			return rc;
		bool comma = take(c, ',');
		skip_spaces(c);
		if (!comma && (c->next == c->end || *c->next != '}'))
			return fail_malformed(c, "',' or '}'");
	}
	skip_spaces(c);
	if (keys_seen != (DESCR | ORDER | SHAPE) || c->next != c->end)
		return fail_malformed(c, "the keys descr, fortran_order and shape, and nothing else");
	if (fortran && tensor->shape.rank > 1)
		return npl_fail(c->err, NPL_EINPUT, "the array is in Fortran order, expected C order");
	return 0;
}

int npy_read_header(const unsigned char *data, size_t bytes, struct npl_tensor *tensor, size_t *start,
		    struct npl_err *err)
{
	if (bytes < 10 || memcmp(data, magic, sizeof magic) != 0)
		return npl_fail(err, NPL_EINPUT, "not a .npy file: it does not begin with \\x93NUMPY");
	int major = data[6], minor = data[7];
	if ((major != 1 && major != 2) || minor != 0)
		return npl_fail(err, NPL_EINPUT, "version %d.%d of the .npy format is not supported, only 1.0 and 2.0",
				major, minor);
	size_t prefix = major == 1 ? 10 : 12;
	if (bytes < prefix)
		return npl_fail(err, NPL_EINPUT, "the file ends within the .npy header");
	size_t length = data[8] | (size_t)data[9] << 8;
	if (major == 2)
		length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
	if (length > NPY_MAX_HEADER)
		return npl_fail(err, NPL_EINPUT, "the .npy header has %zu bytes, more than the %d allowed", length,
				NPY_MAX_HEADER);
	if (length > bytes - prefix)
		return npl_fail(err, NPL_EINPUT, "the file ends within the .npy header");
	struct cursor c = {(const char *)data + prefix, (const char *)data + prefix + length, err};
	*start = prefix + length;
	return read_dictionary(&c, tensor);
}

bool npy_has_type(enum npl_dtype dtype)
{
	return descrs[dtype] != NULL;
}

size_t npy_write_header(const struct npl_tensor *tensor, char header[NPY_HEADER_ROOM])
{
	const char *descr = descrs[tensor->dtype];
	char shape[32 * NPL_MAX_RANK] = "";
	for (int i = 0; i < tensor->shape.rank; i++)
		npl_append(shape, sizeof shape, ", ", "%lld%s", (long long)tensor->shape.dim[i],
			   tensor->shape.rank == 1 ? "," : "");
	int n = snprintf(header + 10, NPY_HEADER_ROOM - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
			 descr, shape);
	size_t total = (10 + (size_t)n + 1 + 63) / 64 * 64;
	memset(header + 10 + n, ' ', total - 10 - (size_t)n - 1);
	header[total - 1] = '\n';
	memcpy(header, magic, sizeof magic);
	header[6] = 1;
	header[7] = 0;
	header[8] = (char)((total - 10) & 0xff);
	header[9] = (char)((total - 10) >> 8);
	return total;
}
