/* SPDX-License-Identifier: MIT
 *
 * Reports of a comparison, and of the other commands. A report reads only its result and writes to a stream of the
 * caller. Modelled figures carry a "~" in the tables; a figure that is not known is "-" there and null in JSON, never
 * 0.
 */
#ifndef NPULAB_REPORT_H
#define NPULAB_REPORT_H

#include <stdio.h>

#include "npulab/compare.h"
#include "npulab/conformance.h"
#include "npulab/layer_choice.h"
#include "npulab/place.h"
#include "npulab/roofline.h"
#include "npulab/traffic.h"
#include "npulab/validate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a report needs besides the result. */
struct npl_report_context {
	const char *model_name;
	const char *description; /* or NULL */
	bool layers;             /* print tables of the layers too */
	/* The layers in these tables and in the CSV; NULL: all, in the network's order. */
	const struct npl_layer_choice *choice;
	bool single_layer; /* `npulab layer`: seconds are the device's alone, and the link is reported beside them */
};

/* Figures derived from one entry, the same for every report. NAN: not applicable or not known. */
struct npl_figures {
	double seconds;         /* of all samples, host and link included; of a single layer, the device's alone */
	double latency_seconds; /* of one batch: seconds over the batches */
	double samples_per_second;
	double ops_per_second; /* two for each MAC of the network, the host's included, over seconds */
	/* The MACs of the devices over those that they could do at their peak in the time in which they work. */
	double utilization;
	double joules, watts; /* of all samples, host and link included; these joules over seconds */
	double samples_per_joule, joules_per_sample;
	double known_joules_per_sample; /* sum of the known components, when others are absent */
	/* joules divided by what uses them. 0: the device has no such part; NAN: not known. */
	double part_joules[NPL_ENERGY_PARTS];
	/* Operations and energy of the machine alone, its memory included, over the time in which it works. */
	double machine_ops_per_second, machine_watts;
};
void npl_figures_of(const struct npl_device_report *report, const struct npl_report_context *context,
		    struct npl_figures *figures);

/* The functions that print tables return 0, or NPL_ENOMEM where there was no memory for a part of a table. */

/* Reports of a conformance run (conformance.h): every case, the counts, the missing operators. */
int npl_conformance_table(FILE *out, const struct npl_conformance *conformance);
void npl_conformance_json(FILE *out, const struct npl_conformance *conformance);

int npl_report_table(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);
void npl_report_json(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);
/* One line per layer and device. The layers that the choice leaves out are one line per device, with their sums. */
void npl_report_csv(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);

/* Prints the comparison's first entry and its first batch: for each node the device and the reason, which bytes crossed
 * which link, and when; then the work of each resource over time. */
int npl_report_placement(FILE *out, const struct npl_comparison *comparison);
/* Prints the same work in the trace-event format that Perfetto and Chrome read: a track for each resource, times in
 * microseconds, to the nanosecond. */
void npl_report_timeline(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);

/* Reports of rooflines (roofline.h). model is the network's name in the report; NULL without a network. */
int npl_roofline_table(FILE *out, const struct npl_roofline *roofline, const char *model);
void npl_roofline_json(FILE *out, const struct npl_roofline *roofline, const char *model);
/* One line for each layer of each device, and one without an operator for the network. */
void npl_roofline_csv(FILE *out, const struct npl_roofline *roofline, const char *model);

/* Reports of a search for a placement (place.h): tables, and the schema npulab.place/1. */
int npl_placing_table(FILE *out, const struct npl_placing *placing, const char *model);
void npl_placing_json(FILE *out, const struct npl_placing *placing, const char *model);

/* Reports of a run of requests through a memory (traffic.h). */
struct npl_traffic_report {
	const char *name; /* the name of the pattern, or the trace's path */
	bool is_pattern, every_cycle;
	const struct npl_memory *memory;
	const struct npl_traffic_result *result;
};
int npl_dram_table(FILE *out, const struct npl_traffic_report *report);
/* Print a machine's energy model (energy_model.h), as a table or with the schema npulab.energy/1. */
int npl_energy_model_table(FILE *out, const char *name, const struct npl_energy_model *model);
void npl_energy_model_json(FILE *out, const char *name, const struct npl_energy_model *model);
/* Schema npulab.dram/1. After NPL_ENOMEM the text written so far is of no use. */
int npl_dram_json(FILE *out, const struct npl_traffic_report *report, struct npl_err *err);

/* Reports of published figures beside the model's (validate.h). all: also the rows that npl_validation_shown leaves
 * out. */
int npl_validation_table(FILE *out, const struct npl_validation *validation, bool all);
void npl_validation_json(FILE *out, const struct npl_validation *validation, bool all);

/* Returns the name of the number format. That of a placement is the one that all its devices have (float32 where it has
 * none); NULL: they differ. */
const char *npl_report_format(const struct npl_device_report *report);
/* Says whether any part of the entry computes in integers, so that values may saturate. */
bool npl_report_saturates(const struct npl_device_report *report);

/* Writes three significant digits with an SI prefix: "1.23 ms", "976 k/s", "43.1 uJ"; "-" for a value that is not
 * finite. Returns buf. */
const char *npl_si_text(double value, const char *unit, char *buf, size_t n);
/* Writes a count, whole up to 999, above that as npl_si_text does: "7 MAC", "40.4 k". Returns buf. */
const char *npl_count_text(double value, const char *unit, char *buf, size_t n);

#ifdef __cplusplus
}
#endif

#endif
