/* SPDX-License-Identifier: MIT
 *
 * The figures that reports derive from a run: rates, power and energy for each sample. */
#include <criterion/criterion.h>
#include <math.h>

#include "npulab/report.h"

/* One device's report, as a comparison would hold it. */
static struct npl_figures figures_of(enum npl_device_kind kind, double seconds, uint64_t macs,
				     const struct npl_energy *energy, int n_energy)
{
	struct npl_device_report report = {
		.info = {.kind = kind, .peak_macs_per_second = 1000}, .samples = 6, .batches = 3};
	struct npl_figures f;
	report.run = (struct npl_run){
		.seconds = seconds, .device_seconds = seconds / 2, .macs = macs, .device_macs = macs / 2};
	for (int i = 0; i < n_energy; i++)
		report.run.energy[i] = energy[i];
	report.run.n_energy = n_energy;
	npl_figures_of(&report, &(struct npl_report_context){0}, &f);
	return f;
}

/* Derived figures; what is not known is NAN and never 0. */
Test(figures, a_figure_that_is_not_known_is_nan)
{
	const struct npl_energy known[] = {{.component = "a", .origin = "modelled:x", .joules = 2},
					   {.component = "b", .origin = "calibrated:y", .joules = 1}};
	const struct npl_energy partly[] = {known[0], {.component = "link", .origin = "absent", .joules = NAN}};
	struct npl_figures f = figures_of(NPL_KIND_SIMULATED, 2, 600, known, 2);
	cr_assert(f.seconds == 2 && f.latency_seconds == 2.0 / 3 && f.samples_per_second == 3 &&
		  f.ops_per_second == 600);
	cr_assert(f.utilization == 0.3 && f.joules == 3 && f.joules_per_sample == 0.5 && f.samples_per_joule == 2 &&
		  f.watts == 1.5);
	f = figures_of(NPL_KIND_SIMULATED, 2, 600, partly, 2);
	cr_assert(isnan(f.joules) && isnan(f.watts) && isnan(f.samples_per_joule) && isnan(f.joules_per_sample));
	f = figures_of(NPL_KIND_CPU, 2, 600, NULL, 0);
	cr_assert(isnan(f.joules) && isnan(f.watts), "no energy is not zero energy");
	f = figures_of(NPL_KIND_NULL, 0, 600, NULL, 0);
	cr_assert(f.seconds == 0 && isnan(f.samples_per_second) && isnan(f.ops_per_second) && isnan(f.utilization));
	char buf[100];
	cr_assert_str_eq(npl_energy_origins(known, 2, buf, sizeof buf), "modelled:x + calibrated:y");
	cr_assert_str_eq(npl_energy_origins(partly, 2, buf, sizeof buf), "modelled:x + absent");
	cr_assert_str_eq(npl_energy_origins(NULL, 0, buf, sizeof buf), "absent");
	cr_assert_str_eq(npl_energy_origins((const struct npl_energy[]){known[0], known[0], known[1]}, 3, buf, 14),
			 "modelled:x + ");
}
