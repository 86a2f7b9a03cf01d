/* SPDX-License-Identifier: MIT
 *
 * A JSON writer: keys in the order they are written, numbers that read back to the same value, NAN and infinity as
 * null. The caller opens and closes brackets; the writer puts commas. */
#ifndef NPULAB_REPORTS_FORMAT_JSON_H
#define NPULAB_REPORTS_FORMAT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct npl_json {
	FILE *out;
	bool need_comma;
};

/* These write values with their keys. key is NULL inside an array. */
void npl_json_open(struct npl_json *json, const char *key, char bracket);        /* '{' or '[' */
void npl_json_close(struct npl_json *json, char bracket);                        /* '}' or ']' */
void npl_json_string(struct npl_json *json, const char *key, const char *value); /* NULL: null */
void npl_json_text(struct npl_json *json, const char *key, const char *value);   /* "" is null too */
void npl_json_u64(struct npl_json *json, const char *key, uint64_t value);
void npl_json_i64(struct npl_json *json, const char *key, int64_t value);
void npl_json_double(struct npl_json *json, const char *key, double value);
void npl_json_number(struct npl_json *json, const char *key,
		     const char *text); /* writes a finite number as it is in the text */
void npl_json_bool(struct npl_json *json, const char *key, bool value);
void npl_json_texts(struct npl_json *json, const char *key, const char *const *text, int n); /* an array */
void npl_json_null(struct npl_json *json, const char *key);

/* Writes "npulab": the build, and the cap of its kernels (npulab/cpu_features.h) or null. */
void npl_json_build(struct npl_json *json);

#endif
