/* SPDX-License-Identifier: MIT
 *
 * Counts the cycles of the register-level engine that belong to no instruction, and tells the observer. What happens in
 * a unit is counted there. */
#include "rtl.h"

void dn_rtl_tell(const struct dn_rtl *rtl, enum dn_event event, int64_t index)
{
	const struct sim_observer *observer = rtl->engine_input->observer;
	if (observer && observer->on_event)
		observer->on_event(observer->context, &(struct sim_event){event, rtl->cycle, index});
}

void dn_rtl_attribute(struct dn_rtl *rtl, enum dn_cycle_class cycle_class, int64_t index)
{
	const struct sim_observer *observer = rtl->engine_input->observer;
	*dn_class_counter(&rtl->outcome->counters, cycle_class) += 1;
	if (observer && observer->on_cycles)
		observer->on_cycles(observer->context,
				    &(struct sim_cycles){cycle_class, rtl->cycle, rtl->cycle + 1, index});
}

void dn_rtl_count_idle(struct dn_rtl *rtl)
{
	enum dn_cycle_class cycle_class = DN_CYCLES_WAIT_NBIN;
	if (rtl->stepped && rtl->cycle - rtl->last_step <= rtl->last_stages_to_leave)
		cycle_class = DN_CYCLES_NFU_FILL;
	else if (!dn_rtl_fifo_empty(&rtl->dma[DN_DMA_NBOUT].request))
		cycle_class = DN_CYCLES_WAIT_NBOUT;
	else if (!dn_rtl_fifo_empty(&rtl->dma[DN_DMA_SB].request))
		cycle_class = DN_CYCLES_WAIT_SB;
	dn_rtl_attribute(rtl, cycle_class, rtl->control.index - rtl->control.ended);
}
