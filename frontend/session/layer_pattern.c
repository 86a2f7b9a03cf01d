/* SPDX-License-Identifier: MIT
 *
 * Patterns that choose layers (layer_pattern.h). */
#include "layer_pattern.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "expression.h"

#define SHOWN_BYTES ((size_t)60) /* the bytes of an expression that a message about it shows */

#define BAD(p, format, ...) npl_fail(err, (p)->error_code, "%s: " format, (p)->location, __VA_ARGS__)

int layer_pattern_open(struct layer_pattern *pattern, struct npl_err *err)
{
	const char *costly = pattern->matches_name ? expression_too_costly(pattern->text) : NULL;
	if (costly)
		return BAD(pattern, "/%.*s%s/ %s", (int)SHOWN_BYTES, pattern->text,
			   strlen(pattern->text) > SHOWN_BYTES ? "..." : "", costly);
	if (pattern->matches_name && regcomp(&pattern->expression, pattern->text, REG_EXTENDED | REG_NOSUB))
		return BAD(pattern, "/%s/ is not a regular expression", pattern->text);
	return 0;
}

void layer_pattern_close(struct layer_pattern *pattern)
{
	if (pattern->matches_name)
		regfree(&pattern->expression);
}

bool layer_pattern_matches(const struct layer_pattern *pattern, const struct npl_node *node)
{
	return pattern->matches_name ? !regexec(&pattern->expression, node->name, 0, NULL, 0)
				     : !fnmatch(pattern->text, npl_op_defs[node->op].name, FNM_CASEFOLD);
}

int layer_pattern_no_match(const struct layer_pattern *pattern, const struct npl_graph *graph, struct npl_err *err)
{
	for (int i = 0; i < graph->n_nodes && !pattern->matches_name; i++)
		if (!strcmp(graph->node[i].name, pattern->text))
			return BAD(pattern,
				   "'%s' matches no operator of this model; for the node of that name write /%s/",
				   pattern->text, pattern->text);
	if (!pattern->matches_name && *pattern->text == '/')
		return BAD(pattern,
			   "'%s' matches no operator of this model; names of nodes are matched between slashes: %s/",
			   pattern->text, pattern->text);
	const char **names = calloc((size_t)graph->n_nodes + 1, sizeof *names);
	if (!names)
		return npl_no_memory(err);
	for (int i = 0; i < graph->n_nodes; i++)
		names[i] = pattern->matches_name ? graph->node[i].name : npl_op_defs[graph->node[i].op].name;
	const char *nearest = NPL_NEAREST_ONLY(pattern->text, names, graph->n_nodes);
	free(names);
	return BAD(pattern, "'%s' matches no %s of this model after folding%s", pattern->text,
		   pattern->matches_name ? "node" : "operator", nearest);
}
