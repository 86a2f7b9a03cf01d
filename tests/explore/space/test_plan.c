/* SPDX-License-Identifier: MIT
 *
 * Promises of plans: what each key means, lists of YAML in each form, later entries over earlier ones, and refusals
 * with file and line and the nearest name. */
#include "explore/space/metrics.h"
#include "tests/kit/sweep_plan.h"

static const struct sweep_axis *axis_of(const struct sweep_plan *plan, const char *key)
{
	int a = 0;
	while (a < plan->space.n_axes && strcmp(plan->space.axis[a].key[0], key) != 0)
		a++;
	cr_assert_lt(a, plan->space.n_axes, "no axis %s", key);
	return &plan->space.axis[a];
}

static void check_values(const struct sweep_axis *axis, const char *const *expected, int n)
{
	cr_assert_eq(axis->n_levels * axis->n_keys, n, "%s: %d values", axis->key[0], axis->n_levels * axis->n_keys);
	for (int i = 0; i < n; i++)
		cr_assert_str_eq(axis->value[i], expected[i], "%s: value %d", axis->key[0], i);
}
#define CHECK_VALUES(axis, ...)                                                                                        \
	check_values((axis), (const char *const[]){__VA_ARGS__},                                                       \
		     (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static const char whole[] = "name: a sweep\n"
			    "description: of all keys\n"
			    "model: [digits, mlp0]\n"
			    "device:\n"
			    "  - tpu_v1\n"
			    "  - diannao\n"
			    "batch: 1..8*2, 20\n"
			    "vary:\n"
			    "  tpu_v1.array.rows = tpu_v1.array.columns: [[64, 32], [128, 128], 256]\n"
			    "  diannao.clock_hz: 500e6..1e9+250e6\n"
			    "  host.cores: [4, 18]\n"
			    "  tpu_v1.weight_memory.preset: fixed, hbm2\n"
			    "set:\n"
			    "  tpu_v1.unified_buffer.bytes: 8 MiB\n"
			    "  host: {clock_hz: 2e9}\n"
			    "  clock_hz: 1 GHz\n"
			    "derive: {tpu_v1.accumulators.rows: 16 * array.rows}\n"
			    "constraint: [area_mm2 < 400, 'max(power_w, 3) < 75']\n"
			    "minimise: [time, energy_j / batch]\n"
			    "maximise: max(sqnr_db, 1), accuracy\n"
			    "method: random\n"
			    "points: 30\n"
			    "seed: 12\n"
			    "engine: rtl\n"
			    "host: host\n"
			    "labels: l.npy\n"
			    "input:\n"
			    "  - a.npy\n"
			    "  - y=b.npy\n"
			    "dim: {seq: 8, n: 2}\n"
			    "values: yes\n"
			    "layers: true\n";

Test(sweep_plan, has_the_axes_of_its_keys)
{
	struct sweep_plan *plan = plan_of(whole);
	const struct sweep_axis *axis = plan->space.axis;
	cr_assert_eq(plan->space.n_axes, 7);
	cr_assert_eq(plan->space.device_axis, SWEEP_DEVICE_AXIS);
	CHECK_VALUES(&axis[SWEEP_MODEL_AXIS], "digits", "mlp0");
	CHECK_VALUES(&axis[SWEEP_DEVICE_AXIS], "tpu_v1", "diannao");
	CHECK_VALUES(&axis[SWEEP_BATCH_AXIS], "1", "2", "4", "8", "20");
	const struct sweep_axis *array = axis_of(plan, "array.rows"), *clock = axis_of(plan, "clock_hz");
	const struct sweep_axis *cores = axis_of(plan, "host.cores"), *memory = axis_of(plan, "weight_memory.preset");
	cr_assert_eq(array->n_keys, 2);
	cr_assert_str_eq(array->key[1], "array.columns");
	CHECK_VALUES(array, "64", "32", "128", "128", "256", "256");
	CHECK_VALUES(clock, "500000000", "750000000", "1000000000");
	CHECK_VALUES(cores, "4", "18");
	CHECK_VALUES(memory, "fixed", "hbm2");
	cr_assert_eq(array->device, 0);
	cr_assert_eq(clock->device, 1);
	cr_assert_eq(cores->device, -1);
	cr_assert_eq(memory->device, 0);
	plan_free(plan);
}

Test(sweep_plan, has_what_its_other_keys_say)
{
	struct sweep_plan *plan = plan_of(whole);
	cr_assert_str_eq(plan->name, "a sweep");
	cr_assert_str_eq(plan->description, "of all keys");
	cr_assert_eq(plan->n_settings, 3);
	cr_assert_str_eq(plan->setting[0].key, "unified_buffer.bytes");
	cr_assert_str_eq(plan->setting[0].value, "8388608");
	cr_assert_eq(plan->setting[0].device, 0);
	cr_assert_str_eq(plan->setting[1].key, "host.clock_hz");
	cr_assert_eq(plan->setting[1].device, -1);
	cr_assert_str_eq(plan->setting[2].key, "clock_hz");
	cr_assert_eq(plan->setting[2].device, -1);
	cr_assert_eq(plan->derived.n, 1);
	cr_assert_str_eq(plan->derived.formula[0].key, "accumulators.rows");
	cr_assert_eq(plan->derived.formula[0].device, 0);
	cr_assert_eq(plan->constraints.n, 2);
	cr_assert_str_eq(plan->constraints.formula[1].expression.text, "max(power_w, 3) < 75");
	static const char *const objectives[] = {"seconds", "energy_j / batch", "max(sqnr_db, 1)", "top1_accuracy"};
	cr_assert_eq(plan->objectives.n, 4);
	for (int i = 0; i < 4; i++) {
		cr_assert_str_eq(plan->objectives.formula[i].expression.text, objectives[i]);
		cr_assert_eq(plan->objectives.formula[i].is_maximised, i >= 2);
	}
	cr_assert(plan->method == SWEEP_RANDOM && plan->points == 30 && plan->seed == 12);
	cr_assert_str_eq(plan->engine, "rtl");
	cr_assert_str_eq(plan->host, "host");
	cr_assert_str_eq(plan->labels, "l.npy");
	cr_assert_eq(plan->inputs.n, 2);
	cr_assert_str_eq(plan->inputs.text[1], "y=b.npy");
	cr_assert_eq(plan->n_dims, 2);
	cr_assert_str_eq(plan->dim[0].name, "seq");
	cr_assert_eq(plan->dim[0].value, 8);
	cr_assert(plan->values && plan->layers);
	plan_free(plan);
}

Test(sweep_plan, has_defaults)
{
	struct sweep_plan *plan = plan_of("model: digits\ndevice: tpu_v1\nvalues: no\n");
	cr_assert_eq(plan->space.n_axes, SWEEP_FIRST_VARIED);
	CHECK_VALUES(&plan->space.axis[SWEEP_BATCH_AXIS], "");
	cr_assert(plan->method == SWEEP_GRID && !plan->points && plan->seed == 1);
	cr_assert_not(plan->values || plan->layers || plan->engine || plan->host || plan->name);
	cr_assert_eq(plan->objectives.n + plan->constraints.n + plan->derived.n + plan->n_settings, 0);
	plan_free(plan);
}

/* The command line over the file, the later option over the earlier one; constraints add up. */
Test(sweep_plan, takes_options_over_the_file)
{
	static const struct sweep_entry entries[] = {{"model", "digits", "p:1", true},
						     {"device", "diannao", "p:2", true},
						     {"vary.array.rows = array.columns", "64,128", "p:3", true},
						     {"set.clock_hz", "1e9", "p:4", true},
						     {"constraint", "area_mm2 < 5", "p:5", true},
						     {"minimise", "seconds, energy_j", "p:6", true},
						     {"maximise", "sqnr_db", "p:7", true},
						     {"points", "7", "p:8", true},
						     {"method", "sobol", "p:9", true},
						     {"device", "tpu_v1", "--device", false},
						     {"vary.array.rows=array.columns", "32", "--vary", false},
						     {"vary.clock_hz", "5e8,6e8", "--vary", false},
						     {"set.clock_hz", "2e9", "--set", false},
						     {"set.clock_hz", "3e9", "--set", false},
						     {"constraint", "power_w < 7", "--constraint", false},
						     {"minimise", "edp", "--minimise", false},
						     {"points", "9", "--points", false},
						     {"points", "1e2", "--points", false}};
	struct sweep_plan *plan = calloc(1, sizeof *plan);
	struct npl_err err = {0};
	cr_assert(plan);
	cr_assert_eq(sweep_plan_read(entries, sizeof entries / sizeof *entries, plan, &err), 0, "%s", err.msg);
	CHECK_VALUES(&plan->space.axis[SWEEP_DEVICE_AXIS], "tpu_v1");
	CHECK_VALUES(axis_of(plan, "array.rows"), "32", "32");
	cr_assert_eq(plan->space.n_axes, SWEEP_FIRST_VARIED + 2);
	cr_assert_eq(plan->n_settings, 1);
	cr_assert_str_eq(plan->setting[0].value, "3e9");
	cr_assert_eq(plan->constraints.n, 2);
	cr_assert_eq(plan->objectives.n, 2);
	cr_assert_str_eq(plan->objectives.formula[0].expression.text, "sqnr_db");
	cr_assert_str_eq(plan->objectives.formula[1].expression.text, "edp_js");
	cr_assert_eq(plan->points, 100);
	plan_free(plan);
}

Test(sweep_plan, knows_figures_by_short_names)
{
	static const char *const names[][2] = {{"time", "seconds"},  {"energy", "energy_j"},
					       {"edp", "edp_js"},    {"power", "power_w"},
					       {"area", "area_mm2"}, {"accuracy", "top1_accuracy"}};
	for (int i = 0; i < 6; i++) {
		cr_assert_str_eq(sweep_metric_full_name(names[i][0]), names[i][1]);
		cr_assert(sweep_metric_of(names[i][0]) >= 0);
		cr_assert_eq(sweep_metric_of(names[i][0]), sweep_metric_of(names[i][1]));
	}
	for (int m = 0; m < SWEEP_METRICS; m++)
		cr_assert_eq(sweep_metric_of(sweep_metric_info[m].name), m);
	cr_assert_eq(sweep_metric_of("times"), -1);
}

#define BASE "model: digits\ndevice: tpu_v1\n"

static const struct {
	const char *text, *message; /* '@' at the beginning: behind file and line 3 */
} refusals[] = {
	{BASE "vari: {array.rows: 1..2}\n", "@a plan has no key 'vari.array.rows'; the nearest is 'vary'"},
	{BASE "models: digits\n", "@a plan has no key 'models'; the nearest is 'model'"},
	{BASE "qwertzuiop: digits\n", "@a plan has no key 'qwertzuiop'"},
	{BASE "vary: 5\n", "@'vary': expected keys below it"},
	{BASE "set: [array.rows]\n", "@'set': expected keys below it"},
	{BASE "method: sobul\n", "@there is no method 'sobul'; the nearest is 'sobol'"},
	{BASE "points: 0\n", "@'0': expected a whole number from 1 to 2^53"},
	{BASE "points: 1.5\n", "@'1.5': expected a whole number"},
	{BASE "points: 1e300\n", "@'1e300': expected a whole number"},
	{BASE "points: many\n", "@'many': expected a whole number"},
	{BASE "seed: -1\n", "@'-1': expected a whole number from 0 to 2^53"},
	{BASE "seed: 9007199254740994\n", "@'9007199254740994': expected a whole number"},
	{BASE "values: maybe\n", "@'maybe': expected true or false"},
	{BASE "batch: 0..3\n", "@batch '0': expected a whole number from 1 to 1048576"},
	{BASE "batch: 1.5\n", "@batch '1.5': expected a whole number"},
	{BASE "batch: 1048577\n", "@batch '1048577': expected a whole number"},
	{BASE "dim: {n: x}\n", "@'x': expected a whole number from 0 on"},
	{BASE "vary: {array.rows: '1,1'}\n", "@the value '1' stands twice"},
	{BASE "vary: {array.rows: 5..1}\n", "@'5..1': a range goes upwards"},
	{BASE "vary: {array.rows=: 5}\n", "@'array.rows=': expected a parameter, or several with '=' between them"},
	{BASE "vary: {a=b=c=d=e=f=g=h=i: 5}\n", "expected at most 8 parameters that move together"},
	{BASE "vary: {array.rows = array.rows: 5}\n", "@'array.rows' stands twice"},
	{BASE "vary: {a=b: [[1, 2, 3]]}\n", "@'1:2:3' has 3 parts, expected one or 2: a..."},
	{BASE "vary: {array.rows: 1, array.rows=array.columns: 2}\n", "@'array.rows' is varied twice, first at "},
	{BASE "vary: {array.rows: 1, tpu_v1.array.rows: 2}\n", "@'array.rows' is varied twice, first at "},
	{BASE "vary: {tpu_v1.array.rows: 1, array.rows: 2}\n", "@'array.rows' is varied twice, first at "},
	{BASE "vary: {array.rows: 1}\nderive: {array.rows: 2}\n", "'array.rows' cannot be derived: it is varied at "},
	{BASE "vary: {array.row: 1..2}\n", "@tpu_v1 has no parameter 'array.row'; the nearest is 'array.rows'"},
	{BASE "vary: {tpu_v1.array.row: 1..2}\n", "@tpu_v1 has no parameter 'array.row'"},
	{BASE "vary: {host.core: 1..2}\n", "@host has no parameter 'core'; the nearest is 'cores'"},
	{BASE "vary: {tpu_v1.array.rows = host.cores: 1..2}\n",
	 "@'array.rows' and 'host.cores' are of different machines"},
	{BASE "vary: {array.rows = batch: 1..2}\n", "@'batch' cannot move together with a parameter"},
	{BASE "set: {array.row: 1}\n", "@tpu_v1 has no parameter 'array.row'"},
	{BASE "derive: {array.row: 1}\n", "@tpu_v1 has no parameter 'array.row'"},
	{BASE "derive: {array.rows: 2 *}\n", "@'2 *': expected a number, a name or '('"},
	{BASE "derive: {array.rows: seconds}\n", "@'seconds': there is no parameter 'seconds'"},
	{BASE "constraint: array.row > 5\n",
	 "there is no parameter or result 'array.row'; the nearest is 'array.rows'"},
	{BASE "constraint: [power_w > 5, powers_w > 5]\n",
	 "@'powers_w > 5': there is no parameter or result 'powers_w'; the nearest is 'power_w'"},
	{BASE "constraint: [power_w > 5, power_w >]\n", "@'power_w >': expected a number"},
	{BASE "minimise: secnds\n",
	 "@'secnds': there is no result or varied parameter 'secnds'; the nearest is 'seconds'"},
	{BASE "minimise: seconds,\n", "@'': expected a number"},
	{BASE "minimise: [cycles, cycles, cycles, cycles, cycles, cycles, cycles, cycles, cycles]\n",
	 "@expected at most 8 objectives"},
	{BASE "model: [digits, [a]\n", "expected"},
	{BASE "minimise: {a: 1}\n", "@a plan has no key 'minimise.a'"},
	{BASE "device: [tpu_v1]\n", "@'device' is set twice (first in line 2)"},
	{BASE "batch: []\n", "@an empty list, expected values"},
	{BASE "batch: [[[1]]]\n", "@a list within a list within a list"},
	{BASE "batch: [{a: 1}]\n", "@a mapping in a list, expected values"},
	{"device: tpu_v1\n", "the plan names no model"},
	{"model: digits\n", "the plan names no device"},
	{BASE "points: 5\n", "points: the method grid runs every point"},
	{BASE "method: random\n", "random: expected points (--points), how many the method shall choose"},
	{"model: digits\ndevice: tpu_v11\n", ":2: there is no device 'tpu_v11'; the nearest is 'tpu_v1'"},
};

/* Every refusal is one line, begins with the file and blames the input. */
Test(sweep_plan, refuses_with_file_and_line)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		struct sweep_plan *plan = calloc(1, sizeof *plan);
		struct npl_err err = {0};
		const char *expected = refusals[i].message;
		char in_line[200];
		cr_assert(plan);
		snprintf(in_line, sizeof in_line, ":3: %s", expected + 1);
		expected = *expected == '@' ? in_line : expected;
		cr_expect_eq(plan_read(refusals[i].text, true, plan, &err), NPL_EINPUT, "%s: %d, %s", refusals[i].text,
			     err.code, err.msg);
		cr_expect(strstr(err.msg, expected), "%s: expected '%s' in: %s", refusals[i].text, expected, err.msg);
		cr_expect(!strncmp(err.msg, "/proc/self/fd/", 14) && !strchr(err.msg, '\n'), "%s", err.msg);
		plan_free(plan);
	}
}

/* Writes a plan with a list of n items of one key. */
static int read_many(const char *before, const char *item, int n, struct npl_err *err)
{
	struct sweep_plan *plan = calloc(1, sizeof *plan);
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	cr_assert(plan && out);
	fprintf(out, BASE "%s", before);
	for (int i = 0; i < n; i++)
		fprintf(out, item, i, i);
	fclose(out);
	const int rc = plan_read(text, false, plan, err);
	free(text);
	plan_free(plan);
	return rc;
}

Test(sweep_plan, has_limits)
{
	static const struct {
		const char *before, *item;
		int most;
		const char *message;
	} cases[] = {{"vary:\n", "  a%d: 1..2\n", SWEEP_AXES - SWEEP_FIRST_VARIED, "expected at most 61 axes"},
		     {"set:\n", "  a%d: 1\n", SWEEP_PLAN_LIST, "expected at most 64 settings"},
		     {"derive:\n", "  a%d: 1\n", SWEEP_PLAN_LIST, "expected at most 64 of them"},
		     {"constraint:\n", "  - a%d > 1\n", SWEEP_PLAN_LIST, "expected at most 64 of them"},
		     {"maximise:\n", "  - a%d\n", SWEEP_OBJECTIVES, "expected at most 8 objectives"},
		     {"input:\n", "  - a%d\n", SWEEP_PLAN_LIST, "expected at most 64 of them"},
		     {"dim:\n", "  a%d: 1\n", SWEEP_PLAN_LIST, "expected at most 64 dimensions"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_err err = {0};
		cr_expect_eq(read_many(cases[i].before, cases[i].item, cases[i].most, &err), 0, "%s", err.msg);
		cr_expect_eq(read_many(cases[i].before, cases[i].item, cases[i].most + 1, &err), NPL_EINPUT);
		cr_expect(strstr(err.msg, cases[i].message), "%s", err.msg);
	}
}
