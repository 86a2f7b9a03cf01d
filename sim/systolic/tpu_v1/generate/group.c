/* SPDX-License-Identifier: MIT
 *
 * Joins nodes into groups (impl.h): one pass through the activation unit can do what its steps can, in their order. A
 * node joins the group that makes its input when nothing else reads that input and it is no output. An addition joins
 * the later of the two groups that make its operands, so that the other operand is in the buffer by then. The unit's
 * step brings every value inside a group to its own format, so joining changes no result. */
#include "impl.h"

/* Returns the one store that is the whole value; -1: there is no such store. */
static int whole_store(const struct tpu_gen *gen, int v)
{
	const struct tpu_gen_value *value = &gen->value[v];
	if (value->n_pieces != 1 || value->flat)
		return -1;
	int s = value->piece->store;
	return value->piece->channels == gen->store[s].image.channels ? s : -1;
}

/* Returns the last group that makes a part of a value; -1: the whole value is given. */
static int maker_of(const struct tpu_gen *gen, int v)
{
	int last = -1;
	for (int p = 0; p < gen->value[v].n_pieces; p++) {
		int maker = gen->store[gen->value[v].piece[p].store].maker;
		last = maker > last ? maker : last;
	}
	return last;
}

static bool is_table_function(enum tpu_function function)
{
	return function == TPU_SIGMOID || function == TPU_TANH;
}

/* Says whether the function can join the group; a maximum may be taken before relu as well as after it. */
static bool function_fits(const struct tpu_gen *gen, const struct tpu_gen_group *group, const struct tpu_gen_node *node)
{
	if (group->function >= 0)
		return false;
	return group->pool < 0 ||
	       (gen->node[group->pool].pooling == TPU_POOL_MAX && !is_table_function(node->function));
}

/* Says whether the pooling can join the group. The activation unit pools sums from the array only where a whole image
 * fits in a block of accumulators. */
static bool pool_fits(const struct tpu_gen *gen, const struct tpu_gen_group *group, const struct tpu_gen_node *node)
{
	const struct npl_image *image = &gen->value[node->in[0]].image;
	if (group->pool >= 0 || gen->streaming)
		return false;
	return group->matrix < 0 || image->size[0] * image->size[1] <= gen->accumulators / 2;
}

static bool node_fits(const struct tpu_gen *gen, const struct tpu_gen_group *group, const struct tpu_gen_node *node,
		      int other_input)
{
	switch (node->kind) {
	case TPU_GEN_ADD:
	case TPU_GEN_MULTIPLY:
		if (maker_of(gen, other_input) >= group - gen->group)
			return false;
		return group->operand < 0 && group->function < 0 && group->pool < 0;
	case TPU_GEN_SCALE:
		return group->operand < 0 && group->function < 0 && group->pool < 0;
	case TPU_GEN_FUNCTION:
		return function_fits(gen, group, node);
	case TPU_GEN_POOL:
		return pool_fits(gen, group, node);
	default:
		return false;
	}
}

/* Returns the group that the node can join by its input k; NULL: none. */
static struct tpu_gen_group *group_by(struct tpu_gen *gen, const struct tpu_gen_node *node, int k)
{
	int s = node->in[k] < 0 ? -1 : whole_store(gen, node->in[k]);
	if (s < 0 || gen->store[s].maker < 0 || gen->store[s].uses != 1 || gen->store[s].is_output ||
	    gen->store[s].staged_in_strips)
		return NULL;
	struct tpu_gen_group *group = &gen->group[gen->store[s].maker];
	if (group->out != node->in[k] || !node_fits(gen, group, node, node->in[1 - k]))
		return NULL;
	return group;
}

static void join(struct tpu_gen *gen, struct tpu_gen_group *group, int n, int k)
{
	struct tpu_gen_node *node = &gen->node[n];
	switch (node->kind) {
	case TPU_GEN_ADD:
	case TPU_GEN_MULTIPLY:
		group->second = node->in[1 - k];
		group->operand = n;
		break;
	case TPU_GEN_SCALE:
		group->operand = n;
		break;
	case TPU_GEN_FUNCTION:
		group->function = n;
		break;
	case TPU_GEN_POOL:
		group->pool = n;
		break;
	case TPU_GEN_MATRIX:
		group->matrix = n;
		break;
	}
	if (group->out >= 0)
		gen->store[gen->value[group->out].piece->store].absent = true;
	group->out = node->out;
	gen->store[gen->value[node->out].piece->store].maker = (int)(group - gen->group);
}

static void place_node(struct tpu_gen *gen, int n)
{
	const struct tpu_gen_node *node = &gen->node[n];
	struct tpu_gen_group *first = group_by(gen, node, 0), *second = group_by(gen, node, 1);
	int k = second && (!first || second > first);
	struct tpu_gen_group *group = k ? second : first;
	if (!group) {
		group = &gen->group[gen->n_groups++];
		*group = (struct tpu_gen_group){.matrix = -1,
						.operand = -1,
						.function = -1,
						.pool = -1,
						.source = node->in[0],
						.second = -1,
						.out = -1};
	}
	join(gen, group, n, k);
}

static void count_use(struct tpu_gen *gen, int v)
{
	for (int p = 0; v >= 0 && p < gen->value[v].n_pieces; p++)
		gen->store[gen->value[v].piece[p].store].uses++;
}

static void note_first(struct tpu_gen *gen, int v, int group)
{
	for (int p = 0; v >= 0 && p < gen->value[v].n_pieces; p++)
		gen->store[gen->value[v].piece[p].store].first_reader = group;
}

int tpu_gen_groups(struct tpu_gen *gen)
{
	gen->n_groups = 0;
	for (int s = 0; s < gen->n_stores; s++) {
		gen->store[s].uses = 0;
		gen->store[s].maker = gen->store[s].first_reader = -1;
		gen->store[s].absent = false;
	}
	for (int n = 0; n < gen->n_nodes; n++) {
		count_use(gen, gen->node[n].in[0]);
		count_use(gen, gen->node[n].in[1]);
	}
	for (int n = 0; n < gen->n_nodes; n++)
		place_node(gen, n);
	for (int g = gen->n_groups - 1; g >= 0; g--) {
		note_first(gen, gen->group[g].source, g);
		note_first(gen, gen->group[g].second, g);
		gen->group[g].parts = 1;
	}
	return 0;
}
