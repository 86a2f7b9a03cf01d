/* SPDX-License-Identifier: MIT
 *
 * Promises of labels: the key `label` names the values of an axis on which parameters move together, is a parameter of
 * the point for readers, and sets nothing. */
#include "tests/kit/sweep_plan.h"

#include "explore/evaluate/evaluator.h"
#include "explore/sweep.h"

#define LABELLED                                                                                                       \
	"model: digits\ndevice: tpu_v1\nvary:\n"                                                                       \
	"  label = array.rows = array.columns: [[as published, 256, 256], [a half, 128, 256]]\n"                       \
	"  clock_hz: [700e6, 350e6]\n"

/* The value of a point's parameter; NULL: it has none. */
static const char *value_of(const struct sweep_parameter *parameter, int n, const char *key)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(parameter[i].key, key))
			return parameter[i].value;
	return NULL;
}

Test(sweep_labels, name_values_that_move_together)
{
	struct sweep_plan *plan = plan_of(LABELLED);
	const struct sweep_axis *axis = &plan->space.axis[SWEEP_FIRST_VARIED];
	int level[] = {0, 0, 0, 1, 0};
	struct sweep_parameter parameter[SWEEP_AXES * SWEEP_AXIS_KEYS];
	cr_assert_eq(plan->space.n_axes, 5);
	cr_assert(axis->n_keys == 3 && axis->n_levels == 2 && axis->device == -1);
	const int n = sweep_parameters_of(plan, level, parameter);
	cr_assert_eq(n, 4);
	cr_assert_str_eq(value_of(parameter, n, "label"), "a half");
	cr_assert_str_eq(value_of(parameter, n, "array.rows"), "128");
	cr_assert_str_eq(value_of(parameter, n, "clock_hz"), "700e6");
	plan_free(plan);
}

static struct sweep_outcome run(struct sweep_evaluator *evaluator, const struct sweep_parameter *parameter, int n)
{
	struct sweep_outcome outcome;
	sweep_evaluate(evaluator, &(struct sweep_request){.n = n, .parameter = parameter}, &outcome);
	cr_assert_eq(outcome.status, SWEEP_DONE, "%s", outcome.reason);
	return outcome;
}

Test(sweep_labels, set_nothing)
{
	struct sweep_plan *plan = plan_of(LABELLED);
	struct sweep_evaluator *evaluator;
	struct npl_err err = {0};
	const struct sweep_parameter parameter[] = {
		{"array.rows", "64"}, {"label", "x"}, {"label", "array.rows=3"}, {"clock_hz", "5e8"}};
	cr_assert_eq(sweep_evaluator_open(plan, &evaluator, &err), 0, "%s", err.msg);
	const struct sweep_outcome labelled = run(evaluator, parameter, 3), plain = run(evaluator, parameter, 1),
				   other = run(evaluator, NULL, 0);
	const int seconds = SWEEP_METRIC_seconds;
	cr_assert_eq(labelled.metrics.value[seconds], plain.metrics.value[seconds]);
	cr_assert_neq(other.metrics.value[seconds], plain.metrics.value[seconds]);
	sweep_evaluator_close(evaluator);
	plan_free(plan);
}

/* The values of a list within a list are those that stand there, or the list is refused. */
Test(sweep_labels, are_refused_where_they_would_be_cut)
{
	static const char *const labels[] = {"\"one, two\"", "\"a:b\"", "\"two\\nlines\"", "1:2"};
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		char text[300];
		struct sweep_plan *plan = calloc(1, sizeof *plan);
		struct npl_err err = {0};
		snprintf(text, sizeof text,
			 "model: digits\ndevice: tpu_v1\nvary:\n  label = array.rows:\n"
			 "    - [small, 64]\n    - [%s, 128]\n",
			 labels[i]);
		cr_assert_eq(plan_read(text, true, plan, &err), NPL_EINPUT, "%s", labels[i]);
		cr_assert(strstr(err.msg, ":6: '") && strstr(err.msg, "has no ',' and no ':'"), "%s: %s", labels[i],
			  err.msg);
		plan_free(plan);
	}
}

/* Two axes cannot both have the label of a point, and a setting cannot have one. */
Test(sweep_labels, belong_to_one_axis)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {{"vary:\n  label = array.rows: [[a, 64], [b, 128]]\n  label = clock_hz: [[c, 5e8], [d, 7e8]]\n",
		      ":5: 'label' is varied twice, first at "},
		     {"set: {label: a}\n", ":3: tpu_v1 has no parameter 'label'"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[300];
		struct sweep_plan *plan = calloc(1, sizeof *plan);
		struct npl_err err = {0};
		snprintf(text, sizeof text, "model: digits\ndevice: tpu_v1\n%s", cases[i].text);
		cr_assert_eq(plan_read(text, true, plan, &err), NPL_EINPUT, "%s", text);
		cr_assert(strstr(err.msg, cases[i].expected), "%s: %s", text, err.msg);
		plan_free(plan);
	}
}
