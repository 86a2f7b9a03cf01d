/* SPDX-License-Identifier: MIT
 *
 * Rooflines as JSON, schema npulab.roofline/2 (docs/roofline.md): figures of layers are sums over all batches; null is
 * not applicable or not known, and the intensity of a layer that moves no byte. */
#include <math.h>

#include "npulab/report.h"
#include "reports/format/json.h"
#include "roofline_columns.h"
#include "unavailable.h"

static const char *from_name(const struct npl_roofline_device *d)
{
	return d->roofs.origin == NPL_TIME_MODELLED ? "model" : "measured";
}

static void put_roofs(struct npl_json *json, const struct npl_roofline_device *d)
{
	npl_json_open(json, "roofs", '[');
	for (int i = 0; i < d->roofs.n; i++) {
		const struct npl_roofline_row row = npl_roof_row(d, i);
		npl_json_open(json, NULL, '{');
		npl_roofline_columns_json(json, &row);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_points(struct npl_json *json, const struct npl_roofline *r, const struct npl_roofline_device *d)
{
	npl_json_i64(json, "batches", d->batches);
	npl_json_open(json, "network", '{');
	if (d->n_points) {
		const struct npl_roofline_row network = npl_point_row(r, d, &d->network);
		npl_roofline_columns_json(json, &network);
	}
	npl_json_close(json, '}');
	npl_json_open(json, "layers", '[');
	for (int i = 0; i < d->n_points; i++) {
		const struct npl_roofline_row row = npl_point_row(r, d, &d->point[i]);
		npl_json_open(json, NULL, '{');
		npl_roofline_columns_json(json, &row);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static void put_device(struct npl_json *json, const struct npl_roofline *r, const struct npl_roofline_device *d)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", d->name);
	npl_json_string(json, "instance", d->instance);
	npl_json_null(json, "unavailable");
	npl_json_string(json, "kind", npl_device_kind_name(d->info.kind));
	npl_json_string(json, "engine", d->info.engine);
	npl_json_string(json, "precision", npl_device_precision(&d->info));
	npl_json_text(json, "machine_sha256", d->sha256);
	npl_json_text(json, "detail", d->info.detail);
	npl_json_texts(json, "notes", d->note, d->n_notes);
	npl_json_string(json, "from", from_name(d));
	put_roofs(json, d);
	npl_json_open(json, "memory", '{');
	npl_json_double(json, "bytes_per_second", d->roofs.memory_bytes_per_second);
	npl_json_text(json, "how", d->roofs.memory_explanation);
	npl_json_close(json, '}');
	npl_json_double(json, "load_average", d->roofs.load.processors ? d->roofs.load.load_average : NAN);
	npl_json_double(json, "others_processors", d->roofs.load.processors ? d->roofs.load.other_processors : NAN);
	if (d->roofs.load.processors && isfinite(d->roofs.load.other_processors))
		npl_json_bool(json, "machine_busy", d->roofs.load.busy);
	else
		npl_json_null(json, "machine_busy");
	if (r->graph)
		put_points(json, r, d);
	npl_json_close(json, '}');
}

void npl_roofline_json(FILE *out, const struct npl_roofline *r, const char *model)
{
	/* The keys that an entry has besides its name: null where the device cannot start. */
	const char *const keys[] = {"kind",
				    "engine",
				    "precision",
				    "machine_sha256",
				    "detail",
				    "notes",
				    "from",
				    "roofs",
				    "memory",
				    "load_average",
				    "others_processors",
				    "machine_busy",
				    r->graph ? "batches" : NULL,
				    "network",
				    "layers",
				    NULL};
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.roofline/2");
	npl_json_build(&json);
	if (r->graph) {
		npl_json_open(&json, "model", '{');
		npl_json_string(&json, "name", model);
		npl_json_text(&json, "file_sha256", r->graph->file_sha256);
		npl_json_i64(&json, "batch", r->graph->batch);
		npl_json_u64(&json, "macs", r->graph->macs);
		npl_json_i64(&json, "layers", r->graph->n_nodes);
		npl_json_close(&json, '}');
	} else {
		npl_json_null(&json, "model");
	}
	npl_json_string(&json, "intensity", r->intensity == NPL_INTENSITY_WEIGHTS ? "weights" : "memory");
	npl_json_open(&json, "devices", '[');
	for (int d = 0; d < r->n_devices; d++) {
		npl_json_unavailable(&json, &r->unavailable, d, keys);
		put_device(&json, r, &r->device[d]);
	}
	npl_json_unavailable(&json, &r->unavailable, r->n_devices, keys);
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	fputc('\n', out);
}
