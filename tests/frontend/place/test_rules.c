/* SPDX-License-Identifier: MIT
 *
 * The rules of a placement read back to the same placement, whatever the layers are called. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "npulab/build.h"
#include "npulab/place.h"
#include "npulab/placement.h"
#include "tests/kit/support.h"

/* Names with everything that means something in a rule or in an expression. */
static const char *const names[] = {
	"conv",        "conv1",     "a.b",       "a+b",      "(x)",      "[0]",  "x{2}", "^top$", "a|b",
	"back\\slash", "/enc/fc1/", "a/=b",      "a/ =b",    "# no",     "c #d", "e,f",  "g=h",   " lead",
	"end ",        "q*?",       "new\nline", "tab\tbed", "\"quote'", "é",    "a.bx", "a\\.b",
};
enum { NAMES = sizeof names / sizeof *names };

static const char *name_of(const struct npl_placing *placing, int device)
{
	return device == NPL_ON_HOST ? NPL_HOST_NAME : placing->device[device].rule;
}

static void check_rules(struct npl_placing *placing, const int *place, const char *subject)
{
	const char *text;
	struct npl_arena arena = {0};
	struct npl_placement placement;
	struct npl_err err = {0};
	cr_assert_eq(npl_place_rules(placing, 0, "a\nmodel", &text, &err), 0, "%s: %s", subject, err.msg);
	cr_assert_eq(npl_placement_read(placing->graph, text, "rules", &arena, &placement, &err), 0, "%s: %s\n%s",
		     subject, err.msg, text);
	for (int i = 0; i < placing->graph->n_nodes; i++)
		cr_assert_str_eq(placement.device[i] == NPL_ON_HOST ? NPL_HOST_NAME
								    : placement.names[placement.device[i]],
				 name_of(placing, place[i]), "%s: layer '%s' in\n%s", subject,
				 placing->graph->node[i].name, text);
	cr_assert_eq(placement.n_warnings, 0, "%s: %s", subject, placement.n_warnings ? placement.warning[0] : "");
	npl_arena_free(&arena);
}

/* A chain of layers of two operators with these names. */
static struct npl_graph *make_chain(void)
{
	struct npl_build *b;
	struct npl_graph *graph;
	struct npl_err err = {0};
	cr_assert_eq(npl_build_open("chain", &b, &err), 0);
	int v = npl_build_input(b, "x", NPL_F32, npl_shape_of(2, 1, 4));
	for (int i = 0; i < NAMES; i++)
		v = npl_build_op(b, i % 3 ? "Relu" : "Tanh", NPL_IN(v), NPL_NO_ATTRS);
	cr_assert_eq(npl_build_finish(b, NPL_IN(v), &graph, &err), 0, "%s", err.msg);
	return graph;
}

Test(place_rules, read_back_to_the_same_devices)
{
	struct npl_graph *graph = make_chain();
	const struct npl_node *node = graph->node;
	int place[NAMES];
	uint64_t rng = 77;
	char subject[40];
	struct npl_place_device devices[] = {{"tpu_v1@array.rows=16", "tpu_v1@array.rows=16", false},
					     {"mine", "./my machines/mine.yaml", false}};
	struct npl_place_run run = {.name = "search", .place = place, .seconds = 1, .joules = NAN};
	struct npl_placing placing = {.graph = graph, .n_devices = 2, .device = devices, .n_runs = 1, .run = &run};
	cr_assert_eq(graph->n_nodes, NAMES);
	for (int i = 0; i < NAMES; i++)
		((struct npl_node *)node)[i].name = names[i];
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < NAMES; i++)
			place[i] = round % 4 == 3 ? (i % 3 ? 1 : NPL_ON_HOST) : (int)test_range(&rng, -1, 1);
		snprintf(subject, sizeof subject, "round %d", round);
		check_rules(&placing, place, subject);
	}
	npl_placing_free(&placing);
	npl_graph_free(graph);
}
