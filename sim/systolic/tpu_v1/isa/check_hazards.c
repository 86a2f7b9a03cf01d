/* SPDX-License-Identifier: MIT
 *
 * Hazards between units (docs/tpu-isa.md, Units): the hardware does not order what two units do with the same row of the
 * unified buffer, or the same byte of host memory, so a program must, by a sync on the unit that was first. For each
 * unit and memory this keeps what it has read and what it has written since the last sync on it, as a set of intervals; an
 * instruction is compared with those of the other units in logarithmic time. Which earlier instruction it was is looked up only when there is a conflict to report. */
#include <stdlib.h>

#include "check.h"
#include "core/base/grow.h"
#include "sim/common/intervals.h"

struct noted {
	struct tpu_access access;
	int64_t index; /* of the instruction */
};

struct unit_history {
	struct sim_intervals touched[2][2]; /* by in_host and writes */
	struct noted *noted;
	int64_t count, room;
};

struct tpu_hazards {
	struct unit_history unit[TPU_UNITS];
};

struct tpu_hazards *tpu_hazards_open(void)
{
	return calloc(1, sizeof(struct tpu_hazards));
}

static void forget(struct unit_history *history)
{
	for (int in_host = 0; in_host < 2; in_host++)
		for (int writes = 0; writes < 2; writes++)
			sim_intervals_clear(&history->touched[in_host][writes]);
	history->count = 0;
}

void tpu_hazards_close(struct tpu_hazards *hazards)
{
	for (int u = 0; hazards && u < TPU_UNITS; u++) {
		forget(&hazards->unit[u]);
		free(hazards->unit[u].noted);
	}
	free(hazards);
}

void tpu_hazards_sync(struct tpu_hazards *hazards, unsigned units)
{
	for (unsigned u = 0; u < TPU_UNITS; u++)
		if (units >> u & 1)
			forget(&hazards->unit[u]);
}

static bool note(struct unit_history *history, const struct tpu_access *access, int64_t index)
{
	struct noted *more = npl_grow(history->noted, history->count, &history->room, sizeof *more);
	if (!more)
		return false;
	history->noted = more;
	more[history->count++] = (struct noted){*access, index};
	return sim_intervals_add(&history->touched[access->in_host][access->writes], access->first, access->end);
}

/* There is a conflict: finds the latest instruction of that unit that makes it, and tells. */
static int tell(struct tpu_check *check, const struct unit_history *history, enum tpu_unit unit,
		const struct tpu_access *access, bool writes)
{
	int64_t i = history->count;
	const struct tpu_access *old;
	do {
		i--;
		old = &history->noted[i].access;
	} while (i && (old->in_host != access->in_host || old->writes != writes || old->end <= access->first ||
		       old->first >= access->end));
	char where[64];
	sim_program_where(check->program, history->noted[i].index, where, sizeof where);
	return tpu_refuse(check, "%s %s %lld of %s, which %s %s; expected a `sync %s` between them",
			  access->writes ? "writes" : "reads", access->in_host ? "byte" : "row",
			  (long long)(old->first > access->first ? old->first : access->first),
			  access->in_host ? "host memory" : "the unified buffer", where, writes ? "writes" : "reads",
			  tpu_unit_name(unit));
}

static int compare_with(struct tpu_check *check, const struct unit_history *history, enum tpu_unit unit,
			const struct tpu_access *access)
{
	for (int writes = 1; writes >= 0; writes--)
		if ((writes || access->writes) &&
		    sim_intervals_meet(&history->touched[access->in_host][writes], access->first, access->end))
			return tell(check, history, unit, access, writes);
	return 0;
}

int tpu_check_hazards(struct tpu_check *check, struct tpu_hazards *hazards)
{
	enum tpu_unit own = tpu_unit_of(check->at->opcode);
	for (int i = 0; i < check->n_accesses; i++)
		for (enum tpu_unit u = 0; u < TPU_UNITS; u++)
			if (u != own && compare_with(check, &hazards->unit[u], u, &check->access[i]))
				return check->err->code;
	for (int i = 0; i < check->n_accesses; i++)
		if (!note(&hazards->unit[own], &check->access[i], check->index))
			return npl_fail(check->err, NPL_ENOMEM, "%s: out of memory", check->source);
	return 0;
}
