/* SPDX-License-Identifier: MIT
 *
 * What Linux says of this computer's processor: /proc/cpuinfo and /sys/devices/system/cpu. */
#ifndef NPULAB_PROCESSOR_H
#define NPULAB_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_PROCESSOR_CACHES 8

struct npl_cache {
	int level;      /* 1, 2, 3 */
	char type;      /* 'd' data, 'i' instructions, 'u' both */
	uint64_t bytes; /* of one */
	int instances;  /* in the whole computer */
};

struct npl_processor {
	char model[96];      /* "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"; empty: not told */
	int packages;        /* 1 where nothing is told */
	int cores;           /* of all packages; where nothing is told, as many as processors */
	int processors;      /* that are online: threads of the cores, or what a virtual machine has of them */
	bool is_virtual;     /* a hypervisor is below: how much of the package this is, nobody tells */
	double clock_hz;     /* of the first processor, now; 0: not told */
	double max_clock_hz; /* 0: not told */
	int n_caches;
	struct npl_cache cache[NPL_PROCESSOR_CACHES];
};

/* root: the folder above proc and sys, NULL: the computer's own. What is not told is 0 or empty; never fails. */
void npl_processor_read(const char *root, struct npl_processor *processor);

/* "L1d 48 KiB x 2, L2 1 MiB x 2, L3 32 MiB"; empty when nothing is known; returns buf. */
const char *npl_processor_caches(const struct npl_processor *processor, char *buf, size_t size);

/* The bytes of all data caches of the last level together. 0: not known. */
uint64_t npl_processor_last_cache_bytes(const struct npl_processor *processor);

#ifdef __cplusplus
}
#endif

#endif
