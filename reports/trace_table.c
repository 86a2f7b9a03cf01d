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

static void put_line(FILE *out, const char *mark, const char *line)
{
	char shown[LINE_SHOWN + 1];
	if (!line)
		return;
	const int n = snprintf(shown, sizeof shown, "%s", line);
	fprintf(out, "%s %s%s\n", mark, npl_make_printable(shown), n > LINE_SHOWN ? "..." : "");
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
		put_line(out, " ", first->before[i]);
	put_line(out, "-", first->text[0]);
	put_line(out, "+", first->text[1]);
}

static void put_layers(struct npl_table *table, const struct npl_trace_diff *diff)
{
	for (int i = 0; i < diff->n_layers; i++) {
		const struct npl_trace_layer *layer = &diff->layer[i];
		char moved[80], cycles[80], change[40], joules[80], ratio[60];
		if (!npl_trace_layer_moved(layer))
			continue;
		npl_table_row(
			table,
			(const char *const[]){
				layer->name, layer->ran_on, npl_trace_moved_text(layer->moved, moved, sizeof moved),
				npl_trace_pair_text(cycles, sizeof cycles, (double)layer->cycles[0],
						    (double)layer->cycles[1], "%.0f"),
				npl_trace_change_text(change, sizeof change, layer->seconds[0], layer->seconds[1]),
				npl_trace_change_text(joules, sizeof joules, layer->joules[0], layer->joules[1]),
				npl_trace_ratio_text(ratio, sizeof ratio, layer->sqnr_db)});
	}
}

static int by_size(const void *a, const void *b)
{
	const int64_t x = llabs(((const struct npl_trace_cause *)a)->cycles),
		      y = llabs(((const struct npl_trace_cause *)b)->cycles);
	return (x < y) - (x > y);
}

static int put_causes(FILE *out, const struct npl_trace_diff *diff)
{
	struct npl_trace_cause *sorted = malloc(((size_t)diff->n_causes + 1) * sizeof *sorted);
	struct npl_table table;
	if (!sorted)
		return NPL_ENOMEM;
	for (int i = 0; i < diff->n_causes; i++)
		sorted[i] = diff->cause[i];
	qsort(sorted, (size_t)diff->n_causes, sizeof *sorted, by_size);
	npl_table_open(&table, "llr", (const char *const[]){"UNIT", "INSTRUCTIONS' CYCLES", "CHANGE"});
	for (int i = 0; i < diff->n_causes && i < SHOWN_CAUSES; i++) {
		char cycles[40];
		snprintf(cycles, sizeof cycles, "%+" PRId64, sorted[i].cycles);
		if (sorted[i].cycles)
			npl_table_row(&table, (const char *const[]){sorted[i].unit, sorted[i].cycle_class, cycles});
	}
	free(sorted);
	fprintf(out, "\n");
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

int npl_report_trace_diff(FILE *out, const char *a, const char *b, const struct npl_trace_diff *diff)
{
	char moved[80], total[120], change[40];
	struct npl_table table;
	if (!diff->moved) {
		npl_put_printable(out, a);
		fputs(" and ", out);
		npl_put_printable(out, b);
		fprintf(out, ": the same, %" PRIu64 " events\n", diff->events);
		return 0;
	}
	npl_put_printable(out, a);
	fputs(" and ", out);
	npl_put_printable(out, b);
	fprintf(out, " differ in %s%s\n", npl_trace_moved_text(diff->moved, moved, sizeof moved),
		diff->is_beyond ? "" : ", within the tolerance");
	fprintf(out, "%" PRIu64 " of %" PRIu64 " events differ", diff->differing, diff->events);
	if (diff->only[0] || diff->only[1])
		fprintf(out, "; %" PRIu64 " only in the first, %" PRIu64 " only in the second", diff->only[0],
			diff->only[1]);
	fprintf(out, "\n");
	if (diff->values_db > 0 && diff->moved & NPL_TRACE_MOVED_VALUES)
		fprintf(out, "values: judged by the signal-to-noise ratios of layers, within %g dB\n", diff->values_db);
	for (int i = 0; i < diff->n_heads; i++) {
		fputs(i ? "" : "\nHEADS\n", out);
		npl_put_printable(out, diff->head[i]);
		fputs("\n", out);
	}
	if (diff->first.is_known)
		put_first(out, "FIRST DIFFERENCE", &diff->first);
	if (diff->first_wait.is_known && diff->first_wait.line[0] != diff->first.line[0])
		put_first(out, "FIRST CYCLES THAT MOVED", &diff->first_wait);
	npl_table_open(&table, npl_trace_has_ratios(diff) ? "llkrrrr" : "llkrrr",
		       (const char *const[]){"LAYER", "RAN ON", "MOVED", "CYCLES", "TIME", "ENERGY", "SIGNAL/NOISE"});
	put_layers(&table, diff);
	npl_table_row(&table, (const char *const[]){
				      "all", "", "",
				      npl_trace_pair_text(total, sizeof total, (double)diff->cycles[0],
							  (double)diff->cycles[1], "%.0f"),
				      npl_trace_change_text(change, sizeof change, diff->seconds[0], diff->seconds[1]),
				      npl_trace_change_text((char[40]){0}, 40, diff->joules[0], diff->joules[1]), ""});
	fprintf(out, "\n");
	npl_table_print(&table, out);
	const int rc = npl_table_close(&table);
	return diff->n_causes ? put_causes(out, diff) || rc ? NPL_ENOMEM : 0 : rc;
}
