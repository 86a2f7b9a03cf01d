/* SPDX-License-Identifier: MIT
 *
 * `npulab layer`: the hash it prints is that of the layer's exact result on the operands that the seed draws. The
 * oracle here is the definition of each operator, loops over all indices in 32-bit integers that wrap. */
#include "frontend/compare/draw.h"
#include "npulab/sha256.h"
#include "npulab/single_layer.h"
#include "npulab/tensor_file.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/support.h"

static const struct cli_run_options plainly = {0};

struct operands {
	struct npl_tensor x, w;
};

static struct npl_tensor draw(enum npl_dtype dtype, struct npl_shape shape, struct npl_random *random)
{
	struct npl_tensor t = {.dtype = dtype, .shape = shape};
	struct npl_err err;
	cr_assert_eq(npl_tensor_alloc(&t, &err), 0, "%s", err.msg);
	npl_draw(&t, random);
	return t;
}

/* Draws x, then w, in the order that single_layer.h promises; a w of rank 0 is absent. */
static struct operands draw_operands(uint64_t seed, bool is_unsigned, struct npl_shape x, struct npl_shape w)
{
	struct npl_random random = {.state = seed};
	struct operands o = {.x = draw(is_unsigned ? NPL_U8 : NPL_I8, x, &random)};
	if (w.rank)
		o.w = draw(NPL_I8, w, &random);
	return o;
}

static void free_operands(struct operands *o)
{
	npl_tensor_free(&o->x);
	npl_tensor_free(&o->w);
}

static int32_t value_at(const struct npl_tensor *t, int64_t i)
{
	return t->dtype == NPL_U8 ? ((const uint8_t *)t->data)[i] : ((const int8_t *)t->data)[i];
}

/* Multiplies a (m,k) by the transpose of b (n,k) into y (m,n). */
static int32_t *naive_gemm(const struct operands *o)
{
	int64_t m = o->x.shape.dim[0], k = o->x.shape.dim[1], n = o->w.shape.dim[0];
	int32_t *y = calloc((size_t)(m * n), sizeof *y);
	cr_assert(y);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			uint32_t sum = 0;
			for (int64_t l = 0; l < k; l++)
				sum += (uint32_t)(value_at(&o->x, i * k + l) * value_at(&o->w, j * k + l));
			y[i * n + j] = (int32_t)sum;
		}
	return y;
}

/* Computes one output of a convolution, of image b and filter f at a row and column of the result. */
static int32_t naive_conv_at(const struct operands *o, const struct npl_attrs *a, int64_t b, int64_t f, int64_t row,
			     int64_t column)
{
	const struct npl_window *win = &a->conv.window;
	const int64_t *x = o->x.shape.dim, *w = o->w.shape.dim;
	int64_t first = f / (w[0] / a->conv.groups) * w[1]; /* channel of the filter's group */
	uint32_t sum = 0;
	for (int64_t c = 0; c < w[1]; c++)
		for (int64_t i = 0; i < w[2]; i++)
			for (int64_t j = 0; j < w[3]; j++) {
				int64_t y = row * win->stride[0] - win->pad_begin[0] + i * win->dilation[0];
				int64_t z = column * win->stride[1] - win->pad_begin[1] + j * win->dilation[1];
				if (y < 0 || y >= x[2] || z < 0 || z >= x[3])
					continue;
				int32_t left = value_at(&o->x, ((b * x[1] + first + c) * x[2] + y) * x[3] + z);
				sum += (uint32_t)(left * value_at(&o->w, ((f * w[1] + c) * w[2] + i) * w[3] + j));
			}
	return (int32_t)sum;
}

static int64_t output_size(const struct npl_window *win, int d, int64_t input)
{
	return (input + win->pad_begin[d] + win->pad_end[d] - win->dilation[d] * (win->kernel[d] - 1) - 1) /
		       win->stride[d] +
	       1;
}

static int32_t *naive_conv(const struct operands *o, const struct npl_attrs *a, int64_t *count)
{
	const int64_t *x = o->x.shape.dim, *w = o->w.shape.dim;
	int64_t rows = output_size(&a->conv.window, 0, x[2]), columns = output_size(&a->conv.window, 1, x[3]), at = 0;
	*count = x[0] * w[0] * rows * columns;
	int32_t *y = calloc((size_t)*count, sizeof *y);
	cr_assert(y);
	for (int64_t b = 0; b < x[0]; b++)
		for (int64_t f = 0; f < w[0]; f++)
			for (int64_t r = 0; r < rows; r++)
				for (int64_t c = 0; c < columns; c++)
					y[at++] = naive_conv_at(o, a, b, f, r, c);
	return y;
}

/* One window of a plane: its greatest value, or the mean of those that are no padding, half to even. */
static int8_t naive_pool_at(const struct npl_tensor *x, const struct npl_window *win, bool average, int64_t plane,
			    int64_t row, int64_t column)
{
	int64_t height = x->shape.dim[2], width = x->shape.dim[3], sum = 0, n = 0;
	int32_t maximum = -128;
	for (int64_t i = 0; i < win->kernel[0]; i++)
		for (int64_t j = 0; j < win->kernel[1]; j++) {
			int64_t y = row * win->stride[0] - win->pad_begin[0] + i,
				z = column * win->stride[1] - win->pad_begin[1] + j;
			if (y < 0 || y >= height || z < 0 || z >= width)
				continue;
			int32_t v = value_at(x, (plane * height + y) * width + z);
			maximum = v > maximum ? v : maximum;
			sum += v;
			n++;
		}
	return (int8_t)(average ? rint((double)sum / (double)n) : maximum);
}

static int8_t *naive_pool(const struct npl_tensor *x, const struct npl_window *win, bool average, int64_t *count)
{
	int64_t planes = x->shape.dim[0] * x->shape.dim[1], at = 0;
	int64_t rows = output_size(win, 0, x->shape.dim[2]), columns = output_size(win, 1, x->shape.dim[3]);
	*count = planes * rows * columns;
	int8_t *y = calloc((size_t)*count, sizeof *y);
	cr_assert(y);
	for (int64_t p = 0; p < planes; p++)
		for (int64_t r = 0; r < rows; r++)
			for (int64_t c = 0; c < columns; c++)
				y[at++] = naive_pool_at(x, win, average, p, r, c);
	return y;
}

/* splitmix64 gives its published sequence, and each element takes the top bits of one draw: anybody can draw the same
 * operands. */
Test(cli_layer, operands_are_the_seeds)
{
	static const uint64_t published[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
					     4593380528125082431u, 16408922859458223821u};
	static const enum npl_dtype dtypes[] = {NPL_I8, NPL_U8, NPL_I16, NPL_F32};
	for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
		struct npl_random random = {.state = 1234567};
		struct npl_tensor t = draw(dtypes[d], npl_shape_of(1, 5), &random);
		for (int i = 0; i < 5; i++) {
			uint64_t bits = published[i];
			if (dtypes[d] == NPL_F32)
				cr_assert_eq(((float *)t.data)[i], (float)((double)(bits >> 40) / 8388608 - 1));
			else if (dtypes[d] == NPL_I16)
				cr_assert_eq(((int16_t *)t.data)[i], (int16_t)(bits >> 48));
			else
				cr_assert_eq(((uint8_t *)t.data)[i], bits >> 56);
		}
		npl_tensor_free(&t);
	}
}

/* Runs the layer on tpu_v1 through the library; returns the comparison, output may be NULL. */
static struct npl_comparison run_tpu(const struct npl_layer_spec *spec, struct npl_tensor *output)
{
	static const char *const devices[] = {"tpu_v1"};
	struct npl_compare_options options = {.device_names = devices, .n_devices = 1};
	struct npl_comparison c;
	struct npl_err err;
	int rc = npl_single_layer(spec, &options, &c, output, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return c;
}

static void check_hash(const struct npl_comparison *c, const void *expected, size_t bytes, const char *subject)
{
	char hex[NPL_SHA256_HEX];
	npl_sha256_hex(expected, bytes, hex);
	cr_assert_str_eq(c->device[0].output_sha256, hex, "%s", subject);
	cr_assert_str_eq(c->device[0].run.layer[0].output_sha256, hex, "%s", subject);
}

static struct npl_layer_spec gemm_spec(int64_t m, int64_t n, int64_t k, bool is_unsigned, uint64_t seed)
{
	return (struct npl_layer_spec){.op = NPL_OP_GEMM,
				       .x = npl_shape_of(2, m, k),
				       .outputs = n,
				       .attrs = {.opset = 13, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}},
				       .unsigned_x = is_unsigned,
				       .seed = seed};
}

/* 200 random Gemms, signed and unsigned: the accumulators are those of the naive product, bit for bit. */
Test(cli_layer, gemm_equals_naive)
{
	uint64_t rng = 0x6e70756c6162;
	for (int i = 0; i < 200; i++) {
		/* every size about the array's 256 in turn, the others small or anywhere up to two tiles */
		int64_t m = i % 5 == 0 ? test_range(&rng, 255, 258) : test_range(&rng, 1, 40);
		int64_t n = i % 5 == 1 ? test_range(&rng, 255, 258) : test_range(&rng, 1, 60);
		int64_t k = i % 5 == 2   ? test_range(&rng, 255, 258)
			    : i % 5 == 3 ? test_range(&rng, 1, 600)
					 : test_range(&rng, 1, 100);
		bool is_unsigned = i & 1;
		uint64_t seed = test_rng(&rng);
		struct npl_layer_spec spec = gemm_spec(m, n, k, is_unsigned, seed);
		struct operands o = draw_operands(seed, is_unsigned, spec.x, npl_shape_of(2, n, k));
		int32_t *expected = naive_gemm(&o);
		struct npl_comparison c = run_tpu(&spec, NULL);
		char subject[120];
		snprintf(subject, sizeof subject, "gemm %d: %d x %d x %d, %s, seed %llu", i, (int)m, (int)n, (int)k,
			 is_unsigned ? "unsigned" : "signed", (unsigned long long)seed);
		check_hash(&c, expected, (size_t)(m * n) * sizeof *expected, subject);
		cr_assert_eq(c.device[0].run.macs, (uint64_t)(m * n * k), "%s", subject);
		cr_assert_eq(c.device[0].run.link_bytes, (uint64_t)(m * k + 4 * m * n),
			     "%s: what moving operand and result takes", subject);
		npl_comparison_free(&c);
		free_operands(&o);
		free(expected);
	}
}

static struct npl_layer_spec window_spec(uint64_t *rng, enum npl_op op, bool is_unsigned)
{
	int64_t groups = op == NPL_OP_CONV ? test_range(rng, 1, 3) : 1;
	struct npl_layer_spec spec = {.op = op,
				      .x = npl_shape_of(4, test_range(rng, 1, 2), groups * test_range(rng, 1, 8),
							test_range(rng, 5, 12), test_range(rng, 5, 12)),
				      .outputs = groups * test_range(rng, 1, 10),
				      .attrs.opset = 13,
				      .unsigned_x = is_unsigned,
				      .seed = test_rng(rng)};
	struct npl_window *win = op == NPL_OP_CONV ? &spec.attrs.conv.window : &spec.attrs.pool.window;
	if (op == NPL_OP_CONV)
		spec.attrs.conv.groups = groups;
	win->rank = 2;
	for (int d = 0; d < 2; d++) {
		win->kernel[d] = test_range(rng, 1, 3);
		win->stride[d] = test_range(rng, 1, 3);
		win->dilation[d] = op == NPL_OP_CONV ? test_range(rng, 1, 2) : 1;
		win->pad_begin[d] = win->pad_end[d] = test_range(rng, 0, win->kernel[d] - 1);
	}
	return spec;
}

Test(cli_layer, conv_equals_naive)
{
	uint64_t rng = 20140301;
	for (int i = 0; i < 60; i++) {
		struct npl_layer_spec spec = window_spec(&rng, NPL_OP_CONV, i & 1);
		const struct npl_window *win = &spec.attrs.conv.window;
		struct operands o = draw_operands(spec.seed, i & 1, spec.x,
						  npl_shape_of(4, spec.outputs, spec.x.dim[1] / spec.attrs.conv.groups,
							       win->kernel[0], win->kernel[1]));
		int64_t count;
		int32_t *expected = naive_conv(&o, &spec.attrs, &count);
		struct npl_comparison c = run_tpu(&spec, NULL);
		char subject[64];
		snprintf(subject, sizeof subject, "convolution %d", i);
		check_hash(&c, expected, (size_t)count * sizeof *expected, subject);
		npl_comparison_free(&c);
		free_operands(&o);
		free(expected);
	}
}

Test(cli_layer, pool_equals_naive)
{
	uint64_t rng = 20170626;
	for (int i = 0; i < 60; i++) {
		bool average = i & 1;
		struct npl_layer_spec spec = window_spec(&rng, average ? NPL_OP_AVERAGEPOOL : NPL_OP_MAXPOOL, false);
		struct operands o = draw_operands(spec.seed, false, spec.x, (struct npl_shape){0});
		int64_t count;
		int8_t *expected = naive_pool(&o.x, &spec.attrs.pool.window, average, &count);
		struct npl_comparison c = run_tpu(&spec, NULL);
		char subject[64];
		snprintf(subject, sizeof subject, "%s pool %d", average ? "average" : "max", i);
		check_hash(&c, expected, (size_t)count, subject);
		npl_comparison_free(&c);
		free_operands(&o);
		free(expected);
	}
}

/* --requantise: saturate(round_half_even(float(acc) * scale)), and the scale leaves most results inside 8 bits. */
Test(cli_layer, requantised_results_follow_the_rule)
{
	uint64_t rng = 7;
	for (int i = 0; i < 20; i++) {
		int64_t m = test_range(&rng, 1, 40), n = test_range(&rng, 1, 40), k = test_range(&rng, 30, 300),
			clipped = 0;
		struct npl_layer_spec spec = gemm_spec(m, n, k, i & 1, test_rng(&rng));
		struct npl_tensor y = {0};
		struct operands o = draw_operands(spec.seed, i & 1, spec.x, npl_shape_of(2, n, k));
		int32_t *acc = naive_gemm(&o);
		spec.requantise = true;
		struct npl_comparison c = run_tpu(&spec, &y);
		cr_assert_eq(y.dtype, NPL_I8);
		float scale = 1.0f / y.quant.scale;
		for (int64_t e = 0; e < m * n; e++) {
			float q = rintf((float)acc[e] * scale);
			int expected = q < -128 ? -128 : q > 127 ? 127 : (int)q;
			clipped += q < -128 || q > 127;
			cr_assert_eq(((int8_t *)y.data)[e], expected, "layer %d, element %d: %d", i, (int)e,
				     ((int8_t *)y.data)[e]);
		}
		cr_assert_eq(c.device[0].run.saturations, (uint64_t)clipped);
		cr_assert(clipped * 20 <= m * n, "layer %d: %d of %d results clipped", i, (int)clipped, (int)(m * n));
		check_hash(&c, y.data, npl_tensor_bytes(&y), "requantised");
		npl_tensor_free(&y);
		npl_comparison_free(&c);
		free_operands(&o);
		free(acc);
	}
}

/* Runs the layer through the program: the hashes in the JSON, of the file and of the naive result are the same. */
static void check_program(const char *folder, const char *const *args, const char *device, const void *expected,
			  size_t bytes)
{
	char hex[NPL_SHA256_HEX], file_hex[NPL_SHA256_HEX];
	struct npl_tensor y;
	struct npl_err err;
	json_t *root = cli_run_json(&(struct cli_run_options){.folder = folder}, args),
	       *entry = cli_device(root, device);
	cli_check_result(root);
	cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
	npl_sha256_hex(y.data, npl_tensor_bytes(&y), file_hex);
	cr_assert_str_eq(cli_text(cli_at(entry, "output_sha256")), file_hex, "%s: the file holds something else",
			 args[1]);
	if (expected) {
		npl_sha256_hex(expected, bytes, hex);
		cr_assert_str_eq(file_hex, hex, "%s: not the naive result", args[1]);
	}
	json_t *totals = cli_at(entry, "totals");
	if (!json_is_null(cli_at(totals, "cycles"))) {
		double seconds = cli_number(cli_at(totals, "cycles")) / cli_number(cli_at(entry, "clock_hz"));
		cr_assert(cli_near(cli_number(cli_at(totals, "seconds")), seconds, 1e-12),
			  "%s: seconds are not cycles over clock", args[1]);
		cr_assert(cli_number(cli_at(totals, "host_link_seconds")) > 0, "%s", args[1]);
	}
	npl_tensor_free(&y);
	json_decref(root);
}

#define PROGRAM(device, expected, bytes, ...)                                                                          \
	check_program(folder,                                                                                          \
		      (const char *const[]){"layer", __VA_ARGS__, "--devices", device, "--json", "-", "--output",      \
					    "@/y.npy", NULL},                                                          \
		      device, expected, bytes)

Test(cli_layer, the_program_writes_the_naive_product)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	struct operands o = draw_operands(1, false, npl_shape_of(2, 512, 512), npl_shape_of(2, 512, 512));
	int32_t *y = naive_gemm(&o);
	PROGRAM("tpu_v1", y, 512 * 512 * 4, "gemm", "-m", "512", "-n", "512", "-k", "512");
	free(y);
	free_operands(&o);
	o = draw_operands(99, true, npl_shape_of(2, 37, 300), npl_shape_of(2, 41, 300));
	y = naive_gemm(&o);
	PROGRAM("tpu_v1", y, 37 * 41 * 4, "gemm", "-m", "37", "-n", "41", "-k", "300", "--seed", "99", "--unsigned");
	free(y);
	free_operands(&o);
	o = draw_operands(1, false, npl_shape_of(4, 1, 6, 13, 9), npl_shape_of(4, 8, 3, 3, 2));
	struct npl_attrs attrs = {.conv.groups = 2};
	attrs.conv.window = (struct npl_window){.rank = 2,
						.kernel = {3, 2},
						.stride = {2, 1},
						.dilation = {1, 2},
						.pad_begin = {1, 0},
						.pad_end = {1, 0}};
	int64_t count;
	y = naive_conv(&o, &attrs, &count);
	PROGRAM("tpu_v1", y, (size_t)count * 4, "conv", "--input", "1x6x13x9", "--kernel", "3x2", "--filters", "8",
		"--stride", "2x1", "--dilation", "1x2", "--pad", "1x0", "--groups", "2");
	free(y);
	free_operands(&o);
	o = draw_operands(5, false, npl_shape_of(4, 2, 3, 8, 8), (struct npl_shape){0});
	const struct npl_window window = {.rank = 2, .kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}};
	for (int average = 0; average < 2; average++) {
		int8_t *pooled = naive_pool(&o.x, &window, average, &count);
		PROGRAM("tpu_v1", pooled, (size_t)count, "pool", "--input", "2x3x8x8", "--kernel", "2", "--seed", "5",
			"--type", average ? "average" : "max");
		free(pooled);
	}
	free_operands(&o);
	PROGRAM("diannao", NULL, 0, "gemm", "-m", "20", "-n", "30", "-k", "40");
	PROGRAM("cpu", NULL, 0, "conv", "--input", "1x3x8x8", "--kernel", "3", "--filters", "4", "--pad", "1");
	PROGRAM("reference", NULL, 0, "gemm", "-m", "20", "-n", "30", "-k", "40", "--precision", "float32");
	cli_remove_folder(folder);
}

#define CONV5 "--input", "1x256x256x256", "--kernel", "11", "--filters", "384"

/* Every output position with filters of its own, as in two layers of the DianNao paper, by an option. 1.4 TB of them
 * cannot be drawn. */
Test(cli_layer, filters_may_be_private_to_a_position)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	PROGRAM("reference", NULL, 0, "conv", "--private", "--input", "1x4x9x9", "--kernel", "3", "--filters", "4");
	json_t *shared = cli_json(&plainly, "layer", "conv", "--input", "1x4x9x9", "--kernel", "3", "--filters", "4",
				  "--devices", "reference", "--json", "-");
	json_t *root = cli_json(&plainly, "layer", "conv", "--private", "--input", "1x4x9x9", "--kernel", "3",
				"--filters", "4", "--devices", "reference", "--json", "-");
	cr_assert_str_eq(cli_text(cli_at(root, "model.name")), "conv 1x4x9x9, 4 private filters 3x3");
	cr_assert_eq(cli_integer(cli_at(root, "model.parameters")), 7 * 7 * 4 * 4 * 9);
	cr_assert_eq(cli_integer(cli_at(root, "model.macs")), cli_integer(cli_at(shared, "model.macs")));
	cr_assert(!json_equal(cli_at(root, "devices.0.output_sha256"), cli_at(shared, "devices.0.output_sha256")));
	json_decref(root);
	json_decref(shared);
	const struct cli_refusal cases[] = {
		{5, "w: out of memory: about 14", {"layer", "conv", "--private", CONV5, "--devices", "diannao"}},
		{2,
		 "the weights are 96769536x256x11x11, expected 1 to 1099511627776 elements",
		 {"layer", "conv", "--private", "--input", "1x256x512x512", "--kernel", "11", "--filters", "384",
		  "--devices", "diannao", "--timing-only"}},
		{2,
		 "--input expects NxCxHxW, each from 1 on, got '0x4x1073741824x1073741824'",
		 {"layer", "conv", "--private", "--input", "0x4x1073741824x1073741824", "--kernel", "1", "--filters",
		  "16777216", "--devices", "diannao", "--timing-only"}},
		{2, "--stride expects a number or HxW, from 1 on, got '0'", {"layer", "conv", CONV5, "--stride", "0"}},
		{2, "--input NxCxHxW is missing", {"layer", "conv", "--kernel", "3", "--filters", "4"}},
		{2,
		 "--set cpu.threads=2 beside --threads 1, expected one of them",
		 {"layer", "gemm", "-m", "2", "-n", "2", "-k", "2", "--devices", "cpu", "--threads", "1", "--set",
		  "cpu.threads=2"}},
		{2,
		 "does not fit the input 1x4x2x9",
		 {"layer", "conv", "--private", "--input", "1x4x2x9", "--kernel", "3", "--filters", "4"}},
		{4,
		 "it has no Conv with kernels of its own for every output position",
		 {"layer", "conv", "--private", "--input", "1x4x9x9", "--kernel", "3", "--filters", "4", "--devices",
		  "tpu_v1"}},
	};
	CLI_CHECK(folder, cases);
	struct cli_result help = cli_run(&plainly, "layer", "conv", "--private", "--help");
	cr_assert(cli_says(help.out, "private kernels, other filters for every position, on devices that have them"),
		  "%s", help.out);
	cli_free(&help);
	cli_remove_folder(folder);
}

/* Float devices are held against the operator's reference; other seeds draw other operands; timing only changes no
 * cycle. */
Test(cli_layer, float_devices_are_held_against_the_reference)
{
	json_t *root = cli_json(&plainly, "layer", "gemm", "-m", "64", "-n", "48", "-k", "96", "--devices",
				"tpu_v1,diannao,cpu,reference", "--json", "-");
	json_t *repeated = cli_json(&plainly, "layer", "gemm", "-m", "64", "-n", "48", "-k", "96", "--devices",
				    "tpu_v1,diannao,cpu,reference", "--json", "-");
	json_t *other = cli_json(&plainly, "layer", "gemm", "-m", "64", "-n", "48", "-k", "96", "--devices",
				 "tpu_v1,diannao,cpu,reference", "--json", "-", "--seed", "2");
	json_t *timed = cli_json(&plainly, "layer", "gemm", "-m", "64", "-n", "48", "-k", "96", "--devices",
				 "tpu_v1,diannao", "--json", "-", "--timing-only");
	size_t d;
	json_t *device;
	cli_check_result(timed);
	json_array_foreach (cli_at(root, "devices"), d, device) {
		const char *name = cli_text(cli_at(device, "name"));
		cr_assert(json_equal(cli_at(device, "output_sha256"),
				     cli_at(cli_device(repeated, name), "output_sha256")),
			  "%s", name);
		cr_assert(
			!json_equal(cli_at(device, "output_sha256"), cli_at(cli_device(other, name), "output_sha256")),
			"%s", name);
		cr_assert_eq(cli_integer(cli_at(device, "layers.0.macs")), 64 * 48 * 96, "%s", name);
		cr_assert(cli_number(cli_at(device, "totals.seconds")) > 0, "%s", name);
		if (d < 2) {
			json_t *same = cli_device(timed, name);
			cr_assert(json_equal(cli_at(device, "totals.cycles"), cli_at(same, "totals.cycles")), "%s",
				  name);
			cli_check_timed_counters(cli_at(device, "layers.0.counters"), cli_at(same, "layers.0.counters"),
						 name);
			cr_assert(json_is_null(cli_at(same, "accuracy.saturations")), "%s: saturations without values",
				  name);
			cr_assert(json_is_null(cli_at(same, "output_sha256")), "%s", name);
		} else {
			cr_assert(cli_number(cli_at(device, "accuracy.max_abs_error")) < 1e-4, "%s", name);
		}
	}
	cr_assert_eq(cli_number(cli_at(cli_device(root, "reference"), "accuracy.max_abs_error")), 0);
	json_decref(root);
	json_decref(repeated);
	json_decref(other);
	json_decref(timed);
}

/* What no device's number format has is refused, what only some have is told of the others. */
Test(cli_layer, number_formats_that_no_device_has_are_refused)
{
	static const char *const option[] = {"--unsigned", "--requantise"};
	static const char *const scope[] = {"is for an input of int8; ", "is for the results of int8 and int8x16; "};
	for (int i = 0; i < 2; i++) {
#define GEMM(...)                                                                                                      \
	cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "4", "-n", "4", "-k", "4", option[i], __VA_ARGS__)
		struct cli_result r = GEMM("--devices", "reference");
		cr_assert(r.status == 2 && strstr(r.err, option[i]) && strstr(r.err, scope[i]) &&
				  strstr(r.err, "reference computes in float32"),
			  "%d %s", r.status, r.err);
		cli_free(&r);
		r = GEMM("--devices", "tpu_v1,reference,diannao");
		cr_assert(!r.status && strstr(r.err, "warning: ") && strstr(r.err, "reference computes in float32") &&
				  strstr(r.err, "diannao computes in Q6.10") && !strstr(r.err, "tpu_v1"),
			  "%s", r.err);
		cli_free(&r);
		r = GEMM("--devices", "tpu_v1,reference", "--quiet", "--json", "-");
		cr_assert(!r.status && !*r.err, "%s", r.err);
		cli_free(&r);
		r = GEMM("--devices", "tpu_v1", "--set", "tpu_v1.precision=8x16");
		cr_assert_eq(r.status, i ? 0 : 2, "%s", r.err);
		cli_free(&r);
	}
}

/* The usage line and all messages name the kinds of layers that there are. */
Test(cli_layer, usage_names_the_kinds)
{
	const struct cli_refusal cases[] = {
		{2, "none of gemm, conv, pool", {"layer", "softmax"}},
		{2, "which? expected gemm, conv or pool after it", {"trace", "record", "layer", "--device", "tpu_v1"}},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
	struct cli_result help = cli_run(&plainly, "layer", "--help");
	cr_assert(!help.status && strstr(help.out, "layer gemm|conv|pool OPTIONS"), "%d %s", help.status, help.out);
	cli_free(&help);
}
