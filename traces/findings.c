/* SPDX-License-Identifier: MIT
 *
 * Keeps what a comparison of two traces finds (findings.h). */
#include "findings.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/refuse.h"
#include "header.h"

/* Layers, and classes of units, are kept in memory, and looked for one by one. */
enum { MOST_LAYERS = 20000, MOST_CAUSES = 4096 };

/* ---- Layers and their figures. */

int trace_find_layer(struct trace_findings *f, const char *name, int *index)
{
	struct npl_trace_diff *d = f->diff;
	/* Rows come in the order of layers: mostly it is the one that was found last, or the one after it. */
	for (int n = 0, i = f->found; n < d->n_layers; n++, i = i + 1 < d->n_layers ? i + 1 : 0)
		if (!strcmp(d->layer[i].name, name)) {
			*index = f->found = i;
			return 0;
		}
	if (d->n_layers == MOST_LAYERS)
		return npl_fail(f->err, NPL_EINPUT, "has more than %d layers", MOST_LAYERS);
	struct npl_trace_layer *layer = trace_grown(&d->arena, d->layer, d->n_layers, &d->layer_capacity,
						    sizeof *d->layer);
	if (!layer)
		return npl_no_memory(f->err);
	d->layer = layer;
	struct trace_layer_notes *notes = trace_grown(&d->arena, f->notes, d->n_layers, &f->notes_capacity,
						      sizeof *f->notes);
	if (!notes)
		return npl_no_memory(f->err);
	f->notes = notes;
	notes[d->n_layers] = (struct trace_layer_notes){0};
	layer[d->n_layers] = (struct npl_trace_layer){
		.name = npl_arena_strdup(&d->arena, name), .ran_on = "", .sqnr_db = {NAN, NAN}};
	if (!layer[d->n_layers].name)
		return npl_no_memory(f->err);
	*index = f->found = d->n_layers++;
	return 0;
}

static uint64_t count_of(const char *word)
{
	return word ? strtoull(word, NULL, 10) : 0;
}

double trace_joules_of(const struct trace_words *words)
{
	double joules = 0;
	for (int i = 0; i < words->n; i++)
		if (words->value[i] && !strncmp(words->word[i], "joules:", 7))
			joules += strtod(words->value[i], NULL);
	return joules;
}

static int add_class(struct trace_findings *f, int side, struct npl_trace_layer *layer, const char *name,
		     uint64_t cycles)
{
	struct npl_arena *arena = &f->diff->arena;
	int i = 0;
	while (i < layer->n_classes && strcmp(layer->cycle_class[i].name, name) != 0)
		i++;
	if (i == layer->n_classes) {
		struct npl_trace_class *grown = trace_grown(arena, layer->cycle_class, i, &layer->class_capacity,
							    sizeof *grown);
		if (!grown)
			return npl_no_memory(f->err);
		layer->cycle_class = grown;
		grown[i] = (struct npl_trace_class){.name = npl_arena_strdup(arena, name)};
		if (!grown[i].name)
			return npl_no_memory(f->err);
		layer->n_classes++;
	}
	layer->cycle_class[i].cycles[side] += cycles;
	return 0;
}

/* Adds the classes that sum to the cycles of a row. They follow these; later `cycles:` are of units that work at the
 * same time. */
static int add_classes(struct trace_findings *f, int side, struct npl_trace_layer *layer,
		       const struct trace_words *words)
{
	static const char prefix[] = "cycles:";
	int first = 0, end;
	uint64_t sum = 0;
	while (first < words->n && (!words->value[first] || strcmp(words->word[first], "cycles") != 0))
		first++;
	if (first == words->n)
		return 0;
	for (end = first + 1; end < words->n && words->value[end] && !strncmp(words->word[end], prefix, 7); end++)
		sum += count_of(words->value[end]);
	if (sum != count_of(words->value[first]))
		return 0;
	for (int i = first + 1; i < end; i++)
		if (add_class(f, side, layer, words->word[i] + strlen(prefix), count_of(words->value[i])))
			return f->err->code;
	return 0;
}

/* Notes on which devices the layer ran. */
static int add_device(struct trace_findings *f, int side, struct npl_trace_layer *layer, const char *ran_on)
{
	const char **kept = side && layer->in[0] ? &layer->other_ran_on : &layer->ran_on;
	if ((kept == &layer->other_ran_on && !strcmp(layer->ran_on, ran_on)) || (*kept && !strcmp(*kept, ran_on)))
		return 0;
	*kept = npl_arena_strdup(&f->diff->arena, ran_on);
	return *kept ? 0 : npl_no_memory(f->err);
}

int trace_add_row(struct trace_findings *f, int side, int index, const char *ran_on, const struct trace_words *words)
{
	struct npl_trace_layer *layer = &f->diff->layer[index];
	const char *seconds = trace_value(words, "seconds"), *ratio = trace_value(words, "sqnr_db");
	if (!layer->in[0] && !layer->in[1])
		layer->order = f->n_rows++;
	layer->in[side] = true;
	layer->cycles[side] += count_of(trace_value(words, "cycles"));
	layer->seconds[side] += seconds ? strtod(seconds, NULL) : 0;
	layer->joules[side] += trace_joules_of(words);
	if (ratio) /* the first batch has it */
		layer->sqnr_db[side] = strtod(ratio, NULL);
	return add_device(f, side, layer, ran_on) || add_classes(f, side, layer, words) ? f->err->code : 0;
}

/* Adds the energy of a component of all devices, the host or the link. */
static int add_component(struct trace_findings *f, int side, const char *name, size_t bytes, double joules)
{
	struct npl_trace_diff *d = f->diff;
	int i = 0;
	while (i < d->n_components && (strncmp(d->component[i].name, name, bytes) != 0 || d->component[i].name[bytes]))
		i++;
	if (i == d->n_components) {
		struct npl_trace_component *grown = trace_grown(&d->arena, d->component, i, &d->component_capacity,
								sizeof *grown);
		if (!grown)
			return npl_no_memory(f->err);
		d->component = grown;
		grown[i] = (struct npl_trace_component){.name = npl_arena_strndup(&d->arena, name, bytes)};
		if (!grown[i].name)
			return npl_no_memory(f->err);
		d->n_components++;
	}
	d->component[i].joules[side] += joules;
	return 0;
}

int trace_add_total(struct trace_findings *f, int side, const struct trace_words *words)
{
	struct npl_trace_diff *d = f->diff;
	const char *seconds = trace_value(words, "seconds");
	d->cycles[side] += count_of(trace_value(words, "cycles"));
	d->seconds[side] += seconds ? strtod(seconds, NULL) : 0;
	for (int i = 0; i < words->n; i++) {
		if (!words->value[i] || strncmp(words->word[i], "joules:", 7) != 0)
			continue;
		const double joules = strtod(words->value[i], NULL);
		d->joules[side] += joules;
		const char *name = words->word[i] + 7; /* its origin follows */
		if (add_component(f, side, name, strcspn(name, ":"), joules))
			return f->err->code;
	}
	return 0;
}

int trace_add_cause(struct trace_findings *f, const char *unit, const char *cycle_class, int64_t cycles)
{
	struct npl_trace_diff *d = f->diff;
	for (int i = 0; i < d->n_causes; i++)
		if (!strcmp(d->cause[i].unit, unit) && !strcmp(d->cause[i].cycle_class, cycle_class)) {
			d->cause[i].cycles += cycles;
			return 0;
		}
	if (d->n_causes == MOST_CAUSES)
		return npl_fail(f->err, NPL_EINPUT, "has more than %d units and classes of cycles", MOST_CAUSES);
	struct npl_trace_cause *cause = trace_grown(&d->arena, d->cause, d->n_causes, &d->cause_capacity,
						    sizeof *d->cause);
	if (!cause)
		return npl_no_memory(f->err);
	d->cause = cause;
	cause += d->n_causes;
	*cause = (struct npl_trace_cause){npl_arena_strdup(&d->arena, unit), npl_arena_strdup(&d->arena, cycle_class),
					  cycles};
	if (!cause->unit || !cause->cycle_class)
		return npl_no_memory(f->err);
	d->n_causes++;
	return 0;
}

/* ---- What moved. */

/* Ends a block with different fields. Where nothing says whose instructions these are, they may be those of any of its
 * layers. */
static void end_block(struct trace_findings *f)
{
	if (f->fields != TRACE_FIELDS_DIFFER || f->is_explained)
		return;
	for (int i = 0; i < f->diff->n_layers; i++)
		if (f->notes[i].block == f->block)
			f->diff->layer[i].moved |= NPL_TRACE_MOVED_PROGRAM;
}

void trace_begin_block(struct trace_findings *f, enum trace_fields fields)
{
	end_block(f);
	f->fields = fields;
	f->is_explained = false;
	f->block++;
}

void trace_note_instruction(struct trace_findings *f, int layer, bool other_sum)
{
	struct trace_layer_notes *notes = layer < 0 ? &f->of_none : &f->notes[layer];
	if (f->fields == TRACE_FIELDS_DIFFER)
		notes->block = f->block;
	if (!other_sum)
		return;
	f->is_explained = true;
	if (f->fields == TRACE_FIELDS_SAME)
		notes->sums = true;
	else
		notes->other_sums = true;
}

void trace_mark(struct trace_findings *f, int layer, unsigned moved)
{
	f->diff->moved |= moved;
	if (layer < 0)
		return;
	f->diff->layer[layer].moved |= moved;
	f->is_explained = f->is_explained || moved & NPL_TRACE_MOVED_PROGRAM;
}

/* Returns what the results of instructions that differ mean, where `moved` has moved besides. */
static unsigned moved_by_sums(const struct trace_layer_notes *notes, unsigned moved)
{
	if (moved & NPL_TRACE_MOVED_PROGRAM)
		return 0;
	if (notes->sums)
		return NPL_TRACE_MOVED_VALUES;
	return notes->other_sums && !(moved & NPL_TRACE_MOVED_VALUES) ? NPL_TRACE_MOVED_PROGRAM : 0;
}

static int by_order(const void *a, const void *b)
{
	return ((const struct npl_trace_layer *)a)->order - ((const struct npl_trace_layer *)b)->order;
}

void trace_conclude(struct trace_findings *f)
{
	struct npl_trace_diff *d = f->diff;
	trace_begin_block(f, TRACE_FIELDS_SAME);
	for (int i = 0; i < d->n_layers; i++)
		trace_mark(f, i, moved_by_sums(&f->notes[i], d->layer[i].moved));
	trace_mark(f, -1, moved_by_sums(&f->of_none, d->moved));
	if (d->n_layers)
		qsort(d->layer, (size_t)d->n_layers, sizeof *d->layer, by_order);
}
