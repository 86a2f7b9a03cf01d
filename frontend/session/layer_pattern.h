/* SPDX-License-Identifier: MIT
 *
 * Patterns that choose layers: shell wildcards on the operator, in any case, or an extended regular expression on the
 * name. */
#ifndef NPULAB_FRONTEND_SESSION_LAYER_PATTERN_H
#define NPULAB_FRONTEND_SESSION_LAYER_PATTERN_H

#include <regex.h>

#include "npulab/graph.h"

/* A pattern, and how its errors are reported: messages begin with `location` and have the code `error_code`. */
struct layer_pattern {
	const char *location;
	int error_code;
	const char *text; /* borrowed; without the slashes of an expression */
	bool matches_name;
	regex_t expression; /* the compiled text, only with matches_name */
};

/* Compiles the expression of a pattern on the name. Returns `error_code`, with a message of what is wrong, for an
 * expression that is not valid or costs too much. */
int layer_pattern_open(struct layer_pattern *pattern, struct npl_err *err);
void layer_pattern_close(struct layer_pattern *pattern);
bool layer_pattern_matches(const struct layer_pattern *pattern, const struct npl_node *node);
/* Says that no layer of the graph matches, with the nearest name; returns `error_code`. */
int layer_pattern_no_match(const struct layer_pattern *pattern, const struct npl_graph *graph, struct npl_err *err);

#endif
