/* SPDX-License-Identifier: MIT
 *
 * The pieces of the host and of modelled devices (place_impl.h). Each is run once, in a session in which everything
 * else is on the host, and its device's time and energy are kept. */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "frontend/session/layer_group.h"
#include "npulab/progress.h"
#include "place_impl.h"

#define MAX_GROUP_PIECES 60000 /* of a device; a network with more loses the longer ones */

static bool is_constant(const struct place_model *m, int value)
{
	return value < 0 || m->graph->value[m->root[value]].constant;
}

static void add_port(const struct place_model *m, struct place_port *port, int *n, int value, int format, int memory)
{
	if (!is_constant(m, value))
		port[(*n)++] = (struct place_port){
			.value = m->root[value], .format = (uint8_t)format, .memory = (uint8_t)memory};
}

/* Adds a value that enters or leaves a layer group. One that the group itself moves is in the host's memory; a part of
 * it may cross the link before the group begins, or after its end. */
static void add_group_port(struct place_model *m, int d, struct place_port *port, int *n,
			   const struct npl_layer_group_port *of)
{
	const struct place_device *device = &m->device[d];
	const double bytes = m->graph->layer_list ? 0 : (double)of->bytes_outside;
	const int before = *n;
	add_port(m, port, n, of->value, of->format, of->moved ? 0 : place_memory_of(m, d));
	m->proves &= !of->converted;
	if (*n == before || !(bytes > 0))
		return;
	port[before].link_seconds = device->link_seconds + bytes / device->link_bytes_per_second;
	port[before].link_joules = bytes * device->link_joules_per_byte;
}

static void add_task(struct place_piece *piece, int resource, double seconds)
{
	piece->task[piece->n_tasks++] = (struct place_task){resource, seconds};
	piece->seconds += seconds;
}

/* Opens a session in which nodes first..last are on device d (NPL_ON_HOST: none) and all others on the host. */
static int open_session(const struct place_model *m, int d, int first, int last, const struct npl_plan_options *plan,
			struct npl_session **session, struct npl_err *err)
{
	struct npl_plan_options timing = *plan;
	int *place = malloc(((size_t)m->graph->n_nodes + 1) * sizeof *place);
	if (!place)
		return npl_no_memory(err);
	for (int i = 0; i < m->graph->n_nodes; i++)
		place[i] = d != NPL_ON_HOST && i >= first && i <= last ? 0 : NPL_ON_HOST;
	timing.timing_only = true;
	const struct npl_session_options options = {.n_devices = d != NPL_ON_HOST,
						    .device = d == NPL_ON_HOST ? NULL : &m->device[d].device,
						    .place = place,
						    .host = m->host_device,
						    .plan = timing};
	const int rc = npl_session_open(m->graph, &options, session, err);
	free(place);
	return rc;
}

int place_host_pieces(struct place_model *m, const struct npl_plan_options *plan, struct npl_err *err)
{
	struct npl_session *session = NULL;
	struct npl_run run = {0};
	int rc = open_session(m, NPL_ON_HOST, 0, 0, plan, &session, err);
	if (!rc)
		rc = npl_session_run(session, NULL, NULL, &run, err);
	for (int i = 0; i < m->graph->n_nodes && !rc; i++) {
		const struct npl_node *node = &m->graph->node[i];
		struct place_piece *piece = m->next[i] == i ? place_piece_add(m, i, node->n_in, node->n_out, 1) : NULL;
		if (m->next[i] != i)
			continue;
		if (!piece) {
			rc = npl_no_memory(err);
			break;
		}
		piece->device = NPL_ON_HOST;
		for (int k = 0; k < node->n_in; k++)
			add_port(m, piece->in, &piece->n_in, node->in[k], NPL_FORMAT_F32, 0);
		for (int k = 0; k < node->n_out; k++)
			add_port(m, piece->out, &piece->n_out, node->out[k], NPL_FORMAT_F32, 0);
		add_task(piece, 0, run.layer[i].host_seconds);
		piece->joules = run.layer[i].host_joules;
	}
	npl_run_free(&run);
	npl_session_close(session);
	return rc;
}

/* Adds the energy of a result's own work, without conversions and transfers of its inputs. Says whether it is known. */
static bool add_joules(const struct npl_result *result, bool with_moves, double *joules)
{
	bool known = true;
	for (int e = 0; e < result->n_energy; e++) {
		const struct npl_energy *energy = &result->energy[e];
		if (energy->part == NPL_OF_WAITING ||
		    (!with_moves && (energy->part == NPL_OF_HOST || energy->part == NPL_OF_LINK)))
			continue;
		known = known && !npl_origin_is_absent(energy->origin);
		*joules += energy->joules;
	}
	return known;
}

/* Adds the piece of a layer group, which is opened, by running it. */
static int add_group(struct place_model *m, int d, const struct npl_layer_group_plan *group, bool may_extend,
		     struct npl_err *err)
{
	struct place_piece *piece = place_piece_add(m, group->first, group->n_in, group->n_out, 1);
	struct npl_result *results = calloc((size_t)group->n + 1, sizeof *results);
	int rc = piece && results ? npl_device_run_layer_group(group->opened, NULL, results, err) : npl_no_memory(err);
	double seconds = 0, joules = 0;
	uint64_t bytes_within = 0;
	int n_energies = 0;
	bool known = true;
	for (int l = 0; l < group->n && !rc; l++) {
		seconds += results[l].seconds;
		bytes_within += results[l].bytes[NPL_MEM_HOST];
		n_energies += results[l].n_energy;
		known = add_joules(&results[l], false, &joules) && known;
	}
	free(results);
	if (rc)
		return rc;
	const struct npl_device_info *info = npl_device_get_info(m->device[d].device);
	m->device[d].energy_known &= known && (n_energies || info->kind == NPL_KIND_NULL);
	piece->device = d;
	piece->last = group->last;
	piece->may_extend = may_extend;
	piece->holds_link = bytes_within && !m->device[d].works_in_host_memory;
	for (int p = 0; p < group->n_in; p++)
		add_group_port(m, d, piece->in, &piece->n_in, &group->in[p]);
	for (int p = 0; p < group->n_out; p++)
		add_group_port(m, d, piece->out, &piece->n_out, &group->out[p]);
	add_task(piece, place_device_resource(d), seconds);
	piece->joules = joules - seconds * m->device[d].static_watts;
	return 0;
}

/* Fills the ports of a layer that runs alone. Of an LRN in part the host has the beginning and the end. */
static void set_ports(const struct place_model *m, int d, const struct npl_session *session, int i,
		      struct place_piece *piece)
{
	const struct npl_node *node = &m->graph->node[i];
	const struct npl_step *step = &session->step[i];
	const int memory = step->lrn_factor_only ? 0 : place_memory_of(m, d);
	const enum npl_format format = step->lrn_factor_only ? NPL_FORMAT_F32 : npl_step_format(session, step);
	for (int k = 0; k < step->n_in; k++)
		if (k == 0 || !step->canonical)
			add_port(m, piece->in, &piece->n_in, node->in[k], format, memory);
	for (int k = 0; k < node->n_out; k++)
		add_port(m, piece->out, &piece->n_out, k ? node->out[k] : step->out, format, memory);
}

/* Adds the piece of layer i, which runs alone, with the activation at node `last` if that is another node. */
static int add_single(struct place_model *m, int d, int i, int last, bool may_extend,
		      const struct npl_plan_options *plan, struct npl_err *err)
{
	struct npl_session *session = NULL;
	struct npl_run run = {0};
	struct place_piece *piece = NULL;
	int rc = open_session(m, d, i, last, plan, &session, err);
	if (!rc && (session->step[i].role != NPL_RAN || session->step[i].device == NPL_ON_HOST)) {
		npl_session_close(session);
		return 0;
	}
	if (!rc)
		rc = npl_session_run(session, NULL, NULL, &run, err);
	if (!rc && !(piece = place_piece_add(m, i, m->graph->node[i].n_in, m->graph->node[i].n_out, run.n_tasks)))
		rc = npl_no_memory(err);
	if (!rc) {
		const struct npl_result *result = &run.layer[i].result;
		const bool lrn = session->step[i].lrn_factor_only;
		piece->device = d;
		piece->last = last;
		piece->may_extend = may_extend;
		set_ports(m, d, session, i, piece);
		for (int t = 0; t < run.n_tasks; t++) {
			const struct npl_task *task = &run.task[t];
			const enum npl_resource_kind kind = run.resource[task->resource].kind;
			piece->holds_link |= task->kind == NPL_TASK_LINK_HELD && task->node == i && !lrn;
			if (task->node == i && task->value < 0 && task->kind != NPL_TASK_LINK_HELD)
				add_task(piece,
					 kind == NPL_RESOURCE_HOST     ? 0
					 : kind == NPL_RESOURCE_DEVICE ? place_device_resource(d)
								       : place_link_resource(d),
					 task->seconds);
		}
		m->device[d].energy_known &= add_joules(result, lrn, &piece->joules);
		piece->joules -= result->seconds * m->device[d].static_watts;
	}
	npl_run_free(&run);
	npl_session_close(session);
	return rc;
}

/* How the pieces of one device are chosen. */
struct costing {
	struct place_model *m;
	const struct npl_plan_options *plan;
	enum npl_place_objective objective;
	double best;
	struct place_worth worth;
	int d, longest; /* longest: more nodes than that has only a group that ends by itself */
};

static bool is_worth(const struct costing *c, int first, int last)
{
	return place_is_worth(c->m, &c->worth, c->objective, c->best, c->d, first, last);
}

/* Adds the pieces from node i on that run as a layer group: that of the session, where all from i on is on the device,
 * and the shorter ones, which end where the next layer is placed elsewhere. */
static int add_groups(const struct costing *c, const struct npl_session *whole, struct npl_err *err)
{
	struct place_model *m = c->m;
	const int d = c->d;
	const struct npl_layer_group_plan *group = &whole->group[0];
	int rc = is_worth(c, group->first, group->last) ? add_group(m, d, group, false, err) : 0;
	for (int last = group->first; last < group->last && !rc && is_worth(c, group->first, last); last++) {
		struct npl_session *session = NULL;
		if (m->next[last] != last)
			continue;
		if (last - group->first >= c->longest) {
			m->left_out = true;
			break;
		}
		rc = open_session(m, d, group->first, last, c->plan, &session, err);
		if (!rc && session->n_layer_groups == 1 && session->group[0].first == group->first &&
		    session->group[0].last == last)
			rc = add_group(m, d, &session->group[0], true, err);
		else if (!rc && last == group->first)
			rc = add_single(m, d, last, last, true, c->plan, err);
		npl_session_close(session);
	}
	return rc;
}

/* Returns the activation that the session fuses into node i, if it is the next layer; -1: there is none. */
static int fused_next(struct place_model *m, const struct npl_session *session, int i)
{
	const struct npl_step *step = &session->step[i];
	const int activation = m->graph->value[step->out].producer;
	if (activation == i || step->split_slices)
		return -1;
	if (activation == m->next[i + 1])
		return activation;
	m->proves = false; /* fused over layers between */
	return -1;
}

static int add_from(const struct costing *c, int i, struct npl_err *err)
{
	struct npl_session *session = NULL;
	int rc = open_session(c->m, c->d, i, c->m->graph->n_nodes - 1, c->plan, &session, err);
	if (!rc && session->step[i].role == NPL_RAN && session->step[i].device != NPL_ON_HOST) {
		const int activation = fused_next(c->m, session, i);
		if (session->n_layer_groups && session->group[0].first == i) {
			rc = add_groups(c, session, err);
		} else {
			rc = add_single(c->m, c->d, i, i, activation >= 0, c->plan, err);
			if (!rc && activation >= 0)
				rc = add_single(c->m, c->d, i, activation, false, c->plan, err);
		}
	}
	npl_session_close(session);
	return rc;
}

/* Adds the pieces of device d. unknown: the devices whose pieces are not in the model yet, d among them. */
static int add_device(struct costing *c, int d, unsigned unknown, struct npl_err *err)
{
	struct place_model *m = c->m;
	const int n = m->graph->n_nodes;
	struct npl_session *whole = NULL;
	c->d = d;
	int rc = open_session(m, d, 0, n - 1, c->plan, &whole, err);
	m->quantised |= !rc && whole->model.quantises;
	npl_session_close(whole);
	if (!rc)
		rc = place_worth_open(m, unknown, &c->worth, err);
	npl_progress_part("costs", NULL, 0, 0);
	for (int i = 0; i < n && !rc; i++) {
		npl_progress_step("costing layer", i + 1, n, m->graph->node[i].name);
		if (m->next[i] == i)
			rc = add_from(c, i, err);
	}
	place_worth_close(&c->worth);
	return rc;
}

/* Returns the device of the set (bits) whose pieces are added next: one without layer groups, which has few, or the one
 * with the least cost. */
static int next_device(const struct place_model *m, unsigned devices, const double *costs)
{
	int next = -1;
	for (int d = 0; d < m->n_devices; d++) {
		if (!(devices >> d & 1))
			continue;
		if (!npl_device_has_layer_groups(m->device[d].device))
			return d;
		if (next < 0 || (costs && costs[d] < costs[next]))
			next = d;
	}
	return next;
}

int place_device_pieces(struct place_model *m, enum npl_place_objective objective, double best, const double *costs,
			const struct npl_plan_options *plan, struct npl_err *err)
{
	const int n = m->graph->n_nodes;
	struct costing c = {.m = m, .plan = plan, .objective = objective, .best = best};
	unsigned unknown = 0;
	c.longest = n > MAX_GROUP_PIECES ? 1 : MAX_GROUP_PIECES / (n + 1);
	for (int d = 0; d < m->n_devices; d++)
		unknown |= m->device[d].measured ? 0 : 1u << d;
	for (int d; (d = next_device(m, unknown, costs)) >= 0; unknown &= ~(1u << d))
		if (add_device(&c, d, unknown, err))
			return err->code;
	return 0;
}
