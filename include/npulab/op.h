/* SPDX-License-Identifier: MIT
 *
 * Operators, which the graph's nodes and the devices' layers are made of. npulab/ops.def lists them, one row each; the
 * functions of an operator (its ONNX attributes, its shape rule, its float reference kernel, its MAC count) are in
 * core/ops/. The kernels are the definition of what an operator computes: the reference device, the
 * modelled host and constant folding all call them.
 */
#ifndef NPULAB_OP_H
#define NPULAB_OP_H

#include "npulab/arena.h"
#include "npulab/op_attrs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum npl_op {
	NPL_OP_NONE, /* no operator; the rows of npulab/ops.def follow */
#define NPL_OP(id, onnx_name, versions, min_in, max_in, outputs, prefix, family, flags, cost) NPL_OP_##id,
#include "npulab/ops.def"
#undef NPL_OP
	NPL_OPS
};

#define NPL_MAX_OUTPUTS 64

/* The families of attributes; npulab/ops.def names the family of each operator in a column. */
enum npl_op_family {
	NPL_FAMILY_NONE, /* operators without attributes */
#define NPL_FAMILY(upper, lower) NPL_FAMILY_##upper,
	NPL_OP_FAMILIES(NPL_FAMILY)
#undef NPL_FAMILY
};

/* Attributes of a node. The operator's family decides which member of the union is in use: a struct of
 * npulab/op_attrs.h such as `conv`. No other member may be read. */
struct npl_attrs {
	/* The operator that they belong to, which npl_op_attrs and npl_op_shape set; NPL_OP_NONE: made by hand. */
	enum npl_op op;
	int opset; /* the model's version of the default domain, which decides some rules; 0: the newest */
	union {
		/* This is the first member and as long as the longest, so that an initialiser that names no member
		 * clears all. */
		unsigned char none[sizeof(struct npl_resize_attrs)];
#define NPL_FAMILY(upper, lower) struct npl_##lower##_attrs lower;
		NPL_OP_FAMILIES(NPL_FAMILY)
#undef NPL_FAMILY
	};
};

/* One attribute as a model file gives it, before the operator has looked at it. All pointers are borrowed; attributes
 * and what they point to live as long as the graph, because Constant refers to them. */
struct npl_attr {
	const char *name;
	enum npl_attr_type {
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
	int64_t n;                       /* number of ints, floats or strings */
	const struct npl_tensor *tensor; /* borrowed for the life of the graph */
	bool used;                       /* set by the operator that read it */
};

struct npl_attr_list {
	struct npl_attr *attr;
	int n;
};

enum npl_op_flags {
	/* The output is input 0 with another shape: no data moves (Reshape, Flatten, Dropout...). */
	NPL_OP_IS_VIEW = 1 << 0,
	/* The shape rule reads the values of constant inputs (Reshape's shape). */
	NPL_OP_NEEDS_VALUES = 1 << 1,
	/* Output values lie within the range of input 0's (pooling, Relu, views): a quantised output keeps its input's
	 * scale and zero point. */
	NPL_OP_KEEPS_RANGE = 1 << 2,
	/* It does multiply-accumulates with a weight as input 1: Conv, Gemm, MatMul. */
	NPL_OP_IS_GEMM = 1 << 3,
	/* It does multiply-accumulates in another form: LSTM, ConvTranspose... */
	NPL_OP_HAS_MACS = 1 << 4,
	/* It handles float16 and bfloat16 itself, because it only moves elements or works on types. Every other
	 * operator computes them as float32. */
	NPL_OP_ANY_TYPE = 1 << 5,
	/* Results depend on the inputs' shapes and types alone: they are constant even where the inputs vary, and the
	 * kernel reads no data. Set together with NPL_OP_ANY_TYPE. */
	NPL_OP_BY_SHAPE = 1 << 6,
	/* With NPL_OP_NEEDS_VALUES: the shape rule reads all elements of its constant inputs, not just a list of
	 * dimensions (NonZero). */
	NPL_OP_READS_ALL = 1 << 7,
	/* Results after the first are float32 where the inputs are 16-bit floats. */
	NPL_OP_FLOAT_STATISTICS = 1 << 8,
	/* Each element of the result follows from the elements of the inputs at its position, after broadcasting. */
	NPL_OP_BY_ELEMENT = 1 << 9,
	/* It reads only as many elements of input 0 as it makes (Gather, Slice). */
	NPL_OP_READS_PART = 1 << 10,
	/* A device may do the activation after it in the same pass (Conv, Add). */
	NPL_OP_TAKES_ACTIVATION = 1 << 11,
	/* On devices of integers, constant inputs count for the range that its inputs share (Add, Concat). */
	NPL_OP_RANGE_OF_CONSTANTS = 1 << 12,
	/* The inputs after the first are lists and limits, which devices of integers find in the attributes (Slice;
	 * Clip where its limits are known). */
	NPL_OP_DATA_IN_FIRST = 1 << 13,
	/* Devices do it on a model's own integers too, since its results are elements of its inputs (MaxPool). */
	NPL_OP_PICKS = 1 << 14
};

/* One operator, from its row of ops.def. */
struct npl_op_def {
	const char *name;          /* the ONNX name */
	int min_in, max_in;        /* max_in -1: any number */
	int outputs;               /* the most outputs */
	enum npl_op_family family; /* the member of npl_attrs that it has */
	unsigned flags;            /* enum npl_op_flags */
};

/* The row of NPL_OP_NONE is empty. */
extern const struct npl_op_def npl_op_defs[NPL_OPS];

/* The functions of an operator. in[i] may be NULL for an optional input that is absent.
 *
 * npl_op_attrs reads the attributes of the model file; NPL_EINPUT names the attribute. It keeps only the opset of
 * attrs, and sets attrs->op as npl_op_shape does. npl_op_shape sets dtype and shape of out[] from in[] (data of in[i]
 * is NULL unless constant) and completes attrs (window padding, negative axes); NPL_EINPUT says which shapes do not
 * fit. npl_op_run computes out[] (allocated, shaped), and gives the kernel a copy of attrs where attrs->op is another
 * operator. npl_op_shape and npl_op_run widen 16-bit floats for operators that do not handle these. */
int npl_op_attrs(enum npl_op op, struct npl_attr_list *list, struct npl_attrs *attrs, struct npl_err *err);
int npl_op_shape(enum npl_op op, struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		 struct npl_tensor *out, int n_out, struct npl_err *err);
/* Says whether npl_op_run widens this tensor to float32; tensor may be NULL. */
bool npl_op_widens(enum npl_op op, const struct npl_tensor *tensor);
int npl_op_run(enum npl_op op, const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
	       struct npl_tensor *out, int n_out, struct npl_err *err);
/* Returns NPL_EINTERNAL when attrs belongs to an operator of another family than op's. Attributes of NPL_OP_NONE, as
 * in layers made by hand, are accepted. npl_op_shape, npl_op_run, npl_device_supports and npl_device_run call this. */
int npl_op_check_attrs(enum npl_op op, const struct npl_attrs *attrs, struct npl_err *err);
/* Returns the window of a convolution or pooling. NULL: the operator is neither, or attrs is NULL. */
const struct npl_window *npl_op_window(enum npl_op op, const struct npl_attrs *attrs);

/* An element type of ONNX. npl_element_type finds it by its number in TensorProto.DataType; NULL: npulab knows none of
 * this number. */
struct npl_element_type {
	const char *name;
	enum npl_dtype dtype; /* NPL_DTYPES: not supported */
	const char *instead;  /* for a type that is not supported: what would work instead */
};
const struct npl_element_type *npl_element_type(uint64_t number);
int64_t npl_element_type_number(enum npl_dtype dtype); /* of a type of tensors */

/* The first and the last opset of the models that npulab reads. */
#define NPL_FIRST_OPSET 6
#define NPL_LAST_OPSET  23

/* The n versions of an operator, each named by the opset that introduced it, in order. ONNX removed the operator in
 * opset `end` (0: never), and `successor` replaced it. */
#define NPL_MAX_OP_VERSIONS 12
struct npl_op_versions {
	int n, end;
	const char *successor;
	int since[NPL_MAX_OP_VERSIONS];
};
extern const struct npl_op_versions npl_op_versions[NPL_OPS];
/* Returns the version that a model of this opset means. NPL_EINPUT says why there is none and what would work. */
int npl_op_version(enum npl_op op, int opset, struct npl_err *err);

/* Returns the operator with an ONNX name, or NPL_OPS. */
enum npl_op npl_op_find(const char *onnx_name);
/* Returns the name of the known operator that is nearest, for messages. */
const char *npl_op_nearest(const char *onnx_name);

#ifdef __cplusplus
}
#endif

#endif
