/* SPDX-License-Identifier: MIT
 *
 * Machines of one trace that have another name in a second one. */
#ifndef NPULAB_TRACES_NAMES_H
#define NPULAB_TRACES_NAMES_H

#include <string.h>

struct trace_name {
	const char *name;  /* in this trace */
	const char *other; /* in the second one */
	const char *word;  /* the same as it is written in a line: within quotes where it needs them */
};
struct trace_names { /* borrowed texts; none where it is zeroed */
	struct trace_name *name;
	int n;
};
/* Returns NULL where a machine has the same name in both. */
static inline const struct trace_name *trace_find_name(const struct trace_names *names, const char *name)
{
	for (int i = 0; names && i < names->n; i++)
		if (!strcmp(names->name[i].name, name))
			return &names->name[i];
	return NULL;
}

#endif
