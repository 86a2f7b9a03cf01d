/* SPDX-License-Identifier: MIT
 *
 * The modelled host: the processor beside a simulated machine, which runs what the machine cannot and converts number
 * formats. Modelled, so that results do not depend on the computer that runs npulab. A roofline: an operator takes
 * the longer of its arithmetic at a sustained rate and its bytes at the memory's bandwidth, plus a fixed overhead.
 * Not modelled: caches, several cores contending, overlap with the machine. */
#ifndef NPULAB_FRONTEND_HOST_H
#define NPULAB_FRONTEND_HOST_H

#include "npulab/op.h"
#include "npulab/params.h"

struct npl_host {
	const char *name;
	double macs_per_second;     /* sustained, float32 */
	double elements_per_second; /* element-wise operations and conversions, sustained */
	double bytes_per_second;    /* memory */
	double overhead_seconds;    /* per operator */
	double busy_watts;
	const char *origin; /* of busy_watts */
};

/* Reads machines/host.yaml; strings live in the arena. */
int npl_host_load(struct npl_arena *arena, struct npl_host *host, struct npl_err *err);

/* Element-wise operations (elements_per_second) of an operator with n_in inputs of `taken` values in all that makes `made`
 * values: host_work.c, with the reason for each number. */
double npl_host_operations(enum npl_op op, const struct npl_attrs *attrs, int n_in, int64_t taken, int64_t made);

/* Seconds of one operator with this much arithmetic and traffic. */
double npl_host_seconds(const struct npl_host *host, uint64_t macs, double operations, uint64_t bytes);

#endif
