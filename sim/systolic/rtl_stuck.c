/* SPDX-License-Identifier: MIT
 *
 * A machine that has come to a stop before its halt. A cycle has changed no register, and as nothing comes from outside,
 * no later one will. Says of every instruction that waits what it waits for, in the order of the program: the first
 * is where to look. */
#include "rtl.h"

#include <stdio.h>
#include <string.h>

struct waiting {
	int64_t index; /* -1: nobody */
	char what[160];
};

static struct waiting weights_wait(const struct tpu_rtl *rtl)
{
	const struct tpu_rtl_weights *weights = &rtl->weights;
	struct waiting waiting = {.index = -1};
	if (!weights->left && !weights->queue.count)
		return waiting;
	const struct tpu_rtl_issued *at = weights->left ? &weights->now : tpu_rtl_queue_at(&weights->queue, 0);
	waiting.index = at->index;
	snprintf(waiting.what, sizeof waiting.what, "room %s",
		 tpu_rtl_brings(at) == TPU_RTL_TILE ? "in the weight FIFO" : "for a parameter table");
	return waiting;
}

static void other(const struct tpu_rtl *rtl, int64_t index, const char *what, struct waiting *waiting)
{
	char where[64];
	tpu_program_where(rtl->world.program, index, where, sizeof where);
	snprintf(waiting->what, sizeof waiting->what, "%s (%s)", what, where);
}

static struct waiting matrix_waits(const struct tpu_rtl *rtl)
{
	static const struct tpu_rtl_wires none = {0};
	struct waiting waiting = {.index = -1};
	if (!rtl->matrix.queue.count)
		return waiting;
	const struct tpu_rtl_issued *at = tpu_rtl_queue_at(&rtl->matrix.queue, 0);
	waiting.index = at->index;
	if (at->instruction.flags & TPU_MATRIX_SWITCH && !rtl->shifter.full)
		snprintf(waiting.what, sizeof waiting.what, "a tile of weights");
	else
		other(rtl, tpu_rtl_unread(rtl, &none, at), "its accumulators to be read", &waiting);
	return waiting;
}

static struct waiting activate_waits(const struct tpu_rtl *rtl)
{
	struct waiting waiting = {.index = -1};
	if (!rtl->activate.queue.count)
		return waiting;
	const struct tpu_rtl_issued *at = tpu_rtl_queue_at(&rtl->activate.queue, 0);
	waiting.index = at->index;
	if (at->instruction.flags & TPU_ACTIVATE_SWITCH && !rtl->weights.fifo[TPU_RTL_TABLE].arrived)
		snprintf(waiting.what, sizeof waiting.what, "a parameter table");
	else
		other(rtl, tpu_rtl_unwritten(rtl, at), "its accumulators to be written", &waiting);
	return waiting;
}

static struct waiting issue_waits(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires)
{
	struct waiting waiting = {.index = rtl->issue.next};
	enum tpu_unit unit = tpu_unit_of(rtl->world.program->instruction[rtl->issue.next].opcode);
	if (unit < TPU_UNITS) {
		snprintf(waiting.what, sizeof waiting.what, "room in the queue of %s", tpu_unit_name(unit));
		return waiting;
	}
	size_t n = 0;
	for (enum tpu_unit u = 0; u < TPU_UNITS; u++)
		if (wires->awaits >> u & 1)
			n += (size_t)snprintf(waiting.what + n, sizeof waiting.what - n, "%s%s", n ? " and " : "",
					      tpu_unit_name(u));
	return waiting;
}

int tpu_rtl_stuck(const struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires, struct npl_err *err)
{
	const struct waiting all[] = {weights_wait(rtl), matrix_waits(rtl), activate_waits(rtl),
				      issue_waits(rtl, wires)};
	char message[480];
	size_t n = (size_t)snprintf(message, sizeof message, "the program can never end:");
	for (int64_t last = -1, i = 0; i < 4; i++) {
		const struct waiting *next = NULL;
		for (size_t k = 0; k < 4; k++)
			if (all[k].index > last && (!next || all[k].index < next->index))
				next = &all[k];
		if (!next)
			break;
		char where[64];
		tpu_program_where(rtl->world.program, next->index, where, sizeof where);
		n += (size_t)snprintf(message + n, sizeof message - n, "%s %s waits for %s", i ? ";" : "", where,
				      next->what);
		last = next->index;
	}
	return npl_fail(err, NPL_EINPUT, "%s", message);
}
