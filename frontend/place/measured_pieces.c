/* SPDX-License-Identifier: MIT
 *
 * The pieces of a real device (place_impl.h). Their times are measured, in a run of the whole network on the device:
 * each layer costs what its row says. Layers that the device ran in one pass stay together. */
#include <math.h>

#include "core/base/refuse.h"
#include "frontend/session/session_impl.h"
#include "place_impl.h"

/* Says whether row i ran on the device, as a layer of its own. */
static bool ran(const struct npl_run *run, int i)
{
	return run->layer[i].role == NPL_RAN && run->layer[i].device != NPL_ON_HOST;
}

/* Returns the last of the nodes after node i that the device ran in the pass of one of i and on. */
static int last_of_pass(const struct place_model *m, const struct npl_run *run, int i)
{
	int last = i;
	for (int next = m->next[i + 1]; next < m->graph->n_nodes && run->layer[next].role == NPL_FUSED;
	     next = m->next[next + 1])
		last = next;
	return last;
}

/* Adds the known energies of the row's own work; says whether all are known. */
static bool joules_of(const struct npl_layer_run *row, double *joules)
{
	bool known = true;
	for (int e = 0; e < row->result.n_energy; e++) {
		const struct npl_energy *energy = &row->result.energy[e];
		if (energy->part == NPL_OF_HOST || energy->part == NPL_OF_LINK || energy->part == NPL_OF_WAITING)
			continue;
		const bool is_known = !npl_origin_is_absent(energy->origin);
		*joules += is_known ? energy->joules : 0;
		known = known && is_known;
	}
	return known;
}

/* Returns the power that a meter has found for the whole run, if the rows have no energies of their own. NAN: there is
 * none. */
static double metered_watts(const struct npl_run *run)
{
	double known = 0;
	for (int i = 0; i < run->n_layers; i++) {
		known += run->layer[i].host_joules;
		joules_of(&run->layer[i], &known);
	}
	return (npl_energy_sum(run->energy, run->n_energy) - known) / run->device_seconds;
}

static void add_port(const struct place_model *m, struct place_port *port, int *n, int value, int format, int memory)
{
	const int root = value < 0 ? -1 : m->root[value];
	if (root >= 0 && !m->graph->value[root].constant)
		port[(*n)++] = (struct place_port){.value = root, .format = (uint8_t)format, .memory = (uint8_t)memory};
}

/* Fills the ports: what comes from outside, and what is read outside. */
static void set_ports(const struct place_model *m, int d, const struct npl_session *session, struct place_piece *piece)
{
	const enum npl_format format = npl_step_format(session, &session->step[piece->first]);
	const int memory = place_memory_of(m, d);
	for (int i = piece->first; i <= piece->last; i = m->next[i + 1]) {
		const struct npl_node *node = &m->graph->node[i];
		const bool canonical = i == piece->first && session->step[i].canonical;
		for (int k = 0; k < (canonical ? 1 : node->n_in); k++) {
			const int v = node->in[k];
			const int producer = v < 0 ? -1 : m->graph->value[m->root[v]].producer;
			if (producer < piece->first)
				add_port(m, piece->in, &piece->n_in, v, format, memory);
		}
		for (int k = 0; k < node->n_out; k++)
			if (node->out[k] >= 0 && m->last_use[m->root[node->out[k]]] > piece->last)
				add_port(m, piece->out, &piece->n_out, node->out[k], format, memory);
	}
}

/* Adds the piece that begins at node i. */
static int add_piece(struct place_model *m, int d, const struct npl_session *session, const struct npl_run *run,
		     double batches, double watts, int i, struct npl_err *err)
{
	const int last = last_of_pass(m, run, i);
	int n_in = 0, n_out = 0;
	double seconds = 0, joules = 0;
	bool known = true;
	for (int k = i; k <= last; k++) {
		n_in += m->graph->node[k].n_in;
		n_out += m->graph->node[k].n_out;
		seconds += m->next[k] == k ? run->layer[k].result.seconds : 0;
		known = joules_of(&run->layer[k], &joules) && known;
	}
	struct place_piece *piece = place_piece_add(m, i, n_in, n_out, 1);
	if (!piece)
		return npl_no_memory(err);
	if (!known && isfinite(watts))
		joules = watts * seconds;
	m->device[d].energy_known &= known || isfinite(watts);
	piece->device = d;
	piece->last = last;
	piece->task[0] = (struct place_task){place_device_resource(d), seconds / batches};
	piece->n_tasks = 1;
	piece->seconds = seconds / batches;
	piece->joules = joules / batches;
	set_ports(m, d, session, piece);
	return 0;
}

int place_measured_pieces(struct place_model *m, int d, const struct npl_session *session, const struct npl_run *run,
			  double batches, struct npl_err *err)
{
	const double watts = metered_watts(run);
	m->quantised |= session->model.quantises;
	for (int i = 0; i < m->graph->n_nodes; i++)
		if (m->next[i] == i && ran(run, i) && add_piece(m, d, session, run, batches, watts, i, err))
			return err->code;
	return 0;
}
