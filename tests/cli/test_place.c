/* SPDX-License-Identifier: MIT
 *
 * npulab place: the answer runs as it is reported, its rules give every layer its device, and what is refused leaves no
 * file. */
#include <math.h>

#include "tests/kit/cli_json.h"

static const struct cli_run_options here = {0};

/* The placement of this name. */
static json_t *placement_of(json_t *root, const char *name)
{
	size_t i;
	json_t *placement, *match = NULL;
	json_array_foreach (cli_at(root, "placements"), i, placement)
		match = strcmp(cli_text(cli_at(placement, "name")), name) ? match : placement;
	cr_assert(match, "no placement %s", name);
	return match;
}

static bool same(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(a);
}

/* The sum of the energies of a run. */
static double joules_of(json_t *run)
{
	size_t i;
	json_t *energy;
	double sum = 0;
	json_array_foreach (cli_at(run, "devices.0.totals.energy"), i, energy)
		sum += cli_number(cli_at(energy, "joules"));
	return sum;
}

/* Places the model, runs the rules, and compares figures and devices. */
static void check_answer(const char *rules, const char *model, const char *devices, const char *objective)
{
	json_t *root = cli_json(&here, "place", model, "--devices", devices, "--minimise", objective, "--batch", "4",
				"-o", rules, "--json", "-");
	json_t *run = cli_json(&here, "run", model, "--place-file", rules, "--timing-only", "--batch", "4", "--json",
			       "-");
	json_t *answer = placement_of(root, cli_text(cli_at(root, "answer"))), *layer;
	json_t *rows = cli_at(run, "devices.0.layers");
	const double batches = cli_number(cli_at(run, "model.batches"));
	size_t i, at = 0;
	cr_assert(same(cli_number(cli_at(answer, "seconds")),
		       cli_number(cli_at(run, "devices.0.totals.seconds")) / batches),
		  "%s, %s: another time", model, objective);
	cr_assert(same(cli_number(cli_at(answer, "joules")), joules_of(run) / batches), "%s, %s: another energy", model,
		  objective);
	json_array_foreach (cli_at(root, "layers"), i, layer) {
		const char *name = cli_text(cli_at(layer, "name"));
		while (strcmp(cli_text(cli_at(json_array_get(rows, at), "name")), name) != 0)
			at++;
		json_t *row = json_array_get(rows, at);
		if (!strcmp(cli_text(cli_at(row, "role")), "ran"))
			cr_assert_str_eq(cli_text(cli_at(row, "ran_on")), cli_text(cli_at(layer, "device")), "%s",
					 name);
	}
	json_array_foreach (cli_at(root, "placements"), i, layer)
		cr_assert(cli_number(cli_at(layer, "objective")) >= cli_number(cli_at(answer, "objective")),
			  "%s is better than the answer", cli_text(cli_at(layer, "name")));
	json_decref(root);
	json_decref(run);
}

Test(cli_place, the_rules_run_as_the_answer_is_reported)
{
	char folder[CLI_PATH], rules[CLI_PATH + 10];
	cli_folder(folder);
	snprintf(rules, sizeof rules, "%s/rules", folder);
	check_answer(rules, "digits", "tpu_v1,diannao", "time");
	check_answer(rules, "digits", "tpu_v1,diannao", "energy");
	check_answer(rules, "lenet5", "tpu_v1,systolic_16x16,gpu_k80", "edp");
	check_answer(rules, "lenet5", "systolic_16x16@array.rows=32,systolic_16x16", "time");
	cli_remove_folder(folder);
}

/* A real device is measured: its figures vary, and every report says that they are measured. */
Test(cli_place, a_real_device_takes_part)
{
	json_t *root = cli_json(&here, "place", "digits", "--devices", "tpu_v1,cpu", "--json", "-");
	cr_assert(json_is_false(cli_at(root, "devices.0.measured")) &&
		  json_is_true(cli_at(root, "devices.1.measured")));
	cr_assert_gt(cli_number(cli_at(placement_of(root, "cpu"), "seconds")), 0);
	json_t *answer = placement_of(root, cli_text(cli_at(root, "answer")));
	cr_assert_leq(cli_number(cli_at(answer, "seconds")),
		      cli_number(cli_at(placement_of(root, "tpu_v1"), "seconds")));
	json_decref(root);
	struct cli_result r = cli_run(&here, "place", "digits", "--devices", "tpu_v1,cpu");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "measured on this computer; figures of a real device vary"), "%s", r.out);
	cli_free(&r);
}

/* One device and the host: the search may still move layers to the host. */
Test(cli_place, one_device_is_enough)
{
	json_t *root = cli_json(&here, "place", "digits", "--devices", "diannao", "--minimise", "energy", "--json",
				"-");
	cr_assert_eq(json_array_size(cli_at(root, "placements")), 4);
	cr_assert(json_is_true(cli_at(root, "complete")));
	cr_assert_eq(cli_number(cli_at(root, "gap")), 0);
	json_decref(root);
}

/* A search that may keep few states says by how much its answer may be above the best. */
Test(cli_place, a_search_with_few_states_says_what_is_proven)
{
	json_t *few = cli_json(&here, "place", "alexnet", "--devices", "tpu_v1,diannao", "--minimise", "edp", "--batch",
			       "1", "--states", "1", "--json", "-"),
	       *all = cli_json(&here, "place", "alexnet", "--devices", "tpu_v1,diannao", "--minimise", "edp", "--batch",
			       "1", "--json", "-");
	cr_assert(json_is_false(cli_at(few, "complete")) && json_is_true(cli_at(all, "complete")));
	const double best = cli_number(cli_at(placement_of(all, "search"), "objective")),
		     found = cli_number(cli_at(placement_of(few, "search"), "objective")),
		     gap = cli_number(cli_at(few, "gap"));
	cr_assert(best <= found && found <= best * (1 + gap) * (1 + 1e-9), "best %g, found %g, gap %g", best, found,
		  gap);
	cr_assert_leq(cli_number(cli_at(few, "bound")), best * (1 + 1e-9));
	json_decref(few);
	json_decref(all);
}

static void write_no_layers(const char *folder)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, 4});
	onnx_put_output(&g, "x");
	cli_write_model(folder, "none.onnx", &g);
}

Test(cli_place, refusals_name_what_is_wrong_and_write_nothing)
{
	static const struct {
		const char *model, *devices, *minimise;
		int status;
		const char *says;
	} cases[] = {
		{"digits", "tpu_v1,tpuv1", "time", 2, "there is no device 'tpuv1'"},
		{"digits", "tpu_v1,tpu_v1", "time", 2, "'tpu_v1' is given twice"},
		{"digits", "tpu_v1", "speed", 2, "--minimise: 'speed' is nothing to minimise"},
		{"digits", "tpu_v1,reference", "energy", 2, "the energy of reference is not known"},
		{"digits", "tpu_v1,reference", "edp", 2, "the energy of reference is not known"},
		{"digits", "null,diannao,tpu_v1,gpu_k80,gpu_a100,gpu_h100,systolic_16x16", "time", 2,
		 "7 devices, expected at most 6"},
		{"digits", "host", "time", 2, "host cannot be a device"},
		{"@/none.onnx", "tpu_v1", "time", 3, "no layers"},
		{"@/missing.onnx", "tpu_v1", "time", 3, "missing.onnx"},
	};
	char folder[CLI_PATH], rules[CLI_PATH + 10];
	cli_folder(folder);
	write_no_layers(folder);
	snprintf(rules, sizeof rules, "%s/rules", folder);
	const struct cli_run_options options = {.folder = folder};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result r = cli_run(&options, "place", cases[i].model, "--devices", cases[i].devices,
					      "--minimise", cases[i].minimise, "-o", "@/rules");
		cr_assert_eq(r.status, cases[i].status, "%s: %d, %s", cases[i].says, r.status, r.err);
		cr_assert(cli_says(r.err, cases[i].says), "%s", r.err);
		cr_assert_eq(r.out_bytes, 0, "%s: printed %s", cases[i].says, r.out);
		cr_assert(access(rules, F_OK), "%s: rules were written", cases[i].says);
		cli_free(&r);
	}
	struct cli_result r = cli_run(&options, "place", "digits", "--devices", "tpu_v1", "-o", "-", "--json", "-");
	cr_assert_eq(r.status, 2);
	cr_assert(cli_says(r.err, "cannot both have standard output"), "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A search for the least energy needs all energies, those of a link too. */
Test(cli_place, an_energy_that_is_absent_is_named)
{
	struct cli_result r = cli_run(&here, "place", "digits", "--devices", "diannao,tpu_v1", "--minimise", "energy",
				      "--set", "tpu_v1.host_link.energy_origin=absent");
	cr_assert_eq(r.status, 2);
	cr_assert(cli_says(r.err, "the energy of tpu_v1 is not known"), "%s", r.err);
	cli_free(&r);
	r = cli_run(&here, "place", "digits", "--devices", "diannao", "--minimise", "edp", "--set",
		    "host.energy.origin=absent");
	cr_assert_eq(r.status, 2);
	cr_assert(cli_says(r.err, "the energy of the host is not known"), "%s", r.err);
	cli_free(&r);
	r = cli_run(&here, "place", "digits", "--devices", "diannao", "--quiet", "--set", "host.energy.origin=absent");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
}
