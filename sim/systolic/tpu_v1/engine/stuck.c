/* SPDX-License-Identifier: MIT
 *
 * The message of both engines for a program that can never end. Each engine finds by itself what waits for what
 * (rtl/stuck.c, fast/stuck.c). */
#include "stuck.h"

#include "core/base/message.h"
#include "sim/systolic/tpu_v1/isa/isa.h"

#define LONGEST        sizeof((struct npl_err *)0)->msg
#define add(text, ...) npl_append((text), LONGEST, "", __VA_ARGS__)

static void add_units(char *text, unsigned units)
{
	const char *between = "";
	for (enum tpu_unit u = 0; u < TPU_UNITS; u++)
		if (units >> u & 1) {
			add(text, "%s%s", between, tpu_units[u].name);
			between = " and ";
		}
}

static const char *waited_for(enum tpu_waited_for reason)
{
	switch (reason) {
	case TPU_FOR_A_TILE:
		return "a tile of weights";
	case TPU_FOR_A_TABLE:
		return "a parameter table";
	case TPU_FOR_TILE_SPACE:
		return "room in the weight FIFO";
	case TPU_FOR_TABLE_SPACE:
		return "room for a parameter table";
	case TPU_FOR_READS:
		return "its accumulators to be read (";
	case TPU_FOR_WRITES:
		return "its accumulators to be written (";
	case TPU_FOR_A_QUEUE:
		return "room in the queue of ";
	case TPU_FOR_UNITS:
		return "";
	}
	return NULL;
}

static void add_waiting(char *text, const struct sim_program *program, const struct tpu_waiting *waiting)
{
	add(text, "%s waits for %s", SIM_PROGRAM_LOCATION(program, waiting->index), waited_for(waiting->reason));
	if (waiting->reason == TPU_FOR_READS || waiting->reason == TPU_FOR_WRITES)
		add(text, "%s)", SIM_PROGRAM_LOCATION(program, waiting->blocker));
	else if (waiting->reason == TPU_FOR_A_QUEUE || waiting->reason == TPU_FOR_UNITS)
		add_units(text, waiting->units);
}

/* Says whether the instruction that could help is known. */
static bool has_cause(const struct tpu_waiting *waiting)
{
	if (waiting->index < 0)
		return true;
	if (waiting->reason == TPU_FOR_READS || waiting->reason == TPU_FOR_WRITES)
		return waiting->blocker >= 0;
	return waiting->units || (waiting->reason != TPU_FOR_A_QUEUE && waiting->reason != TPU_FOR_UNITS);
}

int tpu_fail_deadlock(const struct sim_program *program, const struct tpu_waiting *waiting, int n, struct npl_err *err)
{
	char text[LONGEST] = "the program can never end:";
	int64_t last = -1;
	for (int i = 0; i < n; i++)
		if (!has_cause(&waiting[i]))
			return npl_fail(err, NPL_EINTERNAL,
					"the program has come to a stop, and instruction %lld waits "
					"for nothing",
					(long long)waiting[i].index);
	for (int n_printed = 0; n_printed < n; n_printed++) {
		const struct tpu_waiting *next = NULL;
		for (int i = 0; i < n; i++)
			if (waiting[i].index > last && (!next || waiting[i].index < next->index))
				next = &waiting[i];
		if (!next)
			break;
		add(text, "%s ", n_printed ? ";" : "");
		add_waiting(text, program, next);
		last = next->index;
	}
	return npl_fail(err, NPL_EINPUT, "%s", text);
}
