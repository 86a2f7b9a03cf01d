/* SPDX-License-Identifier: MIT
 *
 * Layer groups on a systolic machine (npulab/layer_group.h): one program, made when the layer group is opened, run on
 * the machine's engine; each layer's share of the run as its result. */
#include <stdlib.h>
#include <string.h>

#include "attribution.h"
#include "driver_impl.h"
#include "sim/systolic/tpu_v1/fast/run.h"
#include "sim/systolic/tpu_v1/rtl/run.h"

/* A result that is there as a whole when an instruction ends. */
struct made {
	int64_t instruction;
	int layer;
};

/* Layer groups of a device that keep what their next run on the fast engine can use again: accumulators and packed
 * weights, about 0.35 MB and more each. A network that goes to the host after every layer has thousands of layer
 * groups, which cannot all keep it. */
enum { CACHES = 64 };

struct tpu_layer_group {
	struct npl_layer_group group;
	const struct tpu_config *config;
	struct tpu_generated generated;
	struct tpu_attribution attribution;
	struct tpu_fast_cache *cache;
	int *keeps; /* the device's count of caches, with this layer group's; NULL: it keeps none */
	uint8_t *host;
	int *pass, *first_pass;
	const struct npl_tensor **moved;
	uint64_t *bytes_outside;
	struct made *made; /* in the order of instructions */
	int n_made;
	/* of the run that is under way */
	const struct npl_layer_group_observer *observer;
	const struct tpu_memory *memory;
	int layer_now; /* whose instruction retired last; -1: none */
};

void tpu_layer_group_close(void *opened)
{
	struct tpu_layer_group *c = opened;
	if (!c)
		return;
	tpu_fast_cache_free(c->cache);
	if (c->keeps)
		--*c->keeps;
	tpu_attribution_close(&c->attribution);
	tpu_generated_free(&c->generated);
	free(c->host);
	free(c->pass);
	free(c->first_pass);
	free(c->moved);
	free(c->bytes_outside);
	free(c->made);
	free(c);
}

static int by_instruction(const void *a, const void *b)
{
	const struct made *x = a, *y = b;
	return x->instruction != y->instruction ? (x->instruction > y->instruction) - (x->instruction < y->instruction)
						: x->layer - y->layer;
}

static void note_made(struct tpu_layer_group *c)
{
	for (int i = 0; i < c->group.n; i++) {
		const struct tpu_location *location = tpu_location_of(&c->generated, c->group.layer[i]->out);
		if (location && !location->wanted && location->complete_after >= 0)
			c->made[c->n_made++] = (struct made){location->complete_after, i};
	}
	qsort(c->made, (size_t)c->n_made, sizeof *c->made, by_instruction);
}

/* Bytes of it that are in host memory, or in the unified buffer: a wanted Concat may lie in both. */
static uint64_t bytes_in(const struct tpu_location *location, bool host)
{
	uint64_t channels = 0;
	for (int r = 0; r < location->n_extents; r++)
		channels += location->extent[r].in_host == host ? (uint64_t)location->extent[r].channels : 0;
	return channels * (uint64_t)(location->images * location->height * location->width * location->planes);
}

static int note_plan(struct tpu_layer_group *c, struct npl_layer_group_info *info, struct npl_err *err)
{
	int n = c->group.n;
	c->pass = calloc((size_t)n, sizeof *c->pass);
	c->first_pass = calloc((size_t)n, sizeof *c->first_pass);
	c->made = calloc((size_t)n, sizeof *c->made);
	c->moved = calloc((size_t)c->generated.n_locations + 1, sizeof *c->moved);
	c->bytes_outside = calloc((size_t)c->generated.n_locations + 1, sizeof *c->bytes_outside);
	if (!c->pass || !c->first_pass || !c->made || !c->moved || !c->bytes_outside)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", n);
	*info = (struct npl_layer_group_info){
		.pass = c->pass, .first_pass = c->first_pass, .moved = c->moved, .bytes_outside = c->bytes_outside};
	info->peak_buffer_bytes = (uint64_t)(c->generated.peak_rows * tpu_row_bytes(c->config));
	for (int i = 0; i < n; i++) {
		c->pass[i] = c->generated.layer[i].pass;
		c->first_pass[i] = c->generated.layer[i].first_pass;
	}
	for (int i = 0; i < c->generated.n_locations; i++) {
		const struct tpu_location *location = &c->generated.location[i];
		if ((!location->given && !location->wanted) || !bytes_in(location, true))
			continue;
		c->bytes_outside[info->n_moved] = bytes_in(location, false);
		c->moved[info->n_moved++] = location->tensor;
	}
	note_made(c);
	return 0;
}

int tpu_layer_group_open(void *state, const struct npl_layer_group *group, void **opened,
			 struct npl_layer_group_info *info, struct npl_err *err)
{
	const struct tpu_machine *machine = state;
	const struct tpu_generate_options options = {.n_wanted = group->n_wanted,
						     .wanted = group->wanted,
						     .inputs_over_link = group->inputs_over_link,
						     .n_resident = group->n_resident,
						     .resident = group->resident,
						     .outputs_over_link = group->outputs_over_link,
						     .timing_only = group->timing_only};
	struct tpu_layer_group *c = calloc(1, sizeof *c);
	if (!c)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	c->group = *group;
	c->config = &machine->config;
	int rc = tpu_generate(&machine->config, group->layer, group->n, &options, &c->generated, err);
	if (!rc)
		rc = tpu_attribution_open(&c->attribution, &machine->config, &c->generated, err);
	if (!rc)
		rc = note_plan(c, info, err);
	if (!rc && !group->timing_only) {
		c->host = calloc(c->generated.host_bytes + 1, 1);
		rc = c->host ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for host memory");
	}
	if (rc) {
		tpu_layer_group_close(c);
		return rc;
	}
	*opened = c;
	return 0;
}

/* Memories for the program, the given tensors in them. */
static int fill_memory(struct tpu_machine *machine, struct tpu_layer_group *c, struct tpu_memory *memory,
		       struct npl_err *err)
{
	*memory = (struct tpu_memory){.timing_only = true};
	if (c->group.timing_only)
		return 0;
	if (!machine->buffer)
		machine->buffer = calloc((size_t)tpu_buffer_size_rows(&machine->config),
					 (size_t)tpu_row_bytes(&machine->config));
	if (!machine->buffer)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the unified buffer");
	*memory = (struct tpu_memory){.buffer = machine->buffer,
				      .weights = c->generated.weights,
				      .weight_bytes = c->generated.weight_bytes,
				      .host = c->host,
				      .host_bytes = c->generated.host_bytes};
	for (int i = 0; i < c->generated.n_locations; i++) {
		const struct tpu_location *location = &c->generated.location[i];
		if (location->given &&
		    tpu_load_tensor(&c->generated, c->config, location->tensor, location->tensor, memory, err))
			return err->code;
	}
	return 0;
}

static int take_wanted(const struct tpu_layer_group *c, const struct tpu_memory *memory, struct npl_err *err)
{
	for (int i = 0; i < c->group.n_wanted && !c->group.timing_only; i++) {
		struct npl_tensor tensor = *c->group.wanted[i];
		if (tpu_read_tensor(&c->generated, c->config, c->group.wanted[i], &tensor, memory, err))
			return err->code;
	}
	return 0;
}

static int tell_made(const struct tpu_layer_group *c, int layer, struct npl_err *err)
{
	const struct npl_tensor *out = c->group.layer[layer]->out;
	struct npl_tensor copy = *out;
	copy.data = NULL;
	copy.owned = false;
	int rc = npl_tensor_alloc(&copy, err);
	if (!rc)
		rc = tpu_read_tensor(&c->generated, c->config, out, &copy, c->memory, err);
	if (!rc)
		rc = c->observer->made(c->observer->context, layer, 0, &copy, err);
	npl_tensor_free(&copy);
	return rc;
}

static int on_retired(void *context, int64_t instruction, struct npl_err *err)
{
	struct tpu_layer_group *c = (struct tpu_layer_group *)((char *)context -
							       offsetof(struct tpu_layer_group, attribution));
	const int layer = c->generated.of_layer[instruction];
	if (layer >= 0 && layer != c->layer_now)
		npl_layer_group_progress(&c->group, layer);
	c->layer_now = layer;
	if (!c->observer || !c->observer->made || c->memory->timing_only)
		return 0;
	int low = 0, high = c->n_made;
	while (low < high) {
		int middle = (low + high) / 2;
		if (c->made[middle].instruction < instruction)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < c->n_made && c->made[low].instruction == instruction; low++)
		if (tell_made(c, c->made[low].layer, err))
			return err->code;
	return 0;
}

static int run_program(struct tpu_machine *machine, struct tpu_layer_group *c,
		       const struct npl_layer_group_observer *observer, const struct tpu_memory *memory,
		       struct tpu_outcome *outcome, struct npl_err *err)
{
	const struct tpu_execution execution = {.config = c->config,
						.program = &c->generated.program,
						.memory = *memory,
						.observer = &c->attribution.observer,
						.cache = &c->cache};
	tpu_attribution_reset(&c->attribution);
	c->observer = observer;
	c->memory = memory;
	c->layer_now = -1;
	c->attribution.observer.on_retired = on_retired;
	if (machine->rtl)
		return tpu_run_rtl(&execution, outcome, err);
	const int rc = tpu_run_fast(&execution, outcome, err);
	if (!c->keeps && machine->caches < CACHES) {
		c->keeps = &machine->caches;
		machine->caches++;
	}
	if (!c->keeps) {
		tpu_fast_cache_free(c->cache);
		c->cache = NULL;
	}
	return rc;
}

static bool is_matrix(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_CONV || layer->op == NPL_OP_GEMM;
}

/* Passes of the array that one multiply-accumulate takes: operands of two bytes are taken apart. */
static uint64_t passes_per_mac(const struct npl_layer *layer)
{
	return is_matrix(layer) ? npl_dtype_size(layer->in[0]->dtype) * npl_dtype_size(layer->in[1]->dtype) : 1;
}

/* What crossed the ports. A layer that only names parts of tensors (Concat, Slice) moves nothing: its neighbours read
 * and write them where they are. */
static void count_bytes(const struct tpu_layer_group *c, const struct tpu_counters *counters, struct npl_result *result)
{
	result->bytes[NPL_MEM_DRAM] = counters->weight_bytes;
	result->bytes[NPL_MEM_HOST] = counters->host_bytes_in + counters->host_bytes_out;
	result->bytes[NPL_MEM_BUFFER] = (counters->ub_rows_read + counters->ub_rows_written) *
					(uint64_t)tpu_row_bytes(c->config);
}

static int report(const struct tpu_machine *machine, const struct tpu_layer_group *c, int i, struct npl_result *result,
		  struct npl_err *err)
{
	const struct tpu_share *share = &c->attribution.of_layer[i];
	result->cycles = share->cycles;
	result->macs = share->counters.useful_macs / passes_per_mac(c->group.layer[i]);
	result->overflows += share->overflows;
	result->saturations += share->saturations;
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &share->counters, result->counter);
	count_bytes(c, &share->counters, result);
	return tpu_energy_of(c->config, machine->weights, &share->counters, share->cycles, result, err);
}

int tpu_layer_group_run(void *state, void *opened, const struct npl_layer_group_observer *observer,
			struct npl_result *results, struct npl_err *err)
{
	struct tpu_layer_group *c = opened;
	struct tpu_memory memory;
	struct tpu_outcome outcome;
	int rc = fill_memory(state, c, &memory, err);
	if (!rc)
		rc = run_program(state, c, observer, &memory, &outcome, err);
	if (!rc)
		rc = take_wanted(c, &memory, err);
	if (!rc)
		rc = tpu_attribution_finish(&c->attribution, &outcome, err);
	for (int i = 0; i < c->group.n && !rc; i++)
		rc = report(state, c, i, &results[i], err);
	return rc;
}

/* A buffer of its own, so that nothing of another run is in it. */
int tpu_layer_group_dump(void *state, void *opened, struct npl_program_dump *dump, struct npl_err *err)
{
	struct tpu_machine own = *(struct tpu_machine *)state;
	struct tpu_layer_group *c = opened;
	struct tpu_memory memory;
	own.buffer = NULL;
	int rc = fill_memory(&own, c, &memory, err);
	if (!rc)
		rc = tpu_dump(c->config, &c->group, &c->generated, &memory, dump, err);
	free(own.buffer);
	return rc;
}
