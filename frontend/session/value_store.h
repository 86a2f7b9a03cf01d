/* SPDX-License-Identifier: MIT
 *
 * The values alive while a batch runs. A value may exist in several number formats and places at once: the host's
 * memory and each device's. Asking for it somewhere makes the conversions (on the host) and the transfers (over the
 * device's link) that are needed, charges them to the row of the layer that asked and gives them their places in the
 * schedule. */
#ifndef NPULAB_FRONTEND_SESSION_VALUE_STORE_H
#define NPULAB_FRONTEND_SESSION_VALUE_STORE_H

#include "schedule.h"
#include "session_impl.h"

#define NPL_IN_HOST_MEMORY 1u /* bit 0; bit 1 + d is the memory of device d */

struct npl_value_copy { /* one value in one number format */
	bool exists;
	struct npl_tensor tensor; /* data NULL in timing_only */
	unsigned memories;
};

struct npl_value_store {
	struct npl_session *session;
	int *root;                                  /* per value: what it is a view of, or itself */
	struct npl_value_copy (*copy)[NPL_FORMATS]; /* per value, of roots */
	struct npl_tensor (*seen)[NPL_FORMATS];     /* per value, of views: the root's copy in their shape */
	int *reads_left;      /* per value, of roots: reads still to come, of views too, and of float values
	                                           that are these integers (model_quant.h) */
	uint64_t *link_bytes; /* nodes x devices: what crossed each device's link for a row */
	struct npl_schedule schedule;
	int *ready; /* per copy: the task that ends when it is in the host's memory, and in each device's */
	/* The task at whose end everything is there that was asked for (npl_value_store_get). Whoever asks for a new
	 * layer sets it to NPL_AT_START. */
	int after;
};

int npl_value_store_open(struct npl_session *s, const struct npl_tensor *inputs, struct npl_value_store *store,
			 struct npl_err *err);
void npl_value_store_close(struct npl_value_store *store);

/* The bit of a device's memory; a device without a link works in the host's, and one that measures its link leaves all
 * values there. */
unsigned npl_value_store_memory(const struct npl_session *s, int device);

/* Value v in a format, present in the memory of a device (or NPL_ON_HOST). Constants come as float. The tensor is
 * valid until the value's last reader is done. */
int npl_value_store_get(struct npl_value_store *store, int v, enum npl_format format, int device,
			struct npl_layer_run *row, const struct npl_tensor **tensor, struct npl_err *err);

/* Takes over a tensor that a device or the host made by the task `made`. */
void npl_value_store_put(struct npl_value_store *store, int v, enum npl_format format, int device,
			 struct npl_tensor *tensor, int made);

/* Makes value `out` an alias of value `in` with another shape: from now on they share all copies, formats and memories.
 * Later calls for the same pair do nothing. */
void npl_value_store_view(struct npl_value_store *store, int in, int out);
/* The same for a node that the plan calls a view; of a QuantizeLinear, settle: the integers are there afterwards. */
int npl_value_store_view_node(struct npl_value_store *store, const struct npl_node *node, bool settle,
			      struct npl_layer_run *row, struct npl_err *err);

/* One reader of v is done; frees it after the last. */
void npl_value_store_done(struct npl_value_store *store, int v);

/* execute.c: value v has been made by a layer: it is hashed for its row, of several the first, and shown to an
 * observer, if the session does that. */
int npl_output_made(const struct npl_session *s, int v, const struct npl_tensor *tensor, struct npl_layer_run *row,
		    struct npl_err *err);

/* execute.c: type, scale and zero point of a layer's result for its row; without values only those that the model
 * itself has. */
void npl_note_output(const struct npl_session *s, const struct npl_step *step, const struct npl_tensor *out,
		     struct npl_layer_run *row);

/* Charges one transfer over the device's link (NPL_TASK_TO_DEVICE, NPL_TASK_TO_HOST) of value v to the row, after the
 * task `after`. Returns the transfer's task. */
int npl_charge_link(struct npl_value_store *store, int device, enum npl_task_kind kind, int v, uint64_t bytes,
		    struct npl_layer_run *row, int after);

/* n layers of a device have run as one task after the task `after`: layer i is node[i]'s, with row[i]. They
 * take their place in the schedule, between the transfers that the device measured, if it does that
 * (npl_link.measured). Returns the last task. */
int npl_value_store_worked(struct npl_value_store *store, int device, int n, const int *node,
			   const struct npl_result *const *results, struct npl_layer_run *const *row, int after);

/* Charges the host's time and energy for an operator (v: -1) or a conversion of value v to the row, after the task
 * `after`. */
int npl_charge_host(struct npl_value_store *store, enum npl_task_kind kind, int v,
		    const struct npl_processor_counts *counts, struct npl_layer_run *row, int after);

#endif
