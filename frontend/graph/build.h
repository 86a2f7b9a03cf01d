/* SPDX-License-Identifier: MIT
 *
 * Private: a graph while it is built. A reader (ONNX) adds inputs, constants and nodes by name, in any order;
 * graph_complete then links the names, sorts the nodes, infers the shapes, folds, and leaves the finished graph.
 *
 *     graph_builder_init(&b, graph, &options, &err);
 *     graph_add_constant(&b, &tensor); graph_declare_input(&b, ...); graph_add_inputs(&b);
 *     graph_add_node(&b, ...); graph_add_output(&b, ...);
 *     rc = graph_complete(&b);
 *     graph_builder_free(&b);
 *
 * Values and nodes are named by index; pointers to them last until the next one is added. Everything that
 * survives lives in the graph's arena.
 */
#ifndef NPULAB_FRONTEND_GRAPH_BUILD_H
#define NPULAB_FRONTEND_GRAPH_BUILD_H

#include "names.h"
#include "npulab/graph.h"

#define GRAPH_MAX_NODES       1000000
#define GRAPH_MAX_VALUES      4000000
#define GRAPH_MAX_NODE_INPUTS 100000
#define GRAPH_MAX_ATTRIBUTES  64

/* What constant folding may spend on one model. A few hundred bytes of ConstantOfShape and MatMul can ask for
 * terabytes. A node over the limit is not folded, and is computed only when the network runs. */
struct graph_limits {
	size_t fold_bytes;  /* bytes of the constants that are computed */
	uint64_t fold_work; /* multiply-accumulates or elements */
};
#define GRAPH_LIMITS ((struct graph_limits){.fold_bytes = (size_t)2 << 30, .fold_work = (uint64_t)4 << 30})

struct graph_node {
	const char *name;
	enum npl_op op;
	int opset;                 /* the opset by which the node is read */
	struct npl_attr_list list; /* the attributes as the file gives them */
	struct npl_attrs attrs;    /* the attributes as the operator read them */
	int n_in, n_out;
	const char *const *in_name; /* names of the inputs, valid until graph_complete has found their values */
	int *in, *out;              /* value indices, -1: absent */
	bool varies;                /* depends on an input of the graph */
	bool removed;
};

struct graph_builder {
	struct npl_graph *graph; /* has its arena from the start, its arrays at the end */
	struct npl_load_options options;
	struct graph_limits limits; /* what is left of the limits */
	struct npl_err *err;        /* never NULL */
	int opset;                  /* opset of the nodes that are added next: the graph's, except within functions */
	struct npl_value *value;
	int n_values;
	int64_t value_capacity;
	struct graph_node *node; /* the nodes in the order of the file */
	int n_nodes;
	int64_t node_capacity;
	int *order;                   /* node indices, each after those it reads from */
	struct graph_input *declared; /* the inputs declared so far, until graph_add_inputs adds them */
	int n_declared;
	int *input, *output;
	int n_inputs, n_outputs;
	int64_t declared_capacity, input_capacity, output_capacity;
	struct graph_names values, nodes;
	struct graph_input *declared_output; /* outputs that the file declares a type or shape of */
	int n_declared_outputs;
	int64_t declared_output_capacity;
	int64_t old_batch;  /* the batch in the file; 1: the file leaves it open; 0: there is no input yet */
	bool batch_is_open; /* the file leaves the batch open: constant shapes are used as they are */
	/* the file leaves the batch open, and the network is invalid with these shapes: they repeat a batch of 1 */
	bool constant_shapes_assume_batch_1;
	bool kept_shape;                      /* a constant shape that begins with 1 was used as it is */
	struct npl_tensor *tensor;            /* scratch for one node: inputs, then outputs */
	const struct npl_tensor **tensor_ref; /* the tensors of the inputs; NULL: the input is absent */
	int widest;                           /* the number of a node's inputs that the scratch has room for */
};

/* An input or output as a file declares it: dimensions that it leaves open are -1. */
struct graph_input {
	const char *name;
	enum npl_dtype dtype;
	bool has_shape;
	struct npl_shape shape;
	const char *symbol[NPL_MAX_RANK]; /* the file's name of an open dimension, or NULL */
	int output_index;                 /* index of the output */
	/* the model gives it as many rows as the batch, but its file shows that the rows are no samples */
	bool is_table;
};

/* Functions of build.c. */
void graph_builder_init(struct graph_builder *b, struct npl_graph *graph, const struct npl_load_options *options,
			struct graph_limits limits, struct npl_err *err);
void graph_builder_free(struct graph_builder *b); /* frees the builder's own memory; the graph belongs to the caller */
/* Adds a value; returns its index or a negative code. Refuses a name that exists already. */
int graph_add_value(struct graph_builder *b, const struct npl_value *value);
int graph_add_constant(struct graph_builder *b, const struct npl_tensor *tensor); /* data is borrowed */
int graph_append_input(struct graph_builder *b, int v);
int graph_add_output(struct graph_builder *b, const char *name); /* called after all nodes */
int graph_append_output(struct graph_builder *b, int v);         /* called after all nodes, with the value's index */
/* Adds a node. name may be empty, op is the ONNX name, and empty input names are absent inputs. Arrays live in the
 * arena. */
int graph_add_node(struct graph_builder *b, const char *name, const char *op, const struct npl_attr_list *list,
		   int n_in, const char *const *in, int n_out, const char *const *out);
/* Links names, sorts nodes, infers shapes, folds, and finishes the graph. */
int graph_complete(struct graph_builder *b);
/* Does the steps after inference: drops nodes without readers, folds, finishes. */
int graph_simplify(struct graph_builder *b);
/* Makes scratch for a node with this many inputs. */
int graph_scratch(struct graph_builder *b, int n_in);
/* Puts "node 'NAME' (OP)" before the message; returns the code. */
int graph_blame(struct graph_builder *b, const struct graph_node *node);
/* Adds a constant that is not in the file, named OWNER.PART. Returns its index or a negative code. */
int graph_add_made(struct graph_builder *b, const char *owner, const char *part, const struct npl_value *value);

/* append.c: adds a node whose inputs exist already, by value index (-1: absent), and infers and folds it at once. *out
 * is its first result; the others follow it. A refused node leaves only unused names. After the last node,
 * graph_close_appended does the remaining steps of graph_complete. */
int graph_append_node(struct graph_builder *b, const char *name, const char *op, const struct npl_attr_list *list,
		      int n_in, const int *in, int n_out, int *out);
/* Adds an input whose dimensions are all known; returns its index or a negative code. */
int graph_append_shaped(struct graph_builder *b, const char *name, enum npl_dtype dtype, const struct npl_shape *shape);
int graph_close_appended(struct graph_builder *b);
/* Returns a name for a value that no other value has: base, or base#2... NULL when memory is short. */
const char *graph_free_name(struct graph_builder *b, const char *base);

/* sort.c: fills b->order. NPL_EINPUT: the nodes are on a cycle. */
int graph_sort(struct graph_builder *b);

/* infer.c: finds attributes, shapes and constants of all nodes in their order. */
int graph_infer(struct graph_builder *b);
/* Infers one node; an error names the node. A node that is replaced by several adds these after all nodes, so pointers
 * to nodes become invalid. */
int graph_infer_node(struct graph_builder *b, struct graph_node *node);
/* Sets the scratch tensors from the node's values. */
void graph_node_tensors(struct graph_builder *b, const struct graph_node *node);
/* Runs the shape rule alone, after a pass changed the node. */
int graph_shape_node(struct graph_builder *b, struct graph_node *node);

/* graph_inputs.c: inputs are declared after the constants, and added when all are known, because one may determine a
 * dimension of another. graph_declare_input does nothing for the name of a constant. */
int graph_declare_input(struct graph_builder *b, const struct graph_input *input);
int graph_add_inputs(struct graph_builder *b);

/* declared.c: graph_check_constant refuses a constant that differs from what the file declares of it.
 * graph_declare_output notes what the file declares of the output added last. graph_warn_outputs collects at most
 * `max_warnings` warnings about outputs that differ, for which graph->warning has room. */
int graph_check_constant(struct graph_builder *b, int v, const struct graph_input *declaration);
int graph_declare_output(struct graph_builder *b, const struct graph_input *declaration);
int graph_warn_outputs(struct graph_builder *b, int max_warnings);

/* refused.c: returns why npulab does not compute an operator that ONNX has. NULL: the operator is not in the list. */
const char *graph_refusal_reason(const char *op);
/* The opsets of the models that npulab reads, as a text: "FIRST to LAST". */
#define GRAPH_TEXT_OF(number)   #number
#define GRAPH_OPSET_TEXT(opset) GRAPH_TEXT_OF(opset)
#define GRAPH_OPSETS            GRAPH_OPSET_TEXT(NPL_FIRST_OPSET) " to " GRAPH_OPSET_TEXT(NPL_LAST_OPSET)
/* Operators of these opsets that npulab could compute and does not yet, in a list of words (words.h). */
extern const char graph_unwritten[];
bool graph_is_unwritten(const char *op);

/* compose_attention.c: adds, after all nodes, nodes that together compute Attention, and removes the node of
 * Attention. */
int graph_compose_attention(struct graph_builder *b, int index);

/* batch.c: applies --batch to a Reshape that repeats the batch. */
int graph_batch_reshape(struct graph_builder *b, struct graph_node *node);

/* fold_constant.c: replaces a node whose inputs are all constant by its value, or leaves it where a limit forbids
 * that */
int fold_constant(struct graph_builder *b, struct graph_node *node);
/* fold_integers.c: stores with the value of a folded node the integers that the model has it as. */
int fold_integers(struct graph_builder *b, const struct graph_node *node);
/* Returns what npl_value_data returns, with the builder's error. */
const void *fold_data(struct graph_builder *b, struct npl_value *value);
/* Says whether the limits allow a node to be folded, and if so subtracts its cost from them. */
bool fold_allowed(struct graph_builder *b, size_t bytes, uint64_t operations);

/* fold_nodes.c: makes the passes over the sorted nodes. The counts of uses must be current. */
int fold_nodes(struct graph_builder *b);

/* Functions of finish.c. */
void graph_sweep(struct graph_builder *b); /* removes nodes without readers and counts the uses of all values */
int graph_finish(struct graph_builder *b); /* packs what is left into the graph */

/* warnings.c: looks for what is odd in the finished graph's constants and outputs. */
int graph_warn(struct graph_builder *b);

/* onnx_graph.c: reads a ModelProto into the builder. external has the other files that the model may name; NULL: it may
 * name none. */
struct onnx_external;
int onnx_read_model(struct graph_builder *b, const unsigned char *data, size_t bytes, struct onnx_external *external);

/* graph_load.c: does what npl_graph_load does with an ONNX file, without looking at its samples. */
int graph_load_file(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		    struct npl_err *err);
/* Does the same without the hash of the files, for a graph that is only examined. */
int graph_load_probe(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		     struct npl_err *err);

/* graph_load.c: does what npl_graph_load does, with a buffer, which must outlive the graph. `path` is for messages and
 * the name. External data is refused, because there is no folder for it. */
int npl_graph_load_memory(const char *path, const void *data, size_t bytes, const struct npl_load_options *options,
			  struct graph_limits limits, struct npl_graph **graph, struct npl_err *err);

#endif
