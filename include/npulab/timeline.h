/* SPDX-License-Identifier: MIT
 *
 * When the work of a run takes place. The host, each device and each device's link are resources: a resource does one
 * task at a time, in the order of the graph's nodes. A task begins as soon as its inputs are there and its resource is
 * free, so branches of a graph overlap where they use different resources. A layer group (npulab/layer_group.h) is one
 * task of its device; it begins when all its inputs are there. The tasks that deliver the graph's outputs to the caller
 * come last on their resources.
 */
#ifndef NPULAB_TIMELINE_H
#define NPULAB_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the place of a device's index: the host. */
#define NPL_ON_HOST (-1)

enum npl_resource_kind { NPL_RESOURCE_HOST, NPL_RESOURCE_DEVICE, NPL_RESOURCE_LINK };

struct npl_resource {
	enum npl_resource_kind kind;
	int device;              /* index in the session; NPL_ON_HOST for the host */
	const char *name;        /* "host", the device's or the link's: "PCIe Gen3 x16" */
	const char *device_name; /* a link: its device's name; NULL otherwise */
	/* sum of its work; for a link, of its transfers, without the time that it is used within a device's cycles */
	double busy_seconds;
	uint64_t transfers;    /* transfers of a link */
	uint64_t bytes;        /* bytes of these transfers */
	uint64_t bytes_within; /* bytes of a link that crossed within the device's cycles, in no transfer */
	/* energy of bytes and bytes_within; NAN when not known, counted elsewhere or no link */
	double joules;
	const char *energy_origin; /* origin of joules, "absent" when not known; NULL: no link */
	const char *energy_within; /* where the energy of a link is counted if elsewhere; or NULL */
};

enum npl_task_kind {
	NPL_TASK_LAYER,      /* an operator, or the device's part of a layer */
	NPL_TASK_CONVERSION, /* a conversion of number format, on the host */
	NPL_TASK_TO_DEVICE,  /* a transfer from the host's memory to the device */
	NPL_TASK_TO_HOST,    /* a transfer from the device to the host's memory */
	NPL_TASK_LINK_HELD,  /* a link in use within the cycles of its device's work */
	NPL_TASK_KINDS       /* how many kinds there are; of no task */
};

/* One task. Tasks on one resource follow one another. */
struct npl_task {
	int node;     /* the node of the graph whose row has the task */
	int resource; /* the index in npl_run.resource of what does it */
	enum npl_task_kind kind;
	int value; /* the value that is converted or moved; -1: none */
	uint64_t bytes;
	double start_seconds, end_seconds, seconds; /* from the beginning of the batch; seconds: the duration */
	int predecessor;                            /* the task at whose end this one begins; -1: at the beginning */
	bool delivers; /* delivers an output of the graph to the host, after everything else */
	bool critical; /* on the path that decides the makespan: tasks on it follow each other without a gap */
};

#ifdef __cplusplus
}
#endif

#endif
