/* SPDX-License-Identifier: MIT
 *
 * Reports of a comparison, and of the other commands. They read only what their result holds; each writes to a stream
 * the caller owns. Modelled figures carry a "~" in the tables; what is not known is "-" there and null in JSON, never
 * 0.
 */
#ifndef NPULAB_REPORT_H
#define NPULAB_REPORT_H

#include <stdio.h>

#include "npulab/compare.h"
#include "npulab/conformance.h"
#include "npulab/layer_choice.h"
#include "npulab/roofline.h"
#include "npulab/text.h"
#include "npulab/traffic.h"
#include "npulab/validate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What else a report says of the run. */
struct npl_report_context {
	const char *model_name;
	const char *description; /* or NULL */
	bool layers;             /* tables of the layers too */
	const struct npl_layer_choice
		*choice;   /* of the layers in these tables and in the CSV; NULL: all, as the network has them */
	bool single_layer; /* `npulab layer`: seconds are the device's alone, the link is reported beside them */
};

/* Seconds of the host or of a link in an entry or a row of it: NAN where the entry has neither, being all a real
 * device's. */
double npl_surrounding_seconds(const struct npl_device_report *report, double seconds);

/* Derived figures of one entry, the same for every report. NAN: not applicable or not known. */
struct npl_figures {
	double seconds, latency_s; /* of all samples; of one batch */
	double inferences_per_second, ops_per_second, utilization;
	double energy_j, inferences_per_joule, joules_per_inference, power_w;
	double known_joules_per_inference; /* of the components that are known, when others are absent */
	/* energy_j by what uses it. 0: the device has no such part; NAN: it is not known. */
	double part_j[NPL_ENERGY_PARTS];
	/* The machine's own: operations and energy, its memory's included, over the time it works. NAN: not known. */
	double machine_ops_per_second, machine_power_w;
};
void npl_figures_of(const struct npl_device_report *report, const struct npl_report_context *context,
		    struct npl_figures *figures);

/* A conformance run (conformance.h): every case, the counts, what is missing. */
void npl_conformance_table(FILE *out, const struct npl_conformance *conformance);
void npl_conformance_json(FILE *out, const struct npl_conformance *conformance);

void npl_report_table(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);
void npl_report_json(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);
/* One line per layer and device; of the layers that the choice leaves out, one line with their sums per device. */
void npl_report_csv(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);

/* Prints the comparison's first entry and its first batch: for each node the device and why, what crossed which link
 * for it, and when; then what each resource does over time. */
void npl_report_placement(FILE *out, const struct npl_comparison *comparison);
/* The same work in the trace-event format that Perfetto and Chrome read: a track for each resource, times in
 * microseconds to the nanosecond. */
void npl_report_timeline(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);

/* Rooflines (roofline.h). model is what the report calls the network; NULL without one. */
void npl_roofline_table(FILE *out, const struct npl_roofline *roofline, const char *model);
void npl_roofline_json(FILE *out, const struct npl_roofline *roofline, const char *model);
/* One line for each layer of each device, and one, without operator, for the network. */
void npl_roofline_csv(FILE *out, const struct npl_roofline *roofline, const char *model);

/* A run of requests through a memory (traffic.h). */
struct npl_traffic_report {
	const char *name; /* of the pattern, or the trace's path */
	bool is_pattern, every_cycle;
	const struct npl_memory *memory;
	const struct npl_traffic_result *result;
};
void npl_dram_table(FILE *out, const struct npl_traffic_report *report);
/* Schema npulab.dram/1. NPL_ENOMEM: what is written so far is of no use. */
int npl_dram_json(FILE *out, const struct npl_traffic_report *report, struct npl_err *err);

/* Published figures beside the model's (validate.h); all: those too that nobody judges. */
void npl_validation_table(FILE *out, const struct npl_validation *validation, bool all);
void npl_validation_json(FILE *out, const struct npl_validation *validation, bool all);

/* The number format, of a placement that of all its devices (float32 of none); NULL: they have several. */
const char *npl_report_format(const struct npl_device_report *report);
/* Whether any part of it computes in integers, so that values may saturate. */
bool npl_report_saturates(const struct npl_device_report *report);

/* "1.23 ms", "976 k/s", "43.1 uJ", "-": three significant digits with an SI prefix; returns buf. */
const char *npl_si_text(double value, const char *unit, char *buf, size_t n);
/* "7 MAC", "40.4 k": a count, whole up to 999, above that as npl_si_text has it; returns buf. */
const char *npl_count_text(double value, const char *unit, char *buf, size_t n);

#ifdef __cplusplus
}
#endif

#endif
