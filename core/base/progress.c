/* SPDX-License-Identifier: MIT
 *
 * Notes of progress (progress.h): texts under a lock, which is taken only while noting is on. */
#include "npulab/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "npulab/text.h"

enum { NAME_BYTES = 80, UNIT_BYTES = 24 };

struct counted {
	char unit[UNIT_BYTES]; /* empty: nothing is counted */
	char name[NAME_BYTES];
	int64_t index, count;
};

static struct {
	pthread_mutex_t lock;
	char part[NAME_BYTES]; /* empty: nothing is noted */
	struct counted of_part, step;
} noted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool is_observed;

static struct counted count_of(const char *unit, int64_t index, int64_t count, const char *name)
{
	struct counted counted = {.index = index, .count = count};
	snprintf(counted.unit, sizeof counted.unit, "%s", unit ? unit : "");
	snprintf(counted.name, sizeof counted.name, "%s", name ? name : "");
	return counted;
}

void npl_progress_observe(bool observed)
{
	pthread_mutex_lock(&noted.lock);
	noted.part[0] = '\0';
	noted.of_part = noted.step = (struct counted){0};
	pthread_mutex_unlock(&noted.lock);
	atomic_store(&is_observed, observed);
}

void npl_progress_part(const char *part, const char *unit, int64_t index, int64_t count)
{
	if (!atomic_load_explicit(&is_observed, memory_order_relaxed))
		return;
	pthread_mutex_lock(&noted.lock);
	snprintf(noted.part, sizeof noted.part, "%s", part);
	noted.of_part = count_of(unit, index, count, NULL);
	noted.step = (struct counted){0};
	pthread_mutex_unlock(&noted.lock);
}

void npl_progress_step(const char *unit, int64_t index, int64_t count, const char *name)
{
	if (!atomic_load_explicit(&is_observed, memory_order_relaxed))
		return;
	pthread_mutex_lock(&noted.lock);
	noted.step = count_of(unit, index, count, name);
	pthread_mutex_unlock(&noted.lock);
}

/* Appends to a text of `bytes`, of which `used` are in use; returns how many are in use then. */
static size_t append(char *text, size_t bytes, size_t used, const char *between, const struct counted *counted)
{
	const bool one = counted->count == 1;
	if (!counted->unit[0] || used >= bytes)
		return used;
	if (!one && counted->count)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s %" PRId64 " of %" PRId64, between,
					 counted->unit, counted->index, counted->count);
	else if (!one)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s %" PRId64, between, counted->unit,
					 counted->index);
	if (counted->name[0] && used < bytes)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s", one ? between : ", ", counted->name);
	return used < bytes ? used : bytes - 1;
}

bool npl_progress_text(char *text, size_t bytes)
{
	pthread_mutex_lock(&noted.lock);
	const bool known = noted.part[0] != '\0';
	size_t used = (size_t)snprintf(text, bytes, "%s", noted.part), before = used;
	used = append(text, bytes, used, ": ", &noted.of_part);
	append(text, bytes, used, used == before ? ": " : ", ", &noted.step);
	pthread_mutex_unlock(&noted.lock);
	npl_make_printable(text);
	return known;
}
