/* SPDX-License-Identifier: MIT
 *
 * Promises of remembered simulations (core/memo.h) in sweeps: a point has the same figures, to the bit, whether what it
 * simulates is remembered from other points or not. Each parameter of the simulated machines is changed in turn, and
 * random points follow each other in any order. */
#include <string.h>

#include "core/memo.h"
#include "explore/evaluate/evaluator.h"
#include "npulab/params.h"
#include "sim/diannao/diannao/dn.h"
#include "sim/systolic/tpu_v1/tpu.h"
#include "tests/kit/support.h"
#include "tests/kit/sweep_plan.h"

#define MEMO_BYTES ((size_t)64 << 20)

static struct sweep_evaluator *open_evaluator(const struct sweep_plan *plan)
{
	struct sweep_evaluator *evaluator;
	struct npl_err err = {0};
	cr_assert_eq(sweep_evaluator_open(plan, &evaluator, &err), 0, "%s", err.msg);
	return evaluator;
}

/* Runs a point without anything that is remembered. */
static struct sweep_outcome run_fresh(struct sweep_evaluator *evaluator, const struct sweep_request *request)
{
	struct sweep_outcome outcome;
	npl_memo_allow(0);
	sweep_evaluate(evaluator, request, &outcome);
	npl_memo_allow(MEMO_BYTES);
	return outcome;
}

static void check_same(const struct sweep_outcome *is, const struct sweep_outcome *expected, const char *label)
{
	cr_assert_eq(is->status, expected->status, "%s: %s%s", label, is->reason, expected->reason);
	cr_assert_str_eq(is->reason, expected->reason, "%s", label);
	for (int m = 0; m < SWEEP_METRICS; m++)
		cr_assert_eq(memcmp(&is->metrics.value[m], &expected->metrics.value[m], sizeof(double)), 0,
			     "%s: %s is %.17g, expected %.17g", label, sweep_metric_info[m].name, is->metrics.value[m],
			     expected->metrics.value[m]);
}

/* Whether two outcomes differ in a figure of time or of traffic. */
static bool differs(const struct sweep_outcome *a, const struct sweep_outcome *b)
{
	return a->status != b->status ||
	       memcmp(&a->metrics.value[SWEEP_METRIC_cycles], &b->metrics.value[SWEEP_METRIC_cycles], sizeof(double)) !=
		       0 ||
	       memcmp(&a->metrics.value[SWEEP_METRIC_dram_bytes], &b->metrics.value[SWEEP_METRIC_dram_bytes],
		      sizeof(double)) != 0;
}

/* ---- Each parameter. */

/* What a walk over the parameters has met. */
struct walk {
	const struct sweep_plan *plan;
	struct sweep_evaluator *evaluator;
	/* A machine on which the other points are changes: parameters besides the one that is changed. */
	int n;
	struct sweep_parameter parameter[4];
	struct sweep_outcome base;
	int changed, done, moved;
};

/* Runs the machine itself, so that its simulations are remembered, and then with one other value. */
static void try_value(struct walk *walk, const char *key, const char *value)
{
	struct sweep_parameter parameter[5];
	char label[200];
	memcpy(parameter, walk->parameter, sizeof walk->parameter);
	parameter[walk->n] = (struct sweep_parameter){key, value};
	const struct sweep_request base = {.n = walk->n, .parameter = walk->parameter},
				   changed = {.n = walk->n + 1, .parameter = parameter};
	struct sweep_outcome first, is, again;
	snprintf(label, sizeof label, "%s=%s", key, value);
	sweep_evaluate(walk->evaluator, &base, &first);
	check_same(&first, &walk->base, label);
	sweep_evaluate(walk->evaluator, &changed, &is);
	sweep_evaluate(walk->evaluator, &changed, &again);
	const struct sweep_outcome fresh = run_fresh(walk->evaluator, &changed);
	check_same(&is, &fresh, label);
	check_same(&again, &fresh, label);
	walk->changed++;
	walk->done += fresh.status == SWEEP_DONE;
	walk->moved += fresh.status == SWEEP_DONE && differs(&fresh, &walk->base);
	sweep_evaluate(walk->evaluator, &base, &first); /* remembered for the next one */
}

/* Tries each word of a choice, of which "f32/float32" has two for one value. */
static void try_words(struct walk *walk, const struct npl_param *param)
{
	char words[300], *rest = words;
	snprintf(words, sizeof words, "%s", param->words);
	for (char *word; (word = strsep(&rest, " "));)
		if (*word) {
			word[strcspn(word, "/")] = '\0';
			try_value(walk, param->key, word);
		}
}

static void try_texts(struct walk *walk, const struct npl_param *param)
{
	static const char *const memories[] = {"ideal", "fixed", "ddr3-2133", "hbm2", "lpddr4-3200"};
	if (!param->words || strcmp(param->words, "memory") != 0)
		return;
	for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
		try_value(walk, param->key, memories[i]);
}

/* Tries small numbers, and values around that of the machine's file. */
static void try_numbers(struct walk *walk, const struct npl_param *param, double own)
{
	const double values[] = {0, 1, 2, 3, own / 2, own * 2, own + 1, own * 1.25};
	const bool is_whole = param->type == NPL_PARAM_INT;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char text[40];
		const double value = is_whole ? (double)(int64_t)values[i] : values[i];
		if (value < param->min || value > param->max)
			continue;
		snprintf(text, sizeof text, "%.17g", value);
		try_value(walk, param->key, text);
	}
}

static struct walk walk_parameters(const char *text, const char *device, const struct npl_param *schema,
				   const struct sweep_parameter *parameter, int n)
{
	struct npl_device *machine;
	struct npl_err err = {0};
	struct sweep_plan *plan = plan_of(text);
	struct walk walk = {.plan = plan, .evaluator = open_evaluator(plan), .n = n};
	for (int i = 0; i < n; i++)
		walk.parameter[i] = parameter[i];
	walk.base = run_fresh(walk.evaluator, &(struct sweep_request){.n = n, .parameter = walk.parameter});
	cr_assert_eq(walk.base.status, SWEEP_DONE, "%s", walk.base.reason);
	cr_assert_eq(npl_device_open(device, NULL, &machine, &err), 0, "%s", err.msg);
	for (const struct npl_param *p = schema; p->key; p++)
		if (p->type == NPL_PARAM_CHOICE)
			try_words(&walk, p);
		else if (p->type == NPL_PARAM_STRING)
			try_texts(&walk, p);
		else if (p->type == NPL_PARAM_INT || p->type == NPL_PARAM_DOUBLE)
			try_numbers(&walk, p, npl_device_setting_number(machine, p->key));
	npl_device_close(machine);
	sweep_evaluator_close(walk.evaluator);
	plan_free(plan);
	return walk;
}

/* With a memory of fixed bandwidth and with DRAM other parameters count. */
Test(sweep_remembered, of_the_tpu_follow_each_parameter)
{
	static const struct sweep_parameter memories[] = {{"weight_memory.preset", "fixed"},
							  {"weight_memory.preset", "ddr3-2133"}};
	for (int i = 0; i < 2; i++) {
		const struct walk walk = walk_parameters("model: digits\ndevice: tpu_v1\n", "tpu_v1", tpu_params,
							 &memories[i], 1);
		cr_assert(walk.changed > 100 && walk.done > 100 && walk.moved > 30, "%d changes, %d ran, %d moved",
			  walk.changed, walk.done, walk.moved);
	}
}

Test(sweep_remembered, of_diannao_follow_each_parameter)
{
	const struct walk walk = walk_parameters("model: digits\ndevice: diannao\nbatch: 1\n", "diannao", dn_params,
						 NULL, 0);
	cr_assert(walk.changed > 80 && walk.done > 60 && walk.moved > 20, "%d changes, %d ran, %d moved", walk.changed,
		  walk.done, walk.moved);
}

/* ---- Random points. */

/* The keys of random points and their values; those of one machine stand behind its name. */
static const struct {
	const char *device, *key, *value[4];
} choices[] = {{"", "model", {"digits", "lenet5", "mlp0", "lstm1"}},
	       {"", "batch", {"1", "2", "3", "8"}},
	       {"", "host.cores", {"1", "4", "16", "64"}},
	       {"", "host.clock_hz", {"1e9", "2e9", "2.3e9", "3e9"}},
	       {"tpu_v1", "array.rows", {"64", "128", "256", "16"}},
	       {"tpu_v1", "array.columns", {"64", "128", "256", "32"}},
	       {"tpu_v1", "weight_memory.preset", {"fixed", "ddr3-2133", "hbm2", "ideal"}},
	       {"tpu_v1", "weight_memory.channels", {"1", "2", "4", "8"}},
	       {"tpu_v1", "accumulators.rows", {"512", "1024", "4096", "2048"}},
	       {"tpu_v1", "energy.static.watts", {"0", "1", "5", "40"}},
	       {"tpu_v1", "precision", {"int8", "int8", "8x16", "int8"}},
	       {"", "clock_hz", {"500000000", "700000000", "980000000", "1000000000"}},
	       {"", "technology.node_nm", {"28", "45", "65", "16"}},
	       {"", "technology.volts", {"0.9", "1", "0.8", "1.1"}},
	       {"diannao", "nfu.tn", {"8", "16", "8", "16"}},
	       {"diannao", "nbin.rows", {"32", "64", "128", "64"}},
	       {"diannao", "sb.rows", {"32", "64", "128", "64"}}};
#define CHOICES (sizeof choices / sizeof *choices)

/* Draws a point: a machine and half of the keys that it has. */
static int draw(uint64_t *rng, struct sweep_parameter parameter[CHOICES + 1])
{
	int n = 0;
	const char *device = test_range(rng, 0, 3) ? "tpu_v1" : "diannao";
	parameter[n++] = (struct sweep_parameter){"device", device};
	for (size_t c = 0; c < CHOICES; c++)
		if ((!*choices[c].device || !strcmp(choices[c].device, device)) && test_range(rng, 0, 1))
			parameter[n++] = (struct sweep_parameter){choices[c].key,
								  choices[c].value[test_range(rng, 0, 3)]};
	return n;
}

Test(sweep_remembered, give_the_figures_of_fresh_ones_in_any_order)
{
	struct sweep_plan *plan = plan_of("model: [digits, lenet5, mlp0, lstm1]\ndevice: [tpu_v1, diannao]\n");
	struct sweep_evaluator *evaluator = open_evaluator(plan);
	uint64_t rng = 12;
	int done = 0;
	const uint64_t found = npl_memo_found();
	for (int i = 0; i < 150; i++) {
		struct sweep_parameter parameter[CHOICES + 1];
		const struct sweep_request request = {.n = draw(&rng, parameter), .parameter = parameter};
		struct sweep_outcome is, again;
		char label[40];
		snprintf(label, sizeof label, "point %d", i);
		sweep_evaluate(evaluator, &request, &is);
		sweep_evaluate(evaluator, &request, &again);
		check_same(&again, &is, label);
		done += is.status == SWEEP_DONE;
		/* What is fresh forgets all: so it is compared with a part of the points. */
		if (i % 5 == 4) {
			const struct sweep_outcome fresh = run_fresh(evaluator, &request);
			check_same(&is, &fresh, label);
		}
	}
	cr_assert_gt(done, 100, "%d of 150 points ran", done);
	cr_assert_gt(npl_memo_found() - found, 150, "hardly anything was remembered");
	sweep_evaluator_close(evaluator);
	plan_free(plan);
}

/* The register-level engine simulates each time: its outcomes are the standard for the others. */
Test(sweep_remembered, are_of_the_fast_engine_alone)
{
	struct sweep_plan *plan = plan_of("model: digits\ndevice: diannao\nbatch: 1\nengine: rtl\nset: {nfu.tn: 8}\n");
	struct sweep_plan *fast = plan_of("model: digits\ndevice: diannao\nbatch: 1\nset: {nfu.tn: 8}\n");
	struct sweep_evaluator *evaluator = open_evaluator(fast);
	struct sweep_outcome is, other;
	sweep_evaluate(evaluator, &(struct sweep_request){0}, &other);
	sweep_evaluator_close(evaluator);
	evaluator = open_evaluator(plan);
	const uint64_t found = npl_memo_found();
	sweep_evaluate(evaluator, &(struct sweep_request){0}, &is);
	sweep_evaluate(evaluator, &(struct sweep_request){0}, &is);
	cr_assert_eq(npl_memo_found(), found);
	check_same(&is, &other, "rtl");
	sweep_evaluator_close(evaluator);
	plan_free(plan);
	plan_free(fast);
}
