/* SPDX-License-Identifier: MIT
 *
 * The CPU and the GPU that the first TPU was compared with (Jouppi et al., ISCA 2017: Tables 2, 4 and 6, Figure 9)
 * beside the analytical devices that have their figures (machines/cpu_haswell_e5_2699v3.yaml, gpu_k80.yaml). Two
 * figures of each are fitted to Table 4 (scripts/fit_hosts.py). Table 6 compares throughput, hosts included: the TPU's
 * time is that of the simulated tpu_v1 and, on top of it, the host's share that Table 5 has. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "frontend/compare/devices_open.h"
#include "npulab/model.h"
#include "npulab/progress.h"
#include "sim/processor/processor_model.h"
#include "tpu_applications.h"
#include "validation.h"

#define HOSTS "hosts"

enum platform { HASWELL, K80, PLATFORMS };
static const char *const case_of[PLATFORMS] = {[HASWELL] = "Haswell", [K80] = "K80"};
static const char *const machine_of[PLATFORMS] = {[HASWELL] = "cpu_haswell_e5_2699v3", [K80] = "gpu_k80"};

/* Batches of Table 4: the one within its limit of 7 ms, and the greatest. Those of the other applications are not
 * published: the greatest, or Table 1's where that is smaller. */
enum { LIMITED_BATCH = 16, MAX_BATCH = 64 };

static int open_platform(enum platform p, const struct npl_validate_options *options, struct npl_device **device,
			 struct npl_err *err)
{
	const char *sets[32];
	if (options->n_sets > 32)
		return npl_fail(err, NPL_EUSAGE, "--set: at most 32");
	const struct npl_device_options opening = {
		.set = sets, .n_sets = npl_device_sets(machine_of[p], options->set, options->n_sets, sets)};
	return npl_device_open(machine_of[p], &opening, device, err);
}

/* Finds the samples per second of an application on a platform. */
static int find_rate(const struct npl_tpu_application *app, struct npl_device *device, int64_t batch, double *rate,
		     struct npl_err *err)
{
	struct npl_graph *graph = NULL;
	struct npl_session *session = NULL;
	struct npl_run run = {0};
	int rc = npl_tpu_graph(app, batch, &graph, err);
	struct npl_session_options opening = {.n_devices = 1, .device = &device, .plan.timing_only = true};
	if (!rc)
		rc = npl_session_open(graph, &opening, &session, err);
	if (!rc)
		rc = npl_session_run(session, NULL, NULL, &run, err);
	if (!rc)
		*rate = (double)graph->batch / run.seconds;
	npl_run_free(&run);
	npl_session_close(session);
	npl_graph_free(graph);
	return rc;
}

static int set(struct npl_validation *v, const char *case_name, const char *metric, const char *unit, double model,
	       struct npl_err *err)
{
	return npl_validation_set(v, HOSTS, case_name, metric, unit, model, err);
}

/* Validates Table 2 and the ridge points of Figures 6 and 7, which count a multiply-accumulate as one operation. */
static int validate_figures(struct npl_validation *v, enum platform p, struct npl_device *device, struct npl_err *err)
{
	const struct npl_processor_model *model = npl_processor_of(device);
	const double peak = npl_processor_peak(model, NPL_PROCESSOR_F32);
	const char *name = case_of[p];
	if (set(v, name, "clock", "MHz", model->clock_hz / 1e6, err) ||
	    set(v, name, "die_idle_power", "W", model->idle_watts, err) ||
	    set(v, name, "die_busy_power", "W", model->idle_watts + (double)model->cores * model->core_watts, err) ||
	    set(v, name, "peak_float", "TOPS", 2 * peak / 1e12, err) ||
	    set(v, name, "memory_bandwidth", "GB/s", model->memory_rate / 1e9, err))
		return err->code;
	return set(v, name, "ridge_point", "ops/byte", peak / model->memory_rate, err);
}

/* Validates the rates of MLP0's two batches, and the share of the greater one that the smaller one attains. */
static int validate_batches(struct npl_validation *v, enum platform p, struct npl_device *device, struct npl_err *err)
{
	static const int batches[] = {LIMITED_BATCH, MAX_BATCH};
	double rate[2];
	char name[60];
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "MLP0 on %s, batch %d", case_of[p], batches[i]);
		if (find_rate(&npl_tpu_applications[NPL_TPU_MLP0], device, batches[i], &rate[i], err) ||
		    set(v, name, "inferences_per_second", "1/s", rate[i], err))
			return err->code;
	}
	snprintf(name, sizeof name, "MLP0 on %s, batch %d", case_of[p], LIMITED_BATCH);
	return set(v, name, "share_of_most", "fraction", rate[0] / rate[1], err);
}

/* Samples per second of each application on each platform and on the TPU. */
struct rates {
	double platform[PLATFORMS][NPL_TPU_APPLICATIONS], tpu[NPL_TPU_APPLICATIONS];
};

static int find_rates(const struct npl_validation *tpu, const struct npl_validate_options *options,
		      struct npl_device *const *device, struct rates *rates, struct npl_err *err)
{
	for (int a = 0; a < NPL_TPU_APPLICATIONS; a++) {
		const struct npl_tpu_application *app = &npl_tpu_applications[a];
		const double share = npl_tpu_published(tpu, app->name, "host_share");
		const double published_batch = npl_tpu_published(tpu, app->name, "batch");
		const int64_t batch = a == NPL_TPU_MLP0 ? LIMITED_BATCH : (int64_t)fmin(published_batch, MAX_BATCH);
		struct npl_tpu_counts counts;
		npl_progress_part(HOSTS, "application", a + 1, NPL_TPU_APPLICATIONS);
		if (npl_tpu_count(app, app->counted_samples, options, NULL, 0, &counts, err))
			return err->code;
		rates->tpu[a] = (double)counts.batch / (counts.seconds * (1 + share));
		for (int p = 0; p < PLATFORMS; p++)
			if (find_rate(app, device[p], batch, &rates->platform[p][a], err))
				return err->code;
	}
	return 0;
}

/* One comparison of Table 6: per application, and both means; then those per watt of servers (Figure 9). The
 * added watts of the CPU are those of its whole server, and those of the others what their servers draw beyond it. */
struct pair {
	const char *metric;
	const double *numerator, *denominator;
	double numerator_watts, denominator_watts, numerator_added_watts, denominator_added_watts; /* watts per die */
};

static int validate_pair(struct npl_validation *v, const struct npl_validation *tpu, const struct pair *pair,
			 struct npl_err *err)
{
	double ratio[NPL_TPU_APPLICATIONS];
	char metric[60];
	for (int a = 0; a < NPL_TPU_APPLICATIONS; a++) {
		ratio[a] = pair->numerator[a] / pair->denominator[a];
		if (set(v, npl_tpu_applications[a].name, pair->metric, "ratio", ratio[a], err))
			return err->code;
	}
	const char *const mean_of[] = {"geometric mean", "weighted mean"};
	const double mean[] = {npl_tpu_geometric_mean(ratio, 0, NPL_TPU_APPLICATIONS),
			       npl_tpu_weighted_mean(tpu, ratio)};
	for (int m = 0; m < 2; m++) {
		if (set(v, mean_of[m], pair->metric, "ratio", mean[m], err))
			return err->code;
		snprintf(metric, sizeof metric, "%s_per_watt", pair->metric);
		if (set(v, mean_of[m], metric, "ratio", mean[m] * pair->denominator_watts / pair->numerator_watts, err))
			return err->code;
		snprintf(metric, sizeof metric, "%s_per_added_watt", pair->metric);
		if (set(v, mean_of[m], metric, "ratio",
			mean[m] * pair->denominator_added_watts / pair->numerator_added_watts, err))
			return err->code;
	}
	return 0;
}

/* Returns a figure of Table 2 of this validation's platforms. */
static double published(const struct npl_validation *v, enum platform p, const char *metric)
{
	const struct npl_validation_row *row = npl_validation_find(v, HOSTS, case_of[p], metric);
	return row ? row->published : NAN;
}

static int validate_ratios(struct npl_validation *v, const struct npl_validation *tpu, const struct rates *rates,
			   struct npl_err *err)
{
	const double cpu_server = published(v, HASWELL, "server_tdp"), gpu_server = published(v, K80, "server_tdp"),
		     tpu_server = npl_tpu_published(tpu, "TPU", "server_tdp");
	const double gpus = published(v, K80, "server_dies"), tpus = npl_tpu_published(tpu, "TPU", "server_dies");
	const double cpu = cpu_server / published(v, HASWELL, "server_dies");
	const struct pair pairs[] = {
		{"gpu_over_cpu", rates->platform[K80], rates->platform[HASWELL], gpu_server / gpus, cpu,
		 (gpu_server - cpu_server) / gpus, cpu},
		{"tpu_over_cpu", rates->tpu, rates->platform[HASWELL], tpu_server / tpus, cpu,
		 (tpu_server - cpu_server) / tpus, cpu},
		{"tpu_over_gpu", rates->tpu, rates->platform[K80], tpu_server / tpus, gpu_server / gpus,
		 (tpu_server - cpu_server) / tpus, (gpu_server - cpu_server) / gpus},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (validate_pair(v, tpu, &pairs[i], err))
			return err->code;
	return 0;
}

int npl_validate_hosts(struct npl_validation *validation, const struct npl_validate_options *options,
		       struct npl_err *err)
{
	struct npl_device *device[PLATFORMS] = {NULL};
	struct npl_validation tpu = {0}; /* what the paper says of the TPU and its applications */
	struct rates rates = {0};
	int rc = npl_validation_load(validation, HOSTS, HOSTS ".csv", err);
	if (!rc)
		rc = npl_validation_load(&tpu, NPL_TPU_MACHINE, NPL_TPU_MACHINE ".csv", err);
	for (int p = 0; p < PLATFORMS && !rc; p++) {
		rc = open_platform((enum platform)p, options, &device[p], err);
		if (!rc)
			rc = validate_figures(validation, (enum platform)p, device[p], err);
		if (!rc)
			rc = validate_batches(validation, (enum platform)p, device[p], err);
	}
	if (!rc)
		rc = find_rates(&tpu, options, device, &rates, err);
	if (!rc)
		rc = validate_ratios(validation, &tpu, &rates, err);
	for (int p = 0; p < PLATFORMS; p++)
		npl_device_close(device[p]);
	npl_validation_free(&tpu);
	return rc;
}
