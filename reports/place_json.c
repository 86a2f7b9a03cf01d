/* SPDX-License-Identifier: MIT
 *
 * A search for a placement as JSON, schema npulab.place/1 (docs/placing.md). */
#include "npulab/report.h"
#include "reports/format/json.h"

static const char *const origins[] = {[NPL_PLACE_ONE_DEVICE] = "device",
				      [NPL_PLACE_HOST] = "host",
				      [NPL_PLACE_GREEDY] = "greedy",
				      [NPL_PLACE_SEARCH] = "search"};

static const char *device_name(const struct npl_placing *p, int device)
{
	return device == NPL_ON_HOST ? NPL_HOST_NAME : p->device[device].instance;
}

static void put_devices(struct npl_json *json, const struct npl_placing *p)
{
	npl_json_open(json, "devices", '[');
	for (int d = 0; d < p->n_devices; d++) {
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "instance", p->device[d].instance);
		npl_json_bool(json, "measured", p->device[d].measured);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_runs(struct npl_json *json, const struct npl_placing *p)
{
	npl_json_open(json, "placements", '[');
	for (int r = 0; r < p->n_runs; r++) {
		const struct npl_place_run *run = &p->run[r];
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "name", run->name);
		npl_json_string(json, "from", origins[run->origin]);
		npl_json_double(json, "seconds", run->seconds);
		npl_json_double(json, "joules", run->joules);
		npl_json_double(json, "objective", run->objective);
		npl_json_double(json, "modelled_objective", run->modelled);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_segments(struct npl_json *json, const struct npl_placing *p)
{
	npl_json_open(json, "segments", '[');
	for (int s = 0; s < p->n_segments; s++) {
		const struct npl_place_segment *segment = &p->segment[s];
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "first_layer", p->graph->node[segment->first].name);
		npl_json_string(json, "last_layer", p->graph->node[segment->last].name);
		npl_json_i64(json, "layers", segment->n_layers);
		npl_json_string(json, "device", device_name(p, segment->device));
		npl_json_double(json, "seconds", segment->seconds);
		npl_json_double(json, "joules", segment->joules);
		npl_json_u64(json, "link_bytes", segment->bytes);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

/* Each layer of the answer with its device; views have none. */
static void put_layers(struct npl_json *json, const struct npl_placing *p)
{
	const int *place = p->run[p->best].place;
	npl_json_open(json, "layers", '[');
	for (int s = 0; s < p->n_segments; s++)
		for (int i = p->segment[s].first; i <= p->segment[s].last; i++) {
			npl_json_open(json, NULL, '{');
			npl_json_string(json, "name", p->graph->node[i].name);
			npl_json_string(json, "op", npl_op_defs[p->graph->node[i].op].name);
			npl_json_string(json, "device", device_name(p, place[i]));
			npl_json_close(json, '}');
		}
	npl_json_close(json, ']');
}

void npl_placing_json(FILE *out, const struct npl_placing *p, const char *model)
{
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.place/1");
	npl_json_build(&json);
	npl_json_open(&json, "model", '{');
	npl_json_string(&json, "name", model);
	npl_json_text(&json, "file_sha256", p->graph->file_sha256);
	npl_json_i64(&json, "batch", p->graph->batch);
	npl_json_u64(&json, "macs", p->graph->macs);
	npl_json_i64(&json, "layers", p->graph->n_nodes);
	npl_json_close(&json, '}');
	npl_json_string(&json, "minimised", npl_place_objective_name(p->objective));
	put_devices(&json, p);
	put_runs(&json, p);
	npl_json_string(&json, "answer", p->run[p->best].name);
	npl_json_double(&json, "bound", p->bound);
	npl_json_double(&json, "gap", p->gap);
	npl_json_bool(&json, "complete", p->complete);
	npl_json_i64(&json, "pieces", p->n_pieces);
	npl_json_i64(&json, "states", p->n_states);
	put_segments(&json, p);
	put_layers(&json, p);
	npl_json_close(&json, '}');
	fputc('\n', out);
}
