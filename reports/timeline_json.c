/* SPDX-License-Identifier: MIT
 *
 * The first batch of a run as trace events (reports/format/trace_events.h): one process, a thread for each resource, a
 * slice for each task. */
#include <math.h>

#include "npulab/report.h"
#include "reports/format/trace_events.h"

enum { PROCESS = 1 }; /* the only one */

static int64_t nanoseconds(double seconds)
{
	return (int64_t)llrint(seconds * 1e9);
}

static const char *task_name(enum npl_task_kind kind)
{
	switch (kind) {
	case NPL_TASK_LAYER:
		return "layer";
	case NPL_TASK_CONVERSION:
		return "conversion";
	case NPL_TASK_TO_DEVICE:
		return "transfer to the device";
	case NPL_TASK_TO_HOST:
		return "transfer to the host";
	case NPL_TASK_LINK_HELD:
		return "in use within the device's cycles";
	case NPL_TASK_KINDS:
		break;
	}
	return NULL;
}

static void put_task(struct npl_picture *picture, const struct npl_comparison *c, const struct npl_run *run,
		     const struct npl_task *task)
{
	const struct npl_node *node = &c->graph->node[task->node];
	struct npl_json *json = &picture->json;
	npl_picture_slice(picture, PROCESS, task->resource + 1, node->name, task_name(task->kind),
			  nanoseconds(task->start_seconds), nanoseconds(task->end_seconds));
	npl_json_i64(json, "index", task->node);
	npl_json_string(json, "operator", npl_op_defs[node->op].name);
	npl_json_string(json, "work", task_name(task->kind));
	if (task->value >= 0)
		npl_json_string(json, "value", c->graph->value[task->value].name);
	if (run->resource[task->resource].kind == NPL_RESOURCE_LINK)
		npl_json_u64(json, "bytes", task->bytes);
	npl_json_string(json, "critical", task->critical ? "yes" : "no");
	npl_picture_slice_end(picture);
}

void npl_report_timeline(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	struct npl_picture picture;
	const struct npl_run *run = &c->device[0].run;
	char name[200];
	npl_picture_begin(&picture, out);
	npl_picture_events(&picture);
	snprintf(name, sizeof name, "npulab: %s", context->model_name);
	npl_picture_process(&picture, PROCESS, name, -1);
	for (int r = 0; r < run->n_resources; r++) {
		const struct npl_resource *resource = &run->resource[r];
		snprintf(name, sizeof name, "%s%s%s", resource->name, resource->device_name ? " of " : "",
			 resource->device_name ? resource->device_name : "");
		npl_picture_thread(&picture, PROCESS, r + 1, name, r + 1);
	}
	for (int i = 0; i < run->n_tasks; i++)
		put_task(&picture, c, run, &run->task[i]);
	npl_picture_end(&picture);
}
