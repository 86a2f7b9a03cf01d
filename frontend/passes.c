/* SPDX-License-Identifier: MIT
 *
 * Timed passes over the samples (passes.h). */
#include "passes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/clock.h"
#include "median.h"
#include "npulab/energy_meter.h"

/* Timed passes go on until both are reached, or MOST_PASSES: a short network gets many, a long one a few. */
#define ENOUGH_SECONDS 0.5
#define LEAST_MEASURED 5
#define LEAST_SIMULATED 1
#define LONG_SECONDS 5.0 /* a real device gets no further pass once this is spent */
#define MOST_PASSES 50

struct record { /* what each timed pass took */
	int n;
	double pass[MOST_PASSES]; /* device seconds */
	double wall[MOST_PASSES];
	double *layer; /* MOST_PASSES x n_layers */
};

/* Median of every stride-th value. */
static double median_of(const double *values, int n, size_t stride)
{
	double copy[MOST_PASSES];
	for (int i = 0; i < n; i++)
		copy[i] = values[(size_t)i * stride];
	return npl_median(copy, n);
}

static int one_pass(const struct npl_passes *p, const char *what, struct npl_tensor *all, struct npl_run *sum, struct npl_err *err)
{
	struct npl_graph *graph = p->graph;
	struct npl_tensor *in = calloc((size_t)graph->n_inputs + 1, sizeof *in);
	struct npl_tensor *out = calloc((size_t)graph->n_outputs + 1, sizeof *out);
	int rc = in && out ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory");
	*sum = (struct npl_run){0};
	for (int64_t b = 0; b < p->batches && !rc; b++) {
		struct npl_run run = {0};
		int64_t real;
		if (p->progress)
			p->progress(p->user, what, b, p->batches);
		if ((rc = npl_samples_batch(graph, p->samples, b, in, &real, err)))
			break;
		rc = npl_session_run(p->session, in, out, &run, err);
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

static void keep(struct record *record, const struct npl_run *run)
{
	record->pass[record->n] = run->device_seconds;
	record->wall[record->n] = run->wall_seconds;
	for (int i = 0; i < run->n_layers; i++)
		record->layer[(size_t)record->n * (size_t)run->n_layers + (size_t)i] = run->layer[i].result.seconds;
	record->n++;
}

/* A simulated figure that changes between two passes is not deterministic, and so is wrong. */
static int same_figures(const struct npl_run *a, const struct npl_run *b, struct npl_err *err)
{
	for (int i = 0; i < a->n_layers; i++) {
		const struct npl_result *x = &a->layer[i].result, *y = &b->layer[i].result;
		if (x->cycles != y->cycles || memcmp(x->counter, y->counter, sizeof x->counter) || x->saturations != y->saturations)
			return npl_fail(err, NPL_EINTERNAL, "layer %d gave other figures in a second pass: %llu and %llu cycles", i,
			                (unsigned long long)x->cycles, (unsigned long long)y->cycles);
	}
	return 0;
}

/* Measured rows and totals become medians; the spread stays beside them. */
static void set_medians(const struct record *record, struct npl_device_report *report)
{
	struct npl_run *run = &report->run;
	size_t stride = (size_t)run->n_layers;
	for (int i = 0; i < run->n_layers; i++)
		run->layer[i].result.seconds = median_of(record->layer + i, record->n, stride);
	double least = record->pass[0], most = record->pass[0];
	for (int i = 1; i < record->n; i++) {
		least = fmin(least, record->pass[i]);
		most = fmax(most, record->pass[i]);
	}
	run->device_seconds = median_of(record->pass, record->n, 1);
	run->seconds = run->device_seconds + run->host_seconds + run->link_seconds;
	report->spread = run->device_seconds > 0 ? (most - least) / run->device_seconds : NAN;
}

/* Energy of the package over all timed passes, where it can be read: replaces what the layers could not know. */
static void set_package_energy(struct npl_energy_meter *meter, int passes, struct npl_run *run)
{
	double joules, seconds;
	struct npl_err why;
	if (npl_energy_meter_stop(meter, &joules, &seconds, &why))
		return;
	run->n_energy = 1;
	run->energy[0] = (struct npl_energy){.component = "package", .origin = "measured:rapl-pkg", .joules = joules / passes};
}

static bool is_measured(const struct npl_passes *p)
{
	for (int d = 0; d < p->n_devices; d++) {
		enum npl_device_kind kind = npl_device_get_info(p->device[d])->kind;
		if (kind != NPL_KIND_SIMULATED && kind != NPL_KIND_NULL)
			return true;
	}
	return false;
}

int npl_passes_run(const struct npl_passes *p, struct npl_tensor *all, struct npl_device_report *report, struct npl_err *err)
{
	const char *name = p->n_devices == 1 ? npl_device_name(p->device[0]) : "placement";
	bool measured = is_measured(p), metered = false;
	struct record record = {0};
	struct npl_energy_meter meter = {0};
	struct npl_err why;
	if (one_pass(p, name, all, &report->run, err))
		return err->code;
	record.layer = calloc((size_t)MOST_PASSES * ((size_t)report->run.n_layers + 1), sizeof *record.layer);
	int rc = record.layer ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory");
	if (!rc && measured && p->n_devices == 1 && npl_device_get_info(p->device[0])->kind == NPL_KIND_CPU)
		metered = !npl_energy_meter_open(NULL, &meter, &why) && !npl_energy_meter_start(&meter, &why);
	npl_session_hash(p->session, false);
	double start = npl_clock_seconds(), spent = 0;
	int least = measured ? LEAST_MEASURED : LEAST_SIMULATED;
	while (!rc && record.n < MOST_PASSES && (record.n < least || spent < ENOUGH_SECONDS) &&
	       (record.n == 0 || spent < LONG_SECONDS)) {
		struct npl_run run;
		if ((rc = one_pass(p, name, NULL, &run, err)))
			break;
		keep(&record, &run);
		if (!measured)
			rc = same_figures(&report->run, &run, err);
		npl_run_free(&run);
		spent = npl_clock_seconds() - start;
	}
	if (!rc) {
		report->passes = record.n;
		report->spread = report->simulation_wall_seconds = NAN;
		if (measured)
			set_medians(&record, report);
		else
			report->simulation_wall_seconds = median_of(record.wall, record.n, 1);
		if (metered)
			set_package_energy(&meter, record.n, &report->run);
	}
	npl_energy_meter_close(&meter);
	free(record.layer);
	if (rc)
		npl_run_free(&report->run);
	return rc;
}
