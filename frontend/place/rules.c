/* SPDX-License-Identifier: MIT
 *
 * Writes a placement as rules (npulab/placement.h). Operators whose layers are all on one device have a rule each, the
 * other layers have a rule by name, and the last rule is for the device with the most layers. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "frontend/quantise/model_quant.h"
#include "npulab/place.h"
#include "npulab/placement.h"

struct writer {
	const struct npl_placing *placing;
	const int *place;
	int usual; /* the device of the last rule */
	FILE *out;
};

static bool is_layer(const struct npl_graph *graph, int i)
{
	return !npl_is_view(graph, &graph->node[i]);
}

static const char *device_name(const struct npl_placing *placing, int device)
{
	return device == NPL_ON_HOST ? NPL_HOST_NAME : placing->device[device].rule;
}

/* Returns the device with the most layers. */
static int usual_device(const struct npl_placing *placing, const int *place)
{
	int count[NPL_PLACE_DEVICES + 1] = {0}, usual = NPL_ON_HOST;
	for (int i = 0; i < placing->graph->n_nodes; i++)
		count[place[i] + 1] += is_layer(placing->graph, i);
	for (int d = 0; d < placing->n_devices; d++)
		if (count[d + 1] > count[usual + 1])
			usual = d;
	return usual;
}

/* Says whether all layers of the operator have the same place. */
static bool is_on_one_device(const struct writer *w, enum npl_op op, int device)
{
	const struct npl_graph *graph = w->placing->graph;
	for (int i = 0; i < graph->n_nodes; i++)
		if (graph->node[i].op == op && is_layer(graph, i) && w->place[i] != device)
			return false;
	return true;
}

/* Says whether a layer before node i is of the same operator. */
static bool had_operator(const struct npl_graph *graph, int i)
{
	for (int k = 0; k < i; k++)
		if (graph->node[k].op == graph->node[i].op && is_layer(graph, k))
			return true;
	return false;
}

/* Writes an expression that matches the name alone. "/" before "=" would end the expression; a control character would
 * end the line, and any character may stand in its place. */
static void write_name(FILE *out, const char *name)
{
	fputs("/^", out);
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			fputc('.', out);
		else
			fprintf(out, "%s%c",
				strchr("\\/^$.[]|()*+?{}", *c) && (*c != '/' || c[1 + strspn(c + 1, " \t")] == '=')
					? "\\"
					: "",
				*c);
	fputs("$/", out);
}

/* Writes a comment with names in it, which a control character would end. */
static void write_comment(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void write_comment(FILE *out, const char *format, ...)
{
	char text[1000];
	va_list values;
	va_start(values, format);
	vsnprintf(text, sizeof text, format, values);
	va_end(values);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	fprintf(out, "# %s\n", text);
}

/* Says in comments what the answer is: its figures and its segments. */
static void write_summary(const struct writer *w, const struct npl_place_run *run, const char *model)
{
	const struct npl_placing *p = w->placing;
	char joules[40] = "";
	if (isfinite(run->joules))
		snprintf(joules, sizeof joules, ", %.4g J", run->joules);
	write_comment(w->out, "A placement of %s for the least %s of a batch: %.4g s%s", model,
		      p->objective == NPL_MINIMISE_EDP ? "product of time and energy"
						       : npl_place_objective_name(p->objective),
		      run->seconds, joules);
	for (int s = 0; s < p->n_segments && run == &p->run[p->best]; s++) {
		const struct npl_place_segment *segment = &p->segment[s];
		const char *first = p->graph->node[segment->first].name, *last = p->graph->node[segment->last].name;
		write_comment(w->out, "  %s: %.400s%s%.400s", device_name(p, segment->device), first,
			      segment->first == segment->last ? "" : " .. ",
			      segment->first == segment->last ? "" : last);
	}
	fputc('\n', w->out);
}

static void write_rules(const struct writer *w)
{
	const struct npl_placing *placing = w->placing;
	const struct npl_graph *graph = placing->graph;
	for (int i = 0; i < graph->n_nodes; i++) {
		const int device = w->place[i];
		if (!is_layer(graph, i) || device == w->usual)
			continue;
		const bool whole = is_on_one_device(w, graph->node[i].op, device);
		if (whole && had_operator(graph, i))
			continue;
		if (whole)
			fputs(npl_op_defs[graph->node[i].op].name, w->out);
		else
			write_name(w->out, graph->node[i].name);
		fprintf(w->out, "=%s\n", device_name(placing, device));
	}
	fprintf(w->out, "*=%s\n", device_name(placing, w->usual));
}

/* Refuses rules that do not give each layer its device. */
static int check(const struct npl_placing *placing, const int *place, const char *text, struct npl_err *err)
{
	const struct npl_graph *graph = placing->graph;
	struct npl_arena arena = {0};
	struct npl_placement placement = {0};
	int rc = npl_placement_read(graph, text, "rules", &arena, &placement, err);
	for (int i = 0; i < graph->n_nodes && !rc; i++) {
		const int d = placement.device[i];
		const char *name = d == NPL_ON_HOST ? NPL_HOST_NAME : placement.names[d];
		if (is_layer(graph, i) && strcmp(name, device_name(placing, place[i])) != 0)
			rc = npl_fail(err, NPL_EINPUT, "%s: no rule gives the layer '%s' its device %s alone",
				      graph->name, graph->node[i].name, device_name(placing, place[i]));
	}
	npl_arena_free(&arena);
	return rc;
}

int npl_place_rules(struct npl_placing *placing, int run, const char *model, const char **text, struct npl_err *err)
{
	char *written = NULL;
	size_t bytes = 0;
	const struct npl_place_run *of = &placing->run[run];
	struct writer w = {.placing = placing, .place = of->place, .out = open_memstream(&written, &bytes)};
	if (!w.out)
		return npl_no_memory(err);
	w.usual = usual_device(placing, of->place);
	write_summary(&w, of, model);
	write_rules(&w);
	int rc = fclose(w.out) ? npl_no_memory(err) : check(placing, of->place, written, err);
	*text = rc ? NULL : npl_arena_strdup(&placing->arena, written);
	if (!rc && !*text)
		rc = npl_no_memory(err);
	free(written);
	return rc;
}
