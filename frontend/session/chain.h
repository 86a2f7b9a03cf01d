/* SPDX-License-Identifier: MIT
 *
 * Steps of a plan that go to their device together (npulab/chain.h): as many as follow each other there. What passes
 * between them stays on the device; only what others read comes back to the session. */
#ifndef NPULAB_FRONTEND_CHAIN_H
#define NPULAB_FRONTEND_CHAIN_H

#include "live.h"

/* A value that enters a chain or leaves it. */
struct npl_chain_port {
	int value, node;           /* the node that reads it first, or makes it */
	struct npl_tensor *tensor; /* as the layers name it */
	enum npl_format form;      /* of the value (live.h) */
	bool converted;            /* by a layer of its own: not as its node makes it */
	bool moved;                /* by the chain itself, between the device and the host's memory... */
	uint64_t left;             /* ...but for this many bytes */
};

struct npl_session_chain {
	int first, last; /* nodes */
	int device;
	bool converts; /* the device brings values from floats to integers and back, within the chain */
	int n;         /* layers: of the nodes that the device runs, and of views between them that change a shape */
	struct npl_layer *layer;
	const struct npl_layer **list;
	int *node;         /* of each layer */
	int *value;        /* that each makes */
	const char **note; /* of each layer that another does in its pass; NULL */
	int n_in, n_out;
	struct npl_chain_port *in, *out;
	struct npl_device_chain *opened;
};

/* Fills s->chain from the plan. */
int npl_chains_open(struct npl_session *s, struct npl_err *err);
void npl_chains_close(struct npl_session *s);

/* chain_run.c: runs the chain's nodes for rows run->layer[first..last], which are opened; *wall grows by the device's
 * time. */
int npl_chain_run(struct npl_live *live, const struct npl_session_chain *chain, struct npl_run *run, double *wall,
		  struct npl_err *err);

#endif
