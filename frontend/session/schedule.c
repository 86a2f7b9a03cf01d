/* SPDX-License-Identifier: MIT
 *
 * Places tasks in the schedule (schedule.h). */
#include "schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"

static int add_resource(struct npl_schedule *s, enum npl_resource_kind kind, int device, const char *name)
{
	s->last[s->n_resources] = NPL_AT_START;
	s->resource[s->n_resources] = (struct npl_resource){
		.kind = kind, .device = device, .name = name, .joules = NAN};
	return s->n_resources++;
}

int npl_schedule_open(struct npl_schedule *s, struct npl_device *const *device, int n_devices, struct npl_err *err)
{
	size_t n_resources = 2 * (size_t)n_devices + 1;
	*s = (struct npl_schedule){.last_added = NPL_AT_START};
	s->resource = calloc(n_resources, sizeof *s->resource);
	s->last = calloc(n_resources, sizeof *s->last);
	s->device_resource = calloc(n_resources, sizeof *s->device_resource);
	s->link_resource = calloc(n_resources, sizeof *s->link_resource);
	if (!s->resource || !s->last || !s->device_resource || !s->link_resource)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the schedule of %d devices", n_devices);
	add_resource(s, NPL_RESOURCE_HOST, NPL_ON_HOST, NPL_HOST_NAME);
	for (int d = 0; d < n_devices; d++) {
		const struct npl_link *link = &npl_device_get_info(device[d])->link;
		s->device_resource[d] = add_resource(s, NPL_RESOURCE_DEVICE, d, npl_device_instance(device[d]));
		s->link_resource[d] = link->name ? add_resource(s, NPL_RESOURCE_LINK, d, link->name) : -1;
		if (!link->name)
			continue;
		struct npl_resource *resource = &s->resource[s->link_resource[d]];
		resource->device_name = npl_device_instance(device[d]);
		resource->energy_within = link->energy_within;
		resource->energy_origin = link->energy_origin ? link->energy_origin : "absent";
	}
	return 0;
}

void npl_schedule_close(struct npl_schedule *s)
{
	free(s->resource);
	free(s->last);
	free(s->device_resource);
	free(s->link_resource);
	free(s->task);
	*s = (struct npl_schedule){0};
}

static double end_of(const struct npl_schedule *s, int task)
{
	return task < 0 ? 0 : s->task[task].end_seconds;
}

int npl_schedule_later(const struct npl_schedule *s, int a, int b)
{
	return end_of(s, b) > end_of(s, a) ? b : a;
}

/* Appends a task and returns it; NULL: memory is short. */
static struct npl_task *append(struct npl_schedule *s)
{
	struct npl_task *grown = npl_grow(s->task, s->n, &s->capacity, sizeof *grown);
	if (!grown) {
		s->failed = true;
		return NULL;
	}
	s->task = grown;
	return &grown[s->n++];
}

int npl_schedule_add(struct npl_schedule *s, const struct npl_task *task, int predecessor)
{
	predecessor = npl_schedule_later(s, predecessor, s->last[task->resource]);
	if (s->in_order)
		predecessor = npl_schedule_later(s, predecessor, s->last_added);
	struct npl_task *added = task->seconds > 0 ? append(s) : NULL;
	if (!added)
		return predecessor;
	*added = *task;
	added->predecessor = predecessor;
	added->delivers = s->delivering;
	added->start_seconds = end_of(s, predecessor);
	added->end_seconds = added->start_seconds + added->seconds;
	s->resource[added->resource].busy_seconds += added->seconds;
	s->last[added->resource] = s->last_added = s->n - 1;
	return s->last_added;
}

int npl_schedule_device(struct npl_schedule *s, int device, int n, const int *node,
			const struct npl_result *const *results, int predecessor)
{
	int link = s->link_resource[device], first = s->n;
	uint64_t bytes_within = 0;
	double seconds = 0;
	for (int i = 0; i < n; i++) {
		bytes_within += results[i]->bytes[NPL_MEM_HOST];
		seconds += results[i]->seconds;
	}
	if (bytes_within && link >= 0)
		predecessor = npl_schedule_later(s, predecessor, s->last[link]);
	for (int i = 0; i < n; i++)
		predecessor = npl_schedule_add(s,
					       &(struct npl_task){.node = node[i],
								  .resource = s->device_resource[device],
								  .kind = NPL_TASK_LAYER,
								  .value = -1,
								  .seconds = results[i]->seconds},
					       predecessor);
	struct npl_task *link_task = bytes_within && link >= 0 && s->n > first ? append(s) : NULL;
	if (!link_task)
		return predecessor;
	*link_task = (struct npl_task){.node = s->task[first].node,
				       .resource = link,
				       .kind = NPL_TASK_LINK_HELD,
				       .value = -1,
				       .bytes = bytes_within,
				       .start_seconds = s->task[first].start_seconds,
				       .end_seconds = s->task[predecessor].end_seconds,
				       .seconds = seconds,
				       .predecessor = s->task[first].predecessor};
	s->resource[link].bytes_within += bytes_within;
	s->last[link] = predecessor;
	return predecessor;
}

/* Marks the tasks that decide the makespan. Says whether these are all tasks, so that nothing overlaps. */
static bool mark_critical(struct npl_schedule *s)
{
	int last = NPL_AT_START, tasks = 0;
	for (int i = 0; i < s->n; i++) {
		tasks += s->task[i].kind != NPL_TASK_LINK_HELD;
		if (s->task[i].kind != NPL_TASK_LINK_HELD)
			last = npl_schedule_later(s, last, i);
	}
	for (int i = last; i >= 0; i = s->task[i].predecessor, tasks--)
		s->task[i].critical = true;
	return tasks == 0;
}

/* Sets in each row when the node's work begins, when its result can be read, and when all its work is done. A node
 * without work of its own has its result when it has its inputs. */
static void set_row_times(const struct npl_schedule *s, const struct npl_graph *graph, struct npl_run *run)
{
	for (int i = 0; i < run->n_layers; i++)
		run->layer[i].start_seconds = run->layer[i].end_seconds = run->layer[i].ready_seconds = -1;
	for (int i = 0; i < s->n; i++) {
		const struct npl_task *task = &s->task[i];
		struct npl_layer_run *row = &run->layer[task->node];
		if (task->kind == NPL_TASK_LINK_HELD)
			continue;
		row->end_seconds = fmax(row->end_seconds, task->end_seconds);
		if (row->start_seconds < 0 || task->start_seconds < row->start_seconds)
			row->start_seconds = task->start_seconds;
		if (!task->delivers)
			row->ready_seconds = fmax(row->ready_seconds, task->end_seconds);
	}
	for (int i = 0; i < run->n_layers; i++) {
		struct npl_layer_run *row = &run->layer[i];
		double inputs_ready = 0;
		for (int k = 0; k < graph->node[i].n_in; k++) {
			int producer = graph->node[i].in[k] < 0 ? -1 : graph->value[graph->node[i].in[k]].producer;
			if (producer >= 0)
				inputs_ready = fmax(inputs_ready, run->layer[producer].ready_seconds);
		}
		if (row->ready_seconds < 0)
			row->ready_seconds = inputs_ready;
		if (row->start_seconds < 0)
			row->start_seconds = row->end_seconds = inputs_ready;
	}
}

static void sum_links(struct npl_schedule *s, struct npl_device *const *device)
{
	for (int i = 0; i < s->n; i++)
		if (s->task[i].kind == NPL_TASK_TO_DEVICE || s->task[i].kind == NPL_TASK_TO_HOST) {
			s->resource[s->task[i].resource].bytes += s->task[i].bytes;
			s->resource[s->task[i].resource].transfers++;
		}
	for (int r = 0; r < s->n_resources; r++) {
		struct npl_resource *link = &s->resource[r];
		if (link->kind == NPL_RESOURCE_LINK && !link->energy_within &&
		    !npl_origin_is_absent(link->energy_origin))
			link->joules = (double)(link->bytes + link->bytes_within) *
				       npl_device_get_info(device[link->device])->link.pj_per_byte * 1e-12;
	}
}

int npl_schedule_finish(struct npl_schedule *s, const struct npl_graph *graph, struct npl_device *const *device,
			struct npl_run *run, struct npl_err *err)
{
	if (s->failed)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the schedule of %d layers", run->n_layers);
	bool serial = mark_critical(s);
	double makespan = 0;
	for (int r = 0; r < s->n_resources; r++)
		makespan = fmax(makespan, end_of(s, s->last[r]));
	set_row_times(s, graph, run);
	sum_links(s, device);
	run->overlap_seconds = 0;
	if (npl_run_total(run, err))
		return err->code;
	if (!serial && run->seconds > makespan) {
		run->overlap_seconds = run->seconds - makespan;
		run->seconds -= run->overlap_seconds;
	}
	run->n_resources = s->n_resources;
	run->resource = s->resource;
	run->n_tasks = s->n;
	run->task = s->task;
	s->resource = NULL;
	s->task = NULL;
	return 0;
}

/* Returns the device's next task after task k; run->n_tasks: there is none. */
static int next_of(const struct npl_run *run, int device, int k)
{
	for (k++; k < run->n_tasks; k++) {
		const struct npl_resource *resource = &run->resource[run->task[k].resource];
		if (resource->kind == NPL_RESOURCE_DEVICE && resource->device == device)
			break;
	}
	return k;
}

/* Adds up for what the device waited. Both the tasks that decide the makespan and the device's own are in the order of
 * time, so one walk along both is enough. */
void npl_schedule_waiting(const struct npl_run *run, int device, double *waiting)
{
	const struct npl_task *task = run->task;
	int device_task = next_of(run, device, -1);
	for (int i = 0; i < run->n_tasks; i++) {
		const struct npl_resource *resource = &run->resource[task[i].resource];
		if (!task[i].critical || (resource->kind == NPL_RESOURCE_DEVICE && resource->device == device))
			continue;
		double waits = task[i].seconds;
		while (device_task < run->n_tasks && task[device_task].end_seconds <= task[i].start_seconds)
			device_task = next_of(run, device, device_task);
		for (int k = device_task; k < run->n_tasks && task[k].start_seconds < task[i].end_seconds;
		     k = next_of(run, device, k)) {
			waits -= fmin(task[k].end_seconds, task[i].end_seconds) -
				 fmax(task[k].start_seconds, task[i].start_seconds);
			if (task[k].end_seconds >= task[i].end_seconds)
				break;
		}
		waiting[task[i].node] += fmax(waits, 0);
	}
}
