/* SPDX-License-Identifier: MIT
 *
 * Why a program can never end, once the fast engine's schedule has nothing left that it could resolve: from what the issue
 * stage waits for, from unit to unit, to the instruction that nothing can help. */
#include "fast.h"

enum { WHERE = 96 };

/* What the first unresolved instruction of a unit waits for. */
struct reason {
	const char *what;
	enum tpu_unit helper; /* the unit that could bring it about */
};

static struct reason reason_of(const struct tpu_fast_schedule *s, enum tpu_unit which)
{
	const struct tpu_fast_job *job = &s->unit[which].job[s->unit[which].resolved];
	switch (which) {
	case TPU_WEIGHTS:
		if (s->program->instruction[job->index].flags & TPU_WEIGHTS_PARAMETERS)
			return (struct reason){"room for a parameter table (an activate with switch makes it)",
					       TPU_ACTIVATION};
		return (struct reason){"room in the weight FIFO (a matrix instruction with switch makes it)",
				       TPU_MATRIX};
	case TPU_MATRIX:
		if (job->takes >= s->popped)
			return (struct reason){"a tile of weights (a read_weights brings it)", TPU_WEIGHTS};
		return (struct reason){"an activate to have read the accumulators that it writes", TPU_ACTIVATION};
	case TPU_ACTIVATION:
		if (job->takes >= s->loaded)
			return (struct reason){"a parameter table (a read_weights brings it)", TPU_WEIGHTS};
		return (struct reason){"a matrix instruction to have written the accumulators that it reads",
				       TPU_MATRIX};
	default:
		return (struct reason){"the link", which};
	}
}

static bool is_held_up(const struct tpu_fast_schedule *s, enum tpu_unit unit)
{
	return s->unit[unit].resolved < s->unit[unit].issued;
}

/* A unit that the next instruction to issue waits for. */
static enum tpu_unit issue_waits_for(const struct tpu_fast_schedule *s)
{
	const struct tpu_instruction *in = &s->program->instruction[s->next];
	const unsigned units = in->opcode == TPU_SYNC ? in->flags : (1u << TPU_UNITS) - 1;
	if (tpu_unit_of(in->opcode) < TPU_UNITS)
		return tpu_unit_of(in->opcode);
	for (int u = 0; u < TPU_UNITS; u++)
		if ((units & 1u << u) && is_held_up(s, (enum tpu_unit)u))
			return (enum tpu_unit)u;
	return TPU_UNITS;
}

int tpu_fast_stuck(const struct tpu_fast_schedule *s, struct npl_err *err)
{
	char waiting[WHERE], issuing[WHERE];
	bool seen[TPU_UNITS] = {false};
	enum tpu_unit unit = issue_waits_for(s);
	tpu_program_where(s->program, s->next, issuing, sizeof issuing);
	if (unit == TPU_UNITS || !is_held_up(s, unit))
		return npl_fail(err, NPL_EINTERNAL, "fast engine: %s waits for nothing", issuing);
	for (;;) {
		enum tpu_unit helper = reason_of(s, unit).helper;
		seen[unit] = true;
		if (seen[helper] || !is_held_up(s, helper))
			break;
		unit = helper;
	}
	tpu_program_where(s->program, s->unit[unit].job[s->unit[unit].resolved].index, waiting, sizeof waiting);
	return npl_fail(err, NPL_EINPUT, "the program can never end: %s waits for %s, and issue has stopped at %s",
			waiting, reason_of(s, unit).what, issuing);
}
