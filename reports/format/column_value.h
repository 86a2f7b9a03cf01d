/* SPDX-License-Identifier: MIT
 *
 * The values of columns (columns.def, roofline_columns.def), and how they are written in JSON and in CSV. */
#ifndef NPULAB_REPORTS_FORMAT_COLUMN_VALUE_H
#define NPULAB_REPORTS_FORMAT_COLUMN_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "json.h"

struct npl_entry;
struct npl_layer_entry;

/* A value as the tables of columns give it. A ratio may be infinite, which only CSV shows. */
struct npl_column_value {
	enum {
		VALUE_ABSENT,
		VALUE_REAL,
		VALUE_RATIO,
		VALUE_COUNT,
		VALUE_INTEGER,
		VALUE_TEXT,
		VALUE_BOOLEAN,
		VALUE_OF_ENTRY,
		VALUE_OF_LAYER
	} kind;
	union {
		double real;
		uint64_t count;
		int64_t integer;
		const char *text;
		bool boolean;
		void (*of_entry)(struct npl_json *json, const struct npl_entry *entry);
		void (*of_layer)(struct npl_json *json, const struct npl_layer_entry *layer);
	};
};
#define REAL(x)          ((struct npl_column_value){.kind = VALUE_REAL, .real = (x)})
#define RATIO(x)         ((struct npl_column_value){.kind = VALUE_RATIO, .real = (x)})
#define COUNT(n)         ((struct npl_column_value){.kind = VALUE_COUNT, .count = (n)})
#define INTEGER(n)       ((struct npl_column_value){.kind = VALUE_INTEGER, .integer = (n)})
#define TEXT(s)          ((struct npl_column_value){.kind = VALUE_TEXT, .text = (s)})
#define BOOLEAN(b)       ((struct npl_column_value){.kind = VALUE_BOOLEAN, .boolean = (b)})
#define NESTED(f)        ((struct npl_column_value){.kind = VALUE_OF_ENTRY, .of_entry = (f)})
#define LAYER_NESTED(f)  ((struct npl_column_value){.kind = VALUE_OF_LAYER, .of_layer = (f)})
#define KNOWN(known, of) ((known) ? (of) : (struct npl_column_value){.kind = VALUE_ABSENT})

/* Returns the text; NULL where it is empty. */
static inline const char *filled(const char *text)
{
	return *text ? text : NULL;
}

/* Writes a value that is a number, a text or absent. */
void npl_column_value_json(struct npl_json *json, const char *key, const struct npl_column_value *v);
/* Writes such a value. "inf" is an exact ratio, without any noise; "-inf" is infinite or NaN where float32 is not. */
void npl_column_value_csv(FILE *out, const struct npl_column_value *v);

#endif
