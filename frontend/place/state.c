/* SPDX-License-Identifier: MIT
 *
 * Runs pieces one after the other in the model of costs (place_impl.h): when each begins and ends, and which copies of
 * values there are then. It follows frontend/session/value_store.c and schedule.c step by step, without values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "place_impl.h"

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* Places a task of a resource; returns when it has ended. The layers of a list follow each other. */
static double run_task(const struct place_model *m, struct place_work *work, int resource, double seconds, double ready)
{
	double start = later(ready, work->free[resource]);
	for (int r = 0; r < PLACE_RESOURCES && m->graph->layer_list; r++)
		start = later(start, work->free[r]);
	if (seconds > 0)
		work->free[resource] = start + seconds;
	return start + seconds;
}

static struct place_copy *find(const struct place_work *work, int value, int format, int memory)
{
	for (int64_t i = 0; i < work->n_copies; i++) {
		struct place_copy *copy = &work->copy[i];
		if (copy->value == value && copy->format == format && copy->memory == memory)
			return copy;
	}
	return NULL;
}

/* Returns a copy of the value in the format, in the host's memory if there is one there, else in that of the first
 * device. NULL: there is none. */
static struct place_copy *find_anywhere(const struct place_work *work, int value, int format)
{
	struct place_copy *found = NULL;
	for (int64_t i = 0; i < work->n_copies; i++) {
		struct place_copy *copy = &work->copy[i];
		if (copy->value == value && copy->format == format && (!found || copy->memory < found->memory))
			found = copy;
	}
	return found;
}

static double put(struct place_work *work, int value, int format, int memory, double ready)
{
	struct place_copy *grown = npl_grow(work->copy, work->n_copies, &work->capacity, sizeof *grown);
	if (!grown) {
		work->failed = true;
		return ready;
	}
	work->copy = grown;
	grown[work->n_copies++] = (struct place_copy){
		.value = value, .format = (uint8_t)format, .memory = (uint8_t)memory, .ready = ready};
	return ready;
}

/* Returns when the copy in this format, which exists somewhere, is in the host's memory. */
static double bring_to_host(const struct place_model *m, struct place_work *work, int value, int format)
{
	const struct place_copy *copy = find_anywhere(work, value, format);
	if (!copy || !copy->memory)
		return copy ? copy->ready : 0;
	const int device = copy->memory - 1;
	const struct place_cost cost = place_transfer(m, value, format, device);
	work->joules += cost.joules;
	return put(work, value, format, 0, run_task(m, work, place_link_resource(device), cost.seconds, copy->ready));
}

static double convert(const struct place_model *m, struct place_work *work, int value, int from_format, int to_format,
		      double ready)
{
	const struct place_cost cost = place_conversion(m, value, from_format, to_format);
	work->joules += cost.joules;
	return put(work, value, to_format, 0, run_task(m, work, 0, cost.seconds, ready));
}

/* Makes the value exist in the format, in the host's memory. */
static void make_copy(const struct place_model *m, struct place_work *work, int value, int format)
{
	if (!find_anywhere(work, value, NPL_FORMAT_F32)) {
		int made = NPL_FORMAT_F32 + 1;
		while (made < NPL_FORMATS && !find_anywhere(work, value, made))
			made++;
		if (made == NPL_FORMATS) { /* a constant, or a value of a piece that the model does not know */
			put(work, value, format, 0, 0);
			return;
		}
		convert(m, work, value, made, NPL_FORMAT_F32, bring_to_host(m, work, value, made));
	}
	if (format != NPL_FORMAT_F32)
		convert(m, work, value, NPL_FORMAT_F32, format, bring_to_host(m, work, value, NPL_FORMAT_F32));
}

/* Returns when the value is in this format and memory, after what that takes. */
static double get(const struct place_model *m, struct place_work *work, int value, int reader_format, int memory)
{
	const int format = place_kept_format(m, value, reader_format);
	if (!find_anywhere(work, value, format))
		make_copy(m, work, value, format);
	const struct place_copy *copy = find(work, value, format, memory);
	if (copy)
		return copy->ready;
	const double ready = bring_to_host(m, work, value, format);
	if (!memory)
		return ready;
	const struct place_cost cost = place_transfer(m, value, format, memory - 1);
	work->joules += cost.joules;
	return put(work, value, format, memory,
		   run_task(m, work, place_link_resource(memory - 1), cost.seconds, ready));
}

void place_work_begin(const struct place_model *m, struct place_work *work)
{
	work->joules = 0;
	work->n_copies = 0;
	memset(work->free, 0, sizeof work->free);
	for (int i = 0; i < m->graph->n_inputs; i++)
		if (m->last_use[m->root[m->graph->input[i]]] >= 0)
			put(work, m->root[m->graph->input[i]], NPL_FORMAT_F32, 0, 0);
}

static void fill(struct place_work *work, double joules, const double *free, const struct place_copy *copy, int64_t n)
{
	work->joules = joules;
	work->n_copies = 0;
	memcpy(work->free, free, sizeof work->free);
	for (int64_t i = 0; i < n; i++)
		put(work, copy[i].value, copy[i].format, copy[i].memory, copy[i].ready);
}

void place_work_of(const struct place_state *state, struct place_work *work)
{
	fill(work, state->joules, state->free, state->copy, state->n_copies);
}

void place_work_copy(const struct place_work *from, struct place_work *work)
{
	fill(work, from->joules, from->free, from->copy, from->n_copies);
}

/* Drops the copies of values that no later layer reads. An output of the network that is in float32 in the host's
 * memory needs nothing more; any other copy of it is then of no use. */
static void drop_copies(const struct place_model *m, struct place_work *work, int boundary)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < work->n_copies; i++) {
		const struct place_copy done = work->copy[i];
		if (done.value < 0 || m->last_reader[done.value] >= boundary || done.format != NPL_FORMAT_F32 ||
		    done.memory)
			continue;
		for (int64_t k = 0; k < work->n_copies; k++)
			if (work->copy[k].value == done.value)
				work->copy[k].value = -1;
	}
	for (int64_t i = 0; i < work->n_copies; i++)
		if (work->copy[i].value >= 0 && m->last_use[work->copy[i].value] >= boundary)
			work->copy[kept++] = work->copy[i];
	work->n_copies = kept;
}

/* Returns when what crosses the link for a port has crossed. */
static double cross_link(const struct place_model *m, struct place_work *work, int device,
			 const struct place_port *port, double ready)
{
	work->joules += port->link_joules;
	return port->link_seconds > 0 ? run_task(m, work, place_link_resource(device), port->link_seconds, ready)
				      : ready;
}

void place_work_run(const struct place_model *m, struct place_work *work, const struct place_piece *piece)
{
	const int link = piece->device == NPL_ON_HOST ? 0 : place_link_resource(piece->device);
	double ready = 0;
	for (int i = 0; i < piece->n_in; i++) {
		const struct place_port *port = &piece->in[i];
		const double there = get(m, work, port->value, port->format, port->memory);
		ready = later(ready, cross_link(m, work, piece->device, port, there));
	}
	if (piece->holds_link)
		ready = later(ready, work->free[link]);
	for (int i = 0; i < piece->n_tasks; i++)
		ready = run_task(m, work, piece->task[i].resource, piece->task[i].seconds, ready);
	if (piece->holds_link)
		work->free[link] = ready;
	for (int i = 0; i < piece->n_out; i++) {
		const struct place_port *port = &piece->out[i];
		put(work, port->value, place_kept_format(m, port->value, port->format), port->memory,
		    cross_link(m, work, piece->device, port, ready));
	}
	work->joules += piece->joules;
	drop_copies(m, work, piece->last + 1);
}

double place_work_finish(const struct place_model *m, struct place_work *work)
{
	double end = 0;
	for (int i = 0; i < m->graph->n_outputs; i++) {
		const int value = m->root[m->graph->output[i]];
		if (!m->graph->value[value].constant)
			get(m, work, value, NPL_FORMAT_F32, 0);
	}
	for (int r = 0; r < PLACE_RESOURCES; r++)
		end = later(end, work->free[r]);
	return end;
}

void place_work_free(struct place_work *work)
{
	free(work->copy);
	*work = (struct place_work){0};
}

bool place_may_follow(const struct place_piece *before, const struct place_piece *piece)
{
	return !before || before->device == NPL_ON_HOST || before->device != piece->device || !before->may_extend;
}

double place_objective_of(enum npl_place_objective objective, double seconds, double joules, double static_watts)
{
	if (objective == NPL_MINIMISE_TIME)
		return seconds;
	const double all_joules = joules + static_watts * seconds;
	return objective == NPL_MINIMISE_ENERGY ? all_joules : all_joules * seconds;
}

double place_static_watts(const struct place_model *m, unsigned devices)
{
	double watts = 0;
	for (int d = 0; d < m->n_devices; d++)
		if (devices >> d & 1)
			watts += m->device[d].static_watts;
	return watts;
}

unsigned place_devices_of(const struct place_model *m, const int *place)
{
	unsigned devices = 0;
	for (int i = 0; i < m->graph->n_nodes; i++)
		if (place[i] != NPL_ON_HOST)
			devices |= 1u << place[i];
	return devices;
}
