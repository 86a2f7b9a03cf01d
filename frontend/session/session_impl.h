/* SPDX-License-Identifier: MIT
 *
 * The inside of a session: the plan (one step per node, made by plan.c and weights.c) and what execute.c keeps while
 * a batch runs. */
#ifndef NPULAB_FRONTEND_SESSION_SESSION_IMPL_H
#define NPULAB_FRONTEND_SESSION_SESSION_IMPL_H

#include "frontend/quantise/model_quant.h"
#include "npulab/session.h"
#include "sim/processor/processor_model.h"

/* What is to be done for one node. */
struct npl_step {
	enum npl_role role;
	int device; /* NPL_ON_HOST or an index into session->device */
	const char *note;
	/* Why a device of integers does the node in float32; the row's note says it too. NULL: it does not. */
	const char *why_float32;
	int out;          /* the value this step makes: of the fused node where one is fused, of several the first */
	bool canonical;   /* weights prepared below, x and y seen as the canonical form of layer.h */
	bool in_float32;  /* on a device of integers that cannot do the node in these */
	bool in_integers; /* its values are integers that the model itself has, seen as they are: model_layer.h */
	struct npl_attrs
		*split_slices; /* Split, of which the device makes every result by a Slice: split.h; else NULL */
	int n_products;        /* products of a MatMul with as many constant matrices, one after the other; 0, 1: one */
	enum npl_op op;        /* as the device sees it */
	int n_in;              /* inputs that it sees: those that hold data, where the format is not float32 */
	struct npl_attrs attrs;
	enum npl_activation fused;
	bool lrn_factor_only;              /* LRN, of which the device makes the factor: see lrn.h */
	struct npl_shape x_shape, y_shape; /* canonical: what the device sees of input 0 and the output */
	struct npl_quant x_quant, y_quant; /* in the device's format, of what it sees */
	struct npl_tensor weight, bias;    /* canonical: in the device's format; bias.data NULL: none */
	float *channel_scale;
	uint64_t clipped; /* of weight and bias: what lay outside the format */
};

struct npl_layer_group_plan; /* layer_group.h */

#define NPL_MOST_TENSORS (NPL_LAYER_INPUTS + NPL_MAX_OUTPUTS) /* of a layer */

struct npl_session {
	struct npl_graph *graph;
	int n_devices;
	struct npl_device **device;
	struct npl_step *step; /* per node */
	int n_layer_groups;    /* runs of steps that go to their device together; the others go one by one */
	struct npl_layer_group_plan *group; /* in the order of nodes */
	struct npl_tensor *scratch;   /* NPL_MOST_TENSORS of the layer that is planned or run: too many for a stack */
	struct npl_range *range;      /* per value; NULL when no device needs it */
	struct npl_range *range_int8; /* the ranges of the format int8, where they are others; NULL: they are not */
	/* per value: elements below this are a mask, which only a Softmax reads, and gives 0 for; -INFINITY: there are
	 * none. NULL without ranges */
	float *mask_below;
	int *reader;   /* per value: the last node that reads it; -1: none does */
	int *last_use; /* per value: the last node that reads it, through views and what is fused; -1: none does */
	int *range_of; /* per value: whose range its quantised form uses (values that keep their input's) */
	struct npl_model_quants model; /* what the model itself says of its values */
	int *sharing; /* per value: another of those that share one scale, itself, or -1: none. See ranges.c */
	struct npl_device *own_host;            /* opened here, as the options name none; or NULL */
	const struct npl_processor_model *host; /* the figures of the modelled host */
	bool q16_plain, timing_only, layer_by_layer, hash, inputs_over_link, outputs_over_link;
	const struct npl_value_observer *observer; /* of what is made; NULL: nobody looks */
	const bool *resident;                      /* while it is opened */
	struct npl_arena arena;
};

/* The number format in which a step reads and makes float values. */
static inline enum npl_format npl_step_format(const struct npl_session *s, const struct npl_step *step)
{
	const bool as_it_is = step->device == NPL_ON_HOST || step->in_float32;
	return as_it_is ? NPL_FORMAT_F32 : npl_device_get_info(s->device[step->device])->format;
}

/* ranges.c: quantisation of what has this range, as the session's options say. */
struct npl_quant npl_session_quant_of_range(const struct npl_session *s, enum npl_format format,
					    struct npl_range range);
/* The scale and zero point of value v in a format. */
struct npl_quant npl_session_quant(const struct npl_session *s, enum npl_format format, int v);
/* The type of value v in a format. */
enum npl_dtype npl_session_dtype(const struct npl_session *s, enum npl_format format, int v);
/* The scale and zero point of the squares of value v. */
struct npl_quant npl_session_square_quant(const struct npl_session *s, enum npl_format format, int v);
/* The least factor after LRN's result v that calibration saw. 0: not known. */
float npl_session_least_factor(const struct npl_session *s, int v);
/* Takes the caller's ranges and finds those of constants that element-wise operators read. */
int npl_ranges_open(struct npl_session *s, const struct npl_range *ranges, const struct npl_range *ranges_int8,
		    struct npl_err *err);
/* From now on the two values have one scale and zero point in every format, over what both took. */
void npl_ranges_join(struct npl_session *s, int a, int b);

/* step_layer.c: the step as a layer, all but the inputs that are values: in[0], or all in[] where it is not canonical;
 * and but the results beyond the first. */
struct npl_step_tensors {
	struct npl_tensor out, weight, bias;
};
/* Results beyond the first up to the last that somebody reads; in out[1] and on they are described as the graph has
 * them. */
int npl_step_further_results(const struct npl_session *s, int i, struct npl_tensor *out);
void npl_step_layer(const struct npl_session *s, int i, struct npl_step_tensors *tensors, struct npl_layer *layer);

/* Prepares weight and bias of a canonical step in its device's format. */
int npl_step_weights(struct npl_session *s, const struct npl_node *node, struct npl_step *step, struct npl_err *err);

/* Can the node be brought to the canonical form (layer.h)? Fills op, attrs, x_shape and y_shape if so. */
bool npl_step_canonical(const struct npl_graph *graph, const struct npl_node *node, struct npl_step *step);

#endif
