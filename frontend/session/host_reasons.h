/* SPDX-License-Identifier: MIT
 *
 * Sums up what the modelled host did in a run, and why. */
#ifndef NPULAB_FRONTEND_SESSION_HOST_REASONS_H
#define NPULAB_FRONTEND_SESSION_HOST_REASONS_H

#include "npulab/session.h"

struct npl_host_reason {
	enum npl_op op;
	const char *note; /* the reason, as the run's rows give it, borrowed from the run; "" where there is none */
	int first;        /* index of the first of the layers */
	int layers;
	double seconds; /* the host's time for these layers, over all batches */
};

/* Lists the layers that the host ran, summed by operator and reason or, with by_operator, by operator alone. The
 * entries that take most time come first, equal ones in the order of the network. The caller frees *list. Returns the
 * number of entries, or NPL_ENOMEM; *list is then NULL. */
int npl_host_reasons(const struct npl_graph *graph, const struct npl_run *run, bool by_operator,
		     struct npl_host_reason **list);

#endif
