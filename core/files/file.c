/* SPDX-License-Identifier: MIT
 *
 * Maps whole files, as core/files/file.h describes. */
#include "file_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns what is wrong with this kind of file, or NULL when it is a regular one. */
static const char *regular_fault(mode_t mode)
{
	if (S_ISREG(mode))
		return NULL;
	return S_ISDIR(mode) ? "is a directory, not a file" : "is not a regular file";
}

/* O_NONBLOCK: opening a FIFO without a writer must not hang before fstat can refuse it. */
#define READING (O_RDONLY | O_CLOEXEC | O_NONBLOCK)

static int fail_to_open(const char *path, struct npl_err *err)
{
	return npl_fail(err, errno == ENOMEM ? NPL_ENOMEM : NPL_EINPUT, "%s: cannot be opened: %s", path,
			strerror(errno));
}

/* Maps an open file, and closes fd; fd -1: the file could not be opened. */
static int map(int fd, const char *path, size_t max_bytes, struct npl_file *file, struct npl_err *err)
{
	*file = (struct npl_file){0};
	if (fd < 0)
		return fail_to_open(path, err);
	int rc = 0;
	struct stat status;
	if (fstat(fd, &status)) {
		rc = npl_fail(err, NPL_EINPUT, "%s: cannot be examined: %s", path, strerror(errno));
		goto out;
	}
	const char *kind = regular_fault(status.st_mode);
	if ((rc = npl_output_refuse_reading(&status, path, err)) != 0)
		goto out;
	if (kind) {
		rc = npl_fail(err, NPL_EINPUT, "%s: %s", path, kind);
	} else if (status.st_size == 0) {
		rc = npl_fail(err, NPL_EINPUT, "%s: the file is empty", path);
	} else if ((unsigned long long)status.st_size > max_bytes) {
		rc = npl_fail(err, NPL_EINPUT, "%s: the file has %lld bytes, more than the %zu allowed", path,
			      (long long)status.st_size, max_bytes);
	}
	if (rc)
		goto out;
	void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		rc = npl_fail(err, errno == ENOMEM ? NPL_ENOMEM : NPL_EINPUT, "%s: cannot be read: %s", path,
			      strerror(errno));
		goto out;
	}
	file->data = bytes;
	file->bytes = (size_t)status.st_size;
	rc = npl_mapping_add(file, path, &status, err);
	if (rc)
		npl_file_unmap(file);
out:
	close(fd);
	return rc;
}

int npl_file_map(const char *path, size_t max_bytes, struct npl_file *file, struct npl_err *err)
{
	return map(open(path, READING), path, max_bytes, file, err);
}

/* Returns what is wrong with a path that must stay in a folder, by its text alone; NULL: nothing. */
static const char *path_fault(const char *location)
{
	if (!*location)
		return "it is empty";
	if (*location == '/')
		return "it is absolute";
	for (const char *component = location; *component;
	     component += strcspn(component, "/"), component += strspn(component, "/"))
		if (!strncmp(component, "..", 2) && (!component[2] || component[2] == '/'))
			return "it holds '..'";
	return NULL;
}

/* Opens folder/relative_path, a path that had no links when it was resolved, without following any: a component that
 * has become a link since is refused. */
static int open_without_links(const char *folder, char *relative_path)
{
	int folder_fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
	for (char *component = relative_path, *slash; folder_fd >= 0; component = slash + 1) {
		slash = strchr(component, '/');
		if (slash)
			*slash = '\0';
		int next = openat(folder_fd, component, READING | O_NOFOLLOW | (slash ? O_DIRECTORY : 0)),
		    failure = errno;
		close(folder_fd);
		errno = failure;
		if (!slash)
			return next;
		folder_fd = next;
	}
	return folder_fd;
}

int npl_file_map_beneath(const char *folder, const char *location, size_t max_bytes, struct npl_file *file,
			 struct npl_err *err)
{
	char *path = NULL, *base = NULL, *real = NULL;
	int rc = 0;
	*file = (struct npl_file){0};
	if (path_fault(location))
		return npl_fail(err, NPL_EINPUT, "'%s' must be a path inside %s, but %s", location, folder,
				path_fault(location));
	if (asprintf(&path, "%s/%s", folder, location) < 0)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", location);
	base = realpath(folder, NULL);
	real = base ? realpath(path, NULL) : NULL;
	size_t length = base && strcmp(base, "/") ? strlen(base) : 0;
	if (!real)
		rc = fail_to_open(path, err);
	else if (strncmp(real, base, length) != 0 || real[length] != '/')
		rc = npl_fail(err, NPL_EINPUT, "'%s' leads out of the folder %s through a link: copy the file there",
			      location, folder);
	else
		rc = map(open_without_links(base, real + length + 1), path, max_bytes, file, err);
	free(path);
	free(base);
	free(real);
	return rc;
}

int npl_file_reads(int fd, const char *path, struct npl_err *err)
{
	struct stat status;
	if (fstat(fd, &status))
		return npl_fail(err, NPL_EINPUT, "%s: cannot be examined: %s", path, strerror(errno));
	return npl_output_refuse_reading(&status, path, err);
}

void npl_file_unmap(struct npl_file *file)
{
	npl_mapping_remove(file->mapping);
	if (file->data)
		munmap((void *)file->data, file->bytes);
	*file = (struct npl_file){0};
}
