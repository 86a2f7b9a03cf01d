/* SPDX-License-Identifier: MIT
 *
 * Placement rules: which node runs where. "Conv*=tpu_v1,/fc1/=diannao,*=cpu": a pattern on the operator's type (shell
 * wildcards, any case) or, between slashes, an extended regular expression on the node's name; the first rule that
 * matches wins, and what matches none goes to the host. The device `host` is the modelled host.
 */
#ifndef NPULAB_PLACEMENT_H
#define NPULAB_PLACEMENT_H

#include "npulab/graph.h"

struct npl_placement {      /* everything lives in the arena */
	int *device;        /* per node: index into names, or NPL_ON_HOST */
	const char **names; /* devices used, in the order of their first rule */
	int n_names;
};

/* NPL_EUSAGE: a rule without '=', a bad expression, or one that matches no node (naming the nearest operator). */
int npl_placement_parse(const struct npl_graph *graph, const char *rules, struct npl_arena *arena,
			struct npl_placement *placement, struct npl_err *err);

#endif
