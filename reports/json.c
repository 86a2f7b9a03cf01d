/* SPDX-License-Identifier: MIT
 *
 * The JSON writer (json.h). */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "npulab/yaml.h"

/* Bytes that form a well-formed UTF-8 sequence at text, 0 if none does: what model files call names may be anything. */
static size_t utf8_length(const unsigned char *text)
{
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

static void put_string(FILE *out, const char *value)
{
	fputc('"', out);
	for (const unsigned char *c = (const unsigned char *)value; *c;) {
		size_t length = utf8_length(c);
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20)
			fprintf(out, "\\u%04x", *c);
		else if (length)
			fwrite(c, 1, length, out);
		else
			fputs("\\ufffd", out);
		c += length ? length : 1;
	}
	fputc('"', out);
}

static void start(struct npl_json *json, const char *key)
{
	if (json->need_comma)
		fputc(',', json->out);
	json->need_comma = true;
	if (key) {
		put_string(json->out, key);
		fputc(':', json->out);
	}
}

void npl_json_open(struct npl_json *json, const char *key, char bracket)
{
	start(json, key);
	fputc(bracket, json->out);
	json->need_comma = false;
}

void npl_json_close(struct npl_json *json, char bracket)
{
	fputc(bracket, json->out);
	json->need_comma = true;
}

void npl_json_null(struct npl_json *json, const char *key)
{
	start(json, key);
	fputs("null", json->out);
}

void npl_json_string(struct npl_json *json, const char *key, const char *value)
{
	if (!value) {
		npl_json_null(json, key);
		return;
	}
	start(json, key);
	put_string(json->out, value);
}

void npl_json_text(struct npl_json *json, const char *key, const char *value)
{
	npl_json_string(json, key, value && *value ? value : NULL);
}

void npl_json_u64(struct npl_json *json, const char *key, uint64_t value)
{
	start(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void npl_json_i64(struct npl_json *json, const char *key, int64_t value)
{
	start(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void npl_json_double(struct npl_json *json, const char *key, double value)
{
	char text[40];
	if (!isfinite(value)) {
		npl_json_null(json, key);
		return;
	}
	start(json, key);
	fputs(npl_double_text(value, text, sizeof text), json->out);
}
