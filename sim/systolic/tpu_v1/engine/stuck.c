/* SPDX-License-Identifier: MIT
 *
 * The message of both engines for a program that can never end. Each engine finds by itself what waits for what
 * (rtl/stuck.c, fast/stuck.c). */
#include "stuck.h"

#include <stdarg.h>
#include <stdio.h>

#include "sim/systolic/tpu_v1/isa/isa.h"

struct text {
	char buffer[sizeof((struct npl_err *)0)->msg];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(text->buffer + text->length, sizeof text->buffer - text->length, format, arguments);
	va_end(arguments);
	text->length += n > 0 ? (size_t)n : 0;
	if (text->length >= sizeof text->buffer) /* cut off */
		text->length = sizeof text->buffer - 1;
}

static void add_where(struct text *text, const struct sim_program *program, int64_t index)
{
	char location[64];
	sim_program_location_text(program, index, location, sizeof location);
	add(text, "%s", location);
}

static void add_units(struct text *text, unsigned units)
{
	const char *between = "";
	for (enum tpu_unit u = 0; u < TPU_UNITS; u++)
		if (units >> u & 1) {
			add(text, "%s%s", between, tpu_unit_name(u));
			between = " and ";
		}
}

static void add_waiting(struct text *text, const struct sim_program *program, const struct tpu_waiting *waiting)
{
	static const char *const words[] = {[TPU_FOR_A_TILE] = "a tile of weights",
					    [TPU_FOR_A_TABLE] = "a parameter table",
					    [TPU_FOR_TILE_SPACE] = "room in the weight FIFO",
					    [TPU_FOR_TABLE_SPACE] = "room for a parameter table",
					    [TPU_FOR_READS] = "its accumulators to be read (",
					    [TPU_FOR_WRITES] = "its accumulators to be written (",
					    [TPU_FOR_A_QUEUE] = "room in the queue of ",
					    [TPU_FOR_UNITS] = ""};
	add_where(text, program, waiting->index);
	add(text, " waits for %s", words[waiting->reason]);
	if (waiting->reason == TPU_FOR_READS || waiting->reason == TPU_FOR_WRITES) {
		add_where(text, program, waiting->blocker);
		add(text, ")");
	} else if (waiting->reason == TPU_FOR_A_QUEUE || waiting->reason == TPU_FOR_UNITS) {
		add_units(text, waiting->units);
	}
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
	struct text text = {.length = 0};
	int64_t last = -1;
	for (int i = 0; i < n; i++)
		if (!has_cause(&waiting[i]))
			return npl_fail(err, NPL_EINTERNAL,
					"the program has come to a stop, and instruction %lld waits "
					"for nothing",
					(long long)waiting[i].index);
	add(&text, "the program can never end:");
	for (int n_printed = 0; n_printed < n; n_printed++) {
		const struct tpu_waiting *next = NULL;
		for (int i = 0; i < n; i++)
			if (waiting[i].index > last && (!next || waiting[i].index < next->index))
				next = &waiting[i];
		if (!next)
			break;
		add(&text, "%s ", n_printed ? ";" : "");
		add_waiting(&text, program, next);
		last = next->index;
	}
	return npl_fail(err, NPL_EINPUT, "%s", text.buffer);
}
