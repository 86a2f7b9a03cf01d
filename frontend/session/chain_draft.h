/* SPDX-License-Identifier: MIT
 *
 * A chain being put together (chain.h): chain.c says of which nodes and who reads what they make, chain_layers.c makes layers and tensors
 * of them. */
#ifndef NPULAB_FRONTEND_CHAIN_DRAFT_H
#define NPULAB_FRONTEND_CHAIN_DRAFT_H

#include "chain.h"

struct npl_chain_draft {
	struct npl_session *s;
	struct npl_session_chain c;
	struct npl_step_tensors *tensors; /* per layer */
	struct npl_tensor **made;         /* per value: as the chain's layers make it; NULL: they do not */
	struct npl_tensor *
		*converted; /* per value that is no view, made or given: in the other form; NULL: nobody needs it */
	const struct npl_tensor **wanted, **kept, **constant;
	int n_kept, n_constant;
	int *last_port;          /* per value: the last port by which it is given, plus 1; 0: there is none */
	int *port_before;        /* per port: the one before it of the same value, likewise */
	struct npl_arena *arena; /* of all that the chain keeps */
};

/* Whether node i is a QuantizeLinear or DequantizeLinear of the model that only says what integers stand for (written.h). */
bool npl_chain_is_alias(const struct npl_session *s, int i);
/* Inputs of the node that its device sees as values. */
int npl_chain_data_inputs(const struct npl_step *step);
/* Whether the device brings values from one form to the other within its chains. */
bool npl_chain_converts(const struct npl_session *s, int device);
/* On a real GPU, whose link is far slower than its memory, a layer that names a tensor in another shape costs nothing; a simulated
 * machine's chain ends there. */
bool npl_chain_renames(const struct npl_session *s, int device);

/* The layers of node i, which its device runs. */
int npl_chain_add_step(struct npl_chain_draft *d, int i, struct npl_err *err);
int npl_chain_add_split(struct npl_chain_draft *d, int i, struct npl_err *err);
/* A view of what the chain makes: the same tensor, or a layer that names its data in another shape. */
int npl_chain_add_view(struct npl_chain_draft *d, int i, struct npl_err *err);
/* Value v, which the chain makes, in this form: as it is made or, at the cost of node i, converted; perhaps in the shape that a view gives
 * it. */
struct npl_tensor *npl_chain_in_form(struct npl_chain_draft *d, int i, int v, enum npl_format form);
int npl_chain_no_room(struct npl_err *err);

#endif
