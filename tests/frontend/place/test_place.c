/* SPDX-License-Identifier: MIT
 *
 * The search for a placement (npulab/place.h) against all placements there are, each run by a session, on small random
 * networks with branches and views: the model of costs says what the session says, no placement is below the bound, and
 * a complete search has the best one. */
#include "npulab/place.h"

#include <math.h>

#include "frontend/place/place_impl.h"
#include "npulab/placement.h"
#include "tests/kit/random_net.h"

#define MOST_PLACEMENTS 2600

/* Machines whose links cost time and energy, one of which draws power while it waits. */
static const char *const settings[] = {
	"tpu_v1.array.rows=16",
	"tpu_v1.array.columns=16",
	"tpu_v1.host_link.pj_per_byte=70",
	"tpu_v1.host_link.energy_origin=modelled:test",
	"tpu_v1.host_link.latency_seconds=1e-6",
	"diannao.memory.host_latency_seconds=3e-6",
};

struct case_of {
	struct npl_compare_options options;
	const char *name[4];
	struct npl_device *device[4], *host;
};

/* Two machines of the TPU's kind and DianNao, or fewer, and an analytical processor. */
static void open_case(struct case_of *c, uint64_t seed)
{
	static const char *const sets[][3] = {{"tpu_v1", "diannao"},
					      {"tpu_v1", "systolic_16x16", "diannao"},
					      {"diannao", "gpu_k80"},
					      {"tpu_v1", "gpu_k80"}};
	struct npl_err err = {0};
	int n = 0;
	*c = (struct case_of){0};
	for (; n < 3 && sets[seed % 4][n]; n++)
		c->name[n] = sets[seed % 4][n];
	c->options = (struct npl_compare_options){.device_names = c->name, .n_devices = n, .set = settings};
	c->options.n_sets = 0;
	static const char *in_force[6];
	for (int s = 0; s < 6; s++)
		for (int d = 0; d < n; d++)
			if (!strncmp(settings[s], c->name[d], strlen(c->name[d])))
				in_force[c->options.n_sets++] = settings[s];
	c->options.set = in_force;
	cr_assert_eq(npl_devices_open(&c->options, c->device, NULL, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_host_open(&c->options, &c->host, &err), 0, "%s", err.msg);
}

static void close_case(struct case_of *c)
{
	for (int d = 0; d < c->options.n_devices; d++)
		npl_device_close(c->device[d]);
	npl_device_close(c->host);
}

static const enum npl_place_objective objectives[] = {NPL_MINIMISE_TIME, NPL_MINIMISE_ENERGY, NPL_MINIMISE_EDP};

/* The objectives of a placement, of which a session runs one batch with the devices that it names. */
static void run_placement(const struct case_of *c, struct npl_graph *graph, const int *place, double *value)
{
	struct npl_device *used[4];
	struct npl_session *session;
	struct npl_run run;
	struct npl_err err = {0};
	int own[64], n = 0;
	for (int d = 0; d < c->options.n_devices; d++) {
		bool is_used = false;
		for (int i = 0; i < graph->n_nodes; i++)
			if (place[i] == d) {
				is_used = true;
				own[i] = n;
			}
		if (is_used)
			used[n++] = c->device[d];
	}
	for (int i = 0; i < graph->n_nodes; i++)
		if (place[i] == NPL_ON_HOST)
			own[i] = NPL_ON_HOST;
	const struct npl_session_options options = {
		.n_devices = n, .device = used, .place = own, .host = c->host, .plan.timing_only = true};
	cr_assert_eq(npl_session_open(graph, &options, &session, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_session_run(session, NULL, NULL, &run, &err), 0, "%s", err.msg);
	const double joules = npl_energy_sum(run.energy, run.n_energy), seconds = run.seconds;
	npl_run_free(&run);
	npl_session_close(session);
	value[NPL_MINIMISE_TIME] = seconds;
	value[NPL_MINIMISE_ENERGY] = joules;
	value[NPL_MINIMISE_EDP] = seconds * joules;
}

/* The next placement of the layers in odometer order; false: that was the last. */
static bool next_placement(const struct place_model *m, int *place)
{
	for (int i = 0; i < m->graph->n_nodes; i++) {
		if (m->next[i] != i)
			continue;
		if (++place[i] < m->n_devices)
			return true;
		place[i] = NPL_ON_HOST;
	}
	return false;
}

static double count_placements(const struct place_model *m)
{
	double n = 1;
	for (int i = 0; i < m->graph->n_nodes; i++)
		n *= m->next[i] == i ? m->n_devices + 1 : 1;
	return n;
}

/* Says whether every layer is on a device that takes it. One that a device does not take goes to the host, and the
 * device may be powered for nothing, which is no placement of the model. */
static bool is_supported(const struct place_model *m, const int *place)
{
	for (int i = 0; i < m->graph->n_nodes; i++) {
		bool taken = m->next[i] != i || place[i] == NPL_ON_HOST;
		for (int first = 0; first <= i && !taken; first++)
			for (int64_t p = 0; p < m->at[first].n; p++)
				taken |= m->at[first].piece[p].device == place[i] && m->at[first].piece[p].last >= i;
		if (!taken)
			return false;
	}
	return true;
}

/* Runs all placements and finds the least of each objective. The model must say the same of each placement. */
static void try_all(const struct case_of *c, const struct place_model *m, double *least, const char *subject)
{
	int place[64];
	struct npl_err err = {0};
	for (int k = 0; k < 3; k++)
		least[k] = INFINITY;
	for (int i = 0; i < m->graph->n_nodes; i++)
		place[i] = NPL_ON_HOST;
	do {
		double ran[3], modelled;
		place_settle_views(m, place);
		run_placement(c, m->graph, place, ran);
		for (int k = 0; k < 3; k++) {
			cr_assert_eq(place_modelled(m, objectives[k], place, &modelled, &err), 0, "%s", err.msg);
			cr_assert(!m->proves || !is_supported(m, place) || fabs(ran[k] - modelled) <= 1e-9 * ran[k],
				  "%s, %s: a session says %g, the model %g", subject,
				  npl_place_objective_name(objectives[k]), ran[k], modelled);
			least[k] = fmin(least[k], ran[k]);
		}
	} while (next_placement(m, place));
}

static double least_baseline(const struct npl_placing *placing)
{
	double least = INFINITY;
	for (int r = 0; r < placing->n_runs; r++)
		if (placing->run[r].origin != NPL_PLACE_SEARCH)
			least = fmin(least, placing->run[r].objective);
	return least;
}

/* What a search promises, however few states it keeps. Returns whether its bound is proven. */
static bool check_search(const struct case_of *c, struct npl_graph *graph, enum npl_place_objective objective,
			 int64_t max_states, double least, const char *subject)
{
	struct npl_samples samples = {.count = graph->batch};
	struct npl_placing placing;
	struct npl_err err = {0};
	cr_assert_eq(npl_place(graph, &samples, NULL, &c->options, objective, max_states, &placing, &err), 0, "%s: %s",
		     subject, err.msg);
	const double best = placing.run[placing.best].objective;
	double again[3];
	run_placement(c, graph, placing.run[placing.best].place, again);
	const bool proves = !isnan(placing.bound), complete = placing.complete;
	cr_assert(best <= least_baseline(&placing), "%s: a single device is better", subject);
	cr_assert(best >= least * (1 - 1e-9), "%s: %g is below the best of all, %g", subject, best, least);
	cr_assert(fabs(best - again[objective]) <= 1e-12 * best, "%s: the answer does not run as reported", subject);
	cr_assert(!proves || placing.bound <= least * (1 + 1e-9), "%s: the bound %g is above the best of all, %g",
		  subject, placing.bound, least);
	cr_assert(!proves || best <= placing.bound * (1 + placing.gap) * (1 + 1e-9), "%s: gap %g", subject,
		  placing.gap);
	cr_assert(!proves || !complete || fabs(best - least) <= 1e-9 * least,
		  "%s: a complete search found %g, the best of all is %g", subject, best, least);
	cr_assert(complete || max_states, "%s: a small network is searched as a whole", subject);
	npl_placing_free(&placing);
	return proves;
}

Test(place, finds_the_best_of_all_placements)
{
	int tried = 0, proven = 0;
	for (uint64_t seed = 1; tried < TEST_TIMES(30) && seed < 2000; seed++) {
		struct case_of c;
		struct place_model m;
		struct npl_err err = {0};
		char subject[80];
		struct net net = make_random_net(seed + 9000, false);
		open_case(&c, seed);
		cr_assert_eq(
			place_model_open(&m, net.graph, c.device, c.options.n_devices, c.host, &c.options.plan, &err),
			0, "seed %d: %s", (int)seed, err.msg);
		const double all = count_placements(&m);
		if (all <= MOST_PLACEMENTS && all > 80) {
			double least[3];
			snprintf(subject, sizeof subject, "seed %d", (int)seed);
			try_all(&c, &m, least, subject);
			for (int k = 0; k < 3; k++) {
				snprintf(subject, sizeof subject, "seed %d, least %s", (int)seed,
					 npl_place_objective_name(objectives[k]));
				proven += check_search(&c, net.graph, objectives[k], 0, least[k], subject);
				check_search(&c, net.graph, objectives[k], 1, least[k], subject);
				check_search(&c, net.graph, objectives[k], 3, least[k], subject);
			}
			tried++;
		}
		place_model_close(&m);
		close_case(&c);
		free_net(&net);
	}
	cr_assert(tried == TEST_TIMES(30) && proven > tried, "%d networks, %d proven", tried, proven);
}
