/* SPDX-License-Identifier: MIT
 *
 * Layer groups on a systolic machine (npulab/layer_group.h). The program is made when the layer group is opened and
 * runs on the machine's engine. The result of each layer is its share of the run. */
#include <stdlib.h>
#include <string.h>

#include "attribution.h"
#include "core/base/refuse.h"
#include "driver_impl.h"
#include "remembered.h"
#include "sim/systolic/tpu_v1/fast/run.h"
#include "sim/systolic/tpu_v1/rtl/run.h"
#include "tell.h"

/* A result that is complete when an instruction ends. */
struct completion {
	int64_t instruction;
	int layer;
};

/* The most layer groups of a device that keep memory for their next run on the fast engine: accumulators and packed
 * weights, about 0.35 MB and more each. A network that goes to the host after every layer has thousands of layer
 * groups, which cannot all keep it. */
enum { CACHES = 64 };

struct tpu_layer_group {
	struct npl_layer_group group;
	const struct tpu_config *config;
	struct tpu_generated generated;
	struct tpu_attribution attribution;
	struct tpu_fast_cache *cache;
	int *device_caches; /* the device's count of caches, with this layer group's; NULL: this one keeps none */
	uint8_t *host;
	int *pass, *first_pass;
	const struct npl_tensor **transfer;
	uint64_t *bytes_outside;
	struct completion *completion; /* in the order of instructions */
	int n_completions;
	/* Members of the run that is under way. */
	const struct npl_layer_group_observer *observer;
	const struct tpu_memory *memory;
	int layer_now; /* the layer whose instruction retired last; -1: none */
};

void tpu_layer_group_close(void *opened_group)
{
	struct tpu_layer_group *handle = opened_group;
	if (!handle)
		return;
	tpu_fast_cache_free(handle->cache);
	if (handle->device_caches)
		--*handle->device_caches;
	tpu_attribution_close(&handle->attribution);
	tpu_generated_free(&handle->generated);
	free(handle->host);
	free(handle->pass);
	free(handle->first_pass);
	free(handle->transfer);
	free(handle->bytes_outside);
	free(handle->completion);
	free(handle);
}

static int by_instruction(const void *a, const void *b)
{
	const struct completion *x = a, *y = b;
	return x->instruction != y->instruction ? (x->instruction > y->instruction) - (x->instruction < y->instruction)
						: x->layer - y->layer;
}

static void record_results(struct tpu_layer_group *handle)
{
	for (int i = 0; i < handle->group.n; i++) {
		const struct tpu_location *location = tpu_location_of(&handle->generated, handle->group.layer[i]->out);
		if (location && !location->is_output && location->complete_after >= 0)
			handle->completion[handle->n_completions++] = (struct completion){location->complete_after, i};
	}
	qsort(handle->completion, (size_t)handle->n_completions, sizeof *handle->completion, by_instruction);
}

/* Returns the tensor's bytes in host memory, or in the unified buffer: the output of a Concat may be in both. */
static uint64_t bytes_in(const struct tpu_location *location, bool host)
{
	uint64_t channels = 0;
	for (int r = 0; r < location->n_extents; r++)
		channels += location->extent[r].in_host == host ? (uint64_t)location->extent[r].channels : 0;
	return channels * (uint64_t)(location->images * location->height * location->width * location->planes);
}

static int note_plan(struct tpu_layer_group *handle, struct npl_layer_group_info *info, struct npl_err *err)
{
	int n = handle->group.n;
	handle->pass = calloc((size_t)n, sizeof *handle->pass);
	handle->first_pass = calloc((size_t)n, sizeof *handle->first_pass);
	handle->completion = calloc((size_t)n, sizeof *handle->completion);
	handle->transfer = calloc((size_t)handle->generated.n_locations + 1, sizeof *handle->transfer);
	handle->bytes_outside = calloc((size_t)handle->generated.n_locations + 1, sizeof *handle->bytes_outside);
	if (!handle->pass || !handle->first_pass || !handle->completion || !handle->transfer || !handle->bytes_outside)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", n);
	*info = (struct npl_layer_group_info){.pass = handle->pass,
					      .first_pass = handle->first_pass,
					      .transfer = handle->transfer,
					      .bytes_outside = handle->bytes_outside};
	info->peak_buffer_bytes = (uint64_t)(handle->generated.peak_rows * tpu_row_bytes(handle->config));
	for (int i = 0; i < n; i++) {
		handle->pass[i] = handle->generated.layer[i].pass;
		handle->first_pass[i] = handle->generated.layer[i].first_pass;
	}
	for (int i = 0; i < handle->generated.n_locations; i++) {
		const struct tpu_location *location = &handle->generated.location[i];
		if ((!location->is_input && !location->is_output) || !bytes_in(location, true))
			continue;
		handle->bytes_outside[info->n_transfers] = bytes_in(location, false);
		handle->transfer[info->n_transfers++] = location->tensor;
	}
	record_results(handle);
	return 0;
}

int tpu_layer_group_open(void *state, const struct npl_layer_group *group, void **opened_group,
			 struct npl_layer_group_info *info, struct npl_err *err)
{
	const struct tpu_machine *machine = state;
	struct tpu_layer_group *handle = calloc(1, sizeof *handle);
	if (!handle)
		return npl_no_memory(err);
	handle->group = *group;
	handle->config = &machine->config;
	int rc = tpu_generate(&machine->config, group, &handle->generated, err);
	if (!rc)
		rc = tpu_attribution_open(&handle->attribution, &machine->config, &handle->generated,
					  group->timing_only, err);
	if (!rc)
		rc = note_plan(handle, info, err);
	if (!rc && !group->timing_only) {
		handle->host = calloc(handle->generated.host_bytes + 1, 1);
		rc = handle->host ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for host memory");
	}
	if (rc) {
		tpu_layer_group_close(handle);
		return rc;
	}
	*opened_group = handle;
	return 0;
}

/* Makes the memories for the program, with the given tensors in them. NPL_ENOMEM, or
 * NPL_EINTERNAL as of tpu_load_tensor. */
static int fill_memory(struct tpu_machine *machine, struct tpu_layer_group *handle, struct tpu_memory *memory,
		       struct npl_err *err)
{
	*memory = (struct tpu_memory){.timing_only = true};
	if (handle->group.timing_only)
		return 0;
	if (!machine->buffer)
		machine->buffer = calloc((size_t)tpu_buffer_size_rows(&machine->config),
					 (size_t)tpu_row_bytes(&machine->config));
	if (!machine->buffer)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the unified buffer");
	/* Checksums are of whole rows. Lanes that a program leaves alone must not hold what another one left there. */
	if (machine->sink)
		memset(machine->buffer, 0,
		       (size_t)tpu_buffer_size_rows(&machine->config) * (size_t)tpu_row_bytes(&machine->config));
	*memory = (struct tpu_memory){.buffer = machine->buffer,
				      .weights = handle->generated.weights,
				      .weight_bytes = handle->generated.weight_bytes,
				      .host = handle->host,
				      .host_bytes = handle->generated.host_bytes};
	for (int i = 0; i < handle->generated.n_locations; i++) {
		const struct tpu_location *location = &handle->generated.location[i];
		if (location->is_input && tpu_load_tensor(&handle->generated, handle->config, location->tensor,
							  location->tensor, memory, err))
			return err->code;
	}
	return 0;
}

static int take_wanted(const struct tpu_layer_group *handle, const struct tpu_memory *memory, struct npl_err *err)
{
	for (int i = 0; i < handle->group.n_outputs && !handle->group.timing_only; i++) {
		struct npl_tensor tensor = *handle->group.output[i];
		if (tpu_read_tensor(&handle->generated, handle->config, handle->group.output[i], &tensor, memory, err))
			return err->code;
	}
	return 0;
}

static int report_result(const struct tpu_layer_group *handle, int layer, struct npl_err *err)
{
	const struct npl_tensor *out = handle->group.layer[layer]->out;
	struct npl_tensor copy = *out;
	copy.data = NULL;
	copy.owned = false;
	int rc = npl_tensor_alloc(&copy, err);
	if (!rc)
		rc = tpu_read_tensor(&handle->generated, handle->config, out, &copy, handle->memory, err);
	if (!rc)
		rc = handle->observer->on_result(handle->observer->context, layer, 0, &copy, err);
	npl_tensor_free(&copy);
	return rc;
}

static int on_retired(void *context, int64_t instruction, struct npl_err *err)
{
	struct tpu_layer_group *handle = (struct tpu_layer_group *)((char *)context -
								    offsetof(struct tpu_layer_group, attribution));
	const int layer = handle->generated.of_layer[instruction];
	if (layer >= 0 && layer != handle->layer_now)
		npl_layer_group_progress(&handle->group, layer);
	handle->layer_now = layer;
	if (!handle->observer || !handle->observer->on_result || handle->memory->timing_only)
		return 0;
	int low = 0, high = handle->n_completions;
	while (low < high) {
		int middle = (low + high) / 2;
		if (handle->completion[middle].instruction < instruction)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < handle->n_completions && handle->completion[low].instruction == instruction; low++)
		if (report_result(handle, handle->completion[low].layer, err))
			return err->code;
	return 0;
}

static int run_engine(struct tpu_machine *machine, struct tpu_layer_group *handle, const struct sim_observer *observer,
		      struct tpu_outcome *outcome, struct npl_err *err)
{
	const struct tpu_engine_input engine_input = {.config = handle->config,
						      .program = &handle->generated.program,
						      .memory = *handle->memory,
						      .observer = observer,
						      .signals = machine->sink ? machine->sink->signals : NULL,
						      .activity = handle->attribution.activity,
						      .cache = &handle->cache};
	if (machine->rtl)
		return tpu_run_rtl(&engine_input, outcome, err);
	const int rc = tpu_run_fast(&engine_input, outcome, err);
	if (!handle->device_caches && machine->n_cached_groups < CACHES) {
		handle->device_caches = &machine->n_cached_groups;
		machine->n_cached_groups++;
	}
	if (!handle->device_caches) {
		tpu_fast_cache_free(handle->cache);
		handle->cache = NULL;
	}
	return rc;
}

static int run_program(struct tpu_machine *machine, struct tpu_layer_group *handle,
		       const struct npl_layer_group_observer *observer, const struct tpu_memory *memory,
		       struct tpu_outcome *outcome, struct npl_err *err)
{
	const struct tpu_told told = {.config = handle->config,
				      .program = &handle->generated.program,
				      .memory = memory,
				      .group = &handle->group,
				      .of_layer = handle->generated.of_layer,
				      .sink = machine->sink,
				      .observer = &handle->attribution.observer};
	struct tpu_teller *teller = NULL;
	tpu_attribution_reset(&handle->attribution);
	handle->observer = observer;
	handle->memory = memory;
	handle->layer_now = -1;
	handle->attribution.observer.on_retired = on_retired;
	if (!machine->sink)
		return run_engine(machine, handle, told.observer, outcome, err);
	int rc = tpu_teller_open(&told, &teller, err);
	if (!rc)
		rc = run_engine(machine, handle, tpu_teller_observer(teller), outcome, err);
	if (!rc)
		rc = tpu_teller_end(teller, outcome, err);
	tpu_teller_close(teller);
	return rc;
}

/* Returns how many passes of the array one multiply-accumulate takes: operands of two bytes are split. */
static uint64_t passes_per_mac(const struct npl_layer *layer)
{
	return npl_layer_has_weights(layer) ? npl_dtype_size(layer->in[0]->dtype) * npl_dtype_size(layer->in[1]->dtype)
					    : 1;
}

/* Counts the bytes that crossed the ports. A layer that is a view (Concat, Slice) moves nothing: its neighbours read
 * and write the parts where they are. */
static void count_bytes(const struct tpu_layer_group *handle, const struct tpu_counters *counters,
			struct npl_result *result)
{
	result->bytes[NPL_MEM_DRAM] = counters->weight_bytes;
	result->bytes[NPL_MEM_HOST] = counters->host_bytes_in + counters->host_bytes_out;
	result->bytes[NPL_MEM_BUFFER] = (counters->ub_rows_read + counters->ub_rows_written) *
					(uint64_t)tpu_row_bytes(handle->config);
}

static int report(const struct tpu_machine *machine, const struct tpu_layer_group *handle, int i,
		  struct npl_result *result, struct npl_err *err)
{
	const struct tpu_share *share = &handle->attribution.layer_share[i];
	result->cycles = share->cycles;
	result->macs = share->counters.useful_macs / passes_per_mac(handle->group.layer[i]);
	result->overflows += share->overflows;
	result->saturations += share->saturations;
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &share->counters, result->counter);
	count_bytes(handle, &share->counters, result);
	return tpu_energy_of(machine, &share->counters, share->cycles,
			     tpu_counts_activity(handle->config) && !handle->group.timing_only, result, err);
}

/* Runs the program, and finds the shares of the layers. */
static int simulate(struct tpu_machine *machine, struct tpu_layer_group *handle,
		    const struct npl_layer_group_observer *observer, struct npl_err *err)
{
	struct tpu_memory memory;
	struct tpu_outcome outcome;
	int rc = fill_memory(machine, handle, &memory, err);
	if (!rc)
		rc = run_program(machine, handle, observer, &memory, &outcome, err);
	if (!rc)
		rc = take_wanted(handle, &memory, err);
	return rc ? rc : tpu_attribution_finish(&handle->attribution, &outcome, err);
}

/* Says whether a run gives shares and nothing else, so that remembered ones can take its place. */
static bool may_be_remembered(const struct tpu_machine *machine, const struct tpu_layer_group *handle)
{
	return handle->group.timing_only && !machine->rtl && !machine->sink && npl_memo_is_allowed();
}

int tpu_layer_group_run(void *state, void *opened_group, const struct npl_layer_group_observer *observer,
			struct npl_result *results, struct npl_err *err)
{
	struct tpu_machine *machine = state;
	struct tpu_layer_group *handle = opened_group;
	struct tpu_share *layer_share = handle->attribution.layer_share;
	const bool remembers = may_be_remembered(machine, handle);
	struct tpu_remembered run = {0};
	int rc = 0;
	if (remembers)
		run = tpu_remembered_of(machine, &handle->generated, handle->group.n);
	if (!remembers || !tpu_remembered_find(&run, layer_share)) {
		rc = simulate(machine, handle, observer, err);
		if (!rc && remembers)
			tpu_remembered_keep(&run, layer_share);
	}
	for (int i = 0; i < handle->group.n && !rc; i++)
		rc = report(machine, handle, i, &results[i], err);
	return rc;
}

/* Makes a dump. It has a buffer of its own, so that nothing of another run is in it. */
int tpu_layer_group_dump(void *state, void *opened_group, struct npl_program_dump *dump, struct npl_err *err)
{
	struct tpu_machine dump_machine = *(struct tpu_machine *)state;
	struct tpu_layer_group *handle = opened_group;
	struct tpu_memory memory;
	dump_machine.buffer = NULL;
	int rc = fill_memory(&dump_machine, handle, &memory, err);
	if (!rc)
		rc = tpu_dump(handle->config, &handle->group, &handle->generated, &memory, dump, err);
	free(dump_machine.buffer);
	return rc;
}
