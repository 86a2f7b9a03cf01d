/* SPDX-License-Identifier: MIT
 *
 * Limits on memory (budget.h). */
#include "npulab/budget.h"
#include "cgroups.h"
#include "core/base/arith.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process_limit.h"

#define ALWAYS_ALLOWED                                                                                                 \
	((uint64_t)16 << 20) /* bytes of one request: finding those in use costs more than these could harm */
#define PATH_BYTES 1024

static atomic_uint_fast64_t allowed;

static uint64_t physical_bytes(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void npl_budget_set(uint64_t bytes)
{
	atomic_store(&allowed, bytes);
}

uint64_t npl_budget_limit(void)
{
	const uint64_t bytes = atomic_load(&allowed);
	return bytes ? bytes : physical_bytes();
}

/* Returns the number in a file that holds nothing else; UINT64_MAX: there is none ("max"). */
static uint64_t read_number(const char *path)
{
	unsigned long long value;
	FILE *file = fopen(path, "re");
	const bool known = file && fscanf(file, "%20llu", &value) == 1;
	if (file)
		fclose(file);
	return known ? value : UINT64_MAX;
}

/* Returns the least limit of the group `path` below the folder and of the groups above it. */
static uint64_t limit_of_group(const char *folder, const char *path, const char *file)
{
	char group[PATH_BYTES], name[2 * PATH_BYTES];
	uint64_t limit = UINT64_MAX;
	snprintf(group, sizeof group, "%s", path);
	for (;;) {
		snprintf(name, sizeof name, "%s%s/%s", folder, group, file);
		limit = npl_min_u64(limit, read_number(name));
		char *slash = strrchr(group, '/');
		if (!slash)
			return limit;
		*slash = '\0';
	}
}

uint64_t npl_cgroups_memory(const char *cgroup, const char *mount)
{
	char line[PATH_BYTES], memory[PATH_BYTES];
	uint64_t limit = UINT64_MAX;
	FILE *file = fopen(cgroup, "re");
	snprintf(memory, sizeof memory, "%s/memory", mount);
	while (file && fgets(line, sizeof line, file)) { /* "0::/user.slice" or "5:cpu,memory:/docker/1f" */
		line[strcspn(line, "\n")] = '\0';
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*controllers++ = *path++ = '\0';
		if (!*controllers)
			limit = npl_min_u64(limit, limit_of_group(mount, path, "memory.max"));
		else if (strstr(controllers, "memory"))
			limit = npl_min_u64(limit, limit_of_group(memory, path, "memory.limit_in_bytes"));
	}
	if (file)
		fclose(file);
	return limit;
}

uint64_t npl_budget_default(void)
{
	const uint64_t bytes = npl_min_u64(physical_bytes(), npl_cgroups_memory("/proc/self/cgroup", "/sys/fs/cgroup"));
	return npl_min_u64(bytes, process_limit().bytes) / 5 * 4;
}

uint64_t npl_budget_used(void)
{
	unsigned long long resident, shared;
	FILE *file = fopen("/proc/self/statm", "re");
	const bool known = file && fscanf(file, "%*u %20llu %20llu", &resident, &shared) == 2;
	if (file)
		fclose(file);
	return known && resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

int npl_budget_check(uint64_t bytes, const char *subject, struct npl_err *err)
{
	const struct process_limit limit = process_limit();
	uint64_t needed;
	if (bytes < ALWAYS_ALLOWED)
		return 0;
	if (__builtin_add_overflow(bytes, npl_budget_used(), &needed))
		needed = UINT64_MAX;
	if (needed <= npl_budget_limit())
		return 0;
	char advice[160] = "a larger --max-memory, a smaller --batch or --timing-only may help";
	if (limit.bytes < needed)
		snprintf(advice, sizeof advice,
			 "the %s of this process is limited to %" PRIu64
			 " (%s); a smaller --batch or --timing-only may help",
			 limit.name, limit.bytes, limit.option);
	return npl_fail(err, NPL_ENOMEM,
			"%s%sout of memory: about %" PRIu64 " bytes are needed, %" PRIu64 " allowed; %s",
			subject ? subject : "", subject ? ": " : "", needed, npl_budget_limit(), advice);
}
