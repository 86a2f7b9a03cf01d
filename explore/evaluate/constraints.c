/* SPDX-License-Identifier: MIT
 *
 * Constraints on a point, and its figures (constraints.h). */
#include "constraints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/report.h"

static bool is_known_before(enum sweep_metric metric)
{
	return metric == SWEEP_METRIC_area_mm2 || metric == SWEEP_METRIC_peak_ops_per_second;
}

static struct sweep_operand operand_of_device(const struct npl_device *device, const char *key)
{
	return (struct sweep_operand){npl_device_setting_number(device, key), npl_device_setting(device, key)};
}

/* Gives the value of a name; returns false where it is known only after a run. */
static bool find_operand(const struct sweep_known *known, const char *name, struct sweep_operand *operand)
{
	const int metric = sweep_metric_of(name);
	*operand = (struct sweep_operand){.number = NAN};
	if (metric >= 0) {
		operand->number = known->metrics->value[metric];
		return known->has_run || is_known_before((enum sweep_metric)metric);
	}
	if (!strcmp(name, SWEEP_MODEL))
		operand->text = known->settings->model;
	else if (!strcmp(name, SWEEP_DEVICE))
		operand->text = known->settings->device;
	else if (!strcmp(name, SWEEP_LABEL))
		operand->text = known->settings->label;
	else if (!strcmp(name, SWEEP_BATCH))
		operand->number = *known->settings->batch ? atof(known->settings->batch) : NAN;
	else if (!strncmp(name, NPL_HOST_NAME ".", strlen(NPL_HOST_NAME ".")))
		*operand = operand_of_device(known->host, name + strlen(NPL_HOST_NAME "."));
	else {
		const char *machine = npl_device_name(known->device);
		const size_t length = strlen(machine);
		const bool is_prefixed = !strncmp(name, machine, length) && name[length] == '.';
		*operand = operand_of_device(known->device, is_prefixed ? name + length + 1 : name);
	}
	return true;
}

const struct sweep_formula *sweep_broken_constraint(const struct sweep_formulas *constraints,
						    const struct sweep_known *known, double *violation)
{
	const struct sweep_formula *first = NULL;
	*violation = 0;
	for (int i = 0; i < constraints->n; i++) {
		const struct sweep_expression *e = &constraints->formula[i].expression;
		struct sweep_operand operand[SWEEP_EXPRESSION_NAMES];
		bool is_known = true;
		for (int k = 0; k < e->n_names; k++)
			is_known &= find_operand(known, e->name[k], &operand[k]);
		const double by = is_known ? sweep_expression_violation(e, operand) : 0;
		*violation += by;
		if (by > 0 && !first)
			first = &constraints->formula[i];
	}
	return first;
}

void sweep_take_machine(const struct npl_device_info *info, struct sweep_metrics *metrics)
{
	for (int m = 0; m < SWEEP_METRICS; m++)
		metrics->value[m] = NAN;
	metrics->value[SWEEP_METRIC_area_mm2] = info->area_mm2 > 0 ? info->area_mm2 : NAN;
	if (info->peak_macs_per_second > 0)
		metrics->value[SWEEP_METRIC_peak_ops_per_second] = 2 * info->peak_macs_per_second;
}

void sweep_take_figures(const struct npl_device_report *report, struct sweep_metrics *metrics)
{
	const struct npl_report_context context = {0};
	const struct npl_run *run = &report->run;
	const double batches = (double)report->batches;
	struct npl_figures f;
	npl_figures_of(report, &context, &f);
	double *m = metrics->value;
	m[SWEEP_METRIC_seconds] = f.latency_seconds;
	m[SWEEP_METRIC_samples_per_second] = f.samples_per_second;
	m[SWEEP_METRIC_cycles] = report->info.clock_hz > 0 ? (double)run->cycles / batches : NAN;
	m[SWEEP_METRIC_energy_j] = f.joules / batches;
	m[SWEEP_METRIC_energy_per_sample_j] = f.joules_per_sample;
	m[SWEEP_METRIC_edp_js] = f.joules / batches * f.latency_seconds;
	m[SWEEP_METRIC_power_w] = f.watts;
	m[SWEEP_METRIC_machine_power_w] = f.machine_watts;
	if (run->device_seconds > 0 && f.part_joules[NPL_OF_MACHINE] > 0)
		m[SWEEP_METRIC_chip_power_w] = f.part_joules[NPL_OF_MACHINE] / run->device_seconds;
	m[SWEEP_METRIC_ops_per_second] = f.ops_per_second;
	m[SWEEP_METRIC_utilization] = f.utilization;
	m[SWEEP_METRIC_device_seconds] = run->device_seconds / batches;
	m[SWEEP_METRIC_host_seconds] = run->host_seconds / batches;
	m[SWEEP_METRIC_host_link_seconds] = run->link_seconds / batches;
	m[SWEEP_METRIC_overlap_seconds] = run->overlap_seconds / batches;
	m[SWEEP_METRIC_dram_bytes] = (double)run->bytes[NPL_MEM_DRAM] / batches;
	m[SWEEP_METRIC_link_bytes] = (double)run->link_bytes / batches;
	m[SWEEP_METRIC_peak_buffer_bytes] = run->peak_buffer_bytes ? (double)run->peak_buffer_bytes : NAN;
	m[SWEEP_METRIC_saturations] = npl_report_saturates(report) && *report->output_sha256 ? (double)run->saturations
											     : NAN;
	m[SWEEP_METRIC_max_abs_error] = report->accuracy.max_abs_error;
	m[SWEEP_METRIC_sqnr_db] = report->accuracy.sqnr_db;
	m[SWEEP_METRIC_top1_agreement] = report->accuracy.top1_agreement;
	m[SWEEP_METRIC_top1_accuracy] = report->accuracy.top1_accuracy;
}
