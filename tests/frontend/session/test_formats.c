/* SPDX-License-Identifier: MIT
 *
 * What a session promises of number formats:
 *
 * A one-dimensional convolution has the values and cycles of the two-dimensional one over images of height 1.
 * The row of a layer on a machine has the type, scale and zero point of its output.
 * The row before a fused Relu at the network's end has the conversion and the transfer of the output.
 * An infinity in an input becomes the greatest value of the format.
 * A weight that is NaN or infinite leaves its layer to the host, and a value that is NaN is refused. Both are named.
 * Q6.10 has one scale for all tensors, or one for each. */
#include "frontend/quantise/quantise.h"
#include "npulab/compare.h"
#include "tests/kit/session_net.h"

/* A one-dimensional convolution. */
struct conv1 {
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

/* A network of the convolution over lines, or over images of height 1. The same seed gives both the same values. */
static struct net make_conv1(const struct conv1 *c, uint64_t seed, bool images)
{
	struct onnx_writer g = {0}, a = {0};
	uint64_t rng = seed;
	if (images) {
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

/* Runs the convolution over lines and over images of height 1. Both give the same bytes, cycles and counters, close to
 * those of the float reference. */
static void check_conv1(const struct conv1 *c, struct net *line, struct net *image, const char *name, double least_db,
			const char *subject)
{
	struct npl_device *device = open_device(name);
	struct outcome a = run_net(line, &device, 1, NULL, false), b = run_net(image, &device, 1, NULL, false);
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
		  "%s: not what the convolution over images of height 1 gives", subject);
	cr_assert(row->result.cycles == other->result.cycles &&
			  !memcmp(row->result.counter, other->result.counter, sizeof row->result.counter),
		  "%s: %d cycles, over images %d", subject, (int)row->result.cycles, (int)other->result.cycles);
	if (c->relu)
		cr_assert_eq(a.run.layer[1].role, b.run.layer[1].role);
	check_totals(&a.run, subject);
	free_outcome(line, &a);
	free_outcome(image, &b);
	npl_device_close(device);
}

static void describe_conv1(const struct conv1 *c, const char *device, int i, char *text, size_t n)
{
	snprintf(text, n,
		 "%s, convolution %d: %dx%dx%d, %d filters of %d, groups %d, stride %d, dilation %d, pads %d %d",
		 device, i, (int)c->samples, (int)c->channels, (int)c->length, (int)c->filters, (int)c->kernel,
		 (int)c->groups, (int)c->stride, (int)c->dilation, (int)c->pad[0], (int)c->pad[1]);
}

Test(session_formats, one_dimensional_convolutions_run_as_over_images_of_height_1)
{
	static const struct {
		const char *name;
		double least_db;
	} devices[] = {{"tpu_v1", 25}, {"diannao", 40}, {"cpu", 100}, {"reference", 1000}};
	uint64_t rng = 20141213;
	for (int i = 0; i < 40; i++) {
		struct conv1 c = draw_conv1(&rng);
		uint64_t seed = test_rng(&rng) | 1;
		struct net line = make_conv1(&c, seed, false), image = make_conv1(&c, seed, true);
		for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
			char subject[200];
			describe_conv1(&c, devices[d].name, i, subject, sizeof subject);
			check_conv1(&c, &line, &image, devices[d].name, devices[d].least_db, subject);
		}
		free_net(&line);
		free_net(&image);
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

/* x (2,3,9,9) -> Conv -> Relu -> y, or x (4,24) -> Gemm -> Relu -> y. */
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

/* The row of the Relu is empty. The row before it has the conversion and the transfer of the input and of the
 * output. */
static void check_final_relu(struct net *net, const char *name, bool simulated, bool timing_only)
{
	struct npl_device *device = open_device(name);
	struct outcome o = run_net(net, &device, 1, NULL, timing_only);
	const struct npl_layer_run *row = &o.run.layer[0], *relu = &o.run.layer[1];
	cr_assert(row->role == NPL_RAN && relu->role == NPL_FUSED, "%s", name);
	cr_assert(npl_row_seconds(relu) == 0 && relu->transfers == 0 && relu->link_bytes == 0 &&
			  relu->result.n_energy == 0,
		  "%s: the Relu has %g s and %d transfers", name, npl_row_seconds(relu), relu->transfers);
	if (simulated) {
		uint64_t width = npl_dtype_size(row->output_dtype);
		uint64_t values = (uint64_t)(npl_tensor_count(&net->in[0]) + npl_tensor_count(&net->reference[0]));
		cr_assert(row->transfers == 2 && row->link_bytes == width * values, "%s: %d transfers", name,
			  row->transfers);
	}
	cr_assert(row->host_seconds == o.run.host_seconds && row->link_seconds == o.run.link_seconds &&
		  simulated == (row->host_seconds > 0));
	check_totals(&o.run, name);
	free_outcome(net, &o);
	npl_device_close(device);
}

Test(session_formats, the_row_before_a_final_fused_relu_has_the_outputs_transfer)
{
	static const struct {
		const char *name;
		bool simulated;
	} devices[] = {{"tpu_v1", true}, {"diannao", true}, {"cpu", false}, {"reference", false}};
	for (int d = 0; d < 4; d++)
		for (int i = 0; i < 4; i++) {
			uint64_t rng = (uint64_t)(4 * d + i) + 1;
			struct net net = make_product(&rng, i & 1);
			check_final_relu(&net, devices[d].name, devices[d].simulated, false);
			if (devices[d].simulated)
				check_final_relu(&net, devices[d].name, true, true);
			free_net(&net);
		}
}

/* uint8 covers the range of the values and 0. In 16 bits a step is a power of two, and the range has from 8192 to 16384
 * of these steps, which is half of what the format holds. */
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

/* The row of a layer that ran on the machine has the format of its output. The row of a layer on the host has
 * float32, as has a layer of which the host did a part. Returns how many layers ran on the machine alone. */
static int check_formats(const struct net *net, const struct npl_run *run, const char *label)
{
	/* The value with the range of each layer's output. A pool has its input's, and a product that of its Relu. */
	static const char *const ranges[SEQUENCE] = {[C1] = "b", [P1] = "c", [FC] = "f"};
	int on_machine = 0;
	for (int i = 0; i < SEQUENCE; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		char subject[80];
		snprintf(subject, sizeof subject, "%s, layer %d", label, i);
		if (row->role != NPL_RAN)
			continue;
		if (!strcmp(row->ran_on, "host") || row->host_part) {
			cr_assert(row->output_dtype == NPL_F32 && row->output_quant.scale == 0, "%s", subject);
			continue;
		}
		cr_assert(ranges[i], "%s: not expected there", subject);
		check_quant(row, net->range[find_value(net->graph, ranges[i])], subject);
		on_machine++;
	}
	return on_machine;
}

Test(session_formats, rows_have_the_format_of_their_output)
{
	static const char *const names[] = {"tpu_v1", "diannao"};
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (int d = 0; d < 2; d++) {
			uint64_t rng = seed;
			struct net net = make_layer_group(&rng);
			struct npl_device *device = open_device(names[d]);
			struct outcome o = run_net(&net, &device, 1, NULL, false);
			char label[40];
			snprintf(label, sizeof label, "%s, seed %d", names[d], (int)seed);
			int on_machine = check_formats(&net, &o.run, label);
			cr_assert_eq(on_machine, 3, "%s: %d layers on the machine", label, on_machine);
			free_outcome(&net, &o);
			npl_device_close(device);
			free_net(&net);
		}
}

/* Runs with two infinities in the input and with the ends of the format in their places: the outputs are the same. */
static void check_infinities(struct net *net, uint64_t *rng, const char *name)
{
	struct npl_device *device = open_device(name);
	enum npl_format format = npl_device_get_info(device)->format;
	struct npl_quant quant = npl_quant_of_range(format, net->range[find_value(net->graph, "x")]);
	int least = format == NPL_FORMAT_INT8 ? 0 : -32768, greatest = format == NPL_FORMAT_INT8 ? 255 : 32767;
	float *x = net->in[0].data;
	int64_t high = test_range(rng, 0, 40), low = high + test_range(rng, 1, 50);
	x[high] = (float)(greatest - quant.zero_point) * quant.scale;
	x[low] = (float)(least - quant.zero_point) * quant.scale;
	struct outcome ends = run_net(net, &device, 1, NULL, false);
	x[high] = INFINITY;
	x[low] = -INFINITY;
	struct outcome infinite = run_net(net, &device, 1, NULL, false);
	check_same_outputs(net, ends.out, infinite.out, name);
	for (int64_t k = 0; k < npl_tensor_count(&infinite.out[0]); k++)
		cr_assert(isfinite(((float *)infinite.out[0].data)[k]));
	free_outcome(net, &ends);
	free_outcome(net, &infinite);
	npl_device_close(device);
}

Test(session_formats, an_infinity_becomes_the_greatest_value)
{
	static const char *const names[] = {"tpu_v1", "diannao"};
	for (int i = 0; i < 20; i++) {
		uint64_t rng = (uint64_t)i + 1;
		struct net net = make_product(&rng, i & 1);
		check_infinities(&net, &rng, names[i / 2 % 2]);
		free_net(&net);
	}
}

/* x (2,6) -> op -> y, where op has weights and, if it is no MatMul, a bias. One element of the named constant is
 * bad. */
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

/* One element of the constant is bad. A machine leaves the layer to the host, and the note says which constant and why.
 * Every other device runs it. */
static void check_bad_constant(struct net *net, const char *name, const char *format, const char *constant,
			       const char *bad)
{
	struct npl_device *device = open_device(name);
	const bool refuses = format != NULL;
	struct outcome o = run_net(net, &device, 1, NULL, false);
	const struct npl_layer_run *row = row_of(net, &o, "bad");
	cr_assert_str_eq(row->ran_on, refuses ? "host" : name);
	if (refuses) {
		cr_assert(strstr(row->note, constant) && strstr(row->note, format) && strstr(row->note, bad) &&
				  strstr(row->note, strcmp(constant, "the_bias") ? "weight" : "bias"),
			  "%s", row->note);
		check_same_outputs(net, net->reference, o.out, row->note);
	}
	struct outcome timed = run_net(net, &device, 1, NULL, refuses);
	cr_assert_str_eq(row_of(net, &timed, "bad")->ran_on, row->ran_on);
	free_outcome(net, &timed);
	free_outcome(net, &o);
	npl_device_close(device);
}

Test(session_formats, a_layer_with_a_weight_that_is_not_finite_stays_on_the_host)
{
	static const struct {
		const char *op, *constant;
	} layers[] = {{"Gemm", "the_weight"},
		      {"Gemm", "the_bias"},
		      {"Conv", "the_weight"},
		      {"Conv", "the_bias"},
		      {"MatMul", "the_weight"}};
	static const struct {
		float value;
		const char *said;
	} bad[] = {{NAN, "a NaN"}, {INFINITY, "an infinity"}, {-INFINITY, "an infinity"}};
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
		for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
			const char *constant = layers[i].constant, *said = bad[k].said;
			struct net net = make_bad(layers[i].op, constant, bad[k].value);
			check_bad_constant(&net, "tpu_v1", "int8", constant, said);
			check_bad_constant(&net, "diannao", "Q6.10", constant, said);
			check_bad_constant(&net, "reference", NULL, constant, said);
			check_bad_constant(&net, "cpu", NULL, constant, said);
			free_net(&net);
		}
}

/* x -> Softmax -> odds, and MatMul with x or odds -> y. The Softmax makes a NaN of an infinity. */
static struct net make_nan(bool in_input)
{
	struct onnx_writer g = {0};
	uint64_t rng = 9;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){2, 6});
	put_weights(&g, &rng, "w", 2, (int64_t[]){6, 4});
	onnx_put_node(&g, "Softmax", "sm", "x", "odds", NULL);
	onnx_put_node(&g, "MatMul", "fc", in_input ? "x w" : "odds w", "y", NULL);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, &rng);
	((float *)net.in[0].data)[7] = in_input ? NAN : INFINITY;
	return net;
}

/* A machine refuses the run and names the value; the reference gives the NaN as the result. */
static void check_nan(struct net *net, const char *name, bool refuses, const char *said)
{
	struct npl_device *device = open_device(name);
	struct npl_session_options options = {.n_devices = 1, .device = &device, .ranges = net->range};
	struct npl_session *session;
	struct npl_tensor out[1] = {{0}};
	struct npl_run run;
	struct npl_err err;
	cr_assert_eq(npl_session_open(net->graph, &options, &session, &err), 0, "%s", err.msg);
	int rc = npl_session_run(session, net->in, out, &run, &err);
	cr_assert_eq(rc, refuses ? NPL_EINPUT : 0, "%s: %d", name, rc);
	if (refuses) {
		cr_assert(strstr(err.msg, said), "%s", err.msg);
		cr_assert(!out[0].data && !run.layer, "a run that failed left something");
	} else {
		cr_assert(isnan(((float *)out[0].data)[4]) && isfinite(((float *)out[0].data)[3]));
		npl_tensor_free(&out[0]);
		npl_run_free(&run);
	}
	npl_session_close(session);
	npl_device_close(device);
}

Test(session_formats, a_nan_among_a_machines_inputs_is_refused_by_name)
{
	for (int in_input = 0; in_input < 2; in_input++) {
		const char *said = in_input ? "'x' holds a NaN" : "'odds' holds a NaN";
		struct net net = make_nan(in_input);
		check_nan(&net, "tpu_v1", true, said);
		check_nan(&net, "diannao", true, said);
		check_nan(&net, "reference", false, said);
		free_net(&net);
	}
}

/* A row of outputs with a NaN has no greatest element. So top-1 agreement is not known where either row has a NaN,
 * and top-1 accuracy where the actual row has one. Bit 0 of i puts a NaN into an expected row, and bit 1 into an
 * actual one. Neither takes the place of a greatest element. */
Test(session_formats, a_nan_has_no_top1)
{
	for (int i = 0; i < 4; i++) {
		float expected[] = {1, 2, 3, 9, 5, 4}, actual[] = {1, 2, 3, 5, 9, 4};
		int64_t classes[] = {2, 0};
		struct npl_tensor ref = {.dtype = NPL_F32, .shape = npl_shape_of(2, 2, 3), .data = expected}, out = ref,
				  labels = {.dtype = NPL_I64, .shape = npl_shape_of(1, 2), .data = classes};
		struct npl_accuracy accuracy;
		out.data = actual;
		expected[0] = i & 1 ? NAN : 1;
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

/* How many of the values are outside -limit - 1 to limit, in units of the scale. */
static uint64_t count_outside(const float *values, int64_t n, double scale, double limit)
{
	uint64_t outside = 0;
	for (int64_t i = 0; i < n; i++)
		outside += rint((double)values[i] / scale) > limit || rint((double)values[i] / scale) < -limit - 1;
	return outside;
}

/* With a scale for each tensor no value is outside. With the scale 2^-10 for all, the inputs, weights and biases
 * that are outside are counted in each batch, and so are the results. */
Test(session_formats, q16_counts_values_outside_where_all_have_one_scale)
{
	enum { K = 20, N = 12, ROWS = 8 };
	static const int64_t wide[] = {K, N}, tall[] = {N, 5};
	uint64_t rng = 0x9116;
	struct onnx_writer g = {0};
	float *w = random_floats(&rng, (int64_t)K * N), *b = random_floats(&rng, N);
	for (int i = 0; i < K * N; i++)
		w[i] *= 40; /* some are above 32 */
	for (int i = 0; i < N; i++)
		b[i] *= 4000; /* some are above 2^31 x 2^-20 */
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
	options.plan.q16_plain = true;
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
