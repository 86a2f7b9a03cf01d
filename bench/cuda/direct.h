/* SPDX-License-Identifier: MIT
 *
 * Square products by cuBLASLt called directly, as somebody would who wants the best of it: y = x w^T as the cuda device
 * has it and, of floats, y = x w, whose weights lie the other way; of each the first few algorithms of the heuristic
 * are timed and the best of all is taken. Operands, results, 32 MiB of workspace and the stream are as the device's
 * own. */
#ifndef NPULAB_BENCH_CUDA_DIRECT_H
#define NPULAB_BENCH_CUDA_DIRECT_H

#include "backends/cuda/layer_group/cuda.h"
#include "backends/cuda/load/nvml.h"

enum { DIRECT_WAYS = 2, DIRECT_ALGORITHMS = 8 };

struct direct_method {
	bool plain;                /* weights lie (k,n) */
	void *product, *a, *b, *d; /* cuBLASLt's descriptions */
	int n;                     /* algorithms, the best first */
	struct cu_heuristic found[DIRECT_ALGORITHMS];
	double seconds; /* of the best */
	int place;      /* which of the heuristic's it was, from 1 */
};

struct direct {
	const struct cu_device *device;
	int64_t size;
	enum npl_dtype operands, result;
	struct cu_block x, w, y, workspace;
	void *event[2];
	int n_ways;
	struct direct_method method[DIRECT_WAYS];
	int best;
};

/* For a device's precision; x and w (size, size) on the host, in the operands' type: float32, float16, bfloat16 or int8
 * (sums in int32). `runs` of each algorithm decide. NPL_ENOMEM: the GPU's memory is too small. */
int direct_open(const struct cu_device *device, int64_t size, const void *x, const void *w, int runs,
		struct direct *made, struct npl_err *err);
void direct_close(struct direct *direct); /* accepts a zeroed one */

/* One call by the best way, between two events. */
int direct_once(const struct direct *direct, double *seconds, struct npl_err *err);
/* n calls, one after the other, between two events: seconds of one. *mhz: the clock of the GPU meanwhile, 0 where NVML
 * (NULL: not there) does not tell. */
int direct_many(const struct direct *direct, int n, const struct cu_nvml *nvml, double *seconds, unsigned *mhz,
		struct npl_err *err);
/* Copies y = x w^T to the host. */
int direct_result(const struct direct *direct, void *y, struct npl_err *err);

/* How the best call is made: "w^T, algorithm 2 of 8". */
const char *direct_text(const struct direct *direct, char *text, size_t n);

#endif
