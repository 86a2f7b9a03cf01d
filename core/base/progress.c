/* SPDX-License-Identifier: MIT
 *
 * Notes of progress (progress.h): texts under a lock, which is taken only while noting is on. */
#include "npulab/progress.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "message.h"
#include "printable.h"

enum { NAME_BYTES = 80, UNIT_BYTES = 24 };

struct position {
	char unit[UNIT_BYTES]; /* empty: nothing is counted */
	char name[NAME_BYTES];
	int64_t index, count;
};

/* The work whose share is noted. */
struct work {
	uint64_t number;
	char part[NAME_BYTES]; /* the part that it is of; "": the parts are counted */
	char unit[UNIT_BYTES]; /* of the counted parts, or of the part's own count */
	int64_t index, count;
	double share, begun;
	int64_t advances;
};

/* The steps that are the work of a part. */
struct weights {
	char unit[UNIT_BYTES];
	int64_t count;
	double *before; /* the share of the work before each step; NULL: steps are equal */
};

static struct {
	pthread_mutex_t lock;
	char part[NAME_BYTES]; /* empty: nothing is noted */
	struct position part_position, step_position;
	struct weights weights;
	struct work work;
} noted = {.lock = PTHREAD_MUTEX_INITIALIZER, .work.share = (double)NAN};

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
	free(noted.weights.before);
	noted.weights = (struct weights){0};
	noted.work = (struct work){.number = noted.work.number + 1, .share = NAN};
	pthread_mutex_unlock(&noted.lock);
	atomic_store(&is_observed, observed);
}

static double seconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_weighed(const struct position *step)
{
	return noted.weights.count && step->count == noted.weights.count && !strcmp(step->unit, noted.weights.unit);
}

/* Returns the share of a part's work that is done when a step begins. */
static double share_before(const struct position *step)
{
	if (!is_weighed(step) || step->index < 1 || step->index > step->count)
		return 0;
	return noted.weights.before ? noted.weights.before[step->index - 1]
				    : (double)(step->index - 1) / (double)step->count;
}

/* Says whether the notes are of other work than the last ones, of which they would have this share. */
static bool is_other_work(double share)
{
	enum { RESTART = 2 }; /* a share that falls so much is that of another execution */
	const struct position *part = &noted.part_position;
	const bool is_of_part = noted.weights.count > 0;
	if (isnan(noted.work.share) || strcmp(noted.work.part, is_of_part ? noted.part : "") != 0 ||
	    strcmp(noted.work.unit, part->unit) != 0 || noted.work.count != part->count)
		return true;
	return part->index < noted.work.index || (is_of_part && share * RESTART < noted.work.share);
}

/* Notes the share of the work, which begins where the notes are of another one. */
static void note_share(double share)
{
	const struct position *part = &noted.part_position;
	if (isnan(share) || is_other_work(share)) {
		noted.work = (struct work){
			.number = noted.work.number + 1, .count = part->count, .share = share, .begun = seconds_now()};
		snprintf(noted.work.part, sizeof noted.work.part, "%s", noted.weights.count ? noted.part : "");
		snprintf(noted.work.unit, sizeof noted.work.unit, "%s", part->unit);
	} else if (share > noted.work.share) {
		noted.work.share = fmin(share, 1);
		noted.work.advances++;
	}
	noted.work.index = part->index;
}

/* Notes the share that counts tell. A part that is not counted has none before its first weighed step. */
static void note_counts(void)
{
	const struct position *part = &noted.part_position, *step = &noted.step_position;
	const bool is_counted = part->unit[0] && part->count > 0;
	if (is_counted)
		note_share(((double)(part->index - 1) + share_before(step)) / (double)part->count);
	else
		note_share(is_weighed(step) ? share_before(step) : (double)NAN);
}

void npl_progress_weigh(const char *unit, int64_t count, const double *weight)
{
	if (!atomic_load_explicit(&is_observed, memory_order_relaxed) || count < 1)
		return;
	double *before = weight ? calloc((size_t)count, sizeof *before) : NULL, sum = 0, all = 0;
	for (int64_t i = 0; before && i < count; i++)
		all += weight[i];
	for (int64_t i = 0; before && i < count; sum += weight[i++])
		before[i] = all > 0 ? sum / all : (double)i / (double)count;
	pthread_mutex_lock(&noted.lock);
	free(noted.weights.before);
	noted.weights = (struct weights){.count = count, .before = before};
	snprintf(noted.weights.unit, sizeof noted.weights.unit, "%s", unit);
	pthread_mutex_unlock(&noted.lock);
}

void npl_progress_part(const char *part, const char *unit, int64_t index, int64_t count)
{
	if (!atomic_load_explicit(&is_observed, memory_order_relaxed))
		return;
	pthread_mutex_lock(&noted.lock);
	snprintf(noted.part, sizeof noted.part, "%s", part);
	noted.part_position = position_of(unit, index, count, NULL);
	noted.step_position = (struct position){0};
	note_counts();
	pthread_mutex_unlock(&noted.lock);
}

void npl_progress_step(const char *unit, int64_t index, int64_t count, const char *name)
{
	if (!atomic_load_explicit(&is_observed, memory_order_relaxed))
		return;
	pthread_mutex_lock(&noted.lock);
	noted.step_position = position_of(unit, index, count, name);
	if (is_weighed(&noted.step_position))
		note_counts();
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

bool npl_progress_get(struct npl_progress *progress)
{
	*progress = (struct npl_progress){.share = NAN};
	pthread_mutex_lock(&noted.lock);
	const bool known = noted.part[0] != '\0';
	snprintf(progress->part, sizeof progress->part, "%s", noted.part);
	append(progress->details, sizeof progress->details, ": ", &noted.part_position);
	append(progress->details, sizeof progress->details, progress->details[0] ? ", " : ": ", &noted.step_position);
	progress->share = noted.work.share;
	progress->is_of_part = noted.work.part[0] != '\0';
	progress->work = noted.work.number;
	progress->seconds = isnan(noted.work.share) ? 0 : seconds_now() - noted.work.begun;
	progress->advances = noted.work.advances;
	pthread_mutex_unlock(&noted.lock);
	npl_make_printable(progress->part);
	npl_make_printable(progress->details);
	return known;
}
