/* SPDX-License-Identifier: MIT
 *
 * Random networks whose inputs hold samples in dimension 0, for the tests of follow.h: an operator at a time over the
 * values that there are, its attributes and constants drawn for their shapes. What an operator refuses is left out. */
#ifndef NPULAB_TESTS_KIT_FOLLOW_NET_H
#define NPULAB_TESTS_KIT_FOLLOW_NET_H

#include "frontend/graph/build.h"
#include "npulab/attributes.h"
#include "npulab/build.h"
#include "support.h"

#define FOLLOW_BATCH  3
#define FOLLOW_VALUES 64

struct net {
	struct graph_builder b;
	struct npl_graph *graph;
	struct npl_err err;
	uint64_t rng;
	int value[FOLLOW_VALUES], n; /* what the next operator may take */
	int named;                   /* nodes that have a name */
};

/* What a step takes: two values, their shapes, and two dimensions of the first. */
struct drawn {
	int x, y;
	struct npl_shape s, t;
	int r; /* the rank of x */
	int64_t axis, other;
};

int64_t follow_draw(struct net *net, int64_t low, int64_t high);
/* Constants; -2: too large for a test. Every element is the same in a third of those of floats. */
int follow_floats(struct net *net, struct npl_shape shape);
int follow_constant(struct net *net, enum npl_dtype dtype, struct npl_shape shape, const void *data);
int follow_integers(struct net *net, int n, const int64_t *data);
/* Indices or bytes from low to high, drawn; the same everywhere in half of the cases. */
int follow_indices(struct net *net, struct npl_shape shape, int64_t low, int64_t high);
int follow_bytes(struct net *net, enum npl_dtype dtype, struct npl_shape shape);
/* A node whose first result is one that later steps may take: its value, or -2 when the operator refuses. An input of
 * -1 is absent, of -2 refuses the node. */
int follow_node_of(struct net *net, const char *op, struct npl_build_in in, struct npl_attr_list attrs);
/* The same with several results. */
int follow_outputs_of(struct net *net, const char *op, struct npl_build_in in, struct npl_attr_list attrs, int n_out);
/* x in another type; the sample's own indices, 0 to most. */
int follow_cast(struct net *net, int x, enum npl_dtype dtype);
int follow_picks(struct net *net, int x, int64_t maximum);
const struct npl_shape *follow_shape(const struct net *net, int v);

/* One more operator, drawn from the lists of follow_moving.c and follow_layers.c. */
typedef void follow_step(struct net *net, const struct drawn *d);
void follow_grow(struct net *net);
extern follow_step *const follow_moving_steps[], *const follow_layer_steps[];
extern const int follow_n_moving_steps, follow_n_layer_steps;

#endif
