/* SPDX-License-Identifier: MIT
 *
 * The TPU paper (Jouppi et al., ISCA 2017) beside the model: the machine (Table 2), its six applications as reconstructed
 * in models/ (Table 1) and the counters of one batch of each (Table 3), the LSTMs with 16-bit activations. A new figure is a
 * row in one of the tables below. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "devices_open.h"
#include "npulab/model.h"
#include "npulab/session.h"
#include "npulab/validate.h"

#define MACHINE  "tpu_v1"
#define MAX_SETS 32

/* One application on the machine. */
struct app {
	const struct npl_graph *graph; /* at the paper's batch */
	const struct npl_device_info *info;
	const struct npl_run *run; /* of one batch, timing only */
	bool whole;                /* the machine ran every layer that multiplies */
};

static const struct {
	const char *name, *model;
	bool wide; /* 16-bit activations */
} apps[] = {{"MLP0", "mlp0", false},  {"MLP1", "mlp1", false}, {"LSTM0", "lstm0", true},
	    {"LSTM1", "lstm1", true}, {"CNN0", "cnn0", false}, {"CNN1", "cnn1", false}};
#define APPS ((int)(sizeof apps / sizeof *apps))

/* What Table 1 counts a node as. */
enum layer_kind { FC, CONVOLUTION, VECTOR, POOL, OTHER };

static bool multiplies(const struct npl_graph *graph, int i)
{
	return i >= 0 && (npl_op_defs[graph->node[i].op].flags & NPL_OP_IS_GEMM);
}

/* An activation of a product is the product's "nonlinear function", no layer of its own. */
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

/* Elements of the matrices and filters, without biases. */
static double weights(const struct app *app)
{
	double sum = 0;
	for (int i = 0; i < app->graph->n_nodes; i++)
		if (multiplies(app->graph, i))
			sum += (double)npl_shape_count(&app->graph->value[app->graph->node[i].in[1]].shape);
	return sum;
}

/* Table 1 counts a multiply-accumulate as one operation here, and two everywhere else. */
static double ops_per_weight_byte(const struct app *app)
{
	return (double)app->graph->macs / weights(app);
}

static double batch(const struct app *app)
{
	return (double)app->graph->batch;
}

/* Sum over all layers of one of the machine's counters. */
static double counter(const struct app *app, const char *name)
{
	uint64_t sum = 0;
	bool known = false;
	for (int i = 0; i < app->run->n_layers; i++) {
		const struct npl_layer_run *row = &app->run->layer[i];
		for (size_t k = 0; k < row->n_stats; k++)
			if (!strcmp(row->stat[k].name, name)) {
				sum += row->result.counter[k];
				known = true;
			}
	}
	return app->whole && known ? (double)sum : NAN;
}

static double share_of_cycles(const struct app *app, const char *name)
{
	return counter(app, name) / (double)app->run->cycles;
}

/* Cells that do a multiply-accumulate every cycle. */
static double cells(const struct app *app)
{
	return app->info->peak_macs_per_second / app->info->clock_hz;
}

static double array_active(const struct app *app)
{
	return share_of_cycles(app, "array_active");
}

static double useful_macs(const struct app *app)
{
	return share_of_cycles(app, "useful_macs") / cells(app);
}

static double unused_macs(const struct app *app)
{
	return share_of_cycles(app, "unused_macs") / cells(app);
}

static double weight_stall(const struct app *app)
{
	return share_of_cycles(app, "weight_stall");
}

static double weight_shift(const struct app *app)
{
	return share_of_cycles(app, "weight_shift");
}

static double non_matrix(const struct app *app)
{
	return share_of_cycles(app, "non_matrix");
}

static double raw_stall(const struct app *app)
{
	return share_of_cycles(app, "raw_stall");
}

static double input_stall(const struct app *app)
{
	return share_of_cycles(app, "input_stall");
}

static double production_tops(const struct app *app)
{
	return app->whole ? 2e-12 * (double)app->graph->macs / app->run->device_seconds : NAN;
}

static const struct {
	const char *metric, *unit;
	double (*of)(const struct app *app);
} app_metrics[] = {
	{"fc_layers", "layers", fc_layers},
	{"conv_layers", "layers", conv_layers},
	{"vector_layers", "layers", vector_layers},
	{"pool_layers", "layers", pool_layers},
	{"layers", "layers", layers},
	{"weights", "weights", weights},
	{"published_ops_per_byte", "ops/byte", ops_per_weight_byte},
	{"batch", "samples", batch},
	{"array_active", "fraction", array_active},
	{"useful_macs", "fraction", useful_macs},
	{"unused_macs", "fraction", unused_macs},
	{"weight_stall", "fraction", weight_stall},
	{"weight_shift", "fraction", weight_shift},
	{"non_matrix", "fraction", non_matrix},
	{"raw_stall", "fraction", raw_stall},
	{"input_stall", "fraction", input_stall},
	{"production_tops", "TOPS", production_tops},
};
#define APP_METRICS ((int)(sizeof app_metrics / sizeof *app_metrics))

/* A parameter of the machine as a number. */
static double setting(const struct npl_device *device, const char *key)
{
	int n;
	const struct npl_param_value *value = npl_device_settings(device, &n);
	for (int i = 0; i < n; i++)
		if (!strcmp(value[i].key, key))
			return strtod(value[i].value, NULL);
	return NAN;
}

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
	return setting(device, "weight_memory.bytes_per_second") * 1e-9;
}

static double on_chip_mib(const struct npl_device *device)
{
	double accumulators = setting(device, "accumulators.rows") * setting(device, "array.columns") * 4;
	return (setting(device, "unified_buffer.bytes") + accumulators) / 1048576;
}

/* Multiply-accumulates per byte of weights from which on the array and not the memory is the limit. */
static double ridge_point(const struct npl_device *device)
{
	return npl_device_get_info(device)->peak_macs_per_second / setting(device, "weight_memory.bytes_per_second");
}

static double idle_watts(const struct npl_device *device)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	return info->static_origin ? info->static_watts : NAN;
}

static const struct {
	const char *metric, *unit;
	double (*of)(const struct npl_device *device);
} machine_metrics[] = {
	{"clock", "MHz", clock_mhz},
	{"peak_int8", "TOPS", peak_tops},
	{"memory_bandwidth", "GB/s", memory_gb_per_s},
	{"on_chip_memory", "MiB", on_chip_mib},
	{"ridge_point", "ops/byte", ridge_point},
	{"die_idle_power", "W", idle_watts},
};
#define MACHINE_METRICS ((int)(sizeof machine_metrics / sizeof *machine_metrics))

static int open_machine(const struct npl_validate_options *options, bool wide, struct npl_device **device,
			struct npl_err *err)
{
	const char *sets[MAX_SETS + 1];
	if (options->n_sets > MAX_SETS)
		return npl_fail(err, NPL_EUSAGE, "--set: at most %d", MAX_SETS);
	struct npl_device_options opening = {.set = sets};
	opening.n_sets = npl_device_sets(MACHINE, options->set, options->n_sets, sets);
	if (wide)
		sets[opening.n_sets++] = "precision=8x16";
	return npl_device_open(MACHINE, &opening, device, err);
}

/* Sets every figure of one application from one batch of it. */
static int validate_app(struct npl_validation *validation, int a, const struct npl_validate_options *options,
			struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	struct npl_graph *graph = NULL;
	struct npl_device *device = NULL;
	struct npl_session *session = NULL;
	struct npl_run run = {0};
	int rc = npl_model_find(apps[a].model, &arena, &files, err);
	if (!rc)
		rc = npl_graph_load(files.path, &(struct npl_load_options){.batch = files.batch}, &graph, err);
	if (!rc)
		rc = open_machine(options, apps[a].wide, &device, err);
	struct npl_session_options opening = {.n_devices = 1, .device = &device, .timing_only = true};
	if (!rc)
		rc = npl_session_open(graph, &opening, &session, err);
	if (!rc)
		rc = npl_session_run(session, NULL, NULL, &run, err);
	struct app app = {.graph = graph, .run = &run, .info = rc ? NULL : npl_device_get_info(device), .whole = true};
	for (int i = 0; i < run.n_layers; i++)
		app.whole &= !multiplies(graph, i) || strcmp(run.layer[i].ran_on, "host");
	for (int m = 0; m < APP_METRICS && !rc; m++)
		rc = npl_validation_set(validation, MACHINE, apps[a].name, app_metrics[m].metric, app_metrics[m].unit,
					app_metrics[m].of(&app), err);
	npl_run_free(&run);
	npl_session_close(session);
	npl_device_close(device);
	npl_graph_free(graph);
	npl_arena_free(&arena);
	return rc;
}

int npl_validate_tpu_v1(struct npl_validation *validation, const struct npl_validate_options *options,
			struct npl_err *err);

int npl_validate_tpu_v1(struct npl_validation *validation, const struct npl_validate_options *options,
			struct npl_err *err)
{
	struct npl_device *device = NULL;
	int rc = npl_validation_load(validation, MACHINE, MACHINE ".csv", err);
	if (!rc)
		rc = open_machine(options, false, &device, err);
	for (int m = 0; m < MACHINE_METRICS && !rc; m++)
		rc = npl_validation_set(validation, MACHINE, "TPU", machine_metrics[m].metric, machine_metrics[m].unit,
					machine_metrics[m].of(device), err);
	npl_device_close(device);
	for (int a = 0; a < APPS && !rc; a++) {
		if (options->progress)
			options->progress(options->user, apps[a].name, a, APPS);
		rc = validate_app(validation, a, options, err);
	}
	return rc;
}
