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
		if (g->location[i].given)
			cr_assert_eq(tpu_load_tensor(g, config, g->location[i].tensor, g->location[i].tensor,
						     &r->memory, &err),
				     0);
}

static void compare_results(const struct ran *r, const struct tpu_config *config, const char *by, uint64_t seed)
{
	const struct tpu_generated *g = &r->generated;
	struct npl_err err = {0};
	for (int i = 0; i < g->n_locations; i++) {
		const struct npl_tensor *want = g->location[i].tensor;
		if (!g->location[i].wanted)
			continue;
		struct npl_tensor got = *want;
		cr_assert_eq(npl_tensor_alloc(&got, &err), 0);
		cr_assert_eq(tpu_read_tensor(g, config, want, &got, &r->memory, &err), 0, "%s", err.msg);
		for (int64_t e = 0; e < npl_tensor_count(want); e++)
			cr_assert_eq(rule_get(&got, e), rule_get(want, e),
				     "seed %llu, %s: place %d of %d, element %lld is %lld, expected %lld",
				     (unsigned long long)seed, by, i, g->n_locations, (long long)e,
				     (long long)rule_get(&got, e), (long long)rule_get(want, e));
		npl_tensor_free(&got);
	}
}

/* Generates, checks and runs a layer group, and compares what is wanted. False: it joins, slices or adds flattened
 * tensors, which is refused. */
static bool run_layer_group(const struct group *c, const struct tpu_config *config,
			    const struct tpu_generate_options *options, uint64_t seed, struct ran *r)
{
	struct npl_err err = {0};
	int rc = tpu_generate(config, c->list, c->n_layers, options, &r->generated, &err);
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
		tpu_run_fast(&(struct tpu_execution){.config = config, .program = &g->program, .memory = r->memory},
			     &r->fast, &err),
		0, "seed %llu: %s", (unsigned long long)seed, err.msg);
	compare_results(r, config, "fast", seed);
	fresh_memory(r, config);
	cr_assert_eq(tpu_run_rtl(&(struct tpu_execution){.config = config, .program = &g->program, .memory = r->memory},
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
static uint64_t products(const struct group *c)
{
	uint64_t products = 0;
	for (int i = 0; i < c->n_layers; i++) {
		const struct npl_layer *l = c->list[i];
		uint64_t times = l->in[0]->dtype == NPL_I16 ? 2 : 1;
		if (l->macs)
			products += l->macs * times * (l->in[1]->dtype == NPL_I16 ? 2 : 1);
	}
	return products;
}

/* layer_rule.h and the library's own kernels say the same. */
static void compare_with_core(const struct npl_layer *layer, uint64_t seed)
{
	char why[300];
	struct npl_err err = {0};
	struct npl_int8_memory memory = {0};
	struct npl_int8_counts counts = {0};
	struct npl_tensor got = *layer->out;
	struct npl_layer copy = *layer;
	if ((layer->fused != NPL_ACT_NONE && layer->fused != NPL_ACT_RELU) ||
	    !npl_int8_layer_ok(layer, why, sizeof why))
		return;
	cr_assert_eq(npl_tensor_alloc(&got, &err), 0);
	copy.out = &got;
	cr_assert_eq(npl_int8_run_layer(&copy, NULL, &memory, &counts, &err), 0, "%s", err.msg);
	cr_assert_arr_eq(got.data, layer->out->data, npl_tensor_bytes(&got), "seed %llu", (unsigned long long)seed);
	npl_int8_memory_free(&memory);
	npl_tensor_free(&got);
}

static void run_end(struct ran *r)
{
	interpreter_close(&r->interpreter);
	free(r->memory.buffer);
	free(r->memory.host);
	tpu_generated_free(&r->generated);
}

/* Perhaps some tensors of the layer group instead of those at its ends. */
static void random_wanted(struct group *c, struct tpu_generate_options *options, const struct npl_tensor **wanted)
{
	if (layer_group_range(c, 0, 1))
		return;
	options->wanted = wanted;
	options->n_wanted = (int)layer_group_range(c, 1, 3);
	for (int i = 0; i < options->n_wanted; i++)
		wanted[i] = c->list[layer_group_range(c, 0, c->n_layers - 1)]->out;
}

/* Supported, and scales have not run away over the layers. */
static bool layer_group_ok(const struct group *c, const struct tpu_config *config)
{
	char why[300];
	for (int i = 0; i < c->n_layers; i++)
		if (!tpu_generate_supports(config, c->list[i], why, sizeof why) ||
		    c->list[i]->out->quant.scale > 1e9f ||
		    (c->list[i]->out->dtype != NPL_I32 && c->list[i]->out->quant.scale < 1e-9f))
			return false;
	return true;
}

Test(tpu_generate, single_layers)
{
	int ran = 0;
	for (uint64_t seed = 1; seed <= most_seeds(); seed++) {
		struct group c;
		struct ran r;
		layer_group_random(&c, seed, 1);
		struct tpu_config config = random_machine(&c.rng);
		struct tpu_generate_options options = {0};
		if (layer_group_ok(&c, &config) && run_layer_group(&c, &config, &options, seed, &r)) {
			cr_assert_eq(r.interpreter.useful_macs, products(&c), "seed %llu", (unsigned long long)seed);
			compare_with_core(c.list[0], seed);
			run_end(&r);
			ran++;
		}
		layer_group_end(&c);
	}
	cr_assert_gt(ran, share(300));
}

Test(tpu_generate, groups)
{
	int ran = 0;
	for (uint64_t seed = 1; seed <= most_seeds(); seed++) {
		struct group c;
		struct ran r;
		layer_group_random(&c, seed, 12);
		struct tpu_config config = random_machine(&c.rng);
		struct tpu_generate_options options = {.inputs_over_link = layer_group_range(&c, 0, 1),
						       .outputs_over_link = layer_group_range(&c, 0, 1)};
		const struct npl_tensor *wanted[3];
		random_wanted(&c, &options, wanted);
		if (layer_group_ok(&c, &config) && run_layer_group(&c, &config, &options, seed, &r)) {
			run_end(&r);
			ran++;
		}
		layer_group_end(&c);
	}
	cr_assert_gt(ran, share(150));
}

/* Buffers from far too small to nearly enough: parts of the batch, strips, host memory. */
Test(tpu_generate, small_buffers)
{
	int ran = 0, refused = 0, parted = 0, streamed = 0;
	for (uint64_t seed = 1; seed <= most_seeds(); seed++) {
		struct group c;
		struct ran r;
		struct npl_err err = {0};
		layer_group_random(&c, seed + 1000000, 6);
		struct tpu_config config = random_machine(&c.rng);
		struct tpu_generate_options options = {.inputs_over_link = layer_group_range(&c, 0, 3) == 0,
						       .outputs_over_link = layer_group_range(&c, 0, 3) == 0};
		const struct npl_tensor *wanted[3];
		random_wanted(&c, &options, wanted);
		if (layer_group_ok(&c, &config) &&
		    !tpu_generate(&config, c.list, c.n_layers, &options, &r.generated, &err)) {
			int64_t row_bytes = tpu_row_bytes(&config), need = r.generated.peak_rows;
			tpu_generated_free(&r.generated);
			config.buffer_bytes = row_bytes * layer_group_range(&c, 2, need > 2 ? need : 2);
			int rc = tpu_generate(&config, c.list, c.n_layers, &options, &r.generated, &err);
			if (rc) {
				cr_assert_eq(rc, NPL_EDEVICE, "seed %llu: %s", (unsigned long long)seed, err.msg);
				refused++;
			} else {
				tpu_generated_free(&r.generated);
				cr_assert(run_layer_group(&c, &config, &options, seed, &r));
				cr_assert_geq(r.interpreter.useful_macs, products(&c));
				cr_assert_leq(r.generated.peak_rows * row_bytes, config.buffer_bytes);
				parted += r.generated.parts > 1;
				streamed += r.generated.host_bytes_for_size > 0;
				ran++;
				run_end(&r);
			}
		}
		layer_group_end(&c);
	}
	cr_assert(ran > share(300) && parted > share(150) && streamed > share(150) && refused > share(10),
		  "%d ran, %d in parts, %d through host memory, %d refused", ran, parted, streamed, refused);
}

/* Rows of few channels that do not fit whole: strips of columns, with several pixels in a row of the buffer. */
Test(tpu_generate, wide_images)
{
	int streamed = 0;
	for (uint64_t seed = 1; seed <= most_seeds(); seed++) {
		struct group c;
		struct ran r;
		struct npl_err err = {0};
		struct tpu_generate_options options = {0};
		layer_group_start(&c, seed + 2000000);
		const struct npl_tensor *x = layer_group_given(&c, npl_shape_of(4, 1, layer_group_range(&c, 1, 4),
										layer_group_range(&c, 2, 6),
										layer_group_range(&c, 20, 60)));
		struct tpu_config config = random_machine(&c.rng);
		config.rows = layer_group_range(&c, 6, 12);
		config.columns = layer_group_range(&c, 6, 12);
		config.buffer_bytes = tpu_row_bytes(&config) * layer_group_range(&c, 3, 24);
		if (layer_group_range(&c, 0, 1))
			layer_group_conv(&c, x, 12);
		else
			layer_group_pool(&c, x);
		if (layer_group_ok(&c, &config) && !tpu_generate(&config, c.list, 1, &options, &r.generated, &err)) {
			tpu_generated_free(&r.generated);
			cr_assert(run_layer_group(&c, &config, &options, seed, &r));
			streamed += r.generated.host_bytes_for_size > 0;
			run_end(&r);
		}
		layer_group_end(&c);
	}
	cr_assert_gt(streamed, share(150));
}
