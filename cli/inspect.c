/* SPDX-License-Identifier: MIT
 *
 * npulab inspect: shows a model's operators, shapes, MACs and parameters, and the layers that each device would not
 * run. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "npulab/progress.h"
#include "reports/format/json.h"
#include "reports/format/table.h"

struct machines {
	int n;
	const char **names;
	struct npl_device **device;
	struct npl_session **session; /* a session for each machine; the session's run borrows from it */
	struct npl_run *run;          /* one for each machine: its rows say which layers went to the host */
};

static void close_machines(struct machines *m)
{
	for (int d = 0; d < m->n; d++) {
		npl_run_free(&m->run[d]);
		npl_session_close(m->session[d]);
		npl_device_close(m->device[d]);
	}
}

/* Fills the run of a machine without values; for a real device, which cannot run without values, the plan. */
static int plan_on(struct npl_graph *graph, struct npl_device *device, struct npl_session **session,
		   struct npl_run *run, struct npl_err *err)
{
	struct npl_session_options options = {.n_devices = 1, .device = &device, .plan.timing_only = true};
	if (npl_session_open(graph, &options, session, err))
		return err->code;
	return npl_device_kind_is_modelled(npl_device_get_info(device)->kind)
		       ? npl_session_run(*session, NULL, NULL, run, err)
		       : npl_session_planned_rows(*session, run, err);
}

static int open_machines(struct npl_graph *graph, const char *devices, const struct cli_list *sets, int threads,
			 struct npl_arena *arena, struct machines *m, struct npl_err *err)
{
	struct npl_compare_options options = {.set = sets->item, .n_sets = sets->n, .threads = threads};
	if (cli_split_devices(devices, arena, &m->names, &options.n_devices, err))
		return err->code;
	m->device = npl_arena_array(arena, (size_t)options.n_devices, sizeof(struct npl_device *));
	m->session = npl_arena_array(arena, (size_t)options.n_devices, sizeof(struct npl_session *));
	m->run = npl_arena_array(arena, (size_t)options.n_devices, sizeof *m->run);
	if (!m->device || !m->session || !m->run)
		return npl_no_memory(err);
	m->n = options.n_devices;
	options.device_names = m->names;
	options.without_host = true;
	int rc = npl_devices_open(&options, m->device, NULL, err);
	for (int d = 0; d < m->n && !rc; d++) {
		m->names[d] = npl_device_instance(m->device[d]);
		rc = plan_on(graph, m->device[d], &m->session[d], &m->run[d], err);
	}
	return rc;
}

static uint64_t node_parameters(const struct npl_graph *graph, const struct npl_node *node)
{
	uint64_t n = 0;
	for (int k = 0; k < node->n_in; k++)
		if (npl_input_is_parameter(graph, node, k))
			n += (uint64_t)npl_shape_count(&graph->value[node->in[k]].shape);
	return n;
}

static void print_value(const char *role, const struct npl_value *value)
{
	char line[400], shape[128];
	snprintf(line, sizeof line, "%s %s: %s %s", role, value->name, npl_dtype_name(value->dtype),
		 npl_shape_text(&value->shape, shape, sizeof shape));
	npl_table_text(line, stdout);
}

static void print_heading(const struct npl_graph *graph, const char *name)
{
	char macs[32], parameters[32], line[400];
	npl_count_text((double)graph->macs, "MAC", macs, sizeof macs);
	npl_count_text((double)graph->parameters, "", parameters, sizeof parameters);
	snprintf(line, sizeof line, "%s: ", name);
	if (graph->ir_version)
		npl_append(line, sizeof line, "", "opset %d, %d node%s in the file", graph->opset, graph->file_nodes,
			   npl_plural(graph->file_nodes));
	else
		npl_append(line, sizeof line, "", "a list of %d layer%s", graph->file_nodes,
			   npl_plural(graph->file_nodes));
	npl_append(line, sizeof line, "",
		   ", %d layer%s after folding (%d constant%s, %d batch normalisation%s, %d bias%s); "
		   "%s and %s parameters for a batch of %" PRId64,
		   graph->n_nodes, npl_plural(graph->n_nodes), graph->folded_constants,
		   npl_plural(graph->folded_constants), graph->folded_batchnorms, npl_plural(graph->folded_batchnorms),
		   graph->folded_biases, graph->folded_biases == 1 ? "" : "es", macs, parameters, graph->batch);
	npl_table_text(line, stdout);
	for (int i = 0; i < graph->n_inputs; i++)
		print_value("input", &graph->value[graph->input[i]]);
	for (int i = 0; i < graph->n_outputs; i++)
		print_value("output", &graph->value[graph->output[i]]);
	putchar('\n');
}

static int print_layers(const struct npl_graph *graph)
{
	static const char *const header[] = {"LAYER", "OPERATOR", "OUTPUT", "MAC", "PARAMETERS"};
	struct npl_table table;
	npl_table_open(&table, "lllrr", header);
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		char macs[32], parameters[32], shape[128];
		npl_count_text((double)node->macs, "", macs, sizeof macs);
		npl_count_text((double)node_parameters(graph, node), "", parameters, sizeof parameters);
		const char *cells[] = {node->name, npl_op_defs[node->op].name,
				       npl_shape_text(&graph->value[node->out[0]].shape, shape, sizeof shape),
				       node->macs ? macs : "", node_parameters(graph, node) ? parameters : ""};
		npl_table_row(&table, cells);
	}
	npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

static int print_host_layers(const struct npl_graph *graph, const char *name, const struct npl_run *run)
{
	static const char *const header[] = {"LAYER", "OPERATOR", "WHY"};
	struct npl_table table;
	int n_whole = 0, n_in_part = 0;
	npl_table_open(&table, "lll", header);
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		if (!npl_row_on_host(row) && !row->host_part)
			continue;
		const char *cells[] = {graph->node[i].name, npl_op_defs[graph->node[i].op].name, row->note};
		npl_table_row(&table, cells);
		n_whole += !row->host_part;
		n_in_part += row->host_part;
	}
	printf("\n%s runs %s\n", name,
	       n_whole && n_in_part ? "all layers but these, which go to its host (those marked so in part):"
	       : n_whole            ? "all but these, which go to its host:"
	       : n_in_part          ? "every layer; of these its host does a part:"
				    : "every layer");
	if (n_whole + n_in_part)
		npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

static int print_float_layers(const struct npl_graph *graph, const char *name, const struct npl_run *run)
{
	static const char *const header[] = {"LAYER", "OPERATOR", "WHY"};
	struct npl_table table;
	int rows = 0;
	npl_table_open(&table, "lll", header);
	for (int i = 0; i < graph->n_nodes; i++) {
		const char *reason = run->layer[i].float32_reason;
		if (!reason)
			continue;
		npl_table_row(&table,
			      (const char *const[]){graph->node[i].name, npl_op_defs[graph->node[i].op].name, reason});
		rows++;
	}
	if (rows) {
		printf("\n%s runs these in float32:\n", name);
		npl_table_print(&table, stdout);
	}
	return npl_table_close(&table);
}

static int print_table(const struct npl_graph *graph, const char *name, const struct machines *m)
{
	print_heading(graph, name);
	int rc = print_layers(graph);
	for (int d = 0; d < m->n && !rc; d++) {
		rc = print_host_layers(graph, m->names[d], &m->run[d]);
		if (!rc)
			rc = print_float_layers(graph, m->names[d], &m->run[d]);
	}
	return rc;
}

/* Writes the machines' notes on layer i, which their hosts run as a whole or in part. */
static void put_notes(struct npl_json *json, const char *key, const struct machines *m, int i, bool part)
{
	npl_json_open(json, key, '{');
	for (int d = 0; d < m->n; d++) {
		const struct npl_layer_run *row = &m->run[d].layer[i];
		if (part ? row->host_part : npl_row_on_host(row))
			npl_json_string(json, m->names[d], row->note);
	}
	npl_json_close(json, '}');
}

/* The data of a report. */
struct inspection {
	const struct npl_graph *graph;
	const char *name;
	const struct machines *machines;
};

static void write_json(FILE *out, const void *data)
{
	const struct inspection *inspection = data;
	const struct npl_graph *graph = inspection->graph;
	const struct machines *m = inspection->machines;
	struct npl_json json = {.out = out};
	char shape[128];
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.inspect/1");
	npl_json_string(&json, "name", inspection->name);
	npl_json_string(&json, "file_sha256", graph->file_sha256);
	npl_json_i64(&json, "opset", graph->opset);
	npl_json_i64(&json, "batch", graph->batch);
	npl_json_u64(&json, "macs", graph->macs);
	npl_json_u64(&json, "parameters", graph->parameters);
	npl_json_i64(&json, "file_nodes", graph->file_nodes);
	npl_json_open(&json, "warnings", '[');
	for (int i = 0; i < graph->n_warnings; i++)
		npl_json_string(&json, NULL, graph->warning[i]);
	npl_json_close(&json, ']');
	npl_json_open(&json, "layers", '[');
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		npl_json_open(&json, NULL, '{');
		npl_json_i64(&json, "index", i);
		npl_json_string(&json, "name", node->name);
		npl_json_string(&json, "op", npl_op_defs[node->op].name);
		npl_json_string(&json, "output",
				npl_shape_text(&graph->value[node->out[0]].shape, shape, sizeof shape));
		npl_json_u64(&json, "macs", node->macs);
		npl_json_u64(&json, "parameters", node_parameters(graph, node));
		put_notes(&json, "on_host", m, i, false);
		put_notes(&json, "in_part_on_host", m, i, true);
		npl_json_open(&json, "in_float32", '{');
		for (int d = 0; d < m->n; d++)
			if (m->run[d].layer[i].float32_reason)
				npl_json_string(&json, m->names[d], m->run[d].layer[i].float32_reason);
		npl_json_close(&json, '}');
		npl_json_close(&json, '}');
	}
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	putc('\n', out);
}

static int inspect_main(int argc, char **argv, struct npl_err *err)
{
	const char *model = NULL, *json = NULL, *devices = CLI_SIMULATED_DEVICES;
	struct cli_list dim = {0}, sets = {0};
	int64_t batch = 0, threads = 0, max_memory = 0;
	bool quiet = false, help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"devices", CLI_TEXT, &devices, 0, 0, "A,B,...", "devices to ask (default: " CLI_SIMULATED_DEVICES ")"},
		CLI_SET_OPTION(&sets),
		CLI_BATCH_OPTION(&batch),
		CLI_DIM_OPTION(&dim),
		CLI_THREADS_OPTION(&threads),
		CLI_MEMORY_OPTION(&max_memory),
		CLI_QUIET_OPTION(&quiet, ", no warnings"),
		CLI_JSON_OPTION(&json),
		{0}};
	if (cli_parse(&cli_inspect, options, argc, argv, &model, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!model)
		return npl_fail(err, NPL_EUSAGE, "inspect: which model? usage: npulab inspect %s",
				cli_inspect.arguments);
	struct npl_arena arena = {0};
	struct npl_model_files files;
	struct npl_graph *graph = NULL;
	struct machines machines = {0};
	struct npl_dim dims[CLI_LIST];
	npl_progress_part(model, NULL, 0, 0);
	int rc = npl_model_find(model, &arena, &files, err);
	if (!rc)
		rc = cli_read_dims(&dim, &arena, dims, err);
	if (!rc)
		rc = npl_graph_load(files.path,
				    &(struct npl_load_options){.batch = batch, .n_dims = dim.n, .dims = dims}, &graph,
				    err);
	if (!rc)
		rc = open_machines(graph, devices, &sets, (int)threads, &arena, &machines, err);
	if (!rc)
		rc = npl_graph_files_unchanged(graph, err);
	cli_waiting_end();
	const struct inspection inspection = {graph, files.name, &machines};
	const bool inspects = !rc;
	if (inspects)
		rc = cli_write_reports(&(struct cli_report){json, write_json, &inspection}, 1, err);
	if (inspects && !quiet && !cli_is_stdout(json))
		rc = cli_table_printed(print_table(graph, files.name, &machines), rc, err);
	if (inspects && !quiet)
		cli_warn(graph->name, graph->warning, graph->n_warnings);
	close_machines(&machines);
	npl_graph_free(graph);
	npl_arena_free(&arena);
	return rc;
}

const struct cli_command cli_inspect = {"inspect", "MODEL [--devices A,B,...]",
					"a model's operators, shapes and MACs, and what each device would not run",
					inspect_main};
