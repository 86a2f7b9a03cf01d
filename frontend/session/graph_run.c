/* SPDX-License-Identifier: MIT
 *
 * Running a graph once (graph_run.h). */
#include "npulab/graph_run.h"

#include <stdlib.h>

void npl_cost_of(const struct npl_run *run, struct npl_cost *cost)
{
	*cost = (struct npl_cost){.cycles = run->cycles,
				  .seconds = run->seconds,
				  .joules = npl_energy_sum(run->energy, run->n_energy),
				  .macs = run->macs,
				  .device_macs = run->device_macs,
				  .saturations = run->saturations,
				  .link_bytes = run->link_bytes};
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
}

static void free_outputs(const struct npl_graph *graph, struct npl_tensor *outputs)
{
	for (int i = 0; outputs && i < graph->n_outputs; i++) {
		npl_tensor_free(&outputs[i]);
		outputs[i] = (struct npl_tensor){0};
	}
}

/* What every value takes when the network runs in float on these inputs. */
static int calibrate(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_range **range,
		     struct npl_err *err)
{
	struct npl_tensor *outputs = calloc((size_t)graph->n_outputs + 1, sizeof *outputs);
	*range = malloc(((size_t)graph->n_values + 1) * sizeof **range);
	int rc = outputs && *range ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory");
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
		npl_cost_of(&run, cost);
	if (rc)
		free_outputs(graph, outputs);
	npl_run_free(&run);
	npl_session_close(session);
	free(range);
	return rc;
}
