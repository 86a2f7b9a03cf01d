/* SPDX-License-Identifier: MIT
 *
 * Limits of this process (process_limit.h). */
#include "process_limit.h"

#include <stddef.h>
#include <sys/resource.h>

struct process_limit process_limit(void)
{
	static const struct {
		int resource;
		const char *name, *option;
	} kinds[] = {{RLIMIT_AS, "address space", "ulimit -v"}, {RLIMIT_DATA, "memory for data", "ulimit -d"}};
	struct process_limit lowest = {.bytes = UINT64_MAX};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct rlimit limit;
		if (!getrlimit(kinds[i].resource, &limit) && limit.rlim_cur != RLIM_INFINITY &&
		    limit.rlim_cur < lowest.bytes)
			lowest = (struct process_limit){limit.rlim_cur, kinds[i].name, kinds[i].option};
	}
	return lowest;
}
