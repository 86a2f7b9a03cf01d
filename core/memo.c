/* SPDX-License-Identifier: MIT
 *
 * Remembered outcomes (memo.h): a table of hashes with open addresses. */
#include "memo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checksum.h"

struct entry {
	struct npl_memo_key key;
	size_t bytes;
	void *outcome; /* NULL: the place is free */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	size_t allowed, used; /* bytes */
	struct entry *entry;
	size_t n, capacity; /* capacity: a power of two, of which at most half is taken */
	uint64_t found;
} memo;

static void forget_all(void)
{
	for (size_t i = 0; i < memo.capacity; i++)
		free(memo.entry[i].outcome);
	free(memo.entry);
	memo.entry = NULL;
	memo.n = memo.capacity = memo.used = 0;
}

void npl_memo_allow(size_t bytes)
{
	pthread_mutex_lock(&mutex);
	memo.allowed = bytes;
	if (memo.used > bytes || !bytes)
		forget_all();
	pthread_mutex_unlock(&mutex);
}

bool npl_memo_is_allowed(void)
{
	pthread_mutex_lock(&mutex);
	const bool allowed = memo.allowed > 0;
	pthread_mutex_unlock(&mutex);
	return allowed;
}

struct npl_memo_key npl_memo_add(struct npl_memo_key key, const void *data, size_t bytes)
{
	const XXH128_hash_t hash = XXH3_128bits_withSeed(data, bytes, key.half[0]);
	return (struct npl_memo_key){{hash.low64 ^ key.half[1], hash.high64}};
}

/* Says whether a key begins with one of the words. */
static bool is_left_out(const char *key, const char *words)
{
	while (*words) {
		const size_t length = strcspn(words, " ");
		if (length && !strncmp(key, words, length))
			return true;
		words += length + strspn(words + length, " ");
	}
	return false;
}

struct npl_memo_key npl_memo_machine(const struct npl_param *schema, const void *config, const char *without,
				     const char *memory)
{
	struct npl_memo_key key = {{0}};
	for (const struct npl_param *param = schema; param->key; param++) {
		const char *value = (const char *)config + param->offset;
		if (is_left_out(param->key, without))
			continue;
		key = npl_memo_add(key, param->key, strlen(param->key) + 1);
		switch (param->type) {
		case NPL_PARAM_INT:
			key = npl_memo_add(key, value, sizeof(int64_t));
			break;
		case NPL_PARAM_DOUBLE:
			key = npl_memo_add(key, value, sizeof(double));
			break;
		case NPL_PARAM_CHOICE:
			key = npl_memo_add(key, value, sizeof(int));
			break;
		case NPL_PARAM_STRING:
		case NPL_PARAM_ORIGIN:
			value = *(const char *const *)value;
			key = npl_memo_add(key, value ? value : "", value ? strlen(value) + 1 : 1);
		}
	}
	return npl_memo_add(key, memory ? memory : "", memory ? strlen(memory) + 1 : 1);
}

/* Returns the place of a key, or the free one where it belongs; the table is not empty. */
static struct entry *place_of(struct npl_memo_key key)
{
	size_t i = key.half[0] & (memo.capacity - 1);
	while (memo.entry[i].outcome && memcmp(&memo.entry[i].key, &key, sizeof key) != 0)
		i = (i + 1) & (memo.capacity - 1);
	return &memo.entry[i];
}

bool npl_memo_find(struct npl_memo_key key, void *outcome, size_t bytes)
{
	pthread_mutex_lock(&mutex);
	const struct entry *entry = memo.n ? place_of(key) : NULL;
	const bool found = entry && entry->outcome && entry->bytes == bytes;
	if (found)
		memcpy(outcome, entry->outcome, bytes);
	memo.found += found;
	pthread_mutex_unlock(&mutex);
	return found;
}

/* Makes the table twice as large. Returns false where memory is short. */
static bool grow(void)
{
	struct entry *old = memo.entry;
	const size_t capacity = memo.capacity;
	struct entry *grown = calloc(capacity ? 2 * capacity : 256, sizeof *grown);
	if (!grown)
		return false;
	memo.entry = grown;
	memo.capacity = capacity ? 2 * capacity : 256;
	for (size_t i = 0; i < capacity; i++)
		if (old[i].outcome)
			*place_of(old[i].key) = old[i];
	free(old);
	return true;
}

void npl_memo_keep(struct npl_memo_key key, const void *outcome, size_t bytes)
{
	const size_t needed = bytes + sizeof(struct entry);
	void *copy = malloc(bytes + 1);
	pthread_mutex_lock(&mutex);
	const bool fits = copy && needed <= memo.allowed;
	if (fits && memo.used + needed > memo.allowed)
		forget_all();
	struct entry *entry = fits && (2 * memo.n < memo.capacity || grow()) ? place_of(key) : NULL;
	if (entry && !entry->outcome) {
		memcpy(copy, outcome, bytes);
		*entry = (struct entry){key, bytes, copy};
		memo.n++;
		memo.used += needed;
		copy = NULL;
	}
	pthread_mutex_unlock(&mutex);
	free(copy);
}

uint64_t npl_memo_found(void)
{
	pthread_mutex_lock(&mutex);
	const uint64_t found = memo.found;
	pthread_mutex_unlock(&mutex);
	return found;
}
