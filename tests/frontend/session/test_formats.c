/* SPDX-License-Identifier: MIT
 *
 * What a session promises of number formats: a one-dimensional convolution runs on every machine, as the
 * two-dimensional one it is; an infinity saturates, what is no number is refused by name; each row tells what its
 * output's integers stand for; and a layer whose Relu is the network's last pays for taking the result out. */
#include "frontend/quantise/quantise.h"
#include "npulab/compare.h"
#include "tests/kit/session_net.h"

struct conv1 { /* a one-dimensional convolution */
	int64_t samples, channels, length, filters, kernel, groups, stride, dilation, pad[2];
	bool bias, relu;
};

static struct conv1 draw_conv1(uint64_t *rng)
{
	struct conv1 c = {.samples = test_range(rng, 1, 3), .groups = test_range(rng, 1, 3)};
	c.channels = c.groups * test_range(rng, 2, 6);
	c.filters = c.groups * test_range(rng, 1, 8);
	c.kernel = test_range(rng, 1, 5);
	c.stride = test_range(rng, 1, 3);
	c.dilation = test_range(rng, 1, 3);
	c.pad[0] = test_range(rng, 0, 4);
	c.pad[1] = test_range(rng, 0, 4);
	c.length = (c.kernel - 1) * c.dilation + test_range(rng, 8, 40);
	c.bias = test_range(rng, 0, 1);
	c.relu = test_range(rng, 0, 1);
	return c;
}

static int64_t output_length(const struct conv1 *c)
{
	return (c->length + c->pad[0] + c->pad[1] - (c->kernel - 1) * c->dilation - 1) / c->stride + 1;
}

/* The convolution as it is, or as one over pictures of height 1; the same seed gives the same values. */
static struct net make_conv1(const struct conv1 *c, uint64_t seed, bool flat)
{
	struct onnx_writer g = {0}, a = {0};
	uint64_t rng = seed;
	if (flat) {
		onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){c->samples, c->channels, 1, c->length});
		put_weights(&g, &rng, "w", 4, (int64_t[]){c->filters, c->channels / c->groups, 1, c->kernel});
		onnx_put_attr_ints(&a, "strides", 2, (int64_t[]){1, c->stride});
		onnx_put_attr_ints(&a, "dilations", 2, (int64_t[]){1, c->dilation});
		onnx_put_attr_ints(&a, "pads", 4, (int64_t[]){0, c->pad[0], 0, c->pad[1]});
	} else {
		onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){c->samples, c->channels, c->length});
		put_weights(&g, &rng, "w", 3, (int64_t[]){c->filters, c->channels / c->groups, c->kernel});
		onnx_put_attr_ints(&a, "strides", 1, &c->stride);
		onnx_put_attr_ints(&a, "dilations", 1, &c->dilation);
		onnx_put_attr_ints(&a, "pads", 2, c->pad);
	}
	onnx_put_attr_int(&a, "group", c->groups);
	if (c->bias)
		put_weights(&g, &rng, "b", 1, &c->filters);
	onnx_put_node(&g, "Conv", "conv", c->bias ? "x w b" : "x w", c->relu ? "a" : "y", &a);
	if (c->relu)
		onnx_put_node(&g, "Relu", "relu", "a", "y", NULL);
	onnx_put_output(&g, "y");
	return make_net(&g, &rng);
}

/* Runs the one-dimensional convolution, and compares it with the float reference and with the same convolution over
 * pictures. */
static void check_conv1(const struct conv1 *c, struct net *line, struct net *picture, const char *name, double least_db,
			const char *subject)
{
	struct npl_device *device = open_device(name);
	struct outcome a = run_net(line, &device, 1, NULL, false), b = run_net(picture, &device, 1, NULL, false);
	const struct npl_layer_run *row = &a.run.layer[0], *other = &b.run.layer[0];
	struct npl_accuracy accuracy;
	cr_assert_str_eq(row->ran_on, name, "%s: ran on %s, as %s", subject, row->ran_on, row->note);
	cr_assert_eq(row->result.macs,
		     (uint64_t)(c->samples * c->filters * output_length(c) * (c->channels / c->groups) * c->kernel),
		     "%s: %d MACs", subject, (int)row->result.macs);
	npl_accuracy_of(line->reference, a.out, 1, c->samples, NULL, &accuracy);
	bool exact = accuracy.max_abs_error == 0;
	cr_assert(exact || accuracy.sqnr_db > least_db, "%s: %g dB, error %g", subject, accuracy.sqnr_db,
		  accuracy.max_abs_error);
	struct npl_shape shape = npl_shape_of(3, c->samples, c->filters, output_length(c));
	cr_assert(npl_shape_equal(&a.out[0].shape, &shape), "%s: another shape", subject);
	cr_assert(npl_tensor_bytes(&a.out[0]) == npl_tensor_bytes(&b.out[0]) &&
			  !memcmp(a.out[0].data, b.out[0].data, npl_tensor_bytes(&a.out[0])),
		  "%s: not what the convolution over pictures of height 1 gives", subject);
	cr_assert(row->result.cycles == other->result.cycles &&
			  !memcmp(row->result.counter, other->result.counter, sizeof row->result.counter),
		  "%s: %d cycles, as a picture %d", subject, (int)row->result.cycles, (int)other->result.cycles);
	if (c->relu)
		cr_assert_eq(a.run.layer[1].role, b.run.layer[1].role);
	check_totals(&a.run, subject);
	free_outcome(line, &a);
	free_outcome(picture, &b);
	npl_device_close(device);
}

Test(session_formats, one_dimensional_convolutions)
{
	static const struct {
		const char *name;
		double least_db;
	} devices[] = {{"tpu_v1", 25}, {"diannao", 40}, {"cpu", 100}, {"reference", 1000}};
	uint64_t rng = 20141213;
	for (int i = 0; i < 40; i++) {
		struct conv1 c = draw_conv1(&rng);
		uint64_t seed = test_rng(&rng) | 1;
		struct net line = make_conv1(&c, seed, false), picture = make_conv1(&c, seed, true);
		for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
			char subject[200];
			snprintf(subject, sizeof subject,
				 "%s, convolution %d: %dx%dx%d, %d filters of %d, groups %d, stride "
				 "%d, dilation %d, pads %d %d",
				 devices[d].name, i, (int)c.samples, (int)c.channels, (int)c.length, (int)c.filters,
				 (int)c.kernel, (int)c.groups, (int)c.stride, (int)c.dilation, (int)c.pad[0],
				 (int)c.pad[1]);
			check_conv1(&c, &line, &picture, devices[d].name, devices[d].least_db, subject);
		}
		free_net(&line);
		free_net(&picture);
	}
}

static int find_value(const struct npl_graph *graph, const char *name)
{
	for (int v = 0; v < graph->n_values; v++)
		if (!strcmp(graph->value[v].name, name))
			return v;
	cr_assert_fail("no value %s", name);
	return -1;
}

/* x (4,24) -> Gemm -> Relu -> y, or x (2,3,9,9) -> Conv -> Relu -> y. */
static struct net make_product(uint64_t *rng, bool is_conv)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, is_conv ? 4 : 2, is_conv ? (int64_t[]){2, 3, 9, 9} : (int64_t[]){4, 24});
	put_weights(&g, rng, "w", is_conv ? 4 : 2, is_conv ? (int64_t[]){10, 3, 3, 3} : (int64_t[]){24, 10});
	put_weights(&g, rng, "b", 1, (int64_t[]){10});
	onnx_put_node(&g, is_conv ? "Conv" : "Gemm", "product", "x w b", "a", NULL);
	onnx_put_node(&g, "Relu", "act", "a", "y", NULL);
	onnx_put_output(&g, "y");
	return make_net(&g, rng);
}

/* The row of a fused Relu is empty; what comes after it, if it is the last, is the row's that ran. */
Test(session_formats, final_fused_relu)
{
	static const char *const names[] = {"tpu_v1", "diannao", "cpu", "reference"};
	for (int i = 0; i < 16; i++)
		for (int timing_only = 0; timing_only < 2; timing_only++) {
			uint64_t rng = (uint64_t)i + 1;
			struct net net = make_product(&rng, i & 1);
			bool simulated = i / 4 < 2;
			struct npl_device *device = open_device(names[i / 4]);
			if (timing_only && !simulated) {
				npl_device_close(device);
				free_net(&net);
				continue;
			}
			struct outcome o = run_net(&net, &device, 1, NULL, timing_only);
			const struct npl_layer_run *row = &o.run.layer[0], *relu = &o.run.layer[1];
			cr_assert(row->role == NPL_RAN && relu->role == NPL_FUSED, "%s", names[i / 4]);
			cr_assert(npl_row_seconds(relu) == 0 && relu->transfers == 0 && relu->link_bytes == 0 &&
					  relu->result.n_energy == 0,
				  "%s: the Relu has %g s and %d transfers", names[i / 4], npl_row_seconds(relu),
				  relu->transfers);
			if (simulated) {
				uint64_t width = npl_dtype_size(row->output_dtype);
				uint64_t values = (uint64_t)(npl_tensor_count(&net.in[0]) +
							     npl_tensor_count(&net.reference[0]));
				cr_assert(row->transfers == 2 && row->link_bytes == width * values, "%s: %d transfers",
					  names[i / 4], row->transfers);
			}
			cr_assert(row->host_seconds == o.run.host_seconds && row->link_seconds == o.run.link_seconds &&
				  simulated == (row->host_seconds > 0));
			check_totals(&o.run, names[i / 4]);
			free_outcome(&net, &o);
			npl_device_close(device);
			free_net(&net);
		}
}

/* u8 covers the calibrated range; 16-bit steps are the least power of two that keeps it below 16. */
static void check_quant(const struct npl_layer_run *row, struct npl_range range, const char *subject)
{
	double low = fmin(range.low, 0), high = fmax(range.high, 0), scale = (double)row->output_quant.scale;
	int32_t zero = row->output_quant.zero_point;
	cr_assert(row->output_quant.channel_scale == NULL);
	if (row->output_dtype == NPL_U8) {
		cr_assert(fabs(255 * scale - (high - low)) <= 0.01 * (high - low), "%s: %g for %g", subject,
			  255 * scale, high - low);
		cr_assert(fabs((255 - zero) * scale - high) <= scale && fabs(zero * scale + low) <= scale,
			  "%s: zero at %d", subject, (int)zero);
		return;
	}
	double steps = fmax(high, -low) / scale;
	cr_assert(row->output_dtype == NPL_I16 && zero == 0, "%s: %s", subject, npl_dtype_name(row->output_dtype));
	cr_assert(log2(scale) == rint(log2(scale)) && steps < 16384 && steps >= 8192, "%s: %g steps of %g", subject,
		  steps, scale);
}

/* Rows on a machine tell type, scale and zero point of what they made; rows on the host made floats, and those that it
 * ended. */
Test(session_formats, rows_tell_what_their_integers_stand_for)
{
	static const char *const names[] = {"tpu_v1", "diannao"};
	/* per node: the value whose range holds; a pool keeps its input's, a product's is after its Relu */
	static const char *const ranges[SEQUENCE] = {[C1] = "b", [P1] = "c", [FC] = "f"};
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (int d = 0; d < 2; d++) {
			uint64_t rng = seed;
			struct net net = make_layer_group(&rng);
			struct npl_device *device = open_device(names[d]);
			struct outcome o = run_net(&net, &device, 1, NULL, false);
			int machine = 0;
			for (int i = 0; i < SEQUENCE; i++) {
				const struct npl_layer_run *row = &o.run.layer[i];
				char subject[80];
				snprintf(subject, sizeof subject, "%s, seed %d, layer %d", names[d], (int)seed, i);
				if (row->role != NPL_RAN)
					continue;
				if (strcmp(row->ran_on, "host") && !row->host_part) {
					cr_assert(ranges[i], "%s: not expected there", subject);
					check_quant(row, net.range[find_value(net.graph, ranges[i])], subject);
					machine++;
				} else {
					cr_assert(row->output_dtype == NPL_F32 && row->output_quant.scale == 0, "%s",
						  subject);
				}
			}
			cr_assert_eq(machine, 3, "%s: %d layers on the machine", names[d], machine);
			free_outcome(&net, &o);
			npl_device_close(device);
			free_net(&net);
		}
}

/* An infinity is the greatest value that the format has. */
Test(session_formats, an_infinity_becomes_the_greatest_value)
{
	static const char *const names[] = {"tpu_v1", "diannao"};
	for (int i = 0; i < 20; i++) {
		uint64_t rng = (uint64_t)i + 1;
		struct net net = make_product(&rng, i & 1);
		struct npl_device *device = open_device(names[i / 2 % 2]);
		enum npl_format format = npl_device_get_info(device)->format;
		struct npl_quant quant = npl_quant_of_range(format, net.range[find_value(net.graph, "x")]);
		int minimum = format == NPL_FORMAT_INT8 ? 0 : -32768, maximum = format == NPL_FORMAT_INT8 ? 255 : 32767;
		float *x = net.in[0].data, *at[2];
		at[0] = x + test_range(&rng, 0, 40);
		at[1] = at[0] + test_range(&rng, 1, 50);
		*at[0] = (float)(maximum - quant.zero_point) * quant.scale;
		*at[1] = (float)(minimum - quant.zero_point) * quant.scale;
		struct outcome end = run_net(&net, &device, 1, NULL, false);
		*at[0] = INFINITY;
		*at[1] = -INFINITY;
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		check_same_outputs(&net, end.out, o.out, names[i / 2 % 2]);
		for (int64_t k = 0; k < npl_tensor_count(&o.out[0]); k++)
			cr_assert(isfinite(((float *)o.out[0].data)[k]));
		free_outcome(&net, &end);
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
}

/* x (2,6) -> op with weights of which one is bad -> y; the bias too where the operator has one. */
static struct net make_bad(const char *op, const char *constant, float bad)
{
	struct onnx_writer g = {0};
	uint64_t rng = 77;
	bool is_conv = !strcmp(op, "Conv");
	int64_t dims[4] = {is_conv ? 4 : 6, is_conv ? 6 : 4, 1, 1}, bias = 4;
	float *w = random_floats(&rng, 24), *b = random_floats(&rng, 4);
	*(strcmp(constant, "the_weight") ? b + 2 : w + 17) = bad;
	onnx_put_input(&g, "x", ONNX_FLOAT, is_conv ? 4 : 2, (int64_t[]){2, 6, 1, 1});
	onnx_put_floats(&g, "the_weight", is_conv ? 4 : 2, dims, w);
	onnx_put_floats(&g, "the_bias", 1, &bias, b);
	onnx_put_node(&g, op, "bad", strcmp(op, "MatMul") ? "x the_weight the_bias" : "x the_weight", "y", NULL);
	onnx_put_output(&g, "y");
	free(w);
	free(b);
	return make_net(&g, &rng);
}

/* Weights and biases that are no finite numbers: the machine leaves the layer to its host and says which; the result is
 * the float reference's. */
Test(session_formats, weights_that_are_no_numbers)
{
	static const char *const ops[] = {"Gemm", "Conv", "MatMul"}, *const where[] = {"the_weight", "the_bias"};
	static const char *const names[] = {"tpu_v1", "diannao", "reference", "cpu"};
	static const float bad[] = {NAN, INFINITY, -INFINITY};
	for (int i = 0; i < 3 * 2 * 3; i++) {
		const char *op = ops[i % 3], *which = where[i / 3 % 2];
		if (!strcmp(op, "MatMul") && !strcmp(which, "the_bias"))
			continue;
		struct net net = make_bad(op, which, bad[i / 6]);
		for (int d = 0; d < 4; d++) {
			struct npl_device *device = open_device(names[d]);
			struct outcome o = run_net(&net, &device, 1, NULL, false);
			const struct npl_layer_run *row = row_of(&net, &o, "bad");
			cr_assert_str_eq(row->ran_on, d < 2 ? "host" : names[d]);
			if (d < 2) {
				cr_assert(strstr(row->note, which) && strstr(row->note, d ? "Q6.10" : "int8") &&
						  strstr(row->note, strcmp(which, "the_bias") ? "weight" : "bias") &&
						  strstr(row->note, i < 6 ? "a NaN" : "an infinity"),
					  "%s", row->note);
				check_same_outputs(&net, net.reference, o.out, row->note);
			}
			struct outcome timed = run_net(&net, &device, 1, NULL, d < 2);
			cr_assert_str_eq(row_of(&net, &timed, "bad")->ran_on, row->ran_on);
			free_outcome(&net, &timed);
			free_outcome(&net, &o);
			npl_device_close(device);
		}
		free_net(&net);
	}
}

/* A NaN that the host makes on the way is refused where a machine would have to hold it, by the value's name. */
Test(session_formats, values_that_are_no_numbers)
{
	static const char *const names[] = {"tpu_v1", "diannao", "reference"};
	for (int i = 0; i < 6; i++) {
		struct onnx_writer g = {0};
		uint64_t rng = 9;
		bool in_input = i >= 3;
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){2, 6});
		put_weights(&g, &rng, "w", 2, (int64_t[]){6, 4});
		onnx_put_node(&g, "Softmax", "sm", "x", "odds", NULL); /* of an infinity: infinity over infinity */
		onnx_put_node(&g, "MatMul", "fc", in_input ? "x w" : "odds w", "y", NULL);
		onnx_put_output(&g, "y");
		struct net net = make_net(&g, &rng);
		struct npl_device *device = open_device(names[i % 3]);
		struct npl_session_options options = {.n_devices = 1, .device = &device, .ranges = net.range};
		struct npl_session *session;
		struct npl_tensor out[1] = {{0}};
		struct npl_run run;
		struct npl_err err;
		((float *)net.in[0].data)[7] = in_input ? NAN : INFINITY;
		cr_assert_eq(npl_session_open(net.graph, &options, &session, &err), 0, "%s", err.msg);
		int rc = npl_session_run(session, net.in, out, &run, &err);
		cr_assert_eq(rc, i % 3 < 2 ? NPL_EINPUT : 0, "%s: %d", names[i % 3], rc);
		if (rc) {
			cr_assert(strstr(err.msg, in_input ? "'x' holds a NaN" : "'odds' holds a NaN"), "%s", err.msg);
			cr_assert(!out[0].data && !run.layer, "a run that failed left something");
		} else {
			cr_assert(isnan(((float *)out[0].data)[4]) && isfinite(((float *)out[0].data)[3]));
			npl_tensor_free(&out[0]);
			npl_run_free(&run);
		}
		npl_session_close(session);
		npl_device_close(device);
		free_net(&net);
	}
}

/* A row of outputs that holds a NaN has no greatest: neither agreement nor accuracy is known. */
Test(session_formats, a_nan_has_no_top1)
{
	for (int i = 0; i < 4; i++) {
		float expected[] = {1, 2, 3, 9, 5, 4}, actual[] = {1, 2, 3, 5, 9, 4};
		int64_t classes[] = {2, 0};
		struct npl_tensor ref = {.dtype = NPL_F32, .shape = npl_shape_of(2, 2, 3), .data = expected}, out = ref,
				  labels = {.dtype = NPL_I64, .shape = npl_shape_of(1, 2), .data = classes};
		struct npl_accuracy accuracy;
		out.data = actual;
		expected[0] = i & 1 ? NAN : 1; /* not the greatest, in either place */
		actual[5] = i & 2 ? NAN : 4;
		npl_accuracy_of(&ref, &out, 1, 2, &labels, &accuracy);
		cr_assert(i ? isnan(accuracy.top1_agreement) : accuracy.top1_agreement == 0.5, "case %d: %g", i,
			  accuracy.top1_agreement);
		cr_assert(i & 2 ? isnan(accuracy.top1_accuracy) : accuracy.top1_accuracy == 0.5, "case %d: %g", i,
			  accuracy.top1_accuracy);
		if (i & 2)
			cr_assert_eq(accuracy.max_abs_error, INFINITY);
		else
			cr_assert_eq(isnan(accuracy.max_abs_error) != 0, i & 1);
	}
}

/* How many of the values lie outside -most - 1 to most at this scale. */
static uint64_t count_outside(const float *values, int64_t n, double scale, double limit)
{
	uint64_t outside = 0;
	for (int64_t i = 0; i < n; i++)
		outside += rint((double)values[i] / scale) > limit || rint((double)values[i] / scale) < -limit - 1;
	return outside;
}

/* Q6.10 with and without a power of two of each tensor: with it what was seen fits; without every scale is 2^-10 and
 * inputs, weights and biases that lie outside are counted, in each batch, as are the results. */
Test(session, q16_plain_or_scaled)
{
	enum { K = 20, N = 12, ROWS = 8 };
	static const int64_t wide[] = {K, N}, tall[] = {N, 5};
	uint64_t rng = 0x9116;
	struct onnx_writer g = {0};
	float *w = random_floats(&rng, (int64_t)K * N), *b = random_floats(&rng, N);
	for (int i = 0; i < K * N; i++)
		w[i] *= 40; /* some above 32 */
	for (int i = 0; i < N; i++)
		b[i] *= 4000; /* some above 2^31 2^-20 */
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){ROWS, K});
	onnx_put_floats(&g, "w", 2, wide, w);
	onnx_put_floats(&g, "b", 1, (int64_t[]){N}, b);
	put_weights(&g, &rng, "v", 2, tall);
	onnx_put_node(&g, "Gemm", "first", "x w b", "a", NULL);
	onnx_put_node(&g, "MatMul", "second", "a v", "y", NULL);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, &rng);
	float *x = net.in[0].data;
	struct npl_device *device = open_device("diannao");
	struct npl_err err;
	for (int i = 0; i < ROWS * K; i++)
		x[i] *= 100;
	npl_tensor_free(&net.reference[0]);
	cr_assert_eq(npl_evaluate(net.graph, net.in, net.reference, net.range, &err), 0, "%s", err.msg);
	const uint64_t outside = count_outside(x, (int64_t)ROWS * K, 0x1p-10, INT16_MAX) +
				 count_outside(w, (int64_t)K * N, 0x1p-10, INT16_MAX) +
				 count_outside(b, N, 0x1p-20, INT32_MAX);
	struct npl_session_options options = {.n_devices = 1, .device = &device};
	struct outcome scaled = run_with(&net, options, "scaled");
	options.q16_plain = true;
	struct outcome plain = run_with(&net, options, "plain");
	for (int i = 0; i < 2; i++) {
		cr_assert_str_eq(plain.run.layer[i].ran_on, "diannao");
		cr_assert_eq(plain.run.layer[i].output_quant.scale, 0x1p-10f);
		cr_assert(scaled.run.layer[i].output_quant.scale > 0x1p-10f);
		cr_assert_eq(scaled.run.layer[i].clipped, 0);
	}
	cr_assert_eq(scaled.run.saturations, 0);
	cr_assert_eq(plain.run.layer[0].clipped, outside, "%d, expected %d", (int)plain.run.layer[0].clipped,
		     (int)outside);
	cr_assert(plain.run.layer[0].result.saturations > outside, "results beyond 32 are counted too");
	struct npl_tensor again[MOST] = {0};
	struct npl_run second;
	cr_assert_eq(npl_session_run(plain.session, net.in, again, &second, &err), 0, "%s", err.msg);
	cr_assert_eq(second.saturations, plain.run.saturations);
	struct npl_run sum = {0};
	cr_assert_eq(npl_run_add(&sum, &plain.run, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_run_add(&sum, &second, &err), 0, "%s", err.msg);
	cr_assert_eq(sum.layer[0].clipped, 2 * outside, "a sum of batches counts the values of each");
	npl_run_free(&sum);
	npl_tensor_free(&again[0]);
	npl_run_free(&second);
	free_outcome(&net, &scaled);
	free_outcome(&net, &plain);
	npl_device_close(device);
	free_net(&net);
	free(w);
	free(b);
}
