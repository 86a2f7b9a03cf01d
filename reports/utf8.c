/* SPDX-License-Identifier: MIT
 *
 * Well-formed UTF-8 by the table of RFC 3629 (utf8.h). */
#include "utf8.h"

#include <stdbool.h>
#include <stdint.h>

size_t npl_utf8_length(const char *bytes)
{
	const unsigned char *text = (const unsigned char *)bytes;
	static const struct {
		unsigned char first, last, mask;
		size_t length;
	} lead[] = {{0x01, 0x7f, 0x7f, 1}, {0xc2, 0xdf, 0x1f, 2}, {0xe0, 0xef, 0x0f, 3}, {0xf0, 0xf4, 0x07, 4}};
	for (size_t i = 0; i < sizeof lead / sizeof *lead; i++) {
		if (text[0] < lead[i].first || text[0] > lead[i].last)
			continue;
		uint32_t code = text[0] & lead[i].mask;
		for (size_t k = 1; k < lead[i].length; k++) {
			if ((text[k] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[k] & 0x3f);
		}
		bool overlong = (lead[i].length == 3 && code < 0x800) || (lead[i].length == 4 && code < 0x10000);
		return overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff ? 0 : lead[i].length;
	}
	return 0;
}
