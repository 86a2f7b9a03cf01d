/* SPDX-License-Identifier: MIT
 *
 * Models that quantise some of their values themselves (QuantizeLinear, DequantizeLinear) on a real device in int8 that
 * brings values from one form to the other itself. What the program promises: whatever such a model does with its
 * integers - reads them twice, as bytes or as other numbers than they were made of, hands them in or out, rounds floats
 * that only floats read - every bit and every saturation is the same as when each layer is alone and the session
 * converts between them; what the model leaves in float32 is done in float32 and nothing is calibrated, so that results
 * are those of the model's own rule except ties; and in the usual form, where floats lie between DequantizeLinear and
 * QuantizeLinear, nothing of a run is the modelled host's. */
#include <stdlib.h>

#include "tests/kit/cuda/fake_device.h"
#include "tests/kit/session_net.h"

TestSuite(mixed_quantised, .init = cuda_fake_open);

enum { ROWS = 3, COLUMNS = 8, MAX_VALUES = 160 };

struct value {
	char name[16];
	bool integers, is_signed;
	bool elsewhere; /* in another shape, which nobody else may read */
	char quant[16]; /* of integers: whose scale and zero point they were made with */
};

/* A network being drawn, of values of 3 by 8. */
struct drawing {
	struct onnx_writer g;
	uint64_t rng;
	int n, nodes;
	struct value value[MAX_VALUES];
};

static struct value *add_value(struct drawing *d, bool integers)
{
	struct value *value = &d->value[d->n];
	cr_assert_lt(d->n, MAX_VALUES);
	*value = (struct value){.integers = integers};
	snprintf(value->name, sizeof value->name, "%c%d", integers ? 'i' : 'f', d->n++);
	return value;
}

/* One of the values that may be read, a late one mostly; NULL: there are no integers. */
static struct value *pick(struct drawing *d, bool integers)
{
	for (int tries = 0; tries < 40; tries++) {
		int64_t back = test_range(&d->rng, 0, tries < 4 ? 2 : d->n - 1);
		struct value *value = &d->value[d->n - 1 - (back < d->n ? back : d->n - 1)];
		if (value->integers == integers && !value->elsewhere)
			return value;
	}
	return integers ? NULL : &d->value[0];
}

static void put(struct drawing *d, const char *op, const char *in, const struct value *out, struct onnx_writer *attrs)
{
	char name[24];
	snprintf(name, sizeof name, "n%d", d->nodes++);
	onnx_put_node(&d->g, op, name, in, out->name, attrs);
}

static void put_scalar(struct drawing *d, const char *name, int type, const void *data, size_t bytes)
{
	struct onnx_writer t = onnx_tensor_of(name, type, 0, NULL, data, bytes);
	onnx_put_message(&d->g, 5, &t);
}

/* Scale and zero point NAME_s and NAME_z; so narrow that some values saturate. */
static void put_quant(struct drawing *d, const char *name, bool is_signed)
{
	char text[32];
	const float scale = (float)test_range(&d->rng, 4, 12) / 1000;
	const int8_t zero = (int8_t)(is_signed ? test_range(&d->rng, -20, 20) : test_range(&d->rng, 100, 150));
	snprintf(text, sizeof text, "%s_s", name);
	put_scalar(d, text, ONNX_FLOAT, &scale, sizeof scale);
	snprintf(text, sizeof text, "%s_z", name);
	put_scalar(d, text, is_signed ? ONNX_INT8 : ONNX_UINT8, &zero, 1);
}

/* x through a QuantizeLinear with parameters of its own. */
static void put_quantised(struct drawing *d, const struct value *x)
{
	char in[64];
	struct value *y = add_value(d, true);
	y->is_signed = test_range(&d->rng, 0, 1);
	snprintf(y->quant, sizeof y->quant, "%s", y->name);
	put_quant(d, y->name, y->is_signed);
	snprintf(in, sizeof in, "%s %s_s %s_z", x->name, y->name, y->name);
	put(d, "QuantizeLinear", in, y, NULL);
}

static void draw_quantise(struct drawing *d)
{
	put_quantised(d, pick(d, false));
}

/* Mostly as what they were made of. */
static void draw_dequantise(struct drawing *d)
{
	char in[64], own[16];
	const struct value *x = pick(d, true);
	if (!x)
		return;
	snprintf(own, sizeof own, "%s", x->quant);
	struct value *y = add_value(d, false);
	if (!*own || test_range(&d->rng, 0, 5) == 0) {
		snprintf(own, sizeof own, "%s", y->name);
		put_quant(d, own, x->is_signed);
	}
	snprintf(in, sizeof in, "%s %s_s %s_z", x->name, own, own);
	put(d, "DequantizeLinear", in, y, NULL);
}

/* A square matrix that the model has as integers, now and then as floats. */
static void put_byte_weights(struct drawing *d, const char *name)
{
	int8_t byte[COLUMNS * COLUMNS];
	char in[64], node[24];
	const int64_t dims[] = {COLUMNS, COLUMNS};
	if (test_range(&d->rng, 0, 4) == 0) {
		put_weights(&d->g, &d->rng, name, 2, dims);
		return;
	}
	for (size_t i = 0; i < sizeof byte; i++)
		byte[i] = (int8_t)test_range(&d->rng, -127, 127);
	snprintf(in, sizeof in, "%s_i", name);
	struct onnx_writer t = onnx_tensor_of(in, ONNX_INT8, 2, dims, byte, sizeof byte);
	onnx_put_message(&d->g, 5, &t);
	put_quant(d, name, true);
	snprintf(in, sizeof in, "%s_i %s_s %s_z", name, name, name);
	snprintf(node, sizeof node, "d_%s", name);
	onnx_put_node(&d->g, "DequantizeLinear", node, in, name, NULL);
}

/* Operators on floats; on a device in int8, in integers or not. */
static void draw_floats(struct drawing *d)
{
	static const char *const one[] = {"Relu", "Sigmoid", "Erf", "Softmax", "Elu", "Tanh"}, *const two[] = {
												       "Add", "Mul",
												       "Sub", "Max"};
	char in[64], weights[16];
	const struct value *a = pick(d, false), *b = pick(d, false);
	struct value *y = add_value(d, false);
	switch (test_range(&d->rng, 0, 3)) {
	case 0:
		put(d, one[test_range(&d->rng, 0, 5)], a->name, y, NULL);
		break;
	case 1:
		snprintf(in, sizeof in, "%s %s", a->name, b->name);
		put(d, two[test_range(&d->rng, 0, 3)], in, y, NULL);
		break;
	case 2:
		snprintf(in, sizeof in, "%s shape", a->name);
		put(d, "Reshape", in, y, NULL);
		break;
	default:
		snprintf(weights, sizeof weights, "w%d", d->nodes);
		put_byte_weights(d, weights);
		snprintf(in, sizeof in, "%s %s", a->name, weights);
		put(d, "MatMul", in, y, NULL);
	}
}

/* Operators on the integers themselves, and one that takes them for numbers. */
static void draw_integers(struct drawing *d)
{
	struct onnx_writer attrs = {0};
	char in[64];
	const struct value *x = pick(d, true);
	if (!x)
		return;
	const int kind = (int)test_range(&d->rng, 0, 2);
	struct value *y = add_value(d, kind < 2);
	if (kind < 2) {
		y->is_signed = x->is_signed;
		snprintf(y->quant, sizeof y->quant, "%s", x->quant);
		snprintf(in, sizeof in, "%s%s", x->name, kind ? " shape" : "");
		if (!kind)
			onnx_put_attr_ints(&attrs, "perm", 2, (int64_t[]){0, 1});
		put(d, kind ? "Reshape" : "Transpose", in, y, &attrs);
		return;
	}
	onnx_put_attr_int(&attrs, "to", ONNX_FLOAT);
	put(d, "Cast", x->name, y, &attrs);
}

/* The usual form: a layer between DequantizeLinear and QuantizeLinear. */
static void draw_block(struct drawing *d)
{
	char in[64], weights[16];
	const struct value *x = pick(d, true);
	if (!x || !*x->quant)
		return;
	struct value *real = add_value(d, false);
	snprintf(in, sizeof in, "%s %s_s %s_z", x->name, x->quant, x->quant);
	put(d, "DequantizeLinear", in, real, NULL);
	struct value *made = add_value(d, false);
	if (test_range(&d->rng, 0, 1)) {
		snprintf(weights, sizeof weights, "w%d", d->nodes);
		put_byte_weights(d, weights);
		snprintf(in, sizeof in, "%s %s", real->name, weights);
		put(d, "MatMul", in, made, NULL);
	} else {
		const bool constant = test_range(&d->rng, 0, 3) == 0;
		snprintf(weights, sizeof weights, "c%d", d->nodes);
		if (constant)
			put_weights(&d->g, &d->rng, weights, 1, (int64_t[]){COLUMNS});
		snprintf(in, sizeof in, "%s %s", real->name, constant ? weights : real->name);
		put(d, test_range(&d->rng, 0, 1) ? "Add" : "Mul", in, made, NULL);
	}
	put_quantised(d, made);
}

/* A value quantised again in another shape, read there by an operator that may be the host's, and brought back. */
static void draw_detour(struct drawing *d)
{
	static const char *const ops[] = {"Softmax", "Relu", "Elu", "Transpose"};
	char in[64];
	struct onnx_writer attrs = {0};
	const struct value *x = pick(d, true);
	if (!x || !*x->quant)
		return;
	struct value *real = add_value(d, false), *aside = add_value(d, false), *again = add_value(d, true),
		     *dequantised = add_value(d, false), *made = add_value(d, false), *back = add_value(d, false);
	aside->elsewhere = again->elsewhere = dequantised->elsewhere = made->elsewhere = true;
	snprintf(in, sizeof in, "%s %s_s %s_z", x->name, x->quant, x->quant);
	put(d, "DequantizeLinear", in, real, NULL);
	snprintf(in, sizeof in, "%s aside", real->name);
	put(d, "Reshape", in, aside, NULL);
	const char *quant = x->quant;
	if (test_range(&d->rng, 0, 2) == 0) {
		put_quant(d, again->name, x->is_signed);
		quant = again->name;
	}
	snprintf(in, sizeof in, "%s %s_s %s_z", aside->name, quant, quant);
	put(d, "QuantizeLinear", in, again, NULL);
	snprintf(in, sizeof in, "%s %s_s %s_z", again->name, quant, quant);
	put(d, "DequantizeLinear", in, dequantised, NULL);
	const char *op = ops[test_range(&d->rng, 0, 3)];
	if (!strcmp(op, "Transpose"))
		onnx_put_attr_ints(&attrs, "perm", 3, (int64_t[]){2, 0, 1});
	put(d, op, dequantised->name, made, &attrs);
	snprintf(in, sizeof in, "%s shape", made->name);
	put(d, "Reshape", in, back, NULL);
}

static struct net draw_net(uint64_t seed)
{
	struct drawing d = {.rng = seed};
	struct value *x = add_value(&d, false), *bytes = NULL;
	onnx_put_int64s(&d.g, "shape", 2, (int64_t[]){ROWS, COLUMNS});
	onnx_put_int64s(&d.g, "aside", 3, (int64_t[]){2, ROWS, COLUMNS / 2});
	onnx_put_input(&d.g, x->name, ONNX_FLOAT, 2, (int64_t[]){ROWS, COLUMNS});
	if (seed % 3 == 0) {
		bytes = add_value(&d, true);
		onnx_put_input(&d.g, bytes->name, ONNX_UINT8, 2, (int64_t[]){ROWS, COLUMNS});
	}
	draw_quantise(&d);
	for (int n = (int)test_range(&d.rng, 4, 18); n > 0; n--) {
		const int64_t kind = test_range(&d.rng, 0, 14);
		if (kind < 3)
			draw_quantise(&d);
		else if (kind < 6)
			draw_dequantise(&d);
		else if (kind < 9)
			draw_floats(&d);
		else if (kind < 12)
			draw_block(&d);
		else if (kind < 14)
			draw_detour(&d);
		else
			draw_integers(&d);
	}
	const int last = d.n - 1, inputs = 1 + (bytes != NULL);
	for (int k = last, n_taken = 0; k >= inputs && n_taken < 4; k--)
		if (k == last || test_range(&d.rng, 0, 3) == 0) {
			onnx_put_output(&d.g, d.value[k].name);
			n_taken++;
		}
	return make_net(&d.g, &d.rng);
}

/* What a test has to have met. */
struct counts {
	uint64_t saturations, products, others; /* the latter two: layers in integers */
};

/* place: NULL, or the device of each node. */
static struct counts check_net(struct net *net, struct npl_device **device, int n_devices, const int *place,
			       const char *subject)
{
	struct npl_session_options options = {.n_devices = n_devices, .device = device, .place = place};
	struct outcome together = run_with(net, options, subject);
	options.plan.layer_by_layer = true;
	struct outcome single = run_with(net, options, subject);
	check_same_outputs(net, together.out, single.out, subject);
	for (int i = 0; i < net->graph->n_nodes; i++) {
		const struct npl_layer_run *row = &together.run.layer[i], *expected = &single.run.layer[i];
		if (*row->output_sha256 || strcmp(row->ran_on, "tpu_v1")) /* which keeps some in its accumulators */
			cr_assert_str_eq(row->output_sha256, expected->output_sha256, "%s: %s", subject,
					 net->graph->node[i].name);
	}
	const uint64_t saturations = together.run.saturations, expected = single.run.saturations;
	/* two devices that both convert a value both clip it */
	cr_assert(n_devices > 1 ? saturations >= expected : saturations == expected,
		  "%s: %llu saturations, expected %llu", subject, (unsigned long long)saturations,
		  (unsigned long long)expected);
	check_totals(&together.run, subject);
	cr_assert(n_devices > 1 || error_of(net, together.out) < 0.1, "%s: %g", subject, error_of(net, together.out));
	struct counts counts = {.saturations = saturations};
	for (int i = 0; i < net->graph->n_nodes; i++) {
		const struct npl_layer_run *row = &together.run.layer[i];
		const bool integers = row->role == NPL_RAN && row->output_quant.scale > 0;
		counts.products += integers && net->graph->node[i].op == NPL_OP_MATMUL;
		counts.others += integers && net->graph->node[i].op != NPL_OP_MATMUL;
	}
	free_outcome(net, &together);
	free_outcome(net, &single);
	return counts;
}

static void check_random(const char *name, int n_sets, const char *const *sets, int rounds)
{
	struct counts sum = {0};
	struct npl_device *device = open_device_set(name, n_sets, sets);
	for (int seed = 1; seed <= rounds; seed++) {
		char subject[40];
		struct net net = draw_net((uint64_t)seed);
		snprintf(subject, sizeof subject, "%s, seed %d", name, seed);
		const struct counts counts = check_net(&net, &device, 1, NULL, subject);
		sum.saturations += counts.saturations;
		sum.products += counts.products;
		sum.others += counts.others;
		free_net(&net);
	}
	npl_device_close(device);
	cr_assert(sum.saturations > 100 && sum.products > 8 && sum.others > 8, "%llu, %llu, %llu",
		  (unsigned long long)sum.saturations, (unsigned long long)sum.products,
		  (unsigned long long)sum.others);
}

Test(mixed_quantised, random_models_on_the_cpu)
{
	check_random("cpu", 2, (const char *[]){"precision=int8", "threads=2"}, 400);
}

Test(mixed_quantised, random_models_on_cuda)
{
	check_random("cuda", 1, (const char *[]){"precision=int8"}, 60);
}

/* Some nodes on the host, some on a simulated machine, which leaves conversions to the host. */
Test(mixed_quantised, random_models_on_several_devices)
{
	struct npl_device *device[] = {open_device_set("cpu", 2, (const char *[]){"precision=int8", "threads=1"}),
				       open_device("tpu_v1")};
	for (int seed = 1; seed <= 150; seed++) {
		char subject[40];
		int place[256];
		uint64_t rng = 0x3a120002 + (uint64_t)seed;
		struct net net = draw_net((uint64_t)seed);
		cr_assert_leq(net.graph->n_nodes, 256);
		for (int i = 0; i < net.graph->n_nodes; i++) {
			const int64_t where = test_range(&rng, 0, 9);
			place[i] = where < 7 ? 0 : where < 9 ? 1 : NPL_ON_HOST;
		}
		snprintf(subject, sizeof subject, "seed %d", seed);
		check_net(&net, device, 2, place, subject);
		free_net(&net);
	}
	npl_device_close(device[0]);
	npl_device_close(device[1]);
}

/* Parameters of a quantisation. */
static void put_fixed(struct drawing *d, const char *name, float scale, uint8_t zero)
{
	char text[32];
	snprintf(text, sizeof text, "%s_s", name);
	put_scalar(d, text, ONNX_FLOAT, &scale, sizeof scale);
	snprintf(text, sizeof text, "%s_z", name);
	put_scalar(d, text, ONNX_UINT8, &zero, 1);
}

/* FROM through QuantizeLinear and DequantizeLinear to TO. */
static void put_pair(struct drawing *d, const char *from, const char *to, const char *quant)
{
	char in[64], integers[16], name[24];
	snprintf(in, sizeof in, "%s %s_s %s_z", from, quant, quant);
	snprintf(integers, sizeof integers, "%s_q", to);
	snprintf(name, sizeof name, "quantise_%s", to);
	onnx_put_node(&d->g, "QuantizeLinear", name, in, integers, NULL);
	snprintf(in, sizeof in, "%s %s_s %s_z", integers, quant, quant);
	snprintf(name, sizeof name, "take_%s", to);
	onnx_put_node(&d->g, "DequantizeLinear", name, in, to, NULL);
}

/* As quantisers write a classifier: everything between the two is quantised again, a Flatten too, but Softmax is left
 * in float32. All weights and values are whole multiples of powers of two, so that every device has every bit of the
 * float reference. */
static struct net classifier(uint64_t *rng)
{
	struct drawing d = {.rng = *rng};
	struct onnx_writer pool = {0};
	float weights[8 * 5];
	for (int i = 0; i < 8 * 5; i++)
		weights[i] = (float)test_range(&d.rng, -4, 4);
	weights[0] = 127; /* a scale of 1 in each column */
	for (int c = 1; c < 5; c++)
		weights[c] = -127;
	put_fixed(&d, "fine", 0.0625f, 128);
	put_fixed(&d, "coarse", 4, 128);
	put_fixed(&d, "part", 0.00390625f, 0);
	onnx_put_floats(&d.g, "w", 2, (int64_t[]){8, 5}, weights);
	onnx_put_input(&d.g, "x", ONNX_FLOAT, 4, (int64_t[]){3, 2, 4, 4});
	put_pair(&d, "x", "xd", "fine");
	onnx_put_attr_ints(&pool, "kernel_shape", 2, (int64_t[]){2, 2});
	onnx_put_attr_ints(&pool, "strides", 2, (int64_t[]){2, 2});
	onnx_put_node(&d.g, "MaxPool", "pool", "xd", "p", &pool);
	put_pair(&d, "p", "pd", "fine");
	onnx_put_node(&d.g, "Flatten", "flat", "pd", "f", NULL);
	put_pair(&d, "f", "fd", "fine");
	onnx_put_node(&d.g, "MatMul", "classes", "fd w", "c", NULL);
	put_pair(&d, "c", "cd", "coarse");
	onnx_put_node(&d.g, "Softmax", "odds", "cd", "s", NULL);
	put_pair(&d, "s", "y", "part");
	onnx_put_node(&d.g, "Softmax", "behind", "fd", "z", NULL); /* the host's, on a simulated machine */
	onnx_put_output(&d.g, "cd");
	onnx_put_output(&d.g, "y");
	onnx_put_output(&d.g, "z");
	*rng = d.rng;
	return make_net(&d.g, rng);
}

/* A device that does no more than a model's conversions is used: its time is measured. */
Test(mixed_quantised, a_device_that_only_converts_is_used)
{
	uint64_t rng = 0x3a120004;
	struct net net = classifier(&rng);
	int place[64];
	struct npl_device *device[] = {open_device_set("cpu", 2, (const char *[]){"precision=int8", "threads=1"}),
				       open_device("tpu_v1")};
	cr_assert_leq(net.graph->n_nodes, 64);
	for (int i = 0; i < net.graph->n_nodes; i++)
		place[i] = net.graph->node[i].op != NPL_OP_QUANTIZELINEAR;
	struct outcome o = run_net(&net, device, 2, place, false);
	cr_assert(npl_session_uses(o.session, 0) && npl_session_uses(o.session, 1));
	cr_assert_eq(row_of(&net, &o, "quantise_xd")->result.seconds_origin, NPL_TIME_MEASURED);
	free_outcome(&net, &o);
	for (int i = 0; i < net.graph->n_nodes; i++)
		place[i] = 1;
	o = run_net(&net, device, 2, place, false);
	cr_assert(!npl_session_uses(o.session, 0));
	free_outcome(&net, &o);
	npl_device_close(device[0]);
	npl_device_close(device[1]);
	free_net(&net);
}

static void check_classifier(const char *name, int n_sets, const char *const *sets, bool measured)
{
	uint64_t rng = 0x3a120003;
	for (int round = 0; round < 6; round++) {
		struct net net = classifier(&rng);
		struct npl_device *device = open_device_set(name, n_sets, sets);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		cr_assert_eq(memcmp(o.out[0].data, net.reference[0].data, npl_tensor_bytes(&o.out[0])), 0, "%s", name);
		for (int64_t i = 0; i < npl_tensor_count(&o.out[1]); i++) /* a rounding of the exponential */
			cr_assert_leq(fabsf(((float *)o.out[1].data)[i] - ((float *)net.reference[1].data)[i]),
				      0.00390625f, "%s", name);
		for (int64_t i = 0; i < npl_tensor_count(&o.out[2]); i++)
			cr_assert_float_eq(((float *)o.out[2].data)[i], ((float *)net.reference[2].data)[i], 1e-6,
					   "%s: behind the Flatten", name);
		cr_assert_eq(measured, !(o.run.host_seconds > 0), "%s: %g s are the host's", name, o.run.host_seconds);
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
}

Test(mixed_quantised, a_value_quantised_again_in_another_shape)
{
	check_classifier("reference", 1, (const char *[]){"precision=int8"}, false);
	check_classifier("tpu_v1", 0, NULL, false);
	check_classifier("cpu", 2, (const char *[]){"precision=int8", "threads=1"}, true);
	check_classifier("cuda", 1, (const char *[]){"precision=int8"}, true);
}
