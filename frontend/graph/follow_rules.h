/* SPDX-License-Identifier: MIT
 *
 * Private: the questions that the rules of follow.h ask about a node. */
#ifndef NPULAB_FRONTEND_GRAPH_FOLLOW_RULES_H
#define NPULAB_FRONTEND_GRAPH_FOLLOW_RULES_H

#include "follow.h"

/* The rule's view of a node. */
struct rule_context {
	struct follow *f;
	const struct npl_node *node;
	const char **reason; /* set by a rule that can say how the node mixes samples */
};

static inline int value_of(const struct rule_context *context, int k)
{
	return k < context->node->n_in ? context->node->in[k] : -1;
}

static inline bool has_samples(const struct rule_context *context, int k)
{
	const int v = value_of(context, k);
	return v >= 0 && context->f->distance[v];
}

static inline const struct npl_shape *shape_of(const struct rule_context *context, int k)
{
	return &context->f->graph->value[context->node->in[k]].shape;
}

static inline const struct npl_shape *out_shape(const struct rule_context *context)
{
	return &context->f->graph->value[context->node->out[0]].shape;
}

static inline bool samples_of(const struct rule_context *context, int k, struct spread *spread)
{
	return has_samples(context, k) && follow_spread(context->f, context->node->in[k], spread);
}

/* Says whether input k is absent, or fixed and the same at any batch. */
static inline bool is_steady(const struct rule_context *context, int k)
{
	const int v = value_of(context, k);
	return v < 0 || (!context->f->distance[v] && follow_steady(context->f, v));
}

/* Says whether all inputs from `first` on, except `but`, are steady. */
static inline bool others_steady(const struct rule_context *context, int first, int but)
{
	for (int k = first; k < context->node->n_in; k++)
		if (k != but && !is_steady(context, k))
			return false;
	return true;
}

/* Says whether input k is fixed, and each sample would read the same elements of it if samples lay along `spread`. True
 * where the input lacks that axis, because it broadcasts there. */
static inline bool is_uniform(const struct rule_context *context, int k, const struct spread *spread)
{
	const int v = value_of(context, k);
	return v < 0 || (!context->f->distance[v] && follow_uniform(context->f, v, spread));
}

static inline bool spreads_equal(const struct spread *a, const struct spread *b)
{
	return a->axis == b->axis && a->outer == b->outer && a->inner == b->inner;
}

/* Places the samples in all results at this place. */
static inline bool place_all(const struct rule_context *context, const struct spread *spread)
{
	for (int k = 0; k < context->node->n_out; k++)
		if (context->node->out[k] >= 0 && !follow_set_spread(context->f, context->node->out[k], spread))
			return false;
	return true;
}

static inline bool has_result(const struct rule_context *context, int k)
{
	return k < context->node->n_out && context->node->out[k] >= 0;
}

/* The rules (follow_rules.def), in follow_rules.c, follow_products.c (operators that sum products) and follow_moving.c
 * (operators that move elements). They return false where samples mix. */
#define FOLLOW_RULE(op, rule) bool follow_##rule(const struct rule_context *context);
#include "follow_rules.def"
#undef FOLLOW_RULE
/* MatMul of inputs ka and kb, in floats and in integers. */
bool follow_product(const struct rule_context *context, int ka, int kb);
bool follow_integer_product(const struct rule_context *context, int ka, int kb);

#endif
