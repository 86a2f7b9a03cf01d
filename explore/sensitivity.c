/* SPDX-License-Identifier: MIT
 *
 * Effects of parameters (sensitivity.h). */
#include "sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"

/* A point with the value of one parameter. */
struct sample {
	const struct sweep_result *point;
	const char *value;
	double result;
};

/* The samples of a parameter, and their sums. */
struct samples {
	struct sample *sample;
	int64_t n;
	double mean, variance; /* of all results; variance: the sum of the squares */
	bool logarithmic;
};

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	const int order = strcmp(x->value, y->value);
	return order ? order : x->result < y->result ? -1 : x->result > y->result;
}

/* Collects the points that have the parameter and the result. */
static void collect(const struct sweep_results *results, const struct sweep_measure *measure, const char *key,
		    struct samples *s)
{
	s->n = 0;
	s->logarithmic = true;
	for (int64_t r = 0; r < results->n; r++) {
		const struct sweep_result *result = &results->result[r];
		const char *value = result->feasible ? sweep_result_parameter(result, key) : NULL;
		const double y = value ? sweep_result_value(measure, result) : NAN;
		if (!isfinite(y))
			continue;
		s->sample[s->n++] = (struct sample){result, value, y};
		s->logarithmic = s->logarithmic && y > 0;
	}
	s->mean = s->variance = 0;
	for (int64_t i = 0; i < s->n; i++) {
		if (s->logarithmic)
			s->sample[i].result = log(s->sample[i].result);
		s->mean += s->sample[i].result / (double)s->n;
	}
	for (int64_t i = 0; i < s->n; i++)
		s->variance += pow(s->sample[i].result - s->mean, 2);
	qsort(s->sample, (size_t)s->n, sizeof *s->sample, compare_samples);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a */
	return hash * UINT64_C(0x100000001b3);
}

/* Says whether another key has one value alone for each value of the parameter, as those that move with it. */
static bool moves_with(const struct samples *s, const char *other)
{
	for (int64_t i = 1; i < s->n; i++) {
		const char *a = sweep_result_parameter(s->sample[i - 1].point, other);
		const char *b = sweep_result_parameter(s->sample[i].point, other);
		if (!strcmp(s->sample[i - 1].value, s->sample[i].value) && strcmp(a ? a : "", b ? b : "") != 0)
			return false;
	}
	return true;
}

/* Says whether each value of the parameter meets the same values of all others, as on a whole grid. Then the means of
 * its values differ by nothing but the parameter. Compares sums of hashes of the points' other parameters. */
static bool is_balanced(const struct sweep_results *results, const struct samples *s)
{
	bool counts[SWEEP_KEYS];
	uint64_t first = 0, sum = 0;
	for (int k = 0; k < results->n_keys; k++)
		counts[k] = !moves_with(s, results->key[k]);
	for (int64_t i = 0, begin = 0; i < s->n; i++) {
		uint64_t hash = UINT64_C(0xcbf29ce484222325);
		for (int k = 0; k < results->n_keys; k++) {
			const char *value = counts[k] ? sweep_result_parameter(s->sample[i].point, results->key[k])
						      : NULL;
			hash = hash_text(hash, value ? value : "");
		}
		sum += hash;
		if (i + 1 < s->n && !strcmp(s->sample[i].value, s->sample[i + 1].value))
			continue;
		if (begin && sum != first)
			return false;
		first = begin ? first : sum;
		begin = i + 1;
		sum = 0;
	}
	return true;
}

static struct sweep_effect effect_of(const struct sweep_results *results, const struct samples *s, const char *key)
{
	struct sweep_effect effect = {.key = key, .share = NAN, .least = INFINITY, .most = -INFINITY};
	double between = 0;
	for (int64_t i = 0, end; i < s->n; i = end) {
		double sum = 0;
		for (end = i; end < s->n && !strcmp(s->sample[end].value, s->sample[i].value); end++)
			sum += s->sample[end].result;
		const double mean = sum / (double)(end - i);
		between += (double)(end - i) * pow(mean - s->mean, 2);
		effect.n_values++;
		if (mean < effect.least) {
			effect.least = mean;
			effect.least_value = s->sample[i].value;
		}
		if (mean > effect.most) {
			effect.most = mean;
			effect.most_value = s->sample[i].value;
		}
	}
	/* Rounding alone is no variance. */
	if (s->n > 1 && s->variance > 1e-20 * (1 + s->mean * s->mean) * (double)s->n) {
		const double by_chance = is_balanced(results, s) ? 0
								 : (double)(effect.n_values - 1) / (double)(s->n - 1);
		const double share = between / s->variance;
		effect.share = by_chance < 1 ? fmax(0, (share - by_chance) / (1 - by_chance)) : NAN;
	}
	if (s->logarithmic) {
		effect.least = exp(effect.least);
		effect.most = exp(effect.most);
	}
	return effect;
}

static int compare_effects(const void *a, const void *b)
{
	const struct sweep_effect *x = a, *y = b;
	const double v = isnan(x->share) ? -1 : x->share, w = isnan(y->share) ? -1 : y->share;
	return v > w ? -1 : v < w ? 1 : strcmp(x->key, y->key);
}

int sweep_effects(const struct sweep_results *results, const struct sweep_measure *measure, struct sweep_effect *effect,
		  struct npl_err *err)
{
	struct samples s = {.sample = calloc((size_t)results->n + 1, sizeof *s.sample)};
	int n = 0;
	if (!s.sample)
		return npl_no_memory(err);
	for (int k = 0; k < results->n_keys; k++) {
		collect(results, measure, results->key[k], &s);
		effect[n] = effect_of(results, &s, results->key[k]);
		n += effect[n].n_values > 1;
	}
	qsort(effect, (size_t)n, sizeof *effect, compare_effects);
	free(s.sample);
	return n;
}
