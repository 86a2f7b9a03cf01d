/* SPDX-License-Identifier: MIT
 *
 * Sums of runs: every member of a run and of its rows is added, is the greater one, or is that of the first batch. */
#include <criterion/criterion.h>
#include <string.h>

#include "npulab/session.h"

static void check_row(const struct npl_layer_run *row, const struct npl_layer_run *add)
{
	cr_expect(row->host_seconds == 2 * add->host_seconds && row->host_joules == 2 * add->host_joules);
	cr_expect(row->link_seconds == 2 * add->link_seconds && row->link_bytes == 2 * add->link_bytes);
	cr_expect(row->transfers == 2 * add->transfers && row->clipped == 2 * add->clipped);
#define CHECK_COUNT(name) cr_expect_eq(row->result.name, 6, #name);
	NPL_RESULT_COUNTS(CHECK_COUNT)
#undef CHECK_COUNT
	cr_expect(row->node == add->node && row->role == add->role && row->device == add->device);
	cr_expect(row->ran_on == add->ran_on && row->placed_by == add->placed_by && row->note == add->note);
	cr_expect(row->float32_reason == add->float32_reason && row->host_part == add->host_part);
	cr_expect(row->counter_def == add->counter_def && row->n_counters == add->n_counters);
	cr_expect(row->start_seconds == add->start_seconds && row->ready_seconds == add->ready_seconds);
	cr_expect(row->end_seconds == add->end_seconds && row->output_dtype == add->output_dtype);
	cr_expect(row->output_quant.zero_point == add->output_quant.zero_point);
	cr_expect_str_eq(row->output_sha256, add->output_sha256);
}

static void check_resource(const struct npl_resource *sum, const struct npl_resource *add)
{
	cr_expect(sum->kind == add->kind && sum->device == add->device && sum->name == add->name);
	cr_expect(sum->device_name == add->device_name && sum->energy_origin == add->energy_origin);
	cr_expect(sum->energy_within == add->energy_within && sum->busy_seconds == 2 * add->busy_seconds);
	cr_expect(sum->transfers == 2 * add->transfers && sum->bytes == 2 * add->bytes);
	cr_expect(sum->bytes_within == 2 * add->bytes_within && sum->joules == 2 * add->joules);
}

/* The totals that npl_run_total computes from the rows, and the members that npl_run_add sums by itself. */
static void check_run(const struct npl_run *sum, const struct npl_run *add)
{
	const struct npl_layer_run *row = add->layer;
#define CHECK_COUNT(name) cr_expect_eq(sum->name, 6, #name);
	NPL_RESULT_COUNTS(CHECK_COUNT)
#undef CHECK_COUNT
	cr_expect(sum->device_seconds == 2 * row->result.seconds && sum->host_seconds == 2 * row->host_seconds);
	cr_expect(sum->link_seconds == 2 * row->link_seconds && sum->link_bytes == 2 * row->link_bytes);
	cr_expect(sum->overlap_seconds == 2 * add->overlap_seconds && sum->wall_seconds == 2 * add->wall_seconds);
	cr_expect_eq(sum->seconds, sum->device_seconds + sum->host_seconds + sum->link_seconds - sum->overlap_seconds);
	cr_expect_eq(sum->device_macs, 6);
	for (int i = 0; i < NPL_MEM_LEVELS; i++)
		cr_expect_eq(sum->bytes[i], 2 * row->result.bytes[i], "level %d", i);
	cr_expect(sum->n_energy == 1 && sum->energy[0].joules == 2 * row->result.energy[0].joules);
	cr_expect_eq(sum->peak_buffer_bytes, add->peak_buffer_bytes);
	cr_expect(sum->n_layers == 1 && sum->n_resources == 1 && sum->n_tasks == 1);
	cr_expect(sum->layer != add->layer && sum->resource != add->resource && sum->task != add->task);
	cr_expect(!memcmp(sum->task, add->task, sizeof *add->task));
	check_row(sum->layer, row);
	check_resource(sum->resource, add->resource);
}

/* The constants give all members in their order, without their names, so that a further member is a missing
 * initialiser: give it a value here and a check above, and have it added (npl_run_add and merge_resource in
 * frontend/session/run_total.c) or, if the run has a total of the rows, summed there (npl_run_total). Members of struct
 * npl_result have their test in tests/core/test_result.c. A row of NPL_RESULT_COUNTS is all that by itself. */
Test(run_total, sums_add_every_member)
{
#define COUNT_OF_3(name) 3,
#define SET_COUNT(name)  row.result.name = 3;
	struct npl_layer_run row = {5,
				    NPL_RAN,
				    0,
				    "machine",
				    "a rule",
				    "a note",
				    "a reason",
				    true,
				    NULL,
				    0,
				    {.bytes = {7, 8, 9},
				     .seconds = 0.5,
				     .n_energy = 1,
				     .energy = {{.component = "array", .origin = "modelled:a table", .joules = 2}}},
				    0.25,
				    4,
				    0.125,
				    10,
				    11,
				    1,
				    2,
				    3,
				    12,
				    NPL_I8,
				    {1, 13, NULL},
				    "hash"};
	NPL_RESULT_COUNTS(SET_COUNT)
	struct npl_resource resource = {NPL_RESOURCE_LINK,  0,           "PCIe", "machine", 0.5, 14, 15, 16, 0.25,
					"modelled:a table", "the cycles"};
	struct npl_task task = {.node = 5, .start_seconds = 1, .end_seconds = 2};
	const struct npl_run add = {1,
				    &row,
				    NPL_RESULT_COUNTS(COUNT_OF_3) 0.75,
				    0.5,
				    0.25,
				    0.125,
				    0.125,
				    10,
				    3,
				    {7, 8, 9},
				    17,
				    1,
				    {{.component = "array", .origin = "modelled:a table", .joules = 2}},
				    18,
				    1,
				    &resource,
				    1,
				    &task};
#undef SET_COUNT
#undef COUNT_OF_3
	struct npl_run sum = {0};
	struct npl_err err;
	for (int i = 0; i < 2; i++)
		cr_assert_eq(npl_run_add(&sum, &add, &err), 0, "%s", err.msg);
	check_run(&sum, &add);
	npl_run_free(&sum);
}

/* The memory that layer groups use at once is the greatest of all batches, in whatever order they come. */
Test(run_total, the_peak_is_the_greatest_of_all_batches)
{
	struct npl_layer_run row = {.device = NPL_ON_HOST};
	struct npl_run small = {.n_layers = 1, .layer = &row, .peak_buffer_bytes = 1}, great = small, sum = {0};
	struct npl_err err;
	great.peak_buffer_bytes = 2;
	cr_assert_eq(npl_run_add(&sum, &small, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_run_add(&sum, &great, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_run_add(&sum, &small, &err), 0, "%s", err.msg);
	cr_assert_eq(sum.peak_buffer_bytes, 2);
	npl_run_free(&sum);
}
