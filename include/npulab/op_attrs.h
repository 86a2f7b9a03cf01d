/* SPDX-License-Identifier: MIT
 *
 * The attributes of operators: a struct for each family of operators. struct npl_attrs of npulab/op.h holds one of
 * them, the struct of the operator's family, which a column of npulab/ops.def names. An operator's function `attrs`
 * reads them from a model, with the defaults given here. Its function `shape` sets what follows from the inputs, and
 * replaces axes that count from the end by axes that count from the first dimension.
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
#define NPL_VOLUME  3 /* number of spatial dimensions with NPL_DEPTH */

enum npl_auto_pad { NPL_PAD_NOTSET, NPL_PAD_SAME_UPPER, NPL_PAD_SAME_LOWER, NPL_PAD_VALID };

/* A sliding window over the spatial dimensions, which convolutions and poolings have (npl_op_window). The shape rule
 * resolves auto_pad and fills in what the model left out, so that devices see plain numbers. Index 0 is height, 1 is
 * width, and NPL_DEPTH is depth, which is used only at rank 3; height is unused at rank 1 (kernel 1). Only the
 * reference kernels take rank 3: devices refuse it. */
struct npl_window {
	int rank; /* spatial dimensions in the model: 1 to 3 */
	int64_t kernel[NPL_VOLUME], stride[NPL_VOLUME], dilation[NPL_VOLUME];
	int64_t pad_begin[NPL_VOLUME], pad_end[NPL_VOLUME];
	enum npl_auto_pad auto_pad;
	bool ceil_mode;         /* pooling: round the output size up */
	bool count_include_pad; /* average pooling: padding counts in the divisor */
};

/* Conv, ConvInteger, QLinearConv and ConvTranspose. Along a dimension the output of ConvTranspose has
 * (input - 1) * stride + extent of the kernel - pads + output_padding positions. */
struct npl_conv_attrs {
	struct npl_window window;
	/* The number of parts into which channels and filters are divided (`group` in ONNX); 1 by default. */
	int64_t groups;
	/* Every output position has its own kernels (layer.h). ONNX has no such operator; false by default. */
	bool private_kernels;
	/* The number of positions that ConvTranspose adds at the end of its output; 0 by default. The shape rule makes
	 * this agree with output_shape. */
	int64_t output_padding[NPL_VOLUME];
	/* The number of positions that the model asks of ConvTranspose; 0 where it asks for none, and after the shape
	 * rule. */
	int64_t output_shape[NPL_VOLUME];
};

/* MaxPool, AveragePool, LpPool, their Global forms, and MaxUnpool. The window of a Global form is the whole image,
 * which the shape rule sets. */
struct npl_pool_attrs {
	struct npl_window window;
	/* The exponent of LpPool's norm, at least 1; 2 by default. */
	int64_t p;
	/* MaxPool's indices count the first spatial dimension fastest (`storage_order` 1); false by default. */
	bool column_major;
};

/* Gemm: y = alpha * a * b + beta * c, where a and b may be transposed. alpha and beta are 1 by default, trans_a and
 * trans_b false. */
struct npl_gemm_attrs {
	float alpha, beta;
	bool trans_a, trans_b;
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

/* The direction in which RNN, GRU and LSTM go through the steps. */
enum npl_direction { NPL_FORWARD, NPL_REVERSE, NPL_BIDIRECTIONAL };

/* RNN, GRU and LSTM. Flags are false by default. */
struct npl_recurrent_attrs {
	enum npl_direction direction; /* NPL_FORWARD by default */
	/* The number of values of the state (`hidden_size`); 0, the default: as many as the weights say. */
	int64_t hidden;
	/* The batch is the first dimension, before the steps (`layout` 1). */
	bool batch_first;
	/* The arguments of activations are limited to -clip..clip. */
	bool clips;
	float clip;
	/* LSTM uses one gate for input and forgetting: the forget gate is 1 less the input gate. */
	bool input_forget;
	/* GRU applies the reset gate after the recurrent product, not before. */
	bool linear_before_reset;
	/* The functions f, g and h of ONNX, for each direction. */
	struct npl_cell_activation activation[2][3];
};

/* Attention. */
struct npl_attention_attrs {
	/* No row looks at rows after it (`is_causal`); false by default. */
	bool causal;
	/* The number of heads of q and of k (`q_num_heads`, `kv_num_heads`); 0 where the model does not give them,
	 * until the shape rule sets them. */
	int64_t q_heads, kv_heads;
	/* The stage of the scores that is the fourth output, 0 to 3 (`qk_matmul_output_mode`); 0 by default. */
	int64_t score_stage;
	/* The factor of the scores; 0 where the model does not give it, until the shape rule sets it. */
	float scale;
	/* The limit of the scores, which are kept within -softcap..softcap; 0, the default: no limit. */
	float softcap;
	/* The type in which the Softmax is computed (`softmax_precision`); NPL_DTYPES, the default: that of the
	 * inputs. */
	enum npl_dtype softmax_type;
};

/* RotaryEmbedding. */
struct npl_rotary_attrs {
	/* The elements of a pair are neighbours; otherwise they are half of the turned part apart. False by default. */
	bool interleaved;
	/* The number of heads of an input of three dimensions (`num_heads`); 0, the default, for an input of four. */
	int64_t heads;
	/* The number of elements of a head that are turned (`rotary_embedding_dim`); 0, the default: all, which the
	 * shape rule sets. */
	int64_t turned;
};

/* BatchNormalization, LayerNormalization, RMSNormalization, GroupNormalization, InstanceNormalization,
 * MeanVarianceNormalization and LpNormalization. */
struct npl_norm_attrs {
	/* The number that is added to the variance (not by the last two operators); 1e-5 by default. */
	float epsilon;
	/* The first dimension that LayerNormalization and RMSNormalization normalise, and the only one that
	 * LpNormalization does; -1 by default. */
	int64_t axis;
	/* The number of parts into which GroupNormalization divides the channels (`num_groups`), at least 1; there is
	 * no default. */
	int64_t groups;
	/* The exponent of LpNormalization's norm, 1 or 2; 2 by default. */
	int64_t p;
	/* The dimensions that MeanVarianceNormalization normalises; 0, 2 and 3 by default. */
	int n_axes;
	int64_t axes[NPL_MAX_RANK];
	/* BatchNormalization uses the statistics of the batch (`training_mode`); false by default. */
	bool training;
	/* BatchNormalization has statistics for each element, not for each channel (`spatial` 0); false by default. */
	bool per_element;
	/* The share of the former statistics in the new ones, for BatchNormalization in training; 0.9 by default. */
	float momentum;
};

/* LRN: y = x / (bias + alpha / size * sum of squares of `size` channels)^beta. */
struct npl_lrn_attrs {
	int64_t size;            /* the number of channels of the window, at least 1; there is no default */
	float alpha, beta, bias; /* 1e-4, 0.75 and 1 by default */
	/* The least factor (layer.h) that calibration saw; 0: not known. */
	float least_factor;
};

/* Operators of one operand, element by element. Members that an operator does not use are 0. */
struct npl_unary_attrs {
	union {
		/* The alpha of LeakyRelu (0.01 by default), Elu, Celu and ThresholdedRelu (1), Selu (1.6733) and
		 * HardSigmoid (0.2). */
		float alpha;
		/* Shrink replaces values within -lambd..lambd by 0; 0.5 by default. */
		float lambd;
	};
	union {
		/* The number that HardSigmoid adds; 0.5 by default. */
		float beta;
		/* The factor of Selu's result; 1.0507 by default. */
		float gamma;
	};
	/* How much nearer to 0 Shrink brings the other values; 0 by default. */
	float bias;
	/* Gelu is computed by tanh, not by erf (`approximate`); false by default. */
	bool tanh;
	/* The infinities that IsInf finds; true by default. */
	bool detect_negative, detect_positive;
};

/* Operators of two operands that broadcast, and Pow. */
struct npl_binary_attrs {
	/* Before opset 7 the second operand may be smaller (`broadcast`); false by default. */
	bool legacy_broadcast;
	/* The dimension of the first operand at which those of such an operand begin; -1, the default: the last
	 * dimensions meet. */
	int64_t axis;
	/* Mod's result has the sign of the dividend, not of the divisor; false by default. */
	bool fmod;
	/* BitShift shifts to the left (`direction`); there is no default. */
	bool to_left;
};

/* Clip. */
struct npl_clip_attrs {
	/* Both limits are constant: attributes before opset 11, constant inputs, or absent. */
	bool known;
	/* The limits, where they are known; infinities by default. */
	float min, max;
};

/* Operators along one axis without other attributes: Softmax, LogSoftmax and Hardmax (-1 by default, before opset 13:
 * 1), Concat (no default), Flatten (1) and Compress (INT64_MIN, which stands for all elements instead of an axis). */
struct npl_along_attrs {
	int64_t axis;
};

/* ReduceSum and the other reductions. */
struct npl_reduce_attrs {
	/* A reduced dimension stays, as one of 1 (`keepdims`); true by default. */
	bool keep_dims;
	/* Without axes, no dimension is reduced, instead of all (`noop_with_empty_axes`); false by default. */
	bool empty_is_none;
	/* The dimensions that are reduced; none where n_axes is 0 or less. */
	int n_axes;
	int64_t axes[NPL_MAX_RANK];
};

/* ArgMax and ArgMin. */
struct npl_arg_attrs {
	/* The dimension that is searched; 0 by default. */
	int64_t axis;
	/* The searched dimension stays, as one of 1 (`keepdims`); true by default. */
	bool keep_dims;
	/* The last of equal elements is taken, not the first (`select_last_index`); false by default. */
	bool select_last;
};

/* TopK. */
struct npl_topk_attrs {
	/* The dimension that is searched; -1 by default. */
	int64_t axis;
	/* The number of elements that are taken: an attribute before opset 10, an input from then on. */
	int64_t k;
	/* The greatest are taken, not the least; true by default. */
	bool largest;
	/* How often a sort compares each element: the logarithm of the number of elements, which the shape rule
	 * sets. */
	int64_t comparisons;
};

/* CumSum. Flags are false by default. */
struct npl_cumsum_attrs {
	bool exclusive; /* a sum leaves out the element at its own place */
	bool reverse;   /* sums begin at the end */
};

/* Einsum. */
struct npl_einsum_attrs {
	const char *equation; /* borrowed from the model; there is no default */
};

/* Slice, as the model gives it, and as the shape rule completes it for every dimension of the input. */
struct npl_slice_attrs {
	int n; /* the number of dimensions that the model names */
	int64_t starts[NPL_MAX_RANK], ends[NPL_MAX_RANK], axes[NPL_MAX_RANK], steps[NPL_MAX_RANK];
	/* For each dimension of the input: the first element taken, and the distance to the next one. */
	int64_t first[NPL_MAX_RANK], step[NPL_MAX_RANK];
};

/* Split. */
struct npl_split_attrs {
	/* The dimension that is cut; 0 by default. */
	int64_t axis;
	/* The number of parts, from opset 18 on; 0: not given. */
	int64_t num_outputs;
	/* The sizes of the parts in elements (`split`, before opset 13), borrowed from the model; n_sizes is 0 where
	 * they are no attribute. */
	int n_sizes;
	const int64_t *sizes;
};

/* Reshape. */
struct npl_reshape_attrs {
	/* The shape that the model asks for: -1 is the rest of the elements, 0 the input's dimension. */
	int rank;
	int64_t shape[NPL_MAX_RANK];
	/* 0 means an empty dimension instead (`allowzero`); false by default. */
	bool allow_zero;
};

/* Transpose. */
struct npl_transpose_attrs {
	/* The number of dimensions of `perm`; 0 where the model does not give it, until the shape rule sets it. */
	int rank;
	/* Dimension d of the result is dimension perm[d] of the input; the order is reversed by default. */
	int64_t perm[NPL_MAX_RANK];
};

/* Unsqueeze, which counts the dimensions of its result, Squeeze and CenterCropPad. */
struct npl_axes_attrs {
	int n; /* -1: the model names no axes. Squeeze then takes all dimensions of 1, CenterCropPad all dimensions. */
	int64_t axis[NPL_MAX_RANK];
};

/* Gather, GatherElements and GatherND. */
struct npl_gather_attrs {
	/* The dimension whose elements the indices of Gather and GatherElements name; 0 by default. */
	int64_t axis;
	/* The number of first dimensions that GatherND's data and indices have in common; 0 by default. */
	int64_t batch_dims;
};

/* What an update of Scatter does to the element at its place. */
enum npl_scatter_reduction {
	NPL_SCATTER_REPLACE,
	NPL_SCATTER_ADD,
	NPL_SCATTER_MULTIPLY,
	NPL_SCATTER_MAX, /* the greater of both stays */
	NPL_SCATTER_MIN  /* the lesser of both stays */
};

/* Scatter, ScatterElements and ScatterND. */
struct npl_scatter_attrs {
	/* The dimension whose elements the indices of Scatter and ScatterElements name; 0 by default. */
	int64_t axis;
	enum npl_scatter_reduction reduction; /* NPL_SCATTER_REPLACE by default */
};

/* What Pad puts around a tensor: a constant, the mirror image without the edge itself, the edge, or the tensor
 * again. */
enum npl_pad_mode { NPL_PAD_MODE_CONSTANT, NPL_PAD_MODE_REFLECT, NPL_PAD_MODE_EDGE, NPL_PAD_MODE_WRAP };

/* Pad. */
struct npl_pad_attrs {
	enum npl_pad_mode mode; /* NPL_PAD_MODE_CONSTANT by default */
	/* The constant before opset 11, 0 by default; from then on it is an input. */
	float value;
	/* The number of pads that are known, two for each dimension; -1: none, until the shape rule sets them. */
	int n;
	/* The number of elements that are added at each end; negative numbers cut elements off. */
	int64_t pad_begin[NPL_MAX_RANK], pad_end[NPL_MAX_RANK];
};

/* Col2Im: its window, which has as many dimensions as the image. Strides and dilations are 1 and pads 0 by default. */
struct npl_col2im_attrs {
	int rank;
	int64_t image[NPL_MAX_RANK], kernel[NPL_MAX_RANK];
	int64_t stride[NPL_MAX_RANK], dilation[NPL_MAX_RANK], pad_begin[NPL_MAX_RANK], pad_end[NPL_MAX_RANK];
};

/* The part of the channels from which DepthToSpace takes squares: the outer one (DCR) or the inner one (CRD). */
enum npl_depth_space_mode { NPL_DCR, NPL_CRD };

/* DepthToSpace and SpaceToDepth. */
struct npl_depth_space_attrs {
	/* The number of elements of a square's side (`blocksize`), at least 1; there is no default. */
	int64_t block;
	enum npl_depth_space_mode mode; /* NPL_DCR by default */
};

/* Trilu. */
struct npl_trilu_attrs {
	bool upper; /* the upper triangle is kept, not the lower; true by default */
};

/* OneHot. */
struct npl_one_hot_attrs {
	/* The dimension that the result has in addition to those of the indices; -1 by default. */
	int64_t axis;
	/* The number of elements of that dimension, which the shape rule takes from an input. */
	int64_t depth;
};

/* ReverseSequence. */
struct npl_reverse_sequence_attrs {
	/* The dimension of the steps, 0 by default, and that of the sequences: the first two dimensions. */
	int64_t time_axis, batch_axis;
};

/* How Resize makes an element of its neighbours (`mode`). */
enum npl_resize_mode { NPL_RESIZE_NEAREST, NPL_RESIZE_LINEAR, NPL_RESIZE_CUBIC };

/* Which position in the input belongs to a position of the output (`coordinate_transformation_mode`). */
enum npl_resize_transform {
	NPL_RESIZE_HALF_PIXEL,
	NPL_RESIZE_ASYMMETRIC,
	NPL_RESIZE_ALIGN_CORNERS,
	NPL_RESIZE_PYTORCH_HALF_PIXEL,
	NPL_RESIZE_TF_HALF_PIXEL_FOR_NN,
	NPL_RESIZE_TF_CROP_AND_RESIZE,
	NPL_RESIZE_HALF_PIXEL_SYMMETRIC
};

/* Which element is the nearest to a position between two (`nearest_mode`). */
enum npl_resize_nearest {
	NPL_RESIZE_ROUND_PREFER_FLOOR,
	NPL_RESIZE_ROUND_PREFER_CEIL,
	NPL_RESIZE_FLOOR,
	NPL_RESIZE_CEIL,
	NPL_RESIZE_BEFORE_11 /* the next element where a dimension is made smaller, else the one before */
};

/* What becomes of the aspect ratio where sizes are given (`keep_aspect_ratio_policy`). */
enum npl_resize_policy { NPL_RESIZE_STRETCH, NPL_RESIZE_NOT_LARGER, NPL_RESIZE_NOT_SMALLER };

/* Resize and Upsample. Flags are false by default. The shape rule completes the arrays for every dimension. */
struct npl_resize_attrs {
	enum npl_resize_mode mode;           /* NPL_RESIZE_NEAREST by default */
	enum npl_resize_transform transform; /* NPL_RESIZE_HALF_PIXEL by default, before opset 11 asymmetric */
	enum npl_resize_nearest nearest;     /* NPL_RESIZE_ROUND_PREFER_FLOOR by default */
	enum npl_resize_policy policy;       /* NPL_RESIZE_STRETCH by default */
	/* The parameter of the cubic filter (`cubic_coeff_a`); -0.75 by default. */
	float cubic_a;
	/* The value of positions outside of the input (`extrapolation_value`); 0 by default. */
	float extrapolation_value;
	/* Neighbours outside of the input have no weight. */
	bool exclude_outside;
	/* The filter is stretched where a dimension is made smaller. */
	bool antialias;
	/* The dimensions that the other inputs give values for; all where n_axes is 0 or less. */
	int n_axes;
	int64_t axes[NPL_MAX_RANK];
	/* The number of elements of `scale` that are an attribute (before opset 9); 0 where they are an input. */
	int n_scales;
	/* The number of input elements that are weighed for one output element; the shape rule sets it. */
	int64_t neighbours;
	/* The scale that the model gives, or that follows from the sizes it asks for. */
	double scale[NPL_MAX_RANK];
	/* The distance by which half_pixel_symmetric moves positions. */
	double shift[NPL_MAX_RANK];
	/* The length of the output before it is cut to an integer. */
	double length[NPL_MAX_RANK];
	/* The part of the input that tf_crop_and_resize takes, as shares of the input's length. */
	double from[NPL_MAX_RANK], to[NPL_MAX_RANK];
};

/* Shape and Size: they give dimensions start..end - 1; negative numbers count from the end. */
struct npl_shape_of_attrs {
	int64_t start, end; /* 0 and INT64_MAX by default */
};

/* EyeLike. */
struct npl_eye_like_attrs {
	/* The type of the result; NPL_DTYPES, the default: that of the input. */
	enum npl_dtype dtype;
	/* How many columns to the right the diagonal is; 0 by default. */
	int64_t k;
};

/* RandomNormal, RandomUniform and their Like forms. */
struct npl_random_attrs {
	struct npl_random_law law;
	/* The type of the result, float32 by default; NPL_DTYPES, the default of a Like form: that of the input. */
	enum npl_dtype dtype;
	/* The shape that the model asks for, except in the Like forms; there is no default. */
	int rank;
	int64_t shape[NPL_MAX_RANK];
};

/* Constant and ConstantOfShape. */
struct npl_constant_attrs {
	/* The value is borrowed from the model. That of ConstantOfShape is one element; without data it is 0 in
	 * float32. */
	struct npl_tensor value;
};

/* QuantizeLinear and DequantizeLinear. */
struct npl_quantise_attrs {
	/* The dimension along which vectors of scales and zero points run; 1 by default. */
	int64_t axis;
	/* The type of the result (`output_dtype`); NPL_DTYPES, the default: that of the zero point, or of the scale. */
	enum npl_dtype to;
	/* The type to which QuantizeLinear rounds the quotient; NPL_DTYPES, the default: that of the scale. */
	enum npl_dtype precision;
};

/* Cast and CastLike, which has no attribute. */
struct npl_cast_attrs {
	enum npl_dtype to; /* the type of Cast's result; there is no default */
};

/* DFT, STFT, HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix. */
struct npl_signal_attrs {
	/* The dimension that DFT transforms; -2 by default, before opset 20: 1. */
	int64_t axis;
	/* The number of points of a transform (DFT, STFT); the shape rule sets it. */
	int64_t length;
	/* The number of samples from the beginning of one frame of STFT to that of the next; the shape rule sets it. */
	int64_t frame_step;
	/* DFT goes from the spectrum to the signal; false by default. */
	bool inverse;
	/* Half of the spectrum is given (`onesided`); by default false for DFT and true for STFT. */
	bool one_sided;
	/* The period of a window is all of its samples, not one less; true by default. */
	bool periodic;
	/* The type of a window or of MelWeightMatrix (`output_datatype`); float32 by default. */
	enum npl_dtype dtype;
};

/* AffineGrid. */
struct npl_affine_grid_attrs {
	/* Coordinates run from centre to centre of the outer elements, not from edge to edge; false by default. */
	bool align_corners;
};

/* FAMILY(name in ops.def, member of npl_attrs) for each family; its struct is npl_MEMBER_attrs. */
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
