/* SPDX-License-Identifier: MIT
 *
 * The attributes of operators, a struct for each family of operators. struct npl_attrs of npulab/op.h has a member for each, of which
 * one holds; a column of npulab/ops.def says which. An operator's function `attrs` reads them from a model, with the defaults that the
 * comments name; its function `shape` completes what follows from the inputs. Behind it no axis is negative.
 */
#ifndef NPULAB_OP_ATTRS_H
#define NPULAB_OP_ATTRS_H

#include "npulab/random.h"
#include "npulab/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_SPATIAL 2 /* height and width; 1-D operators run as 2-D with a leading 1 */
#define NPL_DEPTH   2 /* index of the third spatial dimension, the outermost of a model that has three */
#define NPL_VOLUME  3 /* spatial dimensions with it */

enum npl_auto_pad { NPL_PAD_NOTSET, NPL_PAD_SAME_UPPER, NPL_PAD_SAME_LOWER, NPL_PAD_VALID };

/* A sliding window over the spatial dimensions, which convolutions and poolings have (npl_op_window). The shape rule resolves
 * auto_pad and fills in what the model left out, so that devices see plain numbers. Index 0 is height, 1 width, and
 * NPL_DEPTH depth, which counts at rank 3 alone; height is unused at rank 1 (kernel 1). Only the reference kernels know
 * rank 3: devices refuse it. */
struct npl_window {
	int rank; /* spatial dimensions in the model: 1 to 3 */
	int64_t kernel[NPL_VOLUME], stride[NPL_VOLUME], dilation[NPL_VOLUME];
	int64_t pad_begin[NPL_VOLUME], pad_end[NPL_VOLUME];
	enum npl_auto_pad auto_pad;
	bool ceil_mode;         /* pooling: round the output size up */
	bool count_include_pad; /* average pooling: padding counts in the divisor */
};

/* Conv, ConvInteger, QLinearConv and ConvTranspose. The output of ConvTranspose has (input - 1) * stride + extent of the kernel -
 * pads + output_padding positions along a dimension. */
struct npl_conv_attrs {
	struct npl_window window; /* The kernel over the spatial dimensions. */
	int64_t groups;           /* `group`: parts into which channels and filters fall; 1 by default. */
	bool private_kernels; /* Every output position has kernels of its own (layer.h). ONNX has no such operator; false by default. */
	/* ConvTranspose: positions added at the end of the output, 0 by default. The shape rule makes them agree with output_shape. */
	int64_t output_padding[NPL_VOLUME];
	int64_t output_shape
		[NPL_VOLUME]; /* ConvTranspose: positions that the model asks for; 0: it does not, or they are resolved. */
};

/* MaxPool, AveragePool, LpPool, their Global forms, and MaxUnpool. The shape rule gives a Global form a window of the whole input. */
struct npl_pool_attrs {
	struct npl_window window; /* The kernel over the spatial dimensions. */
	int64_t p;                /* LpPool: the norm's exponent, at least 1; 2 by default. */
	bool column_major; /* MaxPool, `storage_order`: its indices count the first spatial dimension fastest; false by default. */
};

/* Gemm: y = alpha * a * b + beta * c. */
struct npl_gemm_attrs {
	float alpha, beta;     /* The factors of the product and of c; 1 by default. */
	bool trans_a, trans_b; /* `transA`, `transB`: the operand is transposed; false by default. */
};

/* The functions of a recurrent network, with their constants. */
enum npl_cell_function {
	NPL_CELL_SIGMOID,
	NPL_CELL_TANH,
	NPL_CELL_RELU,
	NPL_CELL_AFFINE,
	NPL_CELL_LEAKY_RELU,
	NPL_CELL_THRESHOLDED_RELU,
	NPL_CELL_SCALED_TANH,
	NPL_CELL_HARD_SIGMOID,
	NPL_CELL_ELU,
	NPL_CELL_SOFTSIGN,
	NPL_CELL_SOFTPLUS,
	NPL_CELL_FUNCTIONS
};
struct npl_cell_activation {
	enum npl_cell_function function;
	float alpha, beta;
};

/* RNN, GRU and LSTM. */
struct npl_recurrent_attrs {
	enum { NPL_FORWARD, NPL_REVERSE, NPL_BIDIRECTIONAL } direction; /* Forward by default. */
	int64_t hidden;           /* `hidden_size`: values of the state; 0, the default: as the weights say. */
	bool batch_first;         /* `layout` 1: the batch comes before the steps; false by default. */
	bool clips;               /* Arguments of activations are limited to -clip..clip; false by default. */
	float clip;               /* The limit, where `clips`. */
	bool input_forget;        /* LSTM: input and forget gate are one; false by default. */
	bool linear_before_reset; /* GRU: the reset gate comes behind the product; false by default. */
	struct npl_cell_activation activation[2][3]; /* For each direction the functions f, g and h of ONNX. */
};

/* Attention. */
struct npl_attention_attrs {
	bool causal;               /* `is_causal`: no row looks at those behind it; false by default. */
	int64_t q_heads, kv_heads; /* `q_num_heads`, `kv_num_heads`; 0: not given. The shape rule sets them. */
	int64_t shown;             /* `qk_matmul_output_mode`: what the fourth output is, 0 (the default) to 3. */
	float scale;               /* The factor of the scores; 0: not given. The shape rule sets it. */
	float softcap;             /* Scores stay within -softcap..softcap; 0, the default: anywhere. */
	enum npl_dtype
		softmax_type; /* `softmax_precision`: the Softmax's type; NPL_DTYPES, the default: that of the inputs. */
};

/* RotaryEmbedding. */
struct npl_rotary_attrs {
	bool interleaved; /* Pairs are neighbours, not halves of the part that is turned; false by default. */
	int64_t heads;    /* `num_heads`; 0, the default: a dimension of the input has them. */
	int64_t turned; /* `rotary_embedding_dim`: elements of a head that are turned; 0: all. The shape rule sets it. */
};

/* BatchNormalization, LayerNormalization, RMSNormalization, GroupNormalization, InstanceNormalization,
 * MeanVarianceNormalization and LpNormalization. */
struct npl_norm_attrs {
	float epsilon; /* What is added to the variance; 1e-5 by default. The last two operators have none. */
	int64_t axis; /* LayerNormalization, RMSNormalization: the first normalised dimension; LpNormalization: the one; -1 by default. */
	int64_t groups; /* GroupNormalization, `num_groups`: parts into which the channels fall; required. */
	int64_t p;      /* LpNormalization: the norm's exponent, 1 or 2; 2 by default. */
	int n_axes;     /* MeanVarianceNormalization: dimensions that are normalised. */
	int64_t axes[NPL_MAX_RANK]; /* MeanVarianceNormalization: these dimensions; 0, 2 and 3 by default. */
	bool training; /* BatchNormalization, `training_mode`: by the statistics of the batch; false by default. */
	bool per_element; /* BatchNormalization, `spatial` 0: statistics for every element, not channel; false by default. */
	float momentum; /* BatchNormalization in training: the share of the statistics before; 0.9 by default. */
};

/* LRN: x / (bias + alpha / size * sum of squares)^beta. */
struct npl_lrn_attrs {
	int64_t size;       /* Channels that are summed; required, at least 1. */
	float alpha;        /* The factor of the sum; 1e-4 by default. */
	float beta;         /* The exponent; 0.75 by default. */
	float bias;         /* What is added to the sum; 1 by default. */
	float least_factor; /* Of a layer that makes the factor (layer.h): the least that calibration saw; 0: not known. */
};

/* Operators of one operand, element by element, with attributes or without. */
struct npl_unary_attrs {
	union {
		/* LeakyRelu (0.01 by default), Elu, Celu, ThresholdedRelu (1), Selu (1.6733), HardSigmoid (0.2) */
		float alpha;
		float lambd; /* Shrink: values within -lambd..lambd become 0; 0.5 by default. */
	};
	union {
		float beta;  /* HardSigmoid: what is added; 0.5 by default. */
		float gamma; /* Selu: the factor of the result; 1.0507 by default. */
	};
	float bias;                            /* Shrink: how far values come nearer to 0; 0 by default. */
	bool tanh;                             /* Gelu, `approximate`: by tanh, not erf; false by default. */
	bool detect_negative, detect_positive; /* IsInf: which infinities count; true by default. */
};

/* Operators of two operands that broadcast, and Pow. */
struct npl_binary_attrs {
	bool legacy_broadcast; /* `broadcast` before opset 7: the second operand may be smaller; false by default. */
	int64_t axis; /* With legacy_broadcast: the dimension of the first operand where the second one's begin; -1: the last ones meet. */
	bool fmod;    /* Mod: the result has the dividend's sign, not the divisor's; false by default. */
	bool to_left; /* BitShift, `direction`; required. */
};

/* Clip. */
struct npl_clip_attrs {
	bool known;     /* Both limits are constant. Limits that are inputs and vary stand in the inputs alone. */
	float min, max; /* The limits, where known; infinities by default. */
};

/* Operators along one axis that have no other attribute: Softmax (-1 by default, before opset 13: 1), LogSoftmax, Hardmax, Concat
 * (required), Flatten (1) and Compress (INT64_MIN: of all elements). */
struct npl_along_attrs {
	int64_t axis;
};

/* Reduce*. */
struct npl_reduce_attrs {
	bool keep_dims;     /* `keepdims`: reduced dimensions stay, as 1; true by default. */
	bool empty_is_none; /* `noop_with_empty_axes`: no axes means none of them, not all; false by default. */
	int n_axes;         /* Dimensions that are reduced; 0 or less: none are named. */
	int64_t axes[NPL_MAX_RANK];
};

/* ArgMax and ArgMin. */
struct npl_arg_attrs {
	int64_t axis;     /* The dimension that is searched; 0 by default. */
	bool keep_dims;   /* `keepdims`: it stays, as 1; true by default. */
	bool select_last; /* `select_last_index`: of equal elements the last, not the first; false by default. */
};

/* TopK. */
struct npl_topk_attrs {
	int64_t axis;        /* The dimension that is searched; -1 by default. */
	int64_t k;           /* Elements that are taken of it; before opset 10 an attribute. */
	bool largest;        /* The greatest, not the least; true by default. */
	int64_t comparisons; /* Of a sort, for each element: the logarithm of their number. The shape rule sets it. */
};

/* CumSum. */
struct npl_cumsum_attrs {
	bool exclusive; /* A sum leaves its own element out; false by default. */
	bool reverse;   /* Sums begin at the end; false by default. */
};

/* Einsum. */
struct npl_einsum_attrs {
	const char *equation; /* Borrowed from the model; required. */
};

/* Slice, as the model gives it, and as the shape rule completes it for every dimension of the input. */
struct npl_slice_attrs {
	int n; /* Dimensions that the model names. */
	int64_t starts[NPL_MAX_RANK], ends[NPL_MAX_RANK], axes[NPL_MAX_RANK], steps[NPL_MAX_RANK];
	int64_t first[NPL_MAX_RANK]; /* The element of each dimension that is taken first. */
	int64_t step[NPL_MAX_RANK];  /* From one element that is taken to the next; negative: backwards. */
};

/* Split. */
struct npl_split_attrs {
	int64_t axis;         /* The dimension that is cut; 0 by default. */
	int64_t num_outputs;  /* Parts, from opset 18 on; 0: not given. */
	int n_sizes;          /* Sizes that are an attribute, before opset 13; 0: none are. */
	const int64_t *sizes; /* `split`: these, in elements; borrowed from the model. */
};

/* Reshape. */
struct npl_reshape_attrs {
	int rank;                    /* Dimensions of the shape asked for. */
	int64_t shape[NPL_MAX_RANK]; /* -1: what is left; 0: the input's, but with allow_zero. */
	bool allow_zero;             /* `allowzero`: 0 is an empty dimension; false by default. */
};

/* Transpose. */
struct npl_transpose_attrs {
	int rank; /* Dimensions of `perm`; 0: not given. The shape rule sets it. */
	int64_t perm
		[NPL_MAX_RANK]; /* The input's dimension that each of the result is; the reverse order by default. */
};

/* Unsqueeze (dimensions of the result), Squeeze and CenterCropPad (of the input; -1 for n: all that can be). */
struct npl_axes_attrs {
	int n;
	int64_t axis[NPL_MAX_RANK];
};

/* Gather, GatherElements and GatherND. */
struct npl_gather_attrs {
	int64_t axis;       /* Gather, GatherElements: the dimension that indices name; 0 by default. */
	int64_t batch_dims; /* GatherND: dimensions that data and indices share; 0 by default. */
};

/* Scatter, ScatterElements and ScatterND. */
struct npl_scatter_attrs {
	int64_t axis; /* Not of ScatterND: the dimension that indices name; 0 by default. */
	int reduction; /* What an update does: 0 replace (the default), 1 add, 2 multiply, 3 greater, 4 lesser of the two. */
};

/* Pad. */
struct npl_pad_attrs {
	int mode;    /* 0 constant (the default), 1 reflect, 2 edge, 3 wrap. */
	float value; /* The constant before opset 11; 0 by default. It is an input then. */
	int n;       /* Pads that are known: twice the number of dimensions; -1: none, before the shape rule. */
	int64_t before[NPL_MAX_RANK], after[NPL_MAX_RANK]; /* Elements added at each end; negative: cut off. */
};

/* Col2Im, whose window has as many dimensions as the image; strides and dilations are 1 and pads 0 by default. */
struct npl_col2im_attrs {
	int rank;
	int64_t image[NPL_MAX_RANK], kernel[NPL_MAX_RANK];
	int64_t stride[NPL_MAX_RANK], dilation[NPL_MAX_RANK], pad_begin[NPL_MAX_RANK], pad_end[NPL_MAX_RANK];
};

/* DepthToSpace and SpaceToDepth. */
struct npl_depth_space_attrs {
	int64_t block; /* `blocksize`: the side of a square, in elements; required. */
	int mode; /* DepthToSpace: the block is the outer (0, DCR, the default) or inner (1, CRD) part of the channels. */
};

/* Trilu. */
struct npl_trilu_attrs {
	bool upper; /* The triangle that stays; true by default. */
};

/* OneHot. */
struct npl_one_hot_attrs {
	int64_t axis;  /* The dimension of the result that is added; -1 by default. */
	int64_t depth; /* Its length, from an input. */
};

/* ReverseSequence. */
struct npl_reverse_sequence_attrs {
	int64_t time_axis;  /* The dimension that is reversed: 0 by default. */
	int64_t batch_axis; /* The dimension of the sequences: the other of 0 and 1. */
};

/* Resize and Upsample, as the shape rule completes them for every dimension. */
struct npl_resize_attrs {
	int mode;                   /* 0 nearest (the default), 1 linear, 2 cubic. */
	int transform;              /* `coordinate_transformation_mode`: the place in the list of resize.c. */
	int nearest;                /* `nearest_mode`: the place in the list of resize.c. */
	int policy;                 /* `keep_aspect_ratio_policy`: the place in the list of resize.c. */
	float cubic_a;              /* `cubic_coeff_a`; -0.75 by default. */
	float outside;              /* `extrapolation_value`: of what lies outside; 0 by default. */
	bool exclude_outside;       /* Neighbours outside have no weight; false by default. */
	bool antialias;             /* The filter is stretched where a dimension is made smaller; false by default. */
	int n_axes;                 /* Dimensions that the inputs are about; 0 or less: all. */
	int64_t axes[NPL_MAX_RANK]; /* These dimensions. */
	int n_scales;               /* Scales that are attributes, before opset 9; 0: none. */
	int64_t neighbours; /* Elements of the input that are weighed for one of the output. The shape rule sets it. */
	double scale[NPL_MAX_RANK];                  /* Of the model, or of the sizes that it asks for. */
	double shift[NPL_MAX_RANK];                  /* Of positions: half_pixel_symmetric. */
	double length[NPL_MAX_RANK];                 /* Of the output before it is cut to an integer. */
	double from[NPL_MAX_RANK], to[NPL_MAX_RANK]; /* The part taken, as shares: tf_crop_and_resize. */
};

/* Shape and Size. */
struct npl_shape_of_attrs {
	int64_t start; /* The first dimension that is given; 0 by default. */
	int64_t end;   /* The one behind the last; INT64_MAX by default. */
};

/* EyeLike. */
struct npl_eye_like_attrs {
	enum npl_dtype dtype; /* Of the result; NPL_DTYPES, the default: the input's. */
	int64_t k;            /* The diagonal, in columns to the right; 0 by default. */
};

/* RandomNormal, RandomUniform and their Like forms. */
struct npl_random_attrs {
	struct npl_random_law law;
	enum npl_dtype dtype;        /* Of the result; NPL_DTYPES: the input's. Float32 by default. */
	int rank;                    /* Dimensions of the shape; not of the Like forms. */
	int64_t shape[NPL_MAX_RANK]; /* Required; not of the Like forms. */
};

/* Constant and ConstantOfShape. */
struct npl_constant_attrs {
	struct npl_tensor
		value; /* ConstantOfShape: one element; without data, the default: float32 zero. Borrowed from the model. */
};

/* QuantizeLinear and DequantizeLinear. */
struct npl_quantise_attrs {
	int64_t axis;      /* The dimension that scales and zero points are of, where they are vectors; 1 by default. */
	enum npl_dtype to; /* `output_dtype`; NPL_DTYPES, the default: that of the zero point, or of the scale. */
	enum npl_dtype precision; /* QuantizeLinear: of the quotient; NPL_DTYPES, the default: the scale's type. */
};

/* Cast; CastLike has none. */
struct npl_cast_attrs {
	enum npl_dtype to; /* Required. */
};

/* DFT, STFT, HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix. */
struct npl_signal_attrs {
	int64_t axis;         /* DFT: the dimension that is transformed; -2 by default, before opset 20: 1. */
	int64_t length;       /* DFT, STFT: points of a transform. The shape rule sets it. */
	int64_t frame_step;   /* STFT: samples from one frame to the next. The shape rule sets it. */
	bool inverse;         /* DFT; false by default. */
	bool one_sided;       /* `onesided`: the first half of the spectrum alone; DFT: false by default, STFT: true. */
	bool periodic;        /* The windows: of `size` samples, not of one less; true by default. */
	enum npl_dtype dtype; /* The windows, MelWeightMatrix, `output_datatype`; float32 by default. */
};

/* AffineGrid. */
struct npl_affine_grid_attrs {
	bool align_corners; /* Coordinates run from centre to centre of the outer elements, not from edge to edge; false by default. */
};

/* The families, by the name that ops.def has and that of the member; its struct is npl_MEMBER_attrs. */
#define NPL_OP_FAMILIES(FAMILY)                                                                                        \
	FAMILY(CONV, conv)                                                                                             \
	FAMILY(POOL, pool)                                                                                             \
	FAMILY(GEMM, gemm)                                                                                             \
	FAMILY(RECURRENT, recurrent)                                                                                   \
	FAMILY(ATTENTION, attention)                                                                                   \
	FAMILY(ROTARY, rotary)                                                                                         \
	FAMILY(NORM, norm)                                                                                             \
	FAMILY(LRN, lrn)                                                                                               \
	FAMILY(UNARY, unary)                                                                                           \
	FAMILY(BINARY, binary)                                                                                         \
	FAMILY(CLIP, clip)                                                                                             \
	FAMILY(ALONG, along)                                                                                           \
	FAMILY(REDUCE, reduce)                                                                                         \
	FAMILY(ARG, arg)                                                                                               \
	FAMILY(TOPK, topk)                                                                                             \
	FAMILY(CUMSUM, cumsum)                                                                                         \
	FAMILY(EINSUM, einsum)                                                                                         \
	FAMILY(SLICE, slice)                                                                                           \
	FAMILY(SPLIT, split)                                                                                           \
	FAMILY(RESHAPE, reshape)                                                                                       \
	FAMILY(TRANSPOSE, transpose)                                                                                   \
	FAMILY(AXES, axes)                                                                                             \
	FAMILY(GATHER, gather)                                                                                         \
	FAMILY(SCATTER, scatter)                                                                                       \
	FAMILY(PAD, pad)                                                                                               \
	FAMILY(COL2IM, col2im)                                                                                         \
	FAMILY(DEPTH_SPACE, depth_space)                                                                               \
	FAMILY(TRILU, trilu)                                                                                           \
	FAMILY(ONE_HOT, one_hot)                                                                                       \
	FAMILY(REVERSE_SEQUENCE, reverse_sequence)                                                                     \
	FAMILY(RESIZE, resize)                                                                                         \
	FAMILY(SHAPE_OF, shape_of)                                                                                     \
	FAMILY(EYE_LIKE, eye_like)                                                                                     \
	FAMILY(RANDOM, random)                                                                                         \
	FAMILY(CONSTANT, constant)                                                                                     \
	FAMILY(QUANTISE, quantise)                                                                                     \
	FAMILY(CAST, cast)                                                                                             \
	FAMILY(SIGNAL, signal)                                                                                         \
	FAMILY(AFFINE_GRID, affine_grid)

#ifdef __cplusplus
}
#endif

#endif
