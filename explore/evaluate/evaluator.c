/* SPDX-License-Identifier: MIT
 *
 * Running the points of a plan (evaluator.h). */
#include "evaluator.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "constraints.h"
#include "core/base/refuse.h"
#include "core/files/words.h"
#include "core/memo.h"
#include "frontend/samples/network.h"
#include "npulab/compare.h"
#include "settings.h"

/* The most networks that stay imported; further ones replace the oldest. */
#define NETWORKS 16
/* Of outcomes of simulations that are remembered, in each process. */
#define MEMO_BYTES ((size_t)64 << 20)

/* A network that has been imported. */
struct imported {
	const char *model, *batch; /* in the network's arena */
	struct npl_network network;
};

/* A machine that is open, and what it was opened with. */
struct opened {
	struct npl_device *device; /* NULL: none is open */
	char *name, *settings;     /* owned; the settings, each behind a line break */
};

struct sweep_evaluator {
	const struct sweep_plan *plan;
	int n_networks, next_network; /* the network that is replaced next when all places are taken */
	struct imported network[NETWORKS];
	struct npl_device **base; /* for each level of the device axis, as its file has it; NULL: not opened yet */
	struct npl_device *base_host;
	struct opened device, host;
	struct sweep_layer *layer;
};

static int import(struct sweep_evaluator *e, const char *model, const char *batch, struct npl_network **network,
		  struct npl_err *err)
{
	const struct sweep_plan *plan = e->plan;
	for (int i = 0; i < e->n_networks; i++)
		if (!strcmp(e->network[i].model, model) && !strcmp(e->network[i].batch, batch)) {
			*network = &e->network[i].network;
			return 0;
		}
	struct npl_network_options options = {.n_dims = plan->n_dims,
					      .dims = plan->dim,
					      .n_inputs = plan->inputs.n,
					      .inputs = plan->inputs.text,
					      .labels = plan->labels,
					      .seed = plan->seed,
					      .timing_only = !plan->values};
	struct imported imported = {0};
	if (*batch && (!npl_parse_count(batch, &options.batch) || options.batch < 1))
		return npl_fail(err, NPL_EUSAGE, "batch '%s': expected a whole number from 1 on", batch);
	if (npl_network_load(model, &options, &imported.network, err))
		return err->code;
	imported.model = npl_arena_strdup(&imported.network.arena, model);
	imported.batch = npl_arena_strdup(&imported.network.arena, batch);
	if (!imported.model || !imported.batch) {
		npl_network_free(&imported.network);
		return npl_no_memory(err);
	}
	struct imported *place = &e->network[e->next_network];
	if (e->n_networks == NETWORKS)
		npl_network_free(&place->network);
	else
		e->n_networks++;
	e->next_network = (e->next_network + 1) % NETWORKS;
	*place = imported;
	*network = &place->network;
	return 0;
}

static void close_opened(struct opened *opened)
{
	npl_device_close(opened->device);
	free(opened->name);
	free(opened->settings);
	*opened = (struct opened){0};
}

/* Opens a machine, unless it is the one that is open. */
static int open_machine(struct opened *opened, const char *name, const struct sweep_machine_settings *settings,
			const char *engine, struct npl_err *err)
{
	size_t bytes = 1;
	for (int i = 0; i < settings->n; i++)
		bytes += strlen(settings->set[i]) + 1;
	char *text = malloc(bytes), *end = text;
	if (!text)
		return npl_no_memory(err);
	*text = '\0';
	for (int i = 0; i < settings->n; i++) {
		end = stpcpy(end, "\n");
		end = stpcpy(end, settings->set[i]);
	}
	if (opened->device && !strcmp(opened->name, name) && !strcmp(opened->settings, text)) {
		free(text);
		return 0;
	}
	close_opened(opened);
	opened->settings = text;
	opened->name = strdup(name);
	const struct npl_device_options options = {
		.n_sets = settings->n, .set = settings->set, .typed = settings->typed, .threads = 1, .engine = engine};
	int rc = opened->name ? npl_device_open(name, &options, &opened->device, err) : npl_no_memory(err);
	if (rc)
		close_opened(opened);
	return rc;
}

/* Opens the device and the host of a point as their files have them, for derived parameters. */
static int open_base(struct sweep_evaluator *e, const char *device, int level, struct npl_device **base,
		     struct npl_err *err)
{
	const char *host = e->plan->host ? e->plan->host : NPL_HOST_NAME;
	*base = NULL;
	if (level < 0)
		return npl_fail(err, NPL_EUSAGE, "device '%s': expected one of the plan's", device);
	if (!e->plan->derived.n)
		return 0;
	if (!e->base_host && npl_device_open(host, NULL, &e->base_host, err))
		return err->code;
	if (!e->base[level] && npl_device_open(device, NULL, &e->base[level], err))
		return err->code;
	*base = e->base[level];
	return 0;
}

/* Keeps the rows of the layers. Names are those of the graph and of the open device. */
static int keep_layers(struct sweep_evaluator *e, const struct npl_graph *graph, const struct npl_run *run,
		       struct sweep_outcome *outcome, struct npl_err *err)
{
	free(e->layer);
	e->layer = calloc((size_t)run->n_layers + 1, sizeof *e->layer);
	if (!e->layer)
		return npl_no_memory(err);
	for (int i = 0; i < run->n_layers; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		const struct npl_node *node = &graph->node[row->node];
		const char *device = npl_row_on_host(row) ? NPL_HOST_NAME : npl_device_name(e->device.device);
		e->layer[i] = (struct sweep_layer){.name = node->name,
						   .op = npl_op_defs[node->op].name,
						   .ran_on = row->role == NPL_RAN ? device : npl_role_name(row->role),
						   .seconds = npl_row_seconds(row),
						   .energy_j = npl_energy_sum(row->result.energy, row->result.n_energy),
						   .cycles = row->result.cycles,
						   .macs = row->result.macs};
	}
	outcome->layer = e->layer;
	outcome->n_layers = run->n_layers;
	return 0;
}

static int take_run(struct sweep_evaluator *e, const struct npl_graph *graph, const struct npl_device_report *report,
		    struct sweep_outcome *outcome, struct npl_err *err)
{
	sweep_take_figures(report, &outcome->metrics);
	return e->plan->layers ? keep_layers(e, graph, &report->run, outcome, err) : 0;
}

/* Runs one batch without values. */
static int run_timing(struct sweep_evaluator *e, struct npl_network *network, struct sweep_outcome *outcome,
		      struct npl_err *err)
{
	struct npl_graph *graph = network->graph;
	const struct npl_device_info *info = npl_device_get_info(e->device.device);
	const struct npl_session_options options = {
		.n_devices = 1, .device = &e->device.device, .host = e->host.device, .plan = {.timing_only = true}};
	struct npl_session *session = NULL;
	struct npl_run run = {0};
	int rc = npl_session_open(graph, &options, &session, err);
	if (!rc) {
		npl_session_hash(session, false);
		rc = npl_session_run(session, network->samples.input, NULL, &run, err);
	}
	if (!rc) {
		const struct npl_device_report report = {.info = *info,
							 .run = run,
							 .samples = graph->batch,
							 .batches = 1,
							 .batch = graph->batch,
							 .accuracy = NPL_ACCURACY_UNKNOWN};
		rc = take_run(e, graph, &report, outcome, err);
	}
	npl_run_free(&run);
	npl_session_close(session);
	return rc;
}

/* Writes the settings of a machine as a comparison takes them: "NAME.KEY=VALUE". */
static int name_settings(const char *name, const struct sweep_machine_settings *settings, struct npl_arena *arena,
			 const char **set, int *n, struct npl_err *err)
{
	for (int i = 0; i < settings->n; i++)
		if (!(set[(*n)++] = npl_arena_printf(arena, "%s.%s", name, settings->set[i])))
			return npl_no_memory(err);
	return 0;
}

/* Runs all samples with values. */
static int run_values(struct sweep_evaluator *e, struct npl_network *network,
		      const struct sweep_point_settings *settings, struct sweep_outcome *outcome, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct npl_comparison comparison = {0};
	const char **set = npl_arena_array(&arena, 2 * SWEEP_MAX_SETTINGS, sizeof *set);
	struct npl_compare_options options = {.device_names = &settings->device,
					      .n_devices = 1,
					      .set = set,
					      .threads = 1,
					      .engine = e->plan->engine,
					      .host = e->plan->host,
					      .once = true};
	int rc = set ? 0 : npl_no_memory(err);
	if (!rc)
		rc = name_settings(npl_device_name(e->device.device), &settings->of_device, &arena, set,
				   &options.n_sets, err);
	if (!rc)
		rc = name_settings(NPL_HOST_NAME, &settings->of_host, &arena, set, &options.n_sets, err);
	if (!rc)
		rc = npl_compare(network->graph, &network->samples, network->calibrated ? &network->calibration : NULL,
				 &options, &comparison, err);
	if (!rc)
		rc = take_run(e, network->graph, &comparison.device[0], outcome, err);
	npl_comparison_free(&comparison);
	npl_arena_free(&arena);
	return rc;
}

static void note_broken(const struct sweep_formula *constraint, struct sweep_outcome *outcome)
{
	struct npl_err text; /* makes it printable, and short enough */
	npl_fail(&text, NPL_OK, "%s", constraint->expression.text);
	memcpy(outcome->reason, text.msg, sizeof outcome->reason);
}

/* Runs a point whose settings have been found. */
static int run_point(struct sweep_evaluator *e, const struct sweep_point_settings *settings,
		     struct sweep_outcome *outcome, struct npl_err *err)
{
	const struct sweep_plan *plan = e->plan;
	struct npl_network *network;
	if (open_machine(&e->device, settings->device, &settings->of_device, plan->engine, err) ||
	    open_machine(&e->host, plan->host ? plan->host : NPL_HOST_NAME, &settings->of_host, NULL, err))
		return err->code;
	struct sweep_known known = {
		.settings = settings, .device = e->device.device, .host = e->host.device, .metrics = &outcome->metrics};
	sweep_take_machine(npl_device_get_info(e->device.device), &outcome->metrics);
	const struct sweep_formula *broken = sweep_broken_constraint(&plan->constraints, &known, &outcome->violation);
	if (broken) {
		outcome->status = SWEEP_EXCLUDED;
		note_broken(broken, outcome);
		return 0;
	}
	int rc = import(e, settings->model, settings->batch, &network, err);
	if (!rc)
		rc = plan->values ? run_values(e, network, settings, outcome, err)
				  : run_timing(e, network, outcome, err);
	if (rc)
		return rc;
	known.has_run = true;
	broken = sweep_broken_constraint(&plan->constraints, &known, &outcome->violation);
	outcome->status = SWEEP_DONE;
	outcome->feasible = !broken;
	if (broken)
		note_broken(broken, outcome);
	return 0;
}

void sweep_evaluate(struct sweep_evaluator *e, const struct sweep_request *request, struct sweep_outcome *outcome)
{
	struct npl_arena arena = {0};
	struct sweep_point_settings *settings = npl_arena_alloc(&arena, sizeof *settings);
	struct npl_device *base = NULL;
	struct npl_err err = {0};
	*outcome = sweep_failed("");
	int rc = settings ? sweep_settings_of(e->plan, request, NULL, NULL, &arena, settings, &err)
			  : npl_no_memory(&err);
	if (!rc)
		rc = open_base(e, settings->device, settings->device_level, &base, &err);
	if (!rc && base)
		rc = sweep_settings_of(e->plan, request, base, e->base_host, &arena, settings, &err);
	if (!rc)
		rc = run_point(e, settings, outcome, &err);
	if (rc) {
		outcome->status = SWEEP_FAILED;
		outcome->feasible = false;
		memcpy(outcome->reason, err.msg, sizeof outcome->reason);
	}
	npl_arena_free(&arena);
}

/* Keeps memory that was freed for the next point: otherwise about a megabyte is given back to Linux after each one, and
 * touching new pages takes a quarter of the time of a point. */
static void keep_memory(void)
{
	mallopt(M_TRIM_THRESHOLD, 1 << 28);
	mallopt(M_MMAP_THRESHOLD, 1 << 26);
}

int sweep_evaluator_open(const struct sweep_plan *plan, struct sweep_evaluator **evaluator, struct npl_err *err)
{
	const struct sweep_axis *axis = plan->space.axis;
	struct npl_network *network;
	struct sweep_evaluator *e = *evaluator = calloc(1, sizeof *e);
	if (!e)
		return npl_no_memory(err);
	e->plan = plan;
	npl_memo_allow(MEMO_BYTES);
	keep_memory();
	e->base = calloc((size_t)axis[SWEEP_DEVICE_AXIS].n_levels, sizeof *e->base);
	int rc = e->base ? 0 : npl_no_memory(err);
	for (int i = 0; i < axis[SWEEP_MODEL_AXIS].n_levels && !rc; i++)
		rc = import(e, axis[SWEEP_MODEL_AXIS].value[i], axis[SWEEP_BATCH_AXIS].value[0], &network, err);
	if (rc) {
		sweep_evaluator_close(e);
		*evaluator = NULL;
	}
	return rc;
}

void sweep_evaluator_close(struct sweep_evaluator *e)
{
	if (!e)
		return;
	for (int d = 0; e->base && d < e->plan->space.axis[SWEEP_DEVICE_AXIS].n_levels; d++)
		npl_device_close(e->base[d]);
	free(e->base);
	npl_device_close(e->base_host);
	npl_memo_allow(0);
	close_opened(&e->device);
	close_opened(&e->host);
	for (int i = 0; i < e->n_networks; i++)
		npl_network_free(&e->network[i].network);
	free(e->layer);
	free(e);
}
