/* SPDX-License-Identifier: MIT
 *
 * Pieces of work in processes of their own (jobs.h). Each has two pipes, for its result and for its standard error;
 * when both have ended, so has the process. */
#include "jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "npulab/progress.h"
#include "waiting.h"

enum { RESULT, SAID, PIPES };

struct text {
	char *data;
	size_t bytes, capacity;
};

struct job {
	pid_t process; /* 0: it does not run, or not any more */
	int pipe[PIPES];
	struct text text[PIPES];
	bool has_ended;
	struct cli_job_result result;
	double started;
};

struct state {
	const struct cli_jobs *jobs;
	struct job *job;
	int started, running, reported;
};

/* In the child: does the work, and ends. */
static _Noreturn void work(const struct cli_jobs *jobs, int i, const int to[PIPES], pid_t parent)
{
	FILE *result = fdopen(to[RESULT], "w");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || !result || dup2(to[SAID], STDERR_FILENO) < 0)
		_exit(npl_exit_status(NPL_EINTERNAL));
	close(to[SAID]);
	jobs->work(jobs->context, i, result);
	exit(fclose(result) ? npl_exit_status(NPL_EINTERNAL) : 0);
}

static int start(struct state *s, struct npl_err *err)
{
	const int i = s->started;
	struct job *job = &s->job[i];
	int from[PIPES][2];
	for (int k = 0; k < PIPES; k++)
		if (pipe2(from[k], O_CLOEXEC)) {
			const int errnum = errno;
			while (k--)
				close(from[k][0]), close(from[k][1]);
			return npl_fail(err, NPL_EINTERNAL, "no pipe could be made: %s", strerror(errnum));
		}
	fflush(NULL); /* else the child would print it again */
	const pid_t parent = getpid(), child = fork();
	if (!child) {
		for (int k = 0; k < PIPES; k++)
			close(from[k][0]);
		work(s->jobs, i, (const int[PIPES]){from[RESULT][1], from[SAID][1]}, parent);
	}
	const int errnum = errno;
	for (int k = 0; k < PIPES; k++) {
		close(from[k][1]);
		job->pipe[k] = from[k][0];
		if (child < 0)
			close(from[k][0]);
	}
	if (child < 0)
		return npl_fail(err, errnum == ENOMEM ? NPL_ENOMEM : NPL_EINTERNAL, "no process could be started: %s",
				strerror(errnum));
	job->process = child;
	job->started = npl_clock_seconds();
	s->started++;
	s->running++;
	return 0;
}

/* Reads what a pipe has. Closes it at its end. */
static int take(struct job *job, int k, struct npl_err *err)
{
	struct text *text = &job->text[k];
	if (text->capacity - text->bytes < 65536) {
		const size_t capacity = 2 * text->capacity + 131072;
		char *grown = realloc(text->data, capacity);
		if (!grown)
			return npl_no_memory(err);
		text->data = grown;
		text->capacity = capacity;
	}
	const ssize_t n = read(job->pipe[k], text->data + text->bytes, text->capacity - text->bytes);
	if (n > 0)
		text->bytes += (size_t)n;
	if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
		return 0;
	close(job->pipe[k]);
	job->pipe[k] = -1;
	return 0;
}

/* Notes how many pieces are done, as the number of the one that is done next. Those that run began in their order. */
static void note_progress(const struct state *s)
{
	const int ended = s->started - s->running;
	npl_progress_part(s->jobs->name, s->jobs->name, ended < s->jobs->n ? ended + 1 : ended, s->jobs->n);
}

/* Waits for a process whose pipes have ended. */
static void end(struct state *s, struct job *job)
{
	int status = 0;
	while (waitpid(job->process, &status, 0) < 0 && errno == EINTR)
		continue;
	job->process = 0;
	job->has_ended = true;
	job->result = (struct cli_job_result){.data = job->text[RESULT].data,
					      .bytes = job->text[RESULT].bytes,
					      .said = job->text[SAID].data,
					      .said_bytes = job->text[SAID].bytes,
					      .status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status),
					      .seconds = npl_clock_seconds() - job->started};
	s->running--;
	note_progress(s);
}

/* Waits until some process writes or ends, and takes what it wrote. */
static int wait_for_some(struct state *s, struct pollfd *poll_fd, struct npl_err *err)
{
	int n = 0;
	for (int i = s->reported; i < s->started; i++)
		for (int k = 0; k < PIPES && s->job[i].process; k++)
			if (s->job[i].pipe[k] >= 0)
				poll_fd[n++] = (struct pollfd){.fd = s->job[i].pipe[k], .events = POLLIN};
	if (poll(poll_fd, (nfds_t)n, -1) < 0)
		return errno == EINTR ? 0 : npl_fail(err, NPL_EINTERNAL, "poll: %s", strerror(errno));
	n = 0;
	for (int i = s->reported; i < s->started; i++) {
		struct job *job = &s->job[i];
		for (int k = 0; k < PIPES && job->process; k++)
			if (job->pipe[k] >= 0 && poll_fd[n++].revents && take(job, k, err))
				return err->code;
		if (job->process && job->pipe[RESULT] < 0 && job->pipe[SAID] < 0)
			end(s, job);
	}
	return 0;
}

static void free_texts(struct job *job)
{
	for (int k = 0; k < PIPES; k++) {
		free(job->text[k].data);
		job->text[k] = (struct text){0};
	}
}

/* Reports the pieces that are done, in their order. */
static int report(struct state *s, struct npl_err *err)
{
	int rc = 0;
	while (!rc && s->reported < s->started && s->job[s->reported].has_ended) {
		struct job *job = &s->job[s->reported];
		rc = s->jobs->done(s->jobs->context, s->reported, &job->result, err);
		free_texts(job);
		s->reported++;
	}
	return rc;
}

static void end_all(struct state *s)
{
	for (int i = 0; s->job && i < s->started; i++) {
		struct job *job = &s->job[i];
		if (job->process) {
			kill(job->process, SIGKILL);
			for (int k = 0; k < PIPES; k++)
				if (job->pipe[k] >= 0)
					close(job->pipe[k]);
			end(s, job);
		}
		free_texts(job);
	}
}

int cli_jobs_run(const struct cli_jobs *jobs, struct npl_err *err)
{
	struct state s = {.jobs = jobs, .job = calloc((size_t)jobs->n + 1, sizeof *s.job)};
	struct pollfd *poll_fd = calloc((size_t)jobs->n * PIPES + 1, sizeof *poll_fd);
	int rc = s.job && poll_fd ? 0 : npl_no_memory(err);
	while (!rc && s.reported < jobs->n) {
		if (s.started < jobs->n && s.running < jobs->at_a_time) {
			cli_waiting_pause(); /* its thread may not run while a process is forked */
			rc = start(&s, err);
			note_progress(&s);
			cli_waiting_continue();
			continue;
		}
		rc = wait_for_some(&s, poll_fd, err);
		if (!rc)
			rc = report(&s, err);
	}
	end_all(&s);
	free(s.job);
	free(poll_fd);
	return rc;
}
