/* SPDX-License-Identifier: MIT
 *
 * Promise: analytical devices run any network with the reference's values in their precision, say in every report that
 * they are no measurement, and cost what their figures say; the modelled host is one of them that can be set, replaced
 * and seen, and can be nothing else. */
#include "tests/kit/cli_json.h"

#include <math.h>

static json_t *run_json(const char *const *args)
{
	struct cli_result r = cli_run_list(&(struct cli_run_options){0}, args);
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *root = json_loads(r.out, 0, NULL);
	cr_assert(root, "%s", r.out);
	cli_free(&r);
	return root;
}

static json_t *device_of(json_t *root, size_t i)
{
	return json_array_get(cli_at(root, "devices"), i);
}

static double total(json_t *device, const char *key)
{
	return cli_number(cli_at(cli_at(device, "totals"), key));
}

Test(analytical, values_equal_the_reference_and_kind_is_analytical)
{
	json_t *root = run_json(
		(const char *[]){"compare", "digits", "--devices",
				 "reference,gpu_a100,gpu_a100@precision=tf32,gpu_a100@precision=f16,gpu_k80", "--json",
				 "-", "--quiet", NULL});
	const char *const exact = cli_text(cli_at(device_of(root, 0), "output_sha256"));
	static const char *const precision[] = {"float32", "float32", "tf32", "float16", "float32"};
	for (size_t i = 1; i < 5; i++) {
		json_t *device = device_of(root, i);
		cr_assert_str_eq(cli_text(cli_at(device, "kind")), "analytical");
		cr_assert_str_eq(cli_text(cli_at(device, "precision")), precision[i]);
		cr_assert_eq(!strcmp(cli_text(cli_at(device, "output_sha256")), exact),
			     !strcmp(precision[i], "float32"));
		cr_assert(json_is_null(cli_at(cli_at(device, "totals"), "cycles")) && total(device, "seconds") > 0 &&
			  total(device, "energy_j") > 0);
		if (!strcmp(precision[i], "float32"))
			continue;
		const double db = cli_number(cli_at(cli_at(device, "accuracy"), "sqnr_db"));
		cr_assert(db > 50 && db < 90, "%s: %g dB", precision[i], db);
	}
	/* half the bytes and sixteen times the products */
	cr_assert_lt(total(device_of(root, 3), "seconds"), total(device_of(root, 1), "seconds"));
	json_decref(root);
}

Test(analytical, tables_mark_its_times_as_modelled)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices", "gpu_h100",
				      "--timing-only");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "analytical:") && cli_says(r.out, "modelled or assumed, not measured") &&
		  cli_says(r.out, "energy assumed:tdp") && !cli_says(r.out, "measured on this computer"));
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "64", "-n", "64", "-k", "64", "--devices",
		    "gpu_k80");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "analytical:"), "%s", r.out);
	cli_free(&r);
}

/* What a machine leaves to the host follows the host's figures; what the machine does itself does not. */
Test(analytical, the_host_can_be_set)
{
	json_t *plain = run_json((const char *[]){"compare", "digits", "--devices", "tpu_v1", "--timing-only", "--json",
						  "-", "--quiet", NULL});
	json_t *slow = run_json((const char *[]){"compare", "digits", "--devices", "tpu_v1", "--timing-only", "--json",
						 "-", "--quiet", "--set", "host.overhead_seconds=1e-4", "--set",
						 "host.energy.idle_watts=100", NULL});
	json_t *a = device_of(plain, 0), *b = device_of(slow, 0);
	cr_assert_float_eq(total(b, "host_seconds") - total(a, "host_seconds"), 3 * 2 * 99e-6, 1e-9,
			   "two conversions in each of three batches");
	cr_assert_eq(total(a, "cycles"), total(b, "cycles"));
	cr_assert_gt(total(b, "energy_j"), total(a, "energy_j"));
	cr_assert_str_eq(cli_text(cli_at(cli_at(plain, "host"), "name")), "host");
	cr_assert_eq(cli_number(cli_at(cli_at(cli_at(slow, "host"), "settings"), "overhead_seconds")), 1e-4);
	cr_assert_str_neq(cli_text(cli_at(cli_at(plain, "host"), "machine_sha256")),
			  cli_text(cli_at(cli_at(slow, "host"), "machine_sha256")));
	json_decref(plain);
	json_decref(slow);
}

/* The host as a file to edit, and under another name. */
Test(analytical, the_host_can_be_edited_as_a_file)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "devices", "host", "--yaml");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_write(folder, "mine.yaml", r.out, r.out_bytes);
	cli_free(&r);
	struct cli_result shipped = cli_run(&options, "compare", "digits", "--devices", "tpu_v1", "--timing-only");
	struct cli_result own = cli_run(&options, "compare", "digits", "--devices", "tpu_v1", "--timing-only", "--host",
					"@/mine.yaml");
	cr_assert_str_eq(own.out, shipped.out);
	cli_free(&own);
	cli_free(&shipped);
	const struct cli_refusal cases[] = {
		{2, "cannot be the host", {"compare", "digits", "--devices", "tpu_v1", "--host", "diannao"}},
		{2,
		 "--host nobody: there is no device 'nobody'",
		 {"compare", "digits", "--devices", "tpu_v1", "--host", "nobody"}},
		{2, "host cannot be a device", {"compare", "digits", "--devices", "tpu_v1,host"}},
		{2, "expected another `name:`", {"compare", "digits", "--devices", "@/mine.yaml"}},
		{2,
		 "--set host.host_link.lanes=8: the host has no link to itself",
		 {"compare", "digits", "--devices", "tpu_v1", "--set", "host.host_link.lanes=8"}},
		{2,
		 "--host gpu_k80: its host_link.name is 'PCIe Gen3 x16'",
		 {"compare", "digits", "--devices", "tpu_v1", "--host", "gpu_k80"}},
		{2,
		 "there is no parameter 'core'; the nearest is 'cores'",
		 {"compare", "digits", "--devices", "tpu_v1", "--set", "host.core=1"}},
		{2,
		 "no device here has this name",
		 {"layer", "gemm", "-m", "1", "-n", "1", "-k", "1", "--devices", "tpu_v1", "--set", "host.cores=1"}},
		{2,
		 "no device here has this name",
		 {"inspect", "digits", "--devices", "tpu_v1", "--set", "host.cores=1"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* Figures that decide the time have no default. */
Test(analytical, figures_that_decide_the_time_are_required)
{
	static const char *const must[] = {"cores", "clock_hz", "macs_per_cycle.f32", "vectors.lanes",
					   "memory.bytes_per_second"};
	static const char *const lines[] = {"cores: 2\n", "clock_hz: 1e9\n", "macs_per_cycle:\n  f32: 8\n",
					    "vectors:\n  lanes: 8\n", "memory:\n  bytes_per_second: 1e10\n"};
	char folder[CLI_PATH], text[400];
	cli_folder(folder);
	for (int left_out = 0; left_out <= 5; left_out++) {
		size_t used = (size_t)snprintf(text, sizeof text, "driver: processor\nname: mine\n");
		for (int i = 0; i < 5; i++)
			if (i != left_out)
				used += (size_t)snprintf(text + used, sizeof text - used, "%s", lines[i]);
		cli_write(folder, "mine.yaml", text, used);
		struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "layer", "gemm", "-m", "4",
					      "-n", "4", "-k", "4", "--devices", "@/mine.yaml");
		cr_assert_eq(r.status, left_out == 5 ? 0 : 3, "%s", r.err);
		cr_assert(left_out == 5 ? cli_says(r.out, "energy absent") : strstr(r.err, must[left_out]) != NULL,
			  "%s%s", r.out, r.err);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* Each layer's time is that of its parts, of which the greatest is what holds it up; there are no cycles. */
Test(analytical, bound_names_what_takes_the_time)
{
	static const char *const parts[] = {"arithmetic_ps", "cache_ps", "memory_ps", "start_ps"};
	static const char *const bounds[] = {"arithmetic", "caches", "memory", "start"};
	json_t *root = run_json((const char *[]){"compare", "bert_base", "--devices", "cpu_haswell_e5_2699v3",
						 "--timing-only", "--json", "-", NULL});
	json_t *layers = cli_at(device_of(root, 0), "layers"), *layer;
	int seen[4] = {0};
	size_t i;
	json_array_foreach (layers, i, layer) {
		json_t *counters = cli_at(layer, "counters");
		double sum = 0, maximum = 0;
		int greatest = -1;
		cr_assert(json_is_null(cli_at(layer, "cycles")));
		if (strcmp(cli_text(cli_at(layer, "role")), "ran") || !json_object_size(counters))
			continue;
		for (int p = 0; p < 4; p++) {
			const double part = cli_number(cli_at(counters, parts[p]));
			sum += part;
			greatest = part > maximum ? p : greatest;
			maximum = part > maximum ? part : maximum;
		}
		cr_assert_float_eq(sum, 1e12 * cli_number(cli_at(layer, "seconds")), 4 + 1e-9 * sum);
		cr_assert_str_eq(cli_text(cli_at(layer, "bound")), bounds[greatest]);
		seen[greatest]++;
	}
	cr_assert(seen[0] && seen[2] && seen[3]);
	json_decref(root);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices", "gpu_a100",
				      "--timing-only", "--layers");
	cr_assert(cli_says(r.out, "TIME OF gpu_a100 ARITHMETIC CACHE MEMORY START"), "%s", r.out);
	cli_free(&r);
	const struct cli_refusal refusal = {
		2,
		"--sort cycles: gpu_a100 has no cycles",
		{"compare", "digits", "--devices", "gpu_a100", "--timing-only", "--sort", "cycles"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_check_refusals(folder, &refusal, 1);
	cli_remove_folder(folder);
}

/* Roofs are the figures, and a network on an analytical device is below them. */
Test(analytical, networks_are_below_the_roofs)
{
	json_t *root = run_json(
		(const char *[]){"roofline", "digits", "--devices", "cpu_haswell_e5_2699v3", "--json", "-", NULL});
	json_t *device = device_of(root, 0);
	cr_assert_float_eq(cli_number(cli_at(cli_at(device, "memory"), "bytes_per_second")), 51e9, 1);
	json_t *roof = json_array_get(cli_at(device, "roofs"), 0);
	cr_assert_float_eq(cli_number(cli_at(roof, "peak_ops_per_second")), 2 * 18 * 2.3e9 * 16, 1e3);
	json_decref(root);
}
