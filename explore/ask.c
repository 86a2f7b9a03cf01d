/* SPDX-License-Identifier: MIT
 *
 * Answering another program's points (ask.h). */
#include "ask.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "explore/evaluate/wire.h"

#define MAX_LINE ((size_t)1 << 20)

/* Seconds after which finished points are committed to a store. */
#define COMMIT_SECONDS 0.5
/* Seconds after which answers that could not be written are tried again. */
#define TRY_SECONDS 0.005

/* A point that has been asked for and not answered. */
struct asked {
	int64_t number; /* of its line: the id that workers know */
	int64_t id;     /* as the program gave it */
	struct npl_arena arena;
	struct sweep_request request;
};

/* Answers that have not been written, since the program does not read them yet. */
struct answers {
	int output;
	char *text;
	size_t bytes, capacity;
};

struct state {
	struct sweep_pool *pool;
	struct answers answers;
	struct sweep_store *store;
	int64_t lines; /* lines read until now */
	char *text;    /* what was read and has no line break yet */
	size_t bytes, capacity;
	bool ended;          /* no more lines come */
	struct asked *asked; /* n_asked of at most max_asked */
	int n_asked, max_asked;
	double committed;
};

static int keep_answer(struct answers *answers, const char *line, size_t bytes, struct npl_err *err)
{
	if (answers->capacity - answers->bytes < bytes) {
		const size_t capacity = 2 * answers->capacity + bytes;
		char *grown = realloc(answers->text, capacity);
		if (!grown)
			return npl_no_memory(err);
		answers->text = grown;
		answers->capacity = capacity;
	}
	memcpy(answers->text + answers->bytes, line, bytes);
	answers->bytes += bytes;
	return 0;
}

/* Writes answers as far as the program reads them, or all. A program may ask for many points before it reads: it must
 * not wait for questions to be read while these wait for answers to be read. A pipe with room takes PIPE_BUF bytes at
 * once. */
static int write_answers(struct answers *answers, bool all, struct npl_err *err)
{
	size_t written = 0;
	while (written < answers->bytes) {
		struct pollfd descriptor = {.fd = answers->output, .events = POLLOUT};
		const size_t left = answers->bytes - written;
		if (!all && poll(&descriptor, 1, 0) <= 0)
			break;
		const ssize_t n = write(answers->output, answers->text + written, left < PIPE_BUF ? left : PIPE_BUF);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return npl_fail(err, NPL_EOUTPUT, "an answer could not be written: %s", strerror(errno));
		written += n > 0 ? (size_t)n : 0;
	}
	answers->bytes -= written;
	if (written)
		memmove(answers->text, answers->text + written, answers->bytes);
	return 0;
}

static int answer(struct state *s, int64_t id, const struct sweep_outcome *outcome, struct npl_err *err)
{
	char *line = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&line, &bytes);
	if (!out)
		return npl_no_memory(err);
	sweep_write_outcome(out, id, outcome);
	int rc = fclose(out) ? npl_no_memory(err) : keep_answer(&s->answers, line, bytes, err);
	free(line);
	return rc ? rc : write_answers(&s->answers, false, err);
}

static int take_outcome(void *context, int64_t number, const struct sweep_outcome *outcome, struct npl_err *err)
{
	struct state *s = context;
	int i = 0;
	while (s->asked[i].number != number)
		i++;
	struct asked asked = s->asked[i];
	s->asked[i] = s->asked[--s->n_asked];
	int rc = s->store ? sweep_store_put(s->store, -1, asked.request.parameter, asked.request.n, outcome, err) : 0;
	if (!rc)
		rc = answer(s, asked.id, outcome, err);
	npl_arena_free(&asked.arena);
	return rc;
}

/* Answers a line that is no request, with its id as far as it has one. */
static int refuse_line(struct state *s, const struct asked *asked, const char *reason, struct npl_err *err)
{
	char text[sizeof err->msg];
	snprintf(text, sizeof text, "line %lld: %.400s", (long long)asked->number + 1, reason);
	const struct sweep_outcome outcome = sweep_failed(text);
	return answer(s, asked->id, &outcome, err);
}

static bool is_blank(const char *line, size_t bytes)
{
	while (bytes && memchr(" \t\r", line[bytes - 1], 3))
		bytes--;
	return !bytes;
}

static int fail_too_long(int64_t number, struct npl_err *err)
{
	return npl_fail(err, NPL_EINPUT, "points: line %lld: expected at most %zu bytes", (long long)number + 1,
			MAX_LINE);
}

static int ask(struct state *s, const char *line, size_t bytes, struct npl_err *err)
{
	struct asked *asked = &s->asked[s->n_asked];
	struct npl_err reason;
	*asked = (struct asked){.number = s->lines++};
	if (bytes > MAX_LINE)
		return fail_too_long(asked->number, err);
	if (is_blank(line, bytes))
		return 0; /* asks for nothing */
	int rc = sweep_read_request(line, bytes, &asked->arena, &asked->request, &reason);
	asked->id = asked->request.id < 0 ? asked->number : asked->request.id;
	asked->request.id = asked->number;
	if (!rc)
		rc = s->pool->kind->give(s->pool, &asked->request, &reason);
	if (!rc) {
		s->n_asked++;
		return 0;
	}
	npl_arena_free(&asked->arena);
	return refuse_line(s, asked, reason.msg, err);
}

/* Asks for the points of whole lines, as long as workers have room; what is left waits. */
static int ask_lines(struct state *s, struct npl_err *err)
{
	size_t begin = 0;
	int rc = 0;
	while (!rc && s->n_asked < s->max_asked && s->pool->kind->room(s->pool) > 0) {
		char *end = memchr(s->text + begin, '\n', s->bytes - begin);
		if (!end && !(s->ended && s->bytes > begin))
			break;
		const size_t length = end ? (size_t)(end - s->text) - begin : s->bytes - begin;
		rc = ask(s, s->text + begin, length, err);
		begin += length + (end != NULL);
	}
	s->bytes -= begin;
	memmove(s->text, s->text + begin, s->bytes);
	return rc;
}

/* Reads what there is to read. */
static int hear(struct state *s, int input, struct npl_err *err)
{
	if (s->bytes > MAX_LINE)
		return fail_too_long(s->lines, err);
	if (s->capacity - s->bytes < 4096) {
		const size_t capacity = 2 * s->capacity + 65536;
		char *grown = realloc(s->text, capacity);
		if (!grown)
			return npl_no_memory(err);
		s->text = grown;
		s->capacity = capacity;
	}
	const ssize_t n = read(input, s->text + s->bytes, s->capacity - s->bytes);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return npl_fail(err, NPL_EINPUT, "points: %s", strerror(errno));
	s->ended = n == 0;
	s->bytes += n > 0 ? (size_t)n : 0;
	return 0;
}

static int commit(struct state *s, bool all, struct npl_err *err)
{
	const double now = npl_clock_seconds();
	if (!s->store || (!all && now - s->committed < COMMIT_SECONDS))
		return 0;
	s->committed = now;
	return sweep_store_commit(s->store, err);
}

static int run(struct state *s, int input, const struct sweep_options *options, struct npl_err *err)
{
	while (!(options->interrupted && *options->interrupted)) {
		/* Lines that wait are asked for before more are read. */
		const bool waits = s->bytes && (s->ended || memchr(s->text, '\n', s->bytes));
		if (s->ended && !s->bytes && !s->n_asked)
			break;
		const bool hears = !s->ended && !waits;
		if (s->n_asked || hears) {
			const double seconds = s->answers.bytes ? TRY_SECONDS : COMMIT_SECONDS;
			if (s->pool->kind->wait(s->pool, seconds, hears ? input : -1, take_outcome, s, err))
				return err->code;
		}
		if (hears && s->pool->heard && hear(s, input, err))
			return err->code;
		if (ask_lines(s, err) || write_answers(&s->answers, false, err) || commit(s, false, err))
			return err->code;
	}
	/* Who interrupts a sweep does not wait for a program that may never read. */
	const bool interrupted = options->interrupted && *options->interrupted;
	return commit(s, true, err) ? err->code : write_answers(&s->answers, !interrupted, err);
}

int sweep_answer(const struct sweep_plan *plan, struct sweep_evaluator *evaluator, int input, int output,
		 struct sweep_store *store, const struct sweep_options *options, struct npl_err *err)
{
	struct state s = {.answers.output = output, .store = store, .committed = npl_clock_seconds()};
	sweep_open_pool *open = sweep_cluster ? sweep_cluster->open : sweep_workers_open;
	int rc = open(evaluator, plan->is_measured ? 1 : options->workers, options->threads, &s.pool, err);
	if (!rc) {
		s.max_asked = s.pool->most;
		s.asked = calloc((size_t)s.max_asked + 1, sizeof *s.asked);
		rc = s.asked ? run(&s, input, options, err) : npl_no_memory(err);
	}
	if (s.pool)
		s.pool->kind->close(s.pool);
	for (int i = 0; i < s.n_asked; i++)
		npl_arena_free(&s.asked[i].arena);
	free(s.asked);
	free(s.text);
	free(s.answers.text);
	return rc;
}
