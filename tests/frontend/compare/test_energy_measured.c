/* SPDX-License-Identifier: MIT
 *
 * Promises of the energy of real devices over the whole path, from a fake powercap tree to the report: the meter runs
 * over repeats of at least its shortest time, several packages are summed, the joules are the mean power times the
 * measured time, idle power stands beside them and is in no sum; where nothing can be measured the energy is assumed
 * from what the user gave, layer by layer, or absent with the reason, and never 0. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "npulab/single_layer.h"
#include "tests/kit/cli_json.h"

static char root[CLI_PATH];
static atomic_bool stop_ticking;
static atomic_llong ticks;
static pthread_t ticker;

static void write_zone(int zone, const char *file, const char *text)
{
	char path[CLI_PATH + 100], name[60];
	snprintf(path, sizeof path, "%s/intel-rapl:%d", root, zone);
	mkdir(path, 0755);
	snprintf(name, sizeof name, "intel-rapl:%d/%s", zone, file);
	cli_write_text(root, name, text);
}

static void set_counter(int zone, long long value)
{
	char path[CLI_PATH + 100], text[32];
	snprintf(path, sizeof path, "%s/intel-rapl:%d/energy_uj", root, zone);
	int fd = open(path, O_WRONLY), n = snprintf(text, sizeof text, "%020lld\n", value);
	if (fd < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		perror(path);
	close(fd);
}

/* Package 0 counts 1 uJ a tick and package 1 a joule, so that their sum tells both. */
static void *tick(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop_ticking)) {
		long long n = atomic_fetch_add(&ticks, 1) + 1;
		set_counter(0, n);
		set_counter(1, n * 1000000);
		usleep(1000);
	}
	return NULL;
}

static void start_ticking(void)
{
	cli_folder(root);
	for (int zone = 0; zone < 2; zone++) {
		write_zone(zone, "name", zone ? "package-1\n" : "package-0\n");
		write_zone(zone, "max_energy_range_uj", "262143328850000\n");
		write_zone(zone, "energy_uj", "00000000000000000000\n");
	}
	atomic_store(&stop_ticking, false);
	atomic_store(&ticks, 0);
	cr_assert_eq(pthread_create(&ticker, NULL, tick, NULL), 0);
}

static void stop(void)
{
	atomic_store(&stop_ticking, true);
	pthread_join(ticker, NULL);
	cli_remove_folder(root);
}

/* What a meter counted: as many ticks of each package, within the two that a reading may lie between. */
static void check_metered(double joules, double seconds, int repeats, int passes)
{
	double micro = rint(1e6 * joules), second = floor(micro / 1e6), first = micro - 1e6 * second;
	cr_assert(second > 0 && second <= (double)atomic_load(&ticks), "%g J", joules);
	cr_assert_float_eq(first, second, 3, "%g of package 0, %g of package 1", first, second);
	cr_assert(seconds >= 0.1, "%g s are too short for the counter", seconds);
	cr_assert(repeats >= passes && passes > 0, "%d repeats, %d of them timed", repeats, passes);
}

static void check_report(const struct npl_device_report *r)
{
	const struct npl_energy_report *e = &r->energy;
	check_metered(e->joules, e->seconds, e->repeats, r->passes);
	cr_assert_eq(r->run.n_energy, 1);
	cr_assert_str_eq(r->run.energy[0].component, "package");
	cr_assert_str_eq(r->run.energy[0].origin, "measured:rapl-pkg");
	cr_assert_float_eq(r->run.energy[0].joules, e->joules / e->seconds * r->run.device_seconds,
			   1e-9 * r->run.energy[0].joules);
	cr_assert(e->idle_watts_before > 0 && e->idle_watts_after > 0);
	cr_assert(strstr(e->note, "RAPL: package-0 and package-1, ") && strstr(e->note, " W idle before and ") &&
			  strstr(e->note, "not subtracted"),
		  "%s", e->note);
}

/* A layer of microseconds is repeated until the counter has run for long enough. */
Test(energy_measured, layer_is_repeated_for_the_meter)
{
	start_ticking();
	char set[CLI_PATH + 20];
	snprintf(set, sizeof set, "cpu.powercap=%s", root);
	struct npl_layer_spec spec = {.op = NPL_OP_GEMM, .x = npl_shape_of(2, 8, 16), .outputs = 8, .seed = 1};
	spec.attrs = (struct npl_attrs){.opset = 13, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	struct npl_compare_options options = {
		.device_names = (const char *[]){"cpu"}, .n_devices = 1, .set = (const char *[]){set}, .n_sets = 1};
	struct npl_comparison c;
	struct npl_err err = {0};
	cr_assert_eq(npl_single_layer(&spec, &options, &c, NULL, &err), 0, "%s", err.msg);
	check_report(&c.device[0]);
	cr_assert(
		isnan(npl_energy_sum(c.device[0].run.layer[0].result.energy, c.device[0].run.layer[0].result.n_energy)),
		"no single layer is measured");
	npl_comparison_free(&c);
	stop();
}

Test(energy_measured, network_from_the_command_line)
{
	start_ticking();
	char set[CLI_PATH + 20];
	snprintf(set, sizeof set, "cpu.powercap=%s", root);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices", "cpu,tpu_v1",
				      "--set", set, "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *json = cli_parse_json(r.out);
	cli_check_result(json);
	json_t *totals = cli_at(json, "devices.0.totals");
	double joules = cli_number(cli_at(totals, "metered_j")),
	       seconds = cli_number(cli_at(totals, "metered_seconds"));
	check_metered(joules, seconds, (int)cli_integer(cli_at(totals, "metered_passes")),
		      (int)cli_integer(cli_at(totals, "passes")));
	cr_assert_str_eq(cli_text(cli_at(totals, "energy_origin")), "measured:rapl-pkg");
	cr_assert(cli_near(cli_number(cli_at(totals, "energy_j")),
			   joules / seconds * cli_number(cli_at(totals, "seconds")), 1e-9));
	cr_assert(cli_near(cli_number(cli_at(totals, "power_w")), joules / seconds, 1e-9));
	cr_assert(cli_number(cli_at(totals, "idle_power_before_w")) > 0);
	cr_assert(cli_number(cli_at(totals, "idle_power_after_w")) > 0);
	json_t *simulated = cli_at(json, "devices.1.totals");
	cr_assert(json_is_null(cli_at(simulated, "energy_note")) && json_is_null(cli_at(simulated, "metered_j")) &&
		  json_is_null(cli_at(simulated, "idle_power_before_w")));
	json_decref(json);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8", "--devices", "cpu",
		    "--set", set);
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "energy measured:rapl-pkg: RAPL: package-0 and package-1"), "%s", r.out);
	cr_assert(!strchr(r.out, '~'), "what is measured has no mark: %s", r.out);
	cli_free(&r);
	stop();
}

/* In a placement the counters would see the simulation: not measured, but assumed where something is known. */
Test(energy_measured, placement_is_not_measured)
{
	start_ticking();
	char set[CLI_PATH + 20];
	snprintf(set, sizeof set, "cpu.powercap=%s", root);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "run", "digits", "--place", "Conv*=tpu_v1,*=cpu",
				      "--set", set, "--set", "cpu.tdp_watts=100", "--set", "cpu.tdp_cores=1", "--json",
				      "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *json = cli_parse_json(r.out);
	const char *note = cli_text(cli_at(json, "devices.0.totals.energy_note"));
	cr_assert(strstr(note, "the counters would see the other devices' work as well; TDP 100 W (as given)"), "%s",
		  note);
	cr_assert(strstr(cli_text(cli_at(json, "devices.0.totals.energy_origin")), "assumed:tdp"));
	json_decref(json);
	cli_free(&r);
	stop();
}

#define NOWHERE "--set", "cpu.powercap=/nowhere"

Test(energy_measured, assumed_energy_is_power_times_time_of_each_layer)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices", "cpu",
				      "--threads", "1", NOWHERE, "--set", "cpu.tdp_watts=120", "--set",
				      "cpu.tdp_cores=8", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *json = cli_parse_json(r.out), *layer;
	json_t *totals = cli_at(json, "devices.0.totals");
	size_t i;
	cr_assert_str_eq(cli_text(cli_at(totals, "energy_origin")), "assumed:tdp");
	cr_assert(cli_near(cli_number(cli_at(totals, "energy_j")), 15 * cli_number(cli_at(totals, "seconds")), 1e-9));
	json_array_foreach (cli_at(json, "devices.0.layers"), i, layer)
		if (!strcmp(cli_text(cli_at(layer, "role")), "ran"))
			cr_assert(cli_near(cli_number(cli_at(layer, "energy_j")),
					   15 * cli_number(cli_at(layer, "seconds")), 1e-9));
	const char *note = cli_text(cli_at(totals, "energy_note"));
	cr_assert(strstr(note, "there is no package counter below /nowhere") &&
			  strstr(note, "TDP 120 W (as given) x 1 core of 8"),
		  "%s", note);
	cr_assert(json_is_null(cli_at(totals, "metered_j")) && json_is_null(cli_at(totals, "metered_passes")));
	json_decref(json);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8", "--devices", "cpu",
		    NOWHERE, "--set", "cpu.tdp_watts=120", "--set", "cpu.tdp_cores=8");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "energy assumed:tdp: ") && strchr(r.out, '~'), "what is assumed is marked: %s",
		  r.out);
	cli_free(&r);
}

/* A machine file tells it as well; without a word the table has the model, or there is nothing and the reason. */
Test(energy_measured, absent_energy_has_a_reason)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8",
				      "--devices", "cpu", NOWHERE, "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *json = cli_parse_json(r.out), *totals = cli_at(json, "devices.0.totals");
	bool absent = !strcmp(cli_text(cli_at(totals, "energy_origin")), "absent");
	cr_assert(absent || !strcmp(cli_text(cli_at(totals, "energy_origin")), "assumed:tdp"));
	cr_assert_eq(json_is_null(cli_at(totals, "energy_j")), absent);
	cr_assert(strstr(cli_text(cli_at(totals, "energy_note")), absent ? "no TDP is known of" : "TDP "));
	json_decref(json);
	cli_free(&r);
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "mine.yaml",
		       "model: cpu\nname: cpu\npowercap: /nowhere\ntdp_watts: 90\ntdp_cores: 9\nthreads: 1\n");
	r = cli_run(&(struct cli_run_options){.folder = folder}, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8",
		    "--devices", "@/mine.yaml", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json = cli_parse_json(r.out);
	cr_assert(cli_near(cli_number(cli_at(json, "devices.0.totals.power_w")), 10, 1e-9));
	json_decref(json);
	cli_free(&r);
	cli_remove_folder(folder);
}

Test(energy_measured, wrong_settings_are_refused)
{
	static const struct cli_refusal cases[] = {
		{2,
		 "tdp_watts must be a number from 0 to 10000 W, got '-5'",
		 {"layer", "gemm", "-m", "8", "-n", "8", "-k", "8", "--devices", "cpu", "--set", "cpu.tdp_watts=-5"}},
		{2, "tdp_watts must be a number", {"devices", "cpu", "--yaml", "--set", "tdp_watts=nan"}},
		{2, "tdp_watts must be a number", {"devices", "cpu", "--yaml", "--set", "tdp_watts=much"}},
		{2, "tdp_cores must be a whole number", {"devices", "cpu", "--yaml", "--set", "tdp_cores=1.5"}},
		{2, "tdp_cores must be a whole number", {"devices", "cpu", "--yaml", "--set", "tdp_cores=-1"}},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
