/* SPDX-License-Identifier: MIT
 *
 * Writes signals as a value change dump (npulab/vcd.h). What is told is written at once, so that the memory needed
 * depends on the signals and not on the cycles. */
#include "npulab/vcd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/refuse.h"
#include "layer_cycles.h"
#include "npulab/arena.h"
#include "npulab/ratio.h"
#include "npulab/version.h"
#include "stream.h"

/* The last value that was written of a signal. */
struct written {
	bool is_known;
	int64_t value;
};

struct npl_vcd {
	struct npl_vcd_options options;
	struct npl_instruction_sink sink;
	struct npl_signal_sink signals;
	struct trace_out *out;
	struct npl_arena arena;
	const char *path;
	const char *machine;                    /* whose programs are written; NULL: it is not known yet */
	struct trace_layer_cycles layer_cycles; /* of each program, where the dump is narrowed */
	struct npl_instruction_sink layer_sink; /* that finds them */
	bool is_narrowed;
	int64_t told;              /* programs that have begun, of those that are written or left out */
	bool is_chosen;            /* the program that runs is written */
	bool has_head, has_values; /* the head, the first values have been written */
	uint64_t longest;          /* cycles of the longest program that is written */
	uint64_t begin, now;       /* the begin of the program, the time that was written last; in cycles of the dump */
	const char *unit;          /* of the dump's time */
	struct npl_hz clock;       /* of the machine */
	struct npl_hz ticks;       /* of the dump's time */
	struct npl_signal *signal;
	struct written *last; /* (n) */
	int n;
	struct npl_vcd_size size;
};

/* ---- Text. */

static void put(struct npl_vcd *vcd, const char *text)
{
	trace_out_put(vcd->out, text, strlen(text));
}

/* Writes the time, in cycles of the dump, unless it is the one that was written last. */
static void put_time(struct npl_vcd *vcd, uint64_t cycle)
{
	char text[40];
	if (vcd->has_values && vcd->now == cycle)
		return;
	vcd->now = cycle;
	snprintf(text, sizeof text, "#%" PRIu64 "\n", npl_hz_floor(cycle, &vcd->clock, &vcd->ticks));
	put(vcd, text);
}

/* Writes the identifier of a signal: digits from '!' to '~', the lowest first. */
static const char *identifier(int signal, char text[8])
{
	char *at = text;
	do
		*at++ = (char)('!' + signal % 94);
	while ((signal /= 94) > 0);
	*at = '\0';
	return text;
}

static void put_bits(struct npl_vcd *vcd, int signal, int width, bool is_known, uint64_t value)
{
	char text[90], *at = text, id[8];
	if (width > 1)
		*at++ = 'b';
	if (!is_known)
		*at++ = 'x';
	int bit = width - 1;
	while (is_known && bit > 0 && !(value >> bit & 1)) /* a shorter value is filled with 0s */
		bit--;
	for (; is_known && bit >= 0; bit--)
		*at++ = (char)('0' + (value >> bit & 1));
	snprintf(at, sizeof text - (size_t)(at - text), "%s%s\n", width > 1 ? " " : "", identifier(signal, id));
	put(vcd, text);
	vcd->size.changes++;
}

/* ---- The head. */

/* Returns where the name of a signal begins after its scope. */
static const char *name_in_scope(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot ? dot + 1 : name;
}

static int by_scope(const void *a, const void *b)
{
	const struct npl_signal *x = *(const struct npl_signal *const *)a, *y = *(const struct npl_signal *const *)b;
	const size_t n = (size_t)(name_in_scope(x->name) - x->name), m = (size_t)(name_in_scope(y->name) - y->name);
	const int order = memcmp(x->name, y->name, n < m ? n : m);
	return order ? order : n != m ? (n > m) - (n < m) : (x > y) - (x < y);
}

static void put_variable(struct npl_vcd *vcd, int width, int signal, const char *name)
{
	char text[NPL_SIGNAL_NAME + 80], id[8];
	if (width > 1)
		snprintf(text, sizeof text, "$var wire %d %s %s [%d:0] $end\n", width, identifier(signal, id), name,
			 width - 1);
	else
		snprintf(text, sizeof text, "$var wire 1 %s %s $end\n", identifier(signal, id), name);
	put(vcd, text);
}

/* Declares the signals, each scope once. The last identifier is that of the number of the program. */
static int put_variables(struct npl_vcd *vcd, struct npl_err *err)
{
	const struct npl_signal **sorted = malloc(((size_t)vcd->n + 1) * sizeof *sorted);
	char scope[NPL_SIGNAL_NAME] = "", next[NPL_SIGNAL_NAME], text[NPL_SIGNAL_NAME + 40];
	if (!sorted)
		return npl_no_memory(err);
	for (int i = 0; i < vcd->n; i++)
		sorted[i] = &vcd->signal[i];
	if (vcd->n)
		qsort(sorted, (size_t)vcd->n, sizeof *sorted, by_scope);
	put_variable(vcd, 32, vcd->n, "program");
	for (int i = 0; i < vcd->n; i++) {
		const char *name = name_in_scope(sorted[i]->name);
		snprintf(next, sizeof next, "%.*s", (int)(name - sorted[i]->name), sorted[i]->name);
		if (*next)
			next[strlen(next) - 1] = '\0';
		if (strcmp(next, scope) != 0) {
			snprintf(text, sizeof text, "%s$scope module %s $end\n", *scope ? "$upscope $end\n" : "", next);
			put(vcd, text);
			memcpy(scope, next, sizeof scope);
		}
		put_variable(vcd, sorted[i]->def.width, (int)(sorted[i] - vcd->signal), name);
	}
	if (*scope)
		put(vcd, "$upscope $end\n");
	free(sorted);
	return 0;
}

/* Returns the name with nothing in it that would end a word. NULL: out of memory. */
static char *scope_of(struct npl_vcd *vcd, const char *name)
{
	char *copy = npl_arena_strdup(&vcd->arena, name);
	for (char *at = copy; at && *at; at++)
		if (*at <= ' ' || *at == '$' || *at == '.')
			*at = '_';
	return copy;
}

/* Chooses the unit of time: the coarsest in which a cycle is a whole number, or the finest of all. */
static void choose_unit(struct npl_vcd *vcd, int64_t clock_hz)
{
	static const struct {
		const char *name;
		int64_t hz;
	} units[] = {{"1 ns", 1000000000}, {"1 ps", 1000000000000}, {"1 fs", 1000000000000000}};
	int i = 0;
	while (i < 2 && units[i].hz % clock_hz)
		i++;
	vcd->unit = units[i].name;
	vcd->ticks = (struct npl_hz){units[i].hz, 1};
	vcd->clock = (struct npl_hz){clock_hz, 1};
}

static int put_head(struct npl_vcd *vcd, struct npl_err *err)
{
	char text[400];
	const char *scope = scope_of(vcd, vcd->machine);
	if (!scope)
		return npl_no_memory(err);
	snprintf(text, sizeof text,
		 "$version npulab %s $end\n$comment one cycle is 1 / %" PRId64 " s $end\n$timescale %s $end\n"
		 "$scope module %s $end\n",
		 npl_version(), vcd->clock.numerator, vcd->unit, scope);
	put(vcd, text);
	if (put_variables(vcd, err))
		return err->code;
	put(vcd, "$upscope $end\n$enddefinitions $end\n");
	vcd->has_head = true;
	return 0;
}

/* ---- What is told. */

static bool computes(const struct npl_executed_program *program, const char *layer)
{
	for (int i = 0; i < program->n_layers; i++)
		if (strstr(program->layer[i], layer))
			return true;
	return false;
}

/* Finds the cycles of the next program that are written. Returns false where there are none. */
static bool choose_cycles(struct npl_vcd *vcd)
{
	struct trace_window cycles = {vcd->options.from, vcd->options.until ? vcd->options.until : UINT64_MAX};
	const int64_t program = vcd->told++;
	if (vcd->is_narrowed && program >= vcd->layer_cycles.n)
		return false;
	if (vcd->is_narrowed) {
		cycles.from = npl_max_u64(cycles.from, vcd->layer_cycles.window[program].from);
		cycles.until = npl_min_u64(cycles.until, vcd->layer_cycles.window[program].until);
	}
	vcd->signals.from = cycles.from;
	vcd->signals.until = cycles.until == UINT64_MAX ? 0 : cycles.until;
	return cycles.from < cycles.until;
}

static int on_program(void *context, const struct npl_executed_program *program, struct npl_err *err)
{
	struct npl_vcd *vcd = context;
	const struct npl_vcd_options *options = &vcd->options;
	const char *machine = program->machine ? program->machine : "machine";
	const bool is_machine = !vcd->machine || !program->machine || !strcmp(vcd->machine, machine);
	vcd->is_chosen = choose_cycles(vcd) && is_machine && (!options->layer || computes(program, options->layer));
	if (!vcd->is_chosen)
		vcd->signals.from = UINT64_MAX;
	if (vcd->is_chosen && !vcd->machine && !(vcd->machine = npl_arena_strdup(&vcd->arena, machine)))
		return npl_no_memory(err);
	return 0;
}

/* Writes a value that differs from the one before. */
static void put_value(struct npl_vcd *vcd, int signal, bool is_known, int64_t value)
{
	struct written *last = &vcd->last[signal];
	if (vcd->has_values && last->is_known == is_known && last->value == value)
		return;
	*last = (struct written){is_known, value};
	put_bits(vcd, signal, vcd->signal[signal].def.width, is_known, (uint64_t)value);
}

static void put_unknown(struct npl_vcd *vcd)
{
	for (int i = 0; i < vcd->n; i++)
		put_value(vcd, i, false, 0);
}

/* Writes the values at time 0: those of the first cycle, or that none is known. */
static void put_first(struct npl_vcd *vcd, const struct npl_signal_change *change, int n)
{
	put_time(vcd, 0);
	put(vcd, "$dumpvars\n");
	put_bits(vcd, vcd->n, 32, true, 1);
	for (int i = 0; i < n; i++)
		put_value(vcd, change[i].signal, change[i].is_known, change[i].value);
	if (!n)
		put_unknown(vcd);
	put(vcd, "$end\n");
	vcd->has_values = true;
}

static int begin_program(struct npl_vcd *vcd)
{
	if (!vcd->has_values)
		return 0;
	put_time(vcd, vcd->begin);
	put_bits(vcd, vcd->n, 32, true, (uint64_t)vcd->size.programs + 1);
	if (vcd->signals.from)
		put_unknown(vcd);
	return 0;
}

static int on_signals(void *context, const struct npl_signal *signal, int n, int64_t clock_hz, struct npl_err *err)
{
	struct npl_vcd *vcd = context;
	if (vcd->has_head)
		return begin_program(vcd);
	vcd->signal = malloc(((size_t)n + 1) * sizeof *vcd->signal);
	vcd->last = calloc((size_t)n + 1, sizeof *vcd->last);
	if (!vcd->signal || !vcd->last)
		return npl_no_memory(err);
	memcpy(vcd->signal, signal, (size_t)n * sizeof *signal);
	vcd->n = n;
	vcd->size.signals = n;
	choose_unit(vcd, clock_hz);
	return put_head(vcd, err);
}

static int on_cycle(void *context, uint64_t cycle, const struct npl_signal_change *change, int n, struct npl_err *err)
{
	struct npl_vcd *vcd = context;
	(void)err;
	if (!vcd->has_values && vcd->begin + cycle == 0) {
		put_first(vcd, change, n);
		return 0;
	}
	if (!vcd->has_values)
		put_first(vcd, NULL, 0);
	put_time(vcd, vcd->begin + cycle);
	for (int i = 0; i < n; i++)
		put_value(vcd, change[i].signal, change[i].is_known, change[i].value);
	return 0;
}

static int on_end(void *context, const struct npl_executed_end *end, struct npl_err *err)
{
	struct npl_vcd *vcd = context;
	const uint64_t until = vcd->signals.until;
	(void)err;
	if (!vcd->is_chosen || !end)
		return 0;
	if (!vcd->has_values)
		put_first(vcd, NULL, 0);
	if (until && until < end->cycles) {
		put_time(vcd, vcd->begin + until);
		put_unknown(vcd);
	}
	vcd->begin += end->cycles;
	vcd->longest = end->cycles > vcd->longest ? end->cycles : vcd->longest;
	vcd->size.programs++;
	vcd->size.cycles += end->cycles;
	return 0;
}

/* ---- The dump. */

int npl_vcd_open(const struct npl_vcd_options *options, const char *path, struct npl_vcd **opened, struct npl_err *err)
{
	struct npl_vcd *vcd = calloc(1, sizeof *vcd);
	*opened = NULL;
	if (!vcd)
		return npl_no_memory(err);
	vcd->options = *options;
	vcd->signals = (struct npl_signal_sink){.choice = options->signals,
						.machine = options->machine,
						.on_signals = on_signals,
						.on_cycle = on_cycle,
						.context = vcd};
	vcd->sink = (struct npl_instruction_sink){
		.on_program = on_program, .on_end = on_end, .context = vcd, .signals = &vcd->signals};
	vcd->path = npl_arena_strdup(&vcd->arena, path);
	if (options->machine)
		vcd->machine = npl_arena_strdup(&vcd->arena, options->machine);
	int rc = vcd->path && (!options->machine || vcd->machine) ? 0 : npl_no_memory(err);
	if (!rc)
		rc = trace_out_open(path, &vcd->out, err);
	if (rc)
		npl_vcd_close(vcd);
	else
		*opened = vcd;
	return rc;
}

const struct npl_instruction_sink *npl_vcd_layer_sink(struct npl_vcd *vcd)
{
	vcd->layer_cycles.layer = vcd->options.layer ? vcd->options.layer : "";
	vcd->layer_sink = trace_layer_cycles_sink(&vcd->layer_cycles);
	return &vcd->layer_sink;
}

int npl_vcd_narrow(struct npl_vcd *vcd, struct npl_err *err)
{
	vcd->is_narrowed = vcd->layer_cycles.n > 0;
	if (vcd->is_narrowed && !vcd->layer_cycles.found)
		return npl_fail(err, NPL_EUSAGE,
				"%s: no layer with '%s' in its name has instructions, whose signals could be written",
				vcd->path, vcd->layer_cycles.layer);
	return 0;
}

const struct npl_instruction_sink *npl_vcd_sink(struct npl_vcd *vcd)
{
	return &vcd->sink;
}

struct npl_vcd_size npl_vcd_size_of(const struct npl_vcd *vcd)
{
	return vcd->size;
}

int npl_vcd_finish(struct npl_vcd *vcd, struct npl_err *err)
{
	const char *layer = vcd->options.layer, *machine = vcd->options.machine;
	const uint64_t from = vcd->options.from;
	if (vcd->size.programs && from >= vcd->longest)
		return npl_fail(err, NPL_EUSAGE,
				"%s: cycle %" PRIu64 " is beyond the end: the longest program has %" PRIu64 " cycles",
				vcd->path, from, vcd->longest);
	if (!vcd->size.programs && vcd->is_narrowed && (from || vcd->options.until))
		return npl_fail(err, NPL_EUSAGE,
				"%s: no instruction%s%s runs in the chosen cycles, whose signals could be written",
				vcd->path, layer ? " of a layer like " : "", layer ? layer : "");
	if (!vcd->size.programs)
		return npl_fail(err, NPL_EUSAGE, "%s: no program%s%s%s%s has run, whose signals could be written",
				vcd->path, machine ? " of " : "", machine ? machine : "",
				layer ? " with a layer like " : "", layer ? layer : "");
	put_time(vcd, vcd->begin);
	return trace_out_finish(vcd->out, err);
}

void npl_vcd_close(struct npl_vcd *vcd)
{
	if (!vcd)
		return;
	trace_out_close(vcd->out);
	free(vcd->signal);
	free(vcd->last);
	trace_layer_cycles_free(&vcd->layer_cycles);
	npl_arena_free(&vcd->arena);
	free(vcd);
}
