/* SPDX-License-Identifier: MIT
 *
 * What is followed as samples is samples: in random networks of nearly every operator (follow_net.h), with inputs of
 * several ranks that hold a batch in dimension 0, another sample in one place changes no value of the others, and
 * samples that change places take theirs with them. Whatever follow.h places is held against the values that the
 * reference kernels make. Every operator has a rule that these networks try, or stands in a list of those that mix
 * samples. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/graph/follow.h"
#include "npulab/model.h"
#include "npulab/session.h"
#include "tests/kit/follow_net.h"

#define BATCH   FOLLOW_BATCH
#define STEPS   12 /* operators of a network, or somewhat more */
#define SAMPLES 2  /* inputs that hold them */

/* Operators without a rule. */
static const struct {
	enum npl_op op;
	const char *reason;
} mixing[] = {
	{NPL_OP_DYNAMICQUANTIZELINEAR, "one scale for all samples"},
	{NPL_OP_MAXUNPOOL, "indices count through all samples"},
	{NPL_OP_NONZERO, "takes constants alone"},
	{NPL_OP_CONSTANT, "no inputs"},
	{NPL_OP_RANDOMNORMAL, "no inputs"},
	{NPL_OP_RANDOMUNIFORM, "no inputs"},
	{NPL_OP_CONSTANTOFSHAPE, "takes constants alone"},
	{NPL_OP_RANGE, "takes constants alone"},
	{NPL_OP_HANNWINDOW, "takes constants alone"},
	{NPL_OP_HAMMINGWINDOW, "takes constants alone"},
	{NPL_OP_BLACKMANWINDOW, "takes constants alone"},
	{NPL_OP_MELWEIGHTMATRIX, "takes constants alone"},
	{NPL_OP_ATTENTION, "taken apart at import"},
};

static bool is_mixing(enum npl_op op)
{
	bool found = (npl_op_defs[op].flags & NPL_OP_BY_SHAPE) != 0; /* constants since the import */
	for (size_t i = 0; i < sizeof mixing / sizeof *mixing; i++)
		found = found || mixing[i].op == op;
	return found;
}

Test(follow, every_operator_has_a_rule_or_mixes_samples)
{
	for (enum npl_op op = NPL_OP_NONE + 1; op < NPL_OPS; op++)
		cr_expect(follow_has_rule(op) != is_mixing(op), "%s %s", npl_op_defs[op].name,
			  is_mixing(op) ? "has a rule and stands among those that mix"
					: "has no rule in frontend/graph/follow_rules.def");
}

static void open_net(struct net *net, uint64_t seed)
{
	static const int opsets[] = {9, 17, 17, 17, 23, 23, 23, 23};
	*net = (struct net){.rng = seed, .graph = calloc(1, sizeof *net->graph)};
	net->graph->opset = opsets[follow_draw(net, 0, 7)];
	net->graph->name = "net";
	graph_builder_init(&net->b, net->graph, NULL, GRAPH_LIMITS, &net->err);
}

static void add_input(struct net *net, const char *name, struct npl_shape shape)
{
	net->value[net->n++] = graph_append_shaped(&net->b, name, NPL_F32, &shape);
}

/* Every value of a run. */
struct kept {
	const struct net *net;
	struct npl_tensor *value;
};

static int keep(void *context, int v, const struct npl_tensor *tensor, struct npl_err *err)
{
	struct kept *kept = context;
	kept->value[v] = *tensor;
	kept->value[v].owned = false;
	if (npl_tensor_alloc(&kept->value[v], err))
		return err->code;
	memcpy(kept->value[v].data, tensor->data, npl_tensor_bytes(tensor));
	return 0;
}

static void run(struct net *net, struct npl_tensor *in, struct npl_tensor *values)
{
	struct npl_tensor *out = calloc((size_t)net->graph->n_outputs + 1, sizeof *out);
	struct kept kept = {net, values};
	const struct npl_value_observer observer = {keep, &kept};
	cr_assert_eq(npl_evaluate_observed(net->graph, in, out, NULL, &observer, &net->err), 0, "%s", net->err.msg);
	for (int i = 0; i < net->graph->n_outputs; i++)
		npl_tensor_free(&out[i]);
	free(out);
}

/* A NaN's sign and payload are nobody's promise. */
static bool both_nan(enum npl_dtype dtype, const void *a, const void *b)
{
	if (dtype == NPL_F32)
		return isnan(*(const float *)a) && isnan(*(const float *)b);
	return dtype == NPL_F64 && isnan(*(const double *)a) && isnan(*(const double *)b);
}

/* Elements that differ between two runs, except those of sample `changed`. In the second run all samples stood
 * `turned` places on. */
static int64_t differing(const struct follow *f, int v, const struct npl_tensor *a, const struct npl_tensor *b,
			 int changed, int turned)
{
	const int64_t distance = f->distance[v];
	const size_t size = npl_dtype_size(a->dtype);
	int64_t n_different = 0;
	for (int64_t i = 0, n = npl_tensor_count(a); i < n; i++) {
		const int64_t sample = distance ? i / distance % BATCH : -1;
		const int64_t to = distance ? i + ((sample + turned) % BATCH - sample) * distance : i;
		const void *before = (const char *)a->data + (size_t)i * size,
			   *after = (const char *)b->data + (size_t)to * size;
		if (sample < 0 || sample != changed)
			n_different += memcmp(before, after, size) && !both_nan(a->dtype, before, after);
	}
	return n_different;
}

static void free_values(struct net *net, struct npl_tensor *values)
{
	for (int v = 0; v < net->graph->n_values; v++)
		npl_tensor_free(&values[v]);
	free(values);
}

/* Every sample takes the next one's place. */
static void turn(struct npl_tensor *t)
{
	const size_t bytes = npl_tensor_bytes(t) / BATCH;
	char *data = t->data, last[4096];
	cr_assert_leq(bytes, sizeof last);
	memcpy(last, data + (BATCH - 1) * bytes, bytes);
	memmove(data + bytes, data, (BATCH - 1) * bytes);
	memcpy(data, last, bytes);
}

enum place { KNOWN, MIXED, BEHIND };

/* Follows the node, unless it reads what is mixed already: its distance is -1. */
static enum place place_of(struct follow *f, const struct npl_node *node)
{
	const char *reason;
	bool fixed = true, behind = false;
	for (int k = 0; k < node->n_in; k++) {
		fixed = fixed && (node->in[k] < 0 || !f->distance[node->in[k]]);
		behind = behind || (node->in[k] >= 0 && f->distance[node->in[k]] < 0);
	}
	const bool known = !behind && (fixed || follow_node(f, node, &reason));
	for (int k = 0; k < node->n_out && !known; k++)
		if (node->out[k] >= 0)
			f->distance[node->out[k]] = -1;
	return known ? KNOWN : behind ? BEHIND : MIXED;
}

struct counts {
	int nets, followed, mixed;
	int of_op[NPL_OPS]; /* values followed by a rule, no rule's inputs being fixed */
};

/* The three runs: as drawn, with all samples one place on, and with another sample in the place `changed`. */
static void run_three(struct net *net, int changed, struct npl_tensor *a, struct npl_tensor *turned,
		      struct npl_tensor *other)
{
	const struct npl_graph *graph = net->graph;
	struct npl_tensor in[SAMPLES + 1] = {{0}};
	for (int i = 0; i < graph->n_inputs; i++) {
		const struct npl_value *value = &graph->value[graph->input[i]];
		in[i] = (struct npl_tensor){.dtype = value->dtype, .shape = value->shape};
		cr_assert_eq(npl_tensor_alloc(&in[i], &net->err), 0);
		for (int64_t k = 0; k < npl_tensor_count(&in[i]); k++)
			((float *)in[i].data)[k] = (float)follow_draw(net, -64, 64) / 16;
	}
	run(net, in, a);
	for (int i = 0; i < graph->n_inputs; i++)
		turn(&in[i]);
	run(net, in, turned);
	for (int i = 0; i < graph->n_inputs; i++) {
		for (int k = 1; k < BATCH; k++)
			turn(&in[i]); /* once around */
		for (int64_t k = 0, n = npl_tensor_count(&in[i]) / BATCH; k < n; k++)
			((float *)in[i].data)[changed * n + k] += (float)follow_draw(net, 1, 64) / 16;
	}
	run(net, in, other);
	for (int i = 0; i < graph->n_inputs; i++)
		npl_tensor_free(&in[i]);
}

static struct npl_tensor *new_values(const struct net *net)
{
	return calloc((size_t)net->graph->n_values + 1, sizeof(struct npl_tensor));
}

static void check_net(struct net *net, uint64_t seed, struct counts *counts)
{
	const struct npl_graph *graph = net->graph;
	struct follow f = {.graph = graph, .distance = calloc((size_t)graph->n_values + 1, sizeof *f.distance)};
	struct npl_tensor *a = new_values(net), *turned = new_values(net), *other = new_values(net);
	const int changed = (int)follow_draw(net, 0, BATCH - 1);
	for (int i = 0; i < graph->n_inputs; i++)
		f.distance[graph->input[i]] = npl_shape_count(&graph->value[graph->input[i]].shape) / BATCH;
	run_three(net, changed, a, turned, other);
	for (int k = 0; k < graph->n_nodes; k++) {
		const struct npl_node *node = &graph->node[k];
		const char *op = npl_op_defs[node->op].name;
		const enum place place = place_of(&f, node);
		counts->mixed += place == MIXED;
		for (int o = 0; place == KNOWN && o < node->n_out; o++) {
			const int v = node->out[o];
			if (v < 0)
				continue;
			counts->followed++;
			counts->of_op[node->op] += f.distance[v] > 0;
			cr_assert_eq(differing(&f, v, &a[v], &turned[v], -1, 1), 0,
				     "seed %llu: places count in '%s' (%s, result %d)", (unsigned long long)seed,
				     node->name, op, o);
			cr_assert_eq(differing(&f, v, &a[v], &other[v], changed, 0), 0,
				     "seed %llu: sample %d reaches others in '%s' (%s, result %d)",
				     (unsigned long long)seed, changed, node->name, op, o);
		}
	}
	free_values(net, a);
	free_values(net, turned);
	free_values(net, other);
	free(f.distance);
}

static void check_seed(uint64_t seed, struct counts *counts)
{
	struct net net;
	open_net(&net, seed * 7919);
	struct npl_shape x = {.rank = (int)follow_draw(&net, 3, 4), .dim = {BATCH}};
	for (int d = 1; d < x.rank; d++)
		x.dim[d] = follow_draw(&net, 1, 4);
	add_input(&net, "x", x);
	if (follow_draw(&net, 0, 1)) {
		struct npl_shape y = {.rank = (int)follow_draw(&net, 1, 3), .dim = {BATCH, x.dim[1]}};
		y.dim[2] = follow_draw(&net, 1, 4);
		add_input(&net, "y", y);
	}
	const int inputs = net.n;
	for (int k = 0; k < STEPS; k++)
		follow_grow(&net);
	bool ready = net.n > inputs;
	for (int i = inputs; i < net.n && ready; i++)
		ready = graph_append_output(&net.b, net.value[i]) == 0;
	net.err = (struct npl_err){0};
	net.b.options.no_fold = true;
	if (ready) {
		cr_assert_eq(graph_close_appended(&net.b), 0, "seed %llu: %s", (unsigned long long)seed, net.err.msg);
		check_net(&net, seed, counts);
		counts->nets++;
	}
	graph_builder_free(&net.b);
	npl_graph_free(net.graph);
}

Test(follow, samples_stay_apart)
{
	struct counts counts = {0};
	for (uint64_t seed = 1; seed <= 20000; seed++)
		check_seed(seed, &counts);
	cr_expect(counts.nets > 19900 && counts.followed > 150000 && counts.mixed > 30000,
		  "%d networks, %d values followed, %d mixed", counts.nets, counts.followed, counts.mixed);
	for (enum npl_op op = NPL_OP_NONE + 1; op < NPL_OPS; op++)
		cr_expect(!follow_has_rule(op) || counts.of_op[op] >= 5,
			  "%s has a rule and was followed %d times: a step of tests/kit/follow_layers.c or "
			  "follow_moving.c tries it",
			  npl_op_defs[op].name, counts.of_op[op]);
}

/* Nets that are known to keep samples apart are cut: all that ship. */
Test(follow, shipped_networks_are_cut)
{
	struct npl_arena arena = {0};
	struct npl_err err;
	const char *const *names;
	int n;
	cr_assert_eq(npl_model_list(&arena, &names, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++) {
		struct npl_model_files files;
		const struct npl_load_options options = {.batch = BATCH};
		struct npl_graph *graph;
		cr_assert_eq(npl_model_find(names[i], &arena, &files, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_graph_load(files.path, &options, &graph, &err), 0, "%s", err.msg);
		struct follow_result result = {
			.rows = npl_arena_array(&graph->arena, (size_t)graph->n_outputs + 1, sizeof *result.rows)};
		cr_assert_eq(follow_samples(graph, NULL, &result, &err), 0, "%s", err.msg);
		cr_expect(!result.mixed_by[0], "%s: %s", names[i], result.mixed_by);
		for (int k = 0; k < graph->n_outputs; k++)
			cr_expect(result.rows[k] >= 1, "%s: %lld rows", names[i], (long long)result.rows[k]);
		npl_graph_free(graph);
	}
	npl_arena_free(&arena);
}
