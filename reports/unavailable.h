/* SPDX-License-Identifier: MIT
 *
 * Devices that were asked for and cannot start here: a row of a table, an entry of a JSON list, and why in the
 * notes. */
#ifndef NPULAB_REPORTS_UNAVAILABLE_H
#define NPULAB_REPORTS_UNAVAILABLE_H

#include "json.h"
#include "npulab/compare.h"
#include "table.h"

/* Those that were asked for after d entries and before the next, in a table of the devices with so many columns. */
void npl_table_unavailable(struct npl_table *table, const struct npl_unavailables *list, int d, int columns);
void npl_table_unavailable_notes(struct npl_table *table, const struct npl_unavailables *list);
/* name, instance, unavailable (why), and null for each of the other keys, which NULL ends. */
void npl_json_unavailable(struct npl_json *json, const struct npl_unavailables *list, int d, const char *const *keys);

#endif
