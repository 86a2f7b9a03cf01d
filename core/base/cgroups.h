/* SPDX-License-Identifier: MIT
 *
 * The memory limits of Linux's control groups, for the budget of the process (npulab/budget.h).
 */
#ifndef NPULAB_CORE_BASE_CGROUPS_H
#define NPULAB_CORE_BASE_CGROUPS_H

#include <stdint.h>

/* Returns the smallest memory limit of the control groups that the file `cgroup` (in the format of /proc/self/cgroup)
 * names below `mount`, each with all groups above it, of version 1 and 2. Returns UINT64_MAX when there is no limit. */
uint64_t npl_cgroups_memory(const char *cgroup, const char *mount);

#endif
