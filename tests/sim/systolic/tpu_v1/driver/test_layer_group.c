/* SPDX-License-Identifier: MIT
 *
 * Layer groups of layers on a systolic machine (npulab/layer_group.h) promise: what is wanted, and each result on the
 * way, is bit for bit what the layers give by themselves; shares of the layers sum to the program's cycles and
 * counters, the same on both engines and without values; a layer group can be run again; weights come while the layer
 * before is still at work. */
#include <criterion/criterion.h>

#include "core/books.h"
#include "sim/systolic/tpu_v1/driver/driver_impl.h"
#include "tests/kit/random_layer_group.h"
#include "tests/kit/sim/tpu_v1/support.h"

struct seen {
	const struct group *group;
	uint64_t seed;
	int told;
};

static int compare_made(void *context, int layer, int result, const struct npl_tensor *out, struct npl_err *err)
{
	struct seen *seen = context;
	const struct npl_tensor *expected = seen->group->list[layer]->out + result;
	(void)err;
	for (int64_t e = 0; e < npl_tensor_count(expected); e++)
		cr_assert_eq(rule_get(out, e), rule_get(expected, e), "seed %llu, layer %d, element %lld",
			     (unsigned long long)seen->seed, layer, (long long)e);
	seen->told++;
	return 0;
}

static struct tpu_config machine_of(struct group *group)
{
	struct tpu_config config = test_tpu_defaults();
	config.rows = layer_group_range(group, 3, 24);
	config.columns = layer_group_range(group, 3, 24);
	config.accumulator_rows = layer_group_range(group, 20, 200);
	config.fifo_tiles = layer_group_range(group, 1, 5);
	config.queue_instructions = layer_group_range(group, 2, 40);
	config.sync_cycles = layer_group_range(group, 0, 9);
	config.matrix_registers = layer_group_range(group, 0, 3);
	config.activate_latency_cycles = layer_group_range(group, 0, 3);
	config.buffer_bytes = tpu_row_bytes(&config) * layer_group_range(group, 400, 40000);
	return config;
}

/* Gives the layer group's last output memory of its own, so that the rule's results stay as they are. */
struct opened {
	struct npl_layer_group group;
	struct npl_tensor actual;
	const struct npl_tensor *output, *kept;
	struct npl_layer last;
	const struct npl_layer *list[LAYER_GROUP_MAX];
	struct npl_layer_group_info info;
	void *layer_group_state;
};

/* Returns false when the device refuses these layers. */
static bool open_layer_group(struct opened *o, struct tpu_machine *tpu, const struct group *group,
			     const struct npl_layer_group *how)
{
	struct npl_err err = {0};
	int n = group->n_layers;
	memset(o, 0, sizeof *o);
	memcpy(o->list, group->list, (size_t)n * sizeof *o->list);
	o->actual = *group->list[n - 1]->out;
	o->last = *group->list[n - 1];
	o->last.out = &o->actual;
	o->list[n - 1] = &o->last;
	cr_assert_eq(npl_tensor_alloc(&o->actual, &err), 0);
	o->output = &o->actual;
	o->group = *how;
	o->group.n = n;
	o->group.layer = o->list;
	o->group.n_outputs = 1;
	o->group.output = &o->output;
	o->kept = o->list[0]->in[0];
	o->group.resident = &o->kept;
	int rc = tpu_layer_group_open(tpu, &o->group, &o->layer_group_state, &o->info, &err);
	cr_assert(rc == 0 || rc == NPL_EDEVICE, "%s", err.msg);
	return rc == 0;
}

static void close_layer_group(struct opened *o)
{
	tpu_layer_group_close(o->layer_group_state);
	npl_tensor_free(&o->actual);
}

/* Whether the machine takes all layers. Scales beyond those of real networks are for the generator's own tests. */
static bool go_together(const struct group *group, struct tpu_machine *tpu)
{
	char reason[300];
	for (int i = 0; i < group->n_layers; i++) {
		const struct npl_tensor *out = group->list[i]->out;
		bool scaled = out->dtype == NPL_I32 || (out->quant.scale < 1e9f && out->quant.scale > 1e-9f);
		if (!scaled || !tpu_generate_supports(&tpu->config, group->list[i], reason, sizeof reason))
			return false;
	}
	return true;
}

/* Runs the layer group and checks values and the books of every layer. */
static void run_layer_group(struct opened *o, struct tpu_machine *tpu, const struct group *group, uint64_t seed,
			    struct npl_result results[LAYER_GROUP_MAX])
{
	struct npl_device_info info = {0};
	struct npl_err err = {0};
	struct seen seen = {group, seed, 0};
	const struct npl_layer_group_observer observer = {compare_made, &seen};
	const struct npl_tensor *expected = group->list[group->n_layers - 1]->out;
	npl_driver_systolic.describe(tpu, &info);
	memset(results, 0, LAYER_GROUP_MAX * sizeof *results);
	if (!o->group.timing_only)
		memset(o->actual.data, 0x77, npl_tensor_bytes(&o->actual));
	cr_assert_eq(tpu_layer_group_run(tpu, o->layer_group_state, &observer, results, &err), 0, "seed %llu: %s",
		     (unsigned long long)seed, err.msg);
	struct npl_least_bytes least[LAYER_GROUP_MAX];
	cr_assert_eq(npl_least_bytes_of_group(&info, &o->group, &o->info, least, &err), 0, "%s", err.msg);
	for (int i = 0; i < group->n_layers; i++)
		cr_assert_eq(npl_books_check("tpu", &info, group->list[i], &least[i], &results[i], &err), 0,
			     "seed %llu: %s", (unsigned long long)seed, err.msg);
	for (int64_t e = 0; e < npl_tensor_count(expected) && !o->group.timing_only; e++)
		cr_assert_eq(rule_get(&o->actual, e), rule_get(expected, e), "seed %llu, element %lld",
			     (unsigned long long)seed, (long long)e);
}

static void same_results(const struct npl_result *a, const struct npl_result *b, int n, bool values, uint64_t seed)
{
	for (int i = 0; i < n; i++) {
		cr_assert_eq(a[i].cycles, b[i].cycles, "seed %llu, layer %d", (unsigned long long)seed, i);
		for (int k = 0; k < TPU_COUNTERS; k++)
			cr_assert_eq(a[i].counter[k], b[i].counter[k], "seed %llu, layer %d, %s",
				     (unsigned long long)seed, i, tpu_counter_defs[k].name);
		cr_assert(!values || (a[i].saturations == b[i].saturations && a[i].overflows == b[i].overflows),
			  "seed %llu, layer %d", (unsigned long long)seed, i);
	}
}

/* What is on the device from before does not cross the link, where all fits. */
static bool check_kept(const struct opened *o, bool roomy, uint64_t seed)
{
	if (!o->group.n_resident || !o->group.inputs_over_link || !roomy)
		return false;
	for (int m = 0; m < o->info.n_transfers; m++)
		cr_assert(o->info.transfer[m] != o->kept, "seed %llu", (unsigned long long)seed);
	return true;
}

Test(tpu_layer_group, random_layer_groups)
{
	int groups = 0, without_transfers = 0, moved = 0, shared = 0, kept = 0;
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		static struct group group;
		static struct npl_result first[LAYER_GROUP_MAX], other[LAYER_GROUP_MAX];
		static struct opened o;
		o.actual = (struct npl_tensor){0};
		layer_group_random(&group, seed + 77000, 6);
		struct tpu_machine tpu = {.config = machine_of(&group)};
		cr_assert_eq(tpu_energy_model(&tpu.config, &tpu.arena, &tpu.energy, &(struct npl_err){0}), 0);
		struct npl_layer_group how = {.inputs_over_link = layer_group_range(&group, 0, 2) == 0,
					      .outputs_over_link = layer_group_range(&group, 0, 2) == 0,
					      .n_resident = layer_group_range(&group, 0, 3) == 0};
		if (go_together(&group, &tpu) && open_layer_group(&o, &tpu, &group, &how)) {
			run_layer_group(&o, &tpu, &group, seed, first);
			run_layer_group(&o, &tpu, &group, seed, other); /* again, with what the first run kept */
			same_results(first, other, group.n_layers, true, seed);
			tpu.rtl = true;
			run_layer_group(&o, &tpu, &group, seed, other);
			same_results(first, other, group.n_layers, true, seed);
			groups++;
			without_transfers += o.info.n_transfers == 0;
			moved += o.info.n_transfers > 0;
			for (int i = 0; i < group.n_layers; i++)
				shared += o.info.pass[i] >= 0 && o.info.pass[i] != i;
			/* a result that only names what was given stays where that is */
			if (o.info.pass[group.n_layers - 1] >= 0)
				cr_assert_geq(o.info.n_transfers,
					      (how.inputs_over_link && !how.n_resident) + how.outputs_over_link,
					      "seed %llu", (unsigned long long)seed);
			kept += check_kept(&o, tpu.config.buffer_bytes > 4000 * tpu_row_bytes(&tpu.config), seed);
			close_layer_group(&o);
			how.timing_only = true;
			tpu.rtl = false;
			cr_assert(open_layer_group(&o, &tpu, &group, &how));
			run_layer_group(&o, &tpu, &group, seed, other);
			same_results(first, other, group.n_layers, false, seed);
			close_layer_group(&o);
		} else {
			npl_tensor_free(&o.actual);
		}
		layer_group_end(&group);
		free(tpu.buffer);
		npl_arena_free(&tpu.arena);
	}
	cr_assert(groups > 500 && without_transfers > 160 && moved > 80 && shared > 80 && kept > 40,
		  "%d layer groups, %d, %d, %d, %d", groups, without_transfers, moved, shared, kept);
}
