/* SPDX-License-Identifier: MIT
 *
 * Programs of DianNao behind npulab/program.h: runs on either engine. Host memory and weights are one memory, the
 * machine's; the program says where in it the two files lie. For a run with values it is as large as they and the program need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_impl.h"
#include "sim/common/execute.h"
#include "sim/diannao/diannao/isa/check.h"
#include "times.h"

static int check(const void *state, const char *source, const struct sim_program *program, struct npl_err *err)
{
	const struct diannao *machine = state;
	return dn_program_check(&machine->config, npl_memory_info(machine->memory)->capacity_bytes, program, source,
				err);
}

struct next {
	const struct sim_program *program;
	int64_t at;
};

static void next(void *state, struct dn_instruction *instruction)
{
	struct next *n = state;
	*instruction = dn_code(n->program)[n->at];
	n->at += n->at + 1 < n->program->count;
}

static const char *const event_names[DN_EVENTS] = {
	[DN_DECODED] = "decoded",       [DN_NBIN_ARRIVED] = "nbin_arrived",
	[DN_SB_ARRIVED] = "sb_arrived", [DN_STARTED] = "started",
	[DN_ENDED] = "ended",           [DN_STORED] = "stored",
};

/* A file of these bytes ends there, within the machine's memory. */
static int place(const char *what, uint64_t address, size_t bytes, uint64_t capacity, uint64_t *size,
		 struct npl_err *err)
{
	if (!bytes)
		return 0;
	if (address > capacity || bytes > capacity - address)
		return npl_fail(err, NPL_EINPUT, "%zu bytes of %s at byte %llu, expected them within the memory's %llu",
				bytes, what, (unsigned long long)address, (unsigned long long)capacity);
	*size = address + bytes > *size ? address + bytes : *size;
	return 0;
}

/* Memory with both files in it; NPL_ENOMEM. To be freed. */
static int fill_memory(const struct sim_program *program, const struct npl_execution *execution, uint64_t capacity,
		       uint8_t **bytes, uint64_t *size, struct npl_err *err)
{
	uint64_t host = program->host_address, weights = program->weight_address;
	*size = dn_program_memory(program);
	if (place("host memory", host, execution->host_bytes, capacity, size, err) ||
	    place("weights", weights, execution->weight_bytes, capacity, size, err))
		return err->code;
	if (execution->host_bytes && execution->weight_bytes && host < weights + execution->weight_bytes &&
	    weights < host + execution->host_bytes)
		return npl_fail(err, NPL_EINPUT,
				"%zu bytes of host memory at byte %llu and %zu of weights at %llu overlap, expected "
				".host and .weights to keep them apart",
				execution->host_bytes, (unsigned long long)host, execution->weight_bytes,
				(unsigned long long)weights);
	*bytes = calloc(*size + 1, 1);
	if (!*bytes)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %llu bytes of the machine's memory",
				(unsigned long long)*size);
	if (execution->host_bytes)
		memcpy(*bytes + host, execution->host, execution->host_bytes);
	if (execution->weight_bytes)
		memcpy(*bytes + weights, execution->weights, execution->weight_bytes);
	return 0;
}

/* The memory becomes the output. */
static void keep_output(struct npl_execution *execution, uint8_t **bytes, const struct sim_program *program)
{
	uint64_t first, end;
	dn_program_written(program, &first, &end);
	execution->output_address = first;
	execution->output_bytes = end - first;
	if (!*bytes || first == end)
		return;
	memmove(*bytes, *bytes + first, end - first);
	execution->output = realloc(*bytes, end - first);
	if (!execution->output)
		execution->output = *bytes; /* it does not get smaller, and does as well */
	*bytes = NULL;
}

static int run_on(struct dn_run *run, const struct sim_program *program, struct npl_execution *execution,
		  struct npl_err *err)
{
	struct dn_times times = {0};
	struct sim_listener listener = {.execution = execution,
					.event_name = event_names,
					.times = &times,
					.time_event = dn_times_event,
					.time_span = dn_times_span};
	bool rtl = !strcmp(execution->engine, "rtl");
	run->observer = sim_listen(&listener);
	int rc = execution->timed ? dn_times_open(&times, program->count, err) : 0;
	if (!rc)
		rc = dn_open_memory(run->config, rtl, &run->memory, err);
	if (!rc)
		rc = rtl ? dn_run_rtl(run, err) : dn_run_fast(run, err);
	if (!rc)
		rc = sim_tell(&listener, err);
	if (!rc && execution->timed)
		execution->time = dn_times_take(&times, run->cycles);
	run->observer = NULL; /* which ends here */
	npl_memory_close(run->memory);
	sim_listener_close(&listener);
	dn_times_close(&times);
	return rc;
}

static int execute(const void *state, const char *source, const struct sim_program *program,
		   struct npl_execution *execution, struct npl_err *err)
{
	const struct diannao *machine = state;
	struct next from = {.program = program};
	struct dn_function function[SIM_MOST_CONSTANTS];
	struct dn_run run = {.config = &machine->config,
			     .source = {.state = &from, .next = next},
			     .n_functions = program->n_constants,
			     .function = function};
	dn_functions(program, function);
	int rc = check(state, source, program, err);
	if (!rc && !execution->timing_only)
		rc = fill_memory(program, execution, npl_memory_info(machine->memory)->capacity_bytes, &run.bytes,
				 &run.size, err);
	if (!rc) {
		rc = run_on(&run, program, execution, err);
		if (rc == NPL_EINPUT)
			npl_prefix(err, "%s", source);
	}
	if (!rc)
		keep_output(execution, &run.bytes, program);
	free(run.bytes);
	execution->cycles = run.cycles;
	execution->overflows = run.counters.sum_wraps;
	execution->saturations = run.counters.output_saturations;
	execution->stat = dn_stats;
	execution->n_stats = DN_STATS;
	npl_stats_read(dn_stats, DN_STATS, &run.counters, execution->counter);
	return rc;
}

static void describe(const void *instruction, struct npl_instruction *described)
{
	dn_describe(instruction, described);
}

const struct npl_isa dn_isa = {
	.set = &dn_instructions,
	.word = NPL_I16,
	.check = check,
	.describe = describe,
	.spending = dn_spendings,
	.n_spendings = DN_TIMES,
	.execute = execute,
};
