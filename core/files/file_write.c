/* SPDX-License-Identifier: MIT
 *
 * Writing whole documents (core/files/file.h): by a temporary that is renamed, or in place. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "file_impl.h"
#include "npulab/progress.h"

/* A document that is being written. */
struct document {
	const struct npl_output_target *target;
	const struct npl_file_piece *piece;
	int n_pieces;
	struct stat target_status;
	bool exists;
};

/* Calls write() until all bytes are written. Returns 0 or an errno. */
static int write_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : ENOSPC;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int write_pieces(int fd, const struct document *d)
{
	int failure = 0;
	for (int i = 0; !failure && i < d->n_pieces; i++)
		failure = write_all(fd, d->piece[i].data, d->piece[i].bytes);
	return failure;
}

/* Gives a new file the owner, group and mode of the file that it replaces. Where the group cannot be kept, the group
 * gets only the permissions of all users. The mode comes last, since a change of owner takes bits of it away. */
static void copy_ownership(int fd, const struct stat *replaced)
{
	mode_t mode = replaced->st_mode & 0777;
	if (fchown(fd, replaced->st_uid, replaced->st_gid) && fchown(fd, (uid_t)-1, replaced->st_gid))
		mode &= ~(mode_t)070 | (mode & 07) << 3;
	if (fchmod(fd, mode))
		return; /* some file systems have no modes */
}

/* Replaces the file by a new one. Returns 0 or an errno. *in_place: writing in place may still work. */
static int replace(const struct document *d, bool *in_place)
{
	struct npl_temporary temporary = npl_temporary_open(d->target->path, d->exists ? 0600 : 0666);
	int failure = temporary.fd < 0 ? errno : 0;
	*in_place = failure && failure != ENOMEM;
	if (!failure)
		failure = write_pieces(temporary.fd, d);
	if (!failure && d->exists)
		copy_ownership(temporary.fd, &d->target_status);
	/* Network file systems report delayed errors when a file is closed; closing a duplicate of the descriptor
	 * reports them too. */
	const int copy = failure ? -1 : dup(temporary.fd);
	if (copy >= 0 && close(copy))
		failure = errno;
	if (!failure && rename(temporary.path, d->target->path)) {
		failure = errno;
		*in_place = true;
	}
	npl_temporary_close(&temporary, !failure);
	return failure;
}

/* Writes the pieces. A FIFO's reader that goes away causes an error of write() here, and no signal. */
static int write_pieces_unsignalled(int fd, const struct document *d)
{
	sigset_t pipe_signal, former_mask, pending_signals;
	const struct timespec no_wait = {0};
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending_signals);
	const bool was_pending = sigismember(&pending_signals, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &former_mask);
	const int failure = write_pieces(fd, d);
	if (failure == EPIPE && !was_pending)
		sigtimedwait(&pipe_signal, NULL, &no_wait);
	pthread_sigmask(SIG_SETMASK, &former_mask, NULL);
	return failure;
}

/* Reserves room for the whole document before any of the old one is lost. Returns 0 or an errno. */
static int reserve_space(int fd, const struct document *d)
{
	struct rlimit limit;
	off_t bytes = 0;
	for (int i = 0; i < d->n_pieces; i++)
		bytes += (off_t)d->piece[i].bytes;
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && (rlim_t)bytes > limit.rlim_cur)
		return EFBIG;
	if (!bytes || !fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) || errno == EOPNOTSUPP || errno == ENOSYS)
		return 0;
	return errno;
}

/* Writes the document over the file. Returns 0 or an errno. */
static int write_in_place(const struct document *d)
{
	const bool regular = S_ISREG(d->target_status.st_mode);
	struct stat status;
	if (S_ISFIFO(d->target_status.st_mode))
		npl_progress_step("document", 1, 1, "waiting for a reader");
	const int fd = open(d->target->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno;
	int failure = fstat(fd, &status) ? errno : 0;
	if (!failure && d->target->existed && (status.st_dev != d->target->device || status.st_ino != d->target->inode))
		failure = ESTALE; /* the file is not the one that was declared, and may be one that was read */
	if (!failure && regular)
		failure = reserve_space(fd, d);
	if (!failure)
		failure = write_pieces_unsignalled(fd, d);
	if (!failure && regular && ftruncate(fd, lseek(fd, 0, SEEK_CUR)))
		failure = errno;
	if (!failure && regular && status.st_mode & 07000 && fchmod(fd, status.st_mode & 0777))
		failure = errno;
	if (close(fd) && !failure)
		failure = errno;
	return failure;
}

static int write_document(struct document *d)
{
	bool in_place = false;
	d->exists = !stat(d->target->path, &d->target_status);
	if (d->exists && !S_ISREG(d->target_status.st_mode))
		return write_in_place(d);
	const int failure = replace(d, &in_place);
	return failure && in_place && d->exists ? write_in_place(d) : failure;
}

int npl_file_write(const char *path, const struct npl_file_piece *piece, int n_pieces, struct npl_err *err)
{
	struct npl_output_target target;
	if (npl_output_find(path, &target, err))
		return err->code;
	npl_progress_part(path, NULL, 0, 0);
	struct document document = {.target = &target, .piece = piece, .n_pieces = n_pieces};
	const int failure = write_document(&document);
	free(target.path);
	return failure ? npl_fail(err, NPL_EOUTPUT, "%s: cannot be written: %s", path, strerror(failure)) : 0;
}
