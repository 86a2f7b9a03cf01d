/* SPDX-License-Identifier: MIT
 *
 * The tables of a search for a placement (npulab/place.h): what each placement that was run costs, and the segments of
 * the answer. */
#include <inttypes.h>

#include "cells.h"
#include "core/base/message.h"
#include "npulab/report.h"
#include "reports/format/table.h"

static bool any_measured(const struct npl_placing *p)
{
	bool any = false;
	for (int d = 0; d < p->n_devices; d++)
		any |= p->device[d].measured;
	return any;
}

/* Says whether the figures of a run are modelled, or a part of them: all but those of a real device alone. */
static bool is_modelled(const struct npl_placing *p, const struct npl_place_run *run)
{
	return run->origin != NPL_PLACE_ONE_DEVICE || !p->device[run - p->run].measured;
}

static const char *device_name(const struct npl_placing *p, int device)
{
	return device == NPL_ON_HOST ? NPL_HOST_NAME : p->device[device].instance;
}

static void put_run(struct npl_table *table, const struct npl_placing *p, const struct npl_place_run *run)
{
	char time[CELL], joules[CELL], product[CELL], ratio[CELL] = "-";
	const bool model = is_modelled(p, run);
	const double best = p->run[p->best].objective;
	if (best > 0 && isfinite(run->objective))
		snprintf(ratio, sizeof ratio, "%.*f", run->objective < 100 * best ? 3 : 0, run->objective / best);
	const char *cells[] = {run->name,
			       figure(time, run->seconds, "s", model),
			       figure(joules, run->joules, "J", true),
			       figure(product, run->joules * run->seconds, "Js", true),
			       ratio,
			       run == &p->run[p->best] ? "the answer" : ""};
	npl_table_row(table, cells);
}

/* The answer first, then the others in their order. */
static int put_runs(FILE *out, const struct npl_placing *p)
{
	static const char *const header[] = {"PLACEMENT", "BATCH TIME",     "BATCH ENERGY",
					     "PRODUCT",   "TIMES THE BEST", ""};
	struct npl_table table;
	npl_table_open(&table, "lrrrrl", header);
	put_run(&table, p, &p->run[p->best]);
	for (int r = 0; r < p->n_runs; r++)
		if (r != p->best)
			put_run(&table, p, &p->run[r]);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

static int put_segments(FILE *out, const struct npl_placing *p)
{
	static const char *const header[] = {"FIRST LAYER", "LAST LAYER", "LAYERS",       "DEVICE",
					     "TIME",        "ENERGY",     "BYTES OF LINK"};
	struct npl_table table;
	npl_table_open(&table, "llrlrrr", header);
	for (int s = 0; s < p->n_segments; s++) {
		const struct npl_place_segment *segment = &p->segment[s];
		char layers[24], bytes[CELL], time[CELL], joules[CELL];
		const bool measured = segment->device != NPL_ON_HOST && p->device[segment->device].measured;
		snprintf(layers, sizeof layers, "%d", segment->n_layers);
		const char *cells[] = {p->graph->node[segment->first].name,
				       p->graph->node[segment->last].name,
				       layers,
				       device_name(p, segment->device),
				       figure(time, segment->seconds, "s", !measured),
				       figure(joules, segment->joules, "J", true),
				       npl_count_text((double)segment->bytes, "B", bytes, sizeof bytes)};
		npl_table_row(&table, cells);
	}
	fputc('\n', out);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

/* Says how good the answer is by the model of costs. */
static void put_proof(const struct npl_placing *p, char *text, size_t size)
{
	const char *measured = any_measured(p) ? ", for the layers' times as they were measured" : "";
	char gap[CELL];
	if (isnan(p->gap))
		snprintf(text, size, "nothing is proven: the model of costs does not have all of this network");
	else if (p->gap < 1e-9)
		snprintf(text, size, "no placement is better by the model of costs%s", measured);
	else
		snprintf(text, size, "at most %s above the best placement by the model of costs%s",
			 percent(gap, p->gap, ""), measured);
}

static int put_notes(FILE *out, const struct npl_placing *p)
{
	const struct npl_place_run *searched = &p->run[p->n_runs - 1];
	const double off = searched->objective > 0 ? searched->modelled / searched->objective - 1 : 0;
	struct npl_table table;
	char proof[300], looked[200], note[300], share[CELL];
	npl_table_open(&table, "ll", (const char *const[]){"NOTES", ""});
	put_proof(p, proof, sizeof proof);
	npl_table_row(&table, (const char *const[]){"the answer", proof});
	snprintf(looked, sizeof looked, "%" PRId64 " pieces of the network were run, and %" PRId64 " states kept%s",
		 p->n_pieces, p->n_states, p->complete ? "" : "; some were left out");
	npl_table_row(&table, (const char *const[]){"search", looked});
	if (p->best != p->n_runs - 1)
		npl_table_row(&table, (const char *const[]){"", "its placement ran worse than the answer, which is "
								"therefore another one"});
	if (fabs(off) > 1e-6) {
		snprintf(note, sizeof note, "the model of costs is %s %s the run of its placement",
			 percent(share, fabs(off), ""), off > 0 ? "above" : "below");
		npl_table_row(&table, (const char *const[]){"", note});
	}
	int views = p->graph->n_nodes;
	for (int s = 0; s < p->n_segments; s++)
		views -= p->segment[s].n_layers;
	if (views > 0) {
		snprintf(note, sizeof note, "of a segment: without views such as Flatten, which do no work (%d in all)",
			 views);
		npl_table_row(&table, (const char *const[]){"layers", note});
	}
	if (p->graph->node)
		npl_table_row(&table,
			      (const char *const[]){"time", "of a segment: its work and what brings its inputs; "
							    "where segments overlap, a batch takes less than "
							    "their sum"});
	npl_table_row(&table, (const char *const[]){"~", "modelled: parameters of the machines"});
	if (any_measured(p))
		npl_table_row(&table, (const char *const[]){"no mark", "measured on this computer; figures of a real "
								       "device vary from run to run"});
	fputc('\n', out);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

int npl_placing_table(FILE *out, const struct npl_placing *p, const char *model)
{
	static const char *const minimised[] = {[NPL_MINIMISE_TIME] = "least time",
						[NPL_MINIMISE_ENERGY] = "least energy",
						[NPL_MINIMISE_EDP] = "least product of time and energy"};
	char macs[32], line[300];
	npl_count_text((double)p->graph->macs, "MAC", macs, sizeof macs);
	snprintf(line, sizeof line, "%s: %d layer%s, %s in a batch of %" PRId64 "; %s of a batch", model,
		 p->graph->n_nodes, npl_plural(p->graph->n_nodes), macs, p->graph->batch, minimised[p->objective]);
	npl_table_text(line, out);
	fputc('\n', out);
	int rc = put_runs(out, p);
	if (!rc)
		rc = put_segments(out, p);
	return rc ? rc : put_notes(out, p);
}
