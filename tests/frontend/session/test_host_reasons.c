/* SPDX-License-Identifier: MIT
 *
 * What the host did, summed up for a table: each reason once, the longest time first. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "frontend/session/host_reasons.h"

#define ROWS 6

static const struct {
	enum npl_op op;
	int device;
	const char *note;
	double host_seconds;
} rows[ROWS] = {
	{NPL_OP_MUL, NPL_ON_HOST, "it does not broadcast", 1},
	{NPL_OP_MATMUL, NPL_ON_HOST, "both are computed", 3},
	{NPL_OP_ADD, 0, NULL, 100},
	{NPL_OP_MUL, NPL_ON_HOST, "its input is int64", 2},
	{NPL_OP_MUL, NPL_ON_HOST, "it does not broadcast", 1.5},
	{NPL_OP_SUB, NPL_ON_HOST, "it does not broadcast", 2},
};

static int reasons(bool by_operator, struct npl_host_reason **list)
{
	static struct npl_node node[ROWS];
	static struct npl_layer_run row[ROWS];
	const struct npl_graph graph = {.n_nodes = ROWS, .node = node};
	const struct npl_run run = {.n_layers = ROWS, .layer = row};
	for (int i = 0; i < ROWS; i++) {
		node[i].op = rows[i].op;
		row[i] = (struct npl_layer_run){.node = i,
						.role = NPL_RAN,
						.device = rows[i].device,
						.note = rows[i].note,
						.host_seconds = rows[i].host_seconds};
	}
	return npl_host_reasons(&graph, &run, by_operator, list);
}

static void expect(const struct npl_host_reason *reason, enum npl_op op, int first, int layers, double seconds)
{
	cr_assert(reason->op == op && reason->first == first && reason->layers == layers);
	cr_assert(reason->seconds >= seconds && reason->seconds <= seconds, "%g seconds", reason->seconds);
}

Test(host_reasons, the_longest_time_comes_first)
{
	struct npl_host_reason *list;
	cr_assert_eq(reasons(false, &list), 4);
	expect(&list[0], NPL_OP_MATMUL, 1, 1, 3);
	expect(&list[1], NPL_OP_MUL, 0, 2, 2.5);
	expect(&list[2], NPL_OP_MUL, 3, 1, 2); /* equal times: as the network has them */
	expect(&list[3], NPL_OP_SUB, 5, 1, 2);
	cr_assert_str_eq(list[1].note, "it does not broadcast");
	free(list);
}

/* Mul is none the less an operator of its own beside MatMul. */
Test(host_reasons, each_operator_is_listed_once)
{
	struct npl_host_reason *list;
	cr_assert_eq(reasons(true, &list), 3);
	expect(&list[0], NPL_OP_MUL, 0, 3, 4.5);
	expect(&list[1], NPL_OP_MATMUL, 1, 1, 3);
	expect(&list[2], NPL_OP_SUB, 5, 1, 2);
	free(list);
}
