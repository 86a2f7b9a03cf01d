/* SPDX-License-Identifier: MIT
 *
 * Private: which values of a network hold one part for each sample, and where. A batch may be cut into smaller ones
 * when every result of a sample follows from that sample alone; npl_graph_load checks this where the files of samples
 * are known.
 *
 * A value has samples along one dimension, or it is fixed: it has none, and all samples share it. The indices of the
 * dimension with samples are (outer, sample, inner), row-major, as Reshape leaves them where it joins the batch with
 * its neighbours. A node whose result has samples in any other way (sums over the batch, a matrix times its own
 * transpose) mixes the samples, and following ends there. The place of the samples is kept as a distance in memory,
 * which no view changes.
 *
 * A fixed value that the model makes from shapes may have other elements, or another size, at another batch: a rule
 * that depends on it asks whether it is steady, the same at any batch. A constant size in the model may equal this
 * batch by chance, and a Reshape that changes nothing has been removed: therefore every value has to grow with the
 * batch.
 *
 * A batch of 1 cannot be told from other dimensions of 1: a graph is followed at a batch of 2 or more.
 */
#ifndef NPULAB_FRONTEND_GRAPH_FOLLOW_H
#define NPULAB_FRONTEND_GRAPH_FOLLOW_H

#include "names.h"
#include "npulab/graph.h"

/* Samples along a dimension of `outer` * batch * `inner` indices. */
struct spread {
	int axis;
	int64_t outer, inner;
};

struct follow {
	const struct npl_graph *graph;
	const struct npl_graph *rebatched_graph; /* the same model at another batch; NULL: the model takes no other */
	struct graph_names rebatched_values;
	int64_t *distance; /* per value, elements from one sample to the next; 0: fixed */
};

/* What following finds out about a graph's batch. */
struct follow_result {
	/* What mixes the samples, and how: "node 'p' (Softmax) mixes samples". Empty: no node does. */
	char mixed_by[192];
	/* An array of the caller. For each output of the graph: the rows of dimension 0 for each sample; 0: the output
	 * is fixed. */
	int64_t *rows;
};

/* Follows the samples of a graph whose batch is 2 or more. Fails only with NPL_ENOMEM. */
int follow_samples(const struct npl_graph *graph, const struct npl_graph *rebatched_graph, struct follow_result *result,
		   struct npl_err *err);

/* Fills f->distance, which is zeroed, node by node. Returns the first node that mixes samples, with *reason, or NULL.
 * */
const struct npl_node *follow_nodes(struct follow *f, const char **reason);

/* follow_rules.c: sets f->distance of the results of a node, some of whose inputs have samples. Returns false where the
 * node mixes samples; *reason, where it is set, then says how. */
bool follow_node(struct follow *f, const struct npl_node *node, const char **reason);
/* Says whether the operator has a rule. An operator without one mixes samples. */
bool follow_has_rule(enum npl_op op);

/* Returns the value of the same name at the other batch, or NULL. */
const struct npl_value *follow_same_value(const struct follow *f, int v);
/* Notes that an input of the graph holds samples. */
void follow_input(struct follow *f, int v);
/* Gives the samples of a value; false when they are not along one dimension, or there are none. */
bool follow_spread(const struct follow *f, int v, struct spread *spread);
/* Places samples in a value; false when its shape does not allow that place. */
bool follow_set_spread(struct follow *f, int v, const struct spread *spread);
/* Says whether a fixed value is the same at any batch. For a value that is made from shapes, rebatched_graph shows
 * that. */
bool follow_steady(struct follow *f, int v);
/* Says whether a fixed value is the same at any batch, and each sample would get the same part of it if samples were
 * placed there. It may be as long as the batch along that dimension. */
bool follow_uniform(struct follow *f, int v, const struct spread *spread);

#endif
