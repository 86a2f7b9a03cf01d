/* SPDX-License-Identifier: MIT
 *
 * The signals of DianNao's NFU are its registers. What the program promises: the products in front of NFU-2 are those
 * of the operands that were in front of NFU-1 as many cycles before as NFU-1 has stages; and what
 * leaves NFU-3 is the layer's output. */
#include <stdio.h>

#include "npulab/signal_sink.h"
#include "tests/kit/layer_rule.h"
#include "tests/kit/support.h"

enum { TN = 16, NFU1_STAGES = 3, OUTPUTS = 48 };

/* The registers of one cycle. */
struct registers {
	int64_t valid1, valid2, leaves, input[TN], synapse[TN][TN], product[TN][TN], result[TN];
	bool product_known, result_known;
};
struct seen {
	struct registers now, past[NFU1_STAGES]; /* past[0] is the cycle before */
	char name[2048][NPL_SIGNAL_NAME];
	uint64_t cycle;
	int64_t products, result[OUTPUTS], results;
};

static int on_signals(void *context, const struct npl_signal *signal, int n, int64_t clock_hz, struct npl_err *err)
{
	struct seen *seen = context;
	(void)clock_hz;
	(void)err;
	for (int i = 0; i < n; i++)
		memcpy(seen->name[i], signal[i].name, sizeof seen->name[i]);
	return 0;
}

static void set(struct registers *now, const char *name, const struct npl_signal_change *change)
{
	int i, j;
	const int64_t value = change->value;
	if (sscanf(name, "nfu1.input[%d]", &i) == 1)
		now->input[i] = value;
	else if (sscanf(name, "nfu1.synapse[%d][%d]", &i, &j) == 2)
		now->synapse[i][j] = value;
	else if (sscanf(name, "nfu2.product[%d][%d]", &i, &j) == 2)
		now->product[i][j] = value, now->product_known = change->is_known;
	else if (sscanf(name, "nfu3.result[%d]", &i) == 1)
		now->result[i] = value, now->result_known = change->is_known;
	else if (!strcmp(name, "nfu1.valid"))
		now->valid1 = value;
	else if (!strcmp(name, "nfu2.valid"))
		now->valid2 = value;
	else if (!strcmp(name, "nfu3.leaves"))
		now->leaves = value;
	else
		cr_assert_fail("%s was not chosen", name);
}

/* Looks at a cycle, which comes right after the one that was looked at before. */
static void end_cycle(struct seen *seen)
{
	const struct registers *now = &seen->now, *operands = &seen->past[NFU1_STAGES - 1];
	for (int n = 0; n < TN && now->product_known; n++)
		for (int i = 0; i < TN; i++) {
			cr_assert(operands->valid1 && now->valid2);
			const int64_t exact = operands->input[i] * operands->synapse[n][i],
				      scaled = (exact + 512) >> 10;
			cr_assert_eq(now->product[n][i], rule_saturate(NPL_I16, (double)scaled));
			seen->products++;
		}
	for (int i = 0; i < TN && now->leaves && now->result_known; i++) {
		cr_assert_lt(seen->results, OUTPUTS);
		seen->result[seen->results++] = now->result[i];
	}
	for (int k = NFU1_STAGES - 1; k > 0; k--)
		seen->past[k] = seen->past[k - 1];
	seen->past[0] = *now;
}

static int on_cycle(void *context, uint64_t cycle, const struct npl_signal_change *change, int n, struct npl_err *err)
{
	struct seen *seen = context;
	(void)err;
	for (; seen->cycle < cycle; seen->cycle++)
		end_cycle(seen);
	for (int i = 0; i < n; i++)
		set(&seen->now, seen->name[change[i].signal], &change[i]);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static struct npl_tensor tensor(struct npl_shape shape, int64_t limit, uint64_t *rng)
{
	struct npl_tensor t = {.dtype = NPL_I16, .shape = shape, .quant = {.scale = 0x1p-10f}};
	struct npl_err err = {0};
	cr_assert_eq(npl_tensor_alloc(&t, &err), 0, "%s", err.msg);
	for (int64_t i = 0; i < npl_tensor_count(&t); i++)
		rule_set(&t, i, test_range(rng, -limit, limit));
	return t;
}

static void try_product(uint64_t seed)
{
	static struct seen seen;
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull | 1;
	const int64_t depth = test_range(&rng, 20, 70);
	const struct npl_attrs attrs = {
		.op = NPL_OP_GEMM, .opset = 22, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	struct npl_tensor x = tensor(npl_shape_of(2, 1, depth), 3000, &rng),
			  w = tensor(npl_shape_of(2, OUTPUTS, depth), 700, &rng),
			  y = tensor(npl_shape_of(2, 1, OUTPUTS), 0, &rng);
	struct npl_layer layer = {.name = "product", .op = NPL_OP_GEMM, .attrs = &attrs, .n_in = 2};
	layer.activation = NPL_ACT_SIGMOID;
	layer.in[0] = &x;
	layer.in[1] = &w;
	layer.out = &y;
	layer.macs = (uint64_t)(OUTPUTS * depth);
	const struct npl_signal_sink signals = {
		.choice = "nfu1.valid,nfu2.valid,nfu1.input[*,nfu1.synapse[*,nfu2.product[*,nfu3.leaves,nfu3.result[*",
		.on_signals = on_signals,
		.on_cycle = on_cycle,
		.context = &seen};
	const struct npl_instruction_sink sink = {.signals = &signals};
	struct npl_device *device;
	struct npl_result result = {0};
	struct npl_err err = {0};
	memset(&seen, 0, sizeof seen);
	cr_assert_eq(npl_device_open("diannao", &(struct npl_device_options){.engine = "rtl"}, &device, &err), 0);
	cr_assert_eq(npl_device_tell_instructions(device, &sink, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_device_run(device, &layer, &result, &err), 0, "%s", err.msg);
	cr_assert_eq(seen.products, (depth + TN - 1) / TN * TN * OUTPUTS, "seed %llu: %lld products",
		     (unsigned long long)seed, (long long)seen.products);
	cr_assert_eq(seen.results, OUTPUTS);
	/* The tiles decide in which order outputs leave. */
	int64_t expected[OUTPUTS];
	for (int64_t i = 0; i < OUTPUTS; i++)
		expected[i] = rule_get(&y, i);
	qsort(expected, OUTPUTS, sizeof *expected, compare);
	qsort(seen.result, OUTPUTS, sizeof *seen.result, compare);
	cr_assert(!memcmp(expected, seen.result, sizeof expected), "seed %llu", (unsigned long long)seed);
	cr_assert_lt(expected[0], expected[OUTPUTS - 1]);
	npl_device_close(device);
	npl_tensor_free(&x);
	npl_tensor_free(&w);
	npl_tensor_free(&y);
}

Test(diannao_signals, the_layer_s_results_leave_nfu_3)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		try_product(seed);
}
