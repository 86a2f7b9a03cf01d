/* SPDX-License-Identifier: MIT
 *
 * Executes programs of DianNao for npulab/program.h, on either engine. Host memory and weights are one memory, the
 * machine's; the program says where in it the two files go. For a run with values that memory is as large as the files
 * and the program need. */
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "driver_impl.h"
#include "sim/common/isa.h"
#include "sim/diannao/diannao/fast/run.h"
#include "sim/diannao/diannao/isa/check.h"
#include "sim/diannao/diannao/rtl/run.h"
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

static const char *const event_names[DN_EVENTS] = {
	[DN_DECODED] = "decoded",       [DN_NBIN_ARRIVED] = "nbin_arrived",
	[DN_SB_ARRIVED] = "sb_arrived", [DN_STARTED] = "started",
	[DN_ENDED] = "ended",           [DN_STORED] = "stored",
};

/* Checks that a file of these bytes ends within the machine's memory, and extends *size to its end. */
static int check_fits(const char *file_role, uint64_t address, size_t bytes, uint64_t capacity, uint64_t *size,
		      struct npl_err *err)
{
	if (!bytes)
		return 0;
	if (address > capacity || bytes > capacity - address)
		return npl_fail(err, NPL_EINPUT, "%zu bytes of %s at byte %llu, expected them within the memory's %llu",
				bytes, file_role, (unsigned long long)address, (unsigned long long)capacity);
	*size = address + bytes > *size ? address + bytes : *size;
	return 0;
}

/* Makes a memory with both files in it, which the caller frees. NPL_EINPUT: a file does not fit the memory, or the two
 * overlap. NPL_ENOMEM. */
static int fill_memory(const struct sim_program *program, const struct npl_execution_request *request,
		       uint64_t capacity, struct dn_memory *memory, struct npl_err *err)
{
	uint64_t host = program->host_address, weights = program->weight_address;
	memory->size = dn_program_memory(program);
	if (check_fits("host memory", host, request->host_bytes, capacity, &memory->size, err) ||
	    check_fits("weights", weights, request->weight_bytes, capacity, &memory->size, err))
		return err->code;
	if (request->host_bytes && request->weight_bytes && host < weights + request->weight_bytes &&
	    weights < host + request->host_bytes)
		return npl_fail(err, NPL_EINPUT,
				"%zu bytes of host memory at byte %llu and %zu of weights at %llu overlap, expected "
				".host and .weights to keep them apart",
				request->host_bytes, (unsigned long long)host, request->weight_bytes,
				(unsigned long long)weights);
	memory->bytes = calloc(memory->size + 1, 1);
	if (!memory->bytes)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %llu bytes of the machine's memory",
				(unsigned long long)memory->size);
	if (request->host_bytes)
		memcpy(memory->bytes + host, request->host, request->host_bytes);
	if (request->weight_bytes)
		memcpy(memory->bytes + weights, request->weights, request->weight_bytes);
	return 0;
}

static int keep_output(const struct sim_program *program, const struct dn_memory *memory,
		       struct npl_execution *execution, struct npl_err *err)
{
	uint64_t first, end;
	dn_program_written(program, &first, &end);
	execution->output_address = first;
	execution->output_bytes = end - first;
	return sim_copy_range(memory->bytes, first, end, &execution->output, err);
}

static int run(void *context, const struct sim_observer *observer, struct npl_execution *execution, struct npl_err *err)
{
	struct dn_engine_input *engine_input = context;
	struct dn_outcome outcome = {0};
	const bool rtl = sim_is_rtl(execution->request.engine);
	if (dn_memory_open(engine_input->config, rtl, &engine_input->port, err))
		return err->code;
	engine_input->observer = observer;
	const int rc = (rtl ? dn_run_rtl : dn_run_fast)(engine_input, &outcome, err);
	npl_memory_close(engine_input->port);
	if (rc)
		return rc;
	execution->cycles = outcome.cycles;
	execution->overflows = outcome.counters.sum_wraps;
	execution->saturations = outcome.counters.output_saturations;
	npl_counters_read(dn_counter_defs, DN_COUNTERS, &outcome.counters, execution->counter);
	return 0;
}

static const struct sim_executor executor = {
	.event_name = event_names,
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

/* Appends a slot's name and the name of its operation, which is this field, unless that is NOP. */
static void append(char *name, const void *instruction, enum dn_slot_at slot, int field)
{
	const struct sim_field *operation = &dn_slots[slot].field[field];
	const int64_t value = sim_field_get(instruction, operation);
	if (value)
		npl_append(name, NPL_INSTRUCTION_NAME, "|", "%s %s", dn_slots[slot].name, operation->names[value]);
}

static void describe(const void *instruction, struct npl_instruction *described)
{
	const struct dn_instruction *at = instruction;
	char *name = described->name;
	append(name, at, DN_SLOT_CP, DN_CP_OP);
	append(name, at, DN_SLOT_SB, DN_SB_READ_OP);
	append(name, at, DN_SLOT_NBIN, DN_NBIN_READ_OP);
	append(name, at, DN_SLOT_NBOUT, DN_NBOUT_WRITE_OP);
	append(name, at, DN_SLOT_NFU, at->nfu.nfu1 ? DN_NFU_NFU1_OP : DN_NFU_NFU2_OP);
	if (!*name)
		npl_append(name, NPL_INSTRUCTION_NAME, "", "CP NOP");
	described->unit = dn_uses_nfu(at)          ? "nfu"
			  : at->sb.op == DN_LOAD   ? "sb"
			  : at->nbin.op == DN_LOAD ? "nbin"
						   : "cp";
}

const struct npl_isa dn_isa = {
	.set = &dn_instruction_set,
	.word = NPL_I16,
	.check = check,
	.describe = describe,
	.time_class = dn_time_classes,
	.n_time_classes = DN_TIME_CLASSES,
	.execute = execute,
};
