/* SPDX-License-Identifier: MIT
 *
 * The eager way: operators are called one by one, and the work is done when a value is read. Each call puts its result
 * where its argument was, so that nobody holds what lies between the layers and they are fused.
 *
 *     gcc eager.c -o eager $(pkg-config --cflags --libs npulab) */
#include "digits.h"

#include <npulab/eager.h>

/* Conv or Gemm with the weights of a layer, in place. */
static void weighted(struct npl_eager *ctx, struct digits *digits, const char *op, const char *layer,
		     struct npl_attr_list attrs, struct npl_eager_value **x)
{
	struct npl_tensor weights = digits_weights(digits, layer, 1), bias = digits_weights(digits, layer, 2);
	struct npl_eager_value *w = NULL, *c = NULL;
	struct npl_err err;
	check(npl_eager_constant(ctx, &weights, NPL_BORROW, &w, &err), &err);
	check(npl_eager_constant(ctx, &bias, NPL_BORROW, &c, &err), &err);
	check(npl_eager_op(ctx, op, NPL_ARGS(*x, w, c), attrs, x, &err), &err);
	npl_eager_release(w); /* the pending work keeps them as long as it needs them */
	npl_eager_release(c);
}

static void convolution(struct npl_eager *ctx, struct digits *digits, const char *layer, struct npl_eager_value **x)
{
	struct npl_err err;
	weighted(ctx, digits, "Conv", layer, NPL_ATTRS(NPL_INTS("pads", 1, 1, 1, 1)), x);
	check(npl_eager_op(ctx, "Relu", NPL_ARGS(*x), NPL_NO_ATTRS, x, &err), &err);
}

static void pool(struct npl_eager *ctx, struct npl_eager_value **x)
{
	struct npl_err err;
	check(npl_eager_op(ctx, "MaxPool", NPL_ARGS(*x),
			   NPL_ATTRS(NPL_INTS("kernel_shape", 2, 2), NPL_INTS("strides", 2, 2)), x, &err),
	      &err);
}

static void read_digits(const char *device, struct digits *digits)
{
	struct npl_eager *ctx;
	struct npl_eager_value *x = NULL; /* always NULL or a handle */
	struct npl_tensor logits;
	struct npl_eager_totals totals;
	struct npl_err err;
	check(npl_eager_open(device, NULL, &ctx, &err), &err);
	check(npl_eager_input(ctx, "image", &digits->images, NPL_BORROW, &x, &err), &err);
	convolution(ctx, digits, "conv1", &x);
	convolution(ctx, digits, "conv2", &x);
	pool(ctx, &x);
	convolution(ctx, digits, "conv3", &x);
	pool(ctx, &x);
	check(npl_eager_op(ctx, "Flatten", NPL_ARGS(x), NPL_NO_ATTRS, &x, &err), &err);
	weighted(ctx, digits, "Gemm", "fc1", NPL_ATTRS(NPL_INT("transB", 1)), &x);
	check(npl_eager_op(ctx, "Relu", NPL_ARGS(x), NPL_NO_ATTRS, &x, &err), &err);
	weighted(ctx, digits, "Gemm", "fc2", NPL_ATTRS(NPL_INT("transB", 1)), &x);

	check(npl_eager_read(ctx, x, &logits, &err), &err); /* all is done here, by the context's thread */
	npl_eager_totals(ctx, &totals);
	digits_report(digits, npl_eager_device(ctx), &logits, &totals.cost);
	npl_tensor_free(&logits);
	npl_eager_close(ctx); /* and with it every handle */
}

int main(void)
{
	struct digits digits = {0};
	digits_load(&digits);
	read_digits("reference", &digits);
	read_digits("tpu_v1", &digits);
	digits_free(&digits);
	return 0;
}
