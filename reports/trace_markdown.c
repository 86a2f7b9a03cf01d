/* SPDX-License-Identifier: MIT
 *
 * Verdicts of traces as Markdown, for a comment on a merge request or the summary of a job. */
#include <inttypes.h>
#include <stdlib.h>

#include "reports/format/markup.h"
#include "trace_verdict.h"

/* GitHub takes comments of 65,536 characters. */
enum { LAYERS_SHOWN = 40, CAUSES_SHOWN = 12, TRACES_SHOWN = 20, LINE_SHOWN = 200 };

static void put_totals(FILE *out, const struct npl_trace_verdict *verdict)
{
	const struct npl_trace_diff *diff = &verdict->diff;
	const struct npl_trace_figures all = npl_trace_figures_of(diff, diff->cycles, diff->seconds, diff->joules);
	char moved[80];
	fputs("| ", out);
	npl_markdown_put_code(out, verdict->path);
	fprintf(out, " | %s | %s | %s | %s | %s |\n", npl_trace_verdict_name(verdict),
		npl_trace_moved_text(diff->moved, moved, sizeof moved), all.cycles, all.time, all.energy);
}

static void put_layer(FILE *out, const struct npl_trace_diff *diff, const struct npl_trace_layer *layer, bool ratios)
{
	const struct npl_trace_figures figures = npl_trace_figures_of(diff, layer->cycles, layer->seconds,
								      layer->joules);
	char moved[80], place[200], ratio[60];
	fputs("| ", out);
	npl_markdown_put_code(out, layer->name);
	fputs(" | ", out);
	npl_markdown_put_code(out, npl_trace_place_text(place, sizeof place, layer));
	fprintf(out, " | %s | %s | %s | %s |", npl_trace_layer_moved_text(layer, moved, sizeof moved), figures.cycles,
		figures.time, figures.energy);
	if (ratios)
		fprintf(out, " %s |", npl_trace_ratio_text(ratio, sizeof ratio, layer->sqnr_db));
	fputs("\n", out);
}

static void put_layers(FILE *out, const struct npl_trace_diff *diff)
{
	const bool ratios = npl_trace_has_ratios(diff);
	const int elsewhere = npl_trace_count_elsewhere(diff);
	int n = 0;
	for (int i = 0; i < diff->n_layers; i++) {
		if (!npl_trace_layer_moved(&diff->layer[i]) || npl_trace_only_begins_elsewhere(&diff->layer[i]))
			continue;
		if (!n++)
			fprintf(out,
				"\n| layer | ran on | moved | cycles | time | energy |%s\n"
				"|---|---|---|---:|---:|---:|%s\n",
				ratios ? " signal/noise |" : "", ratios ? "---:|" : "");
		if (n <= LAYERS_SHOWN)
			put_layer(out, diff, &diff->layer[i], ratios);
	}
	if (n > LAYERS_SHOWN)
		fprintf(out, "\nAnd %d more layers moved.\n", n - LAYERS_SHOWN);
	if (elsewhere)
		fprintf(out, "\n%d more %s at other times.\n", elsewhere,
			elsewhere == 1 ? "layer only begins" : "layers only begin");
}

/* Puts a row of a table of causes: what has the cycles, their class, and how many there are. */
static void put_cause(FILE *out, const char *of, const char *cycle_class, const char *cycles)
{
	fputs("| ", out);
	npl_markdown_put_code(out, of);
	fputs(" | ", out);
	npl_markdown_put_code(out, cycle_class);
	fprintf(out, " | %s |\n", cycles);
}

static void put_rest(FILE *out, int n)
{
	if (n > CAUSES_SHOWN)
		fprintf(out, "\nAnd %d more.\n", n - CAUSES_SHOWN);
}

static void put_shifts(FILE *out, const struct npl_trace_diff *diff)
{
	struct npl_trace_shift *shift;
	const int n = npl_trace_shifts(diff, &shift);
	if (n > 0)
		fputs("\nCycles of layers:\n\n| layer | class | cycles |\n|---|---|---:|\n", out);
	for (int i = 0; i < n && i < CAUSES_SHOWN; i++) {
		char cycles[120];
		snprintf(cycles, sizeof cycles, "%" PRIu64 " -> %" PRIu64 " (%+" PRId64 ")", shift[i].cycles[0],
			 shift[i].cycles[1], (int64_t)(shift[i].cycles[1] - shift[i].cycles[0]));
		put_cause(out, shift[i].layer, shift[i].cycle_class, cycles);
	}
	put_rest(out, n);
	free(shift);
}

static void put_causes(FILE *out, const struct npl_trace_diff *diff)
{
	struct npl_trace_cause *cause;
	const int n = npl_trace_causes(diff, &cause);
	if (n > 0)
		fputs("\nCycles of instructions:\n\n| unit | class | change |\n|---|---|---:|\n", out);
	for (int i = 0; i < n && i < CAUSES_SHOWN; i++) {
		char cycles[40];
		snprintf(cycles, sizeof cycles, "%+" PRId64, cause[i].cycles);
		put_cause(out, cause[i].unit, cause[i].cycle_class, cycles);
	}
	put_rest(out, n);
	free(cause);
}

static void put_energies(FILE *out, const struct npl_trace_diff *diff)
{
	int n = 0;
	for (int i = 0; i < diff->n_components; i++) {
		const struct npl_trace_component *component = &diff->component[i];
		char energy[120];
		if (component->joules[0] == component->joules[1])
			continue;
		fputs(n++ ? "| " : "\nEnergy:\n\n| component | energy |\n|---|---:|\n| ", out);
		npl_markdown_put_code(out, component->name);
		fprintf(out, " | %s |\n", npl_trace_total_text(energy, sizeof energy, component->joules, "J"));
	}
}

static void put_line(FILE *out, const char *mark, const char *line, const char *other)
{
	char shown[LINE_SHOWN];
	if (!line)
		return;
	fprintf(out, "%s ", mark);
	npl_xml_put(out, npl_trace_line_text(shown, sizeof shown, line, other));
	fputs("\n", out);
}

static void put_event(FILE *out, const struct npl_trace_difference *event)
{
	for (int i = 0; i < 3; i++)
		put_line(out, " ", event->before[i], NULL);
	put_line(out, "-", event->text[0], event->text[1]);
	put_line(out, "+", event->text[1], event->text[0]);
}

/* The block is HTML, in which nothing is Markdown. */
static void put_first(FILE *out, const struct npl_trace_verdict *verdict)
{
	const struct npl_trace_difference *first = &verdict->diff.first;
	char sentence[1024];
	if (!first->is_known)
		return;
	fputs("\n<details><summary>First difference</summary>\n\n<pre>\n", out);
	npl_xml_put(out, npl_trace_sentence(verdict, sentence, sizeof sentence));
	fputs("\n", out);
	put_event(out, first);
	for (int i = 1; i < verdict->diff.n_events; i++) {
		fputs("\n", out);
		npl_xml_put(out, verdict->diff.event[i].what);
		fputs("\n", out);
		put_event(out, &verdict->diff.event[i]);
	}
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
	if (verdict->diff.beyond) {
		fputs("\nFirst beyond the tolerance: ", out);
		npl_markdown_put_code(out, verdict->diff.beyond);
		fputs("\n", out);
	}
	put_layers(out, &verdict->diff);
	if (verdict->diff.has_times) {
		put_shifts(out, &verdict->diff);
		put_causes(out, &verdict->diff);
		put_energies(out, &verdict->diff);
	}
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
