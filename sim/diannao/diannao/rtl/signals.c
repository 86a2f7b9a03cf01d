/* SPDX-License-Identifier: MIT
 *
 * The signals of the register-level engine (signals.def): read in each cycle, as far as they are chosen. */
#include "sim/common/signals.h"
#include "rtl.h"

enum signal_row {
#define DN_SIGNAL(constant, ...) ROW_##constant,
#include "signals.def"
	ROWS
};
_Static_assert(ROWS <= NPL_MAX_SIGNAL_ROWS, "a table of signals has room for all rows");

int dn_signals(const struct dn_config *config, struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS])
{
	const struct npl_signal_def rows[ROWS] = {
#define DN_SIGNAL(constant, signal_name, sign, bits, choice, known, value, text)                                       \
	[ROW_##constant] = SIM_SIGNAL_DEF(signal_name, sign, bits, choice, text),
#include "signals.def"
	};
	const struct sim_signal_index index[] = {{"output", config->tn}, {"input", config->tn}, {0}};
	for (int i = 0; i < ROWS; i++)
		def[i] = rows[i];
	sim_signals_index(def, ROWS, index);
	return ROWS;
}

/* Returns the requests of a DMA that are decoded and not complete. */
static uint64_t waiting(const struct dn_rtl *rtl, int dma_id)
{
	return rtl->dma[dma_id].request.tail - rtl->dma[dma_id].request.head;
}

/* Returns the place of the last register of a pipeline. */
static int64_t last_index(const struct dn_rtl_pipe *pipe)
{
	return (pipe->newest + pipe->n - 1) % pipe->n;
}

static const struct dn_rtl_bundle *first_of(const struct dn_rtl_pipe *pipe)
{
	return &pipe->bundle[pipe->newest];
}

static const struct dn_rtl_bundle *last_of(const struct dn_rtl_pipe *pipe)
{
	return &pipe->bundle[last_index(pipe)];
}

/* Reads a signal. Returns whether its value is known. */
static bool read_signal(const struct dn_rtl *rtl, const struct dn_counters *moved, const struct sim_signal *signal,
			int64_t *read)
{
	const struct dn_rtl_nfu *nfu = &rtl->nfu;
	const struct dn_rtl_fifo *queue = &rtl->control.queue;
	const struct dn_rtl_issued *head = dn_rtl_fifo_empty(queue) ? NULL : dn_rtl_fifo_at(queue, queue->head);
	const bool has_values = rtl->engine_input->memory.bytes != NULL;
	const int64_t i = signal->index[0], j = signal->index[1];
	switch ((enum signal_row)signal->row) {
#define DN_SIGNAL(constant, name, sign, bits, choice, known, value, text)                                              \
	case ROW_##constant:                                                                                           \
		if (!(known))                                                                                          \
			return false;                                                                                  \
		*read = (int64_t)(value);                                                                              \
		return true;
#include "signals.def"
	case ROWS:
		break;
	}
	return false;
}

int dn_rtl_signals_open(struct dn_rtl *rtl)
{
	struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS];
	const struct npl_signal_sink *sink = rtl->engine_input->signals;
	const int n = sink ? dn_signals(rtl->config, def) : 0;
	return sim_signals_open(sink, def, n, rtl->config->clock_hz, &rtl->signals, rtl->err);
}

void dn_rtl_signals_tell(struct dn_rtl *rtl)
{
	struct sim_signals *signals = rtl->signals;
	struct dn_counters moved = rtl->outcome->counters;
#define DN_COUNTER(form, member, ...) moved.member -= rtl->counted.member;
#include "sim/diannao/diannao/counters.def"
#undef DN_COUNTER
	rtl->counted = rtl->outcome->counters;
	if (rtl->rc || !sim_signals_told(signals, rtl->cycle))
		return;
	for (int i = 0; i < signals->n; i++) {
		int64_t value = 0;
		const bool is_known = read_signal(rtl, &moved, &signals->signal[i], &value);
		sim_signals_put(signals, i, is_known, value);
	}
	rtl->rc = sim_signals_tell(signals, rtl->cycle, rtl->err);
}
