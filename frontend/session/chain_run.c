/* SPDX-License-Identifier: MIT
 *
 * One run of a chain in a session (chain.h). */
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "core/computer/clock.h"

struct progress {
	const struct npl_session *s;
	const struct npl_session_chain *chain;
	struct npl_run *run;
};

static int made(void *context, int layer, int result, const struct npl_tensor *out, struct npl_err *err)
{
	const struct progress *p = context;
	int node = p->chain->node[layer], value = p->chain->value[layer];
	if (p->s->step[node].role != NPL_RAN)
		return 0;
	if (result > 0)
		value = p->s->graph->node[node].out[result];
	return value < 0 ? 0 : npl_output_made(p->s, value, out, &p->run->layer[node], err);
}

/* Of values that come, that go, or that stay inside: those nobody will ask for. */
static int note_views(struct npl_live *live, const struct npl_session_chain *chain, struct npl_run *run,
		      struct npl_err *err)
{
	const struct npl_session *s = live->session;
	for (int i = chain->first; i <= chain->last; i++) {
		const struct npl_node *node = &s->graph->node[i];
		bool made_here = s->graph->value[node->in[0]].producer >= chain->first;
		const bool inside = made_here || chain->converts;
		if (s->step[i].role == NPL_VIEW && npl_live_view_node(live, node, !inside, &run->layer[i], err))
			return err->code;
	}
	return 0;
}

static int gather(struct npl_live *live, const struct npl_session_chain *chain, struct npl_run *run,
		  struct npl_err *err)
{
	const struct npl_session *s = live->session;
	live->after = NPL_AT_START;
	for (int p = 0; p < chain->n_in; p++) {
		const struct npl_chain_port *port = &chain->in[p];
		const struct npl_tensor *value;
		int before = live->after;
		live->after = NPL_AT_START;
		if (npl_live_get(live, port->value, port->form, port->moved ? NPL_ON_HOST : chain->device,
				 &run->layer[port->node], &value, err))
			return err->code;
		bool same = port->form == NPL_FORMAT_F32 /* the model's own integers carry no scale with them */ ||
			    npl_quant_same(&value->quant, &port->tensor->quant);
		if (!s->timing_only && !same)
			return npl_fail(err, NPL_EINTERNAL, "value '%s' is not quantised as planned", value->name);
		port->tensor->data = value->data;
		if (port->left)
			live->after = npl_charge_link(live, chain->device, NPL_WORK_TO_DEVICE, port->value, port->left,
						      &run->layer[port->node], live->after);
		live->after = npl_schedule_later(&live->schedule, before, live->after);
	}
	return 0;
}

/* `done`: the chain's work. */
static int put_results(struct npl_live *live, const struct npl_session_chain *chain, struct npl_run *run, int done,
		       struct npl_err *err)
{
	const struct npl_session *s = live->session;
	for (int p = 0; p < chain->n_out; p++) {
		const struct npl_chain_port *port = &chain->out[p];
		struct npl_tensor result = *port->tensor;
		*port->tensor = (struct npl_tensor){
			.name = result.name, .dtype = result.dtype, .shape = result.shape, .quant = result.quant};
		if (!port->converted && npl_output_made(s, port->value, &result, &run->layer[port->node], err)) {
			npl_tensor_free(&result);
			return err->code;
		}
		result.shape = s->graph->value[port->value].shape;
		if (port->form == NPL_FORMAT_F32)
			result.quant = (struct npl_quant){0};
		int there = done;
		if (port->left)
			there = npl_charge_link(live, chain->device, NPL_WORK_TO_HOST, port->value, port->left,
						&run->layer[port->node], done);
		npl_live_put(live, port->value, port->form, port->moved ? NPL_ON_HOST : chain->device, &result, there);
	}
	return 0;
}

/* Rows of nodes that several layers make, a Split's slices, are their sums. */
static int fill_rows(const struct npl_session *s, const struct npl_session_chain *chain,
		     const struct npl_result *results, struct npl_run *run, struct npl_err *err)
{
	const struct npl_chain_info *info = npl_device_chain_info(chain->opened);
	for (int l = 0; l < chain->n; l++) {
		struct npl_layer_run *row = &run->layer[chain->node[l]];
		const struct npl_step *step = &s->step[chain->node[l]];
		struct npl_result result = results[l];
		const bool conversion = chain->value[l] < 0; /* what it saturates is counted as such */
		if (step->role != NPL_RAN && !conversion)
			continue;
		if (conversion) {
			row->role = NPL_RAN;
			row->clipped += result.saturations;
			result.saturations = 0;
		}
		if (npl_result_add(&row->result, &result, err))
			return err->code;
		row->result.seconds_from = results[l].seconds_from;
		if (conversion)
			continue;
		npl_note_output(s, step, chain->layer[l].out, row);
		if (chain->note[l] && !step->slice) {
			row->role = NPL_FUSED;
			row->stat = NULL;
			row->n_stats = 0;
			row->result.n_energy = 0;
			row->note = chain->note[l];
		}
	}
	if (info->peak_buffer_bytes > run->peak_buffer_bytes)
		run->peak_buffer_bytes = info->peak_buffer_bytes;
	return 0;
}

/* The chain as one piece of the device's work. */
static int schedule(struct npl_live *live, const struct npl_session_chain *chain, struct npl_run *run,
		    const struct npl_result *results, struct npl_err *err)
{
	const struct npl_result **list = calloc((size_t)chain->n + 1, sizeof *list);
	struct npl_layer_run **row = calloc((size_t)chain->n + 1, sizeof *row);
	int rc = list && row ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", chain->n);
	for (int l = 0; l < chain->n && !rc; l++) {
		list[l] = &results[l];
		row[l] = &run->layer[chain->node[l]];
	}
	if (!rc)
		live->after = npl_live_worked(live, chain->device, chain->n, chain->node, list, row, live->after);
	free(list);
	free(row);
	return rc;
}

int npl_chain_run(struct npl_live *live, const struct npl_session_chain *chain, struct npl_run *run, double *wall,
		  struct npl_err *err)
{
	const struct npl_session *s = live->session;
	struct progress progress = {s, chain, run};
	const struct npl_chain_watcher watcher = {s->hash || s->watcher ? made : NULL, &progress};
	struct npl_result *results = calloc((size_t)chain->n, sizeof *results);
	int rc = results ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", chain->n);
	if (!rc)
		rc = note_views(live, chain, run, err);
	if (!rc)
		rc = gather(live, chain, run, err);
	for (int p = 0; p < chain->n_out && !rc && !s->timing_only; p++)
		rc = npl_tensor_alloc(chain->out[p].tensor, err);
	double start = npl_clock_seconds();
	if (!rc)
		rc = npl_device_run_chain(chain->opened, &watcher, results, err);
	*wall += npl_clock_seconds() - start;
	if (!rc)
		rc = schedule(live, chain, run, results, err);
	if (!rc)
		rc = fill_rows(s, chain, results, run, err);
	if (!rc)
		rc = put_results(live, chain, run, live->after, err);
	for (int p = 0; p < chain->n_out; p++)
		npl_tensor_free(chain->out[p].tensor);
	for (int i = chain->first; i <= chain->last && !rc; i++)
		for (int k = 0; k < s->graph->node[i].n_in; k++)
			if (s->graph->node[i].in[k] >= 0)
				npl_live_done(live, s->graph->node[i].in[k]);
	free(results);
	return rc;
}
