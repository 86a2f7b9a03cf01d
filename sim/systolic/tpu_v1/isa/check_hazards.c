/* SPDX-License-Identifier: MIT
 *
 * Hazards between units (docs/tpu-isa.md, Units). The hardware does not order what two units do with the same row of
 * the unified buffer or the same byte of host memory. So a program must order them by a sync on the unit that was
 * first. For each unit and memory this file keeps what the unit has read and written since the last sync on it; an
 * instruction is compared with these accesses of the other units. */
#include <stdlib.h>

#include "check_impl.h"
#include "core/base/arith.h"
#include "sim/common/accesses.h"

enum { KINDS = 4 };

struct tpu_hazards {
	struct sim_accesses accesses[TPU_UNITS][KINDS]; /* the accesses of each unit, by kind_of */
};

static int kind_of(bool in_host, bool writes)
{
	return 2 * in_host + writes;
}

struct tpu_hazards *tpu_hazards_open(void)
{
	return calloc(1, sizeof(struct tpu_hazards));
}

void tpu_hazards_close(struct tpu_hazards *hazards)
{
	for (int u = 0; hazards && u < TPU_UNITS; u++)
		for (int kind = 0; kind < KINDS; kind++)
			sim_accesses_close(&hazards->accesses[u][kind]);
	free(hazards);
}

void tpu_hazards_sync(struct tpu_hazards *hazards, unsigned units)
{
	for (unsigned u = 0; u < TPU_UNITS; u++)
		for (int kind = 0; kind < KINDS && units >> u & 1; kind++)
			sim_accesses_forget(&hazards->accesses[u][kind]);
}

/* Compares an access with what another unit has written or, if this one writes, also read. */
static int compare_with(struct tpu_check *check, const struct tpu_hazards *hazards, enum tpu_unit unit,
			const struct tpu_access *access)
{
	for (int writes = 1; writes >= (access->writes ? 0 : 1); writes--) {
		const struct sim_access *conflicting = sim_accesses_find(
			&hazards->accesses[unit][kind_of(access->in_host, writes)], access->first, access->end);
		if (!conflicting)
			continue;
		return tpu_refuse(check, "%s %s %lld of %s, which %s %s; expected a `sync %s` between them",
				  access->writes ? "writes" : "reads", access->in_host ? "byte" : "row",
				  (long long)npl_max_i64(conflicting->first, access->first),
				  access->in_host ? "host memory" : "the unified buffer",
				  SIM_PROGRAM_LOCATION(check->program, conflicting->location.index),
				  writes ? "writes" : "reads", tpu_units[unit].name);
	}
	return 0;
}

int tpu_check_hazards(struct tpu_check *check, struct tpu_hazards *hazards)
{
	enum tpu_unit unit = tpu_unit_of(check->instruction->opcode);
	for (int i = 0; i < check->n_accesses; i++)
		for (enum tpu_unit u = 0; u < TPU_UNITS; u++)
			if (u != unit && compare_with(check, hazards, u, &check->access[i]))
				return check->err->code;
	for (int i = 0; i < check->n_accesses; i++) {
		const struct tpu_access *access = &check->access[i];
		if (!sim_accesses_add(&hazards->accesses[unit][kind_of(access->in_host, access->writes)],
				      &(struct sim_access){access->first, access->end, {.index = check->index}}))
			return npl_fail(check->err, NPL_ENOMEM, "%s: out of memory", check->source);
	}
	return 0;
}
