/* SPDX-License-Identifier: MIT
 *
 * Settings files that were parsed before (settings_cache.h). */
#include "settings_cache.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "core/base/arena_scratch.h"

enum { ENTRIES = 16, MOST_BYTES = 64 << 10 };

struct entry {
	struct npl_arena arena; /* holds the rest */
	const char *path;       /* NULL: the entry is free */
	const void *data;
	size_t bytes;
	struct npl_setting *setting;
	int n;
	uint64_t last_use; /* greater for a later one */
};

static struct {
	pthread_mutex_t lock;
	struct entry entry[ENTRIES];
	uint64_t uses;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Copies settings of a file into an arena. NULL: out of memory. */
static struct npl_setting *copy_of(const struct npl_setting *settings, int n, struct npl_arena *arena)
{
	struct npl_setting *copy = npl_arena_raw_array(arena, (size_t)n, sizeof *copy);
	for (int i = 0; copy && i < n; i++) {
		copy[i] = settings[i];
		copy[i].key = npl_arena_strdup(arena, settings[i].key);
		copy[i].value = npl_arena_strdup(arena, settings[i].value);
		if (!copy[i].key || !copy[i].value)
			return NULL;
	}
	return copy;
}

/* Returns the entry of the path; NULL: there is none. */
static struct entry *find(const char *path)
{
	for (struct entry *e = cache.entry; e < cache.entry + ENTRIES; e++)
		if (e->path && !strcmp(e->path, path))
			return e;
	return NULL;
}

bool npl_settings_recall(const char *path, const struct npl_file *file, struct npl_arena *arena,
			 struct npl_setting **settings, int *n)
{
	struct npl_setting *copy = NULL;
	pthread_mutex_lock(&cache.lock);
	struct entry *e = find(path);
	if (e && e->bytes == file->bytes && !memcmp(e->data, file->data, file->bytes)) {
		copy = copy_of(e->setting, e->n, arena);
		*n = e->n;
		e->last_use = ++cache.uses;
	}
	pthread_mutex_unlock(&cache.lock);
	if (copy)
		*settings = copy;
	return copy;
}

/* Returns the entry for the path: its own, or the one that was used longest ago. A free one was never used. */
static struct entry *entry_for(const char *path)
{
	struct entry *own = find(path), *oldest = cache.entry;
	for (struct entry *e = cache.entry; e < cache.entry + ENTRIES; e++)
		oldest = e->last_use < oldest->last_use ? e : oldest;
	return own ? own : oldest;
}

void npl_settings_remember(const char *path, const struct npl_file *file, const struct npl_setting *settings, int n)
{
	if (file->bytes > MOST_BYTES || !n)
		return;
	pthread_mutex_lock(&cache.lock);
	struct entry *e = entry_for(path);
	npl_arena_free(&e->arena);
	void *data = npl_arena_raw(&e->arena, file->bytes);
	e->path = npl_arena_strdup(&e->arena, path);
	e->setting = copy_of(settings, n, &e->arena);
	if (data && e->path && e->setting) {
		memcpy(data, file->data, file->bytes);
		*e = (struct entry){e->arena, e->path, data, file->bytes, e->setting, n, ++cache.uses};
	} else {
		npl_arena_free(&e->arena);
		*e = (struct entry){0};
	}
	pthread_mutex_unlock(&cache.lock);
}
