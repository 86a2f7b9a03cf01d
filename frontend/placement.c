/* SPDX-License-Identifier: MIT
 *
 * Placement rules (placement.h). */
#include "npulab/placement.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdbool.h>
#include <string.h>

#include "npulab/session.h"
#include "npulab/text.h"

struct rule {
	const char *pattern; /* of the operator's type, or the expression */
	bool on_name;
	const char *device;
};

/* Cuts one rule off the text: up to a comma that is not inside /.../. */
static int cut_rule(const char **at, struct npl_arena *arena, struct rule *rule, struct npl_err *err)
{
	const char *start = *at, *end;
	rule->on_name = *start == '/';
	if (rule->on_name) {
		end = strchr(start + 1, '/');
		if (!end)
			return npl_fail(err, NPL_EUSAGE,
					"--place: '%s' opens an expression with / and does not close it", start);
		rule->pattern = npl_arena_strndup(arena, start + 1, (size_t)(end - start - 1));
		end++;
	} else {
		end = start + strcspn(start, "=,");
		rule->pattern = npl_arena_strndup(arena, start, (size_t)(end - start));
	}
	size_t length = *end == '=' ? strcspn(end + 1, ",") : 0;
	if (!length || end == start)
		return npl_fail(err, NPL_EUSAGE, "--place: '%s': expected PATTERN=DEVICE", start);
	rule->device = npl_arena_strndup(arena, end + 1, length);
	if (!rule->pattern || !rule->device)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	*at = end + 1 + length;
	*at += **at == ',';
	return 0;
}

static int device_index(struct npl_placement *placement, const char *device)
{
	if (!strcmp(device, "host"))
		return NPL_ON_HOST;
	for (int i = 0; i < placement->n_names; i++)
		if (!strcmp(placement->names[i], device))
			return i;
	placement->names[placement->n_names] = device;
	return placement->n_names++;
}

static int no_match(const struct npl_graph *graph, const struct rule *rule, struct npl_err *err)
{
	const char *names[64];
	int n = 0;
	for (int i = 0; i < graph->n_nodes && !rule->on_name; i++)
		if (!strcmp(graph->node[i].name, rule->pattern))
			return npl_fail(
				err, NPL_EUSAGE,
				"--place: '%s' matches no operator of this model; for the node of that name write /%s/",
				rule->pattern, rule->pattern);
	for (int i = 0; i < graph->n_nodes && n < 64; i++)
		names[n++] = rule->on_name ? graph->node[i].name : npl_op_defs[graph->node[i].op].name;
	const char *nearest = npl_nearest(rule->pattern, names, n);
	return npl_fail(err, NPL_EUSAGE, "--place: '%s' matches no %s of this model%s%s%s", rule->pattern,
			rule->on_name ? "node" : "operator", nearest ? "; the nearest is '" : "",
			nearest ? nearest : "", nearest ? "'" : "");
}

/* Gives the rule's device to every node it matches and no earlier rule did. */
static int apply(const struct npl_graph *graph, const struct rule *rule, int device, bool *taken,
		 struct npl_placement *placement, struct npl_err *err)
{
	regex_t expression;
	bool any = false;
	if (rule->on_name && regcomp(&expression, rule->pattern, REG_EXTENDED | REG_NOSUB))
		return npl_fail(err, NPL_EUSAGE, "--place: /%s/ is not a regular expression", rule->pattern);
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		bool match = rule->on_name ? !regexec(&expression, node->name, 0, NULL, 0)
					   : !fnmatch(rule->pattern, npl_op_defs[node->op].name, FNM_CASEFOLD);
		any = any || match;
		if (match && !taken[i]) {
			taken[i] = true;
			placement->device[i] = device;
		}
	}
	if (rule->on_name)
		regfree(&expression);
	return any ? 0 : no_match(graph, rule, err);
}

int npl_placement_parse(const struct npl_graph *graph, const char *rules, struct npl_arena *arena,
			struct npl_placement *placement, struct npl_err *err)
{
	size_t most = 1, n = (size_t)graph->n_nodes;
	for (const char *c = rules; *c; c++)
		most += *c == ',';
	bool *taken = npl_arena_array(arena, n + 1, sizeof *taken);
	placement->device = npl_arena_array(arena, n + 1, sizeof *placement->device);
	placement->names = npl_arena_array(arena, most, sizeof *placement->names);
	placement->n_names = 0;
	if (!taken || !placement->device || !placement->names)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		placement->device[i] = NPL_ON_HOST;
	if (!*rules)
		return npl_fail(err, NPL_EUSAGE, "--place: no rules, expected PATTERN=DEVICE,...");
	for (const char *at = rules; *at;) {
		struct rule rule = {0};
		if (cut_rule(&at, arena, &rule, err) ||
		    apply(graph, &rule, device_index(placement, rule.device), taken, placement, err))
			return err->code;
	}
	return 0;
}
