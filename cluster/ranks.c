/* SPDX-License-Identifier: MIT
 *
 * Ranks as workers (ranks.h). Rank 0 gives each of the others at most QUEUE points. */
#include "ranks.h"

#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "explore/evaluate/pool.h"
#include "explore/evaluate/wire.h"

/* Points that a rank has at most: one that it runs, and those that wait for it, so that it need not wait for rank 0. */
#define QUEUE 4

/* Rank 0 looks so often whether an answer has come, while none has: an answer costs no processor until then. */
#define LOOK_MILLISECONDS 1

enum tag { READY = 1, REQUEST, OUTCOME, END };

struct ranks {
	struct sweep_pool pool;
	int n;        /* ranks besides 0 */
	int *n_given; /* of each rank, points that it has */
};

/* Says whether the other ranks have been told to end. */
static bool have_ended;

static int at_work(const struct sweep_pool *pool)
{
	const struct ranks *ranks = (const struct ranks *)pool;
	int n = 0;
	for (int i = 1; i <= ranks->n; i++)
		n += ranks->n_given[i];
	return n;
}

static int room(const struct sweep_pool *pool)
{
	return pool->most - at_work(pool);
}

static int send_line(const char *line, size_t bytes, int rank, enum tag tag, struct npl_err *err)
{
	if (MPI_Send(line, (int)bytes, MPI_CHAR, rank, tag, MPI_COMM_WORLD))
		return npl_fail(err, NPL_EINTERNAL, "rank %d cannot be reached", rank);
	return 0;
}

static int give(struct sweep_pool *pool, const struct sweep_request *request, struct npl_err *err)
{
	struct ranks *ranks = (struct ranks *)pool;
	int rank = 1;
	for (int i = 2; i <= ranks->n; i++)
		if (ranks->n_given[i] < ranks->n_given[rank])
			rank = i;
	char *line = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&line, &bytes);
	if (!out)
		return npl_no_memory(err);
	sweep_write_request(out, request);
	int rc = fclose(out) ? npl_no_memory(err) : send_line(line, bytes, rank, REQUEST, err);
	free(line);
	ranks->n_given[rank] += !rc;
	return rc;
}

/* Receives a message that has been announced; the text ends with a NUL. NULL: memory is short. */
static char *receive(const MPI_Status *announced)
{
	int bytes;
	MPI_Get_count(announced, MPI_CHAR, &bytes);
	char *text = malloc((size_t)bytes + 1);
	if (!text)
		return NULL;
	MPI_Recv(text, bytes, MPI_CHAR, announced->MPI_SOURCE, announced->MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	text[bytes] = '\0';
	return text;
}

/* Takes an outcome that has been announced. */
static int take_outcome(struct ranks *ranks, const MPI_Status *announced, sweep_take_outcome *take, void *context,
			struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct sweep_outcome outcome;
	int64_t id;
	char *text = receive(announced);
	int rc = text ? sweep_read_outcome(text, strlen(text), &arena, &id, &outcome, err) : npl_no_memory(err);
	if (!rc) {
		ranks->n_given[announced->MPI_SOURCE]--;
		rc = take(context, id, &outcome, err);
	}
	npl_arena_free(&arena);
	free(text);
	return rc;
}

static int wait_for_outcomes(struct sweep_pool *pool, double seconds, int input, sweep_take_outcome *take,
			     void *context, struct npl_err *err)
{
	struct ranks *ranks = (struct ranks *)pool;
	const double started = npl_clock_seconds();
	bool taken = false;
	pool->heard = false;
	for (;;) {
		MPI_Status status;
		int there = 0;
		MPI_Iprobe(MPI_ANY_SOURCE, OUTCOME, MPI_COMM_WORLD, &there, &status);
		if (there) {
			taken = true;
			if (take_outcome(ranks, &status, take, context, err))
				return err->code;
			continue;
		}
		struct pollfd descriptor = {.fd = input, .events = POLLIN};
		if (taken || npl_clock_seconds() - started > seconds)
			return 0;
		const int n = poll(&descriptor, 1, LOOK_MILLISECONDS);
		pool->heard = n > 0 && input >= 0;
		if (n) /* there is input, or a signal arrived */
			return 0;
	}
}

static void end_ranks(void)
{
	int n;
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	for (int rank = 1; rank < n && !have_ended; rank++)
		MPI_Send("", 0, MPI_CHAR, rank, END, MPI_COMM_WORLD);
	have_ended = true;
}

/* Takes the outcomes that are still on their way, so that no rank waits for its to be taken. */
static void drain(struct ranks *ranks)
{
	while (at_work(&ranks->pool)) {
		MPI_Status status;
		MPI_Probe(MPI_ANY_SOURCE, OUTCOME, MPI_COMM_WORLD, &status);
		free(receive(&status));
		ranks->n_given[status.MPI_SOURCE]--;
	}
}

static void close_ranks(struct sweep_pool *pool)
{
	struct ranks *ranks = (struct ranks *)pool;
	end_ranks();
	drain(ranks);
	free(ranks->n_given);
	free(ranks);
}

/* Waits until each rank says that it is ready, or why it is not. */
static int hear_ranks(const struct ranks *ranks, struct npl_err *err)
{
	int rc = 0;
	for (int i = 0; i < ranks->n; i++) {
		MPI_Status status;
		MPI_Probe(MPI_ANY_SOURCE, READY, MPI_COMM_WORLD, &status);
		char *text = receive(&status);
		if (!text)
			return npl_no_memory(err);
		if (*text && !rc)
			rc = npl_fail(err, NPL_EINPUT, "rank %d: %s", status.MPI_SOURCE, text);
		free(text);
	}
	return rc;
}

static int open_ranks(struct sweep_evaluator *evaluator, int n, const struct sweep_threads *threads,
		      struct sweep_pool **pool, struct npl_err *err)
{
	static const struct sweep_pool_kind kind = {
		.room = room, .at_work = at_work, .give = give, .wait = wait_for_outcomes, .close = close_ranks};
	struct ranks *ranks = calloc(1, sizeof *ranks);
	(void)evaluator, (void)n, (void)threads;
	*pool = NULL;
	if (!ranks)
		return npl_no_memory(err);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks->n);
	ranks->n--;
	ranks->pool = (struct sweep_pool){.kind = &kind, .most = ranks->n * QUEUE};
	ranks->n_given = calloc((size_t)ranks->n + 1, sizeof *ranks->n_given);
	int rc = ranks->n_given ? 0 : npl_no_memory(err);
	if (!rc && !ranks->n)
		rc = npl_fail(err, NPL_EUSAGE, "npulab-mpi has one rank: expected two or more, as mpirun -n 3");
	if (!rc)
		rc = hear_ranks(ranks, err);
	if (rc) {
		free(ranks->n_given);
		free(ranks);
	} else
		*pool = &ranks->pool;
	return rc;
}

/* Runs the points that rank 0 gives. */
static void serve(struct sweep_evaluator *evaluator, const struct npl_err *failure)
{
	const char *message = failure ? failure->msg : "";
	struct npl_err err;
	send_line(message, strlen(message), 0, READY, &err);
	while (!have_ended) {
		char *line = NULL;
		size_t bytes = 0;
		MPI_Status status;
		MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		char *text = receive(&status);
		have_ended = status.MPI_TAG == END || !text;
		FILE *out = have_ended ? NULL : open_memstream(&line, &bytes);
		if (out) {
			sweep_serve(evaluator, text, strlen(text), out);
			fclose(out);
			send_line(line, bytes, 0, OUTCOME, &err);
		}
		free(line);
		free(text);
	}
}

void cluster_open(void)
{
	static struct sweep_cluster cluster = {.open = open_ranks, .serve = serve};
	MPI_Comm_rank(MPI_COMM_WORLD, &cluster.rank);
	sweep_cluster = &cluster;
}

void cluster_close(int status)
{
	if (!sweep_cluster->rank) {
		end_ranks();
		return;
	}
	/* A rank whose command failed before it served tells rank 0, which waits for it if its own did not. */
	struct npl_err failure = {.code = NPL_EINPUT};
	snprintf(failure.msg, sizeof failure.msg, "the command failed there with the exit status %d", status);
	if (!have_ended)
		serve(NULL, &failure);
}
