/* SPDX-License-Identifier: MIT
 *
 * Devices that were asked for and cannot start here: a row of a table, an entry of a JSON list, and the reason in the
 * notes. */
#ifndef NPULAB_REPORTS_UNAVAILABLE_H
#define NPULAB_REPORTS_UNAVAILABLE_H

#include "npulab/compare.h"
#include "reports/format/json.h"
#include "reports/format/table.h"

/* Adds rows for the devices that were asked for after d entries and before the next, to a table with so many
 * columns. */
void npl_table_unavailable(struct npl_table *table, const struct npl_unavailables *list, int d, int columns);
void npl_table_unavailable_notes(struct npl_table *table, const struct npl_unavailables *list);
/* Writes their objects: name, instance, unavailable (the reason), and null for each of the other keys, which NULL
 * ends. */
void npl_json_unavailable(struct npl_json *json, const struct npl_unavailables *list, int d, const char *const *keys);

#endif
