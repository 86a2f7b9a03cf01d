/* SPDX-License-Identifier: MIT
 *
 * The name table of names.h. */
#include "names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/error.h"

struct graph_name {
	const char *name; /* NULL: free */
	int index;
};

/* Computes FNV-1a, then a multiply-shift: the table uses the low bits, which FNV alone mixes poorly. */
static size_t hash(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	return (size_t)((h * 0x9e3779b97f4a7c15u) >> 20);
}

/* Returns the slot that holds the name, or the free slot where it would be put. */
static struct graph_name *probe(const struct graph_names *names, const char *name)
{
	size_t i = hash(name) & (names->capacity - 1);
	while (names->slot[i].name && strcmp(names->slot[i].name, name) != 0)
		i = (i + 1) & (names->capacity - 1);
	return &names->slot[i];
}

int graph_names_find(const struct graph_names *names, const char *name)
{
	const struct graph_name *slot = names->capacity ? probe(names, name) : NULL;
	return slot && slot->name ? slot->index : -1;
}

static int grow(struct graph_names *names)
{
	struct graph_names grown = {.capacity = names->capacity ? 2 * names->capacity : 64, .used = names->used};
	grown.slot = calloc(grown.capacity, sizeof *grown.slot);
	if (!grown.slot)
		return NPL_ENOMEM;
	for (size_t i = 0; i < names->capacity; i++)
		if (names->slot[i].name)
			*probe(&grown, names->slot[i].name) = names->slot[i];
	free(names->slot);
	*names = grown;
	return 0;
}

int graph_names_add(struct graph_names *names, const char *name, int index)
{
	if (2 * (names->used + 1) > names->capacity && grow(names))
		return NPL_ENOMEM;
	*probe(names, name) = (struct graph_name){name, index};
	names->used++;
	return 0;
}

void graph_names_free(struct graph_names *names)
{
	free(names->slot);
	*names = (struct graph_names){0};
}
