/* SPDX-License-Identifier: MIT
 *
 * Timed passes over the samples (passes.h). */
#include "passes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices_open.h"
#include "median.h"
#include "npulab/clock.h"
#include "npulab/energy_meter.h"

/* Timed passes go on until both are reached, or MOST_PASSES: a short network gets many, a long one a few. */
#define ENOUGH_SECONDS  0.5
#define LEAST_MEASURED  5
#define LEAST_SIMULATED 1
#define LONG_SECONDS    5.0 /* a real device gets no further pass once this is spent */
#define MOST_PASSES     50

struct record { /* the timed passes */
	int n;
	struct npl_run run[MOST_PASSES];
};

static int one_pass(const struct npl_passes *p, const char *what, struct npl_tensor *all, struct npl_run *sum,
		    struct npl_err *err)
{
	struct npl_graph *graph = p->graph;
	struct npl_tensor *in = calloc((size_t)graph->n_inputs + 1, sizeof *in);
	struct npl_tensor *out = calloc((size_t)graph->n_outputs + 1, sizeof *out);
	const bool watched = p->noise && all;
	const struct npl_value_watcher watcher = watched ? npl_layer_noise_device(p->noise)
							 : (struct npl_value_watcher){0};
	int rc = in && out ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory");
	*sum = (struct npl_run){0};
	for (int64_t b = 0; b < p->batches && !rc; b++) {
		struct npl_run run = {0};
		int64_t real;
		if (p->progress)
			p->progress(p->user, what, b, p->batches);
		if ((rc = npl_samples_batch(graph, p->samples, b, in, &real, err)))
			break;
		npl_session_watch(p->session, watched && !b ? &watcher : NULL);
		rc = npl_session_run(p->session, in, out, &run, err);
		npl_session_watch(p->session, NULL);
		if (!rc && all && !p->timing_only)
			npl_store_batch(graph, out, b, real, all);
		if (!rc)
			rc = npl_run_add(sum, &run, err);
		npl_run_free(&run);
		for (int i = 0; i < graph->n_inputs; i++)
			npl_tensor_free(&in[i]);
		for (int i = 0; i < graph->n_outputs; i++)
			npl_tensor_free(&out[i]);
	}
	if (p->progress)
		p->progress(p->user, what, p->batches, p->batches);
	if (rc)
		npl_run_free(sum);
	free(in);
	free(out);
	return rc;
}

/* A simulated figure that changes between two passes is not deterministic, and so is wrong. */
static int same_figures(const struct npl_run *a, const struct npl_run *b, struct npl_err *err)
{
	if (memcmp(&a->seconds, &b->seconds, sizeof a->seconds))
		return npl_fail(err, NPL_EINTERNAL, "a second pass took another time: %g and %g s", a->seconds,
				b->seconds);
	for (int i = 0; i < a->n_layers; i++) {
		const struct npl_result *x = &a->layer[i].result, *y = &b->layer[i].result;
		if (x->cycles != y->cycles || memcmp(x->counter, y->counter, sizeof x->counter) ||
		    x->saturations != y->saturations)
			return npl_fail(err, NPL_EINTERNAL,
					"layer %d gave other figures in a second pass: %llu and %llu cycles", i,
					(unsigned long long)x->cycles, (unsigned long long)y->cycles);
	}
	return 0;
}

static int compare_seconds(const void *a, const void *b)
{
	double x = ((const struct npl_run *)a)->device_seconds, y = ((const struct npl_run *)b)->device_seconds;
	return (x > y) - (x < y);
}

/* A measured report is the pass in the middle, whole, so that its rows sum to its totals; the hashes are the first
 * pass's. The spread is that of the middle half of the passes: one disturbed pass says nothing of the rest. */
static void take_median(struct record *record, struct npl_device_report *report)
{
	qsort(record->run, (size_t)record->n, sizeof *record->run, compare_seconds);
	struct npl_run *middle = &record->run[(record->n - 1) / 2];
	double low = record->run[record->n / 4].device_seconds, high = record->run[(3 * record->n) / 4].device_seconds;
	for (int i = 0; i < middle->n_layers; i++)
		memcpy(middle->layer[i].output_sha256, report->run.layer[i].output_sha256,
		       sizeof middle->layer[i].output_sha256);
	report->spread = middle->device_seconds > 0 ? (high - low) / middle->device_seconds : NAN;
	npl_run_free(&report->run);
	report->run = *middle;
	*middle = (struct npl_run){0};
}

static double median_wall(const struct record *record)
{
	double wall[MOST_PASSES];
	for (int i = 0; i < record->n; i++)
		wall[i] = record->run[i].wall_seconds;
	return npl_median(wall, record->n);
}

/* Energy of the package over all timed passes, where it can be read: replaces what the layers could not know. */
static void set_package_energy(struct npl_energy_meter *meter, int passes, struct npl_run *run)
{
	double joules, seconds;
	struct npl_err why;
	if (npl_energy_meter_stop(meter, &joules, &seconds, &why))
		return;
	run->n_energy = 1;
	run->energy[0] = (struct npl_energy){
		.component = "package", .origin = "measured:rapl-pkg", .joules = joules / passes};
}

static bool is_measured(const struct npl_passes *p)
{
	for (int d = 0; d < p->n_devices; d++)
		if (npl_is_measured(p->device[d]) && (p->n_devices == 1 || npl_session_uses(p->session, d)))
			return true;
	return false;
}

/* Timed passes until enough is known. */
static int run_timed(const struct npl_passes *p, const char *name, bool measured, const struct npl_run *first,
		     struct record *record, struct npl_err *err)
{
	int least = measured ? LEAST_MEASURED : LEAST_SIMULATED;
	double start = npl_clock_seconds(), spent = 0;
	while (record->n < MOST_PASSES && (record->n < least || spent < ENOUGH_SECONDS) &&
	       (record->n == 0 || spent < LONG_SECONDS)) {
		struct npl_run *run = &record->run[record->n];
		if (one_pass(p, name, NULL, run, err))
			return err->code;
		record->n++;
		if (!measured && same_figures(first, run, err))
			return err->code;
		spent = npl_clock_seconds() - start;
	}
	return 0;
}

int npl_passes_run(const struct npl_passes *p, struct npl_tensor *all, struct npl_device_report *report,
		   struct npl_err *err)
{
	const char *name = p->n_devices == 1 ? npl_device_name(p->device[0]) : "placement";
	bool measured = is_measured(p), metered = false;
	struct npl_energy_meter meter = {0};
	struct npl_err why;
	struct record *record = calloc(1, sizeof *record);
	int rc = record ? one_pass(p, name, all, &report->run, err) : npl_fail(err, NPL_ENOMEM, "out of memory");
	if (!rc && measured && p->n_devices == 1 && npl_device_get_info(p->device[0])->kind == NPL_KIND_CPU)
		metered = !npl_energy_meter_open(NULL, &meter, &why) && !npl_energy_meter_start(&meter, &why);
	npl_session_hash(p->session, false);
	if (!rc && measured)
		npl_machine_load_start(&report->load, NULL);
	if (!rc)
		rc = run_timed(p, name, measured, &report->run, record, err);
	if (!rc && measured)
		npl_machine_load_stop(&report->load);
	if (!rc) {
		report->passes = record->n;
		report->spread = NAN;
		report->simulation_wall_seconds = measured ? NAN : median_wall(record);
		if (measured)
			take_median(record, report);
		if (metered)
			set_package_energy(&meter, record->n, &report->run);
	}
	npl_energy_meter_close(&meter);
	for (int i = 0; record && i < record->n; i++)
		npl_run_free(&record->run[i]);
	free(record);
	if (rc)
		npl_run_free(&report->run);
	return rc;
}
