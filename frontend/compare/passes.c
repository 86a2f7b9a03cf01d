/* SPDX-License-Identifier: MIT
 *
 * Timed passes over the samples (passes.h). */
#include "passes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "devices_open.h"
#include "energy.h"
#include "median.h"
#include "repeats.h"

#define MAX_PASSES 200
/* A short network gets many passes, a long one a few. The passes of a simulated machine show how fast npulab itself is,
 * and that its figures are the same each time; they should take little time beside the network's own work. */
static const struct npl_repeats_rule measured_passes = {
	.least_runs = 5, .most_runs = MAX_PASSES, .enough_seconds = 0.5, .long_seconds = 3};
static const struct npl_repeats_rule simulated_passes = {
	.least_runs = 1, .most_runs = 50, .enough_seconds = 0.1, .long_seconds = 0.1};

/* A simulation that takes longer than this runs once: its user would wait as long again for figures that are the same.
 */
#define LONG_SIMULATION_SECONDS 10

static const struct npl_repeats_rule one_further_pass = {.least_runs = 1, .most_runs = 1};

/* The rows of passes are kept until it is known which pass is the median one: of most networks all passes, of a network
 * of 20,000 layers five. */
#define KEPT_BYTES ((size_t)64 << 20)
#define MIN_KEPT   5

struct record { /* the timed passes */
	int n;
	int repeats;                /* timed passes, and those that only the energy meter needed */
	double seconds[MAX_PASSES]; /* per timed pass: the devices' time */
	double wall[MAX_PASSES];
	int n_runs;
	struct npl_run run[MAX_PASSES]; /* the kept passes of a measured report */
};

/* What the batches of one pass share. */
struct pass {
	const struct npl_passes *passes;
	const struct npl_value_observer *observer; /* of the first batch; NULL: none */
	struct npl_run *sum;
};

/* Two observers, of which either may be missing. */
struct both {
	struct npl_value_observer watcher;
	const struct npl_value_observer *observer;
};

static int observe_both(void *context, int value, const struct npl_tensor *tensor, struct npl_err *err)
{
	const struct both *both = context;
	int rc = both->observer ? both->observer->on_value(both->observer->context, value, tensor, err) : 0;
	if (!rc && both->watcher.on_value)
		rc = both->watcher.on_value(both->watcher.context, value, tensor, err);
	return rc;
}

/* Tells the watcher how accurate each layer was. */
static int tell_accuracy(const struct npl_passes *p, const struct npl_run *run, struct npl_err *err)
{
	struct npl_layer_accuracy *accuracy = calloc((size_t)run->n_layers + 1, sizeof *accuracy);
	if (!accuracy)
		return npl_no_memory(err);
	for (int i = 0; i < run->n_layers; i++)
		accuracy[i] = npl_layer_noise_of(p->noise, i);
	const int rc = p->watcher->on_accuracy(p->watcher->context, accuracy, run->n_layers, err);
	free(accuracy);
	return rc;
}

static int run_batch(void *context, int64_t batch, const struct npl_tensor *in, struct npl_tensor *out,
		     struct npl_err *err)
{
	const struct pass *pass = context;
	const struct npl_passes *p = pass->passes;
	struct npl_run run = {0};
	const struct npl_run_watcher *watcher = p->watcher;
	struct both both = {{watcher ? watcher->on_value : NULL, watcher ? watcher->context : NULL},
			    batch ? NULL : pass->observer};
	const struct npl_value_observer observer = {observe_both, &both};
	npl_session_observe(p->session, both.watcher.on_value || both.observer ? &observer : NULL);
	int rc = npl_session_run(p->session, in, out, &run, err);
	npl_session_observe(p->session, NULL);
	for (int d = 0; d < p->n_devices && !batch; d++)
		npl_device_dump_programs(p->device[d], NULL, NULL); /* later batches run the same programs */
	if (!rc && watcher && watcher->on_accuracy && both.observer)
		rc = tell_accuracy(p, &run, err);
	if (!rc && watcher && watcher->on_batch)
		rc = watcher->on_batch(watcher->context, batch, &run, err);
	if (!rc)
		rc = npl_run_add(pass->sum, &run, err);
	npl_run_free(&run);
	return rc;
}

/* Runs all batches once and sums them up in *sum; outputs, unless NULL, gets the outputs of all samples. number: that
 * of this pass, from 1, shown as progress. */
static int one_pass(const struct npl_passes *p, const char *name, int number, struct npl_tensor *outputs,
		    struct npl_run *sum, struct npl_err *err)
{
	char part[80];
	if (number > 1)
		snprintf(part, sizeof part, "%s, run %d", name, number);
	else
		snprintf(part, sizeof part, "%s", name);
	const bool observed = p->noise && outputs;
	const struct npl_value_observer observer = observed ? npl_layer_noise_device(p->noise)
							    : (struct npl_value_observer){0};
	struct pass pass = {.passes = p, .observer = observed ? &observer : NULL, .sum = sum};
	*sum = (struct npl_run){0};
	const int rc = npl_each_batch(p->graph, p->samples, part, run_batch, &pass, p->timing_only ? NULL : outputs,
				      err);
	if (rc)
		npl_run_free(sum);
	return rc;
}

static bool same_counts(const struct npl_result *a, const struct npl_result *b)
{
	bool same = !memcmp(a->counter, b->counter, sizeof a->counter) && !memcmp(a->bytes, b->bytes, sizeof a->bytes);
#define COMPARE_COUNT(name) same = same && a->name == b->name;
	NPL_RESULT_COUNTS(COMPARE_COUNT)
#undef COMPARE_COUNT
	return same;
}

static bool same_energies(const struct npl_result *a, const struct npl_result *b)
{
	bool same = a->n_energy == b->n_energy;
	for (int e = 0; e < a->n_energy && same; e++)
		same = !memcmp(&a->energy[e].joules, &b->energy[e].joules, sizeof a->energy[e].joules);
	return same;
}

/* Refuses simulated figures that change between two passes: they are not deterministic, and so are wrong. Returns 0 or
 * NPL_EINTERNAL. */
static int same_figures(const struct npl_run *a, const struct npl_run *b, struct npl_err *err)
{
	if (memcmp(&a->seconds, &b->seconds, sizeof a->seconds))
		return npl_fail(err, NPL_EINTERNAL, "a second pass took another time: %g and %g s", a->seconds,
				b->seconds);
	for (int i = 0; i < a->n_layers; i++) {
		const struct npl_result *x = &a->layer[i].result, *y = &b->layer[i].result;
		if (!same_counts(x, y) || !same_energies(x, y))
			return npl_fail(err, NPL_EINTERNAL,
					"layer %d gave other figures in a second pass: %llu and %llu cycles", i,
					(unsigned long long)x->cycles, (unsigned long long)y->cycles);
	}
	return 0;
}

/* Returns the kept pass whose time is the nearest to `seconds`, or the farthest from it. */
static int find_pass(const struct record *record, double seconds, bool farthest)
{
	int best_pass = 0;
	double best = farthest ? -1 : INFINITY;
	for (int i = 0; i < record->n_runs; i++) {
		const double distance = fabs(record->run[i].device_seconds - seconds);
		if (farthest ? distance > best : distance < best) {
			best = distance;
			best_pass = i;
		}
	}
	return best_pass;
}

/* Takes over a measured pass. If there is no room for all passes, it drops the one farthest from the median so far. */
static void keep(struct record *record, const struct npl_run *run)
{
	const size_t bytes = (size_t)run->n_layers * sizeof *run->layer + (size_t)run->n_tasks * sizeof *run->task;
	double seconds[MAX_PASSES];
	record->run[record->n_runs++] = *run;
	if (record->n_runs <= MIN_KEPT || bytes <= KEPT_BYTES / (size_t)record->n_runs)
		return;
	memcpy(seconds, record->seconds, (size_t)record->n * sizeof *seconds);
	const int dropped = find_pass(record, npl_median(seconds, record->n), true);
	npl_run_free(&record->run[dropped]);
	record->run[dropped] = record->run[--record->n_runs];
	record->run[record->n_runs] = (struct npl_run){0};
}

/* Makes the median pass, as a whole, the measured report, so that its rows sum to its totals; the hashes are the first
 * pass's. The spread is that of the middle half of the passes, because one disturbed pass says nothing of the rest. */
static void take_median(struct record *record, struct npl_device_report *report)
{
	double sorted[MAX_PASSES];
	memcpy(sorted, record->seconds, (size_t)record->n * sizeof *sorted);
	npl_sort_doubles(sorted, record->n);
	struct npl_run *middle = &record->run[find_pass(record, sorted[(record->n - 1) / 2], false)];
	const double low = sorted[record->n / 4], high = sorted[(3 * record->n) / 4];
	for (int i = 0; i < middle->n_layers; i++)
		memcpy(middle->layer[i].output_sha256, report->run.layer[i].output_sha256,
		       sizeof middle->layer[i].output_sha256);
	report->spread = middle->device_seconds > 0 ? (high - low) / middle->device_seconds : NAN;
	report->median_within = npl_median_within(record->seconds, record->n);
	npl_run_free(&report->run);
	report->run = *middle;
	*middle = (struct npl_run){0};
}

static bool is_measured(const struct npl_passes *p)
{
	for (int d = 0; d < p->n_devices; d++)
		if (npl_is_measured(p->device[d]) && (p->n_devices == 1 || npl_session_uses(p->session, d)))
			return true;
	return false;
}

/* Runs passes whose times are not used, until the energy meter has counted for long enough. */
static int run_for_energy(const struct npl_passes *p, const char *name,
			  const struct npl_energy_measurement *measurement, struct record *record, struct npl_err *err)
{
	for (; npl_energy_measurement_needs_run(measurement); record->repeats++) {
		struct npl_run run;
		if (one_pass(p, name, 2 + record->repeats, NULL, &run, err))
			return err->code;
		npl_run_free(&run);
	}
	return 0;
}

/* Runs timed passes until they are enough (repeats.h); those of a simulated machine must have the figures of
 * `first`. */
static int run_timed(const struct npl_passes *p, const char *name, bool measured, const struct npl_run *first,
		     struct record *record, struct npl_err *err)
{
	const struct npl_repeats_rule *rule = measured  ? &measured_passes
					      : p->once ? &one_further_pass
							: &simulated_passes;
	double start = npl_clock_seconds();
	while (!npl_repeats_enough(rule, record->seconds, record->n, npl_clock_seconds() - start)) {
		struct npl_run run;
		if (one_pass(p, name, 2 + record->repeats, NULL, &run, err))
			return err->code;
		record->wall[record->n] = run.wall_seconds;
		record->seconds[record->n++] = run.device_seconds;
		record->repeats++;
		if (measured) {
			keep(record, &run);
			continue;
		}
		const int rc = same_figures(first, &run, err);
		npl_run_free(&run);
		if (rc)
			return rc;
	}
	return 0;
}

/* Runs the timed passes of real devices, and measures what else the computer does meanwhile and what the devices
 * draw. */
static int run_measured(const struct npl_passes *p, const char *name, const struct npl_run *first,
			struct npl_energy_measurement *measurement, struct record *record, struct npl_system_load *load,
			struct npl_err *err)
{
	npl_system_load_start(load, NULL);
	npl_energy_measurement_start(measurement);
	if (run_timed(p, name, true, first, record, err) || run_for_energy(p, name, measurement, record, err))
		return err->code;
	npl_system_load_stop(load);
	npl_energy_measurement_stop(measurement, record->repeats);
	return 0;
}

int npl_passes_run(const struct npl_passes *p, struct npl_tensor *outputs, struct npl_device_report *report,
		   struct npl_err *err)
{
	const char *name = p->n_devices == 1 ? npl_device_instance(p->device[0]) : NPL_PLACEMENT_NAME;
	const bool measured = is_measured(p) && !p->watcher;
	struct npl_energy_measurement measurement = {0};
	struct record *record = calloc(1, sizeof *record);
	report->energy = NPL_ENERGY_UNKNOWN;
	report->spread = report->median_within = NAN;
	if (measured)
		npl_energy_measurement_open(&measurement, p->device, p->n_devices, &report->energy);
	int rc = record ? one_pass(p, name, 1, outputs, &report->run, err) : npl_no_memory(err);
	npl_session_hash(p->session, false);
	if (!rc && !measured && (p->watcher || report->run.wall_seconds > LONG_SIMULATION_SECONDS))
		record->wall[record->n++] = report->run.wall_seconds;
	else if (!rc)
		rc = measured ? run_measured(p, name, &report->run, &measurement, record, &report->load, err)
			      : run_timed(p, name, false, &report->run, record, err);
	if (!rc) {
		report->passes = record->n;
		report->simulation_wall_seconds = measured ? NAN : npl_median(record->wall, record->n);
	}
	if (!rc && measured) {
		take_median(record, report);
		rc = npl_energy_measurement_finish(&measurement, &report->run, err);
	}
	npl_energy_measurement_close(&measurement);
	for (int i = 0; record && i < record->n_runs; i++)
		npl_run_free(&record->run[i]);
	free(record);
	if (rc)
		npl_run_free(&report->run);
	return rc;
}
