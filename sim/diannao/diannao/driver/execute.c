/* SPDX-License-Identifier: MIT
 *
 * Executes programs of DianNao for npulab/program.h, on either engine. Host memory and weights are one memory, the
 * machine's; the program says where in it the two files go. For a run with values that memory is as large as the files
 * and the program need. */
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "driver_impl.h"
#include "sim/common/isa.h"
#include "sim/diannao/diannao/fast/run.h"
#include "sim/diannao/diannao/isa/check.h"
#include "sim/diannao/diannao/rtl/run.h"
#include "tell.h"
#include "times.h"

static int check(const void *state, const char *source, const struct sim_program *program, struct npl_err *err)
{
	const struct dn_machine *machine = state;
	return dn_program_check(machine->config, npl_memory_info(machine->memory)->capacity_bytes, program, source,
				err);
}

struct program_cursor {
	const struct sim_program *program;
	int64_t next;
};

static void fetch_next(void *state, struct dn_instruction *instruction)
{
	struct program_cursor *cursor = state;
	*instruction = dn_code(cursor->program)[cursor->next];
	cursor->next += cursor->next + 1 < cursor->program->count;
}

const char *const dn_event_names[] = {
#define DN_EVENT(constant, name) name,
#include "sim/diannao/diannao/engine/events.def"
};

/* Makes a memory with both files in it, which the caller frees. NPL_EINPUT: a file does not fit the memory, or the two
 * overlap. NPL_ENOMEM. */
static int fill_memory(const struct sim_program *program, const struct npl_execution_request *request,
		       uint64_t capacity, struct dn_memory *memory, struct npl_err *err)
{
	const struct {
		const char *role;
		const void *data;
		size_t bytes;
		uint64_t first;
	} file[] = {{"host memory", request->host, request->host_bytes, program->host_address},
		    {"weights", request->weights, request->weight_bytes, program->weight_address}};
	memory->size = dn_program_memory(program);
	for (int i = 0; i < 2; i++) {
		if (file[i].bytes && (file[i].first > capacity || file[i].bytes > capacity - file[i].first))
			return npl_fail(err, NPL_EINPUT,
					"%zu bytes of %s at byte %llu, expected them within the memory's %llu",
					file[i].bytes, file[i].role, (unsigned long long)file[i].first,
					(unsigned long long)capacity);
		if (file[i].bytes)
			memory->size = npl_max_u64(memory->size, file[i].first + file[i].bytes);
	}
	if (file[0].bytes && file[1].bytes && file[0].first < file[1].first + file[1].bytes &&
	    file[1].first < file[0].first + file[0].bytes)
		return npl_fail(err, NPL_EINPUT,
				"%zu bytes of host memory at byte %llu and %zu of weights at %llu overlap, expected "
				".host and .weights to keep them apart",
				file[0].bytes, (unsigned long long)file[0].first, file[1].bytes,
				(unsigned long long)file[1].first);
	memory->bytes = calloc(memory->size + 1, 1);
	if (!memory->bytes)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %llu bytes of the machine's memory",
				(unsigned long long)memory->size);
	for (int i = 0; i < 2; i++)
		if (file[i].bytes)
			memcpy(memory->bytes + file[i].first, file[i].data, file[i].bytes);
	return 0;
}

static int keep_output(const struct sim_program *program, const struct dn_memory *memory,
		       struct npl_execution *execution, struct npl_err *err)
{
	uint64_t first, end;
	dn_program_written(program, &first, &end);
	return sim_keep_range(memory->bytes, first, end, &execution->output_address, &execution->output_bytes,
			      &execution->output, err);
}

static int run(void *context, const struct sim_observer *observer, struct npl_execution *execution, struct npl_err *err)
{
	struct dn_engine_input *engine_input = context;
	struct dn_outcome outcome = {0};
	const bool rtl = sim_is_rtl(execution->request.engine);
	if (dn_memory_open(engine_input->config, rtl, &engine_input->port, err))
		return err->code;
	engine_input->observer = observer;
	const struct dn_told told = {.sink = execution->request.sink, .observer = observer};
	struct dn_teller *teller = NULL;
	engine_input->signals = told.sink ? told.sink->signals : NULL;
	int rc = told.sink ? dn_teller_open(&told, engine_input, &teller, err) : 0;
	if (teller)
		dn_teller_results(teller, engine_input->memory.bytes, 0);
	if (!rc)
		rc = (rtl ? dn_run_rtl : dn_run_fast)(engine_input, &outcome, err);
	if (!rc && teller)
		rc = dn_teller_end(teller, &outcome, err);
	dn_teller_close(teller);
	npl_memory_close(engine_input->port);
	if (rc)
		return rc;
	execution->n_counters = dn_shown_counters(engine_input->config);
	execution->cycles = outcome.cycles;
	execution->overflows = outcome.counters.sum_wraps;
	execution->saturations = outcome.counters.output_saturations;
	npl_counters_read(dn_counter_defs, DN_COUNTERS, &outcome.counters, execution->counter);
	return 0;
}

static const struct sim_executor executor = {
	.isa = &dn_isa,
	.times = &dn_times,
	.counter_def = dn_counter_defs,
	.n_counters = DN_COUNTERS,
	.run = run,
};

static int execute(const void *state, const char *source, const struct sim_program *program,
		   struct npl_execution *execution, struct npl_err *err)
{
	const struct dn_machine *machine = state;
	struct program_cursor cursor = {.program = program};
	struct dn_function function[SIM_MAX_CONSTANTS];
	struct dn_engine_input engine_input = {.config = machine->config,
					       .stream = {.state = &cursor, .next = fetch_next},
					       .n_functions = program->n_constants,
					       .function = function};
	struct dn_memory *memory = &engine_input.memory;
	for (int i = 0; i < program->n_constants; i++)
		memcpy(&function[i], program->constant[i].value, sizeof *function);
	int rc = check(state, source, program, err);
	if (!rc && !execution->request.timing_only)
		rc = fill_memory(program, &execution->request, npl_memory_info(machine->memory)->capacity_bytes, memory,
				 err);
	if (!rc)
		rc = sim_execute(&executor, &engine_input, machine->config, program, source, execution, err);
	if (!rc)
		rc = keep_output(program, memory, execution, err);
	free(memory->bytes);
	return rc;
}

const struct npl_isa dn_isa = {
	.set = &dn_instruction_set,
	.word = NPL_I16,
	.check = check,
	.describe = dn_describe_instruction,
	.event_name = dn_event_names,
	.n_events = DN_EVENTS,
	.time_class = dn_time_classes,
	.n_time_classes = DN_TIME_CLASSES,
	.execute = execute,
};
