/* SPDX-License-Identifier: MIT
 *
 * The inside of a session: the plan, which has one step per node (plan.c, weights.c), and all else that a session keeps
 * from opening to closing. The values of a running batch are in value_store.h. */
#ifndef NPULAB_FRONTEND_SESSION_SESSION_IMPL_H
#define NPULAB_FRONTEND_SESSION_SESSION_IMPL_H

#include "frontend/quantise/model_quant.h"
#include "npulab/session.h"
#include "sim/processor/processor_model.h"

/* The step of the plan for one node. */
struct npl_step {
	enum npl_role role;
	int device; /* NPL_ON_HOST or an index into session->device */
	const char *note;
	/* Why a device of integers runs the node in float32, which the row's note says too. NULL: it does not. */
	const char *float32_reason;
	int out;          /* the value that the step makes: the fused node's, if one is fused; the first of several */
	bool canonical;   /* the device sees the canonical form of layer.h, with the weight and bias below */
	bool in_float32;  /* a device of integers runs the node in float32 */
	bool in_integers; /* the node's values are integers of the model itself, as they are (model_layer.h) */
	/* Of a Split whose results the device makes by one Slice each (split.h): the attributes per result. NULL
	 * otherwise. */
	struct npl_attrs *split_slices;
	/* the number of products of a MatMul by a stack of constant matrices, run one after the other; 0 or 1: one
	 * product */
	int n_products;
	enum npl_op op; /* the operator that the device sees */
	int n_in;       /* inputs that the device sees; in formats other than float32 only those that hold data */
	struct npl_attrs attrs;
	enum npl_activation activation;
	bool lrn_factor_only; /* an LRN for which the device only makes the factor (lrn.h) */
	/* shapes in which the device sees input 0 (only if canonical) and the output */
	struct npl_shape x_shape, y_shape;
	/* scales and zero points of what the device sees as input 0 and as output, in its format */
	struct npl_quant x_quant, y_quant;
	/* If canonical: in the device's format. Rank 0: there is no bias, or timing_only does not need them. */
	struct npl_tensor weight, bias;
	/* The weight's scales per output channel, if the session computes them. NULL otherwise. */
	float *channel_scale;
	uint64_t clipped; /* values of weight and bias that lay outside the format */
};

struct npl_layer_group_plan; /* layer_group.h */

#define NPL_MAX_TENSORS (NPL_LAYER_INPUTS + NPL_MAX_OUTPUTS) /* tensors of a layer */

struct npl_session {
	struct npl_graph *graph;
	int n_devices;
	struct npl_device **device;
	struct npl_step *step;              /* per node */
	int n_layer_groups;                 /* layer groups of the plan; steps outside them run one by one */
	struct npl_layer_group_plan *group; /* in the order of nodes */
	/* NPL_MAX_TENSORS tensors of the layer that is planned or run: too many for a stack */
	struct npl_tensor *scratch;
	struct npl_range *range;      /* per value: its range in calibration; NULL: no ranges were given */
	struct npl_range *range_int8; /* per value: its range for the format int8, if that differs; NULL: it does not */
	/* Per value: elements below this level are a mask, which only a Softmax reads and of which it makes 0.
	 * -INFINITY: there are none. NULL: no ranges were given. */
	float *mask_below;
	int *reader; /* per value: the last node that reads it; -1: none does */
	/* per value: the last node that reads it, directly or through views and fused nodes; -1: none does */
	int *last_use;
	int *range_of; /* per value: the value whose range it uses; that is its input's for results that keep it */
	struct npl_model_quants model; /* the quantisation that the model itself carries */
	int *sharing; /* per value: another value that shares its scale, or itself; -1: none does (ranges.c) */
	/* the host that the session opened because the options name none; NULL otherwise */
	struct npl_device *own_host;
	const struct npl_processor_model *host; /* the figures of the modelled host */
	struct npl_plan_options options;
	bool hash, inputs_over_link, outputs_over_link;
	const struct npl_value_observer *observer; /* sees the values that are made; NULL: there is none */
	const bool *resident; /* npl_session_options.resident, read only while the session is opened */
	struct npl_arena arena;
};

/* Returns the number format in which a step reads and makes float values. */
static inline enum npl_format npl_step_format(const struct npl_session *s, const struct npl_step *step)
{
	const bool is_float32 = step->device == NPL_ON_HOST || step->in_float32;
	return is_float32 ? NPL_FORMAT_F32 : npl_device_get_info(s->device[step->device])->format;
}

/* plan.c: fills the steps of all nodes, in their order. place has the device of each node; NULL: device 0 has all.
 * Returns 0 or err->code. */
int npl_plan(struct npl_session *s, const int *place, struct npl_err *err);

/* ranges.c: returns the scale and zero point for values of this range, as the session's options say. */
struct npl_quant npl_session_quant_of_range(const struct npl_session *s, enum npl_format format,
					    struct npl_range range);
/* Returns the scale and zero point of value v in a format. */
struct npl_quant npl_session_quant(const struct npl_session *s, enum npl_format format, int v);
/* Returns the type of value v in a format. */
enum npl_dtype npl_session_dtype(const struct npl_session *s, enum npl_format format, int v);
/* Returns the scale and zero point of the squares of value v. */
struct npl_quant npl_session_square_quant(const struct npl_session *s, enum npl_format format, int v);
/* Returns the least factor by which calibration saw an LRN multiply for its result v; 0: it is not known. */
float npl_session_least_factor(const struct npl_session *s, int v);
/* Copies the caller's ranges, each of which may be NULL, and finds those of constants that element-wise operators read.
 * Returns 0 or err->code. */
int npl_ranges_open(struct npl_session *s, const struct npl_range *ranges, const struct npl_range *ranges_int8,
		    struct npl_err *err);
/* Makes values a and b share one scale and zero point in every format, over the ranges of both. */
void npl_ranges_join(struct npl_session *s, int a, int b);

/* step_layer.c: npl_step_layer describes step i as a layer, with its tensors in *tensors. It leaves out the inputs that
 * are values (in[0], or all of in[] if the step is not canonical) and the results beyond the first. */
struct npl_step_tensors {
	struct npl_tensor out, weight, bias;
};
/* Returns the number of results beyond the first, up to the last one that is read, and describes them in out[1] and on
 * as the graph has them. */
int npl_step_further_results(const struct npl_session *s, int i, struct npl_tensor *out);
void npl_step_layer(const struct npl_session *s, int i, struct npl_step_tensors *tensors, struct npl_layer *layer);

/* Prepares weight and bias of a canonical step in its device's format. Returns 0 or err->code. */
int npl_step_weights(struct npl_session *s, const struct npl_node *node, struct npl_step *step, struct npl_err *err);

/* Says whether the node can be brought to the canonical form (layer.h); fills op, attrs, x_shape and y_shape of the
 * step if so. */
bool npl_step_canonical(const struct npl_graph *graph, const struct npl_node *node, struct npl_step *step);

#endif
