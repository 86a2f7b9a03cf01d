/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of a list of unconnected layers (npl_graph.layer_list): each layer's input is there in its
 * device's format and memory and its result stays there, so that only the machines themselves spend time and energy.
 * Cycles, counters and values are those of the same layers with every input brought and every result taken. */
#include <string.h>

#include "npulab/session.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/fake_cuda_path.h"
#include "tests/kit/support.h"

/* Layers as in the stages of ResNet-50, scaled down, and one that is depthwise. */
static const char layers[] =
	"Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
	"conv1, 62, 62, 7, 7, 3, 64, 2,\n"
	"reduce, 28, 28, 1, 1, 64, 64, 1,\n"
	"conv2, 30, 30, 3, 3, 64, 64, 1,\n"
	"DP, 30, 30, 3, 3, 64, 1, 1,\n"
	"expand, 14, 14, 1, 1, 64, 256, 1,\n"
	"fc, 1, 1, 1, 1, 512, 100, 1,\n";
enum { LAYERS = 6 };

static struct npl_graph *load(const char *folder)
{
	struct npl_graph *graph;
	struct npl_err err = {0};
	cli_write_text(folder, "list.csv", layers);
	cr_assert_eq(npl_graph_load(cli_path(folder, "list.csv"), NULL, &graph, &err), 0, "%s", err.msg);
	return graph;
}

static void run_on(struct npl_graph *graph, const char *name, struct npl_run *run)
{
	struct npl_device *device;
	struct npl_session *session;
	struct npl_err err = {0};
	cr_assert_eq(npl_device_open(name, NULL, &device, &err), 0, "%s", err.msg);
	const struct npl_session_options options = {.n_devices = 1, .device = &device, .plan.timing_only = true};
	cr_assert_eq(npl_session_open(graph, &options, &session, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_session_run(session, NULL, NULL, run, &err), 0, "%s", err.msg);
	npl_session_close(session);
	npl_device_close(device);
}

static double joules_of(const struct npl_run *run, enum npl_energy_part part)
{
	double joules = 0;
	for (int i = 0; i < run->n_energy; i++)
		joules += run->energy[i].part == part ? run->energy[i].joules : 0;
	return joules;
}

/* The same graph said to be a network of its own, whose inputs and outputs are the caller's, is charged for all of
 * them. */
Test(layer_list, only_the_machine_uses_time_and_energy)
{
	static const char *const machines[] = {"tpu_v1", "diannao", "systolic_128x128", "gpu_k80"};
	char folder[CLI_PATH];
	cli_folder(folder);
	struct npl_graph *graph = load(folder);
	cr_assert(graph->layer_list);
	for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
		struct npl_run list = {0}, network = {0};
		graph->layer_list = true;
		run_on(graph, machines[m], &list);
		graph->layer_list = false;
		run_on(graph, machines[m], &network);
		cr_assert_eq(list.cycles, network.cycles, "%s", machines[m]);
		cr_assert_eq(list.device_macs, graph->macs, "%s", machines[m]);
		for (int i = 0; i < LAYERS; i++) {
			const struct npl_result *a = &list.layer[i].result, *b = &network.layer[i].result;
			cr_assert_eq(a->cycles, b->cycles, "%s, layer %d", machines[m], i);
			cr_assert_arr_eq(a->counter, b->counter, sizeof a->counter);
			cr_assert_arr_eq(a->bytes, b->bytes, sizeof a->bytes);
			cr_assert_float_eq(npl_row_seconds(&list.layer[i]), a->seconds, 0);
		}
		cr_assert_float_eq(list.seconds, list.device_seconds, 1e-12 * list.seconds);
		cr_assert_eq(list.link_bytes, 0u);
		cr_assert_gt(network.link_seconds, 0, "%s", machines[m]);
		for (enum npl_energy_part p = 0; p < NPL_ENERGY_PARTS; p++)
			if (p == NPL_OF_MACHINE || p == NPL_OF_MEMORY)
				cr_assert_float_eq(joules_of(&list, p), joules_of(&network, p),
						   1e-9 * joules_of(&list, p), "%s, %s", machines[m],
						   npl_energy_part_name(p));
			else
				cr_assert_eq(joules_of(&list, p), 0, "%s, %s", machines[m], npl_energy_part_name(p));
		npl_run_free(&list);
		npl_run_free(&network);
	}
	npl_graph_free(graph);
	cli_remove_folder(folder);
}

/* The power of the whole report is then the machine's own: on the TPU from what it draws at rest to the busy power of
 * its paper. */
Test(layer_list, power_is_the_machines)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "list.csv", layers);
	const struct cli_run_options options = {.folder = folder};
	json_t *report = cli_json(&options, "compare", "@/list.csv", "--devices", "tpu_v1,diannao", "--json", "-");
	cr_assert(json_is_true(cli_at(report, "model.layer_list")));
	json_t *tpu = cli_device(report, "tpu_v1");
	const double watts = cli_number(cli_at(tpu, "totals.energy_j")) / cli_number(cli_at(tpu, "totals.seconds"));
	cr_assert(watts >= 28 && watts <= 40, "%g W", watts);
	cr_assert_float_eq(watts, cli_number(cli_at(tpu, "totals.machine_power_w")), 1e-9 * watts);
	cr_assert_gt(cli_number(cli_at(tpu, "accuracy.sqnr_db")), 30);
	json_decref(report);
	struct cli_result r = cli_run(&options, "compare", "@/list.csv", "--devices", "tpu_v1", "--timing-only",
				      "--layers");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "each layer's input is there and its result stays"), "%s", r.out);
	cli_free(&r);
	report = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--timing-only", "--json", "-");
	cr_assert(json_is_false(cli_at(report, "model.layer_list")));
	json_decref(report);
	cli_remove_folder(folder);
}

/* Layers stand for those of one network: on two machines and the host they run one after the other, and the machine
 * that waits draws what it draws at rest. The host is charged for the layer that it runs and for nothing else. */
Test(layer_list, on_two_machines_one_after_the_other)
{
	char folder[CLI_PATH];
	double end = 0, of_tpu = 0;
	cli_folder(folder);
	cli_write_text(folder, "list.csv", layers);
	const struct cli_run_options options = {.folder = folder};
	json_t *report = cli_json(&options, "run", "@/list.csv", "--place", "/conv2/=diannao,/DP/=host,*=tpu_v1",
				  "--timing-only", "--json", "-");
	json_t *device = cli_at(report, "devices.0");
	for (int i = 0; i < LAYERS; i++) {
		json_t *row = json_array_get(cli_at(device, "layers"), (size_t)i);
		const double seconds = cli_number(cli_at(row, "seconds"));
		cr_assert_float_eq(cli_number(cli_at(row, "start_seconds")), end, 1e-12);
		end += seconds;
		cr_assert_float_eq(cli_number(cli_at(row, "end_seconds")), end, 1e-12);
		cr_assert_eq(cli_number(cli_at(row, "link_seconds")), 0);
		cr_assert_float_eq(cli_number(cli_at(row, "host_seconds")), i == 3 ? seconds : 0, 0);
		of_tpu += strcmp(cli_text(cli_at(row, "ran_on")), "tpu_v1") ? 0 : seconds;
	}
	cr_assert_float_eq(cli_number(cli_at(device, "totals.seconds")), end, 1e-12);
	/* 28 W of the TPU at rest, and 8.39 mW of DianNao for a part of the time. */
	const double waiting = cli_number(cli_at(device, "totals.energy_by_part.waiting")) - 28 * (end - of_tpu);
	cr_assert(waiting > 0 && waiting < 0.0084 * end, "%g J", waiting);
	cr_assert_gt(cli_number(cli_at(device, "totals.energy_by_part.host")), 0);
	json_decref(report);
	cli_remove_folder(folder);
}

/* A device that times its link itself moves the values of a list too, and they do not count. */
Test(layer_list, measured_transfers_do_not_count)
{
	char folder[CLI_PATH], *path = realpath(TEST_FAKE_CUDA, NULL);
	cr_assert(path);
	setenv("NPULAB_CUDA_PATH", path, 1);
	cli_folder(folder);
	cli_write_text(folder, "list.csv", layers);
	const struct cli_run_options options = {.folder = folder};
	json_t *report = cli_json(&options, "compare", "@/list.csv", "--devices", "cuda", "--set", "cuda.tdp_watts=100",
				  "--json", "-");
	json_t *totals = cli_at(report, "devices.0.totals");
	const double seconds = cli_number(cli_at(totals, "seconds"));
	cr_assert(json_is_null(cli_at(totals, "bytes.host_link")), "of a real device without transfers not known");
	cr_assert_gt(seconds, 0);
	cr_assert_float_eq(cli_number(cli_at(totals, "energy_j")), 100 * seconds, 1e-6 * seconds, "power is assumed");
	for (int i = 0; i < LAYERS; i++) {
		char at[40];
		snprintf(at, sizeof at, "devices.0.layers.%d.transfers", i);
		cr_assert_eq(cli_integer(cli_at(report, at)), 0);
	}
	json_decref(report);
	free(path);
	cli_remove_folder(folder);
}
