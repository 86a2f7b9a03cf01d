/* SPDX-License-Identifier: MIT
 *
 * Derived figures, and texts of numbers. */
#include <math.h>
#include <string.h>

#include "npulab/report.h"

static double sum_of_part(const struct npl_run *run, enum npl_energy_part part)
{
	double sum = 0;
	for (int i = 0; i < run->n_energy; i++)
		if (run->energy[i].part == part)
			sum += run->energy[i].joules;
	return sum;
}

/* Returns the time that the power is of: a real device's meter also counts during its transfers. */
static double time_of_power(const struct npl_device_report *r)
{
	return npl_device_kind_is_modelled(r->info.kind)
		       ? r->run.device_seconds
		       : fmax(r->run.seconds - r->run.host_seconds, r->run.device_seconds);
}

void npl_figures_of(const struct npl_device_report *r, const struct npl_report_context *context, struct npl_figures *f)
{
	const struct npl_run *run = &r->run;
	bool costs = r->info.kind != NPL_KIND_NULL;
	*f = (struct npl_figures){.seconds = context->single_layer ? run->device_seconds : run->seconds};
	double rate = f->seconds > 0 ? 1 / f->seconds : NAN;
	f->latency_seconds = r->batches ? f->seconds / (double)r->batches : NAN;
	f->samples_per_second = (double)r->samples * rate;
	/* The samples that fill a short last batch are computed, but they are no work done for the user. */
	double slots = (double)r->batches * (double)r->batch, real = slots > 0 ? (double)r->samples / slots : 1;
	bool works = costs && run->macs > 0;
	f->ops_per_second = works ? 2.0 * (double)run->macs * real * rate : NAN;
	f->utilization = NAN;
	if (works && r->info.peak_macs_per_second > 0 && run->device_seconds > 0)
		f->utilization = (double)run->device_macs * real / (run->device_seconds * r->info.peak_macs_per_second);
	f->joules = npl_energy_sum(run->energy, run->n_energy);
	f->joules_per_sample = r->samples ? f->joules / (double)r->samples : NAN;
	f->samples_per_joule = f->joules > 0 ? (double)r->samples / f->joules : NAN;
	f->known_joules_per_sample = 0;
	for (int i = 0; i < run->n_energy; i++)
		if (isfinite(run->energy[i].joules) && r->samples)
			f->known_joules_per_sample += run->energy[i].joules / (double)r->samples;
	f->watts = f->joules * rate;
	for (int p = 0; p < NPL_ENERGY_PARTS; p++)
		f->part_joules[p] = run->n_energy ? sum_of_part(run, (enum npl_energy_part)p) : NAN;
	const double machine_joules = f->part_joules[NPL_OF_MACHINE] + f->part_joules[NPL_OF_MEMORY];
	const double machine_seconds = time_of_power(r);
	f->machine_watts = machine_seconds > 0 && machine_joules > 0 ? machine_joules / machine_seconds : NAN;
	f->machine_ops_per_second = works && run->device_seconds > 0
					    ? 2.0 * (double)run->device_macs * real / run->device_seconds
					    : NAN;
}

const char *npl_report_format(const struct npl_device_report *report)
{
	const char *format = npl_device_precision(report->n_parts ? &report->part[0].info : &report->info);
	for (int i = 1; i < report->n_parts; i++)
		if (strcmp(npl_device_precision(&report->part[i].info), format) != 0)
			return NULL;
	return format;
}

bool npl_report_saturates(const struct npl_device_report *report)
{
	bool saturates = report->info.format != NPL_FORMAT_F32;
	for (int i = 0; i < report->n_parts; i++)
		saturates = saturates || report->part[i].info.format != NPL_FORMAT_F32;
	return saturates;
}

const char *npl_si_text(double value, const char *unit, char *buf, size_t n)
{
	static const char *const prefix[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
	const int least = *unit == '/' ? 4 : 0; /* "297 m/s" would be metres per second */
	int at = 4;
	double magnitude = fabs(value);
	if (!isfinite(value)) {
		snprintf(buf, n, "-");
		return buf;
	}
	value = value == 0 ? 0 : value; /* no "-0" */
	if (value != 0)
		for (; magnitude >= 999.5 && at < 10; at++, value /= 1000)
			magnitude /= 1000;
	if (value != 0)
		for (; magnitude < 0.9995 && at > least; at--, value *= 1000)
			magnitude *= 1000;
	int decimals = value == 0 || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
	if (value != 0 && (magnitude < 0.9995 || magnitude >= 999.5)) /* beyond the prefixes */
		snprintf(buf, n, "%.3g %s%s", value, prefix[at], unit);
	else
		snprintf(buf, n, "%.*f %s%s", decimals, value, prefix[at], unit);
	size_t length = strlen(buf);
	if (length && buf[length - 1] == ' ') /* neither prefix nor unit */
		buf[length - 1] = '\0';
	return buf;
}

const char *npl_count_text(double value, const char *unit, char *buf, size_t n)
{
	if (!(value >= 1 && value < 999.5 && rint(value) == value))
		return npl_si_text(value, unit, buf, n);
	snprintf(buf, n, "%.0f%s%s", value, *unit ? " " : "", unit);
	return buf;
}
