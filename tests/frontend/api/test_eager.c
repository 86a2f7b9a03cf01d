/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of eager calls: shapes and errors at the call, work and its errors when it is flushed or read,
 * handles that are counted, and a context that goes on after any error. */
#include "tests/kit/api_net.h"

static struct npl_eager *open_reference(void)
{
	struct npl_eager *ctx;
	struct npl_err err;
	cr_assert_eq(npl_eager_open("reference", NULL, &ctx, &err), 0, "%s", err.msg);
	return ctx;
}

static struct npl_eager_value *floats(struct npl_eager *ctx, bool constant, struct npl_shape shape, const float *data)
{
	struct npl_tensor t = npl_tensor_over(NPL_F32, shape, data);
	struct npl_eager_value *value = NULL;
	struct npl_err err;
	int rc = constant ? npl_eager_constant(ctx, &t, NPL_COPY, &value, &err)
			  : npl_eager_input(ctx, NULL, &t, NPL_COPY, &value, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return value;
}

static struct npl_eager_value *longs(struct npl_eager *ctx, int64_t n, const int64_t *data)
{
	struct npl_tensor t = npl_tensor_over(NPL_I64, npl_shape_of(1, n), data);
	struct npl_eager_value *value = NULL;
	struct npl_err err;
	cr_assert_eq(npl_eager_constant(ctx, &t, NPL_COPY, &value, &err), 0, "%s", err.msg);
	return value;
}

static float first_float(struct npl_eager *ctx, const struct npl_eager_value *value)
{
	struct npl_tensor t;
	struct npl_err err;
	cr_assert_eq(npl_eager_read(ctx, value, &t, &err), 0, "%s", err.msg);
	float x = ((float *)t.data)[0];
	npl_tensor_free(&t);
	return x;
}

/* Shapes are there before anything is computed; a refused call leaves the handle and the context as they were. */
Test(api_eager, errors_come_at_the_call)
{
	const float data[12] = {3};
	struct npl_eager *ctx = open_reference(), *other = open_reference();
	struct npl_eager_value *x = floats(ctx, false, npl_shape_of(2, 3, 4), data), *y = NULL;
	struct npl_eager_value *foreign = floats(other, false, npl_shape_of(2, 3, 4), data);
	struct npl_eager_totals totals;
	struct npl_err err;
	cr_assert_eq(npl_eager_op(ctx, "Transpose", NPL_ARGS(x), NPL_NO_ATTRS, &y, &err), 0);
	cr_assert_eq(npl_eager_shape(y)->dim[0], 4);
	cr_assert_eq(npl_eager_dtype(y), NPL_F32);
	struct npl_eager_value *was = y;
	const struct {
		int code;
		const char *expected, *op;
		struct npl_args args;
		struct npl_attr_list attrs;
	} cases[] = {
		{NPL_EINPUT, "MaxPol", "MaxPol", NPL_ARGS(x), NPL_NO_ATTRS},
		{NPL_EINPUT, "expected", "Add", NPL_ARGS(x), NPL_NO_ATTRS},
		{NPL_EINPUT, "3x4", "MatMul", NPL_ARGS(x, x), NPL_NO_ATTRS},
		{NPL_EINPUT, "'speed'", "Relu", NPL_ARGS(x), NPL_ATTRS(NPL_INT("speed", 3))},
		{NPL_EINPUT, "perm", "Transpose", NPL_ARGS(x), NPL_ATTRS(NPL_STRING("perm", "10"))},
		{NPL_EINPUT, "absent", "Add", NPL_ARGS(NULL, x), NPL_NO_ATTRS},
		{NPL_EINPUT, "inputs", "Relu", NPL_NO_ARGS, NPL_NO_ATTRS},
		{NPL_EUSAGE, "another context", "Add", NPL_ARGS(x, foreign), NPL_NO_ATTRS},
		{NPL_EINPUT, "attributes", "Relu", NPL_ARGS(x), {.attr = NULL, .n = 3}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		err = (struct npl_err){0};
		cr_assert_eq(npl_eager_op(ctx, cases[i].op, cases[i].args, cases[i].attrs, &y, &err), cases[i].code,
			     "case %zu: %s", i, err.msg);
		cr_assert(strstr(err.msg, cases[i].expected), "case %zu: %s", i, err.msg);
		cr_assert_eq(y, was);
	}
	cr_assert_eq(npl_eager_op(ctx, NULL, NPL_ARGS(x), NPL_NO_ATTRS, &y, &err), NPL_EINPUT);
	npl_eager_totals(ctx, &totals);
	cr_assert_eq(totals.networks, 0, "nothing runs before a flush");
	cr_assert_eq(first_float(ctx, y), 3.0f);
	cr_assert_eq(npl_eager_read(ctx, foreign, &(struct npl_tensor){0}, &err), NPL_EUSAGE);
	npl_eager_close(ctx);
	npl_eager_close(other);
}

Test(api_eager, data_that_is_no_tensor_is_refused)
{
	const float data[4] = {0};
	struct npl_eager *ctx = open_reference();
	struct npl_eager_value *x = NULL;
	struct npl_err err;
	struct npl_tensor cases[] = {
		npl_tensor_over(NPL_F32, (struct npl_shape){.rank = 9}, data),
		npl_tensor_over(NPL_F32, npl_shape_of(2, -1, 4), data),
		npl_tensor_over(NPL_F32, npl_shape_of(2, INT64_MAX, 4), data),
		npl_tensor_over((enum npl_dtype)99, npl_shape_of(1, 4), data),
		npl_tensor_over(NPL_F32, npl_shape_of(1, 4), NULL),
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_assert_eq(npl_eager_input(ctx, "x", &cases[i], NPL_COPY, &x, &err), NPL_EINPUT, "case %zu", i);
		cr_assert_eq(npl_eager_constant(ctx, &cases[i], NPL_BORROW, &x, &err), NPL_EINPUT, "case %zu", i);
	}
	struct npl_tensor odd = npl_tensor_over(NPL_F32, npl_shape_of(1, 1), (const char *)data + 1);
	cr_assert_eq(npl_eager_constant(ctx, &odd, NPL_BORROW, &x, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "aligned"), "%s", err.msg);
	cr_assert_eq(npl_eager_constant(ctx, &odd, NPL_COPY, &x, &err), 0);
	struct npl_tensor empty = npl_tensor_over(NPL_F32, npl_shape_of(2, 0, 4), NULL), out;
	cr_assert_eq(npl_eager_input(ctx, "x", &empty, NPL_BORROW, &x, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(x), NPL_NO_ATTRS, &x, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_read(ctx, x, &out, &err), 0, "%s", err.msg);
	cr_assert(npl_shape_equal(&out.shape, &empty.shape));
	npl_tensor_free(&out);
	npl_eager_close(ctx);
}

/* A result of more memory than there is: the shape is fine, the run is not. */
static struct npl_eager_value *too_large(struct npl_eager *ctx, int64_t rows)
{
	const float one = 1;
	struct npl_eager_value *shape = longs(ctx, 2, (const int64_t[]){rows, 1 << 20}), *x = NULL;
	struct npl_eager_value *small = floats(ctx, false, npl_shape_of(1, 1), &one);
	struct npl_err err;
	cr_assert_eq(npl_eager_op(ctx, "ConstantOfShape", NPL_ARGS(shape), NPL_NO_ATTRS, &x, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_op(ctx, "Add", NPL_ARGS(x, small), NPL_NO_ATTRS, &x, &err), 0, "%s", err.msg);
	npl_eager_release(shape);
	npl_eager_release(small);
	return x;
}

Test(api_eager, run_time_errors_come_later)
{
	const float data[2] = {4, 5};
	struct npl_eager *ctx = open_reference();
	struct npl_eager_value *bad = too_large(ctx, 1 << 19), *after = NULL,
			       *good = floats(ctx, false, npl_shape_of(1, 2), data);
	struct npl_tensor out;
	struct npl_err err = {0};
	cr_assert_eq(npl_eager_flush(ctx, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(bad), NPL_NO_ATTRS, &after, &err), 0, "the shape is known");
	cr_assert_eq(npl_eager_wait(ctx, &err), NPL_ENOMEM, "%s", err.msg);
	cr_assert_eq(npl_eager_wait(ctx, &err), 0, "an error is told once");
	cr_assert_eq(npl_eager_read(ctx, bad, &out, &err), NPL_ENOMEM);
	cr_assert_eq(npl_eager_read(ctx, after, &out, &err), NPL_ENOMEM, "what depends on it fails too");
	cr_assert_null(out.data);
	cr_assert_eq(npl_eager_op(ctx, "Sum", NPL_ARGS(good, good), NPL_NO_ATTRS, &good, &err), 0);
	cr_assert_eq(first_float(ctx, good), 8.0f);
	cr_assert_eq(npl_eager_flush(ctx, &err), 0, "%s", err.msg);
	npl_eager_close(ctx);
}

/* The element of an index that there is not: the shapes are fine, the run is not. */
static struct npl_eager_value *too_far(struct npl_eager *ctx)
{
	const float data[3] = {1, 2, 3};
	const int64_t seven = 7;
	const struct npl_tensor t = npl_tensor_over(NPL_I64, npl_shape_of(1, 1), &seven);
	struct npl_eager_value *from = floats(ctx, false, npl_shape_of(1, 3), data), *index = NULL, *x = NULL;
	struct npl_err err;
	cr_assert_eq(npl_eager_input(ctx, NULL, &t, NPL_COPY, &index, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_op(ctx, "Gather", NPL_ARGS(from, index), NPL_NO_ATTRS, &x, &err), 0, "%s", err.msg);
	npl_eager_release(from);
	npl_eager_release(index);
	return x;
}

/* A read returns the error of its own value; that of another network is still to be told, be its message another or the
 * same. */
Test(api_eager, reading_an_error_keeps_that_of_another_network)
{
	for (int is_same = 0; is_same < 2; is_same++) {
		struct npl_eager *ctx = open_reference();
		struct npl_eager_value *first = is_same ? too_far(ctx) : too_large(ctx, 1 << 19), *second;
		struct npl_tensor out;
		struct npl_err err = {0}, kept = {0};
		cr_assert_eq(npl_eager_flush(ctx, &err), 0, "%s", err.msg);
		second = too_far(ctx);
		const int code = npl_eager_read(ctx, second, &out, &err);
		cr_assert_lt(code, 0);
		cr_assert_eq(npl_eager_wait(ctx, &kept), is_same ? code : NPL_ENOMEM, "that of the first network");
		cr_assert_eq(strcmp(kept.msg, err.msg) == 0, is_same, "%s, %s", kept.msg, err.msg);
		cr_assert_eq(npl_eager_wait(ctx, &err), 0, "an error is told once");
		npl_eager_release(first);
		npl_eager_release(second);
		npl_eager_close(ctx);
	}
}

/* What depends on a value that could not be made has that value's error: to read the one tells of the other. */
Test(api_eager, reading_an_inherited_error_tells_of_it)
{
	struct npl_eager *ctx = open_reference();
	struct npl_eager_value *bad = too_large(ctx, 1 << 19), *after = NULL;
	struct npl_tensor out;
	struct npl_err err = {0};
	npl_eager_flush(ctx, &err);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(bad), NPL_NO_ATTRS, &after, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_read(ctx, after, &out, &err), NPL_ENOMEM, "%s", err.msg);
	cr_assert_eq(npl_eager_wait(ctx, &err), 0, "the error was told");
	npl_eager_release(bad);
	npl_eager_release(after);
	npl_eager_close(ctx);
}

/* What is known before the network runs is computed at the call, and a network with nothing else is never run. */
Test(api_eager, constants_need_no_run)
{
	const float data[6] = {1, 2, 3, 4, 5, 6};
	struct npl_eager *ctx = open_reference();
	struct npl_eager_value *c = floats(ctx, true, npl_shape_of(1, 6), data), *shape = NULL, *x = NULL;
	struct npl_eager_value *noise = NULL;
	struct npl_eager_totals totals;
	struct npl_err err;
	cr_assert_eq(npl_eager_op(ctx, "Add", NPL_ARGS(c, c), NPL_NO_ATTRS, &c, &err), 0);
	/* A shape that is computed, and used in a later network as well. */
	struct npl_eager_value *two = longs(ctx, 1, (const int64_t[]){2}), *rest = longs(ctx, 1, (const int64_t[]){-1});
	cr_assert_eq(npl_eager_op(ctx, "Concat", NPL_ARGS(two, rest), NPL_ATTRS(NPL_INT("axis", 0)), &shape, &err), 0);
	cr_assert_eq(npl_eager_op(ctx, "RandomNormal", NPL_NO_ARGS,
				  NPL_ATTRS(NPL_INTS("shape", 3, 5), NPL_FLOAT("seed", 3)), &noise, &err),
		     0, "%s", err.msg);
	cr_assert_eq(first_float(ctx, c), 2.0f);
	npl_eager_totals(ctx, &totals);
	cr_assert_eq(totals.networks, 0);
	x = floats(ctx, false, npl_shape_of(1, 6), data);
	cr_assert_eq(npl_eager_op(ctx, "Reshape", NPL_ARGS(x, shape), NPL_NO_ATTRS, &x, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_shape(x)->dim[1], 3);
	cr_assert_eq(npl_eager_op(ctx, "MatMul", NPL_ARGS(x, noise), NPL_NO_ATTRS, &x, &err), 0, "%s", err.msg);
	struct npl_tensor made, out;
	cr_assert_eq(npl_eager_read(ctx, noise, &made, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_read(ctx, x, &out, &err), 0, "%s", err.msg);
	const float *w = made.data;
	cr_assert_float_eq(((float *)out.data)[0], w[0] + 2 * w[5] + 3 * w[10], 1e-5);
	npl_tensor_free(&made);
	npl_tensor_free(&out);
	npl_eager_close(ctx);
}

/* Several results, optional inputs left out, the same value twice. */
Test(api_eager, every_form_of_call_gives_the_same)
{
	const float data[6] = {1, -2, 3, 4, 50, 6}, limit = 5;
	struct npl_eager *ctx = open_reference();
	struct npl_eager_value *x = floats(ctx, false, npl_shape_of(2, 3, 2), data),
			       *most = floats(ctx, true, npl_shape_of(0, 0), &limit);
	struct npl_eager_value *part[3] = {x, NULL, NULL};
	struct npl_err err;
	cr_assert_eq(npl_eager_ops(ctx, "Split", NPL_ARGS(x), NPL_ATTRS(NPL_INT("axis", 0)), 3, part, &err), 0, "%s",
		     err.msg);
	cr_assert_eq(npl_eager_ops(ctx, "Split", NPL_ARGS(part[2]), NPL_NO_ATTRS, 0, part, &err), NPL_EINPUT);
	cr_assert_eq(npl_eager_ops(ctx, "Split", NPL_ARGS(part[2]), NPL_NO_ATTRS, 33, part, &err), NPL_EINPUT);
	cr_assert_eq(npl_eager_op(ctx, "Clip", NPL_ARGS(part[2], NULL, most), NPL_NO_ATTRS, &part[2], &err), 0, "%s",
		     err.msg);
	cr_assert_eq(first_float(ctx, part[2]), 5.0f);
	cr_assert_eq(npl_eager_op(ctx, "Mul", NPL_ARGS(part[1], part[1]), NPL_NO_ATTRS, &part[1], &err), 0);
	cr_assert_eq(first_float(ctx, part[1]), 9.0f);
	cr_assert_eq(first_float(ctx, part[0]), 1.0f);
	npl_eager_close(ctx);
}

/* Counting: a handle lives as long as it has a holder, work that needs it does not mind. */
Test(api_eager, handles_are_counted)
{
	const float data[2] = {4, 5};
	struct npl_eager *ctx = open_reference();
	struct npl_eager_value *x = floats(ctx, false, npl_shape_of(1, 2), data), *y = NULL, *dead = NULL;
	struct npl_eager_totals totals;
	struct npl_err err;
	npl_eager_hold(x);
	npl_eager_release(x);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(x), NPL_NO_ATTRS, &y, &err), 0);
	npl_eager_hold(y); /* as one who keeps it elsewhere would */
	struct npl_eager_value *kept = y;
	npl_eager_release(x);
	cr_assert_eq(npl_eager_op(ctx, "Add", NPL_ARGS(y, y), NPL_NO_ATTRS, &y, &err), 0);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(y), NPL_NO_ATTRS, &dead, &err), 0);
	npl_eager_release(dead);
	cr_assert_eq(npl_eager_flush(ctx, &err), 0);
	cr_assert_eq(first_float(ctx, y), 8.0f);
	cr_assert_eq(first_float(ctx, kept), 4.0f);
	npl_eager_release(kept);
	npl_eager_release(NULL);
	npl_eager_totals(ctx, &totals);
	cr_assert_eq(totals.networks, 1);
	/* Nobody holds it: nothing to do. */
	dead = NULL;
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(y), NPL_NO_ATTRS, &dead, &err), 0);
	npl_eager_release(dead);
	cr_assert_eq(npl_eager_wait(ctx, &err), 0);
	npl_eager_totals(ctx, &totals);
	cr_assert_eq(totals.networks, 1);
	npl_eager_close(ctx);
}

/* A context may be closed in the middle of everything. */
Test(api_eager, a_context_may_be_closed_with_work_left)
{
	for (uint64_t seed = 1; seed < 20; seed++) {
		uint64_t rng = seed;
		struct api_maker m = {.ctx = open_reference()};
		struct npl_err err;
		if (seed % 3 == 0)
			cr_assert_eq(npl_recording_begin(m.ctx, NULL, &err), 0);
		int y = api_network(&m, &rng);
		for (int i = 0; i < (int)(seed % 4); i++) {
			cr_assert_eq(npl_eager_flush(m.ctx, &err), 0);
			cr_assert_eq(
				npl_eager_op(m.ctx, "Relu", NPL_ARGS(m.handle[y]), NPL_NO_ATTRS, &m.handle[y], &err),
				0);
		}
		npl_tensor_free(&m.input);
		npl_eager_close(m.ctx);
	}
	npl_eager_close(NULL);
}

Test(api_eager, recording_outside_its_rules_is_refused)
{
	const float data[2] = {4, 5};
	struct npl_eager *ctx = open_reference();
	struct npl_eager_value *x = floats(ctx, false, npl_shape_of(1, 2), data), *y = NULL, *z = NULL;
	struct npl_graph *graph;
	struct npl_err err;
	cr_assert_eq(npl_recording_end(ctx, NPL_ARGS(x), &graph, &err), NPL_EUSAGE);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(x), NPL_NO_ATTRS, &y, &err), 0);
	cr_assert_eq(npl_recording_begin(ctx, NULL, &err), 0);
	cr_assert_eq(npl_recording_begin(ctx, NULL, &err), NPL_EUSAGE);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(x), NPL_NO_ATTRS, &z, &err), 0);
	cr_assert_eq(npl_recording_end(ctx, NPL_ARGS(z, y), &graph, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "output 1"), "%s", err.msg);
	cr_assert_null(graph);
	cr_assert_eq(npl_recording_end(ctx, NPL_ARGS(z), &graph, &err), NPL_EUSAGE, "it ended, though it failed");
	cr_assert_eq(npl_recording_begin(ctx, NULL, &err), 0);
	cr_assert_eq(npl_recording_end(ctx, NPL_NO_ARGS, &graph, &err), NPL_EINPUT, "a network has outputs");
	/* A call that is refused is not recorded; a failed result from before cannot be. */
	struct npl_eager_value *bad = too_large(ctx, 1 << 19);
	cr_assert_eq(npl_recording_begin(ctx, NULL, &err), 0);
	z = NULL;
	cr_assert_eq(npl_eager_op(ctx, "Add", NPL_ARGS(x), NPL_NO_ATTRS, &z, &err), NPL_EINPUT);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(bad), NPL_NO_ATTRS, &z, &err), NPL_ENOMEM, "%s", err.msg);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(x), NPL_NO_ATTRS, &z, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_recording_end(ctx, NPL_ARGS(z), &graph, &err), 0, "%s", err.msg);
	cr_assert_eq(graph->n_nodes, 1);
	npl_graph_free(graph);
	npl_eager_close(ctx);
}
