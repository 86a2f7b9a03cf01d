/* SPDX-License-Identifier: MIT
 *
 * The difference of two traces as text (npulab/run_trace.h): the verdict, the first event that differs, the layers that
 * moved, and the classes of cycles that grew or shrank most. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "npulab/report.h"
#include "npulab/run_trace.h"
#include "reports/format/paragraph.h"
#include "reports/format/table.h"
#include "trace_verdict.h"

enum { SHOWN_CAUSES = 12, LINE_SHOWN = 160 };

#define THE_RUN_NOW "the run now"

static void put_line(FILE *out, const char *mark, const char *line, const char *other)
{
	char shown[LINE_SHOWN + 1];
	if (!line)
		return;
	npl_trace_line_text(shown, sizeof shown, line, other);
	npl_put_toned_line(out, (const char *const[]){mark, " ", shown, NULL}, 2,
			   *mark == '-'   ? NPL_TONE_BAD
			   : *mark == '+' ? NPL_TONE_GOOD
					  : NPL_TONE_NONE);
}

/* other: the second trace; NULL: the run now, which has no lines that anybody could look at. */
static void put_first(FILE *out, const char *heading, const char *other, const struct npl_trace_difference *first)
{
	char where[80];
	fprintf(out, "\n%s\n", heading);
	if (!other && !first->line[0])
		snprintf(where, sizeof where, "new");
	else if (other && first->line[0] && first->line[1] && first->line[0] != first->line[1])
		snprintf(where, sizeof where, "lines %" PRIu64 " and %" PRIu64, first->line[0], first->line[1]);
	else
		snprintf(where, sizeof where, "line %" PRIu64, first->line[0] ? first->line[0] : first->line[1]);
	npl_put_line(out, (const char *const[]){where, first->layer ? ", " : "", first->layer ? first->layer : "", ": ",
						first->what, NULL});
	for (int i = 0; i < 3; i++)
		put_line(out, " ", first->before[i], NULL);
	put_line(out, "-", first->text[0], first->text[1]);
	put_line(out, "+", first->text[1], first->text[0]);
}

static void put_layers(struct npl_table *table, const struct npl_trace_diff *diff)
{
	const bool ratios = npl_trace_has_ratios(diff);
	for (int i = 0; i < diff->n_layers; i++) {
		const struct npl_trace_layer *layer = &diff->layer[i];
		const struct npl_trace_figures figures = npl_trace_figures_of(diff, layer->cycles, layer->seconds,
									      layer->joules);
		char moved[80], place[200], ratio[60];
		if (!npl_trace_layer_moved(layer) || npl_trace_only_begins_elsewhere(layer))
			continue;
		npl_trace_layer_moved_text(layer, moved, sizeof moved);
		npl_trace_ratio_text(ratio, sizeof ratio, layer->sqnr_db);
		npl_table_row(table,
			      (const char *const[]){layer->name, npl_trace_place_text(place, sizeof place, layer),
						    figures.cycles, figures.time, figures.energy,
						    ratios ? ratio : moved, moved});
	}
}

/* Prints a table under a title, and how many rows it does not have. */
static int put_table(FILE *out, const char *title, struct npl_table *table, int left_out)
{
	fprintf(out, "\n%s\n", title);
	npl_table_print(table, out);
	if (left_out > 0)
		fprintf(out, "and %d more\n", left_out);
	return npl_table_close(table);
}

static int put_shifts(FILE *out, const struct npl_trace_diff *diff)
{
	struct npl_trace_shift *shift;
	struct npl_table table;
	const int n = npl_trace_shifts(diff, &shift);
	if (n <= 0) {
		free(shift);
		return n ? NPL_ENOMEM : 0;
	}
	npl_table_open(&table, "lwrr", (const char *const[]){"LAYER", "CLASS", "CYCLES", "CHANGE"});
	for (int i = 0; i < n && i < SHOWN_CAUSES; i++) {
		char cycles[80], change[40];
		snprintf(cycles, sizeof cycles, "%" PRIu64 " -> %" PRIu64, shift[i].cycles[0], shift[i].cycles[1]);
		snprintf(change, sizeof change, "%+" PRId64, (int64_t)(shift[i].cycles[1] - shift[i].cycles[0]));
		npl_table_row(&table, (const char *const[]){shift[i].layer, shift[i].cycle_class, cycles, change});
	}
	free(shift);
	return put_table(out, "CYCLES OF LAYERS", &table, n - SHOWN_CAUSES);
}

static int put_causes(FILE *out, const struct npl_trace_diff *diff)
{
	struct npl_trace_cause *cause;
	struct npl_table table;
	const int n = npl_trace_causes(diff, &cause);
	if (n <= 0) {
		free(cause);
		return n ? NPL_ENOMEM : 0;
	}
	npl_table_open(&table, "llr", (const char *const[]){"UNIT", "CLASS", "CHANGE"});
	for (int i = 0; i < n && i < SHOWN_CAUSES; i++) {
		char cycles[40];
		snprintf(cycles, sizeof cycles, "%+" PRId64, cause[i].cycles);
		npl_table_row(&table, (const char *const[]){cause[i].unit, cause[i].cycle_class, cycles});
	}
	free(cause);
	return put_table(out, "CYCLES OF INSTRUCTIONS", &table, n - SHOWN_CAUSES);
}

/* Prints the energy of each component that differs. */
static int put_energies(FILE *out, const struct npl_trace_diff *diff)
{
	struct npl_table table;
	int n = 0;
	npl_table_open(&table, "lr", (const char *const[]){"COMPONENT", "ENERGY"});
	for (int i = 0; i < diff->n_components; i++) {
		const struct npl_trace_component *component = &diff->component[i];
		char energy[120];
		if (component->joules[0] == component->joules[1])
			continue;
		npl_table_row(&table,
			      (const char *const[]){component->name, npl_trace_total_text(energy, sizeof energy,
											  component->joules, "J")});
		n++;
	}
	if (n)
		return put_table(out, "ENERGY", &table, 0);
	return npl_table_close(&table);
}

static void put_heads(FILE *out, const struct npl_trace_diff *diff)
{
	for (int i = 0; i < diff->n_heads; i++) {
		fputs(i ? "" : "\nHEADS\n", out);
		npl_put_line(out, (const char *const[]){diff->head[i], NULL});
	}
}

static void put_events(FILE *out, const char *other, const struct npl_trace_diff *diff)
{
	if (diff->first.is_known)
		put_first(out, "FIRST DIFFERENCE", other, &diff->first);
	for (int i = 1; i < diff->n_events; i++)
		put_first(out, "NEXT DIFFERENCE", other, &diff->event[i]);
	if (diff->first_wait.is_known && diff->first_wait.line[0] != diff->first.line[0])
		put_first(out, "FIRST CYCLES THAT MOVED", other, &diff->first_wait);
}

/* Prints what moved in each layer, and in all. */
static int put_layer_table(FILE *out, const struct npl_trace_diff *diff)
{
	const struct npl_trace_figures all = npl_trace_figures_of(diff, diff->cycles, diff->seconds, diff->joules);
	struct npl_table table;
	const bool ratios = npl_trace_has_ratios(diff);
	const int elsewhere = npl_trace_count_elsewhere(diff);
	npl_table_open(&table, ratios ? "lwrrrrl" : "lwrrrl",
		       (const char *const[]){"LAYER", "RAN ON", "CYCLES", "TIME", "ENERGY",
					     ratios ? "SIGNAL/NOISE" : "MOVED", "MOVED"});
	put_layers(&table, diff);
	npl_table_row(&table, (const char *const[]){"all", "", all.cycles, all.time, all.energy, "", ""});
	fprintf(out, "\n");
	npl_table_print(&table, out);
	if (elsewhere)
		fprintf(out, "%d more %s at other times\n", elsewhere,
			elsewhere == 1 ? "layer only begins" : "layers only begin");
	return npl_table_close(&table);
}

/* Prints how much differs, in time and energy and in events, and what the tolerance says. */
static void put_summary(FILE *out, const char *a, const char *b, const struct npl_trace_diff *diff)
{
	char moved[80], total[120];
	npl_put_toned_line(out,
			   (const char *const[]){a, " and ", b ? b : THE_RUN_NOW, " ", "differ", " in ",
						 npl_trace_moved_text(diff->moved, moved, sizeof moved),
						 diff->is_beyond ? "" : ", within the tolerance", NULL},
			   4, diff->is_beyond ? NPL_TONE_BAD : NPL_TONE_NONE);
	if (diff->has_times && (diff->seconds[0] > 0 || diff->seconds[1] > 0))
		fprintf(out, "time   %s\n", npl_trace_total_text(total, sizeof total, diff->seconds, "s"));
	if (diff->has_times && (diff->joules[0] > 0 || diff->joules[1] > 0))
		fprintf(out, "energy %s\n", npl_trace_total_text(total, sizeof total, diff->joules, "J"));
	fprintf(out, "%" PRIu64 " of %" PRIu64 " events differ", diff->differing, diff->events);
	if (diff->only[0] || diff->only[1])
		fprintf(out, "; %" PRIu64 " only in the first, %" PRIu64 " only in the second", diff->only[0],
			diff->only[1]);
	fprintf(out, "\n");
	if (diff->values_db > 0 && diff->moved & NPL_TRACE_MOVED_VALUES)
		fprintf(out, "values: judged by the signal-to-noise ratios of layers, within %g dB\n", diff->values_db);
	if (diff->beyond)
		npl_put_line(out, (const char *const[]){"first beyond the tolerance: ", diff->beyond, NULL});
}

int npl_report_trace_diff(FILE *out, const char *a, const char *b, const struct npl_trace_diff *diff)
{
	if (!diff->moved) {
		char events[60];
		snprintf(events, sizeof events, ", %" PRIu64 " events", diff->events);
		npl_put_toned_line(
			out, (const char *const[]){a, " and ", b ? b : THE_RUN_NOW, ": ", "the same", events, NULL}, 4,
			NPL_TONE_GOOD);
		put_heads(out, diff);
		return 0;
	}
	put_summary(out, a, b, diff);
	put_heads(out, diff);
	put_events(out, b, diff);
	int rc = put_layer_table(out, diff);
	if (!rc && diff->has_times)
		rc = put_shifts(out, diff) || put_causes(out, diff) || put_energies(out, diff) ? NPL_ENOMEM : 0;
	return rc;
}
