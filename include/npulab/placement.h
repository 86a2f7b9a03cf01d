/* SPDX-License-Identifier: MIT
 *
 * Placement rules say which node runs on which device: "Conv*=tpu_v1,/fc1/=diannao,*=cpu". A pattern matches the
 * operator's type (shell wildcards, any case) or, between slashes, the node's name by an extended regular expression.
 * The first rule that matches wins; a node that matches none goes to the host. The device `host` is the modelled host.
 * In a file each rule has its own line, blanks around its parts are ignored, and "#" at the beginning of a word starts
 * a comment.
 *
 * A rule that matches no node is refused. A warning names a rule that has no effect because it stands after a broader
 * one, as Conv in "*=cpu,Conv=tpu_v1": the earlier rule put all its nodes, and others, on another device. A broad rule
 * without any node left, such as a last "*=cpu", gets no warning.
 */
#ifndef NPULAB_PLACEMENT_H
#define NPULAB_PLACEMENT_H

#include "npulab/graph.h"
#include "npulab/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_placement {      /* everything lives in the arena */
	int *device;        /* per node: index into names, or NPL_ON_HOST */
	const char **rule;  /* per node: the rule that placed it, as "PATTERN=DEVICE"; NULL where no rule did */
	const char **names; /* devices used, in the order of their first rule */
	/* per name: where its first rule is, "FILE:LINE"; NULL where the rules are from no file */
	const char **named_at;
	int n_names;
	const char **warning; /* rules without effect that look like a mistake, one line each */
	int n_warnings;
};

/* Parses rules. Returns NPL_EUSAGE for a rule without '=', a bad expression, or a rule that matches no node, with the
 * nearest operator. */
int npl_placement_parse(const struct npl_graph *graph, const char *rules, struct npl_arena *arena,
			struct npl_placement *placement, struct npl_err *err);

/* Parses rules from a file. Returns NPL_EINPUT; each error names file and line. */
int npl_placement_load(const struct npl_graph *graph, const char *path, struct npl_arena *arena,
		       struct npl_placement *placement, struct npl_err *err);

/* Parses the text of such a file; name: what messages call it. */
int npl_placement_read(const struct npl_graph *graph, const char *text, const char *name, struct npl_arena *arena,
		       struct npl_placement *placement, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
