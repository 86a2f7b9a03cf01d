/* SPDX-License-Identifier: MIT
 *
 * The register-level engine, put together: what happens at a boundary and in the cycle that it begins, in the order of engine.h, until
 * the program has ended. See rtl.h for the parts. */
#include "rtl.h"

#include <inttypes.h>

/* Memory comes to the boundary, the registers move, and then all that engine.h has before a cycle's step. */
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

/* Nothing has changed and nothing can any more: no answer is due, no request's turn has come, and the NFU waits. */
static int stuck(const struct dn_rtl *rtl)
{
	return npl_fail(rtl->err, NPL_EINTERNAL,
			"diannao: at cycle %" PRIu64 " instruction %" PRId64
			" and those before it wait for what nobody brings",
			rtl->cycle, rtl->control.index);
}

static int too_long(const struct dn_rtl *rtl)
{
	const struct npl_memory_info *memory = npl_memory_info(rtl->run->memory);
	return npl_fail(rtl->err, NPL_EINPUT,
			"the program takes longer than %d s at %" PRId64
			" Hz and %.4g bytes/s of memory %s, expected less",
			DN_LONGEST_SECONDS, rtl->config->clock_hz, memory->peak_bytes_per_second, memory->name);
}

static int go(struct dn_rtl *rtl)
{
	const struct npl_hz seconds = {1, 1}, machine = {rtl->config->clock_hz, 1};
	const uint64_t longest = npl_hz_floor(DN_LONGEST_SECONDS, &seconds, &machine);
	for (;; rtl->cycle++) {
		rtl->moved = false;
		boundary(rtl);
		if (rtl->rc)
			return rtl->rc;
		if (dn_rtl_has_ended(rtl))
			return 0;
		if (rtl->cycle >= longest)
			return too_long(rtl);
		dn_rtl_take_step(rtl);
		if (!rtl->moved && !dn_rtl_dma_busy(rtl))
			return stuck(rtl);
	}
}

static int open_machine(struct dn_rtl *rtl)
{
	int rc = dn_rtl_buffers_open(rtl);
	if (!rc)
		rc = dn_rtl_dma_open(rtl);
	if (!rc)
		rc = dn_rtl_nfu_open(rtl);
	return rc ? rc : dn_rtl_control_open(rtl);
}

int dn_run_rtl(struct dn_run *run, struct npl_err *err)
{
	const struct npl_hz machine = {run->config->clock_hz, 1};
	const struct npl_hz *memory = &npl_memory_info(run->memory)->clock;
	struct dn_rtl rtl = {.run = run,
			     .config = run->config,
			     .err = err,
			     .tn = run->config->tn,
			     .row_bytes = dn_row_bytes(run->config),
			     .sb_row_bytes = dn_sb_row_bytes(run->config)};
	run->counters = (struct dn_counters){0};
	npl_memory_reset(run->memory);
	int rc = open_machine(&rtl);
	if (!rc)
		rc = go(&rtl);
	if (!rc) {
		run->cycles = rtl.cycle;
		npl_memory_advance(run->memory, npl_hz_ceil(rtl.cycle, &machine, memory), 0);
		dn_rtl_count_memory(&rtl);
	}
	dn_rtl_buffers_close(&rtl);
	dn_rtl_dma_close(&rtl);
	dn_rtl_nfu_close(&rtl);
	dn_rtl_control_close(&rtl);
	return rc;
}
