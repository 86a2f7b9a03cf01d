/* SPDX-License-Identifier: MIT
 *
 * The JSON writer (json.h). A stream has one writer at a time, and a picture of a run has millions of pieces: the
 * stream's lock is not taken. */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/files/settings.h"
#include "npulab/cpu_features.h"
#include "npulab/version.h"

/* Writes a character as one or two UTF-16 units, as JSON writes any character in ASCII. */
static void put_escaped(FILE *out, uint32_t code)
{
	if (code < 0x10000)
		fprintf(out, "\\u%04x", (unsigned)code);
	else
		fprintf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((code - 0x10000) >> 10)),
			(unsigned)(0xdc00 + ((code - 0x10000) & 0x3ff)));
}

/* Returns how many bytes at the beginning of a text stand for themselves in JSON. */
static size_t plain_bytes(const char *text)
{
	size_t n = 0;
	while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

/* Writes a text, without anything that would control a terminal. Nearly all are plain, and a picture has millions. */
static void put_string(FILE *out, const char *value)
{
	putc_unlocked('"', out);
	for (const char *c = value; *c;) {
		const size_t plain = plain_bytes(c);
		fwrite_unlocked(c, 1, plain, out);
		c += plain;
		if (!*c)
			break;
		size_t length = npl_utf8_length(c);
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (!length)
			fputs_unlocked("\\ufffd", out);
		else if (!npl_is_printable(npl_utf8_code(c)))
			put_escaped(out, npl_utf8_code(c));
		else
			fwrite_unlocked(c, 1, length, out);
		c += length ? length : 1;
	}
	putc_unlocked('"', out);
}

static void start(struct npl_json *json, const char *key)
{
	if (json->need_comma)
		putc_unlocked(',', json->out);
	json->need_comma = true;
	if (key) {
		put_string(json->out, key);
		putc_unlocked(':', json->out);
	}
}

void npl_json_open(struct npl_json *json, const char *key, char bracket)
{
	start(json, key);
	putc_unlocked(bracket, json->out);
	json->need_comma = false;
}

void npl_json_close(struct npl_json *json, char bracket)
{
	putc_unlocked(bracket, json->out);
	json->need_comma = true;
}

void npl_json_null(struct npl_json *json, const char *key)
{
	start(json, key);
	fputs_unlocked("null", json->out);
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

void npl_json_texts(struct npl_json *json, const char *key, const char *const *text, int n)
{
	npl_json_open(json, key, '[');
	for (int i = 0; i < n; i++)
		npl_json_string(json, NULL, text[i]);
	npl_json_close(json, ']');
}

void npl_json_text(struct npl_json *json, const char *key, const char *value)
{
	npl_json_string(json, key, value && *value ? value : NULL);
}

void npl_json_u64(struct npl_json *json, const char *key, uint64_t value)
{
	char digits[20];
	size_t n = 0;
	do
		digits[sizeof digits - ++n] = (char)('0' + value % 10);
	while (value /= 10);
	start(json, key);
	fwrite_unlocked(digits + sizeof digits - n, 1, n, json->out);
}

void npl_json_i64(struct npl_json *json, const char *key, int64_t value)
{
	start(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void npl_json_number(struct npl_json *json, const char *key, const char *text)
{
	start(json, key);
	fputs_unlocked(text, json->out);
}

void npl_json_bool(struct npl_json *json, const char *key, bool value)
{
	start(json, key);
	fputs_unlocked(value ? "true" : "false", json->out);
}

void npl_json_double(struct npl_json *json, const char *key, double value)
{
	char text[40];
	if (!isfinite(value)) {
		npl_json_null(json, key);
		return;
	}
	start(json, key);
	fputs_unlocked(npl_double_text(value, text, sizeof text), json->out);
}

void npl_json_build(struct npl_json *json)
{
	npl_json_open(json, "npulab", '{');
	npl_json_string(json, "version", npl_version());
	npl_json_string(json, "commit", npl_commit());
	npl_json_string(json, "max_isa", npl_cpu_cap());
	npl_json_close(json, '}');
}
