/* SPDX-License-Identifier: MIT
 *
 * Checks a value of JSON against a schema of schemas/, so that what reads a document need not look whether its keys are
 * there. Of JSON Schema it knows what those files use: type, const, enum, required, properties and items.
 *
 * Documents of one schema get further keys with time, so this check knows two exceptions. A key that is required and
 * may be null may be absent: the document is older. A key that the schema does not know is left alone: it is newer. */
#ifndef NPULAB_PAGES_SCHEMA_H
#define NPULAB_PAGES_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns false, with the first place that differs and what was expected there ("devices[0].name: expected text"). */
bool page_schema_check(const json_t *schema, const json_t *value, char *problem, size_t n);

#endif
