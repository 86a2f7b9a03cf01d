/* SPDX-License-Identifier: MIT
 *
 * What the cycles of the register-level engine are that no instruction has, what memory says it did, and who observes. What happens in a
 * unit is counted there. */
#include "rtl.h"

void dn_rtl_tell(const struct dn_rtl *rtl, enum dn_event what, int64_t index)
{
	const struct sim_observer *observer = rtl->run->observer;
	if (observer && observer->on_event)
		observer->on_event(observer->context, &(struct sim_event){what, rtl->cycle, index});
}

void dn_rtl_spend(struct dn_rtl *rtl, enum dn_spending what, int64_t index)
{
	const struct sim_observer *observer = rtl->run->observer;
	struct dn_counters *n = &rtl->run->counters;
	n->nfu_active += what == DN_SPENT_ACTIVE;
	n->wait_sb += what == DN_SPENT_WAIT_SB;
	n->wait_nbin += what == DN_SPENT_WAIT_NBIN;
	n->wait_nbout += what == DN_SPENT_WAIT_NBOUT;
	n->nfu_fill += what == DN_SPENT_FILL;
	if (observer && observer->on_span)
		observer->on_span(observer->context, &(struct sim_span){what, rtl->cycle, rtl->cycle + 1, index});
}

void dn_rtl_count_idle(struct dn_rtl *rtl)
{
	enum dn_spending what = DN_SPENT_WAIT_NBIN;
	if (rtl->stepped && rtl->cycle - rtl->last_step <= rtl->last_way)
		what = DN_SPENT_FILL;
	else if (!dn_rtl_fifo_empty(&rtl->dma[DN_RTL_NBOUT].request))
		what = DN_SPENT_WAIT_NBOUT;
	else if (!dn_rtl_fifo_empty(&rtl->dma[DN_RTL_SB].request))
		what = DN_SPENT_WAIT_SB;
	dn_rtl_spend(rtl, what, rtl->control.index - rtl->control.ended);
}

void dn_rtl_count_memory(struct dn_rtl *rtl)
{
	struct dn_counters *n = &rtl->run->counters;
	struct npl_memory_counters *moved = &rtl->run->moved;
	npl_memory_counters(rtl->run->memory, moved);
	n->dram_reads = moved->reads;
	n->dram_writes = moved->writes;
	n->dram_row_hits = moved->row_hits;
	n->dram_activates = moved->activates;
	n->dram_refreshes = moved->refreshes;
}
