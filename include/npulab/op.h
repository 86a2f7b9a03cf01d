/* SPDX-License-Identifier: MIT
 *
 * Operators: what the graph's nodes and the devices' layers are made of. The list is npulab/ops.def, one row
 * each; everything about an operator (its ONNX attributes, its shape rule, its float reference kernel, its
 * MAC count) stands in one file of core/ops/. The kernels are the definition of what an operator computes:
 * the reference device, the modelled host and constant folding all call them.
 */
#ifndef NPULAB_OP_H
#define NPULAB_OP_H

#include "npulab/arena.h"
#include "npulab/random.h"
#include "npulab/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum npl_op {
#define NPL_OP(id, onnx_name, min_in, max_in, outputs, family, flags, cost) NPL_OP_##id,
#include "npulab/ops.def"
#undef NPL_OP
	NPL_OPS
};

#define NPL_MAX_OUTPUTS 64
#define NPL_SPATIAL     2 /* height and width; 1-D operators run as 2-D with a leading 1 */
#define NPL_DEPTH       2 /* index of the third spatial dimension, the outermost of a model that has three */
#define NPL_VOLUME      3 /* spatial dimensions with it */

enum npl_auto_pad { NPL_PAD_NOTSET, NPL_PAD_SAME_UPPER, NPL_PAD_SAME_LOWER, NPL_PAD_VALID };

/* A sliding window over the spatial dimensions, shared by convolution and pooling. The shape rule resolves
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

/* Slice as the model gives it, and as the shape rule completes it for every dimension of the input. */
struct npl_slice {
	int n; /* dimensions that the model names */
	int64_t starts[NPL_MAX_RANK], ends[NPL_MAX_RANK], axes[NPL_MAX_RANK], steps[NPL_MAX_RANK];
	int64_t first[NPL_MAX_RANK],
		step[NPL_MAX_RANK]; /* per dimension: the element taken first, the way to the next */
};

/* Resize and Upsample, as the shape rule completes them for every dimension. */
struct npl_resize {
	int transform; /* coordinate_transformation_mode, nearest_mode: places in the lists of resize.c */
	int nearest;
	float cubic_a, outside; /* cubic_coeff_a, extrapolation_value */
	bool exclude_outside;
	bool antialias;              /* the filter is stretched where a dimension is made smaller */
	int policy;                  /* keep_aspect_ratio_policy: the place in its list */
	int n_axes;                  /* in the attributes' list: what the inputs are about; 0 or less: all */
	double shift[NPL_MAX_RANK];  /* of positions: half_pixel_symmetric */
	double scale[NPL_MAX_RANK];  /* of the model, or of the sizes that it asks for */
	double length[NPL_MAX_RANK]; /* of the output before it is cut to an integer */
	double from[NPL_MAX_RANK], to[NPL_MAX_RANK]; /* the part taken, as shares: tf_crop_and_resize */
};

/* ConvTranspose beside its window: output = (input - 1) * stride + extent - pads + output_padding. */
struct npl_output_size {
	int64_t padding
		[NPL_VOLUME]; /* output_padding; the shape rule makes it agree with a shape that the model asks for */
	int64_t shape[NPL_VOLUME]; /* output_shape; 0: not given, or resolved */
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
struct npl_recurrent {
	enum { NPL_FORWARD, NPL_REVERSE, NPL_BIDIRECTIONAL } direction;
	int64_t hidden;   /* 0: as the weights say */
	bool batch_first; /* layout 1 */
	bool clips;       /* arguments of activations to -clip..clip */
	float clip;
	bool input_forget;                           /* LSTM: one gate for both */
	bool linear_before_reset;                    /* GRU */
	struct npl_cell_activation activation[2][3]; /* per direction f, g, h */
};

/* Attention, as the shape rule completes it. */
struct npl_attention {
	bool causal;
	int64_t q_heads, kv_heads;   /* 0: not given; known behind the shape rule */
	int64_t shown;               /* qk_matmul_output_mode: what the fourth output is */
	float scale, softcap;        /* scale 0: not given, until the shape rule; softcap 0: none */
	enum npl_dtype softmax_type; /* NPL_DTYPES: that of the inputs */
};

/* Col2Im: its window, of as many dimensions as the image has. */
struct npl_blocks {
	int rank;
	int64_t image[NPL_MAX_RANK], kernel[NPL_MAX_RANK];
	int64_t stride[NPL_MAX_RANK], dilation[NPL_MAX_RANK], pad_begin[NPL_MAX_RANK], pad_end[NPL_MAX_RANK];
};

/* Attributes of a node after parsing; which member holds depends on the operator's family. */
struct npl_attrs {
	enum npl_op op;                     /* whose they are: set by npl_op_attrs, npl_op_shape and npl_op_run */
	int64_t groups;                     /* Conv, GroupNormalization */
	struct npl_output_size output_size; /* ConvTranspose */
	bool column_major;                  /* MaxPool: its indices count the first spatial dimension fastest */
	int64_t p;                          /* LpPool, LpNormalization */
	struct npl_recurrent recurrent;     /* RNN, GRU, LSTM */
	bool training;                      /* BatchNormalization: by the statistics of the batch */
	bool per_element;                   /* BatchNormalization: statistics for every element (spatial=0) */
	float momentum;                     /* BatchNormalization in training */
	bool private_kernels; /* Conv: every output position has kernels of its own (layer.h); ONNX has no such operator */
	struct npl_window window; /* Conv, MaxPool, AveragePool (also set by the rule of GlobalAveragePool) */
	float alpha, beta; /* Gemm, LRN; LeakyRelu and its like: alpha, Shrink lambd; HardSigmoid beta, Selu gamma */
	bool trans_a, trans_b; /* Gemm */
	int64_t axis;          /* Softmax, Concat, Flatten, Split, legacy broadcast */
	float bias;            /* LRN, Shrink */
	int64_t size;          /* LRN; RotaryEmbedding: elements that are turned; DFT, STFT: length of the transform */
	float epsilon;         /* BatchNormalization, LayerNormalization and its kind */
	int n_list;            /* Transpose perm, Unsqueeze axes, legacy Reshape shape, RandomNormal shape, Split */
	int64_t list[NPL_MAX_RANK];
	struct npl_slice slice;    /* Slice */
	const int64_t *split;      /* Split: sizes given as an attribute, n_list of them; borrowed from the model */
	float low, high;           /* Clip, where limits_known: they are constant */
	bool limits_known;         /* Clip */
	struct npl_random_law law; /* RandomNormal, RandomUniform and their Like */
	bool allow_zero;           /* Reshape */
	bool legacy_broadcast;     /* Add, Mul and their like before opset 7 with broadcast=1 */
	bool negative, positive;   /* IsInf: which infinities count */
	bool fmod;                 /* Mod: the sign of the dividend, not of the divisor */
	bool to_left;              /* BitShift */
	/* Cast, HannWindow and its like, MelWeightMatrix; NPL_DTYPES where the model names none: QuantizeLinear, DequantizeLinear */
	enum npl_dtype to;
	enum npl_dtype precision; /* QuantizeLinear: of the quotient; NPL_DTYPES: the scale's type */
	int mode; /* Pad, DepthToSpace, Scatter*, Resize: the place of the word in the list of the operator's file */
	int64_t number; /* TopK k, OneHot depth, GatherND batch_dims, EyeLike k, ReverseSequence batch_axis, Split num_outputs, RotaryEmbedding num_heads */
	bool keep_dims, select_last; /* Reduce*, ArgMax, ArgMin */
	bool empty_is_none;          /* Reduce*: no axes means none of them, not all */
	bool exclusive, reverse;     /* CumSum */
	bool variant; /* Gelu: by tanh; RotaryEmbedding: interleaved; HannWindow and its like: periodic; AffineGrid: corners
	                 are aligned; DFT: inverse */
	bool one_sided; /* DFT, STFT */
	struct npl_attention attention;
	struct npl_blocks blocks;                                  /* Col2Im */
	bool largest, upper;                                       /* TopK; Trilu */
	int64_t pad_before[NPL_MAX_RANK], pad_after[NPL_MAX_RANK]; /* Pad; negative: cut off */
	struct npl_resize resize;
	const char *equation;       /* Einsum; borrowed from the model */
	int64_t steps;              /* of the kernel per element, where more than one and no window: TopK, Resize */
	struct npl_tensor constant; /* Constant: the value; ConstantOfShape: one element */
	int opset;                  /* the model's version of the default domain; rules differ by it; 0: the newest */
};

/* One attribute as a model file gives it, before the operator has looked at it. All pointers are borrowed; attributes
 * and what they point to live as long as the graph, because Constant refers to them. */
struct npl_attr {
	const char *name;
	enum {
		NPL_ATTR_INT,
		NPL_ATTR_FLOAT,
		NPL_ATTR_STRING,
		NPL_ATTR_INTS,
		NPL_ATTR_FLOATS,
		NPL_ATTR_TENSOR,
		NPL_ATTR_STRINGS,
		NPL_ATTR_OTHER
	} type;
	int64_t i;
	float f;
	const char *s; /* NUL-terminated */
	const int64_t *ints;
	const float *floats;
	const char *const *strings;      /* NUL-terminated */
	int64_t n;                       /* of ints, floats or strings */
	const struct npl_tensor *tensor; /* borrowed for the life of the graph */
	bool used;                       /* set by the operator that understood it */
};

struct npl_attr_list {
	struct npl_attr *attr;
	int n;
};

/* Finds an attribute, marks it used, checks its type. Returns NULL when absent; a wrong type sets err and
 * returns NULL too (so check err->code, which callers zero first). */
struct npl_attr *npl_attr_find(struct npl_attr_list *list, const char *name, int type, struct npl_err *err);

enum npl_op_flags {
	NPL_OP_IS_VIEW = 1, /* output is input 0 with another shape: no data moves (Reshape, Flatten, Dropout...) */
	NPL_OP_NEEDS_VALUES = 2, /* the shape rule reads the values of constant inputs (Reshape's shape) */
	NPL_OP_KEEPS_RANGE = 4,  /* output values lie within the range of input 0's (pooling, Relu, views): a
	                            quantised output keeps its input's scale and zero point */
	NPL_OP_IS_GEMM = 8,      /* does multiply-accumulates with a weight as input 1: Conv, Gemm, MatMul */
	NPL_OP_HAS_MACS = 16,    /* does multiply-accumulates, but not as those: LSTM, ConvTranspose... */
	NPL_OP_ANY_TYPE = 32, /* knows float16 and bfloat16 itself, because it only moves elements or because types are
	                            its business; every other operator computes them as float32 */
	NPL_OP_BY_SHAPE = 64, /* results depend on the inputs' shapes and types alone: constant even where those vary;
	                          the kernel reads no data. Comes with NPL_OP_ANY_TYPE */
	NPL_OP_READS_ALL =
		128, /* with NPL_OP_NEEDS_VALUES: the shape rule reads all elements of its constant inputs, not
	                           just a list of dimensions (NonZero) */
	NPL_OP_FLOAT_STATISTICS = 256, /* results behind the first are float32 where the inputs are 16-bit floats */
};

/* What the rows of ops.def expand to. in[i] may be NULL for an optional input that is absent. */
struct npl_op_def {
	const char *name;   /* the ONNX name */
	int min_in, max_in; /* max_in -1: any number */
	int outputs;        /* at most */
	unsigned flags;     /* enum npl_op_flags */
	/* Reads the attributes of the model file into out; out->opset is set. NPL_EINPUT names the attribute. */
	int (*attrs)(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err);
	/* Sets dtype and shape of out[] from in[] (data of in[i] is NULL unless constant) and completes attrs
	 * (window padding, negative axes). NPL_EINPUT says which shapes do not fit. */
	int (*shape)(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		     int n_out, struct npl_err *err);
	/* Computes out[] (allocated, shaped) from in[]. Float kernels in cache order; exact on integers. */
	int (*run)(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		   int n_out, struct npl_err *err);
	/* Multiply-accumulates of one run; NULL: none. */
	uint64_t (*macs)(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
			 const struct npl_tensor *out);
};

extern const struct npl_op_def npl_op_defs[NPL_OPS];

/* The three functions of an operator, as everybody but the operators themselves calls them: they set attrs->op, and
 * widen the 16-bit floats for those that do not know them. */
int npl_op_attrs(enum npl_op op, struct npl_attr_list *list, struct npl_attrs *attrs, struct npl_err *err);
int npl_op_shape(enum npl_op op, struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		 struct npl_tensor *out, int n_out, struct npl_err *err);
bool npl_op_widens(enum npl_op op, const struct npl_tensor *tensor); /* NULL: no */
int npl_op_run(enum npl_op op, const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
	       struct npl_tensor *out, int n_out, struct npl_err *err);
/* An element type of ONNX, TensorProto.DataType, by its number; NULL: there is none of this number that npulab knows of. */
struct npl_element_type {
	const char *name;
	enum npl_dtype dtype; /* NPL_DTYPES: not supported */
	const char *instead;  /* what would work then */
};
const struct npl_element_type *npl_element_type(uint64_t number);

/* The opsets that npulab reads models of. */
#define NPL_FIRST_OPSET 6
#define NPL_LAST_OPSET  23

/* The versions of an operator, each by the opset that it came with, in order; from `end` on (0: never) there is none that npulab
 * understands: ONNX ended the operator then and `successor` took its place, or (NULL) npulab does not know what came. */
#define NPL_MAX_OP_VERSIONS 12
struct npl_op_versions {
	int n, end;
	const char *successor;
	int since[NPL_MAX_OP_VERSIONS];
};
extern const struct npl_op_versions npl_op_versions[NPL_OPS];
/* The version that a model of this opset means; NPL_EINPUT says why there is none and what would work. */
int npl_op_version(enum npl_op op, int opset, struct npl_err *err);

/* The operator of an ONNX name, or NPL_OPS. */
enum npl_op npl_op_find(const char *onnx_name);
/* The known operator whose name is nearest, for messages. */
const char *npl_op_nearest(const char *onnx_name);

#ifdef __cplusplus
}
#endif

#endif
