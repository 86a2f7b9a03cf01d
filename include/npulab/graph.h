/* SPDX-License-Identifier: MIT
 *
 * A network: nodes in topological order over values (tensors between nodes). Everything lives in one arena of the
 * graph; weights inside a mapped file are referenced, not copied. A loaded graph is read-only: sessions of several
 * threads may share it.
 *
 *     struct npl_graph *graph;
 *     if (npl_graph_load("net.onnx", &(struct npl_load_options){.batch = 8}, &graph, &err)) ...
 *     npl_graph_free(graph);
 */
#ifndef NPULAB_GRAPH_H
#define NPULAB_GRAPH_H

#include "npulab/op.h"
#include "npulab/sha256.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_graph_files; /* opaque: the mapped files that constants point into */

/* The integers from which the model makes a float constant by a DequantizeLinear: scale * (q - zero). */
struct npl_model_integers {
	enum npl_dtype dtype; /* uint8, int8 or int32 */
	const void *data;     /* as many integers as the constant has elements */
	int64_t parts;        /* 1, or one scale and zero point for each index along the axis */
	int axis;
	const float *scale;  /* parts */
	const int32_t *zero; /* parts */
};

/* A value: an input, a constant or a result of a node. */
struct npl_value {
	const char *name;
	enum npl_dtype dtype;
	struct npl_shape shape;
	bool constant;
	const void *data;      /* constant: its bytes (aligned for its type); NULL until npl_value_data has made them */
	bool is_fill;          /* constant whose elements are all equal; npl_value_data makes them when asked */
	unsigned char fill[8]; /* that element */
	/* constant of random float32 or float64 elements by `law`; npl_value_data makes them when asked */
	bool is_random;
	struct npl_random_law law;
	const struct npl_model_integers *model_integers; /* constant of float32: its integers; NULL: not known */
	bool has_nan, has_infinity;                      /* constant with such elements, as far as known */
	bool of_import;      /* constant that the importer added: an infinity in it is intended */
	bool batched;        /* input: its dimension 0 counts samples */
	bool batched_inside; /* input: another dimension counts samples */
	/* constant that was computed from the shape of a value that varies, and so may depend on the batch */
	bool of_shape;
	int producer; /* node that makes it, -1 for inputs and constants */
	int uses;     /* how many inputs of nodes are this value, plus one if it is an output of the graph */
};

struct npl_node {
	const char *name; /* the model's, or "OP_INDEX" when it has none; unique */
	enum npl_op op;
	struct npl_attrs attrs;
	int n_in, n_out;
	const int *in; /* value indices; -1: optional input absent */
	const int *out;
	uint64_t macs;
};

/* Whether the samples of a graph's batch can be cut into smaller batches; found where npl_load_options.files names the
 * samples. */
struct npl_batching {
	bool known;
	bool open;            /* neither the model nor dims gives the batch */
	bool indivisible;     /* all samples of the files are one batch, because they cannot be cut */
	bool only_one;        /* the model takes no batch except 1 */
	const char *mixed_by; /* why samples cannot be cut: "node 'p' (Softmax) mixes samples"; NULL: they can */
	/* per output: the rows of its dimension 0 for each sample; 0: the output is the same in every batch */
	const int64_t *rows;
};

struct npl_graph {
	const char *name; /* file name without folder and extension */
	/* The hash of the model's file followed by the files that it names, each whole, in the order of first use. */
	char file_sha256[NPL_SHA256_HEX];
	int opset;
	int ir_version;            /* 0: not from an ONNX file */
	const char *producer_name; /* what made the model: the program that its file names ("": none), "libnpulab" */
	int64_t batch;             /* dimension 0 of the inputs that are `batched`, after --batch */
	struct npl_batching batching;
	/* The layers are not connected (a SCALE-Sim topology) and stand for the layers of a network, run one after the
	 * other. The input of each layer is in its device's format and memory, and its result stays there. */
	bool layer_list;
	int n_values;
	struct npl_value *value;
	int n_nodes;
	struct npl_node *node;
	int n_inputs, n_outputs;
	/* Value indices of the inputs that the user must give. Initialisers that the model lists as inputs are not
	 * among them. */
	const int *input;
	const int *output;
	int file_nodes;                                         /* nodes in the file, before folding */
	int folded_constants, folded_batchnorms, folded_biases; /* what folding removed */
	/* macs of all nodes; the elements of weights in use (npl_input_is_parameter), each counted once */
	uint64_t macs, parameters;
	uint64_t activations; /* elements of the values that nodes make; views (NPL_OP_IS_VIEW) make none */
	int n_warnings;       /* lines about a network that can be run but that a user should be warned of */
	const char *const *warning;
	struct npl_arena arena;
	struct npl_graph_files *files; /* private; NULL: the graph is not from an ONNX file */
};

struct npl_dim {
	const char *name; /* the model's name for a dimension, or "INPUT[I]" */
	int64_t value;    /* >= 0 */
};

/* Options of npl_graph_load. A dimension that the model leaves open, with a name or without, is taken from dims, then
 * from the known and given inputs, then from files. The batch is dimension 0 of the first input that leaves it open,
 * else of the first input, and every other dimension of the same name. Where the model gives the batch a size,
 * dimension 0 of every input of that size is the batch. An open dimension 0 of another name is the batch too, unless
 * dims, a given shape or a file of another length says otherwise. No other dimension is rewritten. A dimension that is
 * still open is an error.
 *
 * Samples that the network mixes cannot be cut into batches. They are one batch where the batch is open and files give
 * their number (npl_graph.batching). */
struct npl_load_options {
	int64_t batch;       /* > 0: rewrites the batch, and Reshapes that repeat it; 0: an open batch is 1 */
	int64_t usual_batch; /* > 0: the same, where neither batch nor dims sets the batch */
	int n_dims;
	const struct npl_dim *dims; /* NPL_EUSAGE for a name that the model does not have */
	/* Inputs whose shapes are known, dimension 0 included. They are found by the tensors' names, or by their order
	 * where the names are NULL. Their data is not read. An input for which the model gives no shape takes the given
	 * one. */
	int n_input_shapes;
	const struct npl_tensor *input_shape;
	int n_files; /* the samples that the network will run on, "[NAME=]FILE" as npl_samples_load takes them */
	const char *const *files;
	/* keep BatchNormalization, bias additions and views that change nothing (constants are still folded) */
	bool no_fold;
	/* Inputs whose values are known: they become constants (copied), found by the tensors' names. This is for
	 * models that take a shape as input, as the ONNX backend tests do. */
	int n_constant_inputs;
	const struct npl_tensor *constant_input;
};

/* Returns NPL_EINPUT, with the file's name, when the model's file or a file of its weights was written or cut since it
 * was loaded: values may be wrong then. npl_graph_load, npl_graph_run and npl_compare call this at their end; a caller
 * that runs sessions should call it after a run. */
int npl_graph_files_unchanged(const struct npl_graph *graph, struct npl_err *err);

/* Loads an ONNX file, or a SCALE-Sim topology (NAME.csv: docs/topologies.md). options may be NULL. Returns NPL_EINPUT
 * for a file that cannot be opened, is not ONNX, is truncated, too large or too deep, and for an unknown operator (with
 * node, operator and opset), shapes that do not fit, cycles and names used twice. */
int npl_graph_load(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		   struct npl_err *err);
void npl_graph_free(struct npl_graph *graph); /* accepts NULL */

/* Says whether the elements of the node's input k count as parameters. Constants of floats do, and constants of
 * integers that stand for floats: int8 and uint8, and int32 as the bias of a QLinearConv or the input of a
 * DequantizeLinear. The scales and zero points of such integers do not, nor do Resize's inputs about its window,
 * shapes, indices and axes. A constant of rank 0 does not: it belongs to an expression (the 6 of a ReLU6, an epsilon),
 * which is not trained and which no published count includes. */
bool npl_input_is_parameter(const struct npl_graph *graph, const struct npl_node *node, int k);

/* Returns the bytes of a constant, and makes them first where only a fill or a distribution is stored. Returns NULL,
 * with err, when memory is short. */
const void *npl_value_data(struct npl_graph *graph, struct npl_value *value, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
