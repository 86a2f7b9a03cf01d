/* SPDX-License-Identifier: MIT
 *
 * The reports of `exec` on a run (exec_report.h). */
#include "exec_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/message.h"
#include "npulab/report.h"
#include "npulab/sha256.h"
#include "reports/format/json.h"
#include "reports/format/table.h"

void exec_keep_event(void *context, const struct npl_program_event *event)
{
	struct exec_events *events = context;
	struct npl_program_event *grown = npl_grow(events->event, events->count, &events->capacity, sizeof *grown);
	events->lost = events->lost || !grown;
	if (!grown)
		return;
	events->event = grown;
	grown[events->count++] = *event;
}

void exec_put_events(FILE *out, const void *data)
{
	const struct exec_outcome *o = data;
	fputs("cycle,event,index,instruction,line,name,unit\r\n", out);
	for (int64_t i = 0; i < o->events.count; i++) {
		const struct npl_program_event *e = &o->events.event[i];
		struct npl_instruction instruction;
		char line[16] = "";
		npl_program_instruction(o->program, e->instruction, &instruction);
		if (instruction.line)
			snprintf(line, sizeof line, "%d", instruction.line);
		fprintf(out, "%" PRIu64 ",%s,%" PRId64 ",%" PRId64 ",%s,%s,%s\r\n", e->cycle, e->name, e->index,
			e->instruction, line, instruction.name, instruction.unit);
	}
}

static double seconds_of(const struct exec_outcome *o)
{
	return (double)o->execution->cycles / npl_device_get_info(o->device)->clock_hz;
}

/* Says whether a count is known: without values, those of values are not. */
static bool is_known(const struct npl_execution *e, size_t i)
{
	return !e->request.timing_only || e->counter_def[i].partition != NPL_COUNTER_OF_VALUES;
}

static void put_output(struct npl_json *json, const struct npl_execution *e)
{
	char sha256[NPL_SHA256_HEX];
	if (!e->output) {
		npl_json_null(json, "output");
		return;
	}
	npl_sha256_hex(e->output, e->output_bytes, sha256);
	npl_json_open(json, "output", '{');
	npl_json_u64(json, "address", e->output_address);
	npl_json_u64(json, "bytes", e->output_bytes);
	npl_json_string(json, "sha256", sha256);
	npl_json_close(json, '}');
}

static uint64_t cycles_of(const struct npl_cycle_class *class, int n, const struct npl_instruction_time *time,
			  enum npl_cycle_class_kind kind)
{
	uint64_t sum = 0;
	for (int s = 0; s < n; s++)
		sum += class[s].kind == kind ? time->cycles[s] : 0;
	return sum;
}

static void put_instruction(struct npl_json *json, const struct npl_program *program, int64_t i,
			    const struct npl_instruction_time *time)
{
	int n;
	const struct npl_cycle_class *class = npl_program_cycle_classes(program, &n);
	struct npl_instruction instruction;
	npl_program_instruction(program, i, &instruction);
	npl_json_open(json, NULL, '{');
	if (instruction.line)
		npl_json_u64(json, "line", (uint64_t)instruction.line);
	else
		npl_json_null(json, "line");
	npl_json_string(json, "name", instruction.name);
	npl_json_string(json, "unit", instruction.unit);
	npl_json_u64(json, "begin", time->begin);
	npl_json_u64(json, "end", time->end);
	npl_json_u64(json, "worked", cycles_of(class, n, time, NPL_CLASS_WORKING));
	npl_json_u64(json, "waited", cycles_of(class, n, time, NPL_CLASS_WAITING));
	npl_json_open(json, "cycles", '{');
	for (int s = 0; s < n; s++)
		npl_json_u64(json, class[s].name, time->cycles[s]);
	npl_json_close(json, '}');
	npl_json_close(json, '}');
}

static void put_instructions(struct npl_json *json, const struct exec_outcome *o)
{
	npl_json_open(json, "instructions", '[');
	for (int64_t i = 0; i < npl_program_count(o->program); i++)
		put_instruction(json, o->program, i, &o->execution->time[i]);
	npl_json_close(json, ']');
}

void exec_put_json(FILE *out, const void *data)
{
	const struct exec_outcome *o = data;
	const struct npl_execution *e = o->execution;
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.exec/1");
	npl_json_build(&json);
	npl_json_string(&json, "machine", npl_device_name(o->device));
	npl_json_string(&json, "machine_sha256", npl_device_sha256(o->device));
	npl_json_string(&json, "engine", e->request.engine);
	npl_json_bool(&json, "timing_only", e->request.timing_only);
	npl_json_u64(&json, "cycles", e->cycles);
	npl_json_double(&json, "seconds", seconds_of(o));
	npl_json_open(&json, "counters", '{');
	for (size_t i = 0; i < e->n_counters; i++)
		if (is_known(e, i))
			npl_json_u64(&json, e->counter_def[i].name, e->counter[i]);
		else
			npl_json_null(&json, e->counter_def[i].name);
	npl_json_close(&json, '}');
	if (e->request.timing_only) {
		npl_json_null(&json, "overflows");
		npl_json_null(&json, "saturations");
	} else {
		npl_json_u64(&json, "overflows", e->overflows);
		npl_json_u64(&json, "saturations", e->saturations);
	}
	put_output(&json, e);
	if (e->time)
		put_instructions(&json, o);
	else
		npl_json_null(&json, "instructions");
	npl_json_close(&json, '}');
	fputc('\n', out);
}

static void add_row(struct npl_table *table, const char *name, uint64_t value, bool known, const char *unit,
		    const char *help)
{
	char text[24] = "-";
	if (known)
		snprintf(text, sizeof text, "%" PRIu64, value);
	npl_table_row(table, (const char *const[]){name, text, unit, help});
}

static int print_counters(const struct exec_outcome *o)
{
	static const char *const header[] = {"COUNTER", "VALUE", "UNIT", "WHAT"};
	const struct npl_execution *e = o->execution;
	char time[32], help[200];
	struct npl_table table;
	npl_si_text(seconds_of(o), "s", time, sizeof time);
	printf("%s, engine %s: %" PRIu64 " cycles, ~%s\n\n", npl_device_name(o->device), e->request.engine, e->cycles,
	       time);
	npl_table_open(&table, "lrll", header);
	for (size_t i = 0; i < e->n_counters; i++) {
		const struct npl_counter_def *def = &e->counter_def[i];
		snprintf(help, sizeof help, def->part_of ? "of %s: %s" : "%s%s", def->part_of ? def->part_of : "",
			 def->help);
		add_row(&table, def->name, e->counter[i], is_known(e, i), def->unit, help);
	}
	add_row(&table, "overflows", e->overflows, !e->request.timing_only, "sums",
		"whose value their accumulator or register could not hold: they wrapped, and are wrong");
	add_row(&table, "saturations", e->saturations, !e->request.timing_only, "values",
		"that did not fit their type");
	npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

/* Writes "weight_stall 5, weight_shift 16": the waits that are not 0. */
static void waits_text(const struct npl_cycle_class *class, int n, const struct npl_instruction_time *time, char *text,
		       size_t size)
{
	*text = '\0';
	for (int s = 0; s < n; s++)
		if (class[s].kind == NPL_CLASS_WAITING && time->cycles[s])
			npl_append(text, size, ", ", "%s %" PRIu64, class[s].name, time->cycles[s]);
}

static int print_instructions(const struct exec_outcome *o)
{
	static const char *const header[] = {"LINE", "INSTRUCTION", "UNIT", "BEGIN", "END", "WORKED", "WAITED", "FOR"};
	int n;
	const struct npl_cycle_class *class = npl_program_cycle_classes(o->program, &n);
	struct npl_table table;
	npl_table_open(&table, "rwlrrrrl", header);
	table.keys = 2; /* the line and the name of an instruction */
	for (int64_t i = 0; i < npl_program_count(o->program); i++) {
		const struct npl_instruction_time *time = &o->execution->time[i];
		const uint64_t numbers[] = {time->begin, time->end, cycles_of(class, n, time, NPL_CLASS_WORKING),
					    cycles_of(class, n, time, NPL_CLASS_WAITING)};
		struct npl_instruction instruction;
		char line[24], number[4][24], waits[400];
		npl_program_instruction(o->program, i, &instruction);
		/* Messages name an instruction of a binary by its number, and so does this column. */
		snprintf(line, sizeof line, instruction.line ? "%" PRId64 : "(%" PRId64 ")",
			 instruction.line ? (int64_t)instruction.line : i);
		for (int k = 0; k < 4; k++)
			snprintf(number[k], sizeof number[k], "%" PRIu64, numbers[k]);
		waits_text(class, n, time, waits, sizeof waits);
		npl_table_row(&table, (const char *const[]){line, instruction.name, instruction.unit, number[0],
							    number[1], number[2], number[3], waits});
	}
	putchar('\n');
	npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

int exec_print(const struct exec_outcome *o)
{
	const int rc = print_counters(o);
	return rc || !o->execution->time ? rc : print_instructions(o);
}
