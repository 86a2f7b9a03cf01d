/* SPDX-License-Identifier: MIT
 *
 * Checks a driver's table of counters and reads the counters of a unit's struct by such a table. */
#include "npulab/counters.h"

#include <string.h>

#include "core/base/refuse.h"

static const struct npl_counter_def *find(const struct npl_counter_def *table, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

/* Says whether the row of a counter of partition 1, or of a part of such a counter, is valid. If not, `reason` gets the
 * reason. */
static bool cause_ok(const struct npl_counter_def *table, size_t n, const struct npl_counter_def *def, char *reason,
		     size_t reason_bytes)
{
	const struct npl_counter_def *parent = def->part_of ? find(table, n, def->part_of) : NULL;
	if (def->part_of && (!parent || parent->partition != 1))
		return npl_refuse(reason, reason_bytes, "counter %s is a part of %s, expected a counter of partition 1",
				  def->name, def->part_of);
	if (def->kind != NPL_COUNTER_WORK && def->kind != NPL_COUNTER_MEMORY && def->kind != NPL_COUNTER_WAITING)
		return npl_refuse(reason, reason_bytes, "counter %s has no kind, expected WORK, MEMORY or WAITING",
				  def->name);
	if (!def->bound || !*def->bound || strlen(def->bound) > NPL_BOUND_LETTERS)
		return npl_refuse(reason, reason_bytes, "counter %s has the bound '%s', expected 1 to %d letters",
				  def->name, def->bound ? def->bound : "", NPL_BOUND_LETTERS);
	return true;
}

bool npl_counters_ok(const struct npl_counter_def *table, size_t n, char *reason, size_t reason_bytes)
{
	for (size_t i = 0; i < n; i++) {
		const struct npl_counter_def *def = &table[i];
		if (find(table, n, def->name) != def)
			return npl_refuse(reason, reason_bytes, "two counters are named %s", def->name);
		if ((def->partition == 1 || def->part_of) && !cause_ok(table, n, def, reason, reason_bytes))
			return false;
		for (size_t k = 0; k < i && def->partition > 0; k++)
			if (table[k].partition == def->partition && strcmp(table[k].unit, def->unit))
				return npl_refuse(
					reason, reason_bytes,
					"counters %s and %s of partition %d count %s and %s, expected one unit",
					table[k].name, def->name, def->partition, table[k].unit, def->unit);
	}
	return true;
}

void npl_counters_read(const struct npl_counter_def *table, size_t n, const void *unit, uint64_t *values)
{
	for (size_t i = 0; i < n; i++)
		memcpy(&values[i], (const char *)unit + table[i].offset, sizeof values[i]);
}
