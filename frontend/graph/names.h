/* SPDX-License-Identifier: MIT
 *
 * A table from names to indices, for the values and nodes of a graph while it is built. Open addressing with
 * linear probing, at most half full. Names are borrowed.
 */
#ifndef NPULAB_FRONTEND_GRAPH_NAMES_H
#define NPULAB_FRONTEND_GRAPH_NAMES_H

#include <stddef.h>

struct graph_names { /* zero-initialise before use */
	struct graph_name *slot;
	size_t capacity, used; /* room is a power of two */
};

int graph_names_find(const struct graph_names *names, const char *name); /* -1 when it is not there */
/* Adds a name that is not in the table yet; returns 0 or NPL_ENOMEM. */
int graph_names_add(struct graph_names *names, const char *name, int index);
void graph_names_free(struct graph_names *names);

#endif
