/* SPDX-License-Identifier: MIT
 *
 * Worker processes (workers.h). A socket leads to each, with a line of JSON for each request and each outcome. */
#include "workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/refuse.h"
#include "npulab/thread.h"
#include "wire.h"

/* Points that a worker has at most: one that it runs, and those that wait in its socket, so that it need not wait for
 * this process. They fit into a socket, so that giving one never waits. */
#define QUEUE    4
#define MAX_LINE 16000 /* bytes of a request; QUEUE of them fit into the 208 KiB of a socket */

struct worker {
	pid_t process;
	int socket;
	int n_given;        /* points that it has */
	char *given[QUEUE]; /* the lines of these, owned, in their order */
	int64_t id[QUEUE];
	int64_t tried_again; /* 1 more than the id of the last point that was */
	char *text;          /* what it has written since its last line break */
	size_t bytes, capacity;
};

struct sweep_workers {
	struct sweep_pool pool;
	struct sweep_evaluator *evaluator;
	struct sweep_threads threads;
	int n;
	struct worker *worker;
	struct pollfd *poll_fd;
};

/* In the child: runs points until the other end of the socket is closed. */
static _Noreturn void work(struct sweep_evaluator *evaluator, int socket)
{
	FILE *requests = fdopen(socket, "r"), *outcomes = fdopen(dup(socket), "w");
	char *line = NULL;
	size_t capacity = 0;
	ssize_t bytes;
	while (requests && outcomes && (bytes = getline(&line, &capacity, requests)) > 0) {
		sweep_serve(evaluator, line, (size_t)bytes, outcomes);
		if (fflush(outcomes))
			break;
	}
	/* Nothing of the parent's may be flushed or cleaned up here. */
	_exit(0);
}

/* In the child: lets go of what is the parent's. A worker must see that the parent has ended, so that no other worker
 * may hold its socket open. */
static void become_worker(const struct sweep_workers *w, pid_t parent, int parent_socket)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	signal(SIGINT, SIG_IGN);
	npl_threads_allow(1); /* the processors are busy with other points */
	for (int i = 0; i < w->n; i++)
		if (w->worker[i].process)
			close(w->worker[i].socket);
	close(parent_socket);
}

static int start(struct sweep_workers *w, struct worker *worker, struct npl_err *err)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return npl_fail(err, NPL_ENOMEM, "no socket could be made: %s", strerror(errno));
	if (w->threads.pause)
		w->threads.pause();
	fflush(NULL); /* else the child would print it again */
	const pid_t parent = getpid(), child = fork();
	if (!child) {
		become_worker(w, parent, ends[0]);
		work(w->evaluator, ends[1]);
	}
	const int errnum = errno;
	if (w->threads.go_on)
		w->threads.go_on();
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return npl_fail(err, errnum == ENOMEM ? NPL_ENOMEM : NPL_EINTERNAL, "no process could be started: %s",
				strerror(errnum));
	}
	worker->process = child;
	worker->socket = ends[0];
	worker->bytes = 0;
	return 0;
}

/* Ends a worker, and returns how it ended. */
static int end(struct worker *worker, bool by_force)
{
	int status = 0;
	if (!worker->process)
		return 0;
	if (by_force)
		kill(worker->process, SIGKILL);
	close(worker->socket);
	while (waitpid(worker->process, &status, 0) < 0 && errno == EINTR)
		continue;
	worker->process = 0;
	return status;
}

static void close_workers(struct sweep_pool *pool)
{
	struct sweep_workers *w = (struct sweep_workers *)pool;
	for (int i = 0; w->worker && i < w->n; i++) {
		struct worker *worker = &w->worker[i];
		end(worker, true);
		for (int k = 0; k < worker->n_given; k++)
			free(worker->given[k]);
		free(worker->text);
	}
	free(w->worker);
	free(w->poll_fd);
	free(w);
}

static int at_work(const struct sweep_pool *pool)
{
	const struct sweep_workers *w = (const struct sweep_workers *)pool;
	int n = 0;
	for (int i = 0; i < w->n; i++)
		n += w->worker[i].n_given;
	return n;
}

static int room(const struct sweep_pool *pool)
{
	return pool->most - at_work(pool);
}

static int send_line(const struct worker *worker, const char *line, struct npl_err *err)
{
	for (size_t bytes = strlen(line); bytes;) {
		const ssize_t n = send(worker->socket, line, bytes, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return 0; /* the worker has ended: the next wait finds that, and gives its points again */
		if (n < 0)
			return npl_fail(err, NPL_EINTERNAL, "a point could not be given to a worker: %s",
					strerror(errno));
		line += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int give(struct sweep_pool *pool, const struct sweep_request *request, struct npl_err *err)
{
	const struct sweep_workers *w = (const struct sweep_workers *)pool;
	struct worker *worker = &w->worker[0];
	for (int i = 1; i < w->n; i++)
		if (w->worker[i].n_given < worker->n_given)
			worker = &w->worker[i];
	char *line = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&line, &bytes);
	if (!out)
		return npl_no_memory(err);
	sweep_write_request(out, request);
	if (fclose(out)) {
		free(line);
		return npl_no_memory(err);
	}
	if (bytes > MAX_LINE) {
		free(line);
		return npl_fail(err, NPL_EUSAGE, "the parameters of a point take %zu bytes, expected at most %d", bytes,
				MAX_LINE);
	}
	worker->id[worker->n_given] = request->id;
	worker->given[worker->n_given++] = line;
	return send_line(worker, line, err);
}

/* Forgets the first point that a worker has. */
static void drop_first(struct worker *worker)
{
	free(worker->given[0]);
	worker->n_given--;
	memmove(worker->given, worker->given + 1, (size_t)worker->n_given * sizeof *worker->given);
	memmove(worker->id, worker->id + 1, (size_t)worker->n_given * sizeof *worker->id);
}

/* Starts a worker anew, and gives it its points again. */
static int go_on(struct sweep_workers *w, struct worker *worker, struct npl_err *err)
{
	int rc = start(w, worker, err);
	for (int k = 0; k < worker->n_given && !rc; k++)
		rc = send_line(worker, worker->given[k], err);
	return rc;
}

/* Replaces a worker that has ended. The point that it was at is run once more, and is a failed one if that ends the new
 * worker too. */
static int replace(struct sweep_workers *w, struct worker *worker, sweep_take_outcome *take, void *context,
		   struct npl_err *err)
{
	char reason[200];
	const int status = end(worker, false);
	/* What ended the process may have been another program's doing: the point has a second try. */
	if (worker->n_given && worker->tried_again != worker->id[0] + 1) {
		worker->tried_again = worker->id[0] + 1;
		return go_on(w, worker, err);
	}
	if (WIFSIGNALED(status))
		snprintf(reason, sizeof reason, "the process that ran it was ended by the signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(reason, sizeof reason, "the process that ran it ended with the status %d",
			 WEXITSTATUS(status));
	const struct sweep_outcome outcome = sweep_failed(reason);
	if (worker->n_given) {
		const int64_t id = worker->id[0];
		drop_first(worker);
		if (take(context, id, &outcome, err))
			return err->code;
	}
	return go_on(w, worker, err);
}

/* Hands over the whole lines that a worker has written. */
static int take_lines(struct worker *worker, sweep_take_outcome *take, void *context, struct npl_err *err)
{
	size_t begin = 0;
	for (char *end; (end = memchr(worker->text + begin, '\n', worker->bytes - begin));
	     begin = (size_t)(end - worker->text) + 1) {
		struct npl_arena arena = {0};
		struct sweep_outcome outcome;
		int64_t id;
		int rc = sweep_read_outcome(worker->text + begin, (size_t)(end - worker->text) - begin, &arena, &id,
					    &outcome, err);
		/* A request that the worker could not read comes back without its id. */
		if (!rc && id < 0 && worker->n_given)
			id = worker->id[0];
		if (!rc && (!worker->n_given || worker->id[0] != id))
			rc = npl_fail(err, NPL_EINTERNAL, "a worker answered for a point that it does not have");
		if (!rc) {
			drop_first(worker);
			rc = take(context, id, &outcome, err);
		}
		npl_arena_free(&arena);
		if (rc)
			return rc;
	}
	worker->bytes -= begin;
	memmove(worker->text, worker->text + begin, worker->bytes);
	return 0;
}

/* Reads what a worker has written. */
static int hear(struct sweep_workers *w, struct worker *worker, sweep_take_outcome *take, void *context,
		struct npl_err *err)
{
	if (worker->capacity - worker->bytes < 65536) {
		const size_t capacity = 2 * worker->capacity + 131072;
		char *grown = realloc(worker->text, capacity);
		if (!grown)
			return npl_no_memory(err);
		worker->text = grown;
		worker->capacity = capacity;
	}
	const ssize_t n = read(worker->socket, worker->text + worker->bytes, worker->capacity - worker->bytes);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0)
		return replace(w, worker, take, context, err);
	worker->bytes += (size_t)n;
	return take_lines(worker, take, context, err);
}

static int wait_for_outcomes(struct sweep_pool *pool, double seconds, int input, sweep_take_outcome *take,
			     void *context, struct npl_err *err)
{
	struct sweep_workers *w = (struct sweep_workers *)pool;
	for (int i = 0; i < w->n; i++)
		w->poll_fd[i] = (struct pollfd){.fd = w->worker[i].socket, .events = POLLIN};
	w->poll_fd[w->n] = (struct pollfd){.fd = input, .events = POLLIN};
	pool->heard = false;
	if (poll(w->poll_fd, (nfds_t)w->n + 1, (int)(seconds * 1e3)) < 0)
		return errno == EINTR ? 0 : npl_fail(err, NPL_EINTERNAL, "poll: %s", strerror(errno));
	pool->heard = input >= 0 && w->poll_fd[w->n].revents;
	for (int i = 0; i < w->n; i++)
		if (w->poll_fd[i].revents && hear(w, &w->worker[i], take, context, err))
			return err->code;
	return 0;
}

static const struct sweep_pool_kind kind = {
	.room = room, .at_work = at_work, .give = give, .wait = wait_for_outcomes, .close = close_workers};

int sweep_workers_open(struct sweep_evaluator *evaluator, int n, const struct sweep_threads *threads,
		       struct sweep_pool **pool, struct npl_err *err)
{
	struct sweep_workers *w = calloc(1, sizeof *w);
	*pool = NULL;
	if (!w)
		return npl_no_memory(err);
	w->pool = (struct sweep_pool){.kind = &kind, .most = n * QUEUE};
	w->evaluator = evaluator;
	w->threads = threads ? *threads : (struct sweep_threads){0};
	w->worker = calloc((size_t)n, sizeof *w->worker);
	w->poll_fd = calloc((size_t)n + 1, sizeof *w->poll_fd);
	int rc = w->worker && w->poll_fd ? 0 : npl_no_memory(err);
	for (; !rc && w->n < n; w->n++)
		rc = start(w, &w->worker[w->n], err);
	if (rc)
		close_workers(&w->pool);
	else
		*pool = &w->pool;
	return rc;
}
