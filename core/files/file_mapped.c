/* SPDX-License-Identifier: MIT
 *
 * Which files are mapped where, in a form that a signal handler may read (npl_file_at): a list that only grows, whose
 * entries are used again and never freed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/printable.h"
#include "file_impl.h"

struct npl_mapping {
	_Atomic uintptr_t start;
	_Atomic size_t bytes; /* 0: the entry is free */
	char *path;           /* printable */
	char *original_path;  /* the path as it was given */
	struct stat status;   /* the file's status when it was mapped */
	struct npl_mapping *next, *next_free;
};

static struct npl_mapping *_Atomic mappings;
static struct npl_mapping *free_mappings;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER; /* the lists; readers need none */

static struct npl_mapping *take_entry(void)
{
	struct npl_mapping *entry = free_mappings;
	if (entry) {
		free_mappings = entry->next_free;
	} else if ((entry = calloc(1, sizeof *entry)) != NULL) {
		entry->next = atomic_load(&mappings);
		atomic_store(&mappings, entry);
	}
	return entry;
}

/* Gives the entry its names. It takes over both strings. */
static void set_paths(struct npl_mapping *entry, char *path, char *original_path)
{
	entry->path = npl_make_printable(path);
	entry->original_path = original_path;
}

int npl_mapping_add(struct npl_file *file, const char *path, const struct stat *status, struct npl_err *err)
{
	char *copy = strdup(path), *original_path = strdup(path);
	pthread_mutex_lock(&changing);
	struct npl_mapping *entry = copy && original_path ? take_entry() : NULL;
	if (entry) {
		set_paths(entry, copy, original_path);
		entry->status = *status;
		atomic_store(&entry->start, (uintptr_t)file->data);
		atomic_store(&entry->bytes, file->bytes);
	}
	pthread_mutex_unlock(&changing);
	file->mapping = entry;
	if (entry)
		return 0;
	free(copy);
	free(original_path);
	return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
}

void npl_mapping_remove(struct npl_mapping *mapping)
{
	if (!mapping)
		return;
	atomic_store(&mapping->bytes, 0);
	pthread_mutex_lock(&changing);
	free(mapping->path);
	free(mapping->original_path);
	mapping->path = mapping->original_path = NULL;
	mapping->next_free = free_mappings;
	free_mappings = mapping;
	pthread_mutex_unlock(&changing);
}

int npl_file_unchanged(const struct npl_file *file, struct npl_err *err)
{
	const struct npl_mapping *mapping = file->mapping;
	struct stat status;
	if (!mapping || stat(mapping->original_path, &status) || status.st_dev != mapping->status.st_dev ||
	    status.st_ino != mapping->status.st_ino)
		return 0; /* the file was removed or replaced: the mapped one is unchanged */
	if (status.st_size == mapping->status.st_size && status.st_mtim.tv_sec == mapping->status.st_mtim.tv_sec &&
	    status.st_mtim.tv_nsec == mapping->status.st_mtim.tv_nsec)
		return 0;
	return npl_fail(err, NPL_EINPUT, "%s: it was changed while it was in use: expected it to stay as it was",
			mapping->path);
}

const char *npl_file_at(const void *address)
{
	const uintptr_t byte = (uintptr_t)address, page = 4096;
	for (const struct npl_mapping *entry = atomic_load(&mappings); entry; entry = entry->next) {
		const size_t bytes = atomic_load(&entry->bytes);
		const uintptr_t start = atomic_load(&entry->start);
		if (bytes && byte >= start && byte - start < npl_div_up_u64(bytes, page) * page)
			return entry->path;
	}
	return NULL;
}
