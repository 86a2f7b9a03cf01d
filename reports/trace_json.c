/* SPDX-License-Identifier: MIT
 *
 * Verdicts of traces as JSON, schema npulab.trace/1. */
#include <string.h>

#include "npulab/error.h"
#include "reports/format/json.h"
#include "trace_verdict.h"

static void put_moved(struct npl_json *json, unsigned moved)
{
	npl_json_open(json, "moved", '[');
	for (unsigned bit = 1; bit <= moved; bit <<= 1) {
		char name[40];
		npl_trace_moved_text(bit, name, sizeof name);
		if (moved & bit) /* "the program" is a word of sentences */
			npl_json_string(json, NULL, strncmp(name, "the ", 4) ? name : name + 4);
	}
	npl_json_close(json, ']');
}

static void put_line(struct npl_json *json, const char *key, uint64_t line)
{
	if (line)
		npl_json_u64(json, key, line);
	else
		npl_json_null(json, key);
}

static void put_event(struct npl_json *json, const char *key, const struct npl_trace_difference *first)
{
	if (!first->is_known) {
		npl_json_null(json, key);
		return;
	}
	npl_json_open(json, key, '{');
	put_line(json, "line", first->line[0]);
	put_line(json, "other_line", first->line[1]);
	npl_json_string(json, "layer", first->layer);
	npl_json_string(json, "what", first->what);
	npl_json_string(json, "event", first->text[0]);
	npl_json_string(json, "other_event", first->text[1]);
	npl_json_close(json, '}');
}

/* Puts figures, or null where a trace has no times. */
static void put_figures(struct npl_json *json, bool has_times, const uint64_t cycles[2], const double seconds[2],
			const double joules[2])
{
	static const char *const keys[] = {"cycles",        "other_cycles", "seconds",
					   "other_seconds", "energy_j",     "other_energy_j"};
	for (size_t i = 0; !has_times && i < sizeof keys / sizeof *keys; i++)
		npl_json_null(json, keys[i]);
	if (!has_times)
		return;
	npl_json_u64(json, "cycles", cycles[0]);
	npl_json_u64(json, "other_cycles", cycles[1]);
	npl_json_double(json, "seconds", seconds[0]);
	npl_json_double(json, "other_seconds", seconds[1]);
	npl_json_double(json, "energy_j", joules[0]);
	npl_json_double(json, "other_energy_j", joules[1]);
}

static void put_class(struct npl_json *json, const struct npl_trace_class *cycle_class)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "class", cycle_class->name);
	npl_json_u64(json, "cycles", cycle_class->cycles[0]);
	npl_json_u64(json, "other_cycles", cycle_class->cycles[1]);
	npl_json_close(json, '}');
}

static void put_layer(struct npl_json *json, bool has_times, const struct npl_trace_layer *layer)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", layer->name);
	npl_json_string(json, "ran_on", layer->ran_on);
	npl_json_string(json, "other_ran_on", layer->other_ran_on ? layer->other_ran_on : layer->ran_on);
	put_moved(json, layer->moved);
	npl_json_bool(json, "in_trace", layer->in[0]);
	npl_json_bool(json, "in_other", layer->in[1]);
	put_figures(json, has_times, layer->cycles, layer->seconds, layer->joules);
	npl_json_double(json, "sqnr_db", layer->sqnr_db[0]);
	npl_json_double(json, "other_sqnr_db", layer->sqnr_db[1]);
	npl_json_open(json, "classes", '[');
	for (int i = 0; i < layer->n_classes; i++)
		if (layer->cycle_class[i].cycles[0] != layer->cycle_class[i].cycles[1])
			put_class(json, &layer->cycle_class[i]);
	npl_json_close(json, ']');
	npl_json_close(json, '}');
}

static void put_causes(struct npl_json *json, const struct npl_trace_diff *diff)
{
	npl_json_open(json, "instructions_cycles", '[');
	for (int i = 0; i < diff->n_causes; i++) {
		if (!diff->cause[i].cycles)
			continue;
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "unit", diff->cause[i].unit);
		npl_json_string(json, "class", diff->cause[i].cycle_class);
		npl_json_i64(json, "change", diff->cause[i].cycles);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_energies(struct npl_json *json, const struct npl_trace_diff *diff)
{
	npl_json_open(json, "energies", '[');
	for (int i = 0; i < diff->n_components; i++) {
		const struct npl_trace_component *component = &diff->component[i];
		if (component->joules[0] == component->joules[1])
			continue;
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "component", component->name);
		npl_json_double(json, "energy_j", component->joules[0]);
		npl_json_double(json, "other_energy_j", component->joules[1]);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_diff(struct npl_json *json, const struct npl_trace_diff *diff)
{
	npl_json_open(json, "difference", '{');
	put_moved(json, diff->moved);
	npl_json_double(json, "values_db", diff->values_db);
	npl_json_texts(json, "heads", diff->head, diff->n_heads);
	npl_json_u64(json, "events", diff->events);
	npl_json_u64(json, "moved_events", diff->differing);
	npl_json_u64(json, "only_in_trace", diff->only[0]);
	npl_json_u64(json, "only_in_other", diff->only[1]);
	npl_json_string(json, "beyond", diff->beyond);
	put_event(json, "first_event", &diff->first);
	npl_json_open(json, "next_events", '[');
	for (int i = 1; i < diff->n_events; i++)
		put_event(json, NULL, &diff->event[i]);
	npl_json_close(json, ']');
	put_figures(json, diff->has_times, diff->cycles, diff->seconds, diff->joules);
	npl_json_open(json, "layers", '[');
	for (int i = 0; i < diff->n_layers; i++)
		if (npl_trace_layer_moved(&diff->layer[i]))
			put_layer(json, diff->has_times, &diff->layer[i]);
	npl_json_close(json, ']');
	put_causes(json, diff);
	put_energies(json, diff);
	npl_json_close(json, '}');
}

static void put_verdict(struct npl_json *json, const struct npl_trace_verdict *verdict)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "trace", verdict->path);
	npl_json_string(json, "other", verdict->other);
	npl_json_string(json, "verdict", npl_trace_verdict_name(verdict));
	npl_json_string(json, "error", verdict->message);
	npl_json_i64(json, "exit_status", npl_exit_status(verdict->code));
	npl_json_double(json, "wall_s", verdict->wall_seconds);
	if (verdict->code)
		npl_json_null(json, "difference");
	else
		put_diff(json, &verdict->diff);
	npl_json_close(json, '}');
}

void npl_trace_json(FILE *out, const struct npl_trace_verdict *verdict, int n,
		    const struct npl_trace_tolerance *tolerance)
{
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.trace/1");
	npl_json_open(&json, "tolerance", '{');
	npl_json_double(&json, "cycles", tolerance->cycles);
	npl_json_double(&json, "energy", tolerance->energy);
	npl_json_double(&json, "values_db", tolerance->values_db);
	npl_json_close(&json, '}');
	npl_json_i64(&json, "moved", npl_trace_count(verdict, n, NPL_TRACE_MOVED));
	npl_json_i64(&json, "not_compared", npl_trace_count(verdict, n, NPL_TRACE_NOT_COMPARED));
	npl_json_open(&json, "traces", '[');
	for (int i = 0; i < n; i++)
		put_verdict(&json, &verdict[i]);
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	fputc('\n', out);
}
