/* SPDX-License-Identifier: MIT
 *
 * The first batch of a run as trace events (the Trace Event Format of Chrome, which Perfetto reads too): one process, a
 * thread for each resource, a complete event ("X") for each task. */
#include <inttypes.h>
#include <math.h>

#include "npulab/report.h"
#include "reports/format/json.h"

static void put_name(struct npl_json *json, const char *event, int tid, const char *name)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", event);
	npl_json_string(json, "ph", "M");
	npl_json_i64(json, "pid", 1);
	npl_json_i64(json, "tid", tid);
	npl_json_open(json, "args", '{');
	npl_json_string(json, "name", name);
	npl_json_close(json, '}');
	npl_json_close(json, '}');
}

/* Tracks stand in the order of the resources, which is their number. */
static void put_order(struct npl_json *json, int tid)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", "thread_sort_index");
	npl_json_string(json, "ph", "M");
	npl_json_i64(json, "pid", 1);
	npl_json_i64(json, "tid", tid);
	npl_json_open(json, "args", '{');
	npl_json_i64(json, "sort_index", tid);
	npl_json_close(json, '}');
	npl_json_close(json, '}');
}

/* Viewers count in whole nanoseconds: rounding both ends, not the length, keeps pieces that touch from overlapping. */
static int64_t nanoseconds(double seconds)
{
	return (int64_t)llrint(seconds * 1e9);
}

static void put_microseconds(struct npl_json *json, const char *key, int64_t ns)
{
	char text[40];
	snprintf(text, sizeof text, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
	npl_json_number(json, key, text);
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

static void put_task(struct npl_json *json, const struct npl_comparison *c, const struct npl_run *run,
		     const struct npl_task *task)
{
	const struct npl_node *node = &c->graph->node[task->node];
	int64_t start = nanoseconds(task->start_seconds);
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", node->name);
	npl_json_string(json, "cat", task_name(task->kind));
	npl_json_string(json, "ph", "X");
	put_microseconds(json, "ts", start);
	put_microseconds(json, "dur", nanoseconds(task->end_seconds) - start);
	npl_json_i64(json, "pid", 1);
	npl_json_i64(json, "tid", task->resource + 1);
	npl_json_open(json, "args", '{');
	npl_json_i64(json, "index", task->node);
	npl_json_string(json, "operator", npl_op_defs[node->op].name);
	npl_json_string(json, "work", task_name(task->kind));
	if (task->value >= 0)
		npl_json_string(json, "value", c->graph->value[task->value].name);
	if (run->resource[task->resource].kind == NPL_RESOURCE_LINK)
		npl_json_u64(json, "bytes", task->bytes);
	npl_json_string(json, "critical", task->critical ? "yes" : "no");
	npl_json_close(json, '}');
	npl_json_close(json, '}');
}

void npl_report_timeline(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	struct npl_json json = {.out = out};
	const struct npl_run *run = &c->device[0].run;
	char name[200];
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "displayTimeUnit", "ns");
	npl_json_open(&json, "traceEvents", '[');
	snprintf(name, sizeof name, "npulab: %s", context->model_name);
	put_name(&json, "process_name", 0, name);
	for (int r = 0; r < run->n_resources; r++) {
		const struct npl_resource *resource = &run->resource[r];
		snprintf(name, sizeof name, "%s%s%s", resource->name, resource->device_name ? " of " : "",
			 resource->device_name ? resource->device_name : "");
		put_name(&json, "thread_name", r + 1, name);
		put_order(&json, r + 1);
	}
	for (int i = 0; i < run->n_tasks; i++)
		put_task(&json, c, run, &run->task[i]);
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	fputc('\n', out);
}
