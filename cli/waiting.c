/* SPDX-License-Identifier: MIT
 *
 * The line for a user who waits (waiting.h). */
#include "waiting.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/printable.h"
#include "core/computer/clock.h"
#include "npulab/progress.h"
#include "npulab/thread.h"
#include "terminal.h"

#define FIRST_SECONDS 2
#define CLEAR_LINE    "\r\033[K"
#define USUAL_COLUMNS 80
#define LINE_BYTES    (2 * NPL_PROGRESS_TEXT + 160)

struct cli_waiting cli_waiting_open(bool on_terminal, int columns)
{
	return (struct cli_waiting){.on_terminal = on_terminal,
				    .columns = columns > 0 ? columns : USUAL_COLUMNS,
				    .due_seconds = FIRST_SECONDS};
}

/* Writes "00:04" or "1:02:03". */
static void clock_text(double seconds, char *text, size_t bytes)
{
	const long long s = (long long)seconds;
	if (s < 3600)
		snprintf(text, bytes, "%02lld:%02lld", s / 60, s % 60);
	else
		snprintf(text, bytes, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

/* Cuts the text so that it and `reserved_columns` further columns leave the last column free: a line that wraps cannot
 * be written over. */
static void truncate_line(char *text, int columns, int reserved_columns)
{
	size_t bytes = strlen(text);
	while (bytes && npl_text_width(text) + reserved_columns >= columns) {
		do
			bytes--;
		while (bytes && ((unsigned char)text[bytes] & 0xC0) == 0x80); /* within a character */
		text[bytes] = '\0';
	}
}

size_t cli_waiting_line(struct cli_waiting *w, double seconds, const struct npl_progress *progress, char *text,
			size_t bytes)
{
	static const struct npl_progress unknown = {.part = "at work", .share = (double)NAN};
	const struct npl_progress *p = progress ? progress : &unknown;
	char line[LINE_BYTES], clock[32], left[40], end[80];
	if (seconds < w->due_seconds)
		return 0;
	if (w->on_terminal)
		w->due_seconds = (double)(long long)seconds + 1;
	else
		while (w->due_seconds <= seconds)
			w->due_seconds *= 2;
	clock_text(seconds, clock, sizeof clock);
	cli_time_left_text(cli_time_left(&w->left, p, seconds), left, sizeof left);
	const bool of_part = *left && p->is_of_part;
	snprintf(line, sizeof line, "npulab: %s%s%s%s%s", p->part, of_part ? " (" : "", of_part ? left : "",
		 of_part ? ")" : "", p->details);
	snprintf(end, sizeof end, "%s%s, %s", *left && !of_part ? ", " : "", of_part ? "" : left, clock);
	if (w->on_terminal)
		truncate_line(line, w->columns, (int)strlen(end));
	const int n = snprintf(text, bytes, "%s%s%s%s", w->on_terminal ? CLEAR_LINE : "", line, end,
			       w->on_terminal ? "" : "\n");
	w->line_shown = w->on_terminal;
	return n < 0 ? 0 : (size_t)n < bytes ? (size_t)n : bytes - 1;
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t end_requested;
	pthread_t thread;
	bool enabled, running, stopping, paused;
	double started;
	struct cli_waiting waiting;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void write_stderr(const char *text, size_t bytes)
{
	if (write(STDERR_FILENO, text, bytes) < 0)
		return; /* there is no terminal or stream to write to */
}

static struct timespec timespec_of(double seconds)
{
	return (struct timespec){.tv_sec = (time_t)seconds,
				 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
}

static void *print_until_stopped(void *unused)
{
	struct npl_progress progress;
	char text[LINE_BYTES + 64];
	(void)unused;
	pthread_mutex_lock(&line.lock);
	while (!line.stopping) {
		const struct timespec due = timespec_of(line.started + line.waiting.due_seconds);
		pthread_cond_timedwait(&line.end_requested, &line.lock, &due);
		const double seconds = npl_clock_seconds() - line.started;
		if (line.stopping || seconds < line.waiting.due_seconds)
			continue;
		const bool known = npl_progress_get(&progress);
		write_stderr(text,
			     cli_waiting_line(&line.waiting, seconds, known ? &progress : NULL, text, sizeof text));
	}
	pthread_mutex_unlock(&line.lock);
	return NULL;
}

/* Starts the thread with signals blocked: the working thread gets them, so that a handler never interrupts this one. */
static bool start_thread(void)
{
	sigset_t all_signals, previous;
	pthread_condattr_t clock;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC); /* the clock of npl_clock_seconds */
	pthread_cond_init(&line.end_requested, &clock);
	pthread_condattr_destroy(&clock);
	sigfillset(&all_signals);
	pthread_sigmask(SIG_SETMASK, &all_signals, &previous);
	const bool started = !npl_thread_start(&line.thread, print_until_stopped, NULL);
	pthread_sigmask(SIG_SETMASK, &previous, NULL);
	if (!started)
		pthread_cond_destroy(&line.end_requested);
	return started;
}

void cli_waiting_start(void)
{
	line.enabled = true;
	if (line.running)
		return;
	line.waiting = cli_waiting_open(isatty(STDERR_FILENO), cli_terminal_columns(STDERR_FILENO));
	line.started = npl_clock_seconds();
	line.stopping = false;
	npl_progress_observe(true);
	line.running = start_thread();
	if (!line.running)
		npl_progress_observe(false);
}

void cli_waiting_resume(void)
{
	if (line.enabled)
		cli_waiting_start();
}

static void stop_thread(void)
{
	pthread_mutex_lock(&line.lock);
	line.stopping = true;
	pthread_cond_signal(&line.end_requested);
	pthread_mutex_unlock(&line.lock);
	pthread_join(line.thread, NULL);
	pthread_cond_destroy(&line.end_requested);
	line.running = false;
}

static void clear_line(void)
{
	if (line.waiting.line_shown)
		write_stderr(CLEAR_LINE, strlen(CLEAR_LINE));
	line.waiting.line_shown = false;
}

void cli_waiting_pause(void)
{
	line.paused = line.running;
	if (!line.running)
		return;
	stop_thread();
	clear_line();
}

void cli_waiting_continue(void)
{
	line.stopping = false;
	if (line.paused)
		line.running = start_thread();
	line.paused = false;
}

void cli_waiting_end(void)
{
	if (!line.running)
		return;
	stop_thread();
	npl_progress_observe(false);
	clear_line();
}
