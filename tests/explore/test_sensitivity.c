/* SPDX-License-Identifier: MIT
 *
 * Promises of the effects of parameters (sensitivity.h): where a result is a product of one factor for each parameter,
 * the share of a parameter is its part of the variance of the logarithm, in closed form; the means of the values are
 * geometric ones; a result that is not above 0 counts as it is; points that are not feasible or not known do not count;
 * and on few random points a parameter without effect has hardly a share. */
#include "explore/sensitivity.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/support.h"

#define KEYS 4
#define MOST 5 /* values of a key */

/* A result that follows from parameters: on a logarithmic scale, or as it is, the sum of an effect of each value. */
struct model {
	int values[KEYS]; /* of each key; 0: there is no such key */
	double effect[KEYS][MOST];
	bool logarithmic;
};

static const char *const keys[KEYS] = {"array.rows", "clock_hz", "batch", "preset"};
static const char *const words[MOST] = {"16", "32", "64", "128", "256"};

static double sum_of(const struct model *model, const int *level)
{
	double sum = 0;
	for (int k = 0; k < KEYS; k++)
		sum += model->values[k] ? model->effect[k][level[k]] : 0;
	return model->logarithmic ? exp(sum) : sum;
}

static void add_point(struct sweep_results *results, const struct model *model, const int *level)
{
	struct sweep_result *result = &results->result[results->n];
	struct sweep_parameter *parameter = npl_arena_array(&results->arena, KEYS, sizeof *parameter);
	cr_assert(parameter);
	*result = (struct sweep_result){.id = results->n, .feasible = true, .parameter = parameter};
	for (int m = 0; m < SWEEP_METRICS; m++)
		result->metrics.value[m] = NAN;
	for (int k = 0; k < KEYS; k++)
		if (model->values[k])
			parameter[result->n_parameters++] = (struct sweep_parameter){keys[k], words[level[k]]};
	result->metrics.value[SWEEP_METRIC_seconds] = sum_of(model, level);
	results->n++;
}

/* All points of a model. */
static struct sweep_results grid_of(const struct model *model)
{
	struct sweep_results results = {.result = calloc(MOST * MOST * MOST * MOST, sizeof *results.result)};
	int level[KEYS], n[KEYS];
	cr_assert(results.result);
	for (int k = 0; k < KEYS; k++) {
		n[k] = model->values[k] ? model->values[k] : 1;
		if (model->values[k])
			results.key[results.n_keys++] = keys[k];
	}
	for (level[0] = 0; level[0] < n[0]; level[0]++)
		for (level[1] = 0; level[1] < n[1]; level[1]++)
			for (level[2] = 0; level[2] < n[2]; level[2]++)
				for (level[3] = 0; level[3] < n[3]; level[3]++)
					add_point(&results, model, level);
	return results;
}

/* Frees what a test made; results that a store has read have them in their arena. */
static void free_results(struct sweep_results *results)
{
	free(results->result);
	npl_arena_free(&results->arena);
}

static int effects_of(struct sweep_results *results, struct sweep_effect *effect)
{
	struct sweep_measure measure;
	struct npl_err err = {0};
	cr_assert_eq(sweep_measure_parse(results, "seconds", &results->arena, &measure, &err), 0, "%s", err.msg);
	return sweep_effects(results, &measure, effect, &err);
}

static const struct sweep_effect *effect_on(const struct sweep_effect *effect, int n, const char *key)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(effect[i].key, key))
			return &effect[i];
	return NULL;
}

/* The variance of a key's effects, each value being as frequent as another. */
static double variance_of(const struct model *model, int key)
{
	double mean = 0, variance = 0;
	for (int v = 0; v < model->values[key]; v++)
		mean += model->effect[key][v] / model->values[key];
	for (int v = 0; v < model->values[key]; v++)
		variance += pow(model->effect[key][v] - mean, 2) / model->values[key];
	return variance;
}

/* The share in closed form. */
static double share_of(const struct model *model, int key)
{
	double all = 0;
	for (int k = 0; k < KEYS; k++)
		all += variance_of(model, k);
	return variance_of(model, key) / all;
}

static struct model draw_model(uint64_t *rng)
{
	struct model model = {.logarithmic = test_range(rng, 0, 1)};
	for (int k = 0; k < KEYS; k++) {
		model.values[k] = k < 2 ? (int)test_range(rng, 2, MOST) : (int)test_range(rng, 0, MOST);
		for (int v = 0; v < model.values[k]; v++) /* below 0 too, so that it cannot be a logarithm */
			model.effect[k][v] = (double)test_range(rng, -100, 100) / 50 - (model.logarithmic ? 0 : 3);
	}
	return model;
}

static void check_model(const struct model *model, const struct sweep_effect *effect, int n)
{
	double before = INFINITY;
	for (int i = 0; i < n; i++) {
		cr_assert_leq(effect[i].share, before, "the greatest share first");
		before = effect[i].share;
	}
	for (int k = 0; k < KEYS; k++) {
		const struct sweep_effect *e = effect_on(effect, n, keys[k]);
		cr_assert_eq(e != NULL, model->values[k] > 1, "%s", keys[k]);
		if (!e)
			continue;
		cr_assert_eq(e->n_values, model->values[k]);
		cr_assert(fabs(e->share - share_of(model, k)) < 1e-9, "%s: %.12g, expected %.12g", keys[k], e->share,
			  share_of(model, k));
		/* The ratio, or the difference, between the ends is that of the effects. */
		double low = INFINITY, high = -INFINITY;
		for (int v = 0; v < model->values[k]; v++) {
			low = fmin(low, model->effect[k][v]);
			high = fmax(high, model->effect[k][v]);
		}
		const double moved = model->logarithmic ? log(e->most / e->least) : e->most - e->least;
		cr_assert(fabs(moved - (high - low)) < 1e-9, "%s: %g, expected %g", keys[k], moved, high - low);
	}
}

Test(sweep_sensitivity, of_products_and_sums_is_the_closed_form)
{
	static struct sweep_effect effect[SWEEP_KEYS];
	uint64_t rng = 6;
	for (int round = 0; round < 200; round++) {
		const struct model model = draw_model(&rng);
		struct sweep_results results = grid_of(&model);
		const int n = effects_of(&results, effect);
		check_model(&model, effect, n);
		free_results(&results);
	}
}

/* Time falls with the clock alone: it has the whole variance, and the means are those of its values. */
Test(sweep_sensitivity, names_the_values_of_the_least_and_the_greatest)
{
	static struct sweep_effect effect[SWEEP_KEYS];
	struct model model = {.values = {3, 2}, .logarithmic = true, .effect = {{0, 0, 0}, {0.5, -1}}};
	struct sweep_results results = grid_of(&model);
	const int n = effects_of(&results, effect);
	cr_assert_eq(n, 2);
	cr_assert_str_eq(effect[0].key, "clock_hz");
	cr_assert(fabs(effect[0].share - 1) < 1e-12 && fabs(effect[1].share) < 1e-12, "%g %g", effect[0].share,
		  effect[1].share);
	cr_assert_str_eq(effect[0].least_value, "32");
	cr_assert_str_eq(effect[0].most_value, "16");
	cr_assert(fabs(effect[0].least - exp(-1)) < 1e-12 && fabs(effect[0].most - exp(0.5)) < 1e-12);
	free_results(&results);
}

/* A point that is not feasible, or whose result is not known, is as if it was not there. */
Test(sweep_sensitivity, leaves_out_what_does_not_count)
{
	static struct sweep_effect effect[SWEEP_KEYS], expected[SWEEP_KEYS];
	uint64_t rng = 8;
	struct model model = {.values = {3, 4}, .logarithmic = true, .effect = {{0, 1, 2}, {0.5, -1, 2, 0.1}}};
	struct sweep_results results = grid_of(&model), some = grid_of(&model);
	some.n = 0;
	for (int64_t r = 0; r < results.n; r++) {
		struct sweep_result *result = &results.result[r];
		const int64_t kind = test_range(&rng, 0, 5);
		if (kind > 1)
			some.result[some.n++] = *result;
		result->feasible = kind != 0;
		result->metrics.value[SWEEP_METRIC_seconds] = kind == 1   ? NAN
							      : kind == 0 ? -5
									  : result->metrics.value[SWEEP_METRIC_seconds];
	}
	cr_assert(some.n > 4 && some.n < results.n);
	const int n = effects_of(&results, effect), m = effects_of(&some, expected);
	cr_assert(n == m && n == 2);
	for (int i = 0; i < n; i++) {
		cr_assert_str_eq(effect[i].key, expected[i].key);
		cr_assert(fabs(effect[i].share - expected[i].share) < 1e-12);
		cr_assert(fabs(effect[i].least - expected[i].least) < 1e-12);
	}
	free_results(&results);
	free_results(&some);
}

/* On random points of which each has another value of a parameter without effect, chance is taken away. */
Test(sweep_sensitivity, takes_chance_away)
{
	static struct sweep_effect effect[SWEEP_KEYS];
	double sum = 0, most = 0;
	uint64_t rng = 4;
	for (int round = 0; round < 50; round++) {
		struct model model = {.values = {MOST, MOST}, .logarithmic = true, .effect = {{0, 1, 2, 3, 4}, {0}}};
		struct sweep_results results = grid_of(&model);
		results.n = 0;
		for (int i = 0; i < 24; i++)
			add_point(&results, &model,
				  (const int[]){(int)test_range(&rng, 0, MOST - 1), (int)test_range(&rng, 0, MOST - 1),
						0, 0});
		const int n = effects_of(&results, effect);
		const double share = effect_on(effect, n, "clock_hz")->share;
		sum += share / 50;
		most = fmax(most, share);
		cr_assert_gt(effect_on(effect, n, "array.rows")->share, 0.99);
		free_results(&results);
	}
	cr_assert(sum < 0.1 && most < 0.6, "%g on average, %g at most: without this it would be 0.17", sum, most);
}

/* Without variance there are no shares. */
Test(sweep_sensitivity, of_a_constant_is_not_known)
{
	static struct sweep_effect effect[SWEEP_KEYS];
	struct model model = {.values = {3, 4}, .logarithmic = true, .effect = {{1, 1, 1}, {2, 2, 2, 2}}};
	struct sweep_results results = grid_of(&model);
	const int n = effects_of(&results, effect);
	cr_assert_eq(n, 2);
	cr_assert(isnan(effect[0].share) && isnan(effect[1].share));
	results.n = 0;
	cr_assert_eq(effects_of(&results, effect), 0);
	free_results(&results);
}
