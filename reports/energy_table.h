/* SPDX-License-Identifier: MIT
 *
 * Energy in the tables of a comparison: the parts that a batch's energy belongs to, and the notes that are needed to
 * read it. */
#ifndef NPULAB_REPORTS_ENERGY_TABLE_H
#define NPULAB_REPORTS_ENERGY_TABLE_H

#include <stdio.h>

#include "npulab/report.h"
#include "reports/format/table.h"

/* Says whether a report's time is a model's: a placement's is where that of one of its devices is. */
bool npl_report_simulated(const struct npl_device_report *report);
/* Says whether any part of an entry is modelled: a real device whose host did a layer is marked too. */
bool npl_report_modelled(const struct npl_device_report *report);
/* Says whether all known energy was measured: assumed and modelled energy is marked. */
bool npl_energy_measured(const struct npl_device_report *report);
/* Says whether a byte over the link costs no more than the link draws at rest. */
bool npl_link_is_free(const struct npl_resource *link);

/* Sets *has_range where a report's chip has a bottom-up range, and *has_activity where it has an energy by the activity
 * of operands; otherwise they stay as they are. */
void npl_energy_has(const struct npl_device_report *report, bool *has_range, bool *has_activity);
/* Prints the energy of a batch of each modelled device, by the parts that it belongs to. */
int npl_energy_table(FILE *out, const struct npl_comparison *comparison, const struct npl_report_context *context);

/* Writes what the device is, and where its energy comes from. */
void npl_energy_note(FILE *note, const struct npl_device_report *report);
/* Adds a row of notes on the modelled host, where it has worked. */
void npl_host_note(struct npl_table *table, const struct npl_comparison *comparison);
/* Adds a row of notes where a byte of main memory costs that many times as much on one device as on another. */
#define NPL_MEMORIES_DIFFER 2
void npl_memory_note(struct npl_table *table, const struct npl_comparison *comparison);

#endif
