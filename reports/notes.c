/* SPDX-License-Identifier: MIT
 *
 * The notes below the tables of a comparison (notes.h). */
#include "notes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "energy_table.h"
#include "layer_table.h"
#include "npulab/cpu_features.h"
#include "reports/format/table.h"
#include "unavailable.h"
#include "value_notes.h"

/* Writes which components of a sum are not known. */
static void put_absent(FILE *note, const struct npl_run *run)
{
	int absent = 0;
	for (int i = 0; i < run->n_energy && run->n_energy > 1; i++)
		if (!isfinite(run->energy[i].joules))
			fprintf(note, "%s%s",
				absent++ ? ", " : "; not known and not in the sum: ", run->energy[i].component);
}

/* Adds why the table of links has no energy for some links. */
static void put_links_within(struct npl_table *table, const struct npl_comparison *c)
{
	const struct npl_device_report *placed = &c->device[0];
	char line[200];
	for (int i = 0; placed->n_parts && i < placed->run.n_resources; i++) {
		const struct npl_resource *link = &placed->run.resource[i];
		if (link->kind != NPL_RESOURCE_LINK || (!link->energy_within && !npl_link_is_free(link)))
			continue;
		if (link->energy_within)
			snprintf(line, sizeof line, "the energy of bytes over its %s is in %s", link->name,
				 link->energy_within);
		else
			snprintf(line, sizeof line,
				 "its %s draws the same idle or busy: bytes over it take no energy of their own",
				 link->name);
		npl_table_row(table, (const char *const[]){link->device_name, line});
	}
}

#define LAYERS_JUDGED                                                                                                  \
	"signal over noise of the first batch's result against the float32 reference's; that of the devices is of "    \
	"all samples"

static bool any_layer_judged(const struct npl_comparison *c)
{
	for (int d = 0; d < c->n_devices; d++)
		for (int i = 0; i < c->graph->n_nodes; i++)
			if (!isnan(c->device[d].layer_accuracy[i].sqnr_db))
				return true;
	return false;
}

/* Writes how many layers a device of integers ran in float32, and their share of the MACs. */
static void put_floats(FILE *note, const struct npl_device_report *r)
{
	int layers = 0;
	uint64_t macs = 0;
	for (int i = 0; i < r->run.n_layers; i++) {
		const struct npl_layer_run *row = &r->run.layer[i];
		if (!row->float32_reason)
			continue;
		layers++;
		macs += row->result.macs;
	}
	if (layers)
		fprintf(note, "; %d of %d layers in float32, with %.2g %% of the MACs", layers, r->run.n_layers,
			r->run.macs ? 100.0 * (double)macs / (double)r->run.macs : 0.0);
}

/* Notes samples that had to be one batch, or that do not fill the last one. */
static void put_batches(struct npl_table *table, const struct npl_comparison *c)
{
	const int64_t filled = c->graph->batch ? c->batches * c->graph->batch - c->samples : 0;
	char line[400];
	if (c->graph->batching.indivisible) {
		snprintf(line, sizeof line, "all %" PRId64 " samples run as one batch, because they cannot be cut: %s",
			 c->samples, c->graph->batching.mixed_by);
		npl_table_row(table, (const char *const[]){"one batch", line});
	}
	if (filled > 0) {
		snprintf(line, sizeof line,
			 "the last batch holds %" PRId64
			 " sample%s and is filled up; the filling takes time and energy and "
			 "counts as no work",
			 c->graph->batch - filled, npl_plural(c->graph->batch - filled));
		npl_table_row(table, (const char *const[]){"short batch", line});
	}
}

/* Notes what the machine's file leaves out, and what was adapted to the user's settings. */
static void put_machine_notes(struct npl_table *table, const struct npl_device_report *r)
{
	for (int i = 0; i < r->n_notes; i++)
		npl_table_row(table, (const char *const[]){r->instance, r->note[i]});
	for (int i = 0; i < r->n_parts; i++)
		put_machine_notes(table, &r->part[i]);
}

/* Writes how far the measurement of an entry can be trusted. */
static void put_measurement(FILE *note, const struct npl_device_report *r)
{
	if (isfinite(r->spread))
		fprintf(note, "; median of %d run%s, of which the middle half spans %.0f %% of it", r->passes,
			npl_plural(r->passes), 100 * r->spread);
	if (r->median_within > NPL_STABLE_MEDIAN)
		fprintf(note,
			r->median_within < 1 ? "; not stable: the median is known within %.2g %%"
					     : "; not stable: the median is known within %.0f %%",
			100 * r->median_within);
	if (r->load.busy)
		fprintf(note, "; measured beside other programs, which took %.1f of %d processors (load average %.1f)",
			r->load.other_processors, r->load.processors, r->load.load_average);
}

/* Adds the notes on one entry: what it is, and what applies to it alone. */
static void put_device_notes(struct npl_table *table, const struct npl_comparison *c, const struct npl_device_report *r)
{
	char *text = NULL, amount[40];
	size_t bytes;
	FILE *note = open_memstream(&text, &bytes);
	if (!note) {
		table->failed = 1;
		return;
	}
	npl_energy_note(note, r);
	npl_value_notes(note, c, r);
	put_floats(note, r);
	put_measurement(note, r);
	if (r->run.bytes[NPL_MEM_HOST])
		fprintf(note, "; %s over the host link within its own time: not all fits on chip",
			npl_si_text((double)r->run.bytes[NPL_MEM_HOST], "B", amount, sizeof amount));
	if (r->run.overlap_seconds > 0)
		fprintf(note, "; %s of a batch's work goes on while other does",
			npl_si_text(r->run.overlap_seconds / (double)r->batches, "s", amount, sizeof amount));
	put_absent(note, &r->run);
	if (fclose(note))
		table->failed = 1;
	else
		npl_table_row(table, (const char *const[]){r->instance, text});
	free(text);
	put_machine_notes(table, r);
}

/* Adds what the columns of the chip's energy mean, where the table has them. */
static void put_energy_columns(struct npl_table *table, const struct npl_comparison *c)
{
	bool has_range = false, has_activity = false;
	for (int d = 0; d < c->n_devices; d++)
		npl_energy_has(&c->device[d], &has_range, &has_activity);
	if (has_range)
		npl_table_row(table, (const char *const[]){"BOTTOM-UP",
							   "what tables of operations and memories give for "
							   "the chip, without its clock, control and idle power"});
	if (has_activity)
		npl_table_row(table, (const char *const[]){"BY DATA", "CHIP with the zeros and toggling bits of these "
								      "operands; what is not counted is as in CHIP"});
	for (int d = 0; d < c->n_devices && c->timing_only; d++)
		if (c->device[d].info.counts_activity)
			npl_table_row(table, (const char *const[]){c->device[d].instance,
								   "activity has no effect without values"});
}

/* Adds what the marks of figures mean. */
static void put_marks(struct npl_table *table, const struct npl_comparison *c, bool single_layer)
{
	bool any_model = false, any_measure = false;
	char line[100];
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		any_model = any_model || npl_report_modelled(r) || !npl_energy_measured(r);
		any_measure = any_measure || (isfinite(r->spread) && !npl_report_modelled(r));
	}
	if (any_model)
		npl_table_row(
			table,
			(const char *const[]){
				"~", single_layer
					     ? "modelled or assumed, not measured"
					     : "modelled or assumed, not measured; BATCH TIME, SAMPLES/S and "
					       "ENERGY/SAMPLE cover the machine, its host and the link between "
					       "them, OPS/S, PEAK USED and POWER the chip and its memory while "
					       "they work; energy marked - is counted elsewhere, not known, or none"});
	if (any_measure)
		npl_table_row(table, (const char *const[]){"no mark", "measured on this computer"});
	if (any_measure && npl_cpu_cap()) {
		snprintf(line, sizeof line, "kernels for %s and no further: " NPL_MAX_ISA " is set", npl_cpu_cap());
		npl_table_row(table, (const char *const[]){"limited", line});
	}
}

static void put_calibration(struct npl_table *table, const struct npl_comparison *c)
{
	char line[300];
	if (!c->calibrated_on)
		return;
	snprintf(line, sizeof line, "number formats calibrated on the %s (%s)%s", c->calibrated_on, c->calibration,
		 c->q16_scale && !strcmp(c->q16_scale, "none") ? "; Q6.10 at 2^-10 throughout" : "");
	npl_table_row(table, (const char *const[]){"calibration", line});
}

int npl_report_notes(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	static const char *const header[] = {"NOTES", ""};
	struct npl_table table;
	npl_table_open(&table, "ll", header);
	for (int d = 0; d < c->n_devices; d++)
		put_device_notes(&table, c, &c->device[d]);
	npl_table_unavailable_notes(&table, &c->unavailable);
	npl_host_note(&table, c);
	npl_memory_note(&table, c);
	put_links_within(&table, c);
	put_energy_columns(&table, c);
	put_marks(&table, c, context->single_layer);
	if (c->graph->layer_list)
		npl_table_row(&table,
			      (const char *const[]){"list of layers",
						    "each layer's input is there and its result stays: no "
						    "conversion by the host and no transfer over a link counts"});
	put_batches(&table, c);
	if (context->layers && c->n_devices && c->device[0].layer_accuracy)
		npl_table_row(&table, (const char *const[]){
					      "layers", any_layer_judged(c) ? LAYERS_JUDGED
									    : "no layer has a float result to compare "
									      "with float32"});
	if (context->layers)
		npl_layer_notes(&table, c, context);
	put_calibration(&table, c);
	fputc('\n', out);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}
