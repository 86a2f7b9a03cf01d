/* SPDX-License-Identifier: MIT
 *
 * Runs operators along axes on the GPU: the ReduceSum family, Softmax, ArgMax, and normalisations by a vector's own
 * statistics. A tensor is seen as `vectors` of `length` elements, each with a walk of its own. */
#include <string.h>

#include "core/base/arith.h"

#include "job.h"

static bool takes_floats(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	enum npl_dtype dtype = layer->in[0]->dtype;
	return npl_is_float32_or_half(dtype) || npl_refuse(reason, reason_bytes, "the GPU has no %s of %s",
							   npl_op_defs[layer->op].name, npl_dtype_name(dtype));
}

/* Sets the vectors of a tensor along the dimensions whose bits are set. The vectors are in ONNX's order, the elements
 * of each in the order of memory. */
static void vectors_of(const struct cu_value *x, unsigned vector_dims, struct cu_vectors_args *args)
{
	struct cu_axes outer = {.rank = 0}, inner = {.rank = 0};
	int64_t step[NPL_MAX_RANK];
	int order[NPL_MAX_RANK];
	cu_steps_of(&x->shape, x->channels_last, step);
	cu_order_of(x->shape.rank, x->channels_last, order);
	for (int i = 0; i < x->shape.rank; i++) {
		if (vector_dims & 1u << order[i]) {
			inner.dim[inner.rank] = x->shape.dim[order[i]];
			inner.step[0][inner.rank++] = step[order[i]];
		}
		if (!(vector_dims & 1u << i)) {
			outer.dim[outer.rank] = x->shape.dim[i];
			outer.step[0][outer.rank++] = step[i];
		}
	}
	args->vectors = cu_product(outer.dim, outer.rank);
	args->length = cu_product(inner.dim, inner.rank);
	args->outer = cu_walk_of(&outer);
	args->inner = cu_walk_of(&inner);
}

/* Chooses the grid so that neighbouring threads read neighbours in memory: elements of a vector, or else vectors. */
static struct cu_grid grid_of(const struct cu_vectors_args *args)
{
	enum { THREADS = 256, LANES = 32, FEW_VECTORS = 65536 };
	unsigned x = LANES, y = 1;
	const bool rows = args->inner.step[0][args->inner.rank - 1] == 1 || args->length == 1;
	if (rows) {
		while (y < THREADS && y < args->length)
			y *= 2;
		x = y < THREADS / 2 ? THREADS / 2 / y : 1;
	} else if (args->vectors < FEW_VECTORS) { /* few vectors: several threads to each */
		while (y < THREADS / LANES && y < args->length)
			y *= 2;
	} else {
		x = THREADS;
	}
	return (struct cu_grid){npl_div_up_i64(args->vectors, x), x, y};
}

static int launch(const struct cu_job *job, const char *name, struct cu_macros *macros,
		  const struct cu_vectors_args *args)
{
	int64_t elements = args->vectors * args->length;
	cu_macro_wide(job, macros, elements > args->vectors ? elements : args->vectors);
	return cu_launch(job, name, macros, args, grid_of(args));
}

static const struct {
	const char *fold, *last;
} rules[NPL_OPS] = {
	[NPL_OP_REDUCESUM] = {"sum", "none"},
	[NPL_OP_REDUCEMEAN] = {"sum", "quotient"},
	[NPL_OP_REDUCEMAX] = {"most", "none"},
	[NPL_OP_REDUCEMIN] = {"least", "none"},
	[NPL_OP_REDUCEPROD] = {"product", "none"},
	[NPL_OP_REDUCEL1] = {"size", "none"},
	[NPL_OP_REDUCEL2] = {"square", "root"},
	[NPL_OP_REDUCESUMSQUARE] = {"square", "none"},
	[NPL_OP_REDUCELOGSUM] = {"sum", "logarithm"},
	[NPL_OP_REDUCELOGSUMEXP] = {"power", "logarithm"},
	[NPL_OP_GLOBALAVERAGEPOOL] = {"sum", "quotient"},
	[NPL_OP_GLOBALMAXPOOL] = {"most", "none"},
};

/* Returns the reduced dimensions, bit d for dimension d. */
static unsigned reduced(const struct npl_reduce_attrs *reduce, int rank)
{
	unsigned dims = 0;
	if (reduce->n_axes <= 0)
		return reduce->empty_is_none ? 0 : (1u << rank) - 1;
	for (int i = 0; i < reduce->n_axes; i++)
		dims |= 1u << reduce->axes[i];
	return dims;
}

int cu_run_reduce(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		  struct cu_value *out)
{
	struct cu_macros macros = {""};
	struct cu_vectors_args args = {.x = in[0].address, .z = out->address};
	const int rank = in[0].shape.rank;
	const bool pools = layer->op == NPL_OP_GLOBALAVERAGEPOOL || layer->op == NPL_OP_GLOBALMAXPOOL;
	vectors_of(&in[0], pools ? (1u << rank) - 4 : reduced(&layer->attrs->reduce, rank), &args);
	args.factor = (float)args.length;
	cu_macro(&macros, "X=%s Y=%s FOLD=%s LAST=last_%s", cu_type_name(in[0].dtype), cu_type_name(out->dtype),
		 rules[layer->op].fold, rules[layer->op].last);
	if (layer->op == NPL_OP_REDUCELOGSUMEXP && args.length)
		cu_macro(&macros, "SHIFTED=1");
	if (layer->activation != NPL_ACT_NONE)
		cu_macro(&macros, "FUSED=%s", cu_fused_name(layer->activation));
	return launch(job, "reduce", &macros, &args);
}
const struct cu_family cu_reduce_family = {takes_floats, cu_run_reduce, true};

/* Runs Softmax and its relatives along one dimension, before opset 13 along it and all after it. */
static int run_softmax(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		       struct cu_value *out)
{
	const struct npl_attrs *attrs = layer->attrs;
	struct cu_macros macros = {""};
	struct cu_vectors_args args = {.x = in[0].address, .z = out->address};
	unsigned vector_dims = 1u << attrs->along.axis;
	if (attrs->opset > 0 && attrs->opset < 13)
		vector_dims = (1u << in[0].shape.rank) - (1u << attrs->along.axis);
	vectors_of(&in[0], vector_dims, &args);
	cu_macro(&macros, "X=%s Y=%s", cu_type_name(in[0].dtype), cu_type_name(out->dtype));
	if (layer->op == NPL_OP_HARDMAX) {
		args.flags = 1;
		cu_macro(&macros, "ONE_HOT=1");
		return launch(job, "arg", &macros, &args);
	}
	if (layer->op == NPL_OP_LOGSOFTMAX)
		cu_macro(&macros, "LOGARITHM=1");
	return launch(job, "softmax", &macros, &args);
}
const struct cu_family cu_softmax_family = {takes_floats, run_softmax, false};

static bool takes_arg(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	enum npl_dtype dtype = layer->in[0]->dtype;
	return (dtype != NPL_F64 && dtype != NPL_BOOL) ||
	       npl_refuse(reason, reason_bytes, "the GPU has no %s of %s", npl_op_defs[layer->op].name,
			  npl_dtype_name(dtype));
}

static int run_arg(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		   struct cu_value *out)
{
	struct cu_macros macros = {""};
	struct cu_vectors_args args = {.x = in[0].address,
				       .z = out->address,
				       .flags = (layer->op == NPL_OP_ARGMAX) | (layer->attrs->arg.select_last ? 2 : 0)};
	vectors_of(&in[0], 1u << layer->attrs->arg.axis, &args);
	cu_macro(&macros, "X=%s", cu_type_name(in[0].dtype));
	return launch(job, "arg", &macros, &args);
}
const struct cu_family cu_arg_family = {takes_arg, run_arg, false};

/* Sets scale and bias with the walk that broadcasts them over x. */
static void affine_of(const struct npl_layer *layer, const struct cu_value *in, struct cu_vectors_args *args)
{
	struct npl_shape channel = {.rank = in[0].shape.rank - 1, .dim = {1, 1, 1, 1, 1, 1, 1, 1}};
	struct cu_axes axes = cu_axes_of(&in[0].shape);
	memset(axes.step, 0, sizeof axes.step);
	for (int k = 1; k < layer->n_in && k < 3; k++) {
		if (!layer->in[k])
			continue;
		if (layer->op == NPL_OP_INSTANCENORMALIZATION)
			channel.dim[0] = in[k].shape.dim[0];
		cu_axes_broadcast(&axes, k - 1, layer->op == NPL_OP_INSTANCENORMALIZATION ? &channel : &in[k].shape,
				  in[k].channels_last);
		*(k == 1 ? &args->scale : &args->bias) = in[k].address;
	}
	cu_axes_order(&axes, in[0].channels_last);
	args->affine = cu_walk_of(&axes);
}

static int run_normalise(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
			 struct cu_value *out)
{
	const struct npl_norm_attrs *norm = &layer->attrs->norm;
	const int rank = in[0].shape.rank;
	struct cu_macros macros = {""};
	struct cu_vectors_args args = {.x = in[0].address, .z = out->address, .epsilon = norm->epsilon};
	enum npl_dtype parameters = NPL_F32, statistics = NPL_F32;
	unsigned vector_dims = (1u << rank) - 4; /* InstanceNormalization: the positions of a channel */
	switch (layer->op) {
	case NPL_OP_LAYERNORMALIZATION:
		vector_dims = (1u << rank) - (1u << norm->axis);
		for (int k = 1; k < npl_layer_outputs(layer); k++) {
			*(k == 1 ? &args.mean : &args.deviation) = out[k].address;
			statistics = out[k].dtype;
		}
		break;
	case NPL_OP_MEANVARIANCENORMALIZATION:
		vector_dims = 0;
		for (int i = 0; i < norm->n_axes; i++)
			vector_dims |= 1u << norm->axes[i];
		args.epsilon = 0;
		args.added = 1e-9f;
		break;
	case NPL_OP_LPNORMALIZATION:
		vector_dims = 1u << norm->axis;
		cu_macro(&macros, "NORM=%d", (int)norm->p);
		break;
	default:
		break;
	}
	vectors_of(&in[0], vector_dims, &args);
	if (layer->n_in > 1) {
		affine_of(layer, in, &args);
		parameters = in[1].dtype;
	}
	cu_macro(&macros, "X=%s Y=%s S=%s M=%s", cu_type_name(in[0].dtype), cu_type_name(out->dtype),
		 cu_type_name(parameters), cu_type_name(statistics));
	return launch(job, "normalise", &macros, &args);
}
const struct cu_family cu_normalise_family = {takes_floats, run_normalise, false};
