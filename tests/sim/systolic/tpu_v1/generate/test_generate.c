/* SPDX-License-Identifier: MIT
 *
 * The code generator of the systolic machines promises: its programs pass the checks, give bit for bit what the layers'
 * number rules say, layer by layer, whatever is fused, split or moved; weights multiply as often as the layers have
 * products; tensors that live at the same time have their own rows. */
#include <criterion/criterion.h>

#include "sim/systolic/tpu_v1/fast/run.h"
#include "sim/systolic/tpu_v1/generate/generate.h"
#include "sim/systolic/tpu_v1/isa/check.h"
#include "sim/systolic/tpu_v1/rtl/run.h"
#include "tests/kit/int8_layer.h"
#include "tests/kit/random_layer_group.h"
#include "tests/kit/sim/tpu_v1/interpreter.h"
#include "tests/kit/sim/tpu_v1/support.h"

static struct tpu_config random_machine(uint64_t *rng)
{
	struct tpu_config config = test_tpu_defaults();
	config.rows = test_range(rng, 3, 32);
	config.columns = test_range(rng, 0, 1) ? config.rows : test_range(rng, 3, 32);
	config.accumulator_rows = test_range(rng, 2, 200);
	config.fifo_tiles = test_range(rng, 1, 5);
	config.parameter_tables = test_range(rng, 1, 8);
	config.queue_instructions = test_range(rng, 1, 40);
	config.buffer_bytes = 1 << 20;
	config.weight_bytes = 1 << 26;
	return config;
}

/* TPU_GENERATE_SEEDS=n in the environment: a longer run. */
static uint64_t most_seeds(void)
{
	const char *given = getenv("TPU_GENERATE_SEEDS");
	return given ? strtoull(given, NULL, 10) : TEST_TIMES(400);
}

/* What at least `of_400` of 400 seeds do, of as many as run here. */
static int share(int of_400)
{
	return (int)((uint64_t)of_400 * most_seeds() / 400);
}

struct ran {
	struct tpu_generated generated;
	struct interpreter interpreter;
	struct tpu_outcome fast, rtl;
	struct tpu_memory memory;
};

static void fresh_memory(struct ran *r, const struct tpu_config *config)
{
	const struct tpu_generated *g = &r->generated;
	struct npl_err err = {0};
	memset(r->memory.buffer, 0x5a, (size_t)config->buffer_bytes); /* nothing relies on what was there */
	memset(r->memory.host, 0xa5, g->host_bytes + 1);
	for (int i = 0; i < g->n_locations; i++)
		if (g->location[i].is_input)
			cr_assert_eq(tpu_load_tensor(g, config, g->location[i].tensor, g->location[i].tensor,
						     &r->memory, &err),
				     0);
}

static void compare_results(const struct ran *r, const struct tpu_config *config, const char *by, uint64_t seed)
{
	const struct tpu_generated *g = &r->generated;
	struct npl_err err = {0};
	for (int i = 0; i < g->n_locations; i++) {
		const struct npl_tensor *expected = g->location[i].tensor;
		if (!g->location[i].is_output)
			continue;
		struct npl_tensor actual = *expected;
		cr_assert_eq(npl_tensor_alloc(&actual, &err), 0);
		cr_assert_eq(tpu_read_tensor(g, config, expected, &actual, &r->memory, &err), 0, "%s", err.msg);
		for (int64_t e = 0; e < npl_tensor_count(expected); e++)
			cr_assert_eq(rule_get(&actual, e), rule_get(expected, e),
				     "seed %llu, %s: place %d of %d, element %lld is %lld, expected %lld",
				     (unsigned long long)seed, by, i, g->n_locations, (long long)e,
				     (long long)rule_get(&actual, e), (long long)rule_get(expected, e));
		npl_tensor_free(&actual);
	}
}

/* Generates, checks and runs a layer group, and compares what is wanted. False: it joins, slices or adds flattened
 * tensors, which is refused. */
static bool run_layer_group(const struct npl_layer_group *request, const struct tpu_config *config, uint64_t seed,
			    struct ran *r)
{
	struct npl_err err = {0};
	int rc = tpu_generate(config, request, &r->generated, &err);
	if (rc == NPL_EDEVICE && strstr(err.msg, "flattened"))
		return false;
	cr_assert_eq(rc, 0, "seed %llu: %s", (unsigned long long)seed, err.msg);
	const struct tpu_generated *g = &r->generated;
	r->memory = (struct tpu_memory){.buffer = malloc((size_t)config->buffer_bytes),
					.weights = g->weights,
					.weight_bytes = g->weight_bytes,
					.host = malloc(g->host_bytes + 1),
					.host_bytes = g->host_bytes};
	cr_assert_eq(tpu_program_check(config, &g->program, &r->memory, "generated", &err), 0, "seed %llu: %s",
		     (unsigned long long)seed, err.msg);
	fresh_memory(r, config);
	interpreter_open(&r->interpreter, config, &g->program, &r->memory);
	interpreter_run(&r->interpreter);
	compare_results(r, config, "interpreter", seed);
	fresh_memory(r, config);
	cr_assert_eq(
		tpu_run_fast(&(struct tpu_engine_input){.config = config, .program = &g->program, .memory = r->memory},
			     &r->fast, &err),
		0, "seed %llu: %s", (unsigned long long)seed, err.msg);
	compare_results(r, config, "fast", seed);
	fresh_memory(r, config);
	cr_assert_eq(
		tpu_run_rtl(&(struct tpu_engine_input){.config = config, .program = &g->program, .memory = r->memory},
			    &r->rtl, &err),
		0, "seed %llu: %s", (unsigned long long)seed, err.msg);
	compare_results(r, config, "rtl", seed);
	cr_assert_eq(r->fast.cycles, r->rtl.cycles, "seed %llu: %llu cycles, rtl %llu", (unsigned long long)seed,
		     (unsigned long long)r->fast.cycles, (unsigned long long)r->rtl.cycles);
	interpreter_expect_counters(&r->interpreter, &r->fast.counters, "fast");
	cr_assert_eq(r->interpreter.early, 0, "seed %llu: %lld switches to what is read later",
		     (unsigned long long)seed, (long long)r->interpreter.early);
	cr_assert(r->fast.saturations == (uint64_t)r->interpreter.saturations &&
		  r->rtl.saturations == r->fast.saturations);
	cr_assert(r->fast.overflows == (uint64_t)r->interpreter.overflows && r->rtl.overflows == r->fast.overflows);
	return true;
}

/* Multiply-accumulates of the layer group as the array counts them: 16-bit operands go through it in two halves. */
static uint64_t products(const struct group *group)
{
	uint64_t products = 0;
	for (int i = 0; i < group->n_layers; i++) {
		const struct npl_layer *l = group->list[i];
		uint64_t times = l->in[0]->dtype == NPL_I16 ? 2 : 1;
		if (l->macs)
			products += l->macs * times * (l->in[1]->dtype == NPL_I16 ? 2 : 1);
	}
	return products;
}

/* layer_rule.h and the library's own kernels say the same. */
static void compare_with_core(const struct npl_layer *layer, uint64_t seed)
{
	char reason[300];
	struct npl_err err = {0};
	struct npl_int8_memory memory = {0};
	struct npl_int8_counts counts = {0};
	struct npl_tensor actual = *layer->out;
	struct npl_layer copy = *layer;
	if ((layer->activation != NPL_ACT_NONE && layer->activation != NPL_ACT_RELU) ||
	    !npl_int8_layer_ok(layer, reason, sizeof reason))
		return;
	cr_assert_eq(npl_tensor_alloc(&actual, &err), 0);
	copy.out = &actual;
	cr_assert_eq(kit_int8_run_layer(&copy, &memory, &counts, &err), 0, "%s", err.msg);
	cr_assert_arr_eq(actual.data, layer->out->data, npl_tensor_bytes(&actual), "seed %llu",
			 (unsigned long long)seed);
	npl_int8_memory_free(&memory);
	npl_tensor_free(&actual);
}

static void run_end(struct ran *r)
{
	interpreter_close(&r->interpreter);
	free(r->memory.buffer);
	free(r->memory.host);
	tpu_generated_free(&r->generated);
}

/* Perhaps some tensors of the layer group instead of those at its ends. */
static void random_wanted(struct group *group, struct npl_layer_group *request, const struct npl_tensor **output)
{
	if (layer_group_range(group, 0, 1))
		return;
	request->output = output;
	request->n_outputs = (int)layer_group_range(group, 1, 3);
	for (int i = 0; i < request->n_outputs; i++)
		output[i] = group->list[layer_group_range(group, 0, group->n_layers - 1)]->out;
}

/* Supported, and scales have not run away over the layers. */
static bool layer_group_ok(const struct group *group, const struct tpu_config *config)
{
	char reason[300];
	for (int i = 0; i < group->n_layers; i++)
		if (!tpu_generate_supports(config, group->list[i], reason, sizeof reason) ||
		    group->list[i]->out->quant.scale > 1e9f ||
		    (group->list[i]->out->dtype != NPL_I32 && group->list[i]->out->quant.scale < 1e-9f))
			return false;
	return true;
}

Test(tpu_generate, programs_of_single_layers_are_right)
{
	int ran = 0;
	for (uint64_t seed = 1; seed <= most_seeds(); seed++) {
		struct group group;
		struct ran r;
		layer_group_random(&group, seed, 1);
		struct tpu_config config = random_machine(&group.rng);
		struct npl_layer_group request = {.layer = group.list, .n = group.n_layers};
		if (layer_group_ok(&group, &config) && run_layer_group(&request, &config, seed, &r)) {
			cr_assert_eq(r.interpreter.useful_macs, products(&group), "seed %llu",
				     (unsigned long long)seed);
			compare_with_core(group.list[0], seed);
			run_end(&r);
			ran++;
		}
		layer_group_end(&group);
	}
	cr_assert_gt(ran, share(300));
}

Test(tpu_generate, programs_of_layer_groups_are_right)
{
	int ran = 0;
	for (uint64_t seed = 1; seed <= most_seeds(); seed++) {
		struct group group;
		struct ran r;
		layer_group_random(&group, seed, 12);
		struct tpu_config config = random_machine(&group.rng);
		struct npl_layer_group request = {.layer = group.list,
						  .n = group.n_layers,
						  .inputs_over_link = layer_group_range(&group, 0, 1),
						  .outputs_over_link = layer_group_range(&group, 0, 1)};
		const struct npl_tensor *output[3];
		random_wanted(&group, &request, output);
		if (layer_group_ok(&group, &config) && run_layer_group(&request, &config, seed, &r)) {
			run_end(&r);
			ran++;
		}
		layer_group_end(&group);
	}
	cr_assert_gt(ran, share(150));
}

/* Buffers from far too small to nearly enough: parts of the batch, strips, host memory. */
Test(tpu_generate, small_buffers_give_the_same_values)
{
	int ran = 0, refused = 0, parted = 0, streamed = 0;
	for (uint64_t seed = 1; seed <= most_seeds(); seed++) {
		struct group group;
		struct ran r;
		struct npl_err err = {0};
		layer_group_random(&group, seed + 1000000, 6);
		struct tpu_config config = random_machine(&group.rng);
		struct npl_layer_group request = {.layer = group.list,
						  .n = group.n_layers,
						  .inputs_over_link = layer_group_range(&group, 0, 3) == 0,
						  .outputs_over_link = layer_group_range(&group, 0, 3) == 0};
		const struct npl_tensor *output[3];
		random_wanted(&group, &request, output);
		if (layer_group_ok(&group, &config) && !tpu_generate(&config, &request, &r.generated, &err)) {
			int64_t row_bytes = tpu_row_bytes(&config), need = r.generated.peak_rows;
			tpu_generated_free(&r.generated);
			config.buffer_bytes = row_bytes * layer_group_range(&group, 2, need > 2 ? need : 2);
			int rc = tpu_generate(&config, &request, &r.generated, &err);
			if (rc) {
				cr_assert_eq(rc, NPL_EDEVICE, "seed %llu: %s", (unsigned long long)seed, err.msg);
				refused++;
			} else {
				tpu_generated_free(&r.generated);
				cr_assert(run_layer_group(&request, &config, seed, &r));
				cr_assert_geq(r.interpreter.useful_macs, products(&group));
				cr_assert_leq(r.generated.peak_rows * row_bytes, config.buffer_bytes);
				parted += r.generated.parts > 1;
				streamed += r.generated.host_bytes_for_size > 0;
				ran++;
				run_end(&r);
			}
		}
		layer_group_end(&group);
	}
	cr_assert(ran > share(300) && parted > share(150) && streamed > share(150) && refused > share(10),
		  "%d ran, %d in parts, %d through host memory, %d refused", ran, parted, streamed, refused);
}

/* Rows of few channels that do not fit whole: strips of columns, with several pixels in a row of the buffer. */
Test(tpu_generate, wide_images_are_cut_into_strips)
{
	int streamed = 0;
	for (uint64_t seed = 1; seed <= most_seeds(); seed++) {
		struct group group;
		struct ran r;
		struct npl_err err = {0};
		layer_group_start(&group, seed + 2000000);
		const struct npl_tensor *x = layer_group_given(
			&group, npl_shape_of(4, 1, layer_group_range(&group, 1, 4), layer_group_range(&group, 2, 6),
					     layer_group_range(&group, 20, 60)));
		struct tpu_config config = random_machine(&group.rng);
		config.rows = layer_group_range(&group, 6, 12);
		config.columns = layer_group_range(&group, 6, 12);
		config.buffer_bytes = tpu_row_bytes(&config) * layer_group_range(&group, 3, 24);
		if (layer_group_range(&group, 0, 1))
			layer_group_conv(&group, x, 12);
		else
			layer_group_pool(&group, x);
		const struct npl_layer_group request = {.layer = group.list, .n = group.n_layers};
		if (layer_group_ok(&group, &config) && !tpu_generate(&config, &request, &r.generated, &err)) {
			tpu_generated_free(&r.generated);
			cr_assert(run_layer_group(&request, &config, seed, &r));
			streamed += r.generated.host_bytes_for_size > 0;
			run_end(&r);
		}
		layer_group_end(&group);
	}
	cr_assert_gt(streamed, share(150));
}

/* Scales so far apart that the activation unit cannot bring one to the other: the layer is refused with the reason, so
 * that the host runs it. */
Test(tpu_generate, scales_too_far_apart_are_refused)
{
	const struct tpu_config config = test_tpu_defaults();
	struct npl_tensor x = {.dtype = NPL_U8, .shape = npl_shape_of(2, 2, 4), .quant = {.scale = 1e15f}}, y = x;
	const struct npl_layer add = {.name = "add", .op = NPL_OP_ADD, .n_in = 2, .in = {&x, &x}, .out = &y};
	struct npl_layer multiply = add;
	char reason[300] = "";
	multiply.op = NPL_OP_MUL;
	cr_assert(tpu_generate_supports(&config, &add, reason, sizeof reason), "%s", reason);
	cr_assert(tpu_generate_supports(&config, &multiply, reason, sizeof reason), "%s", reason);
	y.quant.scale = 1; /* 10^15 for the sum, 10^30 for the product; 2^96 is 8 * 10^28 */
	cr_assert(tpu_generate_supports(&config, &add, reason, sizeof reason), "%s", reason);
	cr_assert_not(tpu_generate_supports(&config, &multiply, reason, sizeof reason));
	cr_assert(strstr(reason, "a ratio of 1e+30, the activation unit takes at most 2^96"), "%s", reason);
	y.quant.scale = 1e-15f;
	cr_assert_not(tpu_generate_supports(&config, &add, reason, sizeof reason));
	y.quant.scale = 0; /* not known: without values */
	cr_assert(tpu_generate_supports(&config, &add, reason, sizeof reason), "%s", reason);
}

Test(tpu_generate, layers_are_refused_without_a_place_for_the_reason)
{
	const struct tpu_config config = test_tpu_defaults();
	struct npl_tensor x = {.dtype = NPL_U8, .shape = npl_shape_of(5, 1, 1, 3, 3, 3), .quant = {.scale = 1}};
	struct npl_tensor w = {.dtype = NPL_I8, .shape = npl_shape_of(5, 1, 1, 1, 1, 1), .quant = {.scale = 1}}, y = x;
	const struct npl_attrs attrs = {
		.conv = {.groups = 1,
			 .window = {.rank = 3, .kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}}}};
	struct npl_layer conv = {
		.name = "conv", .op = NPL_OP_CONV, .n_in = 2, .in = {&x, &w}, .out = &y, .attrs = &attrs};
	char reason[300] = "";
	cr_assert_not(tpu_generate_supports(&config, &conv, NULL, 0));
	cr_assert_not(tpu_generate_supports(&config, &conv, reason, sizeof reason));
	cr_assert(strstr(reason, "a window slides over one dimension or two here"), "%s", reason);
	w.shape.dim[0] = 0;
	cr_assert_not(tpu_generate_supports(&config, &conv, NULL, 0));
	cr_assert_not(tpu_generate_supports(&config, &conv, reason, sizeof reason));
	cr_assert_str_eq(reason, "the layer has no weights");
}
