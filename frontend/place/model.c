/* SPDX-License-Identifier: MIT
 *
 * The life of the model of costs (place_impl.h), and what it knows of the graph. */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "frontend/quantise/model_quant.h"
#include "place_impl.h"

/* Finds for each root the last node that reads it, directly or through views. */
static void find_last_uses(struct place_model *m)
{
	const struct npl_graph *graph = m->graph;
	for (int v = 0; v < graph->n_values; v++) {
		m->root[v] = npl_root_of(graph, v);
		m->last_use[v] = m->last_reader[v] = -1;
	}
	for (int i = 0; i < graph->n_nodes; i++)
		for (int k = 0; k < graph->node[i].n_in && m->next[i] == i; k++)
			if (graph->node[i].in[k] >= 0)
				m->last_use[m->root[graph->node[i].in[k]]] =
					m->last_reader[m->root[graph->node[i].in[k]]] = i;
	for (int o = 0; o < graph->n_outputs; o++)
		m->last_use[m->root[graph->output[o]]] = graph->n_nodes;
}

/* Says whether the node reads a value that is no constant. */
static bool reads(const struct place_model *m, int i)
{
	const struct npl_node *node = &m->graph->node[i];
	for (int k = 0; k < node->n_in; k++)
		if (node->in[k] >= 0 && !m->graph->value[m->root[node->in[k]]].constant)
			return true;
	return false;
}

static void describe_device(struct npl_device *device, struct place_device *d)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	const struct npl_link *link = &info->link;
	const bool counted = !link->energy_within && link->energy_origin && !npl_origin_is_absent(link->energy_origin);
	*d = (struct place_device){.device = device,
				   .measured = !npl_device_kind_is_modelled(info->kind) && info->kind != NPL_KIND_NULL,
				   .works_in_host_memory = !link->name || link->measured,
				   .link_seconds = link->latency_seconds,
				   .link_bytes_per_second = link->bytes_per_second,
				   .link_joules_per_byte = counted ? link->pj_per_byte * 1e-12 : 0,
				   .static_watts = info->static_watts > 0 ? info->static_watts : 0,
				   .energy_known = counted || link->energy_within || !link->name};
}

static int open_tables(struct place_model *m, struct npl_err *err)
{
	const size_t n = (size_t)m->graph->n_nodes + 1, n_values = (size_t)m->graph->n_values + 1;
	m->at = npl_arena_array(&m->arena, n, sizeof *m->at);
	m->next = npl_arena_array(&m->arena, n, sizeof *m->next);
	m->starts_freely = npl_arena_array(&m->arena, n, sizeof *m->starts_freely);
	m->root = npl_arena_array(&m->arena, n_values, sizeof *m->root);
	m->last_use = npl_arena_array(&m->arena, n_values, sizeof *m->last_use);
	m->last_reader = npl_arena_array(&m->arena, n_values, sizeof *m->last_reader);
	return m->last_reader && m->at && m->next && m->starts_freely && m->root && m->last_use ? 0
												: npl_no_memory(err);
}

int place_model_open(struct place_model *m, struct npl_graph *graph, struct npl_device *const *device, int n_devices,
		     struct npl_device *host, const struct npl_plan_options *plan, struct npl_err *err)
{
	*m = (struct place_model){.graph = graph,
				  .n_devices = n_devices,
				  .host_device = host,
				  .host = npl_processor_of(host),
				  .proves = true};
	m->host_joules_known = !npl_origin_is_absent(m->host->origin);
	if (open_tables(m, err))
		return err->code;
	for (int d = 0; d < n_devices; d++)
		describe_device(device[d], &m->device[d]);
	m->next[graph->n_nodes] = graph->n_nodes;
	for (int i = graph->n_nodes - 1; i >= 0; i--)
		m->next[i] = npl_is_view(graph, &graph->node[i]) ? m->next[i + 1] : i;
	find_last_uses(m);
	for (int i = graph->n_nodes - 1; i >= 0; i--)
		m->starts_freely[i] = m->starts_freely[i + 1] || (m->next[i] == i && !reads(m, i));
	int rc = place_conversions_open(m, err);
	if (!rc)
		rc = place_host_pieces(m, plan, err);
	return rc ? rc : place_path(m, err);
}

void place_model_close(struct place_model *m)
{
	for (int i = 0; m->at && i < m->graph->n_nodes; i++)
		free(m->at[i].piece);
	npl_arena_free(&m->arena);
	*m = (struct place_model){0};
}
