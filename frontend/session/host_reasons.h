/* SPDX-License-Identifier: MIT
 *
 * What a device's modelled host did in a run, and why, summed up. */
#ifndef NPULAB_FRONTEND_SESSION_HOST_REASONS_H
#define NPULAB_FRONTEND_SESSION_HOST_REASONS_H

#include "npulab/session.h"

struct npl_host_reason {
	enum npl_op op;
	const char *note; /* why, as its layers say it; the run's */
	int first;        /* the first layer */
	int layers;
	double seconds; /* of the host, over all batches */
};

/* Each operator and reason once, or (by_operator) each operator: those that take most time first, equal ones as the
 * network has them. *list: the caller's to free. Returns how many; 0 also without memory. */
int npl_host_reasons(const struct npl_graph *graph, const struct npl_run *run, bool by_operator,
		     struct npl_host_reason **list);

#endif
