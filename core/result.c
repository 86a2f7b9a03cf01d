/* SPDX-License-Identifier: MIT
 *
 * Checks and names the origins of energies, and sums results over components, layers and batches. */
#include "npulab/result.h"
#include "energy_merge.h"
#include "origins.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/message.h"

static const struct origin {
	const char *form;
	enum npl_source source;
} origins[] = {
#define NPL_ORIGIN(form, source) {form, source},
#include "origins.def"
#undef NPL_ORIGIN
};

const char npl_origin_forms[] =
#define NPL_ORIGIN(form, source) form " "
#include "origins.def"
#undef NPL_ORIGIN
	;

/* Returns the row whose form the origin has, or NULL. */
static const struct origin *find_origin(const char *text)
{
	for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
		const size_t n = strcspn(origins[i].form, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (!strncmp(text, origins[i].form, n) && !text[n] == !origins[i].form[n])
			return &origins[i];
	}
	return NULL;
}

bool npl_origin_ok(const char *origin)
{
	return find_origin(origin);
}

enum npl_source npl_origin_source(const char *origin)
{
	const struct origin *found = find_origin(origin);
	return found ? found->source : NPL_SOURCE_DEFAULT;
}

bool npl_origin_is_absent(const char *origin)
{
	return !strcmp(origin, "absent");
}

bool npl_origin_is_measured(const char *origin)
{
	return !strncmp(origin, "measured:", strlen("measured:"));
}

const char *npl_energy_part_name(enum npl_energy_part part)
{
	/* in the order of enum npl_energy_part */
	static const char *const names[] = {"machine", "memory", "waiting", "host", "link"};
	_Static_assert(sizeof names / sizeof *names == NPL_ENERGY_PARTS, "each part of the energy has a name");
	return names[part];
}

int npl_result_energy_of(struct npl_result *result, enum npl_energy_part part, const char *component, uint64_t events,
			 double pj_per_event, const char *origin, struct npl_err *err)
{
	if (result->n_energy == NPL_MAX_ENERGY)
		return npl_fail(err, NPL_EINTERNAL, "energy of %s: more than %d components", component, NPL_MAX_ENERGY);
	if (!npl_origin_ok(origin))
		return npl_fail(err, NPL_EINTERNAL, "energy of %s: '%s' is not an origin", component, origin);
	result->energy[result->n_energy++] = (struct npl_energy){
		.component = component,
		.origin = origin,
		.events = events,
		.pj_per_event = pj_per_event,
		.joules = npl_origin_is_absent(origin) ? NAN : (double)events * pj_per_event * 1e-12,
		.part = part,
	};
	return 0;
}

int npl_result_action(struct npl_result *result, const struct npl_action *action, uint64_t events, double activity,
		      struct npl_err *err)
{
	const double pj = isnan(action->pj) ? 0 : action->pj;
	if (npl_result_energy_of(result, NPL_OF_MACHINE, action->energy, events, pj, action->origin, err))
		return err->code;
	struct npl_energy *added = &result->energy[result->n_energy - 1];
	added->has_range = true;
	added->joules_low = (double)events * action->bottom_up_pj.low * 1e-12;
	added->joules_high = (double)events * action->bottom_up_pj.high * 1e-12;
	added->has_activity = action->operand_share > 0 && !isnan(activity);
	added->joules_by_activity = added->joules;
	if (added->has_activity)
		added->joules_by_activity *= 1 - action->operand_share * (1 - activity);
	return 0;
}

int npl_result_energy(struct npl_result *result, const char *component, uint64_t events, double pj_per_event,
		      const char *origin, struct npl_err *err)
{
	return npl_result_energy_of(result, NPL_OF_MACHINE, component, events, pj_per_event, origin, err);
}

double npl_energy_sum(const struct npl_energy *energy, int n)
{
	double sum = n ? 0 : NAN;
	for (int i = 0; i < n; i++)
		sum += energy[i].joules;
	return sum;
}

/* Returns the energy's range, or the energy itself where it has none. */
static struct npl_estimates range_of(const struct npl_energy *energy)
{
	return (struct npl_estimates){energy->has_range ? energy->joules_low : energy->joules, energy->joules,
				      energy->has_range ? energy->joules_high : energy->joules};
}

/* Returns the energy by the activity of its operands, or the energy itself where that was not counted. */
static double by_activity(const struct npl_energy *energy)
{
	return energy->has_activity ? energy->joules_by_activity : energy->joules;
}

double npl_energy_by_activity(const struct npl_energy *energy, int n)
{
	double sum = 0;
	bool is_counted = false;
	for (int i = 0; i < n; i++) {
		is_counted |= energy[i].has_activity;
		sum += by_activity(&energy[i]);
	}
	return is_counted ? sum : NAN;
}

struct npl_estimates npl_energy_estimates(const struct npl_energy *energy, int n)
{
	struct npl_estimates sum = {0, npl_energy_sum(energy, n), 0};
	int n_ranges = 0, n_unknown = 0;
	for (int i = 0; i < n; i++) {
		const struct npl_estimates range = range_of(&energy[i]);
		n_ranges += energy[i].has_range;
		n_unknown += energy[i].has_range && isnan(range.low);
		sum.low += isnan(range.low) ? 0 : range.low;
		sum.high += isnan(range.high) ? 0 : range.high;
	}
	if (isnan(sum.middle) || (n_ranges && n_unknown == n_ranges))
		sum.low = sum.high = NAN;
	return sum;
}

double npl_result_joules(const struct npl_result *result)
{
	return npl_energy_sum(result->energy, result->n_energy);
}

/* Says whether the texts are equal; those of one device are mostly the same ones. */
static bool same_text(const char *a, const char *b)
{
	return a == b || !strcmp(a, b);
}

int npl_energy_merge(struct npl_energy *list, int *n, int capacity, const struct npl_energy *add, struct npl_err *err)
{
	for (int i = 0; i < *n; i++)
		if (list[i].part == add->part && same_text(list[i].component, add->component) &&
		    same_text(list[i].origin, add->origin)) {
			if (list[i].pj_per_event < add->pj_per_event || list[i].pj_per_event > add->pj_per_event)
				list[i].pj_per_event = NAN;
			list[i].events += add->events;
			const struct npl_estimates a = range_of(&list[i]), b = range_of(add);
			const double activity = by_activity(&list[i]) + by_activity(add);
			list[i].joules += add->joules;
			list[i].has_activity |= add->has_activity;
			list[i].joules_by_activity = activity;
			list[i].has_range |= add->has_range;
			list[i].joules_low = a.low + b.low;
			list[i].joules_high = a.high + b.high;
			return 0;
		}
	if (*n == capacity)
		return npl_fail(err, NPL_EINTERNAL, "more than %d energy components", capacity);
	if (!npl_origin_ok(add->origin))
		return npl_fail(err, NPL_EINTERNAL, "energy of %s: '%s' is not an origin", add->component, add->origin);
	list[(*n)++] = *add;
	return 0;
}

const char *npl_energy_origins(const struct npl_energy *energy, int n, char *buf, size_t size)
{
	snprintf(buf, size, "%s", n ? "" : "absent");
	for (int i = 0; i < n; i++) {
		bool seen = false;
		for (int k = 0; k < i && !seen; k++)
			seen = !strcmp(energy[k].origin, energy[i].origin);
		if (!seen)
			npl_append(buf, size, " + ", "%s", energy[i].origin);
	}
	return buf;
}

static void add_transfers(struct npl_transfers *sum, const struct npl_transfers *add)
{
	sum->n += add->n;
	sum->bytes += add->bytes;
	sum->seconds += add->seconds;
}

int npl_result_add(struct npl_result *sum, const struct npl_result *add, struct npl_err *err)
{
#define ADD_COUNT(name) sum->name += add->name;
	NPL_RESULT_COUNTS(ADD_COUNT)
#undef ADD_COUNT
	sum->seconds += add->seconds;
	add_transfers(&sum->to_device, &add->to_device);
	add_transfers(&sum->to_host, &add->to_host);
	for (int i = 0; i < NPL_MAX_COUNTERS; i++)
		sum->counter[i] += add->counter[i];
	for (int i = 0; i < NPL_MEM_LEVELS; i++) {
		sum->bytes[i] += add->bytes[i];
		sum->bytes_at_least[i] += add->bytes_at_least[i];
	}
	for (int i = 0; i < add->n_energy; i++)
		if (npl_energy_merge(sum->energy, &sum->n_energy, NPL_MAX_ENERGY, &add->energy[i], err))
			return err->code;
	return 0;
}
