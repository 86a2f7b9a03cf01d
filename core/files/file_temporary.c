/* SPDX-License-Identifier: MIT
 *
 * Temporary files beside the files that they will replace, which a program that is stopped by a signal can remove. The
 * names are in a table that a signal handler may read. A handler takes a name before it removes the file, and a taken
 * name is never overwritten, so that no other file can be removed by mistake. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "file_impl.h"
#include "path.h"

enum { SLOTS = 16 };
enum state { FREE, MAKING, MADE, TAKEN };

static struct {
	_Atomic int state;
	char path[PATH_MAX];
} slot[SLOTS];

/* Returns a free entry of the table; -1: none is free, or the path is longer than any system call takes. */
static int claim_slot(const char *path)
{
	const size_t bytes = strlen(path) + 1;
	if (bytes > sizeof slot[0].path)
		return -1;
	for (int i = 0; i < SLOTS; i++) {
		int state = FREE;
		if (!atomic_compare_exchange_strong(&slot[i].state, &state, MAKING))
			continue;
		memcpy(slot[i].path, path, bytes);
		return i;
	}
	return -1;
}

static void set_slot(int i, int from, int to)
{
	if (i >= 0)
		atomic_compare_exchange_strong(&slot[i].state, &from, to);
}

/* Makes the file and notes it, with signals blocked, so that this thread's handler sees both steps or neither. */
static void create_file(struct npl_temporary *t, mode_t mode)
{
	sigset_t all_signals, former_mask;
	sigfillset(&all_signals);
	pthread_sigmask(SIG_SETMASK, &all_signals, &former_mask);
	t->slot = claim_slot(t->path);
	t->fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int saved_errno = errno;
	set_slot(t->slot, MAKING, t->fd < 0 ? FREE : MADE);
	pthread_sigmask(SIG_SETMASK, &former_mask, NULL);
	errno = saved_errno;
}

struct npl_temporary npl_temporary_open(const char *target, mode_t mode)
{
	static _Atomic unsigned serial;
	const char *base = npl_path_file(target);
	/* A name that is too long is replaced: cutting it could cut a character in two. */
	const char *stem = strlen(base) + 40 <= NAME_MAX ? base : "npulab";
	for (int attempt = 0; attempt < 1000; attempt++) {
		struct npl_temporary t = {.fd = -1, .slot = -1};
		if (asprintf(&t.path, "%.*s%s.%ld-%u.tmp", (int)(base - target), target, stem, (long)getpid(),
			     atomic_fetch_add(&serial, 1)) < 0) {
			t.path = NULL;
			errno = ENOMEM;
			return t;
		}
		create_file(&t, mode);
		if (t.fd >= 0 || errno != EEXIST)
			return t;
		free(t.path);
	}
	errno = EEXIST;
	return (struct npl_temporary){.fd = -1, .slot = -1};
}

void npl_temporary_close(struct npl_temporary *t, bool keep)
{
	if (t->fd >= 0)
		close(t->fd);
	if (t->fd >= 0 && !keep)
		unlink(t->path);
	set_slot(t->slot, MADE, FREE);
	free(t->path);
	*t = (struct npl_temporary){.fd = -1, .slot = -1};
}

void npl_file_remove_temporaries(void)
{
	const int saved_errno = errno;
	for (int i = 0; i < SLOTS; i++) {
		const struct timespec moment = {.tv_nsec = 1000000};
		for (int wait = 0; wait < 1000 && atomic_load(&slot[i].state) == MAKING; wait++)
			nanosleep(&moment, NULL); /* waits for the thread that is making it */
		int state = MADE;
		if (atomic_compare_exchange_strong(&slot[i].state, &state, TAKEN))
			unlink(slot[i].path);
	}
	errno = saved_errno;
}
