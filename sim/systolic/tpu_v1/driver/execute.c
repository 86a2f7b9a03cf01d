/* SPDX-License-Identifier: MIT
 *
 * Executes programs of the systolic machines for npulab/program.h, on either engine, with memories of their own. Host
 * memory is what was given and, after it, room for what the program writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "driver_impl.h"
#include "sim/common/isa.h"
#include "sim/systolic/tpu_v1/fast/run.h"
#include "sim/systolic/tpu_v1/isa/check.h"
#include "sim/systolic/tpu_v1/rtl/run.h"
#include "tell.h"
#include "times.h"

static int check(const void *state, const char *source, const struct sim_program *program, struct npl_err *err)
{
	return tpu_program_check(&((const struct tpu_machine *)state)->config, program, NULL, source, err);
}

/* Makes the memories for a run with values, except the weights. The caller frees them in any case. NPL_EINPUT: what was
 * given is larger than the memory that it is for. NPL_ENOMEM. */
static int open_memory(const struct tpu_config *config, const struct npl_execution_request *request,
		       int64_t written_end, struct tpu_memory *memory, struct npl_err *err)
{
	const size_t buffer_bytes = (size_t)(tpu_buffer_size_rows(config) * tpu_row_bytes(config));
	if (request->weight_bytes > (uint64_t)config->weight_bytes)
		return npl_fail(err, NPL_EINPUT, "%zu bytes of weights, expected at most weight_memory.bytes = %lld",
				request->weight_bytes, (long long)config->weight_bytes);
	if (request->buffer_bytes > buffer_bytes)
		return npl_fail(err, NPL_EINPUT, "%zu bytes of the unified buffer, expected at most %zu",
				request->buffer_bytes, buffer_bytes);
	*memory = (struct tpu_memory){.weights = request->weights,
				      .weight_bytes = request->weight_bytes,
				      .weights_end = true,
				      .host_bytes = npl_max_u64(request->host_bytes, (uint64_t)written_end),
				      .timing_only = request->timing_only};
	if (request->timing_only)
		return 0;
	memory->buffer = calloc(buffer_bytes, 1);
	memory->host = calloc(memory->host_bytes + 1, 1);
	if (!memory->buffer || !memory->host)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of unified buffer and %zu of host memory",
				buffer_bytes, memory->host_bytes);
	if (request->host_bytes)
		memcpy(memory->host, request->host, request->host_bytes);
	if (request->buffer_bytes)
		memcpy(memory->buffer, request->buffer, request->buffer_bytes);
	return 0;
}

/* Keeps what the program wrote to host memory and to the unified buffer. */
static int keep_outputs(const struct tpu_config *config, const struct sim_program *program, const char *source,
			const struct tpu_memory *memory, struct npl_execution *execution, struct npl_err *err)
{
	const int64_t row = tpu_row_bytes(config);
	int64_t first, end, first_row, end_row;
	tpu_program_host_written(program, config->rows, config->columns, &first, &end);
	if (tpu_program_buffer_written(config, program, source, &first_row, &end_row, err))
		return err->code;
	execution->buffer_row_bytes = (size_t)row;
	if (sim_keep_range(memory->buffer, (uint64_t)(first_row * row), (uint64_t)(end_row * row),
			   &execution->buffer_output_address, &execution->buffer_output_bytes,
			   &execution->buffer_output, err))
		return err->code;
	return sim_keep_range(memory->host, (uint64_t)first, (uint64_t)end, &execution->output_address,
			      &execution->output_bytes, &execution->output, err);
}

static int run(void *context, const struct sim_observer *observer, struct npl_execution *execution, struct npl_err *err)
{
	struct tpu_engine_input *engine_input = context;
	struct tpu_outcome outcome = {0};
	struct tpu_teller *teller = NULL;
	const struct tpu_told told = {.config = engine_input->config,
				      .program = engine_input->program,
				      .memory = &engine_input->memory,
				      .sink = execution->request.sink,
				      .observer = observer};
	if (told.sink && tpu_teller_open(&told, &teller, err))
		return err->code;
	engine_input->signals = told.sink ? told.sink->signals : NULL;
	engine_input->observer = teller ? tpu_teller_observer(teller) : observer;
	int rc = (sim_is_rtl(execution->request.engine) ? tpu_run_rtl : tpu_run_fast)(engine_input, &outcome, err);
	if (!rc && teller)
		rc = tpu_teller_end(teller, &outcome, err);
	tpu_teller_close(teller);
	if (rc)
		return rc;
	execution->n_counters = tpu_shown_counters(engine_input->config);
	execution->cycles = outcome.cycles;
	execution->overflows = outcome.overflows;
	execution->saturations = outcome.saturations;
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &outcome.counters, execution->counter);
	return 0;
}

static const struct sim_executor executor = {
	.isa = &tpu_isa,
	.times = &tpu_times,
	.counter_def = tpu_counter_defs,
	.n_counters = TPU_COUNTERS,
	.run = run,
};

static int execute(const void *state, const char *source, const struct sim_program *program,
		   struct npl_execution *execution, struct npl_err *err)
{
	const struct tpu_config *config = &((const struct tpu_machine *)state)->config;
	struct tpu_engine_input engine_input = {.config = config, .program = program};
	struct tpu_memory *memory = &engine_input.memory;
	int64_t first, end;
	/* The first check is without memories. It makes sure that the end of what the program writes can be
	 * allocated. */
	if (check(state, source, program, err))
		return err->code;
	tpu_program_host_written(program, config->rows, config->columns, &first, &end);
	int rc = open_memory(config, &execution->request, end, memory, err);
	if (!rc)
		rc = tpu_program_check(config, program, memory, source, err);
	if (!rc)
		rc = sim_execute(&executor, &engine_input, config, program, source, execution, err);
	if (!rc)
		rc = keep_outputs(config, program, source, memory, execution, err);
	free(memory->buffer);
	free(memory->host);
	return rc;
}

const struct npl_isa tpu_isa = {
	.set = &tpu_instruction_set,
	.word = NPL_U8,
	.planes = true,
	.has_buffer = true,
	.check = check,
	.describe = tpu_describe_instruction,
	.event_name = tpu_event_names,
	.n_events = TPU_EVENTS,
	.time_class = tpu_time_classes,
	.n_time_classes = TPU_TIME_CLASSES,
	.execute = execute,
};
