/* SPDX-License-Identifier: MIT
 *
 * Operators called one by one on a device. A call checks its arguments, says at once what shape its result has, and
 * returns a handle; the work is written down, and done later by a thread of the context's own: when npl_eager_flush
 * says so or a value is read. All that is pending then is compiled as one network, so that layers are fused and number
 * formats calibrated as if it had been built (build.h) and run (npl_graph_run): the values are the same, bit for bit.
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
 * Handles are counted. What a call makes has one holder; npl_eager_hold adds one, npl_eager_release takes one away. A
 * call that makes a value takes the address of a handle that is NULL or valid (never uninitialised): when it succeeds,
 * what was there is released and the new handle takes its place; when it fails, the handle is as it was. Closing the
 * context frees all.
 *
 * The outputs of a compiled network are the results that somebody holds when it is flushed: those are computed, carried
 * back and stored. Results that were released before are computed as far as others need them and never stored, so a
 * layer that is only passed through can be fused with the next. To store less and fuse more, hold less.
 *
 * What was stored is float32 (or its integer type) again: a call that uses it later starts from there, as an input of
 * the next network. On a float32 device this changes nothing; on a quantised one it is a cut, as between two graphs.
 *
 * Threads: one thread at a time uses a context and its handles; different contexts are independent. The context opens
 * the device for itself and only its own thread runs it.
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
/* The handles given, in order; at least one. */
#define NPL_ARGS(...)                                                                                                  \
	((struct npl_args){.value = (struct npl_eager_value *const[]){__VA_ARGS__},                                    \
			   .n = (int)(sizeof((struct npl_eager_value *const[]){__VA_ARGS__}) /                         \
				      sizeof(struct npl_eager_value *))})
#define NPL_NO_ARGS ((struct npl_args){.value = NULL, .n = 0})

/* device and options as npl_device_open takes them, with its errors. */
int npl_eager_open(const char *device, const struct npl_device_options *options, struct npl_eager **ctx,
		   struct npl_err *err);
/* Ends the work in hand, drops what is behind it, frees every handle. Accepts NULL. */
void npl_eager_close(struct npl_eager *ctx);
/* To ask for its name and info; only the context runs it. */
const struct npl_device *npl_eager_device(const struct npl_eager *ctx);

/* A value of the network's input: what changes from run to run. name (copied; NULL: none) is what a recorded graph
 * calls it. With NPL_BORROW the elements must outlive the context. */
int npl_eager_input(struct npl_eager *ctx, const char *name, const struct npl_tensor *tensor, enum npl_keep keep,
		    struct npl_eager_value **value, struct npl_err *err);
/* A constant, such as weights. With NPL_BORROW the elements must outlive the context and every graph recorded from
 * it. */
int npl_eager_constant(struct npl_eager *ctx, const struct npl_tensor *tensor, enum npl_keep keep,
		       struct npl_eager_value **value, struct npl_err *err);

/* Calls an operator of ONNX (opset 23) by its name. NPL_EINPUT says what does not fit: no such operator, inputs,
 * shapes, attributes; nothing is recorded then. */
int npl_eager_op(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs,
		 struct npl_eager_value **result, struct npl_err *err);
/* With several results: result[0..n_results-1] are handles, each NULL or valid. */
int npl_eager_ops(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs,
		  int n_results, struct npl_eager_value **result, struct npl_err *err);

void npl_eager_hold(struct npl_eager_value *value);
void npl_eager_release(struct npl_eager_value *value); /* accepts NULL */
enum npl_dtype npl_eager_dtype(const struct npl_eager_value *value);
const struct npl_shape *npl_eager_shape(const struct npl_eager_value *value); /* as long as the handle */

/* Hands what is pending to the context's thread and returns. An error is that of earlier work, told once. */
int npl_eager_flush(struct npl_eager *ctx, struct npl_err *err);
/* Flushes and waits for everything. An error is that of earlier work, told once. */
int npl_eager_wait(struct npl_eager *ctx, struct npl_err *err);
/* A copy of a value, flushed and waited for when it must be; freed by the caller (npl_tensor_free). The error is that
 * of the work that should have made it. */
int npl_eager_read(struct npl_eager *ctx, const struct npl_eager_value *value, struct npl_tensor *tensor,
		   struct npl_err *err);

/* What all work so far took; waits for it without flushing. networks: compiled and run. cost.on_host names the
 * operators that the device left to the host, with the reason (graph_run.h). */
struct npl_eager_totals {
	struct npl_cost cost;
	int64_t networks;
};
void npl_eager_totals(struct npl_eager *ctx, struct npl_eager_totals *totals);

#ifdef __cplusplus
}
#endif

#endif
