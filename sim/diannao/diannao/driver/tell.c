/* SPDX-License-Identifier: MIT
 *
 * Tells a sink the instructions of a program (tell.h). */
#include "tell.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/checksum.h"
#include "core/base/refuse.h"
#include "driver_impl.h"
#include "times.h"

/* Descriptions that are remembered: making one takes longer than everything else. An instruction is described by what
 * its five slots do, 3 bits each. */
#define DESCRIPTIONS (1 << 15)

/* The counters that an instruction moves, in the order of counters.def. Which of its multiply-accumulates are of the
 * layer, and which are padding, only the layer tells. */
#define MOVED(X)                                                                                                       \
	X(nbin_rows) X(sb_rows) X(nbout_rows) X(nfu3_operations) X(input_bytes) X(synapse_bytes) X(output_bytes)
enum {
#define MOVED_CONSTANT(member) MOVED_##member,
	MOVED(MOVED_CONSTANT) MOVED_COUNTERS
};

enum {
#define DN_CP(...)    +1
#define DN_SB(...)    +1
#define DN_NBIN(...)  +1
#define DN_NBOUT(...) +1
#define DN_NFU(...)   +1
	FIELDS = 0
#include "sim/diannao/diannao/isa/fields.def"
};

struct dn_teller {
	struct dn_told told;
	bool has_begun; /* the sink has been told of the program, and not of its end */
	const struct dn_config *config;
	size_t n_counters;
	struct dn_stream stream;
	struct sim_observer observer;
	struct sim_time_sink time_sink;
	void *times;
	const uint8_t *results; /* NULL: no values */
	uint64_t first_result;  /* its address */
	struct npl_instruction **described;
	int moved_counter[MOVED_COUNTERS]; /* as indices in the table of counters */
	/* Of the instruction that is told. */
	uint64_t moved[MOVED_COUNTERS], field[FIELDS];
};

static void next(void *state, struct dn_instruction *instruction)
{
	const struct dn_teller *teller = state;
	teller->stream.next(teller->stream.state, instruction);
	dn_times_fetched(teller->times, instruction);
}

static void count_repeats(void *state, int64_t repeats[DN_REPEAT_LEVELS])
{
	const struct dn_teller *teller = state;
	teller->stream.count_repeats(teller->stream.state, repeats);
}

static void on_event(void *context, const struct sim_event *event)
{
	const struct dn_teller *teller = context;
	const struct sim_observer *observer = teller->told.observer;
	if (observer && observer->on_event)
		observer->on_event(observer->context, event);
	dn_times.on_event(teller->times, event);
}

static void on_cycles(void *context, const struct sim_cycles *interval)
{
	const struct dn_teller *teller = context;
	const struct sim_observer *observer = teller->told.observer;
	if (observer && observer->on_cycles)
		observer->on_cycles(observer->context, interval);
	dn_times.on_cycles(teller->times, interval);
}

/* Returns the description of an instruction; NULL: out of memory. */
static const struct npl_instruction *describe(const struct dn_teller *teller, const struct dn_instruction *at)
{
	const unsigned nfu = dn_uses_nfu(at) ? 1u + at->nfu.nfu1 : 0;
	struct npl_instruction **described =
		&teller->described[(unsigned)at->cp.op | (unsigned)at->sb.op << 3 | (unsigned)at->nbin.op << 6 |
				   (unsigned)at->nbout.write << 9 | (nfu + 3u * (at->nfu.nfu2 == DN_MAXIMUM)) << 12];
	if (!*described && (*described = calloc(1, sizeof **described)))
		dn_describe_instruction(at, *described);
	return *described;
}

static void read_fields(const struct dn_instruction *at, uint64_t field[FIELDS])
{
	const uint64_t fields[FIELDS] = {
#define DN_CP(form, constant, type, member, ...)    (uint64_t) at->cp.member,
#define DN_SB(form, constant, type, member, ...)    (uint64_t) at->sb.member,
#define DN_NBIN(form, constant, type, member, ...)  (uint64_t) at->nbin.member,
#define DN_NBOUT(form, constant, type, member, ...) (uint64_t) at->nbout.member,
#define DN_NFU(form, constant, type, member, ...)   (uint64_t) at->nfu.member,
#include "sim/diannao/diannao/isa/fields.def"
	};
	memcpy(field, fields, sizeof fields);
}

static void find_counters(struct dn_teller *teller)
{
	static const size_t offset[MOVED_COUNTERS] = {
#define MOVED_OFFSET(member) [MOVED_##member] = offsetof(struct dn_counters, member),
		MOVED(MOVED_OFFSET)};
	sim_find_counters(dn_counter_defs, offset, MOVED_COUNTERS, teller->moved_counter);
}

static void count(const struct dn_config *config, const struct dn_timed *timed, uint64_t steps, uint64_t *moved)
{
	const struct dn_instruction *at = &timed->instruction;
	const bool uses_nfu = dn_uses_nfu(at);
	memset(moved, 0, MOVED_COUNTERS * sizeof *moved);
	moved[MOVED_synapse_bytes] = at->sb.op == DN_LOAD ? at->sb.size : 0;
	moved[MOVED_input_bytes] = at->nbin.op == DN_LOAD ? at->nbin.size : 0;
	if (!uses_nfu)
		return;
	moved[MOVED_output_bytes] = at->nbout.write == DN_STORE ? at->nbout.size : 0;
	moved[MOVED_sb_rows] = at->sb.op != DN_READ_NOP ? steps : 0;
	moved[MOVED_nbin_rows] = at->nbin.op != DN_READ_NOP ? steps : 0;
	moved[MOVED_nbout_rows] = (uint64_t)dn_sum_rows(config) *
				  ((at->nbout.read == DN_READ) + (at->nbout.write == DN_WRITE));
	if (!timed->result_bytes)
		return;
	moved[MOVED_nbout_rows] += timed->result_width == 4 ? 2 : 1;
	moved[MOVED_nfu3_operations] = at->nfu.out == DN_TO_NFU3 ? timed->result_bytes / timed->result_width : 0;
}

static int tell(void *context, int64_t index, const struct npl_instruction_time *time, struct npl_err *err)
{
	struct dn_teller *teller = context;
	const struct npl_instruction_sink *sink = teller->told.sink;
	const struct dn_timed *timed = dn_times_timed(teller->times);
	const struct npl_instruction *described = describe(teller, &timed->instruction);
	if (!described)
		return npl_no_memory(err);
	count(teller->config, timed, time->cycles[DN_TIME_NFU_ACTIVE], teller->moved);
	read_fields(&timed->instruction, teller->field);
	const bool has_checksum = timed->completes_store && teller->results;
	const struct npl_executed_instruction executed = {
		.index = index,
		.name = described->name,
		.unit = described->unit,
		.layer = teller->told.layer ? 0 : -1,
		.time = time,
		.moved = teller->moved,
		.field = teller->field,
		.has_checksum = has_checksum,
		.checksum = has_checksum ? npl_checksum(teller->results + (timed->store_address - teller->first_result),
							timed->store_bytes)
					 : 0,
	};
	return sink->on_instruction ? sink->on_instruction(sink->context, &executed, err) : 0;
}

static int tell_program(const struct dn_teller *teller, struct npl_err *err)
{
	const struct npl_instruction_sink *sink = teller->told.sink;
	const struct npl_executed_program program = {.cycle_class = dn_time_classes,
						     .n_cycle_classes = DN_TIME_CLASSES,
						     .counter_def = dn_counter_defs,
						     .n_counters = teller->n_counters,
						     .moved_counter = teller->moved_counter,
						     .n_moved = MOVED_COUNTERS,
						     .n_fields = FIELDS,
						     .layer = &teller->told.layer,
						     .n_layers = teller->told.layer ? 1 : 0};
	return sink->on_program ? sink->on_program(sink->context, &program, err) : 0;
}

int dn_teller_open(const struct dn_told *told, struct dn_engine_input *engine_input, struct dn_teller **opened,
		   struct npl_err *err)
{
	struct dn_teller *teller = calloc(1, sizeof *teller);
	*opened = NULL;
	if (!teller || !(teller->described = calloc(DESCRIPTIONS, sizeof *teller->described))) {
		dn_teller_close(teller);
		return npl_no_memory(err);
	}
	teller->told = *told;
	teller->config = engine_input->config;
	teller->n_counters = dn_shown_counters(engine_input->config);
	find_counters(teller);
	teller->stream = engine_input->stream;
	teller->time_sink = (struct sim_time_sink){tell, teller};
	teller->observer = (struct sim_observer){.context = teller, .on_event = on_event, .on_cycles = on_cycles};
	int rc = dn_times.open(&teller->times, engine_input->config, NULL, &teller->time_sink, err);
	if (!rc)
		rc = tell_program(teller, err);
	teller->has_begun = !rc;
	if (rc) {
		dn_teller_close(teller);
		return rc;
	}
	engine_input->stream = (struct dn_stream){
		.state = teller, .next = next, .count_repeats = teller->stream.count_repeats ? count_repeats : NULL};
	engine_input->observer = &teller->observer;
	*opened = teller;
	return 0;
}

void dn_teller_results(struct dn_teller *teller, const uint8_t *bytes, uint64_t first)
{
	teller->results = bytes;
	teller->first_result = first;
}

int dn_teller_end(struct dn_teller *teller, const struct dn_outcome *outcome, struct npl_err *err)
{
	const struct npl_instruction_sink *sink = teller->told.sink;
	uint64_t counter[DN_COUNTERS];
	npl_counters_read(dn_counter_defs, DN_COUNTERS, &outcome->counters, counter);
	if (dn_times.finish(teller->times, outcome->cycles, err))
		return err->code;
	teller->has_begun = false;
	return sink->on_end ? sink->on_end(sink->context, &(struct npl_executed_end){outcome->cycles, counter}, err)
			    : 0;
}

void dn_teller_close(struct dn_teller *teller)
{
	if (!teller)
		return;
	const struct npl_instruction_sink *sink = teller->told.sink;
	if (teller->has_begun && sink->on_end)
		sink->on_end(sink->context, NULL, &(struct npl_err){0});
	dn_times.close(teller->times);
	for (int i = 0; teller->described && i < DESCRIPTIONS; i++)
		free(teller->described[i]);
	free(teller->described);
	free(teller);
}
