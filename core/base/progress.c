/* SPDX-License-Identifier: MIT
 *
 * Notes of progress (progress.h): texts under a lock, which is taken only while noting is on. */
#include "npulab/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "message.h"
#include "printable.h"

enum { NAME_BYTES = 80, UNIT_BYTES = 24 };

struct position {
	char unit[UNIT_BYTES]; /* empty: nothing is counted */
	char name[NAME_BYTES];
	int64_t index, count;
};

static struct {
	pthread_mutex_t lock;
	char part[NAME_BYTES]; /* empty: nothing is noted */
	struct position part_position, step_position;
} noted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool is_observed;

static struct position position_of(const char *unit, int64_t index, int64_t count, const char *name)
{
	struct position position = {.index = index, .count = count};
	snprintf(position.unit, sizeof position.unit, "%s", unit ? unit : "");
	snprintf(position.name, sizeof position.name, "%s", name ? name : "");
	return position;
}

void npl_progress_observe(bool observed)
{
	pthread_mutex_lock(&noted.lock);
	noted.part[0] = '\0';
	noted.part_position = noted.step_position = (struct position){0};
	pthread_mutex_unlock(&noted.lock);
	atomic_store(&is_observed, observed);
}

void npl_progress_part(const char *part, const char *unit, int64_t index, int64_t count)
{
	if (!atomic_load_explicit(&is_observed, memory_order_relaxed))
		return;
	pthread_mutex_lock(&noted.lock);
	snprintf(noted.part, sizeof noted.part, "%s", part);
	noted.part_position = position_of(unit, index, count, NULL);
	noted.step_position = (struct position){0};
	pthread_mutex_unlock(&noted.lock);
}

void npl_progress_step(const char *unit, int64_t index, int64_t count, const char *name)
{
	if (!atomic_load_explicit(&is_observed, memory_order_relaxed))
		return;
	pthread_mutex_lock(&noted.lock);
	noted.step_position = position_of(unit, index, count, name);
	pthread_mutex_unlock(&noted.lock);
}

static void append(char *text, size_t bytes, const char *separator, const struct position *position)
{
	const bool is_single = position->count == 1;
	if (!position->unit[0])
		return;
	if (!is_single && position->count)
		npl_append(text, bytes, "", "%s%s %" PRId64 " of %" PRId64, separator, position->unit, position->index,
			   position->count);
	else if (!is_single)
		npl_append(text, bytes, "", "%s%s %" PRId64, separator, position->unit, position->index);
	if (position->name[0])
		npl_append(text, bytes, "", "%s%s", is_single ? separator : ", ", position->name);
}

bool npl_progress_text(char *text, size_t bytes)
{
	pthread_mutex_lock(&noted.lock);
	const bool known = noted.part[0] != '\0';
	snprintf(text, bytes, "%s", noted.part);
	const size_t part_length = strlen(text);
	append(text, bytes, ": ", &noted.part_position);
	append(text, bytes, text[part_length] ? ", " : ": ", &noted.step_position);
	pthread_mutex_unlock(&noted.lock);
	npl_make_printable(text);
	return known;
}
