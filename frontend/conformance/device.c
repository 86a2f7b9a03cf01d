/* SPDX-License-Identifier: MIT
 *
 * One run of a case on a device: opens a session as `compare` does, and decides whether the device counts as having run
 * the case. */
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "impl.h"
#include "npulab/session.h"

bool npl_case_is_integer(const struct npl_device *device)
{
	return npl_device_get_info(device)->format != NPL_FORMAT_F32;
}

static bool is_integer(const struct npl_graph *graph, int v)
{
	return v >= 0 && npl_is_integer(graph->value[v].dtype);
}

/* Places the nodes between integers on a device of integers, which would quantise values between floats. Returns their
 * number. */
static int place_nodes(const struct npl_graph *graph, const struct npl_device *device, int *place)
{
	int n = 0;
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		bool asked = !npl_case_is_integer(device) ||
			     (node->n_in && is_integer(graph, node->in[0]) && is_integer(graph, node->out[0]));
		place[i] = asked ? 0 : NPL_ON_HOST;
		n += asked;
	}
	return n;
}

/* Returns NPL_EDEVICE with the first node that was placed on the device and did not run there, unless another node
 * did. */
static int judge(const struct npl_graph *graph, const struct npl_device *device, const int *place,
		 const struct npl_run *run, struct npl_case *c, struct npl_err *err)
{
	const struct npl_layer_run *host = NULL;
	for (int i = 0; i < run->n_layers; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		if (row->role != NPL_VIEW && row->device != NPL_ON_HOST)
			c->nodes_on_device++;
		else if (row->role == NPL_RAN && place[i] != NPL_ON_HOST && !host)
			host = row;
	}
	if (c->nodes_on_device)
		return 0;
	if (!host)
		return npl_fail(err, NPL_EDEVICE, "its nodes only give data other shapes: nothing ran on %s",
				npl_device_name(device));
	return npl_fail(err, NPL_EDEVICE, "node '%s' (%s) went to the host: %s", graph->node[host->node].name,
			npl_op_defs[graph->node[host->node].op].name, host->note ? host->note : "no reason given");
}

/* Finds the ranges of all values, as calibration does. */
static int find_ranges(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_range *range,
		       struct npl_err *err)
{
	struct npl_tensor *outputs = calloc((size_t)graph->n_outputs + 1, sizeof *outputs);
	for (int v = 0; v < graph->n_values; v++)
		range[v] = NPL_RANGE_EMPTY;
	int rc = outputs ? npl_evaluate(graph, inputs, outputs, range, err) : npl_no_memory(err);
	for (int i = 0; outputs && i < graph->n_outputs; i++)
		npl_tensor_free(&outputs[i]);
	free(outputs);
	return rc;
}

static int run(struct npl_graph *graph, struct npl_device *device, const int *place, const struct npl_range *range,
	       const struct npl_tensor *inputs, struct npl_tensor *outputs, struct npl_case *c, struct npl_err *err)
{
	const struct npl_session_options options = {.n_devices = 1, .device = &device, .place = place, .ranges = range};
	struct npl_session *session;
	struct npl_run batch_run;
	int rc = npl_session_open(graph, &options, &session, err);
	if (rc)
		return rc;
	npl_session_hash(session, false);
	rc = npl_session_run(session, inputs, outputs, &batch_run, err);
	if (!rc) {
		rc = judge(graph, device, place, &batch_run, c, err);
		npl_run_free(&batch_run);
	}
	npl_session_close(session);
	return rc;
}

int npl_case_on_device(struct npl_graph *graph, struct npl_device *device, const struct npl_tensor *inputs,
		       struct npl_tensor *outputs, struct npl_case *c, struct npl_err *err)
{
	int *place = calloc((size_t)graph->n_nodes + 1, sizeof *place);
	struct npl_range *range = calloc((size_t)graph->n_values + 1, sizeof *range);
	int rc = place && range ? 0 : npl_no_memory(err);
	c->nodes_on_device = 0;
	if (!rc && !graph->n_nodes)
		rc = npl_fail(err, NPL_EDEVICE, "all of it is constant: no node is left to be run");
	else if (!rc && !place_nodes(graph, device, place))
		rc = npl_fail(
			err, NPL_EDEVICE,
			"it has no node between integers, and %s would quantise floats, whose results are not exact",
			npl_device_name(device));
	if (!rc && npl_case_is_integer(device))
		rc = find_ranges(graph, inputs, range, err);
	if (!rc)
		rc = run(graph, device, place, npl_case_is_integer(device) ? range : NULL, inputs, outputs, c, err);
	free(place);
	free(range);
	return rc;
}
