/* SPDX-License-Identifier: MIT
 *
 * Private: which values of a network hold one part for each sample, and where. A batch may be cut into smaller ones
 * when every result of a sample follows from that sample alone; npl_graph_load asks this where it knows what will be
 * fed.
 *
 * A value has samples along one dimension, or it is fixed: it has none, and all samples share it. The indices of the
 * dimension with samples are (outer, sample, inner), row-major, as Reshape leaves them where it joins the batch with
 * its neighbours. A node whose result has samples in any other way (sums over the batch, a matrix times its own
 * transpose) mixes the samples, and following ends there. The place of the samples is kept as a distance in memory,
 * which no view changes.
 *
 * A fixed value that the model makes from shapes may have other elements, or another size, at another batch: a rule
 * that depends on it asks whether it is steady, the same at any batch. A size that the model asks for by a constant may
 * be this batch's by chance, and a Reshape that then changes nothing is no longer there: every value has to grow with
 * the batch.
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
	const struct npl_graph *other; /* the same model at another batch, or NULL: it takes none */
	struct graph_names other_values;
	int64_t *distance; /* per value, elements from one sample to the next; 0: fixed */
};

/* What there is to say of a graph's batch. */
struct follow_result {
	/* What mixes the samples, and how: "node 'p' (Softmax) mixes samples". Empty: nothing does. */
	char mixed_by[192];
	/* Given by the caller. For each output of the graph: the rows of dimension 0 for each sample; 0: fixed. */
	int64_t *rows;
};

/* The graph's batch is 2 or more. err: NPL_ENOMEM alone. */
int follow_samples(const struct npl_graph *graph, const struct npl_graph *other, struct follow_result *result,
		   struct npl_err *err);

/* Fills f->distance, zeroed, node by node; the first node that mixes samples and how, or NULL. */
const struct npl_node *follow_nodes(struct follow *f, const char **why);

/* follow_rules.c: sets f->distance of the results of a node, some of whose inputs have samples. False: it mixes them;
 * *why, where set, says how. */
bool follow_node(struct follow *f, const struct npl_node *node, const char **why);
/* Is there a rule for the operator? One without a rule mixes samples. */
bool follow_has_rule(enum npl_op op);

/* The value of the same name at the other batch, or NULL. */
const struct npl_value *follow_same_value(const struct follow *f, int v);
/* Notes that an input of the graph holds samples. */
void follow_input(struct follow *f, int v);
/* The samples of a value; false when they lie along no single dimension, or there are none. */
bool follow_spread(const struct follow *f, int v, struct spread *spread);
/* Places samples in a value; false when its shape has no room for them there. */
bool follow_set_spread(struct follow *f, int v, const struct spread *spread);
/* Is a fixed value the same at any batch? Of what is made from shapes, `other` tells. */
bool follow_steady(struct follow *f, int v);
/* Is a fixed value the same at any batch, and would each sample get the same part of it if samples lay so in it? It may
 * be as long as the batch there. */
bool follow_uniform(struct follow *f, int v, const struct spread *spread);

#endif
