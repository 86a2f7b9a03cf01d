/* SPDX-License-Identifier: MIT
 *
 * Promise: the energy of a run is told by whose it is (machine, its memory, waiting, host, link), the parts sum to the
 * whole, and a machine's power and operations per second are its own over its own time, so that a host beside it cannot
 * hide them. */
#include "tests/kit/cli_json.h"

#include <math.h>

static json_t *compare(const char *model, const char *devices, const char *set)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", model, "--devices", devices,
				      "--timing-only", "--json", "-", "--quiet", "--set", set);
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *root = json_loads(r.out, 0, NULL);
	cr_assert(root, "%s", r.out);
	cli_free(&r);
	return root;
}

static double part(json_t *totals, const char *name)
{
	return cli_number(cli_at(cli_at(totals, "energy_by_part"), name));
}

Test(energy_parts, sum_to_the_whole)
{
	static const char *const names[] = {"machine", "memory", "waiting", "host", "link"};
	json_t *root = compare("bert_base", "tpu_v1,diannao,gpu_k80", "tpu_v1.clock_hz=700000000");
	for (size_t d = 0; d < 3; d++) {
		json_t *device = json_array_get(cli_at(root, "devices"), d), *totals = cli_at(device, "totals");
		double sum = 0, listed[5] = {0};
		for (size_t p = 0; p < 5; p++)
			sum += part(totals, names[p]);
		cr_assert_float_eq(sum, cli_number(cli_at(totals, "energy_j")), 1e-9 * sum);
		size_t i;
		json_t *one;
		json_array_foreach (cli_at(totals, "energy"), i, one)
			for (size_t p = 0; p < 5; p++)
				if (!strcmp(cli_text(cli_at(one, "part")), names[p]))
					listed[p] += cli_number(cli_at(one, "joules"));
		for (size_t p = 0; p < 5; p++)
			cr_assert_float_eq(listed[p], part(totals, names[p]), 1e-9 * sum, "%s", names[p]);
		const double own = cli_number(cli_at(totals, "seconds")) +
				   cli_number(cli_at(totals, "overlap_seconds")) -
				   cli_number(cli_at(totals, "host_seconds")) -
				   cli_number(cli_at(totals, "host_link_seconds"));
		const double power = cli_number(cli_at(totals, "machine_power_w"));
		cr_assert_float_eq(power, (part(totals, "machine") + part(totals, "memory")) / own, 1e-6 * power);
		cr_assert_geq(cli_number(cli_at(totals, "machine_ops_per_second")) * 1.000001,
			      cli_number(cli_at(totals, "ops_per_second")) * (d == 2 ? 1 : 0));
	}
	json_decref(root);
}

/* Ten times the host's watts change its part and the machine's not at all. */
Test(energy_parts, the_host_is_apart)
{
	json_t *plain = compare("bert_base", "tpu_v1", "host.overlap=0"),
	       *hot = compare("bert_base", "tpu_v1", "host.energy.core_watts=57.7777778");
	json_t *a = cli_at(json_array_get(cli_at(plain, "devices"), 0), "totals"),
	       *b = cli_at(json_array_get(cli_at(hot, "devices"), 0), "totals");
	cr_assert_gt(part(b, "host"), 4 * part(a, "host"));
	cr_assert_eq(part(b, "machine"), part(a, "machine"));
	cr_assert_eq(cli_number(cli_at(b, "machine_power_w")), cli_number(cli_at(a, "machine_power_w")));
	const double power = cli_number(cli_at(a, "machine_power_w"));
	cr_assert(power > 28 && power < 45, "%g W of a chip that draws 28 to 40", power);
	json_decref(plain);
	json_decref(hot);
}

Test(energy_parts, tables_show_the_parts_of_energy)
{
	const struct cli_run_options plainly = {0};
	struct cli_result r = cli_run(&plainly, "compare", "digits", "--devices", "tpu_v1,diannao", "--timing-only");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "ENERGY OF A BATCH CHIP BOTTOM-UP MEMORY WAITING HOST LINK"), "%s", r.out);
	cr_assert(cli_says(r.out, "~331 mm2; energy calibrated:jouppi2017"), "%s", r.out);
	cr_assert(cli_says(r.out, "a byte of main memory takes 81.6 pJ on tpu_v1, 550 pJ on diannao"), "%s", r.out);
	cr_assert(cli_says(r.out, "of its memory modelled:dramsim3-ddr3-2133"), "%s", r.out);
	cr_assert(cli_says(r.out, "OPS/S, PEAK USED and POWER the chip and its memory while they work"), "%s", r.out);
	cr_assert(cli_says(r.out, "--host FILE changes it"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&plainly, "compare", "digits", "--devices", "tpu_v1", "--set", "tpu_v1.activity=counted");
	cr_assert(cli_says(r.out, "ENERGY OF A BATCH CHIP BOTTOM-UP BY DATA MEMORY"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&plainly, "layer", "gemm", "-m", "64", "-n", "64", "-k", "64", "--devices", "tpu_v1,cpu");
	cr_assert(cli_says(r.out, "ENERGY CHIP BOTTOM-UP MEMORY tpu_v1"), "%s", r.out);
	cli_free(&r);
	/* one memory, or two alike, need no word */
	r = cli_run(&plainly, "compare", "digits", "--devices", "tpu_v1,tpu_v1@array.rows=128", "--timing-only");
	cr_assert(!cli_says(r.out, "a byte of main memory"), "%s", r.out);
	cli_free(&r);
}
