/* SPDX-License-Identifier: MIT
 *
 * Energies of operations: estimates of several sources as a range (tables.h). */
#include <math.h>
#include <string.h>

#include "core/base/nearest.h"
#include "impl.h"

#define MAX_NAMES 100 /* the most names that a hint chooses from */

static bool is_of(const struct sim_operation *o, const char *component, const char *action)
{
	return !strcmp(o->component, component) && !strcmp(o->action, action);
}

/* Finds the rows of one source next to the node, below and above it. */
static void find_rows(const struct sim_energy_tables *tables, const struct sim_operation *first, double node_nm,
		      struct sim_estimate *e)
{
	for (const struct sim_operation *o = first; o < tables->operation + tables->n_operations; o++) {
		if (strcmp(o->source, first->source) != 0 || !is_of(o, first->component, first->action))
			continue;
		if (o->process.node_nm <= node_nm && (!e->below || o->process.node_nm > e->below->process.node_nm))
			e->below = o;
		if (o->process.node_nm >= node_nm && (!e->above || o->process.node_nm < e->above->process.node_nm))
			e->above = o;
	}
}

static int estimate(const struct sim_energy_tables *tables, const struct sim_operation *first,
		    const struct sim_process *process, struct sim_estimate *e, struct npl_err *err)
{
	const struct sim_operation *nearest = e->below ? e->below : e->above ? e->above : first;
	struct npl_estimates factor;
	if (e->below && e->above && e->below != e->above) {
		sim_range_add(&e->pj, sim_log_log(process->node_nm, e->below->process.node_nm, e->below->pj,
						  e->above->process.node_nm, e->above->pj));
	} else {
		if (sim_scale_energy(tables, &nearest->process, process, &factor, err))
			return err->code;
		sim_range_add(&e->pj, nearest->pj * factor.low);
		sim_range_add(&e->pj, nearest->pj * factor.high);
	}
	sim_range_close(&e->pj);
	return 0;
}

/* Says whether a row before this one is of the same source and action. */
static bool came_before(const struct sim_energy_tables *tables, int row)
{
	const struct sim_operation *o = &tables->operation[row];
	for (int i = 0; i < row; i++)
		if (!strcmp(tables->operation[i].source, o->source) &&
		    is_of(&tables->operation[i], o->component, o->action))
			return true;
	return false;
}

/* Adds a name to a list that does not have it. */
static void add_name(const char **names, int *n, const char *name)
{
	for (int i = 0; i < *n; i++)
		if (!strcmp(names[i], name))
			return;
	if (*n < MAX_NAMES)
		names[(*n)++] = name;
}

static int refuse_unknown(const struct sim_energy_tables *tables, const char *component, const char *action,
			  struct npl_err *err)
{
	const char *components[MAX_NAMES], *actions[MAX_NAMES];
	int n_components = 0, n_actions = 0;
	for (int i = 0; i < tables->n_operations; i++) {
		const struct sim_operation *o = &tables->operation[i];
		add_name(components, &n_components, o->component);
		if (!strcmp(o->component, component))
			add_name(actions, &n_actions, o->action);
	}
	if (n_actions)
		return npl_fail(err, NPL_EUSAGE, "no energy of the action '%s' of %s%s", action, component,
				NPL_NEAREST(action, actions, n_actions));
	return npl_fail(err, NPL_EUSAGE, "no energy of the component '%s'%s (`npulab energy` lists them)", component,
			NPL_NEAREST(component, components, n_components));
}

int sim_operation_estimates(const struct sim_energy_tables *tables, const char *component, const char *action,
			    const struct sim_process *process, struct sim_estimate estimates[SIM_MAX_SOURCES], int *n,
			    struct npl_err *err)
{
	*n = 0;
	for (int i = 0; i < tables->n_operations; i++) {
		const struct sim_operation *o = &tables->operation[i];
		if (!is_of(o, component, action) || came_before(tables, i))
			continue;
		if (*n == SIM_MAX_SOURCES)
			return npl_fail(err, NPL_EUSAGE, "%s:%d: more than %d sources of %s, expected at most so many",
					o->path, o->line, SIM_MAX_SOURCES, component);
		struct sim_estimate *e = &estimates[(*n)++];
		*e = (struct sim_estimate){0};
		find_rows(tables, o, process->node_nm, e);
		if (estimate(tables, o, process, e, err))
			return err->code;
	}
	return *n ? 0 : refuse_unknown(tables, component, action, err);
}

int sim_operation_pj(const struct sim_energy_tables *tables, const char *component, const char *action,
		     const struct sim_process *process, struct npl_estimates *pj, struct npl_err *err)
{
	struct sim_estimate estimates[SIM_MAX_SOURCES];
	int n;
	*pj = (struct npl_estimates){0};
	if (sim_operation_estimates(tables, component, action, process, estimates, &n, err))
		return err->code;
	for (int i = 0; i < n; i++) {
		sim_range_add(pj, estimates[i].pj.low);
		sim_range_add(pj, estimates[i].pj.high);
	}
	sim_range_close(pj);
	return 0;
}

int sim_operation_area(const struct sim_energy_tables *tables, const char *component, const char *action,
		       double node_nm, struct npl_estimates *um2, struct npl_err *err)
{
	bool known = false;
	*um2 = (struct npl_estimates){0};
	for (int i = 0; i < tables->n_operations; i++) {
		const struct sim_operation *o = &tables->operation[i];
		double factor;
		if (!is_of(o, component, action))
			continue;
		known = true;
		if (isnan(o->area_um2))
			continue;
		if (sim_scale_area(tables, o->process.node_nm, node_nm, &factor, err))
			return err->code;
		sim_range_add(um2, o->area_um2 * factor);
	}
	if (!known)
		return refuse_unknown(tables, component, action, err);
	sim_range_close(um2);
	if (!(um2->high > 0))
		*um2 = (struct npl_estimates){NAN, NAN, NAN};
	return 0;
}
