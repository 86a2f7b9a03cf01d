/* SPDX-License-Identifier: MIT
 *
 * What the cycles of the register-level engine are that no instruction has, what memory says it did, and who watches. What happens in a
 * unit is counted there. */
#include "rtl.h"

void dn_rtl_tell(const struct dn_rtl *rtl, enum dn_what what, int64_t index)
{
	const struct dn_watcher *watcher = rtl->run->watcher;
	if (watcher)
		watcher->happened(watcher->context, what, index, rtl->cycle);
}

void dn_rtl_count_idle(struct dn_rtl *rtl)
{
	struct dn_counters *n = &rtl->run->counters;
	if (rtl->stepped && rtl->cycle - rtl->last_step <= rtl->last_way)
		n->nfu_fill++;
	else if (!dn_rtl_fifo_empty(&rtl->dma[DN_RTL_NBOUT].request))
		n->wait_nbout++;
	else if (!dn_rtl_fifo_empty(&rtl->dma[DN_RTL_SB].request))
		n->wait_sb++;
	else
		n->wait_nbin++;
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
