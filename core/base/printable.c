/* SPDX-License-Identifier: MIT
 *
 * A user's text on terminals (printable.h): well-formed UTF-8 by the table of RFC 3629, characters that control a
 * terminal or turn the direction of what follows them, and the columns that characters take, by Unicode 15's East Asian
 * Width. */
#include <stdbool.h>
#include <string.h>

#include "printable.h"

struct range {
	uint32_t first, last;
};

static bool is_in(uint32_t code, const struct range *range, size_t n)
{
	size_t low = 0, high = n;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (code > range[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && code >= range[low].first;
}

#define IS_IN(code, ranges) is_in((code), (ranges), sizeof(ranges) / sizeof *(ranges))

/* Returns the character that the bytes begin with; *length is 0 when they are not well-formed UTF-8, or at the end of
 * the text. */
static uint32_t decode(const char *bytes, size_t *length)
{
	const unsigned char *text = (const unsigned char *)bytes;
	static const struct {
		unsigned char first, last, mask;
		size_t length;
	} lead_bytes[] = {{0x01, 0x7f, 0x7f, 1}, {0xc2, 0xdf, 0x1f, 2}, {0xe0, 0xef, 0x0f, 3}, {0xf0, 0xf4, 0x07, 4}};
	*length = 0;
	for (size_t i = 0; i < sizeof lead_bytes / sizeof *lead_bytes; i++) {
		if (text[0] < lead_bytes[i].first || text[0] > lead_bytes[i].last)
			continue;
		uint32_t code = text[0] & lead_bytes[i].mask;
		for (size_t k = 1; k < lead_bytes[i].length; k++) {
			if ((text[k] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[k] & 0x3f);
		}
		bool overlong = (lead_bytes[i].length == 3 && code < 0x800) ||
				(lead_bytes[i].length == 4 && code < 0x10000);
		if (overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
			return 0;
		*length = lead_bytes[i].length;
		return code;
	}
	return 0;
}

size_t npl_utf8_length(const char *bytes)
{
	size_t length;
	decode(bytes, &length);
	return length;
}

uint32_t npl_utf8_code(const char *bytes)
{
	size_t length;
	return decode(bytes, &length);
}

bool npl_is_printable(uint32_t code)
{
	static const struct range steering[] = {
		{0x00, 0x1f},       /* C0 controls */
		{0x7f, 0x9f},       /* DEL and C1 controls */
		{0x61c, 0x61c},     /* Arabic letter mark */
		{0x200e, 0x200f},   /* left-to-right and right-to-left marks */
		{0x2028, 0x202e},   /* line and paragraph separators, embeddings and overrides of direction */
		{0x2066, 0x206f},   /* isolates, and deprecated controls of form */
		{0xfeff, 0xfeff},   /* byte-order mark */
		{0xfff9, 0xfffb},   /* interlinear annotation */
		{0xe0000, 0xe007f}, /* tags */
	};
	return !IS_IN(code, steering);
}

char *npl_make_printable(char *text)
{
	char *to = text;
	for (const char *from = text; *from;) {
		size_t length;
		const uint32_t code = decode(from, &length);
		if (!length || !npl_is_printable(code)) {
			*to++ = '?';
			from += length ? length : 1;
			continue;
		}
		memmove(to, from, length);
		to += length;
		from += length;
	}
	*to = '\0';
	return text;
}

void npl_put_printable(FILE *out, const char *text)
{
	for (const char *from = text; from && *from;) {
		size_t length;
		const uint32_t code = decode(from, &length);
		if (length && npl_is_printable(code))
			fwrite(from, 1, length, out);
		else
			fputc('?', out);
		from += length ? length : 1;
	}
}

int npl_character_width(uint32_t code)
{
	static const struct range zero_width[] = {
		{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
		{0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},
		{0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
	};
	static const struct range double_width[] = {
		{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
		{0x2614, 0x2615},   {0x2648, 0x2653},   {0x26a1, 0x26a1},   {0x26bd, 0x26be},   {0x2705, 0x2705},
		{0x270a, 0x270b},   {0x274c, 0x274c},   {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2b50, 0x2b50},
		{0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
		{0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6b},
		{0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18cff}, {0x1aff0, 0x1b2ff}, {0x1f004, 0x1f004},
		{0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335},
		{0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3e0, 0x1f3f0}, {0x1f3f8, 0x1f43e},
		{0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f550, 0x1f567}, {0x1f5fb, 0x1f64f},
		{0x1f680, 0x1f6c5}, {0x1f6d0, 0x1f6d2}, {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945},
		{0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
	};
	return code < 0x300 ? 1 : IS_IN(code, zero_width) ? 0 : IS_IN(code, double_width) ? 2 : 1;
}

int npl_text_width(const char *text)
{
	int columns = 0;
	while (*text) {
		size_t length;
		const uint32_t code = decode(text, &length);
		columns += length ? npl_character_width(code) : 1;
		text += length ? length : 1;
	}
	return columns;
}
