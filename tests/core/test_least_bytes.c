/* SPDX-License-Identifier: MIT
 *
 * Core's own count of the bytes that layers must move (core/least_bytes.h) promises: each element that a layer reads or
 * writes counts once, in every memory that such tensors cross; layers of one pass hand values on for nothing, but not
 * what another pass reads or what is wanted; a driver that counts less is found out, and neither leaving out passes nor
 * memories frees it. */
#include <criterion/criterion.h>

#include "core/books.h"
#include "core/ops/window.h"
#include "tests/kit/support.h"

static const struct npl_device_info machine = {
	.kind = NPL_KIND_SIMULATED,
	.crosses = {[NPL_MEM_DRAM] = NPL_CROSS_WEIGHTS | NPL_CROSS_BIASES, [NPL_MEM_BUFFER] = NPL_CROSS_ACTIVATIONS}};

static const struct npl_attrs attrs[5] = {
	{.conv = {.groups = 1, .window = {.rank = 2, .kernel = {1, 1}, .stride = {3, 3}, .dilation = {1, 1}}}}};

/* Conv of windows of 1 at stride 3, Relu, Add of the Relu's and the Conv's results, Flatten, Gemm. */
static struct {
	struct npl_tensor x, w, conv, relu, sum, flat, matrix, bias, gemm;
	struct npl_layer layer[5];
	const struct npl_layer *list[5];
	const struct npl_tensor *output;
} net;

static struct npl_tensor of(enum npl_dtype dtype, struct npl_shape shape)
{
	return (struct npl_tensor){.dtype = dtype, .shape = shape};
}

static void make_net(void)
{
	net.x = of(NPL_U8, npl_shape_of(4, 2, 5, 10, 10));
	net.w = of(NPL_I8, npl_shape_of(4, 3, 5, 1, 1));
	net.conv = net.relu = net.sum = of(NPL_U8, npl_shape_of(4, 2, 3, 4, 4));
	net.flat = of(NPL_U8, npl_shape_of(2, 2, 48));
	net.matrix = of(NPL_I8, npl_shape_of(2, 7, 48));
	net.bias = of(NPL_I32, npl_shape_of(1, 7));
	net.gemm = of(NPL_U8, npl_shape_of(2, 2, 7));
	const struct npl_layer layers[] = {
		{.name = "conv", .op = NPL_OP_CONV, .n_in = 2, .in = {&net.x, &net.w}, .out = &net.conv},
		{.name = "relu", .op = NPL_OP_RELU, .n_in = 1, .in = {&net.conv}, .out = &net.relu},
		{.name = "sum", .op = NPL_OP_ADD, .n_in = 2, .in = {&net.relu, &net.conv}, .out = &net.sum},
		{.name = "flatten", .op = NPL_OP_FLATTEN, .n_in = 1, .in = {&net.sum}, .out = &net.flat},
		{.name = "gemm",
		 .op = NPL_OP_GEMM,
		 .n_in = 3,
		 .in = {&net.flat, &net.matrix, &net.bias},
		 .out = &net.gemm},
	};
	for (int i = 0; i < 5; i++) {
		net.layer[i] = layers[i];
		net.layer[i].attrs = &attrs[i];
		net.list[i] = &net.layer[i];
	}
	net.output = &net.gemm;
}

enum { READ = 2 * 5 * 16, IMAGE = 2 * 3 * 16 }; /* 4 x 4 of the 10 x 10 pixels; a result of the first layers */

static void check(const struct npl_layer_group_info *how, const uint64_t buffer[5])
{
	const struct npl_layer_group group = {.n = 5, .layer = net.list, .n_outputs = 1, .output = &net.output};
	const uint64_t memory[5] = {15, 0, 0, 0, 7 * 48 + 4 * 7};
	struct npl_least_bytes least[5];
	struct npl_err err = {0};
	cr_assert_eq(npl_least_bytes_of_group(&machine, &group, how, least, &err), 0, "%s", err.msg);
	for (int i = 0; i < 5; i++) {
		cr_expect_eq(least[i].bytes[NPL_MEM_DRAM], memory[i], "layer %d", i);
		cr_expect_eq(least[i].bytes[NPL_MEM_BUFFER], buffer[i], "layer %d: %llu, expected %llu", i,
			     (unsigned long long)least[i].bytes[NPL_MEM_BUFFER], (unsigned long long)buffer[i]);
	}
}

Test(least_bytes, layers_alone_and_in_passes)
{
	make_net();
	const struct npl_least_bytes conv = npl_least_bytes_of(&machine, &net.layer[0]);
	cr_expect_eq(conv.bytes[NPL_MEM_DRAM], 15);
	cr_expect_eq(conv.bytes[NPL_MEM_BUFFER], READ + IMAGE);
	const uint64_t apart[] = {READ + IMAGE, IMAGE + IMAGE, 2 * IMAGE + IMAGE, 0, IMAGE + 14};
	check(&(struct npl_layer_group_info){0}, apart);
	check(&(struct npl_layer_group_info){.pass = (const int[]){-1, -1, 99, -1, -1}}, apart);
	/* All but the Gemm at once: the Flatten names what their pass leaves. */
	check(&(struct npl_layer_group_info){.pass = (const int[]){0, 0, 0, -1, 4}},
	      (const uint64_t[]){READ + IMAGE, 0, 0, 0, IMAGE + 14});
	/* The Conv's result leaves its pass, since the Add is another. */
	check(&(struct npl_layer_group_info){.pass = (const int[]){0, 0, 2, -1, 4}},
	      (const uint64_t[]){READ + 2 * IMAGE, 0, 3 * IMAGE, 0, IMAGE + 14});
	/* The Add begins in the pass of the Conv, and ends in its own. */
	check(&(struct npl_layer_group_info){.pass = (const int[]){0, 0, 2, -1, 4},
					     .first_pass = (const int[]){0, 0, 0, -1, 4}},
	      (const uint64_t[]){READ, 0, IMAGE, 0, IMAGE + 14});
	net.output = &net.relu; /* nobody asks for the Gemm's result then */
	check(&(struct npl_layer_group_info){.pass = (const int[]){0, 0, 0, -1, 4}},
	      (const uint64_t[]){READ + 2 * IMAGE, 0, 0, 0, IMAGE});
}

Test(least_bytes, a_driver_that_counts_less_is_found_out)
{
	make_net();
	struct npl_err err = {0};
	const struct npl_layer *conv = &net.layer[0];
	const struct npl_least_bytes least = npl_least_bytes_of(&machine, conv);
	const struct npl_result right = {.bytes = {[NPL_MEM_DRAM] = 15, [NPL_MEM_BUFFER] = READ + IMAGE}};
	struct npl_result result = right;
	cr_assert_eq(npl_books_check("liar", &machine, conv, &least, &result, &err), 0, "%s", err.msg);
	cr_assert_eq(result.bytes_at_least[NPL_MEM_BUFFER], READ + IMAGE);
	result.bytes[NPL_MEM_BUFFER]--;
	cr_assert_eq(npl_books_check("liar", &machine, conv, &least, &result, &err), NPL_EINTERNAL);
	cr_assert_str_eq(err.msg,
			 "the books of liar on layer conv: 255 bytes crossed the buffer, its tensors have 256");
	result = (struct npl_result){.bytes = {[NPL_MEM_DRAM] = 15}};
	cr_assert_eq(npl_books_check("liar", &machine, conv, &least, &result, &err), NPL_EINTERNAL, "nothing counted");
	/* A driver may know of more than the tensors, and is held to that. */
	result = right;
	result.bytes_at_least[NPL_MEM_DRAM] = 16;
	cr_assert_eq(npl_books_check("liar", &machine, conv, &least, &result, &err), NPL_EINTERNAL);
	/* Bytes of a memory that no tensors cross by what the driver says. */
	struct npl_device_info silent = machine;
	silent.crosses[NPL_MEM_BUFFER] = 0;
	const struct npl_least_bytes less = npl_least_bytes_of(&silent, conv);
	result = right;
	cr_assert_eq(npl_books_check("liar", &silent, conv, &less, &result, &err), NPL_EINTERNAL);
	cr_assert(strstr(err.msg, "256 bytes crossed the buffer, and npl_device_info.crosses names no tensors"), "%s",
		  err.msg);
}

/* Positions that windows read, in one dimension, against a map of them. */
Test(least_bytes, touched_positions_equal_a_map)
{
	const uint64_t seed = 0x5eed3001;
	uint64_t rng = seed;
	for (int round = 0; round < 3000; round++) {
		enum { LONGEST = 40 };
		bool read[LONGEST] = {false};
		int64_t count = 0, input = test_range(&rng, 1, LONGEST), output = test_range(&rng, 0, 12);
		struct npl_window w = {.rank = 2,
				       .kernel = {test_range(&rng, 1, 9)},
				       .stride = {test_range(&rng, 1, 7)},
				       .dilation = {test_range(&rng, 1, 7)},
				       .pad_begin = {test_range(&rng, 0, 9)}};
		for (int64_t o = 0; o < output; o++)
			for (int64_t tap = 0; tap < w.kernel[0]; tap++) {
				int64_t at = o * w.stride[0] + tap * w.dilation[0] - w.pad_begin[0];
				if (at < 0 || at >= input)
					continue;
				count += !read[at];
				read[at] = true;
			}
		cr_assert_eq(npl_window_touched(&w, 0, input, output), count, "round %d of seed %llx", round,
			     (unsigned long long)seed);
	}
}

/* 3 products a cycle at most: neither more than that in the cycles, nor more that could have been done beside them. */
Test(books, a_machine_does_not_exceed_its_peak)
{
	static const struct npl_counter_def counters[] = {{.name = "used", .unit = "macs", .kind = NPL_COUNTER_USED},
							  {.name = "idle", .unit = "macs", .kind = NPL_COUNTER_IDLE}};
	const struct npl_device_info three = {.kind = NPL_KIND_SIMULATED,
					      .clock_hz = 1e6,
					      .peak_macs_per_second = 3e6,
					      .counter_def = counters,
					      .n_counters = 2};
	const struct npl_layer layer = {.name = "gemm", .macs = 30};
	const struct npl_least_bytes least = {{0}};
	struct npl_result result = {.cycles = 10, .macs = 30, .counter = {30, 0}};
	struct npl_err err = {0};
	cr_assert_eq(npl_books_check("liar", &three, &layer, &least, &result, &err), 0, "%s", err.msg);
	result.counter[1] = 1;
	cr_assert_eq(npl_books_check("liar", &three, &layer, &least, &result, &err), NPL_EINTERNAL);
	cr_assert_str_eq(
		err.msg,
		"the books of liar on layer gemm: the counters of used and idle multiply-accumulates sum to 31, "
		"expected at most 30 in 10 cycles");
	result.counter[1] = 0;
	result.cycles = 9;
	cr_assert_eq(npl_books_check("liar", &three, &layer, &least, &result, &err), NPL_EINTERNAL);
	cr_assert_str_eq(err.msg,
			 "the books of liar on layer gemm: 30 multiply-accumulates in 9 cycles, at its peak it "
			 "does 27");
}
