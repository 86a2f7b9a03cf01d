/* SPDX-License-Identifier: MIT
 *
 * The values that are alive while a batch runs. A value may exist in several number formats and in several memories at
 * once: the host's and each device's. A request for a value in a format and memory makes the conversions (on the host)
 * and the transfers (over the device's link) that it needs, charges them to the row of the requesting layer and places
 * them in the schedule. */
#ifndef NPULAB_FRONTEND_SESSION_VALUE_STORE_H
#define NPULAB_FRONTEND_SESSION_VALUE_STORE_H

#include "schedule.h"
#include "session_impl.h"

#define NPL_IN_HOST_MEMORY 1u /* bit 0; bit 1 + d is the memory of device d */

struct npl_value_copy { /* one value in one number format */
	bool exists;
	struct npl_tensor tensor; /* data NULL in timing_only */
	unsigned memories;        /* bits of the memories that hold it */
};

struct npl_value_store {
	struct npl_session *session;
	int *root;                                  /* per value: the value that it is a view of, or itself */
	struct npl_value_copy (*copy)[NPL_FORMATS]; /* per root: its copy in each number format */
	struct npl_tensor (*alias)[NPL_FORMATS];    /* per view: its root's copy under the view's name and shape */
	/* Per root: reads still to come of the value and its views and, if it holds the model's integers, of the float
	 * values that they stand for (model_quant.h). */
	int *reads_left;
	uint64_t *link_bytes; /* nodes x devices: bytes that crossed the device's link for the node's row */
	struct npl_schedule schedule;
	int *ready; /* per copy and memory, the host's first: the task that ends when the copy is there */
	/* The task at whose end all values are there that a layer asked for (npl_value_store_get). The code that runs a
	 * layer first sets it to NPL_AT_START. */
	int inputs_task;
};

int npl_value_store_open(struct npl_session *s, const struct npl_tensor *inputs, struct npl_value_store *store,
			 struct npl_err *err);
void npl_value_store_close(struct npl_value_store *store);

/* Returns the bit of a device's memory: NPL_IN_HOST_MEMORY for the host, for a device without a link, and for one that
 * measures its link and so leaves all values in the host's memory. */
unsigned npl_value_store_memory(const struct npl_session *s, int device);

/* Sets *tensor to value v in a format, present in the memory of a device (or NPL_ON_HOST), and charges what that takes
 * to the row. Constants begin as the graph has them, in every memory. The tensor is valid until the value's last reader
 * is done. Returns 0 or err->code. */
int npl_value_store_get(struct npl_value_store *store, int v, enum npl_format format, int device,
			struct npl_layer_run *row, const struct npl_tensor **tensor, struct npl_err *err);

/* Takes over a tensor as value v in a format. The task `making_task` of a device (or NPL_ON_HOST) has made it, in that
 * device's memory. */
void npl_value_store_put(struct npl_value_store *store, int v, enum npl_format format, int device,
			 struct npl_tensor *tensor, int making_task);

/* Enters a node that the plan calls a view. The result of a QuantizeLinear becomes the integers of its input; with
 * settle, these exist afterwards. Returns 0 or err->code. */
int npl_value_store_view_node(struct npl_value_store *store, const struct npl_node *node, bool settle,
			      struct npl_layer_run *row, struct npl_err *err);

/* Notes that one reader of v is done, and frees the copies of v after the last reader. */
void npl_value_store_done(struct npl_value_store *store, int v);

/* outputs.c: notes that a layer has made value v. Hashes it for the row, if the session hashes and v is the first
 * result of the step, and shows it to the session's observer. Returns 0 or the observer's error. */
int npl_output_made(const struct npl_session *s, int v, const struct npl_tensor *tensor, struct npl_layer_run *row,
		    struct npl_err *err);

/* outputs.c: notes type, scale and zero point of a layer's result in its row. In timing_only it notes scale and zero
 * point only if they are the model's own. */
void npl_note_output(const struct npl_session *s, const struct npl_step *step, const struct npl_tensor *out,
		     struct npl_layer_run *row);

/* Charges a transfer of value v (-1: of no value of the graph) over the device's link to the row and schedules it after
 * the task `predecessor`. kind: NPL_TASK_TO_DEVICE or NPL_TASK_TO_HOST. Returns the transfer's task; in a list of
 * layers, where it is free, `predecessor`. */
int npl_charge_link(struct npl_value_store *store, int device, enum npl_task_kind kind, int v, uint64_t bytes,
		    struct npl_layer_run *row, int predecessor);

/* Schedules n layers that a device has run, after the task `predecessor`: layer i belongs to node[i], with results[i]
 * and row[i]. Transfers that the device measured (npl_link.measured) are charged and scheduled before and after the
 * layers. Returns the last task. */
int npl_value_store_schedule_layers(struct npl_value_store *store, int device, int n, const int *node,
				    const struct npl_result *const *results, struct npl_layer_run *const *row,
				    int predecessor);

/* Charges the host's time and energy for an operator (v: -1) or a conversion of value v to the row and schedules the
 * work after the task `predecessor`. Returns its task; for a conversion in a list of layers, which is free,
 * `predecessor`. */
int npl_charge_host(struct npl_value_store *store, enum npl_task_kind kind, int v,
		    const struct npl_processor_counts *counts, struct npl_layer_run *row, int predecessor);

#endif
