/* SPDX-License-Identifier: MIT
 *
 * Describes layers to oneDNN: convolutions, poolings and LRN (dnn.h). */
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/dtype.h"
#include "core/ops/window.h"
#include "cpu.h"
#include "dnn_impl.h"

/* A window's spatial dimensions in the order of the tensor's. */
struct windows {
	int n;
	int64_t kernel[NPL_VOLUME], stride[NPL_VOLUME], dilation[NPL_VOLUME]; /* dilation: the library counts from 0 */
	int64_t pad_begin[NPL_VOLUME], pad_end[NPL_VOLUME]; /* pad_end: the padding that the last window reaches */
	bool counts_all;                                    /* no window reaches further than the model's padding */
};

/* Returns a window over `in` with one position for each element of `out`. */
static struct windows windows_of(const struct npl_window *window, const struct npl_shape *in,
				 const struct npl_shape *out)
{
	struct windows w = {.n = in->rank - 2, .counts_all = true};
	for (int i = 0; i < w.n; i++) {
		int d = npl_window_index(w.n, i);
		w.kernel[i] = window->kernel[d];
		w.stride[i] = window->stride[d];
		w.dilation[i] = window->dilation[d] - 1;
		w.pad_begin[i] = window->pad_begin[d];
		w.pad_end[i] = (out->dim[2 + i] - 1) * w.stride[i] + npl_window_extent(window, d) - in->dim[2 + i] -
			       w.pad_begin[i];
		w.counts_all = w.counts_all && w.pad_end[i] <= window->pad_end[d];
		if (w.pad_end[i] < 0)
			w.pad_end[i] = 0; /* the windows leave less than a stride of the input */
	}
	return w;
}

static bool is_average(enum npl_op op)
{
	return op == NPL_OP_AVERAGEPOOL || op == NPL_OP_GLOBALAVERAGEPOOL;
}

static bool is_conv(enum npl_op op)
{
	return op == NPL_OP_CONV || op == NPL_OP_CONVTRANSPOSE;
}

/* Says whether the library computes the pooling as the operator does: no window can be padding alone, and the divisor
 * counts no more than the model's padding. */
static bool pool_is_plain(const struct npl_layer *layer)
{
	const struct npl_window *window = &layer->attrs->pool.window;
	struct windows w = windows_of(window, &layer->in[0]->shape, &layer->out->shape);
	for (int i = 0; i < w.n; i++)
		if (w.dilation[i] && (w.pad_begin[i] || w.pad_end[i]))
			return false;
	return !is_average(layer->op) || !window->count_include_pad || w.counts_all;
}

bool cpu_dnn_knows(const struct npl_layer *layer)
{
	const struct npl_tensor *x = layer->n_in > 0 ? layer->in[0] : NULL;
	if (!cpu_is_pool(layer->op) && !is_conv(layer->op) && layer->op != NPL_OP_LRN)
		return false;
	if (!x || x->dtype != layer->out->dtype || layer->n_further || x->shape.rank < 3 ||
	    x->shape.rank > 2 + NPL_VOLUME || npl_tensor_count(x) < 1 || npl_tensor_count(layer->out) < 1)
		return false;
	if (x->dtype != NPL_F32 && (layer->op != NPL_OP_MAXPOOL || !npl_is_byte(x->dtype)))
		return false;
	if (is_conv(layer->op))
		return layer->activation <= NPL_ACT_RELU6 && !layer->attrs->conv.private_kernels &&
		       layer->in[1]->data && layer->in[1]->dtype == NPL_F32 && npl_tensor_count(layer->in[1]) > 0 &&
		       (layer->n_in < 3 || !layer->in[2] || layer->in[2]->data);
	if (layer->activation || cpu_maxpool_knows(layer)) /* the library's float maxima lose NaNs and infinities */
		return false;
	return cpu_is_pool(layer->op) ? pool_is_plain(layer) : x->shape.rank == 4 && layer->attrs->lrn.size % 2 == 1;
}

/* Describes the model's weights to the library: (M,C/g,...), or with a dimension of groups in front. */
static int describe_weights(const struct cpu_dnn *dnn, const struct npl_layer *layer, struct dnn_md *model,
			    struct dnn_md *best, struct npl_err *err)
{
	const struct npl_shape *shape = &layer->in[1]->shape;
	const bool transposed = layer->op == NPL_OP_CONVTRANSPOSE;
	int64_t groups = layer->attrs->conv.groups, dims[DNN_MAX_RANK], strides[DNN_MAX_RANK], step = 1;
	const int n_group_dims = groups > 1, type = cpu_dnn_type(layer->in[1]->dtype);
	int rank = shape->rank + n_group_dims, status;
	int64_t rows = shape->dim[0] / groups, cols = shape->dim[1];
	for (int i = shape->rank - 1; i >= 2; i--) {
		dims[n_group_dims + i] = shape->dim[i];
		strides[n_group_dims + i] = step;
		step *= shape->dim[i];
	}
	dims[0] = groups;
	strides[0] = rows * cols * step;
	dims[n_group_dims] = transposed ? cols : rows;
	dims[n_group_dims + 1] = transposed ? rows : cols;
	strides[n_group_dims] = transposed ? step : cols * step;
	strides[n_group_dims + 1] = transposed ? cols * step : step;
	status = dnn->api.memory_desc_init_by_strides(model, rank, dims, type, strides);
	if (!status)
		status = dnn->api.memory_desc_init_by_tag(best, rank, dims, type, DNN_ANY);
	return status ? cpu_dnn_failed("memory_desc_init_by_strides", status, err) : 0;
}

/* Makes attributes with operations after the operator: Relu, Relu6, or an addition and then one of them. */
static int create_tail_attr(const struct dnn_api *api, const struct cpu_dnn_tail *tail, const struct dnn_md *y,
			    void **attr, struct npl_err *err)
{
	void *post_ops = NULL;
	int status = api->primitive_attr_create(attr);
	if (!status)
		status = api->post_ops_create(&post_ops);
	if (!status && tail->add)
		status = api->post_ops_append_binary(post_ops, DNN_ADD, y);
	if (!status && tail->activation == NPL_ACT_RELU)
		status = api->post_ops_append_eltwise(post_ops, 1, DNN_RELU, 0, 0);
	if (!status && tail->activation == NPL_ACT_RELU6)
		status = api->post_ops_append_eltwise(post_ops, 1, DNN_CLIP, 0, 6);
	if (!status)
		status = api->primitive_attr_set_post_ops(*attr, post_ops);
	if (post_ops)
		api->post_ops_destroy(post_ops);
	return status ? cpu_dnn_failed("primitive_attr_set_post_ops", status, err) : 0;
}

/* Says whether the kernel adds correctly: oneDNN 2.6.3's convolutions by gemm ("x64:gemm:jit", with SSE4.1 alone) read
 * the addend from wrong places if channels are last; its generated kernels are right. */
static bool adds_correctly(const struct cpu_dnn_op *op)
{
	const char *name = cpu_dnn_kernel(op);
	return !strncmp(name, "brgconv", 7) || !strncmp(name, "jit", 3);
}

/* Copies weights into the library's order, and the bias. */
static int take_weights(struct cpu_dnn_op *op, const struct npl_layer *layer, const struct dnn_md *model,
			struct npl_err *err)
{
	const struct dnn_api *api = &op->dnn->api;
	const struct npl_tensor *w = layer->in[1], *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	const struct dnn_md *packed = NULL;
	struct cpu_dnn_op *pack = cpu_dnn_op_new(op->dnn, err);
	if (!pack)
		return err->code;
	int rc = 0, status = api->primitive_desc_query(op->desc, DNN_QUERY_W, 0, &packed);
	if (!status)
		op->weights = aligned_alloc(64, npl_round_up_u64(api->memory_desc_get_size(packed), 64));
	if (!status && !op->weights)
		rc = npl_fail(err, NPL_ENOMEM, "out of memory for weights of %zu bytes", npl_tensor_bytes(w));
	if (!status && !rc)
		status = api->reorder_primitive_desc_create(&pack->desc, model, op->dnn->engine, packed,
							    op->dnn->engine, NULL);
	if (status)
		rc = cpu_dnn_failed("reorder_primitive_desc_create", status, err);
	if (!rc)
		rc = cpu_dnn_op_finish(pack, false, err);
	if (!rc)
		rc = cpu_dnn_run(pack, w->data, NULL, op->weights, err);
	cpu_dnn_release(pack);
	if (rc || !bias)
		return rc;
	size_t bytes = npl_tensor_bytes(bias);
	op->bias = aligned_alloc(64, npl_round_up_u64(bytes, 64));
	if (!op->bias)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a bias of %zu bytes", bytes);
	memcpy(op->bias, bias->data, bytes);
	return 0;
}

static int prepare_conv(struct cpu_dnn_op *op, const struct npl_layer *layer, const struct dnn_md *x,
			const struct dnn_md *y, const struct cpu_dnn_tail *tail, struct npl_err *err)
{
	const struct dnn_api *api = &op->dnn->api;
	const bool transposed = layer->op == NPL_OP_CONVTRANSPOSE, has_bias = layer->n_in > 2 && layer->in[2];
	const struct npl_shape *from = &layer->in[0]->shape, *to = &layer->out->shape;
	struct windows w = windows_of(&layer->attrs->conv.window, transposed ? to : from, transposed ? from : to);
	int64_t filters = layer->out->shape.dim[1], bias_stride = 1;
	struct dnn_md model, best;
	struct dnn_op_desc desc = {{0}};
	void *attr = NULL;
	int rc = describe_weights(op->dnn, layer, &model, &best, err), status = 0;
	if (!rc)
		status = api->memory_desc_init_by_strides(&op->bias_md, 1, &filters, DNN_F32, &bias_stride);
	if (!rc && !status)
		status = (transposed ? api->dilated_deconvolution_forward_desc_init
				     : api->dilated_convolution_forward_desc_init)(
			&desc, DNN_INFERENCE, transposed ? DNN_DECONV_DIRECT : DNN_CONV_DIRECT, x, &best,
			has_bias ? &op->bias_md : NULL, y, w.stride, w.dilation, w.pad_begin, w.pad_end);
	if (!rc && !status && (tail->add || tail->activation))
		rc = create_tail_attr(api, tail, y, &attr, err);
	if (!rc && !status)
		status = api->primitive_desc_create(&op->desc, &desc, attr, op->dnn->engine, NULL);
	if (attr)
		api->primitive_attr_destroy(attr);
	if (!rc && status)
		rc = cpu_dnn_failed("primitive_desc_create", status, err);
	if (!rc && tail->add && !adds_correctly(op))
		rc = npl_fail(err, NPL_EDEVICE, "oneDNN's kernel %s adds wrong elements", cpu_dnn_kernel(op));
	return rc ? rc : take_weights(op, layer, &model, err);
}

static int prepare_pool(struct cpu_dnn_op *op, const struct npl_layer *layer, const struct dnn_md *x,
			const struct dnn_md *y, struct npl_err *err)
{
	const struct dnn_api *api = &op->dnn->api;
	const struct npl_window *window = &layer->attrs->pool.window;
	struct windows w = windows_of(window, &layer->in[0]->shape, &layer->out->shape);
	int algorithm = !is_average(layer->op)      ? DNN_POOL_MAX
			: window->count_include_pad ? DNN_POOL_AVERAGE_ALL
						    : DNN_POOL_AVERAGE;
	struct dnn_op_desc desc = {{0}};
	int status = api->pooling_v2_forward_desc_init(&desc, DNN_INFERENCE, algorithm, x, y, w.stride, w.kernel,
						       w.dilation, w.pad_begin, w.pad_end);
	if (!status)
		status = api->primitive_desc_create(&op->desc, &desc, NULL, op->dnn->engine, NULL);
	return status ? cpu_dnn_failed("pooling_v2_forward_desc_init", status, err) : 0;
}

static int prepare_lrn(struct cpu_dnn_op *op, const struct npl_layer *layer, const struct dnn_md *x,
		       struct npl_err *err)
{
	const struct dnn_api *api = &op->dnn->api;
	const struct npl_lrn_attrs *lrn = &layer->attrs->lrn;
	struct dnn_op_desc desc = {{0}};
	int status = api->lrn_forward_desc_init(&desc, DNN_INFERENCE, DNN_LRN_ACROSS, x, lrn->size, lrn->alpha,
						lrn->beta, lrn->bias);
	if (!status)
		status = api->primitive_desc_create(&op->desc, &desc, NULL, op->dnn->engine, NULL);
	return status ? cpu_dnn_failed("lrn_forward_desc_init", status, err) : 0;
}

int cpu_dnn_prepare(const struct cpu_dnn *dnn, const struct npl_layer *layer, enum cpu_layout x, enum cpu_layout y,
		    const struct cpu_dnn_tail *tail, struct cpu_dnn_op **new_op, struct npl_err *err)
{
	const struct cpu_dnn_tail default_tail = {.activation = layer->activation};
	struct dnn_md x_md, y_md;
	struct cpu_dnn_op *op = *new_op = cpu_dnn_op_new(dnn, err);
	if (!op)
		return err->code;
	int rc = cpu_dnn_describe(dnn, layer->in[0], x, &x_md, err);
	if (!rc)
		rc = cpu_dnn_describe(dnn, layer->out, y, &y_md, err);
	if (!rc)
		rc = is_conv(layer->op)       ? prepare_conv(op, layer, &x_md, &y_md, tail ? tail : &default_tail, err)
		     : cpu_is_pool(layer->op) ? prepare_pool(op, layer, &x_md, &y_md, err)
					      : prepare_lrn(op, layer, &x_md, err);
	if (!rc)
		rc = cpu_dnn_op_finish(op, tail && tail->add, err);
	if (rc) {
		cpu_dnn_release(op);
		*new_op = NULL;
	}
	return rc;
}
