/* SPDX-License-Identifier: MIT
 *
 * The whole register-level engine: what happens at a boundary and in the cycle that it begins, in the order of
 * docs/diannao-isa.md, until the program has ended. rtl.h lists the parts. */
#include "rtl.h"

/* Takes memory to the boundary, moves the registers, and then does all that docs/diannao-isa.md puts before a cycle's
 * step. */
static void boundary(struct dn_rtl *rtl)
{
	const bool memory_too = rtl->cycle == 0 || dn_rtl_memory_follows(rtl);
	if (rtl->cycle)
		dn_rtl_nfu_clock(rtl);
	dn_rtl_arrivals(rtl);
	if (!rtl->rc)
		dn_rtl_end_and_decode(rtl);
	if (memory_too && !rtl->rc)
		dn_rtl_requests_begin(rtl);
	if (!rtl->rc)
		dn_rtl_arrivals(rtl);
}

static int run(struct dn_rtl *rtl)
{
	const struct npl_hz seconds = {1, 1}, machine = {rtl->config->clock_hz, 1};
	const uint64_t longest = npl_hz_floor(DN_MAX_SECONDS, &seconds, &machine);
	for (;; rtl->cycle++) {
		rtl->progress = false;
		boundary(rtl);
		if (rtl->rc)
			return rtl->rc;
		if (dn_rtl_has_ended(rtl)) {
			if (rtl->signals)
				dn_rtl_signals_tell(rtl);
			return rtl->rc;
		}
		if (rtl->cycle >= longest)
			return dn_fail_too_long(rtl->engine_input, rtl->err);
		dn_rtl_take_step(rtl);
		if (rtl->signals)
			dn_rtl_signals_tell(rtl);
		/* Nothing has changed and nothing can change any more: no answer is due, no request's turn has come,
		 * and the NFU waits. */
		if (!rtl->progress && !dn_rtl_dma_busy(rtl))
			return dn_fail_deadlock(rtl->cycle, rtl->control.index, rtl->err);
	}
}

static int open_machine(struct dn_rtl *rtl)
{
	int rc = dn_rtl_buffers_open(rtl);
	if (!rc)
		rc = dn_rtl_dma_open(rtl);
	if (!rc)
		rc = dn_rtl_nfu_open(rtl);
	if (!rc)
		rc = dn_rtl_control_open(rtl);
	return rc ? rc : dn_rtl_signals_open(rtl);
}

int dn_run_rtl(const struct dn_engine_input *engine_input, struct dn_outcome *outcome, struct npl_err *err)
{
	const struct dn_config *config = engine_input->config;
	const struct npl_hz machine = {config->clock_hz, 1};
	const struct npl_hz *memory = &npl_memory_info(engine_input->port)->clock;
	struct dn_rtl rtl = {.engine_input = engine_input,
			     .outcome = outcome,
			     .config = config,
			     .err = err,
			     .tn = config->tn,
			     .row_bytes = dn_row_bytes(config),
			     .sb_row_bytes = dn_sb_row_bytes(config)};
	*outcome = (struct dn_outcome){0};
	npl_memory_reset(engine_input->port);
	int rc = open_machine(&rtl);
	if (!rc)
		rc = run(&rtl);
	if (!rc) {
		outcome->cycles = rtl.cycle;
		npl_memory_advance(engine_input->port, npl_hz_ceil(rtl.cycle, &machine, memory), 0);
		npl_memory_counters(engine_input->port, &outcome->memory);
		dn_count_memory(&outcome->memory, &outcome->counters);
	}
	dn_rtl_buffers_close(&rtl);
	dn_rtl_dma_close(&rtl);
	dn_rtl_nfu_close(&rtl);
	dn_rtl_control_close(&rtl);
	sim_signals_close(rtl.signals);
	return rc;
}
