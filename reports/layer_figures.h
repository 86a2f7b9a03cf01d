/* SPDX-License-Identifier: MIT
 *
 * Figures of a layer on a device, or of several layers together, for the reports. Figures are sums over the batches. */
#ifndef NPULAB_REPORTS_LAYER_FIGURES_H
#define NPULAB_REPORTS_LAYER_FIGURES_H

#include "npulab/report.h"

struct npl_layer_figures {
	int layers;
	double device_seconds, host_seconds, link_seconds;
	bool modelled;            /* some of that time is modelled */
	struct npl_result result; /* the machine's part except energy: cycles, macs, counters, bytes */
	uint64_t macs_with_host;  /* result.macs and those of the host */
	double possible_macs;     /* the MACs at the machine's peak in its time; NAN: not known */
	uint64_t link_bytes;      /* bytes over the link outside of the cycles */
	double joules;            /* the sum over the components whose energy is known */
	bool absent;              /* a component's energy is not known */
	bool no_energy;           /* there is no component at all */
	bool energy_modelled;
	const struct npl_device_info *info; /* the machine that ran it; NULL: none, or several */
	bool mixed;                         /* several machines ran it */
};

/* Fills the figures of layer i of the entry. */
void npl_layer_figures_of(const struct npl_device_report *report, const struct npl_report_context *context, int i,
			  struct npl_layer_figures *figures);
/* Adds the figures of another layer to sum, which is zeroed at first. */
void npl_layer_figures_add(struct npl_layer_figures *sum, const struct npl_layer_figures *figures);
double npl_layer_seconds(const struct npl_layer_figures *figures);
/* Returns the share of the peak while the machine worked. NAN: not known. */
double npl_layer_utilization(const struct npl_layer_figures *figures);
/* Returns what limits the layer (causes.h), or "host" or "link" where one of these takes the greatest part of its time.
 * NULL: not known. */
const char *npl_layer_bound(const struct npl_layer_figures *figures);

/* These return how many layers the context chooses (all without a choice), and which is the i-th. */
int npl_chosen_layers(const struct npl_comparison *comparison, const struct npl_report_context *context);
int npl_chosen_layer(const struct npl_report_context *context, int i);
/* These sum the figures of an entry's layers that are not chosen, and of all its layers. */
void npl_layer_figures_left(const struct npl_device_report *report, const struct npl_report_context *context,
			    struct npl_layer_figures *sum);
void npl_layer_figures_all(const struct npl_device_report *report, const struct npl_report_context *context,
			   struct npl_layer_figures *sum);
/* Writes "538 more layers"; returns buf. */
const char *npl_layers_left_text(const struct npl_report_context *context, char *buf, size_t n);

/* Returns the machine that ran the row; for a placement, one of its parts. NULL: the host. */
const struct npl_device_info *npl_layer_machine(const struct npl_device_report *report,
						const struct npl_layer_run *row);

#endif
