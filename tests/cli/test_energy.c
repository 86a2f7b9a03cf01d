/* SPDX-License-Identifier: MIT
 *
 * npulab energy: the tables' figures for components and memories, a user's table beside the shipped ones, and what it
 * refuses. */
#include "tests/kit/cli_json.h"
#include "tests/kit/shell.h"

static const struct cli_run_options plainly = {0};

Test(cli_energy, lists_components_with_their_ranges)
{
	struct cli_result r = cli_run(&plainly, "energy", "--node", "28");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(cli_says(r.out, "COMPONENT ACTION PJ LOW MIDDLE HIGH SOURCES"), "%s", r.out);
	cr_expect(cli_says(r.out, "int8_multiplier multiply"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&plainly, "energy", "int8_multiplier", "--node", "28");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(cli_says(r.out, "horowitz2014") && cli_says(r.out, "45 nm, 0.9 V, scaled") &&
			  cli_says(r.out, "between 45 and 7 nm"),
		  "%s", r.out);
	cr_expect(!cli_says(r.out, "int32_adder"), "%s", r.out);
	cli_free(&r);
}

Test(cli_energy, builds_memories_from_macros)
{
	struct cli_result r = cli_run(&plainly, "energy", "--sram", "24Mi", "--width", "2048", "--node", "28");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(cli_says(r.out, "8 macros side by side, 1 bank") && cli_says(r.out, "area mm2"), "%s", r.out);
	cli_free(&r);
}

Test(cli_energy, takes_a_table_of_the_user)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "own.csv",
		       "component,action,pj,node_nm,volts,area_um2,source\n"
		       "fp8_multiplier,multiply,0.05,7,0.7,,vendor2024\n");
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "energy", "fp8_multiplier", "--table", "@/own.csv", "--node", "7",
				      "--volts", "0.7");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(cli_says(r.out, "fp8_multiplier multiply 0.05 0.05 0.05 vendor2024"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&options, "energy", "--check", "--table", "@/own.csv", "--node", "28");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(cli_says(r.out, "all as they should be"), "%s", r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A machine is shown with its components. Other sizes move all figures; JSON has them too. */
Test(cli_energy, shows_a_machine)
{
	struct cli_result r = cli_run(&plainly, "energy", "tpu_v1");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(cli_says(r.out, "tpu_v1: 28 nm, 0.9 V, calibrated by tpu_v1"), "%s", r.out);
	cr_expect(cli_says(r.out, "static power: 28 W, calibrated:jouppi2017"), "%s", r.out);
	cli_free(&r);
	json_t *whole = cli_json(&plainly, "energy", "tpu_v1", "--json", "-");
	json_t *half = cli_json(&plainly, "energy", "tpu_v1", "--json", "-", "--set", "tpu_v1.array.rows=128", "--set",
				"tpu_v1.unified_buffer.bytes=2MiB");
	static const char *const keys[] = {"area_mm2",
					   "static_w",
					   "static_high_w",
					   "components.1.energy.0.pj",
					   "components.1.energy.0.pj_low",
					   "components.0.area_mm2"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		cr_expect_lt(cli_number(cli_at(half, keys[i])), 0.9 * cli_number(cli_at(whole, keys[i])), "%s",
			     keys[i]);
	json_decref(whole);
	json_decref(half);
	r = cli_run(&plainly, "energy", "diannao", "--set", "diannao.nbin.rows=3", "--set",
		    "diannao.energy.table=none");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_expect(cli_says(r.out, "NBin has no bottom-up figures: a macro of 96 bytes"), "%s", r.out);
	cli_free(&r);
}

/* More zeros among the operands: less energy by data, the same energy that is charged. */
Test(cli_energy, zeros_save_energy_by_data)
{
	static const char *const zeros[] = {"0", "50", "100"};
	double by_data[3], charged[3];
	for (int i = 0; i < 3; i++) {
		json_t *root = cli_json(&plainly, "layer", "gemm", "-m", "64", "-n", "256", "-k", "256", "--zeros",
					zeros[i], "--devices", "tpu_v1", "--set", "tpu_v1.activity=counted", "--json",
					"-");
		by_data[i] = cli_number(cli_at(root, "devices.0.totals.energy_by_activity_j"));
		charged[i] = cli_number(cli_at(root, "devices.0.totals.energy_j"));
		json_decref(root);
	}
	cr_expect(by_data[0] > by_data[1] && by_data[1] > by_data[2]);
	cr_expect(charged[0] == charged[1] && charged[1] == charged[2]);
}

/* Layers on a host, which counts nothing, have their energy as it is, so that layers sum to the total. */
Test(cli_energy, layers_by_data_sum_to_the_total)
{
	json_t *root = cli_json(&plainly, "compare", "lstm_lm", "--devices", "systolic_16x16", "--no-accuracy", "--set",
				"systolic_16x16.activity=counted", "--json", "-");
	json_t *device = cli_at(root, "devices.0"), *layers = cli_at(device, "layers");
	double by_data = 0, charged = 0;
	for (size_t i = 0; i < json_array_size(layers); i++) {
		if (json_is_null(cli_at(json_array_get(layers, i),
					"energy_j"))) /* it is in the layer that it was fused into */
			continue;
		by_data += cli_number(cli_at(json_array_get(layers, i), "energy_by_activity_j"));
		charged += cli_number(cli_at(json_array_get(layers, i), "energy_j"));
	}
	const double left = cli_number(cli_at(device, "totals.energy_j")) - charged;
	cr_expect_float_eq(by_data + left, cli_number(cli_at(device, "totals.energy_by_activity_j")), 1e-12);
	json_decref(root);
}

/* What is in a table of the user's own is part of the machine's hash, as a memory file is. */
Test(cli_energy, own_tables_are_part_of_the_machine)
{
	static const char *const factors[] = {"0.5", "0.5", "0.6"};
	char folder[CLI_PATH], table[CLI_PATH + 40], hash[3][80] = {""};
	cli_folder(folder);
	snprintf(table, sizeof table, "diannao.energy.table=%s/own.csv", folder);
	for (int i = 0; i < 3; i++) {
		char text[200];
		snprintf(text, sizeof text,
			 "component,quantity,value,unit,node_nm,volts,origin\n"
			 "NFU,energy,%s,factor,65,1.0,modelled:own\n",
			 factors[i]);
		cli_write_text(folder, "own.csv", text);
		json_t *root = cli_json(&plainly, "compare", "digits", "--devices", "diannao", "--timing-only",
					"--json", "-", "--set", table);
		snprintf(hash[i], sizeof hash[i], "%s", json_string_value(cli_at(root, "devices.0.machine_sha256")));
		json_decref(root);
	}
	cr_expect_str_eq(hash[0], hash[1]);
	cr_expect_str_neq(hash[0], hash[2]);
	cli_remove_folder(folder);
}

/* The calibrated tables are what the script makes of the published figures. */
Test(cli_energy, shipped_calibrations_are_those_of_the_script)
{
	const char *program = getenv("NPULAB_BIN");
	char folder[CLI_PATH];
	cli_folder(folder);
	free(shell("/usr/bin/python3 scripts/calibrate_energy.py '%s' > '%s/made' && cat energies/diannao.csv "
		   "energies/tpu_v1.csv | diff - '%s/made' 2>&1",
		   program && *program ? program : "build/npulab", folder, folder));
	cli_remove_folder(folder);
}

Test(cli_energy, refuses_what_no_table_covers)
{
	static const struct {
		const char *arguments[2];
		int status;
		const char *message;
	} cases[] = {
		{{"int8_multiplyer"},
		 2,
		 "no energy of the component 'int8_multiplyer'; the nearest is 'int8_multiplier'"},
		{{"--node=5"}, 2, "5 nm, expected 7 to 180"},
		{{"--volts=none"}, 2, "--volts 'none', expected a number above 0"},
		{{"int8_adder", "--sram=1Mi"}, 2, "expected components or a memory"},
		{{"--volts=0.8", "--sram=1Mi"}, 2, "--volts beside --sram"},
		{{"tpu_v1", "diannao"}, 2, "tpu_v1 beside diannao: expected one machine, or components"},
		{{"--check", "--sram=1Mi"}, 2, "--sram beside --check, which looks at all tables"},
		{{"--width=64"}, 2, "--width without --sram: expected a memory that it is of"},
		{{"--table=/no/such.csv"}, 3, "/no/such.csv"},
		{{"null"}, 2, "null has no energy model, expected a simulated machine"},
		{{"tpu_v1", "--node=28"}, 2, "--node beside tpu_v1, expected --set tpu_v1.technology.node_nm=..."},
		{{"int8_adder", "--json=-"}, 2, "--json without a machine, expected one: npulab energy tpu_v1"},
		{{"tpu_v1", "--set=tpu_v1.technology.node_nm=5"}, 2, "5 nm, expected 7 to 180"},
		{{"tpu_v1", "--set=tpu_v1.energy.table=tpu_v2"}, 3, "energies/tpu_v2.csv: cannot be opened"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *second = cases[i].arguments[1];
		struct cli_result r = second ? cli_run(&plainly, "energy", cases[i].arguments[0], second)
					     : cli_run(&plainly, "energy", cases[i].arguments[0]);
		cli_check_refusal(&r, cases[i].status, cases[i].message, cases[i].arguments[0]);
		cli_free(&r);
	}
}
