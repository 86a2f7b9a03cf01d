/* SPDX-License-Identifier: MIT
 *
 * Declared outputs (core/files/file.h): checks them before there is anything to write, and refuses to read them. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "file_impl.h"
#include "path.h"

enum { MAX_OUTPUTS = 16, MAX_LINKS = 40 };

static struct declared {
	char *path; /* the path as it was spelled; NULL: this entry is free */
	struct npl_output_target target;
	bool read_attempted; /* an attempt was made to read it */
} declared[MAX_OUTPUTS];
static bool notes_reads;
/* Files that were read since an output was declared, or since they are noted. */
static struct read_file {
	dev_t device;
	ino_t inode;
} * files_read;
static int64_t n_read, read_capacity;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static int refuse_overwrite(const char *path, const char *output, struct npl_err *err)
{
	const bool is_same_name = !strcmp(path, output);
	return npl_fail(err, NPL_EUSAGE, "%s is read by this run and would be overwritten%s%s", path,
			is_same_name ? "" : " as ", is_same_name ? "" : output);
}

static int fail_to_write(const char *path, int failure, struct npl_err *err)
{
	return npl_fail(err, failure == ENOMEM ? NPL_ENOMEM : NPL_EOUTPUT, "%s: cannot be written: %s", path,
			strerror(failure));
}

/* Returns the absolute path of a file that does not exist yet, by its folder; the path unchanged where that fails. */
static char *absolute_path(const char *path)
{
	const char *base = npl_path_file(path);
	char *folder = NULL, *real = NULL, *target_path = NULL;
	if (asprintf(&folder, "%.*s.", (int)(base - path), path) < 0)
		return NULL;
	real = realpath(folder, NULL);
	if (asprintf(&target_path, "%s/%s", real && strcmp(real, "/") ? real : "", base) < 0)
		target_path = NULL;
	if (target_path && !real) {
		free(target_path);
		target_path = strdup(path);
	}
	free(folder);
	free(real);
	return target_path;
}

/* Returns the target of the link at path, which may be a link itself; NULL with errno 0: path is no link. */
static char *link_target(const char *path)
{
	char text[PATH_MAX], *target_path = NULL;
	const ssize_t n = readlink(path, text, sizeof text - 1);
	const char *slash = strrchr(path, '/');
	errno = 0;
	if (n < 0)
		return NULL;
	text[n] = '\0';
	const int folder = *text != '/' && slash ? (int)(slash + 1 - path) : 0;
	if (asprintf(&target_path, "%.*s%s", folder, path, text) < 0)
		errno = ENOMEM;
	return target_path;
}

/* Follows links to their last target, which need not exist. Returns NULL with errno set on failure. */
static char *resolve_links(const char *path)
{
	char *real_path = realpath(path, NULL);
	if (real_path)
		return real_path;
	real_path = strdup(path);
	for (int i = 0; real_path; i++) {
		char *next = i < MAX_LINKS ? link_target(real_path) : NULL;
		if (!next && errno == 0 && i < MAX_LINKS) {
			next = absolute_path(real_path);
			free(real_path);
			return next;
		}
		free(real_path);
		real_path = next;
		errno = real_path ? 0 : i < MAX_LINKS ? errno : ELOOP;
	}
	return NULL;
}

/* Returns why a file of this mode cannot be written; NULL: it can. */
static const char *mode_fault(mode_t mode)
{
	return S_ISDIR(mode)    ? "it is a directory, not a file"
	       : S_ISBLK(mode)  ? "it is a disk, not a file"
	       : S_ISSOCK(mode) ? "it is a socket, not a file"
				: NULL;
}

/* Says whether standard output or error goes to this regular file: replacing it would lose the printed text. */
static bool is_printed_to(const struct stat *status)
{
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		struct stat printed;
		if (S_ISREG(status->st_mode) && !fstat(fd, &printed) && printed.st_dev == status->st_dev &&
		    printed.st_ino == status->st_ino)
			return true;
	}
	return false;
}

/* Checks that the folder of a file that does not exist yet is there and accepts a new file. */
static int check_folder(const char *path, const char *target, struct npl_err *err)
{
	const char *base = npl_path_file(target);
	char *folder = NULL;
	if (!*base)
		return npl_fail(err, NPL_EOUTPUT, "%s: cannot be written: it names a folder, not a file", path);
	if (asprintf(&folder, "%.*s.", (int)(base - target), target) < 0)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	const int failure = access(folder, W_OK | X_OK) ? errno : 0;
	free(folder);
	return failure ? fail_to_write(path, failure, err) : 0;
}

static int check(const char *path, struct npl_output_target *target, struct npl_err *err)
{
	struct stat status;
	if (stat(path, &status))
		return errno == ENOENT ? check_folder(path, target->path, err) : fail_to_write(path, errno, err);
	target->existed = true;
	target->device = status.st_dev;
	target->inode = status.st_ino;
	if (mode_fault(status.st_mode))
		return npl_fail(err, NPL_EOUTPUT, "%s: cannot be written: %s", path, mode_fault(status.st_mode));
	if (access(path, W_OK))
		return fail_to_write(path, errno, err);
	if (is_printed_to(&status))
		return npl_fail(err, NPL_EUSAGE, "%s is where standard output or standard error goes", path);
	if (S_ISREG(status.st_mode))
		return 0;
	free(target->path); /* the entry of /proc for a pipe or a terminal is no path */
	target->path = strdup(path);
	return target->path ? 0 : npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
}

static int find_target(const char *path, struct npl_output_target *target, struct npl_err *err)
{
	*target = (struct npl_output_target){.path = resolve_links(path)};
	if (!target->path)
		return fail_to_write(path, errno, err);
	int rc = check(path, target, err);
	if (rc) {
		free(target->path);
		target->path = NULL;
	}
	return rc;
}

/* Says whether two outputs are one file, which only one document can be written to. A character device, as /dev/null,
 * takes any number of documents. */
static bool is_same(const struct npl_output_target *a, const struct npl_output_target *b)
{
	struct stat status;
	if (a->existed && !stat(a->path, &status) && S_ISCHR(status.st_mode))
		return false;
	return !strcmp(a->path, b->path) ||
	       (a->existed && b->existed && a->device == b->device && a->inode == b->inode);
}

int npl_file_declare_output(const char *path, struct npl_err *err)
{
	struct npl_output_target target;
	struct declared *free_entry = NULL;
	if (find_target(path, &target, err))
		return err->code;
	int rc = 0;
	pthread_mutex_lock(&changing);
	for (int i = 0; i < MAX_OUTPUTS && !rc; i++) {
		if (!declared[i].path)
			free_entry = free_entry ? free_entry : &declared[i];
		else if (is_same(&declared[i].target, &target))
			rc = npl_fail(err, NPL_EUSAGE, "%s is named for two outputs", path);
	}
	char *copy = rc || !free_entry ? NULL : strdup(path);
	if (!rc && !free_entry)
		rc = npl_fail(err, NPL_EUSAGE, "%s: more than %d outputs", path, MAX_OUTPUTS);
	else if (!rc && !copy)
		rc = npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	if (rc)
		free(target.path);
	else
		*free_entry = (struct declared){.path = copy, .target = target};
	pthread_mutex_unlock(&changing);
	return rc;
}

int npl_file_check_output(const char *path, struct npl_err *err)
{
	struct npl_output_target target;
	if (find_target(path, &target, err))
		return err->code;
	int rc = 0;
	pthread_mutex_lock(&changing);
	for (int i = 0; i < MAX_OUTPUTS && !rc; i++)
		if (declared[i].path && is_same(&declared[i].target, &target))
			rc = npl_fail(err, NPL_EUSAGE, "%s is named for two outputs", path);
	for (int64_t i = 0; i < n_read && !rc && target.existed; i++)
		if (files_read[i].device == target.device && files_read[i].inode == target.inode)
			rc = refuse_overwrite(path, path, err);
	pthread_mutex_unlock(&changing);
	free(target.path);
	return rc;
}

void npl_file_note_reads(void)
{
	pthread_mutex_lock(&changing);
	notes_reads = true;
	pthread_mutex_unlock(&changing);
}

bool npl_file_output_was_read(void)
{
	bool was_read = false;
	pthread_mutex_lock(&changing);
	for (int i = 0; i < MAX_OUTPUTS; i++)
		was_read |= declared[i].read_attempted;
	pthread_mutex_unlock(&changing);
	return was_read;
}

void npl_file_forget_outputs(void)
{
	pthread_mutex_lock(&changing);
	free(files_read);
	files_read = NULL;
	n_read = read_capacity = 0;
	notes_reads = false;
	for (int i = 0; i < MAX_OUTPUTS; i++) {
		free(declared[i].path);
		free(declared[i].target.path);
		declared[i] = (struct declared){0};
	}
	pthread_mutex_unlock(&changing);
}

/* Notes that a file was read, each file once. */
static int note_read(const struct stat *status, struct npl_err *err)
{
	for (int64_t i = 0; i < n_read; i++)
		if (files_read[i].device == status->st_dev && files_read[i].inode == status->st_ino)
			return 0;
	struct read_file *grown = npl_grow(files_read, n_read, &read_capacity, sizeof *grown);
	if (!grown)
		return npl_no_memory(err);
	files_read = grown;
	grown[n_read++] = (struct read_file){status->st_dev, status->st_ino};
	return 0;
}

int npl_output_refuse_reading(const struct stat *status, const char *path, struct npl_err *err)
{
	int rc = 0;
	pthread_mutex_lock(&changing);
	bool is_noted = notes_reads;
	for (int i = 0; i < MAX_OUTPUTS; i++) {
		const struct npl_output_target *target = &declared[i].target;
		is_noted |= declared[i].path != NULL;
		if (!declared[i].path || !S_ISREG(status->st_mode) || !target->existed ||
		    target->device != status->st_dev || target->inode != status->st_ino)
			continue;
		declared[i].read_attempted = true;
		rc = refuse_overwrite(path, declared[i].path, err);
	}
	if (!rc && is_noted && S_ISREG(status->st_mode))
		rc = note_read(status, err);
	pthread_mutex_unlock(&changing);
	return rc;
}

int npl_output_find(const char *path, struct npl_output_target *target, struct npl_err *err)
{
	int rc = 0;
	bool found = false;
	pthread_mutex_lock(&changing);
	for (int i = 0; i < MAX_OUTPUTS && !found; i++) {
		found = declared[i].path && !strcmp(declared[i].path, path);
		if (!found)
			continue;
		*target = declared[i].target;
		if (declared[i].read_attempted)
			rc = refuse_overwrite(path, path, err);
		else if (!(target->path = strdup(target->path)))
			rc = npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	}
	pthread_mutex_unlock(&changing);
	return found ? rc : find_target(path, target, err);
}
