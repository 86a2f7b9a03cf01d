/* SPDX-License-Identifier: MIT
 *
 * Devices that cannot start here (unavailable.h). */
#include "unavailable.h"

#include <string.h>

void npl_table_unavailable(struct npl_table *table, const struct npl_unavailables *list, int d, int columns)
{
	const char *cells[NPL_TABLE_COLUMNS] = {NULL, "unavailable"};
	for (int k = 2; k < columns && k < NPL_TABLE_COLUMNS; k++)
		cells[k] = "-";
	for (int i = 0; i < list->n; i++)
		if (list->device[i].entries_before == d) {
			cells[0] = list->device[i].instance;
			npl_table_row(table, cells);
		}
}

void npl_table_unavailable_notes(struct npl_table *table, const struct npl_unavailables *list)
{
	for (int i = 0; i < list->n; i++)
		npl_table_row(table, (const char *const[]){list->device[i].instance, list->device[i].reason});
}

void npl_json_unavailable(struct npl_json *json, const struct npl_unavailables *list, int d, const char *const *keys)
{
	for (int i = 0; i < list->n; i++) {
		const struct npl_unavailable *device = &list->device[i];
		char name[64];
		if (device->entries_before != d)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(device->instance, "@"), device->instance);
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "name", name);
		npl_json_string(json, "instance", device->instance);
		npl_json_string(json, "unavailable", device->reason);
		for (const char *const *key = keys; *key; key++)
			npl_json_null(json, *key);
		npl_json_close(json, '}');
	}
}
