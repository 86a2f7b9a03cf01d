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
#include "reports/format/table.h"
#include "trace_verdict.h"

enum { SHOWN_CAUSES = 12, LINE_SHOWN = 160 };

static void put_line(FILE *out, const char *mark, const char *line, const char *other)
{
	char shown[LINE_SHOWN + 1];
	if (!line)
		return;
	npl_trace_line_text(shown, sizeof shown, line, other);
	fprintf(out, "%s %s\n", mark, npl_make_printable(shown));
}

static void put_first(FILE *out, const char *heading, const struct npl_trace_first *first)
{
	fprintf(out, "\n%s\n", heading);
	if (first->line[0] && first->line[1] && first->line[0] != first->line[1])
		fprintf(out, "lines %" PRIu64 " and %" PRIu64, first->line[0], first->line[1]);
	else
		fprintf(out, "line %" PRIu64, first->line[0] ? first->line[0] : first->line[1]);
	fputs(first->layer ? ", " : "", out);
	npl_put_printable(out, first->layer);
	fputs(": ", out);
	npl_put_printable(out, first->what);
	fputs("\n", out);
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
		char moved[80], place[200], cycles[80], change[40], joules[80], ratio[60];
		if (!npl_trace_layer_moved(layer))
			continue;
		npl_trace_moved_text(layer->moved, moved, sizeof moved);
		npl_trace_ratio_text(ratio, sizeof ratio, layer->sqnr_db);
		npl_table_row(
			table,
			(const char *const[]){
				layer->name, npl_trace_place_text(place, sizeof place, layer),
				npl_trace_pair_text(cycles, sizeof cycles, (double)layer->cycles[0],
						    (double)layer->cycles[1], "%.0f"),
				npl_trace_change_text(change, sizeof change, layer->seconds[0], layer->seconds[1]),
				npl_trace_change_text(joules, sizeof joules, layer->joules[0], layer->joules[1]),
				ratios ? ratio : moved, moved});
	}
}

/* Prints a table of causes, and how many it does not have. */
static int put_table(FILE *out, struct npl_table *table, int left_out)
{
	fprintf(out, "\n");
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
	npl_table_open(&table, "lwrr", (const char *const[]){"LAYER", "CYCLES OF THE RUN", "CYCLES", "CHANGE"});
	for (int i = 0; i < n && i < SHOWN_CAUSES; i++) {
		char cycles[80], change[40];
		snprintf(cycles, sizeof cycles, "%" PRIu64 " -> %" PRIu64, shift[i].cycles[0], shift[i].cycles[1]);
		snprintf(change, sizeof change, "%+" PRId64, (int64_t)(shift[i].cycles[1] - shift[i].cycles[0]));
		npl_table_row(&table, (const char *const[]){shift[i].layer, shift[i].cycle_class, cycles, change});
	}
	free(shift);
	return put_table(out, &table, n - SHOWN_CAUSES);
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
	npl_table_open(&table, "llr", (const char *const[]){"UNIT", "INSTRUCTIONS' CYCLES", "CHANGE"});
	for (int i = 0; i < n && i < SHOWN_CAUSES; i++) {
		char cycles[40];
		snprintf(cycles, sizeof cycles, "%+" PRId64, cause[i].cycles);
		npl_table_row(&table, (const char *const[]){cause[i].unit, cause[i].cycle_class, cycles});
	}
	free(cause);
	return put_table(out, &table, n - SHOWN_CAUSES);
}

static void put_heads(FILE *out, const struct npl_trace_diff *diff)
{
	for (int i = 0; i < diff->n_heads; i++) {
		fputs(i ? "" : "\nHEADS\n", out);
		npl_put_printable(out, diff->head[i]);
		fputs("\n", out);
	}
}

static void put_events(FILE *out, const struct npl_trace_diff *diff)
{
	if (diff->first.is_known)
		put_first(out, "FIRST DIFFERENCE", &diff->first);
	for (int i = 1; i < diff->n_events; i++)
		put_first(out, "NEXT DIFFERENCE", &diff->event[i]);
	if (diff->first_wait.is_known && diff->first_wait.line[0] != diff->first.line[0])
		put_first(out, "FIRST CYCLES THAT MOVED", &diff->first_wait);
}

/* Prints what moved in each layer, and in all. */
static int put_layer_table(FILE *out, const struct npl_trace_diff *diff)
{
	char total[120], time[40], energy[40];
	struct npl_table table;
	const bool ratios = npl_trace_has_ratios(diff);
	npl_table_open(&table, ratios ? "lwrrrrl" : "lwrrrl",
		       (const char *const[]){"LAYER", "RAN ON", "CYCLES", "TIME", "ENERGY",
					     ratios ? "SIGNAL/NOISE" : "MOVED", "MOVED"});
	put_layers(&table, diff);
	npl_table_row(&table,
		      (const char *const[]){
			      "all", "",
			      npl_trace_pair_text(total, sizeof total, (double)diff->cycles[0], (double)diff->cycles[1],
						  "%.0f"),
			      npl_trace_change_text(time, sizeof time, diff->seconds[0], diff->seconds[1]),
			      npl_trace_change_text(energy, sizeof energy, diff->joules[0], diff->joules[1]), "", ""});
	fprintf(out, "\n");
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

int npl_report_trace_diff(FILE *out, const char *a, const char *b, const struct npl_trace_diff *diff)
{
	char moved[80];
	npl_put_printable(out, a);
	fputs(" and ", out);
	npl_put_printable(out, b);
	if (!diff->moved) {
		fprintf(out, ": the same, %" PRIu64 " events\n", diff->events);
		put_heads(out, diff);
		return 0;
	}
	fprintf(out, " differ in %s%s\n", npl_trace_moved_text(diff->moved, moved, sizeof moved),
		diff->is_beyond ? "" : ", within the tolerance");
	fprintf(out, "%" PRIu64 " of %" PRIu64 " events differ", diff->differing, diff->events);
	if (diff->only[0] || diff->only[1])
		fprintf(out, "; %" PRIu64 " only in the first, %" PRIu64 " only in the second", diff->only[0],
			diff->only[1]);
	fprintf(out, "\n");
	if (diff->values_db > 0 && diff->moved & NPL_TRACE_MOVED_VALUES)
		fprintf(out, "values: judged by the signal-to-noise ratios of layers, within %g dB\n", diff->values_db);
	fputs(diff->beyond ? "first beyond the tolerance: " : "", out);
	npl_put_printable(out, diff->beyond);
	fputs(diff->beyond ? "\n" : "", out);
	put_heads(out, diff);
	put_events(out, diff);
	const int layers = put_layer_table(out, diff), shifts = put_shifts(out, diff), causes = put_causes(out, diff);
	return layers || shifts || causes ? NPL_ENOMEM : 0;
}
