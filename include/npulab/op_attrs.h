/* SPDX-License-Identifier: MIT
 *
 * The attributes of operators: a struct for each family of operators. struct npl_attrs of npulab/op.h holds one of
 * them, that of the operator's family, which a column of npulab/ops.def names. An operator's function `attrs` reads
 * them from a model, with the defaults that stand here. Its function `shape` completes what follows from the inputs,
 * and makes axes that count from the end count from the first dimension.
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

/* A sliding window over the spatial dimensions, which convolutions and poolings have (npl_op_window). The shape rule
 * resolves auto_pad and fills in what the model left out, so that devices see plain numbers. Index 0 is height, 1
 * width, and NPL_DEPTH depth, which counts at rank 3 alone; height is unused at rank 1 (kernel 1). Only the
 * reference kernels know rank 3: devices refuse it. */
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
	/* Channels and filters fall into so many parts, which ONNX calls `group`; 1 by default. */
	int64_t groups;
	/* Every output position has kernels of its own (layer.h). ONNX has no such operator; false by default. */
	bool private_kernels;
	/* ConvTranspose adds so many positions at the end of its output; 0 by default. The shape rule makes this
	 * agree with output_shape. */
	int64_t output_padding[NPL_VOLUME];
	/* The model asks ConvTranspose for so many positions; 0 where it does not, and after the shape rule. */
	int64_t output_shape[NPL_VOLUME];
};

/* MaxPool, AveragePool, LpPool, their Global forms, and MaxUnpool. The window of a Global form is the whole image,
 * which the shape rule sets. */
struct npl_pool_attrs {
	struct npl_window window;
	/* The exponent of LpPool's norm is at least 1; 2 by default. */
	int64_t p;
	/* MaxPool's indices count the first spatial dimension fastest (`storage_order` 1); false by default. */
	bool column_major;
};

/* Gemm: y = alpha * a * b + beta * c, where a and b may be transposed. The factors are 1 by default, the others
 * false. */
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

/* RNN, GRU and LSTM. Flags are false by default. */
struct npl_recurrent_attrs {
	enum { NPL_FORWARD, NPL_REVERSE, NPL_BIDIRECTIONAL } direction;
	/* The state has so many values (`hidden_size`); 0, the default, is as many as the weights say. */
	int64_t hidden;
	/* The batch is the first dimension, before the steps (`layout` 1). */
	bool batch_first;
	/* The arguments of activations are limited to -clip..clip. */
	bool clips;
	float clip;
	/* LSTM has one gate for input and forgetting: one is 1 less the other. */
	bool input_forget;
	/* GRU applies the reset gate behind the recurrent product, not before. */
	bool linear_before_reset;
	/* Each direction has the functions f, g and h of ONNX. */
	struct npl_cell_activation activation[2][3];
};

/* Attention. */
struct npl_attention_attrs {
	/* No row looks at rows after it (`is_causal`); false by default. */
	bool causal;
	/* q and k have so many heads (`q_num_heads`, `kv_num_heads`); 0 where they are not given, until the shape
	 * rule. */
	int64_t q_heads, kv_heads;
	/* The fourth output is this stage of the scores, 0 to 3 (`qk_matmul_output_mode`); 0 by default. */
	int64_t shown;
	/* The scores are multiplied by this; 0 where it is not given, until the shape rule. */
	float scale;
	/* Scores are kept within -softcap..softcap; 0, the default, is no limit. */
	float softcap;
	/* The Softmax has this type (`softmax_precision`); NPL_DTYPES, the default, is that of the inputs. */
	enum npl_dtype softmax_type;
};

/* RotaryEmbedding. */
struct npl_rotary_attrs {
	/* The elements of a pair are neighbours, not half of the turned part apart; false by default. */
	bool interleaved;
	/* An input of three dimensions has so many heads (`num_heads`); 0, the default, for one of four. */
	int64_t heads;
	/* So many elements of a head are turned (`rotary_embedding_dim`); 0, the default, is all, which the shape
	 * rule sets. */
	int64_t turned;
};

/* BatchNormalization, LayerNormalization, RMSNormalization, GroupNormalization, InstanceNormalization,
 * MeanVarianceNormalization and LpNormalization. */
struct npl_norm_attrs {
	/* This is added to the variance, except the last two operators; 1e-5 by default. */
	float epsilon;
	/* LayerNormalization and RMSNormalization begin at this dimension, LpNormalization takes it alone; -1 by
	 * default. */
	int64_t axis;
	/* The channels of GroupNormalization fall into so many parts (`num_groups`), at least 1; there is no
	 * default. */
	int64_t groups;
	/* The exponent of LpNormalization's norm is 1 or 2; 2 by default. */
	int64_t p;
	/* MeanVarianceNormalization takes these dimensions; 0, 2 and 3 by default. */
	int n_axes;
	int64_t axes[NPL_MAX_RANK];
	/* BatchNormalization takes the statistics of the batch (`training_mode`); false by default. */
	bool training;
	/* BatchNormalization has statistics for each element, not for each channel (`spatial` 0); false by default. */
	bool per_element;
	/* The statistics before have this share in the new ones of BatchNormalization in training; 0.9 by default. */
	float momentum;
};

/* LRN: y = x / (bias + alpha / size * sum of squares of `size` channels)^beta. */
struct npl_lrn_attrs {
	int64_t size;            /* The window has so many channels, at least 1; there is no default. */
	float alpha, beta, bias; /* They are 1e-4, 0.75 and 1 by default. */
	/* The factor that a device makes (layer.h) was never less than this in calibration; 0 where that is not
	 * known. */
	float least_factor;
};

/* Operators of one operand, element by element. Those without attributes have zeros. */
struct npl_unary_attrs {
	union {
		/* LeakyRelu has 0.01 by default, Elu, Celu and ThresholdedRelu 1, Selu 1.6733, HardSigmoid 0.2. */
		float alpha;
		/* Shrink makes 0 of values within -lambd..lambd; 0.5 by default. */
		float lambd;
	};
	union {
		/* HardSigmoid adds this; 0.5 by default. */
		float beta;
		/* Selu multiplies its result by this; 1.0507 by default. */
		float gamma;
	};
	/* Shrink brings the other values so much nearer to 0; 0 by default. */
	float bias;
	/* Gelu is computed by tanh, not by erf (`approximate`); false by default. */
	bool tanh;
	/* IsInf finds these infinities; true by default. */
	bool detect_negative, detect_positive;
};

/* Operators of two operands that broadcast, and Pow. */
struct npl_binary_attrs {
	/* Before opset 7 the second operand may be smaller (`broadcast`); false by default. */
	bool legacy_broadcast;
	/* The dimensions of such an operand begin at this one of the first's; -1, the default, has the last ones
	 * meet. */
	int64_t axis;
	/* Mod's result has the sign of the dividend, not of the divisor; false by default. */
	bool fmod;
	/* BitShift goes to the left (`direction`); there is no default. */
	bool to_left;
};

/* Clip. */
struct npl_clip_attrs {
	/* Both limits are constant: attributes before opset 11, constant inputs, or absent. */
	bool known;
	/* These are the limits where they are known; infinities by default. */
	float min, max;
};

/* Operators along one axis without other attributes: Softmax, LogSoftmax and Hardmax (-1 by default, before opset
 * 13: 1), Concat (there is no default), Flatten (1) and Compress (INT64_MIN, which is no axis but all elements). */
struct npl_along_attrs {
	int64_t axis;
};

/* ReduceSum and its like. */
struct npl_reduce_attrs {
	/* A reduced dimension stays, as one of 1 (`keepdims`); true by default. */
	bool keep_dims;
	/* No axes means none of them, not all (`noop_with_empty_axes`); false by default. */
	bool empty_is_none;
	/* These dimensions are reduced; there are none where n_axes is 0 or less. */
	int n_axes;
	int64_t axes[NPL_MAX_RANK];
};

/* ArgMax and ArgMin. */
struct npl_arg_attrs {
	/* This dimension is searched; 0 by default. */
	int64_t axis;
	/* The searched dimension stays, as one of 1 (`keepdims`); true by default. */
	bool keep_dims;
	/* The last of equal elements is taken, not the first (`select_last_index`); false by default. */
	bool select_last;
};

/* TopK. */
struct npl_topk_attrs {
	/* This dimension is searched; -1 by default. */
	int64_t axis;
	/* So many elements of it are taken. They are an attribute before opset 10 and an input from then on. */
	int64_t k;
	/* The greatest are taken, not the least; true by default. */
	bool largest;
	/* A sort compares each element so often. The shape rule sets this, to the logarithm of the number of
	 * elements. */
	int64_t comparisons;
};

/* CumSum. Flags are false by default. */
struct npl_cumsum_attrs {
	bool exclusive; /* A sum leaves out the element at its own place. */
	bool reverse;   /* Sums begin at the end. */
};

/* Einsum. */
struct npl_einsum_attrs {
	const char *equation; /* It is borrowed from the model; there is no default. */
};

/* Slice, as the model gives it, and as the shape rule completes it for every dimension of the input. */
struct npl_slice_attrs {
	int n; /* The model names so many dimensions. */
	int64_t starts[NPL_MAX_RANK], ends[NPL_MAX_RANK], axes[NPL_MAX_RANK], steps[NPL_MAX_RANK];
	/* For each dimension of the input: the element taken first, and how many further the next one is. */
	int64_t first[NPL_MAX_RANK], step[NPL_MAX_RANK];
};

/* Split. */
struct npl_split_attrs {
	/* This dimension is cut; 0 by default. */
	int64_t axis;
	/* There are so many parts, from opset 18 on; 0 where that is not given. */
	int64_t num_outputs;
	/* The parts have these sizes, in elements (`split`, before opset 13), borrowed from the model; n_sizes is 0
	 * where they are no attribute. */
	int n_sizes;
	const int64_t *sizes;
};

/* Reshape. */
struct npl_reshape_attrs {
	/* This shape is asked for. -1 is what is left, 0 the input's dimension. */
	int rank;
	int64_t shape[NPL_MAX_RANK];
	/* 0 is an empty dimension instead (`allowzero`); false by default. */
	bool allow_zero;
};

/* Transpose. */
struct npl_transpose_attrs {
	/* The dimensions of `perm` are so many; 0 where it is not given, until the shape rule. */
	int rank;
	/* Dimension d of the result is dimension perm[d] of the input; the order is reversed by default. */
	int64_t perm[NPL_MAX_RANK];
};

/* Unsqueeze, which counts the dimensions of its result, Squeeze and CenterCropPad. */
struct npl_axes_attrs {
	int n; /* It is -1 where no axes are named: Squeeze takes all of 1, CenterCropPad all. */
	int64_t axis[NPL_MAX_RANK];
};

/* Gather, GatherElements and GatherND. */
struct npl_gather_attrs {
	/* The indices of Gather and GatherElements name elements of this dimension; 0 by default. */
	int64_t axis;
	/* GatherND's data and indices have so many first dimensions in common; 0 by default. */
	int64_t batch_dims;
};

/* Scatter, ScatterElements and ScatterND. */
struct npl_scatter_attrs {
	/* The indices name elements of this dimension, except ScatterND; 0 by default. */
	int64_t axis;
	/* An update 0 replaces the element (the default), 1 is added, 2 multiplied, or stays if it is 3 greater, 4
	 * lesser. */
	int reduction;
};

/* Pad. */
struct npl_pad_attrs {
	/* The mode is 0 constant (the default), 1 reflect, 2 edge or 3 wrap. */
	int mode;
	/* The constant is this before opset 11, 0 by default; an input has it from then on. */
	float value;
	/* The pads that are known are so many, two for each dimension; -1 for none, until the shape rule. */
	int n;
	/* So many elements are added at each end; negative ones are cut off. */
	int64_t before[NPL_MAX_RANK], after[NPL_MAX_RANK];
};

/* Col2Im: its window, of as many dimensions as the image has. Strides and dilations are 1 and pads 0 by default. */
struct npl_col2im_attrs {
	int rank;
	int64_t image[NPL_MAX_RANK], kernel[NPL_MAX_RANK];
	int64_t stride[NPL_MAX_RANK], dilation[NPL_MAX_RANK], pad_begin[NPL_MAX_RANK], pad_end[NPL_MAX_RANK];
};

/* DepthToSpace and SpaceToDepth. */
struct npl_depth_space_attrs {
	/* A square of the picture has sides of so many elements (`blocksize`), at least 1; there is no default. */
	int64_t block;
	/* DepthToSpace takes squares from the outer part of the channels (0, DCR, the default) or the inner one (1,
	 * CRD). */
	int mode;
};

/* Trilu. */
struct npl_trilu_attrs {
	bool upper; /* The upper triangle stays, not the lower; true by default. */
};

/* OneHot. */
struct npl_one_hot_attrs {
	/* The result has this dimension more than the indices; -1 by default. */
	int64_t axis;
	/* It has so many elements. The shape rule takes them from an input. */
	int64_t depth;
};

/* ReverseSequence. */
struct npl_reverse_sequence_attrs {
	/* One of the first two dimensions has the steps, 0 by default, and the other the sequences. */
	int64_t time_axis, batch_axis;
};

/* Resize and Upsample. Flags are false by default. Arrays are what the shape rule completes for every dimension. */
struct npl_resize_attrs {
	/* The mode is 0 nearest (the default), 1 linear or 2 cubic. */
	int mode;
	/* These are places in the lists of resize.c: of `coordinate_transformation_mode`, half_pixel by default and
	 * asymmetric before opset 11, of `nearest_mode`, round_prefer_floor by default, and of
	 * `keep_aspect_ratio_policy`, stretch by default. */
	int transform, nearest, policy;
	/* The cubic filter has this parameter (`cubic_coeff_a`); -0.75 by default. */
	float cubic_a;
	/* A position outside of the input has this value (`extrapolation_value`); 0 by default. */
	float outside;
	/* Neighbours outside of the input have no weight. */
	bool exclude_outside;
	/* The filter is stretched where a dimension is made smaller. */
	bool antialias;
	/* The other inputs are about these dimensions; about all where n_axes is 0 or less. */
	int n_axes;
	int64_t axes[NPL_MAX_RANK];
	/* Before opset 9 so many of `scale` are an attribute; 0 where they are an input. */
	int n_scales;
	/* So many elements of the input are weighed for one of the output. The shape rule sets this. */
	int64_t neighbours;
	/* The scale is the model's, or that of the sizes that it asks for. */
	double scale[NPL_MAX_RANK];
	/* half_pixel_symmetric moves positions by this. */
	double shift[NPL_MAX_RANK];
	/* The output has this length before it is cut to an integer. */
	double length[NPL_MAX_RANK];
	/* tf_crop_and_resize takes this part, as shares of the input. */
	double from[NPL_MAX_RANK], to[NPL_MAX_RANK];
};

/* Shape and Size: the dimensions start..end - 1 are given, negative ones counting from the end. */
struct npl_shape_of_attrs {
	int64_t start, end; /* They are 0 and INT64_MAX by default. */
};

/* EyeLike. */
struct npl_eye_like_attrs {
	/* The result has this type; NPL_DTYPES, the default, is that of the input. */
	enum npl_dtype dtype;
	/* The diagonal lies so many columns to the right; 0 by default. */
	int64_t k;
};

/* RandomNormal, RandomUniform and their Like forms. */
struct npl_random_attrs {
	struct npl_random_law law;
	/* The result has this type, float32 by default; NPL_DTYPES, the default of a Like form, is that of the
	 * input. */
	enum npl_dtype dtype;
	/* This shape is asked for, but of the Like forms; there is no default. */
	int rank;
	int64_t shape[NPL_MAX_RANK];
};

/* Constant and ConstantOfShape. */
struct npl_constant_attrs {
	/* The value is borrowed from the model. That of ConstantOfShape is one element, and float32 0 where it has
	 * no data. */
	struct npl_tensor value;
};

/* QuantizeLinear and DequantizeLinear. */
struct npl_quantise_attrs {
	/* Scales and zero points that are vectors lie along this dimension; 1 by default. */
	int64_t axis;
	/* The result has this type (`output_dtype`); NPL_DTYPES, the default, is that of the zero point, or of the
	 * scale. */
	enum npl_dtype to;
	/* QuantizeLinear rounds the quotient to this type; NPL_DTYPES, the default, is that of the scale. */
	enum npl_dtype precision;
};

/* Cast and CastLike, which has no attribute. */
struct npl_cast_attrs {
	enum npl_dtype to; /* The result of Cast has this type; there is no default. */
};

/* DFT, STFT, HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix. */
struct npl_signal_attrs {
	/* DFT transforms this dimension; -2 by default, before opset 20: 1. */
	int64_t axis;
	/* A transform of DFT or STFT has so many points. The shape rule sets this. */
	int64_t length;
	/* A frame of STFT begins so many samples after the one before. The shape rule sets this. */
	int64_t frame_step;
	/* DFT goes from the spectrum to the signal; false by default. */
	bool inverse;
	/* Half of the spectrum is given (`onesided`); by default false for DFT and true for STFT. */
	bool one_sided;
	/* A window's period is all of its samples, not one less; true by default. */
	bool periodic;
	/* A window or MelWeightMatrix has this type (`output_datatype`); float32 by default. */
	enum npl_dtype dtype;
};

/* AffineGrid. */
struct npl_affine_grid_attrs {
	/* Coordinates run from centre to centre of the outer elements, not from edge to edge; false by default. */
	bool align_corners;
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
