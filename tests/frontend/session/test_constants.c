/* SPDX-License-Identifier: MIT
 *
 * Promises about constants after a DequantizeLinear: on every device of 8-bit integers they keep the model's integers,
 * scale and zero point to the bit, also turned or in another shape, as an operand of Add, Sub, Mul, Concat and MatMul;
 * where the device's rule has no such scales the layer is left to floats. Scales here are small integers times powers
 * of two, so that every order of the arithmetic is exact and ties are the same in integers and in floats. */
#include "tests/kit/session_net.h"

enum { ROWS = 3, COLUMNS = 6, JOINED = 2 * COLUMNS };

/* Integers that stand for scale * (q - zero): one scale and zero point, or a scale for each column. */
struct quantised {
	bool is_signed, per_column;
	float scale[COLUMNS];
	int32_t zero, q[COLUMNS * COLUMNS];
};

struct model {
	const char *op, *turn; /* turn: what the constant goes through, or NULL */
	struct quantised x, c, y;
	struct onnx_writer g;
};

static const char *const operators[] = {"Add", "Sub", "Mul", "Concat", "MatMul"};
static const char *const turns[] = {NULL, "Reshape", "Transpose", "Squeeze"};

static int32_t least(const struct quantised *t)
{
	return t->is_signed ? -128 : 0;
}

static int32_t saturated(const struct quantised *t, double q)
{
	return (int32_t)fmin(fmax(q, least(t)), least(t) + 255);
}

static float random_scale(uint64_t *rng, int least_exponent, int most_exponent)
{
	return ldexpf((float)test_range(rng, 1, 7), (int)test_range(rng, least_exponent, most_exponent));
}

static void draw(uint64_t *rng, struct quantised *t, int least_exponent, int most_exponent)
{
	t->is_signed = test_rng(rng) % 2;
	t->zero = least(t) + (int32_t)test_range(rng, 0, 255);
	for (int i = 0; i < COLUMNS; i++)
		t->scale[i] = i && !t->per_column ? t->scale[0] : random_scale(rng, least_exponent, most_exponent);
	for (int i = 0; i < COLUMNS * COLUMNS; i++)
		t->q[i] = least(t) + (int32_t)test_range(rng, 0, 255);
}

static void put_bytes(struct model *m, const char *name, bool is_signed, int rank, const int64_t *dims,
		      const int32_t *q)
{
	int8_t byte[COLUMNS * COLUMNS];
	const int64_t n = onnx_count(rank, dims);
	for (int64_t i = 0; i < n; i++)
		byte[i] = (int8_t)q[i];
	struct onnx_writer t = onnx_tensor_of(name, is_signed ? ONNX_INT8 : ONNX_UINT8, rank, dims, byte,
					      (size_t)n * sizeof *byte);
	onnx_put_message(&m->g, 5, &t);
}

/* The parameters NAME_s and NAME_z. */
static void put_parameters(struct model *m, const char *name, const struct quantised *t)
{
	int32_t zeros[COLUMNS];
	char text[32];
	const int64_t parts[] = {COLUMNS};
	for (int i = 0; i < COLUMNS; i++)
		zeros[i] = t->zero;
	snprintf(text, sizeof text, "%s_s", name);
	onnx_put_floats(&m->g, text, t->per_column, parts, t->scale);
	snprintf(text, sizeof text, "%s_z", name);
	put_bytes(m, text, t->is_signed, t->per_column, parts, zeros);
}

/* The constant of ROWS (a matrix: COLUMNS) by COLUMNS as "cd"; stored turned or flat and brought back by a node. */
static void put_constant(struct model *m, int64_t rows)
{
	struct onnx_writer axis = {0};
	const bool turned = m->turn && !strcmp(m->turn, "Transpose"), flat = m->turn && !turned;
	int32_t stored[COLUMNS * COLUMNS];
	for (int64_t i = 0; i < rows * COLUMNS; i++)
		stored[turned ? i % COLUMNS * rows + i / COLUMNS : i] = m->c.q[i];
	const int64_t plain_dims[] = {rows, COLUMNS}, turned_dims[] = {COLUMNS, rows}, flat_dims[] = {1, rows, COLUMNS};
	put_bytes(m, "c", m->c.is_signed, flat ? 3 : 2, turned ? turned_dims : flat ? flat_dims : plain_dims, stored);
	put_parameters(m, "c", &m->c);
	onnx_put_attr_int(&axis, "axis", turned ? 0 : flat ? 2 : 1);
	onnx_put_node(&m->g, "DequantizeLinear", "constant", "c c_s c_z", m->turn ? "ct" : "cd", &axis);
	onnx_put_int64s(&m->g, "shape", 2, plain_dims);
	onnx_put_int64s(&m->g, "zeroth", 1, (int64_t[]){0});
	if (turned)
		onnx_put_node(&m->g, "Transpose", "turn", "ct", "cd", NULL);
	else if (flat && !strcmp(m->turn, "Reshape"))
		onnx_put_node(&m->g, "Reshape", "turn", "ct shape", "cd", NULL);
	else if (flat)
		onnx_put_node(&m->g, "Squeeze", "turn", "ct zeroth", "cd", NULL);
}

static struct net make_model(uint64_t seed, struct model *m)
{
	uint64_t rng = seed;
	struct onnx_writer axis = {0};
	*m = (struct model){.op = operators[seed % 5], .turn = turns[seed / 5 % 4]};
	const bool matmul = !strcmp(m->op, "MatMul"), concat = !strcmp(m->op, "Concat"), mul = !strcmp(m->op, "Mul");
	m->c.per_column = seed / 20 % 3 == 0;
	draw(&rng, &m->x, -9, -7);
	draw(&rng, &m->c, -8, -5);
	draw(&rng, &m->y, -6, -4);
	m->y.scale[0] = ldexpf(1, (int)test_range(&rng, -7, mul || matmul ? -3 : -4));
	onnx_put_input(&m->g, "x", ONNX_FLOAT, 2, (int64_t[]){ROWS, COLUMNS});
	put_parameters(m, "x", &m->x);
	put_parameters(m, "y", &m->y);
	onnx_put_node(&m->g, "QuantizeLinear", "to_integers", "x x_s x_z", "xq", NULL);
	onnx_put_node(&m->g, "DequantizeLinear", "from_integers", "xq x_s x_z", "xd", NULL);
	put_constant(m, matmul ? COLUMNS : ROWS);
	onnx_put_attr_int(&axis, "axis", 1);
	onnx_put_node(&m->g, m->op, "op", seed % 2 && !matmul ? "cd xd" : "xd cd", "z", concat ? &axis : NULL);
	onnx_put_node(&m->g, "QuantizeLinear", "result", "z y_s y_z", "y", NULL);
	onnx_put_output(&m->g, "y");
	if (!concat)
		onnx_writer_free(&axis);
	return make_net(&m->g, &rng);
}

static double real_of(const struct quantised *t, int i)
{
	return (double)t->scale[i % COLUMNS] * (t->q[i] - t->zero);
}

static double result_at(const struct model *m, bool constant_first, int row, int column)
{
	const int at = row * COLUMNS + column % COLUMNS;
	if (!strcmp(m->op, "Concat"))
		return (column < COLUMNS) == constant_first ? real_of(&m->c, at) : real_of(&m->x, at);
	double sum = 0, x = real_of(&m->x, at), c = real_of(&m->c, at);
	for (int k = 0; k < COLUMNS; k++)
		sum += real_of(&m->x, row * COLUMNS + k) * real_of(&m->c, k * COLUMNS + column % COLUMNS);
	switch (*m->op) {
	case 'A':
		return x + c;
	case 'S':
		return constant_first ? c - x : x - c;
	default:
		return m->op[1] == 'u' ? x * c : sum;
	}
}

/* The model's result by real numbers, with x as the model quantises it. */
static void check(const struct net *net, struct model *m, uint64_t seed, const struct npl_tensor *out,
		  const char *subject)
{
	const bool concat = !strcmp(m->op, "Concat"), first = seed % 2 && strcmp(m->op, "MatMul") != 0;
	const int columns = concat ? JOINED : COLUMNS;
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		const float x = ((const float *)net->in[0].data)[i];
		m->x.q[i] = saturated(&m->x, rint((double)(x / m->x.scale[0])) + m->x.zero);
	}
	for (int i = 0; i < ROWS * columns; i++) {
		const double z = result_at(m, first, i / columns, i % columns) / (double)m->y.scale[0];
		const int32_t expected = saturated(&m->y, rint(z) + m->y.zero),
			      actual = m->y.is_signed ? ((const int8_t *)out->data)[i]
						      : ((const uint8_t *)out->data)[i];
		cr_assert_eq(actual, expected, "%s, seed %d, %s%s%s%s, result %d: %d, expected %d", subject, (int)seed,
			     m->op, m->turn ? " behind " : "", m->turn ? m->turn : "",
			     m->c.per_column ? ", a scale per column" : "", i, actual, expected);
	}
}

Test(session_constants, keep_the_models_integers)
{
	static const struct {
		const char *name, *set;
	} machines[] = {{"reference", NULL},
			{"reference", "precision=int8"},
			{"cpu", "precision=int8"},
			{"tpu_v1", NULL},
			{"systolic_16x16", NULL}};
	for (size_t k = 0; k < sizeof machines / sizeof *machines; k++) {
		struct npl_device *device = open_device_set(machines[k].name, machines[k].set ? 1 : 0,
							    &machines[k].set);
		int on_device = 0;
		char subject[80];
		snprintf(subject, sizeof subject, "%s %s", machines[k].name, machines[k].set ? machines[k].set : "");
		for (uint64_t seed = 1; seed <= 240; seed++) {
			struct model m;
			struct net net = make_model(seed, &m);
			struct outcome o = run_net(&net, &device, 1, NULL, false);
			check(&net, &m, seed, &o.out[0], subject);
			on_device += strcmp(row_of(&net, &o, "op")->ran_on, "host") != 0;
			free_outcome(&net, &o);
			free_net(&net);
		}
		cr_assert_gt(on_device, 60, "%s: %d", subject, on_device);
		npl_device_close(device);
	}
}
