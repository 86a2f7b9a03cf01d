/* SPDX-License-Identifier: MIT
 *
 * The difference of two traces as text (npulab/run_trace.h): the verdict, the first event that differs, the layers that
 * moved, and the classes of cycles that grew or shrank most. */
#include <inttypes.h>
#include <stdlib.h>

#include "npulab/report.h"
#include "npulab/run_trace.h"
#include "reports/format/table.h"

enum { SHOWN_CAUSES = 12, LINE_SHOWN = 160 };

static void put_line(FILE *out, const char *mark, const char *line)
{
	if (!line)
		return;
	fprintf(out, "%s ", mark);
	int n = 0;
	for (; n < LINE_SHOWN && line[n]; n++)
		fputc((unsigned char)line[n] < ' ' ? '?' : line[n], out);
	fprintf(out, "%s\n", line[n] ? "..." : "");
}

static void put_first(FILE *out, const char *heading, const struct npl_trace_first *first)
{
	fprintf(out, "\n%s\n", heading);
	if (first->line[0] && first->line[1] && first->line[0] != first->line[1])
		fprintf(out, "lines %" PRIu64 " and %" PRIu64, first->line[0], first->line[1]);
	else
		fprintf(out, "line %" PRIu64, first->line[0] ? first->line[0] : first->line[1]);
	fprintf(out, "%s%s: %s\n", first->layer ? ", " : "", first->layer ? first->layer : "", first->what);
	for (int i = 0; i < 3; i++)
		put_line(out, " ", first->before[i]);
	put_line(out, "-", first->text[0]);
	put_line(out, "+", first->text[1]);
}

/* Writes "a -> b", or a alone where they are the same; "" where both are 0. */
static const char *pair_text(char *buf, size_t n, double a, double b, const char *format)
{
	char first[40], second[40];
	snprintf(first, sizeof first, format, a);
	snprintf(second, sizeof second, format, b);
	snprintf(buf, n, a == b ? "%s" : "%s -> %s", a == 0 && b == 0 ? "" : first, second);
	return buf;
}

static const char *change_text(char *buf, size_t n, double a, double b)
{
	if (a == b)
		snprintf(buf, n, "%s", "");
	else if (a == 0)
		snprintf(buf, n, "new");
	else
		snprintf(buf, n, "%+.3g %%", 100 * (b - a) / a);
	return buf;
}

static void put_layers(struct npl_table *table, const struct npl_trace_diff *diff)
{
	for (int i = 0; i < diff->n_layers; i++) {
		const struct npl_trace_layer *layer = &diff->layer[i];
		char moved[80], cycles[80], change[40], joules[80];
		if (!layer->moved && layer->in[0] == layer->in[1])
			continue;
		npl_table_row(table, (const char *const[]){
					     layer->name, layer->ran_on,
					     npl_trace_moved_text(layer->moved, moved, sizeof moved),
					     pair_text(cycles, sizeof cycles, (double)layer->cycles[0],
						       (double)layer->cycles[1], "%.0f"),
					     change_text(change, sizeof change, layer->seconds[0], layer->seconds[1]),
					     change_text(joules, sizeof joules, layer->joules[0], layer->joules[1])});
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
		fprintf(out, "%s and %s: the same, %" PRIu64 " events\n", a, b, diff->events);
		return 0;
	}
	fprintf(out, "%s and %s differ in %s%s\n", a, b, npl_trace_moved_text(diff->moved, moved, sizeof moved),
		diff->is_beyond ? "" : ", within the tolerance");
	fprintf(out, "%" PRIu64 " of %" PRIu64 " events differ", diff->differing, diff->events);
	if (diff->only[0] || diff->only[1])
		fprintf(out, "; %" PRIu64 " only in the first, %" PRIu64 " only in the second", diff->only[0],
			diff->only[1]);
	fprintf(out, "\n");
	for (int i = 0; i < diff->n_heads; i++)
		fprintf(out, "%s%s\n", i ? "" : "\nHEADS\n", diff->head[i]);
	if (diff->first.is_known)
		put_first(out, "FIRST DIFFERENCE", &diff->first);
	if (diff->first_wait.is_known && diff->first_wait.line[0] != diff->first.line[0])
		put_first(out, "FIRST CYCLES THAT MOVED", &diff->first_wait);
	npl_table_open(&table, "llkrrr", (const char *const[]){"LAYER", "RAN ON", "MOVED", "CYCLES", "TIME", "ENERGY"});
	put_layers(&table, diff);
	npl_table_row(&table,
		      (const char *const[]){
			      "all", "", "",
			      pair_text(total, sizeof total, (double)diff->cycles[0], (double)diff->cycles[1], "%.0f"),
			      change_text(change, sizeof change, diff->seconds[0], diff->seconds[1]),
			      change_text((char[40]){0}, 40, diff->joules[0], diff->joules[1])});
	fprintf(out, "\n");
	npl_table_print(&table, out);
	const int rc = npl_table_close(&table);
	return diff->n_causes ? put_causes(out, diff) || rc ? NPL_ENOMEM : 0 : rc;
}
