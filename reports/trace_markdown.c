/* SPDX-License-Identifier: MIT
 *
 * Verdicts of traces as Markdown, for a comment on a merge request or the summary of a job. */
#include <stdlib.h>

#include "reports/format/markup.h"
#include "trace_verdict.h"

/* GitHub takes comments of 65,536 characters. */
enum { LAYERS_SHOWN = 40, TRACES_SHOWN = 20, LINE_SHOWN = 200 };

static void put_totals(FILE *out, const struct npl_trace_verdict *verdict)
{
	const struct npl_trace_diff *diff = &verdict->diff;
	char cycles[80], time[40], energy[40], moved[80];
	fputs("| ", out);
	npl_markdown_put_code(out, verdict->path);
	fprintf(out, " | %s | %s | %s | %s | %s |\n", npl_trace_verdict_name(verdict),
		npl_trace_moved_text(diff->moved, moved, sizeof moved),
		npl_trace_pair_text(cycles, sizeof cycles, (double)diff->cycles[0], (double)diff->cycles[1], "%.0f"),
		npl_trace_change_text(time, sizeof time, diff->seconds[0], diff->seconds[1]),
		npl_trace_change_text(energy, sizeof energy, diff->joules[0], diff->joules[1]));
}

static void put_layer(FILE *out, const struct npl_trace_layer *layer, bool ratios)
{
	char cycles[80], time[40], energy[40], moved[80], ratio[60];
	fputs("| ", out);
	npl_markdown_put_code(out, layer->name);
	fputs(" | ", out);
	npl_markdown_put_code(out, layer->ran_on);
	fprintf(out, " | %s | %s | %s | %s |", npl_trace_moved_text(layer->moved, moved, sizeof moved),
		npl_trace_pair_text(cycles, sizeof cycles, (double)layer->cycles[0], (double)layer->cycles[1], "%.0f"),
		npl_trace_change_text(time, sizeof time, layer->seconds[0], layer->seconds[1]),
		npl_trace_change_text(energy, sizeof energy, layer->joules[0], layer->joules[1]));
	if (ratios)
		fprintf(out, " %s |", npl_trace_ratio_text(ratio, sizeof ratio, layer->sqnr_db));
	fputs("\n", out);
}

static void put_layers(FILE *out, const struct npl_trace_diff *diff)
{
	const bool ratios = npl_trace_has_ratios(diff);
	int n = 0;
	for (int i = 0; i < diff->n_layers; i++) {
		if (!npl_trace_layer_moved(&diff->layer[i]))
			continue;
		if (!n++)
			fprintf(out,
				"\n| layer | ran on | moved | cycles | time | energy |%s\n"
				"|---|---|---|---:|---:|---:|%s\n",
				ratios ? " signal/noise |" : "", ratios ? "---:|" : "");
		if (n <= LAYERS_SHOWN)
			put_layer(out, &diff->layer[i], ratios);
	}
	if (n > LAYERS_SHOWN)
		fprintf(out, "\nAnd %d more layers moved.\n", n - LAYERS_SHOWN);
}

static void put_line(FILE *out, const char *mark, const char *line)
{
	char shown[LINE_SHOWN];
	if (!line)
		return;
	const int n = snprintf(shown, sizeof shown, "%s %s", mark, line);
	npl_xml_put(out, shown);
	fputs(n >= LINE_SHOWN ? "...\n" : "\n", out);
}

/* The block is HTML, in which nothing is Markdown. */
static void put_first(FILE *out, const struct npl_trace_verdict *verdict)
{
	const struct npl_trace_first *first = &verdict->diff.first;
	char sentence[1024];
	if (!first->is_known)
		return;
	fputs("\n<details><summary>First difference</summary>\n\n<pre>\n", out);
	npl_xml_put(out, npl_trace_sentence(verdict, sentence, sizeof sentence));
	fputs("\n", out);
	for (int i = 0; i < 3; i++)
		put_line(out, " ", first->before[i]);
	put_line(out, "-", first->text[0]);
	put_line(out, "+", first->text[1]);
	fputs("</pre>\n\n</details>\n", out);
}

static void put_details(FILE *out, const struct npl_trace_verdict *verdict)
{
	fputs("\n**", out);
	npl_markdown_put_code(out, verdict->path);
	fputs("**\n", out);
	if (verdict->code) {
		fputs("\n", out);
		npl_markdown_put_code(out, verdict->message ? verdict->message : "");
		fputs("\n", out);
		return;
	}
	for (int i = 0; i < verdict->diff.n_heads; i++) {
		fputs("\n* ", out);
		npl_markdown_put_code(out, verdict->diff.head[i]);
		fputs(i == verdict->diff.n_heads - 1 ? "\n" : "", out);
	}
	put_layers(out, &verdict->diff);
	put_first(out, verdict);
}

void npl_trace_markdown(FILE *out, const struct npl_trace_verdict *verdict, int n)
{
	const int moved = npl_trace_count(verdict, n, NPL_TRACE_MOVED),
		  within = npl_trace_count(verdict, n, NPL_TRACE_WITHIN),
		  broken = npl_trace_count(verdict, n, NPL_TRACE_NOT_COMPARED);
	int shown = 0;
	fprintf(out, "### Run traces: %d of %d moved\n\n", moved, n);
	if (broken)
		fprintf(out, "%d could not be compared.\n\n", broken);
	if (moved + within + broken == 0) {
		fputs("Nothing moved.\n", out);
		return;
	}
	fputs("| trace | verdict | moved | cycles | time | energy |\n|---|---|---|---:|---:|---:|\n", out);
	for (int i = 0; i < n; i++)
		if (npl_trace_state_of(&verdict[i]) != NPL_TRACE_SAME)
			put_totals(out, &verdict[i]);
	for (int i = 0; i < n; i++)
		if (npl_trace_state_of(&verdict[i]) != NPL_TRACE_SAME && shown++ < TRACES_SHOWN)
			put_details(out, &verdict[i]);
	if (shown > TRACES_SHOWN)
		fprintf(out, "\nThe details of %d more traces are not shown.\n", shown - TRACES_SHOWN);
	if (moved)
		fputs("\nIs this right? Then record them again: `npulab trace bless FILE... --reason TEXT`\n", out);
}
