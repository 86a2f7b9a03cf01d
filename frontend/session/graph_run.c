/* SPDX-License-Identifier: MIT
 *
 * Runs a graph once (graph_run.h). */
#include "npulab/graph_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "host_reasons.h"

#define MORE "..."

/* Appends a piece to the text, or MORE if there is no room for the piece. Appends nothing after MORE. */
static void add_piece(char *text, const char *piece, size_t length)
{
	const size_t used = strlen(text), limit = NPL_COST_TEXT - sizeof MORE; /* MORE always fits after that */
	if (used >= sizeof MORE - 1 && !strcmp(text + used - (sizeof MORE - 1), MORE))
		return;
	const char *separator = used ? "; " : "";
	if (used + strlen(separator) + length > limit)
		snprintf(text + used, NPL_COST_TEXT - used, MORE);
	else
		snprintf(text + used, NPL_COST_TEXT - used, "%s%.*s", separator, (int)length, piece);
}

static void list_on_host(const struct npl_graph *graph, const struct npl_run *run, char *text)
{
	struct npl_host_reason *reason;
	const int n = npl_host_reasons(graph, run, false, &reason);
	if (n < 0)
		add_piece(text, MORE, sizeof MORE - 1);
	for (int i = 0; i < n; i++) {
		char piece[NPL_COST_TEXT];
		const int length = snprintf(piece, sizeof piece, "%s (%d layer%s%s%s)", npl_op_defs[reason[i].op].name,
					    reason[i].layers, npl_plural(reason[i].layers), *reason[i].note ? ": " : "",
					    reason[i].note);
		add_piece(text, piece, (size_t)length);
	}
	free(reason);
}

/* Adds the pieces of `addition` that the text does not have. Each piece ends with ")", as list_on_host made it, except
 * MORE. */
static void add_pieces(char *text, const char *addition)
{
	while (*addition) {
		const char *end = strstr(addition, "); ");
		const size_t length = end ? (size_t)(end + 1 - addition) : strlen(addition);
		char piece[NPL_COST_TEXT];
		snprintf(piece, sizeof piece, "%.*s", (int)length, addition);
		if (!strstr(text, piece))
			add_piece(text, piece, length);
		addition += length + (end ? 2 : 0);
	}
}

void npl_cost_of(const struct npl_graph *graph, const struct npl_run *run, struct npl_cost *cost)
{
	*cost = (struct npl_cost){.cycles = run->cycles,
				  .seconds = run->seconds,
				  .joules = npl_energy_sum(run->energy, run->n_energy),
				  .macs = run->macs,
				  .device_macs = run->device_macs,
				  .saturations = run->saturations,
				  .link_bytes = run->link_bytes};
	list_on_host(graph, run, cost->on_host);
}

void npl_cost_add(struct npl_cost *sum, const struct npl_cost *cost)
{
	sum->cycles += cost->cycles;
	sum->seconds += cost->seconds;
	sum->joules += cost->joules;
	sum->macs += cost->macs;
	sum->device_macs += cost->device_macs;
	sum->saturations += cost->saturations;
	sum->link_bytes += cost->link_bytes;
	add_pieces(sum->on_host, cost->on_host);
}

static void free_outputs(const struct npl_graph *graph, struct npl_tensor *outputs)
{
	for (int i = 0; outputs && i < graph->n_outputs; i++) {
		npl_tensor_free(&outputs[i]);
		outputs[i] = (struct npl_tensor){0};
	}
}

/* Runs the network in float32 on these inputs and makes *range, the range of every value, which the caller frees. */
static int calibrate(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_range **range,
		     struct npl_err *err)
{
	struct npl_tensor *outputs = calloc((size_t)graph->n_outputs + 1, sizeof *outputs);
	*range = malloc(((size_t)graph->n_values + 1) * sizeof **range);
	int rc = outputs && *range ? 0 : npl_no_memory(err);
	for (int v = 0; v < graph->n_values && !rc; v++)
		(*range)[v] = NPL_RANGE_EMPTY;
	if (!rc)
		rc = npl_evaluate(graph, inputs, outputs, *range, err);
	free_outputs(graph, outputs);
	free(outputs);
	return rc;
}

int npl_graph_run(struct npl_graph *graph, struct npl_device *device, const struct npl_tensor *inputs,
		  const struct npl_tensor *calibration, struct npl_tensor *outputs, struct npl_cost *cost,
		  struct npl_err *err)
{
	struct npl_range *range = NULL;
	struct npl_session *session = NULL;
	struct npl_run run = {0};
	int rc = 0;
	for (int i = 0; i < graph->n_outputs; i++)
		outputs[i] = (struct npl_tensor){0};
	if (npl_device_get_info(device)->format != NPL_FORMAT_F32)
		rc = calibrate(graph, calibration ? calibration : inputs, &range, err);
	if (!rc)
		rc = npl_session_open(graph,
				      &(struct npl_session_options){.n_devices = 1, .device = &device, .ranges = range},
				      &session, err);
	if (!rc) {
		npl_session_hash(session, false);
		rc = npl_session_run(session, inputs, outputs, &run, err);
	}
	if (!rc)
		rc = npl_graph_files_unchanged(graph, err);
	if (!rc && cost)
		npl_cost_of(graph, &run, cost);
	if (rc)
		free_outputs(graph, outputs);
	npl_run_free(&run);
	npl_session_close(session);
	free(range);
	return rc;
}
