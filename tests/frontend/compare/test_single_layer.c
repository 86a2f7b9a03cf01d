/* SPDX-License-Identifier: MIT
 *
 * What `npulab layer` says of a layer that does not fit on the machine (single_layer.h): operand and result cross the
 * link once each, before and after the layer or within its cycles; the link's energy within the cycles is in the
 * layer's, and not known where the link's is not. And of Conv with private kernels: values by its definition, refused
 * by every device that does not say it has them, and timed without a weight in memory, however many there are. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "core/base/refuse.h"
#include "frontend/compare/draw.h"
#include "npulab/single_layer.h"
#include "tests/kit/support.h"

#define TPU "tpu_v1."

static struct npl_comparison run_gemm(int64_t m, int64_t n, int64_t k, bool timing_only, const char *const *set)
{
	static const char *const devices[] = {"tpu_v1"};
	const struct npl_layer_spec spec = {
		.op = NPL_OP_GEMM,
		.x = npl_shape_of(2, m, k),
		.outputs = n,
		.attrs = {.opset = 13, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}},
		.seed = 1,
	};
	struct npl_compare_options options = {
		.device_names = devices, .n_devices = 1, .plan.timing_only = timing_only, .set = set};
	struct npl_comparison c;
	struct npl_err err;
	while (set && set[options.n_sets])
		options.n_sets++;
	int rc = npl_single_layer(&spec, &options, &c, NULL, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return c;
}

static uint64_t counter_of(const struct npl_layer_run *row, const char *name)
{
	for (size_t i = 0; i < row->n_counters; i++)
		if (!strcmp(row->counter_def[i].name, name))
			return row->result.counter[i];
	cr_assert_fail("no counter %s", name);
	return 0;
}

/* The component's joules in the row; -1: it has none. */
static double joules_of(const struct npl_layer_run *row, const char *component)
{
	for (int i = 0; i < row->result.n_energy; i++)
		if (!strcmp(row->result.energy[i].component, component))
			return row->result.energy[i].joules;
	return -1;
}

static int refuse_all(void *check_data, const struct npl_comparison *c, struct npl_err *err)
{
	int *n_described = check_data;
	cr_assert_eq(c->n_devices, 2);
	for (int d = 0; d < c->n_devices; d++) {
		*n_described += c->device[d].name && c->device[d].info.kind == NPL_KIND_SIMULATED;
		cr_assert_null(c->device[d].run.layer, "%s ran before the check", c->device[d].name);
	}
	return npl_fail(err, NPL_EUSAGE, "not these devices");
}

/* A caller's check sees the devices before any of them has run, and its refusal is that of the call. */
Test(single_layer, a_check_comes_before_any_run)
{
	static const char *const devices[] = {"tpu_v1", "diannao"};
	int n_described = 0;
	const struct npl_layer_spec spec = {.op = NPL_OP_GEMM,
					    .x = npl_shape_of(2, 4, 4),
					    .outputs = 4,
					    .attrs = {.opset = 13, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}},
					    .check_devices = refuse_all,
					    .check_data = &n_described};
	const struct npl_compare_options options = {.device_names = devices, .n_devices = 2};
	struct npl_comparison c;
	struct npl_err err;
	cr_assert_eq(npl_single_layer(&spec, &options, &c, NULL, &err), NPL_EUSAGE);
	cr_assert_str_eq(err.msg, "not these devices");
	cr_assert_eq(n_described, 2);
}

/* Gemms of more and more rows: at first all is in the unified buffer, then the larger result comes and goes, in the end
 * both. */
Test(single_layer, what_crosses_the_link_crosses_it_once)
{
	static const char *const sets[] = {TPU "host_link.latency_seconds=1e-6", TPU "host_link.pj_per_byte=70",
					   TPU "host_link.energy_origin=modelled:test", NULL};
	enum { N = 64, K = 100 };
	int seen[3] = {0};
	for (int64_t m = 1; m < 2000000; m = m * 3 + 1) {
		struct npl_comparison c = run_gemm(m, N, K, true, sets);
		const struct npl_device_report *report = &c.device[0];
		const struct npl_layer_run *row = report->run.layer;
		const struct npl_link *link = &report->info.link;
		uint64_t x = (uint64_t)(m * K), y = (uint64_t)(m * N) * 4;
		uint64_t in = counter_of(row, "host_bytes_in"), out = counter_of(row, "host_bytes_out");
		int n_within_cycles = (in > 0) + (out > 0);
		cr_assert(in == 0 || in == x, "%d rows: %d bytes in", (int)m, (int)in);
		cr_assert(out == 0 || out == y, "%d rows: %d bytes out", (int)m, (int)out);
		cr_assert_eq(row->link_bytes, x + y - in - out, "%d rows: %d bytes as transfers", (int)m,
			     (int)row->link_bytes);
		cr_assert_eq(row->transfers, 2 - n_within_cycles);
		cr_assert_float_eq(row->link_seconds,
				   row->transfers * 1e-6 + (double)row->link_bytes / link->bytes_per_second, 1e-12);
		cr_assert(report->run.link_bytes == row->link_bytes && report->run.link_seconds == row->link_seconds);
		if (n_within_cycles)
			cr_assert_float_eq(joules_of(row, "host link"), (double)(in + out) * 70e-12, 1e-15);
		else
			cr_assert_eq(joules_of(row, "host link"), -1);
		cr_assert(report->run.peak_buffer_bytes > 0 && report->run.peak_buffer_bytes <= 25165824);
		seen[n_within_cycles]++;
		npl_comparison_free(&c);
	}
	cr_assert(seen[0] > 5 && seen[1] > 0 && seen[2] > 0, "%d, %d, %d", seen[0], seen[1], seen[2]);
}

/* A machine with less memory makes the same result. */
Test(single_layer, values_do_not_depend_on_what_fits)
{
	uint64_t rng = 5;
	for (int i = 0; i < 20; i++) {
		int64_t m = test_range(&rng, 200, 600), n = test_range(&rng, 1, 300), k = test_range(&rng, 1, 300);
		struct npl_comparison roomy = run_gemm(m, n, k, false, NULL);
		struct npl_comparison cramped = run_gemm(
			m, n, k, false, (const char *const[]){TPU "unified_buffer.bytes=100000", NULL});
		cr_assert_eq(cramped.device[0].run.link_bytes +
				     counter_of(cramped.device[0].run.layer, "host_bytes_in") +
				     counter_of(cramped.device[0].run.layer, "host_bytes_out"),
			     roomy.device[0].run.link_bytes);
		cr_assert_lt(cramped.device[0].run.link_bytes, roomy.device[0].run.link_bytes);
		cr_assert_str_eq(cramped.device[0].output_sha256, roomy.device[0].output_sha256, "%d x %d x %d", (int)m,
				 (int)n, (int)k);
		cr_assert(*roomy.device[0].output_sha256);
		npl_comparison_free(&roomy);
		npl_comparison_free(&cramped);
	}
}

/* The TPU v1's link has no energy of its own: 0 J, known. One whose energy is not known leaves the layer's unknown, but
 * only where something crosses it. */
Test(single_layer, energy_of_the_link)
{
	static const char *const unknown[] = {TPU "host_link.energy_origin=absent", NULL};
	for (int i = 0; i < 4; i++) {
		bool crosses = i & 1;
		struct npl_comparison c = run_gemm(crosses ? 300000 : 300, 64, 100, true, i < 2 ? NULL : unknown);
		const struct npl_layer_run *row = c.device[0].run.layer;
		double link = joules_of(row, "host link"), whole = npl_result_joules(&row->result);
		cr_assert_eq(counter_of(row, "host_bytes_out") > 0, crosses);
		if (!crosses)
			cr_assert_eq(link, -1);
		else
			cr_assert(i < 2 ? link == 0 : isnan(link), "%g J", link);
		cr_assert_eq(isnan(whole) != 0, crosses && i >= 2, "%g J", whole);
		npl_comparison_free(&c);
	}
}

static struct npl_layer_spec private_spec(int64_t channels, int64_t height, int64_t width, int64_t kernel,
					  int64_t filters, int64_t groups)
{
	return (struct npl_layer_spec){
		.op = NPL_OP_CONV,
		.x = npl_shape_of(4, 1, channels, height, width),
		.outputs = filters,
		.attrs = {.opset = 13,
			  .conv = {.groups = groups,
				   .private_kernels = true,
				   .window = {.rank = 2,
					      .kernel = {kernel, kernel},
					      .stride = {1, 1},
					      .dilation = {1, 1}}}},
		.seed = 3,
	};
}

/* Kernels by output position, row by row, then by filter: drawn after the input, each used once. */
Test(single_layer, private_kernels_by_definition)
{
	enum { C = 4, H = 7, W = 6, K = 3, F = 6, G = 2, OH = H - K + 1, OW = W - K + 1, DEPTH = C / G * K * K };
	static const char *const devices[] = {"reference"};
	const struct npl_layer_spec spec = private_spec(C, H, W, K, F, G);
	const struct npl_compare_options options = {.device_names = devices, .n_devices = 1};
	struct npl_random random = {.state = spec.seed};
	float x[C * H * W] = {0}, w[OH * OW * F * DEPTH] = {0};
	struct npl_tensor xs = {.dtype = NPL_F32, .shape = npl_shape_of(1, C * H * W), .data = x},
			  ws = {.dtype = NPL_F32, .shape = npl_shape_of(1, OH * OW * F * DEPTH), .data = w}, y = {0};
	struct npl_comparison c;
	struct npl_err err;
	npl_draw(&xs, &random);
	npl_draw(&ws, &random);
	cr_assert_eq(npl_single_layer(&spec, &options, &c, &y, &err), 0, "%s", err.msg);
	cr_assert_eq(c.graph->macs, (uint64_t)F * OH * OW * DEPTH);
	cr_assert_eq(c.graph->parameters, (uint64_t)F * OH * OW * DEPTH);
	for (int m = 0; m < F; m++)
		for (int p = 0; p < OH * OW; p++) {
			float sum = 0;
			for (int k = 0; k < DEPTH; k++) {
				int channel = m / (F / G) * (C / G) + k / (K * K);
				int at = (channel * H + p / OW + k / K % K) * W + p % OW + k % K;
				sum += w[(p * F + m) * DEPTH + k] * x[at];
			}
			cr_assert_eq(((float *)y.data)[m * OH * OW + p], sum, "filter %d at %d", m, p);
		}
	npl_tensor_free(&y);
	npl_comparison_free(&c);
}

Test(single_layer, private_kernels_only_where_they_are_known)
{
	static const char *const devices[] = {"tpu_v1", "systolic_16x16", "cpu"};
	static const char *const sets[] = {"cpu.precision=int8", "reference.precision=int8",
					   "reference.precision=8x16"};
	const struct npl_layer_spec spec = private_spec(4, 7, 6, 3, 6, 1);
	for (int i = 0; i < 6; i++) {
		const char *device = i < 3 ? devices[i] : i == 3 ? "cpu" : "reference";
		const struct npl_compare_options options = {
			.device_names = &device, .n_devices = 1, .set = i < 3 ? NULL : &sets[i - 3], .n_sets = i >= 3};
		struct npl_comparison c;
		struct npl_err err;
		cr_assert_eq(npl_single_layer(&spec, &options, &c, NULL, &err), NPL_EDEVICE, "%s", device);
		cr_assert(strstr(err.msg, "it has no Conv with kernels of its own for every output position"), "%s",
			  err.msg);
	}
}

/* Is the layer taken when it is asked about without data? */
static bool diannao_takes(struct npl_shape x, struct npl_shape w, struct npl_shape y, int64_t kernel, char *reason,
			  size_t reason_bytes)
{
	const struct npl_attrs attrs = {
		.conv = {.groups = 1,
			 .private_kernels = true,
			 .window = {.rank = 2, .kernel = {kernel, kernel}, .stride = {1, 1}, .dilation = {1, 1}}}};
	struct npl_tensor in = {.dtype = NPL_I16, .shape = x}, weights = {.dtype = NPL_I16, .shape = w},
			  out = {.dtype = NPL_I16, .shape = y};
	const struct npl_layer layer = {.name = "layer",
					.op = NPL_OP_CONV,
					.attrs = &attrs,
					.n_in = 2,
					.in = {&in, &weights},
					.out = &out,
					.timing_only = true};
	struct npl_device *device;
	struct npl_err err;
	cr_assert_eq(npl_device_open("diannao", NULL, &device, &err), 0, "%s", err.msg);
	bool supported = npl_device_supports(device, &layer, reason, reason_bytes);
	npl_device_close(device);
	return supported;
}

/* The largest layer of the DianNao paper has 1.44e12 bytes of weights, and 2^40 elements are the most that a shape can
 * have. */
Test(single_layer, private_kernels_beyond_any_memory)
{
	char reason[200];
	cr_assert(diannao_takes(npl_shape_of(4, 1, 256, 256, 256), npl_shape_of(4, 246 * 246 * 384, 256, 11, 11),
				npl_shape_of(4, 1, 384, 246, 246), 11, reason, sizeof reason),
		  "%s", reason);
	cr_assert(diannao_takes(npl_shape_of(4, 1, 1024, 1024, 1024), npl_shape_of(4, 1 << 30, 1024, 1, 1),
				npl_shape_of(4, 1, 1024, 1024, 1024), 1, reason, sizeof reason),
		  "%s", reason);
	cr_assert(!diannao_takes(npl_shape_of(4, 1, 1024, 1024, 1024), npl_shape_of(4, (1 << 30) + 1, 1024, 1, 1),
				 npl_shape_of(4, 1, 1024, 1024, 1024), 1, reason, sizeof reason));
	cr_assert(strstr(reason, "more than 2^40 elements"), "%s", reason);
	cr_assert(!diannao_takes(npl_shape_of(4, 1, 4, 7, 6), npl_shape_of(4, 5 * 4 * 6 - 1, 4, 3, 3),
				 npl_shape_of(4, 1, 6, 5, 4), 3, reason, sizeof reason));
	cr_assert(strstr(reason, "the weights do not fit"), "%s", reason);
	/* through the whole of it: no weight is drawn when only the time is asked for */
	static const char *const devices[] = {"diannao"};
	const struct npl_layer_spec spec = private_spec(16, 20, 20, 3, 16, 1);
	for (int timing_only = 0; timing_only < 2; timing_only++) {
		const struct npl_compare_options options = {
			.device_names = devices, .n_devices = 1, .plan.timing_only = timing_only};
		struct npl_comparison c;
		struct npl_err err;
		cr_assert_eq(npl_single_layer(&spec, &options, &c, NULL, &err), 0, "%s", err.msg);
		cr_assert_eq(c.device[0].run.layer->result.macs, 18 * 18 * 16 * 16 * 9);
		/* every weight crosses the port once, so it costs at least their bytes */
		cr_assert_geq(counter_of(c.device[0].run.layer, "synapse_bytes"), 18 * 18 * 16 * 16 * 9 * 2);
		cr_assert_eq(*c.device[0].output_sha256 != '\0', !timing_only);
		npl_comparison_free(&c);
	}
}
