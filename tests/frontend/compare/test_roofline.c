/* SPDX-License-Identifier: MIT
 *
 * Promises of rooflines: no layer of a simulated machine lies above its roof, nor does a network; roofs, intensities
 * and shares follow from peak, memory, MACs, bytes and time by their definition; the first TPU's ridge and the
 * intensities of its applications are the paper's; a real device's roofs are measured, its bytes those of its tensors;
 * the reports agree with each other. */
#include <math.h>

#include "core/files/csv.h"
#include "npulab/model.h"
#include "npulab/roofline.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/shipped_models.h"

static bool same(double a, double b)
{
	return isnan(a) ? isnan(b) : a >= b * (1 - 1e-12) && a <= b * (1 + 1e-12);
}

/* The definitions once more: peak p in MAC/s, memory rate b in bytes/s, time t. */
static void check_point(const struct npl_roofline_device *d, const struct npl_roofline_point *p, const char *subject)
{
	cr_assert(p->roof >= 0 && p->roof < d->roofs.n, "%s", subject);
	double peak = d->roofs.roof[p->roof].macs_per_second, rate = d->roofs.memory_bytes_per_second,
	       macs = (double)p->macs;
	if (!p->macs)
		cr_assert(isnan(p->macs_per_byte) && isnan(p->ops_per_second) && isnan(p->roof_ops_per_second), "%s",
			  subject);
	else if (p->bytes > 0)
		cr_assert(same(p->macs_per_byte, macs / p->bytes), "%s", subject);
	else
		cr_assert(isinf(p->macs_per_byte), "%s", subject);
	double slope = 2 * p->macs_per_byte * rate;
	if (p->macs && p->bytes > 0)
		cr_assert(same(p->roof_ops_per_second, slope < 2 * peak ? slope : 2 * peak), "%s", subject);
	if (p->macs && p->seconds > 0) {
		cr_assert(same(p->ops_per_second, 2 * macs / p->seconds), "%s", subject);
		cr_assert(same(p->share, p->ops_per_second / p->roof_ops_per_second), "%s: %g", subject, p->share);
	} else if (p->bytes > 0 && p->seconds > 0) {
		cr_assert(same(p->share, p->bytes / rate / p->seconds), "%s", subject);
	} else {
		cr_assert(isnan(p->share), "%s", subject);
	}
	cr_assert_eq(p->memory_bound, p->bytes > 0 && macs / p->bytes < peak / rate, "%s", subject);
}

static void check_simulated(const struct npl_roofline *r, const struct npl_roofline_device *d, const char *model)
{
	struct npl_roofline_point sum = {0};
	char subject[200];
	for (int i = 0; i < d->n_points; i++) {
		const struct npl_roofline_point *p = &d->point[i];
		snprintf(subject, sizeof subject, "%s on %s, layer %s", model, d->name, r->graph->node[p->node].name);
		check_point(d, p, subject);
		cr_assert(!(p->share > 1), "%s is above its roof: %g", subject, p->share);
		cr_assert(r->intensity == NPL_INTENSITY_WEIGHTS || p->crossed_bytes >= p->bytes, "%s: %g of %g bytes",
			  subject, p->crossed_bytes, p->bytes);
		sum.macs += p->macs;
		sum.bytes += p->bytes;
	}
	snprintf(subject, sizeof subject, "%s on %s", model, d->name);
	check_point(d, &d->network, subject);
	cr_assert(!(d->network.share > 1), "%s is above its roof: %g", subject, d->network.share);
	cr_assert_eq(d->network.macs, sum.macs, "%s", subject);
	cr_assert(same(d->network.bytes, sum.bytes), "%s", subject);
}

static void find(const char *model, int64_t batch, const char *const *devices, int n, enum npl_intensity intensity,
		 struct npl_graph **graph, struct npl_roofline *r)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	struct npl_samples samples;
	struct npl_err err = {0};
	const struct npl_compare_options options = {.device_names = devices, .n_devices = n};
	*graph = shipped_load(model, &(struct npl_load_options){.batch = batch}, &files, &arena);
	cr_assert_eq(npl_samples_describe(*graph, NULL, &samples, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_roofline(*graph, &samples, NULL, &options, intensity, r, &err), 0, "%s: %s", model, err.msg);
	npl_samples_free(&samples);
	npl_arena_free(&arena);
}

Test(roofline, no_layer_of_a_simulated_machine_is_above_its_roof)
{
	static const char *const devices[] = {"tpu_v1", "diannao", "systolic_16x16"};
	struct npl_arena arena = {0};
	struct npl_err err = {0};
	const char *const *models;
	int n, points = 0;
	cr_assert_eq(npl_model_list(&arena, &models, &n, &err), 0, "%s", err.msg);
	for (int m = 0; m < n; m += TEST_SANITIZED ? 8 : 1)
		for (int intensity = 0; intensity < 2; intensity++) {
			struct npl_roofline r;
			struct npl_graph *graph;
			find(models[m], 0, devices, 3, (enum npl_intensity)intensity, &graph, &r);
			cr_assert_eq(r.n_devices, 3);
			for (int d = 0; d < 3; d++) {
				check_simulated(&r, &r.device[d], models[m]);
				points += r.device[d].n_points;
			}
			npl_roofline_free(&r);
			npl_graph_free(graph);
		}
	cr_assert(points > (TEST_SANITIZED ? 100 : 1000), "%d points: too few to mean something", points);
	npl_arena_free(&arena);
}

/* A figure of the TPU's paper. */
static double published(const char *case_name, const char *metric)
{
	struct npl_arena arena = {0};
	struct npl_csv csv;
	struct npl_err err = {0};
	double value = NAN;
	cr_assert_eq(npl_csv_load("published/tpu_v1.csv", &arena, &csv, &err), 0, "%s", err.msg);
	for (int i = 0; i < csv.n_rows; i++)
		if (!strcmp(csv.row[i].field[0], case_name) && !strcmp(csv.row[i].field[1], metric))
			value = atof(csv.row[i].field[2]);
	npl_arena_free(&arena);
	return value;
}

Test(roofline, tpu_has_the_papers_ridge_and_intensities)
{
	static const char *const devices[] = {"tpu_v1"};
	static const struct {
		const char *model, *case_name; /* CNN1 contradicts itself in the paper: published/tpu_v1.csv */
	} apps[] = {{"mlp0", "MLP0"}, {"mlp1", "MLP1"}, {"lstm0", "LSTM0"}, {"lstm1", "LSTM1"}, {"cnn0", "CNN0"}};
	for (size_t i = 0; i < sizeof apps / sizeof *apps; i++) {
		struct npl_roofline r;
		struct npl_graph *graph;
		find(apps[i].model, (int64_t)published(apps[i].case_name, "batch"), devices, 1, NPL_INTENSITY_WEIGHTS,
		     &graph, &r);
		double ridge = published("TPU", "ridge_point"), actual = npl_roofline_ridge(&r.device[0], 0);
		cr_assert(cli_near(actual, ridge, 0.01), "ridge %g, published %g", actual, ridge);
		double ops = published(apps[i].case_name, "published_ops_per_byte");
		cr_assert(cli_near(r.device[0].network.macs_per_byte, ops, 0.03), "%s: %g MACs per byte, published %g",
			  apps[i].model, r.device[0].network.macs_per_byte, ops);
		cr_assert_eq(r.device[0].network.memory_bound, ops < ridge);
		npl_roofline_free(&r);
		npl_graph_free(graph);
	}
}

/* On the TPU weights are all that crosses its memory: both intensities are one, up to the biases. */
Test(roofline, tpu_memory_is_of_weights)
{
	static const char *const devices[] = {"tpu_v1", "diannao"};
	struct npl_roofline memory, weights;
	struct npl_graph *graph, *again;
	find("lenet5", 4, devices, 2, NPL_INTENSITY_MEMORY, &graph, &memory);
	find("lenet5", 4, devices, 2, NPL_INTENSITY_WEIGHTS, &again, &weights);
	for (int i = 0; i < memory.device[0].n_points; i++) {
		const struct npl_roofline_point *m = &memory.device[0].point[i], *w = &weights.device[0].point[i];
		const struct npl_node *node = &graph->node[m->node];
		double bias = node->n_in > 2 && m->macs ? 4.0 * (double)graph->value[node->in[2]].shape.dim[0] : 0;
		cr_assert_float_eq(w->bytes, m->macs ? m->bytes + bias : 0, 0, "%s", node->name);
	}
	cr_assert(memory.device[1].network.bytes > weights.device[1].network.bytes);
	npl_roofline_free(&memory);
	npl_roofline_free(&weights);
	npl_graph_free(graph);
	npl_graph_free(again);
}

static long long elements(const struct npl_graph *graph, int value)
{
	return value < 0 ? 0 : (long long)npl_shape_count(&graph->value[value].shape);
}

#define KEYS                                                                                                           \
	"precision:s macs:i weight_bytes:i input_bytes:i output_bytes:i bytes:n crossed_bytes:N seconds:n "            \
	"macs_per_byte:N ops_per_second:N roof_ops_per_second:N share:N lower_roof:S bound:S"

/* Roofs that were measured here, and bytes counted from the shapes; 360 samples in three batches. */
Test(roofline, roofs_of_a_real_device_are_measured)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	struct npl_graph *graph = shipped_load("digits", &(struct npl_load_options){.batch = 120}, &files, &arena);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "roofline", "digits", "--devices", "cpu",
				      "--threads", "1", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *json = cli_parse_json(r.out), *device = cli_at(json, "devices.0"), *layer, *roof;
	cli_check_keys(json, "schema:s npulab:o model:O intensity:s devices:a", "the result");
	cr_assert_str_eq(cli_text(cli_at(json, "schema")), "npulab.roofline/2");
	cli_check_keys(device,
		       "name:s kind:s engine:S precision:s machine_sha256:S detail:S from:s roofs:a memory:o "
		       "load_average:N others_processors:N batches:i network:o layers:a",
		       "cpu");
	cr_assert_str_eq(cli_text(cli_at(device, "from")), "measured");
	cr_assert_eq(cli_integer(cli_at(device, "batches")), 3);
	double rate = cli_number(cli_at(device, "memory.bytes_per_second")), float_peak = 0;
	size_t i;
	cr_assert(rate > 0 && strstr(cli_text(cli_at(device, "memory.how")), "12 bytes an element"));
	cr_assert_eq(json_array_size(cli_at(device, "roofs")), 2, "float32 and int8");
	json_array_foreach (cli_at(device, "roofs"), i, roof) {
		double peak = cli_number(cli_at(roof, "peak_ops_per_second"));
		float_peak = i ? float_peak : peak;
		cr_assert_str_eq(cli_text(cli_at(roof, "precision")), i ? "int8" : "float32");
		cr_assert(peak > 0 && strstr(cli_text(cli_at(roof, "how")), "best of "));
		cr_assert(cli_near(cli_number(cli_at(roof, "ridge_macs_per_byte")), peak / 2 / rate, 1e-12));
	}
	json_array_foreach (cli_at(device, "layers"), i, layer) {
		const struct npl_node *node = &graph->node[cli_integer(cli_at(layer, "index"))];
		long long weights = 0, inputs = 0;
		cli_check_keys(layer, "index:i name:s op:s " KEYS, node->name);
		for (int k = 0; k < node->n_in; k++)
			*(k ? &weights : &inputs) += 4 * 3 * elements(graph, node->in[k]);
		cr_assert_eq(cli_integer(cli_at(layer, "weight_bytes")), weights, "%s", node->name);
		cr_assert_eq(cli_integer(cli_at(layer, "input_bytes")), inputs, "%s", node->name);
		cr_assert_eq(cli_integer(cli_at(layer, "output_bytes")), 4 * 3 * elements(graph, node->out[0]), "%s",
			     node->name);
		double macs = (double)cli_integer(cli_at(layer, "macs")), bytes = cli_number(cli_at(layer, "bytes"));
		double minimum = fmax(2 * macs / float_peak, bytes / rate);
		cr_assert_eq(macs, 3.0 * (double)node->macs);
		cr_assert(cli_near(cli_number(cli_at(layer, "share")), minimum / cli_number(cli_at(layer, "seconds")),
				   1e-9));
		cr_assert(json_is_null(cli_at(layer, "crossed_bytes")));
	}
	cr_assert(i >= 7, "%zu layers", i);
	json_decref(json);
	cli_free(&r);
	npl_graph_free(graph);
	npl_arena_free(&arena);
}

/* A processor in int8 leaves some layers to its floats: those have the bytes and the roof of these. */
Test(roofline, layers_in_float32_beside_integers)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	struct npl_graph *graph = shipped_load("lstm_lm", &(struct npl_load_options){0}, &files, &arena);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "roofline", "lstm_lm", "--devices", "cpu",
				      "--threads", "1", "--set", "cpu.precision=int8", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *json = cli_parse_json(r.out), *layer;
	double peak[2], minimum = 0, macs = 0;
	size_t i;
	int floats = 0, integers = 0;
	for (int k = 0; k < 2; k++) {
		json_t *roof = json_array_get(cli_at(json, "devices.0.roofs"), (size_t)k);
		cr_assert_str_eq(cli_text(cli_at(roof, "precision")), k ? "float32" : "int8");
		peak[k] = cli_number(cli_at(roof, "peak_ops_per_second"));
	}
	json_array_foreach (cli_at(json, "devices.0.layers"), i, layer) {
		const struct npl_node *node = &graph->node[cli_integer(cli_at(layer, "index"))];
		const double layer_macs = (double)cli_integer(cli_at(layer, "macs"));
		const bool is_float = node->op == NPL_OP_LSTM;
		long long weights = 0;
		macs += layer_macs;
		minimum += 2 * layer_macs / peak[is_float];
		if (!is_float && !(layer_macs > 0))
			continue;
		for (int k = 1; k < node->n_in; k++)
			if (node->in[k] >= 0 && graph->value[node->in[k]].constant)
				weights += (is_float || k == 2 ? 4 : 1) *
					   elements(graph, node->in[k]); /* biases are sums */
		cr_assert_eq(cli_integer(cli_at(layer, "weight_bytes")), weights, "%s", node->name);
		cr_assert_str_eq(cli_text(cli_at(layer, "precision")), is_float ? "float32" : "int8");
		floats += is_float;
		integers += !is_float;
	}
	cr_assert(floats == 2 && integers == 1, "%d and %d", floats, integers);
	const double bytes = cli_number(cli_at(json, "devices.0.network.bytes")),
		     rate = cli_number(cli_at(json, "devices.0.memory.bytes_per_second")),
		     roof = cli_number(cli_at(json, "devices.0.network.roof_ops_per_second"));
	cr_assert(cli_near(roof, 2 * macs / fmax(minimum, bytes / rate), 1e-9), "%g", roof);
	json_decref(json);
	cli_free(&r);
	npl_graph_free(graph);
	npl_arena_free(&arena);
}

/* A line of the CSV for each layer of the JSON with its figures, and one for the network. */
Test(roofline, csv_and_json_have_the_same_figures)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "roofline", "digits", "--devices",
				      "tpu_v1,diannao", "--json", "@/r.json", "--csv", "@/r.csv");
	cr_assert_eq(r.status, 0, "%s", r.err);
	char *text = cli_read(cli_path(folder, "r.json"), NULL);
	json_t *json = cli_parse_json(text), *device, *layer;
	struct npl_arena arena = {0};
	struct npl_csv csv;
	struct npl_err err = {0};
	size_t d, i;
	int row = 0;
	cr_assert_eq(npl_csv_load(cli_path(folder, "r.csv"), &arena, &csv, &err), 0, "%s", err.msg);
	static const char *const columns[] = {"macs",    "weight_bytes",  "bytes",          "crossed_bytes",
					      "seconds", "macs_per_byte", "ops_per_second", "roof_ops_per_second",
					      "share"};
	json_array_foreach (cli_at(json, "devices"), d, device) {
		size_t layers = json_array_size(cli_at(device, "layers"));
		for (i = 0; i <= layers; i++, row++) {
			layer = i < layers ? json_array_get(cli_at(device, "layers"), i) : cli_at(device, "network");
			cr_assert(row < csv.n_rows);
			cr_assert_str_eq(csv.row[row].field[npl_csv_column(&csv, "name", &err)],
					 i < layers ? cli_text(cli_at(layer, "name")) : "");
			for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
				double value;
				json_t *expected = cli_at(layer, columns[k]);
				cr_assert_eq(
					npl_csv_number(&csv, row, npl_csv_column(&csv, columns[k], &err), &value, &err),
					0);
				cr_assert(json_is_null(expected) ? isnan(value)
								 : same(value, json_number_value(expected)),
					  "%s", columns[k]);
			}
			bool in_table = i == layers || strstr(r.out, cli_text(cli_at(layer, "name")));
			cr_assert(in_table, "the table has no %s", cli_text(cli_at(layer, "name")));
		}
	}
	cr_assert_eq(row, csv.n_rows);
	cr_assert(strstr(r.out, "~91.8 TOP/s  ~34.1 GB/s         1344"), "%s", r.out);
	npl_arena_free(&arena);
	json_decref(json);
	free(text);
	cli_free(&r);
	cli_remove_folder(folder);
}

Test(roofline, roofs_alone_need_no_model)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "roofline", "--devices", "diannao", "--set",
				      "diannao.memory.preset=ideal", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *json = cli_parse_json(r.out);
	cr_assert(json_is_null(cli_at(json, "model")));
	cr_assert(json_is_null(json_object_get(cli_at(json, "devices.0"), "layers")) ||
		  !json_object_get(cli_at(json, "devices.0"), "layers"));
	json_decref(json);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "roofline", "--devices", "diannao,tpu_v1", "--set",
		    "tpu_v1.array.rows=128", "--csv", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, ",tpu_v1,int8,4.58752e+13,"), "half the rows, half the peak: %s", r.out);
	cli_free(&r);
}

Test(roofline, refuses_what_has_no_roof)
{
	static const struct cli_refusal cases[] = {
		{2, "reference has no roofs", {"roofline", "--devices", "reference"}},
		{2, "null has no roofs", {"roofline", "lenet5", "--devices", "null"}},
		{2, "--intensity is memory or weights, got 'all'", {"roofline", "lenet5", "--intensity", "all"}},
		{2, "of a model, and there is none", {"roofline", "--devices", "tpu_v1", "--batch", "4"}},
		{2, "no device here has this name", {"roofline", "--devices", "tpu_v1", "--set", "cpu.threads=1"}},
		{2, "'tpu_v1' is given twice", {"roofline", "--devices", "tpu_v1,tpu_v1"}},
		{2, "unexpected argument", {"roofline", "lenet5", "digits"}},
		{3, "no such model", {"roofline", "lenet55", "--devices", "tpu_v1"}},
		{2, "there is no device", {"roofline", "--devices", "tpu_v2"}},
		{5, "cannot be written", {"roofline", "--devices", "tpu_v1", "--json", "@/nowhere/r.json"}},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
