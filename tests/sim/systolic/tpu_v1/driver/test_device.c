/* SPDX-License-Identifier: MIT
 *
 * The systolic machines as devices. What the program promises: machine files load and mean what they say; layers that
 * cannot run are refused with the reason; large batches are split over images. Energy: test_energy.c. */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdlib.h>

#include "tests/kit/sim/machine_file.h"
#include "tests/kit/sim/tpu_v1/support.h"

static void expect_no(const struct tpu_config *config, const struct npl_layer *layer, const char *expected)
{
	static const char beginning[] = "it does not take the layer: ";
	char reason[256] = "";
	cr_assert(!test_supported(config, layer, reason, sizeof reason), "expected no because of '%s'", expected);
	cr_assert(strstr(reason, expected), "'%s' does not mention '%s'", reason, expected);
	void *state = NULL;
	struct npl_err err = {0};
	struct npl_result result = {0};
	cr_assert_eq(npl_driver_systolic.open(config, &state, &err), 0);
	cr_assert_eq(npl_driver_systolic.run(state, layer, &result, &err), NPL_EINTERNAL,
		     "run must refuse what supports refuses");
	cr_assert(!strncmp(err.msg, beginning, strlen(beginning)) && !strcmp(err.msg + strlen(beginning), reason),
		  "'%s' does not say '%s'", err.msg, reason);
	npl_driver_systolic.close(state);
}

/* A link's energy is the file's alone, as those of the chip are. Other kinds of links have parameters of their own. */
Test(tpu_device, the_machine_file_is_the_default_but_for_energy_and_what_was_fitted)
{
	test_machine_file(&npl_driver_systolic, "machines/tpu_v1.yaml",
			  "energy.* technology.* activity host_link.energy_origin host_link.clock_hz "
			  "host_link.width_bits host_link.transfers_per_clock host_link.bytes_per_second");
}

Test(tpu_device, machine_files_say_what_they_are)
{
	struct npl_arena arena = {0};
	int n;
	const char **files = test_machine_paths(&npl_driver_systolic, &arena, &n);
	for (int i = 0; i < n; i++) {
		const struct tpu_config config = test_tpu_load(files[i], &arena);
		void *state = NULL;
		struct npl_err err = {0};
		struct npl_device_info info = {0};
		int64_t rows, columns;
		/* A machine that is named by the size of its array has such an array. */
		if (sscanf(files[i], "machines/systolic_%" SCNd64 "x%" SCNd64, &rows, &columns) == 2)
			cr_expect(config.rows == rows && config.columns == columns, "%s", files[i]);
		cr_assert_eq(npl_driver_systolic.open(&config, &state, &err), 0, "%s", err.msg);
		npl_driver_systolic.describe(state, &info);
		cr_assert_eq(info.kind, NPL_KIND_SIMULATED);
		cr_assert_eq(info.format, NPL_FORMAT_INT8);
		cr_assert_float_eq(info.peak_macs_per_second, (double)(config.rows * config.columns) * config.clock_hz,
				   1);
		cr_assert_eq(info.n_counters, TPU_COUNTERS - TPU_ACTIVITY_COUNTERS, "activity is not counted");
		cr_assert(strlen(info.detail) > 20);
		npl_driver_systolic.close(state);
		/* A layer runs on each, with energy whose origins are of the closed set. */
		struct test_layer t;
		test_gemm(&t, 30, 40, 50);
		struct npl_result r = test_run(&config, &t.layer);
		cr_assert(r.n_energy > 0 && npl_result_joules(&r) > 0);
		test_layer_free(&t);
	}
	npl_arena_free(&arena);
}

Test(tpu_device, peak_is_that_of_the_paper)
{
	struct tpu_config config = test_tpu_defaults();
	void *state = NULL;
	struct npl_err err = {0};
	struct npl_device_info info = {0};
	cr_assert_eq(npl_driver_systolic.open(&config, &state, &err), 0);
	npl_driver_systolic.describe(state, &info);
	cr_assert_float_eq(2 * info.peak_macs_per_second, 92e12, 0.5e12); /* 92 TOPS */
	cr_assert_float_eq(info.static_watts, 28, 1e-8);
	npl_driver_systolic.close(state);
}

Test(tpu_device, absurd_machines_are_refused)
{
	static const char *const bad[][2] = {
		{"array.rows", "0"},
		{"array.rows", "5000"},
		{"array.columns", "-1"},
		{"clock_hz", "0"},
		{"accumulators.rows", "1"},
		{"weight_fifo.tiles", "0"},
		{"weight_fifo.tiles", "65"},
		{"unified_buffer.bytes", "0"},
		{"array.row", "8"},
		{"activate.cycles_per_row", "0"},
		{"energy.static.origin", "guess"},
		{"weight_memory.bytes_per_second", "0"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct npl_arena arena = {0};
		struct npl_description machine = {
			.name = "test", .driver_or_model_key = "driver", .driver_or_model = "systolic"};
		struct tpu_config config;
		struct npl_err err = {0};
		cr_assert_eq(npl_description_set(&machine, &arena, bad[i][0], bad[i][1], &err), 0);
		cr_assert_neq(npl_params_read(tpu_params, &machine, &arena, &config, &err), 0, "%s=%s was accepted",
			      bad[i][0], bad[i][1]);
		npl_arena_free(&arena);
	}
	/* Single parameters in range that make no machine together. */
	struct tpu_config config = test_tpu_defaults();
	void *state = NULL;
	struct npl_err err = {0};
	config.buffer_bytes = 256;
	cr_assert_eq(npl_driver_systolic.open(&config, &state, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "unified_buffer.bytes"), "%s", err.msg);
	config = test_tpu_defaults();
	config.weight_bytes = 65535;
	cr_assert_eq(npl_driver_systolic.open(&config, &state, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "weight_memory.bytes"), "%s", err.msg);
}

Test(tpu_device, refuses_matrix_layers_with_the_reason)
{
	struct tpu_config config = test_tpu_defaults();
	struct test_layer t;
	char reason[256];
	test_gemm(&t, 4, 8, 6);
	cr_assert(test_supported(&config, &t.layer, reason, sizeof reason), "%s", reason);

	t.x.dtype = NPL_F32;
	expect_no(&config, &t.layer, "8-bit integers");
	t.x.dtype = NPL_U8;
	t.y.dtype = NPL_F32;
	expect_no(&config, &t.layer, "8, 16 or 32 bits");
	t.y.dtype = NPL_I32;
	t.w.quant.zero_point = 200;
	expect_no(&config, &t.layer, "zero point");
	t.w.quant.zero_point = 0;
	t.layer.n_in = 1;
	expect_no(&config, &t.layer, "no weights");
	t.layer.n_in = 2;
	t.w.shape.dim[1] = 7;
	expect_no(&config, &t.layer, "Gemm of rank 2");
	t.w.shape.dim[1] = 8;
	test_tensor(&t.bias, NPL_I32, npl_shape_of(1, 5), 0, 0);
	t.layer.in[t.layer.n_in++] = &t.bias;
	expect_no(&config, &t.layer, "bias");
	t.layer.n_in = 2;
	config.weight_bytes = 65536 + 2048; /* a tile and a parameter table */
	cr_assert(test_supported(&config, &t.layer, reason, sizeof reason), "%s", reason);
	test_layer_free(&t);

	test_gemm(&t, 4, 300, 6);
	expect_no(&config, &t.layer, "weight memory");
	test_layer_free(&t);
}

Test(tpu_device, refuses_operators_it_has_not)
{
	struct tpu_config config = test_tpu_defaults();
	struct test_layer t;
	test_gemm(&t, 4, 8, 6);
	const enum npl_op ops[] = {NPL_OP_SOFTMAX, NPL_OP_LRN, NPL_OP_TRANSPOSE, NPL_OP_BATCHNORMALIZATION};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		t.layer.op = ops[i];
		expect_no(&config, &t.layer, npl_op_defs[ops[i]].name);
	}
	t.layer.op = NPL_OP_MATMUL;
	expect_no(&config, &t.layer, "weight memory");
	/* Relu on 32-bit results. */
	t.layer.op = NPL_OP_RELU;
	t.layer.n_in = 1;
	t.x.shape = t.y.shape;
	expect_no(&config, &t.layer, "8-bit integers");
	test_layer_free(&t);
}

Test(tpu_device, windows_that_make_no_sense_are_refused)
{
	struct tpu_config config = test_tpu_defaults();
	struct test_conv c = {1, 4, 6, 6, 4, 2, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false};
	struct test_layer t;
	cr_assert(test_convolution(&t, &c));
	t.attrs.conv.window.stride[1] = 0;
	expect_no(&config, &t.layer, "strides");
	t.attrs.conv.window.stride[1] = 1;
	t.attrs.conv.window.kernel[0] = 2; /* not the weight's */
	expect_no(&config, &t.layer, "w");
	t.attrs.conv.window.kernel[0] = 3;
	t.attrs.conv.groups = 3;
	expect_no(&config, &t.layer, "weights to match");
	t.attrs.conv.groups = 2;
	test_run(&config, &t.layer);
	test_layer_free(&t);
}

/* The values stay, the cycles do not: weights are fetched for each part, or activations come and go through the
 * host. */
Test(tpu_device, layers_larger_than_the_buffer_run_in_parts_or_through_host_memory)
{
	uint64_t rng = 0x5eed0501;
	struct tpu_config config = test_tpu_defaults();
	struct test_conv c = {7, 100, 10, 10, 300, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false};
	struct test_layer whole;
	cr_assert(test_convolution(&whole, &c));
	test_requantised(&whole, NPL_U8, 100.0f, 10);
	test_fill(&whole.x, &rng);
	test_fill(&whole.w, &rng);
	struct npl_result at_once = test_run(&config, &whole.layer);
	size_t bytes = npl_tensor_bytes(&whole.y);
	uint8_t *values = malloc(bytes);
	memcpy(values, whole.y.data, bytes);
	cr_assert_eq(test_counter(&at_once, "host_bytes_in") + test_counter(&at_once, "host_bytes_out"), 0);

	/* An image takes 100 / 2 rows in (two pixels of 100 channels in 256 bytes) and 100 * 2 rows out. Room for all
	 * seven, for two, and for less than one. */
	const int64_t rows[] = {7 * 250, 2 * 250, 249, 40};
	for (int i = 0; i < 4; i++) {
		config.buffer_bytes = rows[i] * 256;
		memset(whole.y.data, 0, bytes);
		struct npl_result r = test_run(&config, &whole.layer);
		cr_assert(!memcmp(values, whole.y.data, bytes), "%lld rows changed the values", (long long)rows[i]);
		if (i == 0) {
			cr_assert_eq(r.cycles, at_once.cycles);
			continue;
		}
		cr_assert_gt(r.cycles, at_once.cycles, "%lld rows", (long long)rows[i]);
		cr_assert_gt(test_counter(&r, "host_bytes_in") + test_counter(&r, "host_bytes_out"), 0);
	}
	/* Not one tile's inputs: */
	config.buffer_bytes = 2 * 256;
	char reason[256] = "";
	cr_assert(!test_supported(&config, &whole.layer, reason, sizeof reason));
	free(values);
	test_layer_free(&whole);
}

Test(tpu_device, least_bytes_are_those_that_some_window_reads)
{
	struct tpu_config config = test_tpu_defaults();
	/* Windows of 1 at stride 3 read 4 x 4 of 10 x 10 pixels. */
	struct test_conv c = {2, 5, 10, 10, 3, 1, {1, 1}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, false};
	struct test_layer t;
	cr_assert(test_convolution(&t, &c));
	struct npl_result r = test_run(&config, &t.layer);
	cr_assert_eq(r.bytes_at_least[NPL_MEM_BUFFER], 2 * 5 * 16 + 4 * 2 * 3 * 16);
	cr_assert_eq(r.bytes_at_least[NPL_MEM_DRAM], 15);
	test_layer_free(&t);
	/* Padding is not read: windows of 2 at stride 2 and a pad of 1 start at -1, 1, 3, 5 and read all of 6 but
	 * nothing twice. */
	c = (struct test_conv){1, 1, 6, 6, 1, 1, {2, 2}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false};
	cr_assert(test_convolution(&t, &c));
	r = test_run(&config, &t.layer);
	cr_assert_eq(r.bytes_at_least[NPL_MEM_BUFFER], 36 + 4 * 16);
	test_layer_free(&t);
}
