/* SPDX-License-Identifier: MIT
 *
 * A network: nodes in topological order over values (tensors between nodes). Everything lives in one arena of
 * the graph; weights inside a mapped file are referenced, not copied. Read-only once loaded: sessions of
 * several threads may share it.
 *
 *     struct npl_graph *graph;
 *     if (npl_graph_load("net.onnx", &(struct npl_load_options){.batch = 8}, &graph, &err)) ...
 *     npl_graph_free(graph);
 */
#ifndef NPULAB_GRAPH_H
#define NPULAB_GRAPH_H

#include "npulab/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_file;

/* Where a float constant comes from, when the model has it as integers with a DequantizeLinear: scale * (q - zero). */
struct npl_model_integers {
	enum npl_dtype dtype; /* uint8, int8 or int32 */
	const void *data;     /* as many as the constant has elements */
	int64_t parts;        /* 1, or one scale and zero point for each index along the axis */
	int axis;
	const float *scale;  /* parts */
	const int32_t *zero; /* parts */
};

/* A value: an input, a constant or what a node makes. */
struct npl_value {
	const char *name;
	enum npl_dtype dtype;
	struct npl_shape shape;
	bool constant;
	const void *data;      /* constant: its bytes (aligned for its type), or NULL while nobody has read them */
	bool is_fill;          /* constant with every element equal: materialised by npl_value_data only when asked */
	unsigned char fill[8]; /* that element */
	/* constant, float32 or float64, of random elements by `law`, made by npl_value_data when asked */
	bool is_random;
	struct npl_random_law law;
	const struct npl_model_integers *model_integers; /* constant, float32: NULL: from none that are known */
	bool has_nan, has_infinity;                      /* constant with such elements */
	bool of_import;      /* constant that no model gave and the importer put in: an infinity in it is meant */
	bool batched;        /* input: its dimension 0 counts samples */
	bool batched_inside; /* input: another dimension does */
	bool of_shape; /* constant that follows from the shape of a value that varies, so from the batch perhaps */
	int producer;  /* node that makes it, -1 for inputs and constants */
	int uses;      /* inputs of nodes that are this value, plus one if it is an output of the graph */
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

/* Whether a graph's batch may be cut into smaller ones, found where npl_load_options.files says what will be fed. */
struct npl_batching {
	bool known;
	bool open;            /* neither the model nor dims say the batch */
	bool indivisible;     /* all samples of the files are one batch, because they cannot be cut */
	bool only_one;        /* the model takes a batch of 1 and no other */
	const char *mixed_by; /* why not: "node 'p' (Softmax) mixes samples"; NULL: they can be cut */
	const int64_t *rows; /* per output: rows of its dimension 0 for each sample; 0: it is the same in every batch */
};

struct npl_graph {
	const char *name; /* file name without folder and extension */
	/* Of the file and, after it, of the files that it names, whole and in the order of first use. */
	char file_sha256[65];
	int opset;
	int ir_version; /* 0: of no ONNX file */
	const char *producer;
	int64_t batch; /* dimension 0 of the inputs that are `batched`, after --batch */
	struct npl_batching batching;
	/* The layers are not connected (a SCALE-Sim topology) but stand for those of a network. The input of each is in
	 * its device's format and memory, and its result stays there. They run one after the other. */
	bool layer_list;
	int n_values;
	struct npl_value *value;
	int n_nodes;
	struct npl_node *node;
	int n_inputs, n_outputs;
	/* Value indices of what the user must give. Initialisers that are listed as inputs are not among them. */
	const int *input;
	const int *output;
	int file_nodes;                                         /* nodes in the file, before folding */
	int folded_constants, folded_batchnorms, folded_biases; /* what folding removed */
	uint64_t macs, parameters; /* of all nodes; elements of weights in use (npl_input_is_parameter), each once */
	uint64_t activations;      /* elements of the values that nodes make; views (NPL_OP_IS_VIEW) make none */
	int n_warnings; /* what a user should know of a network that can be run all the same: one line each */
	const char *const *warning;
	struct npl_arena arena;
	struct npl_file *mapping; /* of the file, then of those that it names; private */
	int n_mappings;
};

struct npl_dim {
	const char *name; /* the model's word for a dimension, or "INPUT[I]" */
	int64_t value;    /* >= 0 */
};

/* Dimensions that the model leaves open (with a word for them, or without) come from dims, then from the inputs that
 * are known or given, then from files. The batch is dimension 0 of the first input that leaves it open, else of the
 * first input, and every other dimension that has the same word; where the model says how large it is, dimension 0 of
 * the inputs of that size. An open dimension 0 of another word is the batch too unless dims, a shape that is given or a
 * file of another length says it. No other dimension is rewritten. What is still open is an error that names it.
 *
 * Samples that cannot be cut into batches, because the network mixes them, are one batch where the batch is open and
 * files tell how many they are (npl_graph.batching). */
struct npl_load_options {
	int64_t batch;       /* > 0: rewrites the batch (and Reshapes that repeat it); else an open one is 1 */
	int64_t usual_batch; /* > 0: the same where neither batch nor dims say it */
	int n_dims;
	const struct npl_dim *dims; /* NPL_EUSAGE for a name that the model has not */
	/* Inputs whose shapes are known, dimension 0 included; found by the tensors' names, and where those are NULL in
	 * the order of the model. Their data is not looked at. An input for which the model gives no shape at all takes
	 * this one. */
	int n_given;
	const struct npl_tensor *given;
	int n_files; /* "[NAME=]FILE" as npl_samples_load takes them: what shall be fed */
	const char *const *files;
	/* keep BatchNormalization, bias additions and views that change nothing (constants are still folded) */
	bool no_fold;
	/* Inputs whose values are known: they become constants (copied), found by the tensors' names. For models that
	 * take a shape as input, as the ONNX backend tests do. */
	int n_known;
	const struct npl_tensor *known;
};

/* NPL_EINPUT, with the file's name: the model's file or one of its weights was written or cut since it was loaded, so
 * that values may be wrong. npl_graph_run, npl_compare and the loading itself ask in the end; who runs sessions asks
 * after a run. */
int npl_graph_files_unchanged(const struct npl_graph *graph, struct npl_err *err);

/* From an ONNX file, or from a SCALE-Sim topology (NAME.csv: docs/topologies.md).
 * NPL_EINPUT: cannot be opened, is not ONNX, truncated, too large or too deep, unknown operator (node, operator and
 * opset named), shapes that do not fit, cycles, names used twice. options may be NULL. */
int npl_graph_load(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		   struct npl_err *err);
void npl_graph_free(struct npl_graph *graph); /* accepts NULL */

/* Whether the elements of the node's input k count as parameters: a constant with a dimension, of floats, or of
 * integers that stand for floats: int8 and uint8, and int32 as the bias of a QLinearConv or under a DequantizeLinear.
 * Not the scales and zero points of such integers, nor what Resize is told of its window; not shapes, indices and axes.
 * Numbers alone, rank 0, are of expressions (the 6 of a ReLU6, an epsilon), which nobody trains and no published count
 * has. */
bool npl_input_is_parameter(const struct npl_graph *graph, const struct npl_node *node, int k);

/* The bytes of a constant, made from its fill or its distribution if need be. NULL and err when memory is short. */
const void *npl_value_data(struct npl_graph *graph, struct npl_value *value, struct npl_err *err);

/* Reads a tensor from NAME.npy or NAME.pb (TensorProto), or writes a .npy (atomically: a failed write leaves no
 * file). The tensor owns its data; its name is not set. */
int npl_tensor_load(const char *path, struct npl_tensor *tensor, struct npl_err *err);
int npl_tensor_save_npy(const char *path, const struct npl_tensor *tensor, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
