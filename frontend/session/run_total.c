/* SPDX-License-Identifier: MIT
 *
 * Sums over the layers of a run and over batches. The totals are sums of the rows, so that a reader can check them;
 * only the time is that sum less the time in which work overlaps. */
#include <stdlib.h>
#include <string.h>

#include "core/energy_merge.h"
#include "session_impl.h"

#define CLEAR_COUNT(name) run->name = 0;
#define ADD_COUNT(name)   run->name += row->result.name;

int npl_run_total(struct npl_run *run, struct npl_err *err)
{
	NPL_RESULT_COUNTS(CLEAR_COUNT)
	run->link_bytes = run->device_macs = 0;
	run->device_seconds = run->host_seconds = run->link_seconds = 0;
	run->n_energy = 0;
	memset(run->bytes, 0, sizeof run->bytes);
	for (int i = 0; i < run->n_layers; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		NPL_RESULT_COUNTS(ADD_COUNT)
		run->device_seconds += row->result.seconds;
		run->host_seconds += row->host_seconds;
		run->link_seconds += row->link_seconds;
		run->link_bytes += row->link_bytes;
		run->device_macs += row->device == NPL_ON_HOST ? 0 : row->result.macs;
		for (int level = 0; level < NPL_MEM_LEVELS; level++)
			run->bytes[level] += row->result.bytes[level];
		for (int e = 0; e < row->result.n_energy; e++)
			if (npl_energy_merge(run->energy, &run->n_energy, NPL_MAX_RUN_ENERGY, &row->result.energy[e],
					     err))
				return err->code;
	}
	run->seconds = run->device_seconds + run->host_seconds + run->link_seconds;
	run->seconds -= run->overlap_seconds;
	return 0;
}

static void merge_resource(struct npl_resource *sum, const struct npl_resource *add)
{
	sum->busy_seconds += add->busy_seconds;
	sum->transfers += add->transfers;
	sum->bytes += add->bytes;
	sum->bytes_within += add->bytes_within;
	sum->joules += add->joules;
}

static void *copy_of(const void *list, int n, size_t bytes)
{
	void *copy = calloc((size_t)n + 1, bytes);
	if (copy && n)
		memcpy(copy, list, (size_t)n * bytes);
	return copy;
}

int npl_run_add(struct npl_run *sum, const struct npl_run *run, struct npl_err *err)
{
	if (!sum->layer) {
		*sum = *run;
		sum->layer = copy_of(run->layer, run->n_layers, sizeof *run->layer);
		sum->resource = copy_of(run->resource, run->n_resources, sizeof *run->resource);
		sum->task = copy_of(run->task, run->n_tasks, sizeof *run->task);
		if (sum->layer && sum->resource && sum->task)
			return 0;
		npl_run_free(sum);
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", run->n_layers);
	}
	if (sum->n_layers != run->n_layers || sum->n_resources != run->n_resources)
		return npl_fail(err, NPL_EINTERNAL, "runs of %d and %d layers cannot be added", sum->n_layers,
				run->n_layers);
	for (int i = 0; i < run->n_layers; i++) {
		struct npl_layer_run *row = &sum->layer[i];
		const struct npl_layer_run *add = &run->layer[i];
		row->host_seconds += add->host_seconds;
		row->host_joules += add->host_joules;
		row->link_seconds += add->link_seconds;
		row->link_bytes += add->link_bytes;
		row->clipped += add->clipped;
		row->transfers += add->transfers;
		if (npl_result_add(&row->result, &add->result, err))
			return err->code;
	}
	if (run->peak_buffer_bytes > sum->peak_buffer_bytes)
		sum->peak_buffer_bytes = run->peak_buffer_bytes;
	for (int i = 0; i < run->n_resources; i++)
		merge_resource(&sum->resource[i], &run->resource[i]);
	sum->overlap_seconds += run->overlap_seconds;
	sum->wall_seconds += run->wall_seconds;
	return npl_run_total(sum, err);
}

void npl_run_free(struct npl_run *run)
{
	free(run->layer);
	free(run->resource);
	free(run->task);
	*run = (struct npl_run){0};
}

const char *npl_role_name(enum npl_role role)
{
	switch (role) {
	case NPL_RAN:
		return "ran";
	case NPL_FUSED:
		return "fused";
	case NPL_VIEW:
		return "view";
	}
	return NULL;
}

bool npl_row_on_host(const struct npl_layer_run *row)
{
	return row->role == NPL_RAN && row->device == NPL_ON_HOST;
}

double npl_row_seconds(const struct npl_layer_run *row)
{
	return row->result.seconds + row->host_seconds + row->link_seconds;
}
