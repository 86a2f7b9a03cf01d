/* SPDX-License-Identifier: MIT
 *
 * The life of a session (session.h): what the caller's options ask for, what is known of the graph's values before
 * layers are planned, and its end. */
#include <stdlib.h>

#include "core/base/refuse.h"
#include "layer_group.h"
#include "session_impl.h"
#include "stay_float.h"

static int find_readers(struct npl_session *s, struct npl_err *err)
{
	const struct npl_graph *graph = s->graph;
	s->reader = calloc((size_t)graph->n_values + 1, sizeof *s->reader);
	if (!s->reader)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	for (int v = 0; v < graph->n_values; v++)
		s->reader[v] = -1;
	for (int i = 0; i < graph->n_nodes; i++)
		for (int k = 0; k < graph->node[i].n_in; k++)
			if (graph->node[i].in[k] >= 0)
				s->reader[graph->node[i].in[k]] = i;
	return 0;
}

static int check_options(const struct npl_graph *graph, const struct npl_session_options *options, struct npl_err *err)
{
	for (int i = 0; options->place && i < graph->n_nodes; i++)
		if (options->place[i] != NPL_ON_HOST &&
		    (options->place[i] < 0 || options->place[i] >= options->n_devices))
			return npl_fail(err, NPL_EUSAGE, "node '%s' is placed on device %d of %d", graph->node[i].name,
					options->place[i], options->n_devices);
	if (options->n_devices > NPL_SESSION_DEVICES)
		return npl_fail(err, NPL_EUSAGE, "%d devices in one run, expected at most %d", options->n_devices,
				NPL_SESSION_DEVICES);
	if (!options->place && options->n_devices < 1)
		return npl_fail(err, NPL_EUSAGE, "a session without a device");
	for (int d = 0; d < options->n_devices; d++)
		if (npl_device_get_info(options->device[d])->format != NPL_FORMAT_F32 && !options->ranges &&
		    !options->plan.timing_only)
			return npl_fail(err, NPL_EUSAGE, "%s needs the values' ranges to quantise with",
					npl_device_instance(options->device[d]));
	return 0;
}

static int open_host(struct npl_session *s, struct npl_device *host, struct npl_err *err)
{
	if (!host && npl_device_open(NPL_HOST_NAME, NULL, &s->own_host, err))
		return err->code;
	s->host = npl_processor_of(host ? host : s->own_host);
	return s->host ? 0 : npl_fail(err, NPL_EUSAGE, "the host must be a machine of the driver 'processor'");
}

int npl_session_open(struct npl_graph *graph, const struct npl_session_options *options, struct npl_session **session,
		     struct npl_err *err)
{
	*session = NULL;
	if (check_options(graph, options, err))
		return err->code;
	struct npl_session *s = calloc(1, sizeof *s);
	if (!s)
		return npl_no_memory(err);
	bool takes_int8[NPL_SESSION_DEVICES];
	int rc = 0;
	s->graph = graph;
	s->n_devices = options->n_devices;
	s->options = options->plan;
	s->inputs_over_link = options->inputs_over_link;
	s->outputs_over_link = options->outputs_over_link;
	s->resident = options->resident;
	s->hash = true;
	s->device = calloc((size_t)options->n_devices + 1, sizeof *s->device);
	s->step = calloc((size_t)graph->n_nodes + 1, sizeof *s->step);
	s->scratch = npl_arena_array(&s->arena, NPL_MAX_TENSORS, sizeof *s->scratch);
	if (!s->device || !s->step || !s->scratch)
		rc = npl_fail(err, NPL_ENOMEM, "out of memory for %d nodes", graph->n_nodes);
	for (int d = 0; d < s->n_devices && !rc; d++) {
		s->device[d] = options->device[d];
		takes_int8[d] = npl_device_get_info(s->device[d])->format == NPL_FORMAT_INT8;
	}
	if (!rc)
		rc = find_readers(s, err);
	if (!rc)
		rc = npl_ranges_open(s, options->ranges, options->ranges_int8, err);
	if (!rc)
		rc = npl_model_quants_find(graph, options->place, takes_int8, &s->model, err);
	if (!rc)
		rc = npl_masks_find(s, err);
	if (!rc)
		rc = open_host(s, options->host, err);
	if (!rc)
		rc = npl_plan(s, options->place, err);
	if (!rc)
		rc = npl_layer_groups_open(s, err);
	if (rc) {
		npl_session_close(s);
		return rc;
	}
	*session = s;
	return 0;
}

void npl_session_observe(struct npl_session *session, const struct npl_value_observer *observer)
{
	session->observer = observer;
}

bool npl_session_uses(const struct npl_session *session, int device)
{
	bool used = false;
	for (int i = 0; i < session->graph->n_nodes; i++)
		used |= session->step[i].role == NPL_RAN && session->step[i].device == device;
	for (int g = 0; g < session->n_layer_groups; g++) /* a layer group may only convert */
		used |= session->group[g].device == device;
	return used;
}

void npl_session_hash(struct npl_session *session, bool hash)
{
	session->hash = hash;
}

void npl_session_close(struct npl_session *s)
{
	if (!s)
		return;
	npl_layer_groups_close(s);
	npl_device_close(s->own_host);
	for (int i = 0; s->step && i < s->graph->n_nodes; i++) {
		npl_tensor_free(&s->step[i].weight);
		npl_tensor_free(&s->step[i].bias);
		free(s->step[i].channel_scale);
	}
	free(s->device);
	free(s->step);
	free(s->range);
	free(s->range_int8);
	free(s->range_of);
	free(s->mask_below);
	free(s->reader);
	free(s->sharing);
	npl_model_quants_free(&s->model);
	npl_arena_free(&s->arena);
	free(s);
}
