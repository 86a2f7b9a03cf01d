/* SPDX-License-Identifier: MIT
 *
 * npl_place (npulab/place.h): runs the placements that need no search, searches, runs what was found, and takes the
 * best of these runs. */
#include "npulab/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "frontend/session/session_impl.h"
#include "npulab/progress.h"
#include "place_impl.h"
#include "place_run.h"

/* npl_place at work. */
struct placing {
	struct place_job job;
	struct place_model model;
	struct npl_placing *result;
	struct place_ran best; /* the run of the answer */
};

static const char *const words[] = {
	[NPL_MINIMISE_TIME] = "time", [NPL_MINIMISE_ENERGY] = "energy", [NPL_MINIMISE_EDP] = "edp"};

const char *npl_place_objective_name(enum npl_place_objective objective)
{
	return words[objective];
}

int npl_place_objective_parse(const char *word, enum npl_place_objective *objective, struct npl_err *err)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(word, words[i])) {
			*objective = (enum npl_place_objective)i;
			return 0;
		}
	return npl_fail(err, NPL_EUSAGE, "'%s' is nothing to minimise, expected time, energy or edp", word);
}

static int check(const struct npl_graph *graph, const struct npl_compare_options *options, struct npl_err *err)
{
	if (options->n_devices < 1)
		return npl_fail(err, NPL_EUSAGE, "no device to place layers on");
	if (options->n_devices > NPL_PLACE_DEVICES)
		return npl_fail(err, NPL_EUSAGE, "%d devices, expected at most %d", options->n_devices,
				NPL_PLACE_DEVICES);
	if (options->place || options->without_host)
		return npl_fail(err, NPL_EUSAGE, "a placement is searched on free layers, with a host");
	return graph->n_nodes
		       ? 0
		       : npl_fail(err, NPL_EINPUT, "%s: no layers, so that there is nothing to place", graph->name);
}

static int describe_devices(struct placing *p, struct npl_err *err)
{
	struct npl_placing *result = p->result;
	const struct npl_compare_options *options = p->job.options;
	result->n_devices = options->n_devices;
	result->device = npl_arena_array(&result->arena, (size_t)options->n_devices + 1, sizeof *result->device);
	result->run = npl_arena_array(&result->arena, (size_t)options->n_devices + 4, sizeof *result->run);
	if (!result->device || !result->run)
		return npl_no_memory(err);
	for (int d = 0; d < options->n_devices; d++) {
		struct npl_place_device *device = &result->device[d];
		device->instance = npl_arena_strdup(&result->arena, npl_device_instance(p->job.device[d]));
		device->rule = npl_arena_strdup(&result->arena, options->device_names[d]);
		device->measured = p->model.device[d].measured;
		if (!device->instance || !device->rule)
			return npl_no_memory(err);
	}
	return 0;
}

static int *new_place(struct placing *p, int device)
{
	const int n = p->job.graph->n_nodes;
	int *place = npl_arena_array(&p->result->arena, (size_t)n + 1, sizeof *place);
	for (int i = 0; place && i < n; i++)
		place[i] = device;
	return place;
}

/* Puts on the host, in a placement with one device, what the run had there. */
static void settle_host(const struct place_model *m, const struct npl_run *run, int *place)
{
	for (int i = 0; i < m->graph->n_nodes; i++)
		if (npl_row_on_host(&run->layer[i]))
			place[i] = NPL_ON_HOST;
	place_settle_views(m, place);
}

/* Refuses a device whose energy must be known and is not. */
static int check_energy(const struct placing *p, int d, bool known, const char *reason, struct npl_err *err)
{
	if (p->result->objective == NPL_MINIMISE_TIME || known)
		return 0;
	return npl_fail(err, NPL_EUSAGE, "the energy of %s is not known%s%s", p->result->device[d].instance,
			*reason ? ": " : "", reason);
}

/* Enters a run into the result. The best so far is kept whole. Where the search finds a placement that is among the
 * others too, the search has it. */
static void enter(struct placing *p, enum npl_place_origin origin, const char *name, const int *place,
		  struct place_ran *ran)
{
	struct npl_placing *result = p->result;
	const int r = result->n_runs++;
	const double objective = result->objective == NPL_MINIMISE_TIME     ? ran->seconds
				 : result->objective == NPL_MINIMISE_ENERGY ? ran->joules
									    : ran->joules * ran->seconds;
	result->run[r] = (struct npl_place_run){.origin = origin,
						.name = name,
						.place = place,
						.seconds = ran->seconds,
						.joules = ran->joules,
						.objective = objective};
	const double best = result->run[result->best].objective;
	if (r && !(objective < best || (origin == NPL_PLACE_SEARCH && objective <= best))) {
		place_ran_free(ran);
		return;
	}
	place_ran_free(&p->best);
	p->best = *ran;
	result->best = r;
	if (origin != NPL_PLACE_SEARCH)
		result->best_baseline = r;
}

/* Runs a placement and enters it. d: the device that has the whole network, of which a real one gives the costs of its
 * layers; NPL_ON_HOST: there is none. */
static int run_one(struct placing *p, enum npl_place_origin origin, const char *name, int *place, int d,
		   struct npl_err *err)
{
	struct place_ran ran;
	npl_progress_part(name, NULL, 0, 0);
	if (place_job_run(&p->job, place, &ran, err))
		return err->code;
	int rc = 0;
	if (d != NPL_ON_HOST && p->model.device[d].measured)
		rc = place_measured_pieces(&p->model, d, ran.session, &ran.report.run, ran.batches, err);
	if (!rc && d != NPL_ON_HOST)
		rc = check_energy(p, d, !isnan(ran.joules), p->model.device[d].measured ? ran.report.energy.note : "",
				  err);
	if (rc) {
		place_ran_free(&ran);
		return rc;
	}
	p->model.quantised |= ran.session->model.quantises;
	if (d != NPL_ON_HOST && !ran.session->model.quantises)
		settle_host(&p->model, &ran.report.run, place);
	enter(p, origin, name, place, &ran);
	return 0;
}

/* Runs the network on each device and on the host alone. */
static int run_alone(struct placing *p, struct npl_err *err)
{
	struct npl_placing *result = p->result;
	if (!p->model.host_joules_known && result->objective != NPL_MINIMISE_TIME)
		return npl_fail(err, NPL_EUSAGE, "the energy of the host is not known");
	for (int d = 0; d < result->n_devices; d++) {
		int *place = new_place(p, d);
		if (!place)
			return npl_no_memory(err);
		if (run_one(p, NPL_PLACE_ONE_DEVICE, result->device[d].instance, place, d, err))
			return err->code;
	}
	int *host = new_place(p, NPL_ON_HOST);
	return host ? run_one(p, NPL_PLACE_HOST, NPL_HOST_NAME, host, NPL_ON_HOST, err) : npl_no_memory(err);
}

/* Finds the costs of pieces of modelled devices, now that the network has been run on each. */
static int find_costs(struct placing *p, struct npl_err *err)
{
	const struct npl_placing *result = p->result;
	double costs[NPL_PLACE_DEVICES] = {0};
	for (int d = 0; d < result->n_devices; d++)
		costs[d] = result->run[d].objective;
	if (place_device_pieces(&p->model, result->objective, result->run[result->best].objective, costs,
				&p->job.options->plan, err))
		return err->code;
	for (int d = 0; d < result->n_devices; d++)
		if (check_energy(p, d, p->model.device[d].energy_known, "", err))
			return err->code;
	return 0;
}

static int run_greedy(struct placing *p, struct npl_err *err)
{
	int *greedy = new_place(p, NPL_ON_HOST);
	if (!greedy)
		return npl_no_memory(err);
	if (place_greedy(&p->model, p->result->objective, greedy, err))
		return err->code;
	return run_one(p, NPL_PLACE_GREEDY, "greedy", greedy, NPL_ON_HOST, err);
}

/* Runs the placement that was found. One that has been run already is not run again: a real device would take another
 * time. */
static int run_found(struct placing *p, int *place, struct npl_err *err)
{
	struct npl_placing *result = p->result;
	const size_t bytes = (size_t)p->job.graph->n_nodes * sizeof *place;
	for (int r = 0; r < result->n_runs; r++) {
		if (memcmp(place, result->run[r].place, bytes) != 0)
			continue;
		struct npl_place_run *found = &result->run[result->n_runs++];
		*found = result->run[r];
		found->origin = NPL_PLACE_SEARCH;
		found->name = "search";
		if (result->best == r)
			result->best = result->n_runs - 1;
		return 0;
	}
	return run_one(p, NPL_PLACE_SEARCH, "search", place, NPL_ON_HOST, err);
}

/* Returns by which share of the bound the objective is above it; rounding is none. */
static double gap_above(double objective, double bound)
{
	const double gap = objective / bound - 1;
	return gap > 1e-9 ? gap : 0;
}

static int search(struct placing *p, int64_t max_states, struct npl_err *err)
{
	struct npl_placing *result = p->result;
	int *place = new_place(p, NPL_ON_HOST), first = 0;
	if (!place)
		return npl_no_memory(err);
	for (int r = 0; r < result->n_runs; r++) {
		if (place_modelled(&p->model, result->objective, result->run[r].place, &result->run[r].modelled, err))
			return err->code;
		if (!(result->run[r].modelled >= result->run[first].modelled))
			first = isnan(result->run[r].modelled) ? first : r;
	}
	memcpy(place, result->run[first].place, (size_t)p->job.graph->n_nodes * sizeof *place);
	struct place_search s = {.objective = result->objective,
				 .max_states = max_states,
				 .best = result->run[first].modelled,
				 .place = place};
	npl_progress_part("search", NULL, 0, 0);
	if (place_search(&p->model, &s, err) || run_found(p, place, err))
		return err->code;
	const struct npl_place_run *best = &result->run[result->best];
	result->run[result->n_runs - 1].modelled = s.best;
	result->complete = s.complete && !p->model.left_out;
	result->n_states = s.n_states;
	result->n_pieces = p->model.n_pieces;
	const bool proves = p->model.proves && !p->model.quantised && !p->model.left_out;
	result->bound = proves ? s.bound : NAN;
	result->gap = s.bound > 0 && proves ? gap_above(best->objective, s.bound) : NAN;
	return 0;
}

/* Adds a row to the segment, which is then known to reach to node i. */
static void extend(struct npl_place_segment *segment, int i, const struct npl_layer_run *row, double batches)
{
	segment->last = i;
	segment->n_layers++;
	segment->seconds += npl_row_seconds(row) / batches;
	segment->bytes += (uint64_t)((double)row->link_bytes / batches);
	if (row->role == NPL_RAN && row->result.n_energy)
		segment->joules += npl_result_joules(&row->result) / batches;
}

static int find_segments(struct placing *p, struct npl_err *err)
{
	struct npl_placing *result = p->result;
	const struct place_model *m = &p->model;
	const int *place = result->run[result->best].place;
	result->segment = npl_arena_array(&result->arena, (size_t)m->graph->n_nodes + 1, sizeof *result->segment);
	if (!result->segment)
		return npl_no_memory(err);
	for (int i = 0; i < m->graph->n_nodes; i++) {
		const struct npl_layer_run *row = &p->best.report.run.layer[i];
		if (m->next[i] != i)
			continue;
		if (!result->n_segments || result->segment[result->n_segments - 1].device != place[i])
			result->segment[result->n_segments++] = (struct npl_place_segment){.first = i,
											   .device = place[i]};
		extend(&result->segment[result->n_segments - 1], i, row, p->best.batches);
	}
	return 0;
}

int npl_place(struct npl_graph *graph, const struct npl_samples *samples, const struct npl_samples *calibration,
	      const struct npl_compare_options *options, enum npl_place_objective objective, int64_t max_states,
	      struct npl_placing *placing, struct npl_err *err)
{
	struct placing p = {.job = {.graph = graph, .samples = samples, .options = options}, .result = placing};
	*placing = (struct npl_placing){.graph = graph, .objective = objective, .bound = NAN, .gap = NAN};
	int rc = check(graph, options, err);
	if (!rc)
		rc = place_job_open(&p.job, calibration, err);
	if (!rc)
		rc = place_model_open(&p.model, graph, p.job.device, options->n_devices, p.job.host, &options->plan,
				      err);
	if (!rc)
		rc = describe_devices(&p, err);
	if (!rc)
		rc = run_alone(&p, err);
	if (!rc)
		rc = find_costs(&p, err);
	if (!rc)
		rc = run_greedy(&p, err);
	if (!rc)
		rc = search(&p, max_states, err);
	if (!rc)
		rc = find_segments(&p, err);
	place_ran_free(&p.best);
	place_model_close(&p.model);
	place_job_close(&p.job);
	if (rc)
		npl_placing_free(placing);
	return rc;
}

void npl_placing_free(struct npl_placing *placing)
{
	npl_arena_free(&placing->arena);
	*placing = (struct npl_placing){0};
}
