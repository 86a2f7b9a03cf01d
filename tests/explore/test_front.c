/* SPDX-License-Identifier: MIT
 *
 * Promises of Pareto fronts: on random points with one to four objectives they are what comparing every point with
 * every other gives, also with ties, unknown figures and points that are not feasible; the knee is the point nearest to
 * the best of all objectives; and expressions over results see parameters and figures. */
#include "explore/front.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/support.h"

/* The figures that stand for the objectives of these tests, and which way they go. */
static const struct {
	const char *name;
	enum sweep_metric metric;
	bool most;
} objectives[] = {{"seconds", SWEEP_METRIC_seconds, false},
		  {"sqnr_db", SWEEP_METRIC_sqnr_db, true},
		  {"energy_j", SWEEP_METRIC_energy_j, false},
		  {"samples_per_second", SWEEP_METRIC_samples_per_second, true}};

static void take_objectives(struct sweep_results *results, int n, struct sweep_front *front)
{
	struct npl_err err = {0};
	front->n_objectives = n;
	for (int i = 0; i < n; i++) {
		cr_assert_eq(
			sweep_measure_parse(results, objectives[i].name, &results->arena, &front->objective[i], &err),
			0, "%s", err.msg);
		cr_assert_eq(front->objective[i].is_maximised, objectives[i].most, "as it is better");
	}
}

/* Random results: few different values, so that ties are frequent; some figures unknown, some points not feasible. */
static struct sweep_results draw_results(uint64_t *rng, int n, int n_objectives)
{
	struct sweep_results results = {.n = n, .result = calloc((size_t)n + 1, sizeof *results.result)};
	const int64_t values = test_range(rng, 1, 30);
	const bool positive = test_range(rng, 0, 1);
	cr_assert(results.result);
	for (int r = 0; r < n; r++) {
		struct sweep_result *result = &results.result[r];
		result->id = r;
		result->feasible = test_range(rng, 0, 9) != 0;
		for (int m = 0; m < SWEEP_METRICS; m++)
			result->metrics.value[m] = NAN;
		for (int i = 0; i < n_objectives; i++)
			if (test_range(rng, 0, 19))
				result->metrics.value[objectives[i].metric] = (double)test_range(
					rng, positive ? 1 : -values, values);
		if (test_range(rng, 0, 29) == 0)
			result->metrics.value[objectives[0].metric] = INFINITY;
	}
	return results;
}

static bool is_considered(const struct sweep_result *result, int n_objectives)
{
	bool known = result->feasible;
	for (int i = 0; i < n_objectives; i++)
		known = known && isfinite(result->metrics.value[objectives[i].metric]);
	return known;
}

/* The value of an objective, turned so that less is better. */
static double cost(const struct sweep_result *result, int objective)
{
	const double value = result->metrics.value[objectives[objective].metric];
	return objectives[objective].most ? -value : value;
}

/* Whether a beats b: nowhere worse, and better somewhere; of equal ones the first. */
static bool beats(const struct sweep_results *results, int a, int b, int n_objectives)
{
	bool better = false;
	for (int i = 0; i < n_objectives; i++) {
		const double x = cost(&results->result[a], i), y = cost(&results->result[b], i);
		if (x > y)
			return false;
		better = better || x < y;
	}
	return better || a < b;
}

static bool is_on_front(const struct sweep_results *results, int r, int n_objectives)
{
	if (!is_considered(&results->result[r], n_objectives))
		return false;
	for (int other = 0; other < results->n; other++)
		if (other != r && is_considered(&results->result[other], n_objectives) &&
		    beats(results, other, r, n_objectives))
			return false;
	return true;
}

/* The distance of a point of the front from the best of all objectives, with each objective from 0 to 1. */
static double distance_of(const struct sweep_results *results, const struct sweep_front *front, int64_t k)
{
	double sum = 0;
	for (int i = 0; i < front->n_objectives; i++) {
		const int metric = (int)objectives[i].metric;
		double low = INFINITY, high = -INFINITY, v = results->result[front->index[k]].metrics.value[metric];
		for (int64_t j = 0; j < front->n; j++) {
			const double other = results->result[front->index[j]].metrics.value[metric];
			low = other < low ? other : low;
			high = other > high ? other : high;
		}
		if (low == high)
			continue;
		const double share = low > 0 ? (log(v) - log(low)) / (log(high) - log(low)) : (v - low) / (high - low);
		sum += objectives[i].most ? (1 - share) * (1 - share) : share * share;
	}
	return sum;
}

static void check_front(const struct sweep_results *results, const struct sweep_front *front, int round)
{
	int expected = 0, considered = 0;
	for (int r = 0; r < results->n; r++) {
		bool found = false;
		for (int64_t k = 0; k < front->n; k++)
			found = found || front->index[k] == r;
		cr_assert_eq(found, is_on_front(results, r, front->n_objectives), "round %d: point %d", round, r);
		expected += found;
		considered += is_considered(&results->result[r], front->n_objectives);
	}
	cr_assert(front->n == expected && front->considered == considered, "round %d", round);
	for (int64_t k = 1; k < front->n; k++)
		cr_assert_leq(cost(&results->result[front->index[k - 1]], 0),
			      cost(&results->result[front->index[k]], 0));
	int64_t knee = -1, knees = 0;
	for (int64_t k = 0; k < front->n; k++)
		if (front->is_knee[k]) {
			knee = k;
			knees++;
		}
	cr_assert_eq(knees, front->n > 2);
	for (int64_t k = 0; k < front->n && knees; k++)
		cr_assert_leq(distance_of(results, front, knee), distance_of(results, front, k) + 1e-9,
			      "round %d: a point is nearer than the knee", round);
}

Test(sweep_front, is_what_comparing_all_with_all_gives)
{
	uint64_t rng = 1234;
	for (int round = 0; round < TEST_TIMES(2000); round++) {
		const int n_objectives = 1 + round % 4;
		struct sweep_results results = draw_results(&rng, (int)test_range(&rng, 0, 60), n_objectives);
		struct sweep_front front = {0};
		struct npl_err err;
		take_objectives(&results, n_objectives, &front);
		cr_assert_eq(sweep_front_find(&results, &front, &err), 0);
		check_front(&results, &front, round);
		sweep_front_free(&front);
		sweep_results_free(&results);
	}
}

/* The bend of an L: both objectives are near their best there. */
Test(sweep_front, has_its_knee_in_the_bend)
{
	static const double points[][2] = {{1, 1000}, {1.1, 100}, {1.2, 10}, {10, 9}, {1000, 8}};
	struct sweep_results results = {.n = 5, .result = calloc(5, sizeof *results.result)};
	struct sweep_front front = {0};
	struct npl_err err;
	cr_assert(results.result);
	for (int r = 0; r < 5; r++) {
		results.result[r].feasible = true;
		results.result[r].metrics.value[SWEEP_METRIC_seconds] = points[r][0];
		results.result[r].metrics.value[SWEEP_METRIC_energy_j] = points[r][1];
	}
	front.n_objectives = 2;
	cr_assert_eq(sweep_measure_parse(&results, "time", &results.arena, &front.objective[0], &err), 0);
	cr_assert_eq(sweep_measure_parse(&results, "energy", &results.arena, &front.objective[1], &err), 0);
	cr_assert_eq(sweep_front_find(&results, &front, &err), 0);
	cr_assert_eq(front.n, 5);
	for (int k = 0; k < 5; k++)
		cr_assert_eq(front.is_knee[k], k == 2);
	sweep_front_free(&front);
	sweep_results_free(&results);
}

/* A point with two parameters and two figures. */
static struct sweep_results one_result(void)
{
	static const struct sweep_parameter parameter[] = {{"array.rows", "128"}, {"weight_memory.preset", "hbm2"}};
	struct sweep_results results = {.n = 1,
					.result = calloc(1, sizeof *results.result),
					.n_keys = 3,
					.key = {"array.rows", "weight_memory.preset", "batch"}};
	cr_assert(results.result);
	results.result[0] = (struct sweep_result){.feasible = true, .n_parameters = 2, .parameter = parameter};
	for (int m = 0; m < SWEEP_METRICS; m++)
		results.result[0].metrics.value[m] = NAN;
	results.result[0].metrics.value[SWEEP_METRIC_seconds] = 0.5;
	return results;
}

Test(sweep_front, measures_expressions_over_parameters_and_figures)
{
	static const struct {
		const char *text;
		double value;
		bool most;
	} cases[] = {{"seconds", 0.5, false},
		     {"time", 0.5, false},
		     {"array.rows", 128, false},
		     {"seconds * array.rows", 64, false},
		     {"weight_memory.preset == 'hbm2'", 1, false},
		     {"weight_memory.preset", NAN, false},
		     {"batch", NAN, false},
		     {"energy_j", NAN, false},
		     {"accuracy", NAN, true},
		     {"1 / seconds", 2, false}};
	struct sweep_results results = one_result();
	struct sweep_measure measure;
	struct npl_err err = {0};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_assert_eq(sweep_measure_parse(&results, cases[i].text, &results.arena, &measure, &err), 0, "%s",
			     err.msg);
		const double value = sweep_result_value(&measure, &results.result[0]);
		cr_assert(isnan(cases[i].value) ? isnan(value) : value == cases[i].value, "%s: %g", cases[i].text,
			  value);
		cr_assert_eq(measure.is_maximised, cases[i].most, "%s", cases[i].text);
	}
	cr_assert_eq(sweep_measure_parse(&results, "array.row", &results.arena, &measure, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "'array.row' is neither a figure nor a parameter that was varied; the nearest is "
				  "'array.rows'"),
		  "%s", err.msg);
	cr_assert_eq(sweep_measure_parse(&results, "power", &results.arena, &measure, &err), 0);
	cr_assert_eq(sweep_measure_parse(&results, "1 +", &results.arena, &measure, &err), NPL_EUSAGE);
	sweep_results_free(&results);
}

Test(sweep_front, of_each_network_is_its_own)
{
	static const struct sweep_parameter model[] = {{"model", "a"}, {"model", "b"}};
	static const double points[][2] = {{1, 4}, {2, 2}, {4, 1}, {3, 3}, {10, 40}, {20, 20}, {40, 10}, {30, 30}};
	struct sweep_results results = {.n = 8, .result = calloc(8, sizeof *results.result)};
	struct sweep_front front = {.n_objectives = 2};
	struct npl_err err;
	cr_assert(results.result);
	for (int r = 0; r < 8; r++) {
		results.result[r].feasible = true;
		results.result[r].n_parameters = 1;
		results.result[r].parameter = &model[r / 4];
		results.result[r].metrics.value[SWEEP_METRIC_seconds] = points[r][0];
		results.result[r].metrics.value[SWEEP_METRIC_energy_j] = points[r][1];
	}
	cr_assert_eq(sweep_measure_parse(&results, "time", &results.arena, &front.objective[0], &err), 0);
	cr_assert_eq(sweep_measure_parse(&results, "energy", &results.arena, &front.objective[1], &err), 0);
	cr_assert_eq(sweep_front_find(&results, &front, &err), 0);
	cr_assert_eq(front.n, 6);
	for (int k = 0; k < 6; k++) {
		cr_assert_eq(front.index[k], k < 3 ? k : k + 1);
		cr_assert_eq(front.is_knee[k], k % 3 == 1);
	}
	sweep_front_free(&front);
	sweep_results_free(&results);
}
