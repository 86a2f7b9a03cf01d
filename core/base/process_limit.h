/* SPDX-License-Identifier: MIT
 *
 * The memory that this process may map: the least of its limits on address space and on data, where it has one. */
#ifndef NPULAB_CORE_BASE_PROCESS_LIMIT_H
#define NPULAB_CORE_BASE_PROCESS_LIMIT_H

#include <stdint.h>

struct process_limit {
	uint64_t bytes;     /* UINT64_MAX: there is none */
	const char *name;   /* "address space", "memory for data" */
	const char *option; /* the shell's option that sets it: "ulimit -v" */
};

struct process_limit process_limit(void);

#endif
