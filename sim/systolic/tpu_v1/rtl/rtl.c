/* SPDX-License-Identifier: MIT
 *
 * The register-level engine, put together: all blocks look, then the clock comes, until the program has halted. See
 * rtl.h for the parts and docs/tpu-isa.md for what they make together.
 *
 * Not modelled: banks and ports of the unified buffer (it gives and takes what a cycle needs), anything of the host but
 * its memory. */
#include "rtl.h"

#include <stdlib.h>

static void look(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires)
{
	*wires = (struct tpu_rtl_wires){0};
	tpu_rtl_issue_look(rtl, wires);
	tpu_rtl_link_look(&rtl->link[0], wires);
	tpu_rtl_link_look(&rtl->link[1], wires);
	tpu_rtl_activate_look(rtl, wires); /* these three in this order, see rtl.h */
	tpu_rtl_matrix_look(rtl, wires);
	tpu_rtl_shifter_look(rtl, wires);
}

/* Whether any register has changed. */
static bool clock_all(struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires)
{
	struct tpu_rtl_world *world = &rtl->world;
	bool changed = tpu_rtl_issue_clock(&rtl->issue, wires, world);
	changed |= tpu_rtl_link_clock(&rtl->link[0], wires, world);
	changed |= tpu_rtl_link_clock(&rtl->link[1], wires, world);
	changed |= tpu_rtl_weights_clock(&rtl->weights, wires, world);
	changed |= tpu_rtl_shifter_clock(&rtl->shifter, wires, world);
	changed |= tpu_rtl_activate_clock(&rtl->activate, wires, world);
	changed |= tpu_rtl_matrix_clock(&rtl->matrix, wires, world);
	world->cycle++;
	return changed;
}

static int run(struct tpu_rtl *rtl)
{
	struct tpu_rtl_world *world = &rtl->world;
	struct tpu_rtl_wires wires;
	while (!rtl->issue.halted) {
		look(rtl, &wires);
		tpu_rtl_count_cycle(rtl, &wires, world);
		bool changed = clock_all(rtl, &wires);
		tpu_rtl_tell(world, world->cycle);
		if (world->rc)
			return world->rc;
		if (!changed)
			return tpu_rtl_stuck(rtl, &wires, world->err);
	}
	tpu_rtl_tell(world, UINT64_MAX);
	tpu_rtl_end_intervals(world);
	world->outcome->cycles = world->cycle;
	tpu_count_weight_memory(rtl->weights.port.memory, &world->outcome->counters);
	return 0;
}

/* No queue needs more slots than the program has instructions for it. */
static int64_t queue_slots(const struct tpu_rtl_world *world, enum tpu_unit unit)
{
	int64_t count = 0, most = world->config->queue_instructions;
	for (int64_t i = 0; i < world->program->count && count < most; i++)
		count += tpu_unit_of(tpu_code(world->program)[i].opcode) == unit;
	return count ? count : 1;
}

static int open_machine(struct tpu_rtl *rtl)
{
	struct tpu_rtl_world *world = &rtl->world;
	const struct tpu_config *config = world->config;
	rtl->issue.registers = tpu_reset_registers(config->rows, config->columns);
	rtl->link[0].unit = TPU_HOST_IN;
	rtl->link[1].unit = TPU_HOST_OUT;
	if (!tpu_rtl_queue_open(&rtl->link[0].queue, queue_slots(world, TPU_HOST_IN)) ||
	    !tpu_rtl_queue_open(&rtl->link[1].queue, queue_slots(world, TPU_HOST_OUT)))
		return npl_fail(world->err, NPL_ENOMEM, "out of memory for the rtl engine");
	int rc = tpu_rtl_weights_open(&rtl->weights, config, queue_slots(world, TPU_WEIGHTS), world->err);
	if (!rc)
		rc = tpu_rtl_matrix_open(&rtl->matrix, config, queue_slots(world, TPU_MATRIX), world->err);
	if (!rc)
		rc = tpu_rtl_activate_open(&rtl->activate, config, queue_slots(world, TPU_ACTIVATION), world->err);
	return rc;
}

static void close_machine(struct tpu_rtl *rtl)
{
	tpu_rtl_observe_close(&rtl->world);
	free(rtl->link[0].queue.slot);
	free(rtl->link[1].queue.slot);
	tpu_rtl_weights_close(&rtl->weights);
	tpu_rtl_matrix_close(&rtl->matrix);
	tpu_rtl_activate_close(&rtl->activate);
}

int tpu_run_rtl(const struct tpu_execution *execution, struct tpu_outcome *outcome, struct npl_err *err)
{
	*outcome = (struct tpu_outcome){0};
	struct tpu_rtl rtl = {.world = {.config = execution->config,
					.program = execution->program,
					.memory = &execution->memory,
					.observer = execution->observer,
					.outcome = outcome,
					.err = err}};
	int rc = open_machine(&rtl);
	if (!rc)
		rc = run(&rtl);
	close_machine(&rtl);
	return rc;
}
