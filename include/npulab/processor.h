/* SPDX-License-Identifier: MIT
 *
 * What Linux says about this computer's processor in /proc/cpuinfo and /sys/devices/system/cpu. */
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
	uint64_t bytes; /* bytes of one such cache */
	int instances;  /* such caches in the whole computer */
};

struct npl_processor {
	char model[96];      /* "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"; empty: not known */
	int packages;        /* 1 where not known */
	int cores;           /* cores of all packages; as many as processors where not known */
	int processors;      /* processors that are online: threads of the cores, or those that a virtual machine has */
	bool is_virtual;     /* runs under a hypervisor: which part of the package this is cannot be known */
	double clock_hz;     /* clock of the first processor at this moment; 0: not known */
	double max_clock_hz; /* 0: not known */
	int n_caches;
	struct npl_cache cache[NPL_PROCESSOR_CACHES];
};

/* Reads the processor's data. root: the folder that holds proc and sys; NULL: the computer's own. What is not known is
 * 0 or empty; never fails. */
void npl_processor_read(const char *root, struct npl_processor *processor);

/* Writes "L1d 48 KiB x 2, L2 1 MiB x 2, L3 32 MiB", or nothing when no cache is known; returns buf. */
const char *npl_processor_caches(const struct npl_processor *processor, char *buf, size_t size);

/* Returns the bytes of all data caches of the last level together; 0: not known. */
uint64_t npl_processor_last_cache_bytes(const struct npl_processor *processor);

#ifdef __cplusplus
}
#endif

#endif
