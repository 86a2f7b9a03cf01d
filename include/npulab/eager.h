/* SPDX-License-Identifier: MIT
 *
 * Operators called one by one on a device. A call checks its arguments, infers the shape of its result at once, and
 * returns a handle. The work itself is recorded; the context's own thread does it when npl_eager_flush is called or a
 * value is read. All pending calls are then compiled as one network, so that layers are fused and number formats
 * calibrated as if the network had been built (build.h) and run (npl_graph_run): the values are the same, bit for bit.
 *
 *     struct npl_eager *ctx;
 *     if (npl_eager_open("tpu_v1", NULL, &ctx, &err)) ...
 *     struct npl_eager_value *w = NULL, *y = NULL;
 *     npl_eager_constant(ctx, &weights, NPL_BORROW, &w, &err);
 *     npl_eager_input(ctx, "x", &image, NPL_COPY, &y, &err);
 *     npl_eager_op(ctx, "Conv", NPL_ARGS(y, w), NPL_NO_ATTRS, &y, &err); // y is now the result,
 *     npl_eager_op(ctx, "Relu", NPL_ARGS(y), NPL_NO_ATTRS, &y, &err);    // and the Conv's is nobody's
 *     npl_eager_read(ctx, y, &out, &err);                                // computes both in one pass
 *     npl_tensor_free(&out);
 *     npl_eager_close(ctx);
 *
 * Handles are counted. A new value has one holder; npl_eager_hold adds one, npl_eager_release takes one away. A call
 * that makes a value takes the address of a handle that is NULL or valid (never uninitialised). When it succeeds, it
 * releases the old handle there and stores the new one; when it fails, it leaves the handle unchanged. Closing the
 * context frees all handles.
 *
 * The outputs of a compiled network are the results that have a holder when it is flushed: those are computed,
 * transferred to the host and stored. A result that was released before is computed only where another needs it, and
 * never stored; its layer can therefore be fused with the next. To store less and fuse more, hold less.
 *
 * A stored result is float32 (or its integer type) again: a later call that uses it takes it as an input of the next
 * network. On a float32 device this changes nothing; on a quantised device the values are converted there, as between
 * two graphs.
 *
 * Threads: one thread at a time uses a context and its handles; different contexts are independent. The context opens
 * the device for itself, and only the context's thread runs it.
 */
#ifndef NPULAB_EAGER_H
#define NPULAB_EAGER_H

#include "npulab/attributes.h"
#include "npulab/graph_run.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_eager;       /* opaque */
struct npl_eager_value; /* a handle; opaque */

struct npl_args {
	struct npl_eager_value *const *value; /* n of them; NULL: an optional input that is left out */
	int n;
};
/* The arguments of an operator, in order; at least one. */
#define NPL_ARGS(...)                                                                                                  \
	((struct npl_args){.value = (struct npl_eager_value *const[]){__VA_ARGS__},                                    \
			   .n = (int)(sizeof((struct npl_eager_value *const[]){__VA_ARGS__}) /                         \
				      sizeof(struct npl_eager_value *))})
#define NPL_NO_ARGS ((struct npl_args){.value = NULL, .n = 0})

/* Opens a context on a device. device and options are those of npl_device_open, with its errors. */
int npl_eager_open(const char *device, const struct npl_device_options *options, struct npl_eager **ctx,
		   struct npl_err *err);
/* Waits for the network that is running, discards all queued and pending work, and frees every handle. Accepts NULL. */
void npl_eager_close(struct npl_eager *ctx);
/* Returns the device, for its name and info; only the context may run it. */
const struct npl_device *npl_eager_device(const struct npl_eager *ctx);

/* Makes an input of the network: a value that changes from run to run. name (copied; NULL: none) is its name in a
 * recorded graph. With NPL_BORROW the elements must outlive the context. */
int npl_eager_input(struct npl_eager *ctx, const char *name, const struct npl_tensor *tensor, enum npl_keep keep,
		    struct npl_eager_value **value, struct npl_err *err);
/* Makes a constant, such as weights. With NPL_BORROW the elements must outlive the context and every graph recorded
 * from it. */
int npl_eager_constant(struct npl_eager *ctx, const struct npl_tensor *tensor, enum npl_keep keep,
		       struct npl_eager_value **value, struct npl_err *err);

/* Calls an operator of ONNX (opset NPL_LAST_OPSET) by its name. NPL_EINPUT says what does not fit: an unknown operator,
 * the inputs, shapes or attributes. A failed call records nothing. */
int npl_eager_op(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs,
		 struct npl_eager_value **result, struct npl_err *err);
/* Calls an operator with several results: result[0..n_results-1] are handles, each NULL or valid. */
int npl_eager_ops(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs,
		  int n_results, struct npl_eager_value **result, struct npl_err *err);

void npl_eager_hold(struct npl_eager_value *value);
void npl_eager_release(struct npl_eager_value *value); /* accepts NULL */
enum npl_dtype npl_eager_dtype(const struct npl_eager_value *value);
const struct npl_shape *npl_eager_shape(const struct npl_eager_value *value); /* lives as long as the handle */

/* Hands the pending calls to the context's thread and returns. An error is one of earlier work; each is reported
 * once. */
int npl_eager_flush(struct npl_eager *ctx, struct npl_err *err);
/* Flushes and waits for all work. An error is one of earlier work; each is reported once. */
int npl_eager_wait(struct npl_eager *ctx, struct npl_err *err);
/* Copies a value into *tensor, flushing and waiting where necessary; the caller frees it (npl_tensor_free). An error is
 * that of the work that should have computed the value. */
int npl_eager_read(struct npl_eager *ctx, const struct npl_eager_value *value, struct npl_tensor *tensor,
		   struct npl_err *err);

/* What all work so far took. npl_eager_totals waits for flushed work and does not flush. `networks` counts those that
 * were compiled and run. cost.on_host names the operators that the device left to the host, with the reason
 * (graph_run.h). */
struct npl_eager_totals {
	struct npl_cost cost;
	int64_t networks;
};
void npl_eager_totals(struct npl_eager *ctx, struct npl_eager_totals *totals);

#ifdef __cplusplus
}
#endif

#endif
