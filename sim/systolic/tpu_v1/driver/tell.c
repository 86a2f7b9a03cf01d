/* SPDX-License-Identifier: MIT
 *
 * Tells a sink the instructions of a program (tell.h). Checksums are made when an instruction retires; everything else
 * is told after the program, whose times are not known before. */
#include "tell.h"

#include <stdlib.h>

#include "core/base/checksum.h"
#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "count.h"
#include "driver_impl.h"
#include "sim/systolic/tpu_v1/isa/check.h"
#include "times.h"

/* Bytes that an instruction writes to the unified buffer or to host memory. */
struct write {
	int64_t instruction;
	const uint8_t *from;
	size_t bytes;
};

/* The counters that an instruction moves, in the order of counters.def; that of instructions, which each moves by one,
 * is not worth telling. */
#define MOVED(member) offsetof(struct tpu_counters, member)
static const size_t moved_offset[] = {MOVED(useful_macs),        MOVED(unused_macs),   MOVED(tiles),
				      MOVED(weight_bytes),       MOVED(ub_rows_read),  MOVED(ub_rows_written),
				      MOVED(accumulator_writes), MOVED(host_bytes_in), MOVED(host_bytes_out)};
enum { MOVED_COUNTERS = sizeof moved_offset / sizeof *moved_offset, FIELDS = 5 };

struct tpu_teller {
	struct tpu_told told;
	bool has_begun; /* the sink has been told of the program, and not of its end */
	struct sim_observer observer;
	struct sim_time_sink time_sink;
	void *times;
	struct write *write; /* in the order of the program */
	int64_t n_writes, capacity;
	int64_t *first_write; /* of each instruction, and the end */
	uint64_t *checksum;
	bool *has_checksum;
	const char **layer;                /* the names of the layers */
	int moved_counter[MOVED_COUNTERS]; /* as indices in the table of counters */
	struct npl_instruction *described; /* by opcode; a unit of NULL: not yet */
	struct tpu_registers registers;    /* as the instruction that is told next finds them */
	bool out_of_memory;
};

static const struct sim_observer *next_of(const struct tpu_teller *teller)
{
	return teller->told.observer;
}

static void on_event(void *context, const struct sim_event *event)
{
	const struct tpu_teller *teller = context;
	if (next_of(teller) && next_of(teller)->on_event)
		next_of(teller)->on_event(next_of(teller)->context, event);
	tpu_times.on_event(teller->times, event);
}

static void on_cycles(void *context, const struct sim_cycles *interval)
{
	const struct tpu_teller *teller = context;
	if (next_of(teller) && next_of(teller)->on_cycles)
		next_of(teller)->on_cycles(next_of(teller)->context, interval);
	tpu_times.on_cycles(teller->times, interval);
}

static int on_retired(void *context, int64_t instruction, struct npl_err *err)
{
	const struct tpu_teller *teller = context;
	const int64_t first = teller->first_write[instruction], end = teller->first_write[instruction + 1];
	if (first < end) {
		struct npl_checksum sum;
		npl_checksum_init(&sum);
		for (int64_t w = first; w < end; w++)
			npl_checksum_add(&sum, teller->write[w].from, teller->write[w].bytes);
		teller->checksum[instruction] = npl_checksum_of(&sum);
		teller->has_checksum[instruction] = true;
	}
	return next_of(teller) && next_of(teller)->on_retired
		       ? next_of(teller)->on_retired(next_of(teller)->context, instruction, err)
		       : 0;
}

static void note_write(void *context, int64_t instruction, const struct tpu_access *access)
{
	struct tpu_teller *teller = context;
	const struct tpu_memory *memory = teller->told.memory;
	const size_t unit = access->in_host ? 1 : (size_t)tpu_row_bytes(teller->told.config);
	if (!access->writes || access->first >= access->end)
		return;
	struct write *grown = npl_grow(teller->write, teller->n_writes, &teller->capacity, sizeof *grown);
	teller->out_of_memory = teller->out_of_memory || !grown;
	if (!grown)
		return;
	teller->write = grown;
	grown[teller->n_writes++] = (struct write){
		instruction, (access->in_host ? memory->host : memory->buffer) + (size_t)access->first * unit,
		(size_t)(access->end - access->first) * unit};
}

/* Finds what each instruction writes. */
static int find_writes(struct tpu_teller *teller, struct npl_err *err)
{
	const struct tpu_told *told = &teller->told;
	const size_t n = (size_t)told->program->count + 1;
	teller->first_write = calloc(n, sizeof *teller->first_write);
	teller->checksum = calloc(n, sizeof *teller->checksum);
	teller->has_checksum = calloc(n, sizeof *teller->has_checksum);
	teller->described = calloc(UINT8_MAX + 1, sizeof *teller->described);
	if (!teller->first_write || !teller->checksum || !teller->has_checksum || !teller->described)
		return npl_no_memory(err);
	if (told->memory->timing_only)
		return 0;
	const int rc = tpu_program_accesses(told->config, told->program, "the program", note_write, teller, err);
	for (int64_t i = 0, w = 0; i < told->program->count; i++) {
		while (w < teller->n_writes && teller->write[w].instruction <= i)
			w++;
		teller->first_write[i + 1] = w;
	}
	return !rc && teller->out_of_memory ? npl_no_memory(err) : rc;
}

static const struct npl_instruction *describe(struct tpu_teller *teller, const struct tpu_instruction *instruction)
{
	struct npl_instruction *described = &teller->described[instruction->opcode];
	if (!described->unit)
		tpu_describe_instruction(instruction, described);
	return described;
}

static int tell(void *context, int64_t index, const struct npl_instruction_time *time, struct npl_err *err)
{
	struct tpu_teller *teller = context;
	const struct tpu_told *told = &teller->told;
	const struct tpu_instruction *in = &tpu_code(told->program)[index];
	const struct npl_instruction *described = describe(teller, in);
	const uint64_t field[FIELDS] = {in->opcode, in->flags, in->ub, in->operand, in->length};
	struct tpu_counters counters = {0};
	uint64_t moved[MOVED_COUNTERS];
	tpu_count_instruction(told->config, &teller->registers, in, &counters);
	for (int m = 0; m < MOVED_COUNTERS; m++)
		moved[m] = *sim_counter_at(&counters, moved_offset[m]);
	if (in->opcode == TPU_SET_CONFIG)
		teller->registers.value[in->operand] = in->length;
	const struct npl_executed_instruction executed = {
		.index = index,
		.name = described->name,
		.unit = described->unit,
		.layer = told->of_layer ? told->of_layer[index] : -1,
		.time = time,
		.moved = moved,
		.field = field,
		.has_checksum = teller->has_checksum[index],
		.checksum = teller->checksum[index],
	};
	return told->sink->on_instruction ? told->sink->on_instruction(told->sink->context, &executed, err) : 0;
}

static int tell_program(struct tpu_teller *teller, struct npl_err *err)
{
	const struct tpu_told *told = &teller->told;
	const int n = told->group ? told->group->n : 0;
	teller->layer = malloc(((size_t)n + 1) * sizeof *teller->layer);
	if (!teller->layer)
		return npl_no_memory(err);
	for (int i = 0; i < n; i++)
		teller->layer[i] = told->group->layer[i]->name;
	const struct npl_executed_program program = {.cycle_class = tpu_time_classes,
						     .n_cycle_classes = TPU_TIME_CLASSES,
						     .counter_def = tpu_counter_defs,
						     .n_counters = tpu_shown_counters(told->config),
						     .moved_counter = teller->moved_counter,
						     .n_moved = MOVED_COUNTERS,
						     .n_fields = FIELDS,
						     .layer = teller->layer,
						     .n_layers = n};
	return told->sink->on_program ? told->sink->on_program(told->sink->context, &program, err) : 0;
}

int tpu_teller_open(const struct tpu_told *told, struct tpu_teller **opened, struct npl_err *err)
{
	struct tpu_teller *teller = calloc(1, sizeof *teller);
	*opened = NULL;
	if (!teller)
		return npl_no_memory(err);
	teller->told = *told;
	sim_find_counters(tpu_counter_defs, moved_offset, MOVED_COUNTERS, teller->moved_counter);
	teller->registers = tpu_reset_registers(told->config->rows, told->config->columns);
	teller->time_sink = (struct sim_time_sink){tell, teller};
	teller->observer = (struct sim_observer){.context = teller,
						 .on_event = on_event,
						 .on_cycles = on_cycles,
						 .on_retired = on_retired,
						 .value_counts = told->observer ? told->observer->value_counts : NULL};
	int rc = find_writes(teller, err);
	if (!rc)
		rc = tpu_times.open(&teller->times, told->config, told->program, &teller->time_sink, err);
	if (!rc)
		rc = tell_program(teller, err);
	teller->has_begun = !rc;
	if (rc)
		tpu_teller_close(teller);
	else
		*opened = teller;
	return rc;
}

const struct sim_observer *tpu_teller_observer(struct tpu_teller *teller)
{
	return &teller->observer;
}

int tpu_teller_end(struct tpu_teller *teller, const struct tpu_outcome *outcome, struct npl_err *err)
{
	const struct npl_instruction_sink *sink = teller->told.sink;
	uint64_t counter[TPU_COUNTERS];
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &outcome->counters, counter);
	if (tpu_times.finish(teller->times, outcome->cycles, err))
		return err->code;
	teller->has_begun = false;
	return sink->on_end ? sink->on_end(sink->context, &(struct npl_executed_end){outcome->cycles, counter}, err)
			    : 0;
}

void tpu_teller_close(struct tpu_teller *teller)
{
	if (!teller)
		return;
	const struct npl_instruction_sink *sink = teller->told.sink;
	if (teller->has_begun && sink->on_end)
		sink->on_end(sink->context, NULL, &(struct npl_err){0});
	tpu_times.close(teller->times);
	free(teller->write);
	free(teller->first_write);
	free(teller->checksum);
	free(teller->has_checksum);
	free(teller->layer);
	free(teller->described);
	free(teller);
}
