/* SPDX-License-Identifier: MIT
 *
 * Promises of the evaluator: the figures of a point are those that a comparison of the same machine prints; settings of
 * the plan, of the point and derived ones reach the machine; constraints are looked at before the run and after it; a
 * point that cannot run says why; and what stays open from point to point changes nothing. */
#include "explore/evaluate/evaluator.h"

#include "tests/kit/cli_json.h"
#include "tests/kit/sweep_plan.h"

/* Runs a point of a plan of its own. The layers go with the evaluator. */
static struct sweep_outcome run_point(const char *text, const struct sweep_parameter *parameter, int n)
{
	struct sweep_plan *plan = plan_of(text);
	struct sweep_evaluator *evaluator;
	struct sweep_outcome outcome;
	struct npl_err err = {0};
	const struct sweep_request request = {.n = n, .parameter = parameter};
	cr_assert_eq(sweep_evaluator_open(plan, &evaluator, &err), 0, "%s", err.msg);
	sweep_evaluate(evaluator, &request, &outcome);
	sweep_evaluator_close(evaluator);
	plan_free(plan);
	outcome.layer = NULL;
	return outcome;
}

static struct sweep_outcome run_plan(const char *text)
{
	return run_point(text, NULL, 0);
}

/* Where the JSON of a comparison has a figure, and whether it is there a sum over the batches. */
static const struct {
	enum sweep_metric metric;
	const char *path;
	bool is_sum;
} figures[] = {{SWEEP_METRIC_seconds, "totals.latency_s", false},
	       {SWEEP_METRIC_samples_per_second, "totals.inferences_per_second", false},
	       {SWEEP_METRIC_cycles, "totals.cycles", true},
	       {SWEEP_METRIC_energy_j, "totals.energy_j", true},
	       {SWEEP_METRIC_power_w, "totals.power_w", false},
	       {SWEEP_METRIC_area_mm2, "totals.area_mm2", false},
	       {SWEEP_METRIC_ops_per_second, "totals.ops_per_second", false},
	       {SWEEP_METRIC_utilization, "totals.utilization", false},
	       {SWEEP_METRIC_host_seconds, "totals.host_seconds", true},
	       {SWEEP_METRIC_host_link_seconds, "totals.host_link_seconds", true},
	       {SWEEP_METRIC_overlap_seconds, "totals.overlap_seconds", true},
	       {SWEEP_METRIC_dram_bytes, "totals.bytes.dram", true},
	       {SWEEP_METRIC_link_bytes, "totals.bytes.host_link", true},
	       {SWEEP_METRIC_peak_buffer_bytes, "totals.peak_buffer_bytes", false},
	       {SWEEP_METRIC_saturations, "accuracy.saturations", false},
	       {SWEEP_METRIC_max_abs_error, "accuracy.max_abs_error", false},
	       {SWEEP_METRIC_sqnr_db, "accuracy.sqnr_db", false},
	       {SWEEP_METRIC_top1_agreement, "accuracy.top1_agreement", false},
	       {SWEEP_METRIC_top1_accuracy, "accuracy.top1_accuracy", false}};

/* Holds an outcome against the device of a comparison. */
static void check_figures(const struct sweep_outcome *outcome, json_t *root, const char *label)
{
	json_t *device = cli_at(root, "devices.0");
	const double batches = cli_number(cli_at(root, "model.batches")),
		     batch = cli_number(cli_at(root, "model.batch"));
	const double *m = outcome->metrics.value;
	cr_assert_eq(outcome->status, SWEEP_DONE, "%s: %s", label, outcome->reason);
	cr_assert(outcome->feasible && !*outcome->reason, "%s: %s", label, outcome->reason);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		json_t *figure = cli_at(device, figures[i].path);
		const double is = m[figures[i].metric];
		const char *name = sweep_metric_info[figures[i].metric].name;
		if (json_is_null(figure)) {
			cr_assert(isnan(is), "%s: %s is %g", label, name, is);
			continue;
		}
		const double expected = cli_number(figure) / (figures[i].is_sum ? batches : 1);
		cr_assert(cli_near(is, expected, 1e-12), "%s: %s is %.17g, expected %.17g", label, name, is, expected);
	}
	cr_assert(cli_near(m[SWEEP_METRIC_samples_per_second], batch / m[SWEEP_METRIC_seconds], 1e-12), "%s", label);
	cr_assert(isnan(m[SWEEP_METRIC_energy_j]) ||
			  (cli_near(m[SWEEP_METRIC_energy_per_sample_j], m[SWEEP_METRIC_energy_j] / batch, 1e-12) &&
			   cli_near(m[SWEEP_METRIC_edp_js], m[SWEEP_METRIC_energy_j] * m[SWEEP_METRIC_seconds], 1e-12)),
		  "%s", label);
	cr_assert(isnan(m[SWEEP_METRIC_utilization]) ||
			  cli_near(m[SWEEP_METRIC_utilization] * m[SWEEP_METRIC_peak_ops_per_second] *
					   m[SWEEP_METRIC_device_seconds],
				   m[SWEEP_METRIC_ops_per_second] * m[SWEEP_METRIC_seconds], 1e-9),
		  "%s: the peak", label);
	cr_assert(cli_near(m[SWEEP_METRIC_device_seconds] + m[SWEEP_METRIC_host_seconds] +
				   m[SWEEP_METRIC_host_link_seconds] - m[SWEEP_METRIC_overlap_seconds],
			   m[SWEEP_METRIC_seconds], 1e-9),
		  "%s: the parts of the time", label);
}

/* A machine with settings, a network and a batch, into which its samples can be cut whole; what is set is varied in the
 * plan too. */
struct machine_case {
	const char *model, *device, *batch;
	const char *set[6]; /* "KEY=VALUE", those of the host with "host." */
};

static void check_case(const struct machine_case *c, bool values)
{
	char text[1000], settings[6][100], label[400];
	struct sweep_parameter parameter[6];
	const char *args[CLI_ARGUMENTS] = {"compare", c->model, "--devices", c->device, "--json", "-"};
	int n = 6, n_set = 0;
	snprintf(text, sizeof text, "model: %s\ndevice: %s\nvalues: %s\n%s%s\n", c->model, c->device,
		 values ? "true" : "false", *c->batch ? "batch: " : "", c->batch);
	snprintf(label, sizeof label, "%s on %s, batch %s", c->model, c->device, c->batch);
	if (!values)
		args[n++] = "--timing-only";
	if (*c->batch) {
		args[n++] = "--batch";
		args[n++] = c->batch;
	}
	for (; n_set < 6 && c->set[n_set]; n_set++) {
		const char *equals = strchr(c->set[n_set], '=');
		const bool of_host = !strncmp(c->set[n_set], "host.", 5);
		snprintf(settings[n_set], 100, "%s%s%s", of_host ? "" : c->device, of_host ? "" : ".", c->set[n_set]);
		args[n++] = "--set";
		args[n++] = settings[n_set];
		snprintf(label + strlen(label), sizeof label - strlen(label), ", %s", c->set[n_set]);
		/* The first is a setting of the plan, the second an axis with one value, the others are of the point.
		 * */
		const char *form = n_set == 0   ? "set:\n  %.*s: %s\n"
				   : n_set == 1 ? "vary:\n  %.*s: %s\n"
						: "  %.*s: 1, %s\n";
		snprintf(text + strlen(text), sizeof text - strlen(text), form, (int)(equals - c->set[n_set]),
			 c->set[n_set], equals + 1);
		parameter[n_set] = (struct sweep_parameter){strndup(c->set[n_set], (size_t)(equals - c->set[n_set])),
							    equals + 1};
	}
	json_t *root = cli_run_json(&(struct cli_run_options){0}, args);
	const struct sweep_outcome outcome = run_point(text, parameter + 2, n_set > 2 ? n_set - 2 : 0);
	check_figures(&outcome, root, label);
	json_decref(root);
	for (int i = 0; i < n_set; i++)
		free((char *)(uintptr_t)parameter[i].key);
}

static const struct machine_case timed[] = {
	{"digits", "tpu_v1", "", {NULL}},
	{"digits", "tpu_v1", "8", {NULL}},
	{"digits", "tpu_v1", "60", {"array.rows=64", "array.columns=32", "clock_hz=400e6"}},
	{"digits",
	 "tpu_v1",
	 "360",
	 {"weight_memory.preset=hbm2", "host.cores=4", "host.clock_hz=1e9", "precision=8x16"}},
	{"mlp0", "tpu_v1", "1", {"unified_buffer.bytes=8388608"}},
	{"mlp0", "tpu_v1", "200", {"host.cores=2", "issue.sync_cycles=0"}},
	{"lenet5", "systolic_16x16", "", {NULL}},
	{"lenet5", "systolic_16x16", "3", {"accumulators.rows=512", "array.rows=20"}},
	{"digits", "diannao", "", {NULL}},
	{"lenet5", "diannao", "2", {"clock_hz=500e6", "host.clock_hz=1e9"}},
	{"digits", "gpu_k80", "72", {NULL}},
	{"lenet5", "cpu_haswell_e5_2699v3", "", {"cores=4", "clock_hz=3e9"}},
	{"lstm0", "tpu_v1", "4", {NULL}},
};

Test(sweep_evaluator, gives_the_figures_of_a_comparison)
{
	for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
		check_case(&timed[i], false);
}

Test(sweep_evaluator, gives_the_figures_of_a_comparison_with_values)
{
	static const struct machine_case cases[] = {{"digits", "tpu_v1", "", {NULL}},
						    {"digits", "tpu_v1", "60", {"array.rows=64", "host.cores=4"}},
						    {"digits", "systolic_16x16", "180", {"precision=8x16"}}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_case(&cases[i], true);
}

#define TPU "model: digits\ndevice: tpu_v1\nbatch: 8\n"

static void check_same(const struct sweep_outcome *a, const struct sweep_outcome *b, const char *label)
{
	cr_assert(a->status == b->status && a->feasible == b->feasible, "%s: %s %s", label, a->reason, b->reason);
	cr_assert_str_eq(a->reason, b->reason);
	for (int m = 0; m < SWEEP_METRICS; m++) {
		const double x = a->metrics.value[m], y = b->metrics.value[m];
		cr_assert(isnan(x) ? isnan(y) : x == y, "%s: %s is %.17g and %.17g", label, sweep_metric_info[m].name,
			  x, y);
	}
}

/* A derived parameter is the same as the number that it gives; it sees parameters of the file, of the plan, of the
 * point and of the host, and those that were derived before it. */
Test(sweep_evaluator, derives_parameters)
{
	static const char *const cases[][2] = {
		{"derive: {array.rows: array.columns / 4}\n", "set: {array.rows: 64}\n"},
		{"set: {array.columns: 128}\nderive: {array.rows: array.columns / 4}\n",
		 "set: {array.columns: 128, array.rows: 32}\n"},
		{"vary: {array.columns: 128}\nderive: {array.rows: array.columns / 4}\n",
		 "set: {array.columns: 128, array.rows: 32}\n"},
		{"derive: {tpu_v1.array.rows: host.cores * 2, host.cores: batch / 2}\n",
		 "set: {array.rows: 36, host.cores: 4}\n"},
		{"derive: {array.rows: 2 ^ 6, array.columns: array.rows / 2, accumulators.rows: 64 * array.columns}\n",
		 "set: {array.rows: 64, array.columns: 32, accumulators.rows: 2048}\n"},
		{"derive: {clock_hz: 500M * (device == 'tpu_v1') + 1}\n", "set: {clock_hz: 500000001}\n"},
		{"derive: {clock_hz: 700M / 3 * 3}\n", "set: {clock_hz: 700e6}\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char derived[400], set[400];
		snprintf(derived, sizeof derived, TPU "%s", cases[i][0]);
		snprintf(set, sizeof set, TPU "%s", cases[i][1]);
		const struct sweep_outcome a = run_plan(derived), b = run_plan(set);
		cr_assert_eq(a.status, SWEEP_DONE, "%s: %s", derived, a.reason);
		check_same(&a, &b, derived);
	}
}

/* A setting of one machine does not reach the others. */
Test(sweep_evaluator, keeps_settings_of_machines_apart)
{
	static const struct sweep_parameter diannao = {"device", "diannao"};
	const struct sweep_outcome set = run_point(
		"model: digits\ndevice: [tpu_v1, diannao]\nset: {tpu_v1.clock_hz: 1e8}\n"
		"derive: {tpu_v1.array.rows: 8}\nvary: {tpu_v1.array.columns: 8}\n",
		&diannao, 1);
	const struct sweep_outcome alone = run_plan("model: digits\ndevice: diannao\n");
	check_same(&set, &alone, "diannao");
}

static const struct {
	const char *constraints;
	enum sweep_status status;
	bool feasible;
	const char *reason;
} constraints[] = {
	{"area_mm2 < 400", SWEEP_DONE, true, ""},
	{"area_mm2 < 300", SWEEP_EXCLUDED, false, "area_mm2 < 300"},
	{"array.rows * array.columns <= 64Ki", SWEEP_DONE, true, ""},
	{"array.rows * array.columns < 64Ki", SWEEP_EXCLUDED, false, "array.rows * array.columns < 64Ki"},
	{"seconds < 1", SWEEP_DONE, true, ""},
	{"seconds < 1e-9", SWEEP_DONE, false, "seconds < 1e-9"},
	{"[seconds < 1e-9, area_mm2 < 300]", SWEEP_EXCLUDED, false, "area_mm2 < 300"},
	{"[area_mm2 < 400, seconds < 1, power_w < 1]", SWEEP_DONE, false, "power_w < 1"},
	{"top1_accuracy > 0", SWEEP_DONE, false, "top1_accuracy > 0"}, /* not known without values */
	{"not (top1_accuracy < 0.5)", SWEEP_DONE, false, "not (top1_accuracy < 0.5)"},
	{"top1_accuracy > 0 or seconds < 1", SWEEP_DONE, true, ""},
	{"batch == 8 and host.cores == 18", SWEEP_DONE, true, ""},
	{"batch > 8", SWEEP_EXCLUDED, false, "batch > 8"},
	{"\"device == 'tpu_v1' and weight_memory.preset == 'fixed'\"", SWEEP_DONE, true, ""},
	{"\"model == 'mlp0'\"", SWEEP_EXCLUDED, false, "model == 'mlp0'"},
	{"tpu_v1.array.rows == 256", SWEEP_DONE, true, ""},
	{"log2(-1) > 0", SWEEP_EXCLUDED, false, "log2(-1) > 0"},
};

Test(sweep_evaluator, looks_at_constraints_before_and_after)
{
	for (size_t i = 0; i < sizeof constraints / sizeof *constraints; i++) {
		char text[300];
		snprintf(text, sizeof text, TPU "constraint: %s\n", constraints[i].constraints);
		const struct sweep_outcome o = run_plan(text);
		cr_expect(o.status == constraints[i].status && o.feasible == constraints[i].feasible, "%s: %s, %d, %s",
			  constraints[i].constraints, sweep_status_name[o.status], o.feasible, o.reason);
		cr_expect_str_eq(o.reason, constraints[i].reason);
		cr_expect_eq(isnan(o.metrics.value[SWEEP_METRIC_seconds]), o.status != SWEEP_DONE);
		cr_expect_not(isnan(o.metrics.value[SWEEP_METRIC_area_mm2]), "the area is known without a run");
	}
}

static const struct {
	const char *text, *reason;
} failures[] = {
	{TPU "set: {array.rows: 0}\n", "array.rows must be a whole number from 1"},
	{TPU "set: {array.rows: 1.5}\n", "array.rows must be a whole number"},
	{TPU "set: {host.cores: -1}\n", "host.cores"},
	{TPU "set: {unified_buffer.bytes: 1}\n", ""},
	{TPU "derive: {array.rows: 1 / 0}\n", "'1 / 0' is no number here"},
	{TPU "derive: {array.rows: log2(-1)}\n", "'log2(-1)' is no number here"},
	{TPU "derive: {array.rows: 2.5}\n", "array.rows must be a whole number"},
};

Test(sweep_evaluator, says_why_a_point_fails)
{
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
		const struct sweep_outcome o = run_plan(failures[i].text);
		cr_expect_eq(o.status, SWEEP_FAILED, "%s: %s", failures[i].text, sweep_status_name[o.status]);
		cr_expect(!o.feasible && *o.reason && strstr(o.reason, failures[i].reason), "%s: %s", failures[i].text,
			  o.reason);
		cr_expect(isnan(o.metrics.value[SWEEP_METRIC_seconds]));
	}
}

/* Points in a random order on one evaluator, in which machines, hosts and networks stay open, are those that an
 * evaluator of their own gives. */
Test(sweep_evaluator, gives_the_same_in_any_order)
{
	enum { POINTS = 12, RUNS = 60 };
	static const char text[] = "model: [digits, mlp0]\ndevice: [tpu_v1, diannao, gpu_k80]\nlayers: true\n"
				   "vary: {tpu_v1.array.rows: '64,128,0', host.cores: '2,18'}\nbatch: 1,5\n"
				   "derive: {tpu_v1.array.columns: array.rows / 2}\n";
	static const char *const models[] = {"digits", "mlp0"}, *const rows[] = {"64", "128", "0"};
	static const char *const devices[] = {"tpu_v1", "diannao", "gpu_k80"}, *const batches[] = {"1", "5"};
	struct sweep_parameter parameter[POINTS][5];
	struct sweep_outcome alone[POINTS];
	struct sweep_plan *plan = plan_of(text);
	struct sweep_evaluator *evaluator;
	struct npl_err err = {0};
	uint64_t rng = 77;
	for (int i = 0; i < POINTS; i++) {
		const int device = i % 3;
		const struct sweep_parameter all[] = {{"model", models[i / 3 % 2]},
						      {"device", devices[device]},
						      {"batch", batches[test_range(&rng, 0, 1)]},
						      {"host.cores", test_range(&rng, 0, 1) ? "2" : "18"},
						      {"array.rows", rows[i / 3 % 3]}};
		memcpy(parameter[i], all, sizeof all);
		alone[i] = run_point(text, parameter[i], device == 0 ? 5 : 4);
		cr_assert_eq(alone[i].status, device == 0 && i / 3 % 3 == 2 ? SWEEP_FAILED : SWEEP_DONE, "%s",
			     alone[i].reason);
	}
	cr_assert_eq(sweep_evaluator_open(plan, &evaluator, &err), 0, "%s", err.msg);
	for (int run = 0; run < RUNS; run++) {
		const int i = (int)test_range(&rng, 0, POINTS - 1);
		const struct sweep_request request = {.n = i % 3 == 0 ? 5 : 4, .parameter = parameter[i]};
		struct sweep_outcome outcome;
		double seconds = 0;
		sweep_evaluate(evaluator, &request, &outcome);
		check_same(&outcome, &alone[i], "in a random order, seed 77");
		for (int k = 0; k < outcome.n_layers; k++) {
			cr_assert(*outcome.layer[k].name && *outcome.layer[k].op && *outcome.layer[k].ran_on);
			seconds += outcome.layer[k].seconds;
		}
		cr_assert(cli_near(seconds - outcome.metrics.value[SWEEP_METRIC_overlap_seconds],
				   outcome.metrics.value[SWEEP_METRIC_seconds], 1e-9) ||
				  outcome.status == SWEEP_FAILED,
			  "the layers' times are the batch's");
	}
	sweep_evaluator_close(evaluator);
	plan_free(plan);
}

/* More networks than stay imported. */
Test(sweep_evaluator, imports_again_what_it_had_to_drop)
{
	struct sweep_plan *plan = plan_of("model: digits\ndevice: tpu_v1\nbatch: 1..40\n");
	struct sweep_evaluator *evaluator;
	struct npl_err err = {0};
	double seconds[41] = {0};
	cr_assert_eq(sweep_evaluator_open(plan, &evaluator, &err), 0, "%s", err.msg);
	for (int pass = 0; pass < 2; pass++)
		for (int batch = 1; batch <= 40; batch++) {
			char text[10];
			struct sweep_outcome outcome;
			snprintf(text, sizeof text, "%d", batch);
			const struct sweep_parameter parameter = {"batch", text};
			sweep_evaluate(evaluator, &(struct sweep_request){.n = 1, .parameter = &parameter}, &outcome);
			cr_assert_eq(outcome.status, SWEEP_DONE, "%s", outcome.reason);
			const double is = outcome.metrics.value[SWEEP_METRIC_seconds];
			cr_assert(!pass || seconds[batch] == is);
			cr_assert(pass || batch == 1 || is > seconds[1], "a larger batch takes longer");
			seconds[batch] = is;
		}
	sweep_evaluator_close(evaluator);
	plan_free(plan);
}

Test(sweep_evaluator, refuses_a_model_that_is_not_there)
{
	struct sweep_plan *plan = plan_of("model: [digits, dgits]\ndevice: tpu_v1\n");
	struct sweep_evaluator *evaluator;
	struct npl_err err = {0};
	cr_assert_neq(sweep_evaluator_open(plan, &evaluator, &err), 0);
	cr_assert(strstr(err.msg, "dgits") && strstr(err.msg, "digits"), "%s", err.msg);
	cr_assert_null(evaluator);
	plan_free(plan);
}
