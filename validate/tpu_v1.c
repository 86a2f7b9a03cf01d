/* SPDX-License-Identifier: MIT
 *
 * Compares the TPU paper (Jouppi et al., ISCA 2017) with the model: the machine (Table 2), its six applications as
 * reconstructed in models/ (Table 1), the counters of one batch of each (Table 3), cycles (Table 7) and the unified
 * buffer (Table 8). tpu_v1_sweeps.c changes the machine. A new figure is a row in one of the tables below. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/progress.h"
#include "papers.h"
#include "tpu_applications.h"
#include "tpu_v1.h"
#include "validation.h"

/* One application on the machine. */
struct app {
	const struct npl_graph *graph;       /* the network at Table 1's batch */
	const struct npl_tpu_counts *counts; /* the counts of one batch as the paper's counters saw it */
};

/* The kind of layer that Table 1 counts a node as. */
enum layer_kind { FC, CONVOLUTION, VECTOR, POOL, OTHER };

static bool multiplies(const struct npl_graph *graph, int i)
{
	return i >= 0 && (npl_op_defs[graph->node[i].op].flags & NPL_OP_IS_GEMM);
}

/* Returns the kind of node i. An activation of a product is the product's "nonlinear function", not a layer of its
 * own. */
static enum layer_kind kind_of(const struct npl_graph *graph, int i)
{
	const struct npl_node *node = &graph->node[i];
	switch (node->op) {
	case NPL_OP_GEMM:
	case NPL_OP_MATMUL:
		return FC;
	case NPL_OP_CONV:
		return CONVOLUTION;
	case NPL_OP_MAXPOOL:
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
		return POOL;
	case NPL_OP_RELU:
	case NPL_OP_SIGMOID:
	case NPL_OP_TANH:
		return multiplies(graph, graph->value[node->in[0]].producer) ? OTHER : VECTOR;
	case NPL_OP_ADD:
	case NPL_OP_MUL:
	case NPL_OP_SUM:
		return VECTOR;
	default:
		return OTHER;
	}
}

static double count_layers(const struct app *app, enum layer_kind kind)
{
	int n = 0;
	for (int i = 0; i < app->graph->n_nodes; i++)
		n += kind_of(app->graph, i) == kind;
	return n;
}

static double fc_layers(const struct app *app)
{
	return count_layers(app, FC);
}

static double conv_layers(const struct app *app)
{
	return count_layers(app, CONVOLUTION);
}

static double vector_layers(const struct app *app)
{
	return count_layers(app, VECTOR);
}

static double pool_layers(const struct app *app)
{
	return count_layers(app, POOL);
}

static double layers(const struct app *app)
{
	return fc_layers(app) + conv_layers(app) + vector_layers(app) + pool_layers(app);
}

/* Returns the elements of the matrices and filters, without biases. */
static double weights(const struct app *app)
{
	double sum = 0;
	for (int i = 0; i < app->graph->n_nodes; i++)
		if (multiplies(app->graph, i))
			sum += (double)npl_shape_count(&app->graph->value[app->graph->node[i].in[1]].shape);
	return sum;
}

/* Returns the operations per byte of weights. Table 1 counts a multiply-accumulate as one operation here, and two
 * everywhere else. */
static double ops_per_weight_byte(const struct app *app)
{
	return (double)app->graph->macs / weights(app);
}

static double batch(const struct app *app)
{
	return (double)app->graph->batch;
}

static double array_active(const struct app *app)
{
	return app->counts->array_active / app->counts->cycles;
}

static double useful_macs(const struct app *app)
{
	return app->counts->useful_macs / app->counts->cells / app->counts->cycles;
}

static double unused_macs(const struct app *app)
{
	return app->counts->unused_macs / app->counts->cells / app->counts->cycles;
}

static double weight_stall(const struct app *app)
{
	return app->counts->weight_stall / app->counts->cycles;
}

static double weight_shift(const struct app *app)
{
	return app->counts->weight_shift / app->counts->cycles;
}

static double non_matrix(const struct app *app)
{
	return app->counts->non_matrix / app->counts->cycles;
}

static double raw_stall(const struct app *app)
{
	return app->counts->raw_stall / app->counts->cycles;
}

static double input_stall(const struct app *app)
{
	return app->counts->input_stall / app->counts->cycles;
}

static double counted_batch(const struct app *app)
{
	return (double)app->counts->batch;
}

static double production_tops(const struct app *app)
{
	return 2e-12 * app->counts->macs / app->counts->seconds;
}

static double buffer_peak(const struct app *app)
{
	return app->counts->peak_buffer_bytes / 1048576;
}

static const struct {
	const char *metric, *unit;
	double (*figure)(const struct app *app);
} app_metrics[] = {
	{"fc_layers", "layers", fc_layers},
	{"conv_layers", "layers", conv_layers},
	{"vector_layers", "layers", vector_layers},
	{"pool_layers", "layers", pool_layers},
	{"layers", "layers", layers},
	{"weights", "weights", weights},
	{"published_ops_per_byte", "ops/byte", ops_per_weight_byte},
	{"batch", "samples", batch},
	{"counted_batch", "samples", counted_batch},
	{"array_active", "fraction", array_active},
	{"useful_macs", "fraction", useful_macs},
	{"unused_macs", "fraction", unused_macs},
	{"weight_stall", "fraction", weight_stall},
	{"weight_shift", "fraction", weight_shift},
	{"non_matrix", "fraction", non_matrix},
	{"raw_stall", "fraction", raw_stall},
	{"input_stall", "fraction", input_stall},
	{"production_tops", "TOPS", production_tops},
	{"buffer_peak", "MiB", buffer_peak},
};
#define APP_METRICS ((int)(sizeof app_metrics / sizeof *app_metrics))

static double clock_mhz(const struct npl_device *device)
{
	return npl_device_get_info(device)->clock_hz * 1e-6;
}

static double peak_tops(const struct npl_device *device)
{
	return 2e-12 * npl_device_get_info(device)->peak_macs_per_second;
}

static double memory_gb_per_s(const struct npl_device *device)
{
	return npl_device_get_info(device)->memory_bytes_per_second * 1e-9;
}

static double on_chip_mib(const struct npl_device *device)
{
	double accumulators = npl_device_setting_number(device, "accumulators.rows") *
			      npl_device_setting_number(device, "array.columns") * 4;
	return (npl_device_setting_number(device, "unified_buffer.bytes") + accumulators) / 1048576;
}

/* Returns the multiply-accumulates per byte of weights from which on the array limits, and not the memory. */
static double ridge_point(const struct npl_device *device)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	return info->peak_macs_per_second / info->memory_bytes_per_second;
}

static double idle_watts(const struct npl_device *device)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	return info->static_origin ? info->static_watts : NAN;
}

static const struct {
	const char *metric, *unit;
	double (*figure)(const struct npl_device *device);
} machine_metrics[] = {
	{"clock", "MHz", clock_mhz},
	{"peak_int8", "TOPS", peak_tops},
	{"memory_bandwidth", "GB/s", memory_gb_per_s},
	{"on_chip_memory", "MiB", on_chip_mib},
	{"ridge_point", "ops/byte", ridge_point},
	{"die_idle_power", "W", idle_watts},
};
#define MACHINE_METRICS ((int)(sizeof machine_metrics / sizeof *machine_metrics))

static int validate_machine(struct npl_validation *validation, const struct npl_validate_options *options,
			    struct npl_err *err)
{
	struct npl_device *device = NULL;
	int rc = npl_tpu_open(options, false, NULL, 0, &device, err);
	for (int m = 0; m < MACHINE_METRICS && !rc; m++)
		rc = npl_validation_set(validation, NPL_TPU_MACHINE, "TPU", machine_metrics[m].metric,
					machine_metrics[m].unit, machine_metrics[m].figure(device), err);
	if (!rc)
		rc = npl_validation_explain(validation, NPL_TPU_MACHINE, "TPU",
					    "neither a table nor the machine file has it", err);
	const struct npl_validation_row fitted = {
		.case_name = "TPU", .source = "Table 3", .note = "fitted on MLP0 and LSTM0; not published"};
	if (!rc)
		rc = npl_validation_add_fitted(validation, NPL_TPU_MACHINE, device, &fitted, err);
	npl_device_close(device);
	return rc;
}

/* Adds the cycles of a batch by the paper: its multiply-accumulates over row 2's multiply-accumulates per cycle. */
static int validate_cycles(struct npl_validation *validation, const struct npl_tpu_application *app,
			   const struct npl_tpu_counts *counts, struct npl_err *err)
{
	bool consistent = app != &npl_tpu_applications[NPL_TPU_CNN1];
	double useful = npl_tpu_published(validation, app->name, "useful_macs");
	double cycles = counts->macs * counts->passes / counts->cells / useful;
	double worst = npl_tpu_published(validation, "CNN1", "model_cycle_error");
	const struct npl_validation_row row = {
		.case_name = app->name,
		.metric = "cycles",
		.unit = "cycles",
		.published = cycles,
		.model = counts->cycles,
		.tolerance = consistent ? worst * cycles : NAN,
		.reference = JOUPPI_2017,
		.source = "Table 3, row 2",
		.note = "derived: the reconstruction's multiply-accumulates over row 2; tolerance: the worst "
			"difference of Google's own model (Table 7)"};
	int rc = npl_validation_add(validation, NPL_TPU_MACHINE, &row, err);
	if (!rc)
		rc = npl_validation_set(validation, NPL_TPU_MACHINE, app->name, "model_cycle_error", "fraction",
					fabs(counts->cycles / cycles - 1), err);
	return rc;
}

/* Adds the cycles that a weight tile computes over those of its shift, where the shift cannot be hidden: how full
 * batches were. */
static int validate_vectors(struct npl_validation *validation, const struct npl_tpu_application *app,
			    const struct npl_tpu_counts *counts, struct npl_err *err)
{
	double active = npl_tpu_published(validation, app->name, "array_active");
	double shift = npl_tpu_published(validation, app->name, "weight_shift");
	if (!(shift > 0))
		return 0;
	const struct npl_validation_row row = {
		.case_name = app->name,
		.metric = "active_cycles_per_tile",
		.unit = "cycles",
		.published = active / shift * 256,
		.model = counts->array_active / counts->tiles,
		.tolerance = NAN,
		.reference = JOUPPI_2017,
		.source = "Table 3, rows 1 and 5",
		.note = "derived: row 1 over row 5, times the 256 cycles of a shift; the most that can be, as some "
			"tiles hide part of theirs. LSTM1's 96 samples at half speed would give 192: see its "
			"counted_batch"};
	return npl_validation_add(validation, NPL_TPU_MACHINE, &row, err);
}

/* Sets every figure of one application from one batch of it. */
static int validate_app(struct npl_validation *validation, const struct npl_tpu_application *application,
			const struct npl_validate_options *options, struct npl_tpu_counts *counts, struct npl_err *err)
{
	struct npl_graph *graph = NULL;
	int rc = npl_tpu_graph(application, 0, &graph, err);
	if (!rc)
		rc = npl_tpu_count(application, application->counted_samples, options, NULL, 0, counts, err);
	const struct app app = {.graph = graph, .counts = counts};
	for (int m = 0; m < APP_METRICS && !rc; m++)
		rc = npl_validation_set(validation, NPL_TPU_MACHINE, application->name, app_metrics[m].metric,
					app_metrics[m].unit, app_metrics[m].figure(&app), err);
	if (!rc)
		rc = validate_cycles(validation, application, counts, err);
	if (!rc)
		rc = validate_vectors(validation, application, counts, err);
	if (!rc)
		rc = npl_validation_explain(validation, NPL_TPU_MACHINE, application->name, counts->reason, err);
	npl_graph_free(graph);
	return rc;
}

/* Adds the counters of LSTM1 as if its batches had been full. */
static int validate_full(struct npl_validation *validation, const struct npl_validate_options *options,
			 struct npl_err *err)
{
	static const struct {
		const char *metric;
		double (*figure)(const struct app *app);
	} row[] = {{"array_active", array_active},
		   {"useful_macs", useful_macs},
		   {"weight_stall", weight_stall},
		   {"weight_shift", weight_shift},
		   {"non_matrix", non_matrix}};
	const struct npl_tpu_application *application = &npl_tpu_applications[NPL_TPU_LSTM1];
	struct npl_tpu_counts counts;
	const struct app app = {.counts = &counts};
	int rc = npl_tpu_count(application, 0, options, NULL, 0, &counts, err);
	for (size_t i = 0; i < sizeof row / sizeof *row && !rc; i++) {
		const struct npl_validation_row *counted = npl_validation_find(validation, NPL_TPU_MACHINE,
									       application->name, row[i].metric);
		const struct npl_validation_row full = {
			.case_name = "LSTM1, full batch",
			.metric = row[i].metric,
			.unit = "fraction",
			.published = counted ? counted->published : NAN,
			.model = row[i].figure(&app),
			.tolerance = NAN,
			.reference = JOUPPI_2017,
			.source = counted ? counted->source : "",
			.note = "as Table 1 has it; for the counters see counted_batch and active_cycles_per_tile of "
				"LSTM1"};
		rc = npl_validation_add(validation, NPL_TPU_MACHINE, &full, err);
	}
	return rc ? rc : npl_validation_explain(validation, NPL_TPU_MACHINE, "LSTM1, full batch", counts.reason, err);
}

int npl_validate_tpu_v1(struct npl_validation *validation, const struct npl_validate_options *options,
			struct npl_err *err)
{
	struct npl_tpu_counts counts[NPL_TPU_APPLICATIONS];
	int rc = npl_validation_load(validation, NPL_TPU_MACHINE, NPL_TPU_MACHINE ".csv", err);
	if (!rc)
		rc = validate_machine(validation, options, err);
	for (int a = 0; a < NPL_TPU_APPLICATIONS && !rc; a++) {
		npl_progress_part(npl_tpu_applications[a].name, "application", a + 1, NPL_TPU_APPLICATIONS);
		rc = validate_app(validation, &npl_tpu_applications[a], options, &counts[a], err);
	}
	npl_progress_part("the machine changed", NULL, 0, 0);
	if (!rc)
		rc = validate_full(validation, options, err);
	return rc ? rc : npl_tpu_v1_sweeps(validation, options, counts, err);
}
