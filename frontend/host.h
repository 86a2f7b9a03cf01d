/* SPDX-License-Identifier: MIT
 *
 * The modelled host: the processor beside a simulated machine, which runs what the machine cannot and converts number
 * formats. Modelled, so that results do not depend on the computer that runs npulab. A roofline: an operator takes
 * the longer of its arithmetic at a sustained rate and its bytes at the memory's bandwidth, plus a fixed overhead.
 * Not modelled: caches, several cores contending, overlap with the machine. */
#ifndef NPULAB_FRONTEND_HOST_H
#define NPULAB_FRONTEND_HOST_H

#include "npulab/params.h"

struct npl_host {
	const char *name;
	double macs_per_second;     /* sustained, float32 */
	double elements_per_second; /* element-wise operators and conversions, sustained */
	double bytes_per_second;    /* memory */
	double overhead_seconds;    /* per operator */
	double busy_watts;
	const char *origin; /* of busy_watts */
};

/* Reads machines/host.yaml; strings live in the arena. */
int npl_host_load(struct npl_arena *arena, struct npl_host *host, struct npl_err *err);

/* Seconds of one operator with this much arithmetic and traffic. */
double npl_host_seconds(const struct npl_host *host, uint64_t macs, uint64_t elements, uint64_t bytes);

#endif
