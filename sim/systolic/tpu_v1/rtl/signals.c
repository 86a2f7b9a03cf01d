/* SPDX-License-Identifier: MIT
 *
 * The signals of the register-level engine (signals.def): read in each cycle, as far as they are chosen. */
#include "sim/common/signals.h"
#include "rtl.h"

enum phase { FIRST, LAST };
enum signal_row {
#define TPU_SIGNAL(constant, ...) ROW_##constant,
#include "signals.def"
	ROWS
};
_Static_assert(ROWS <= NPL_MAX_SIGNAL_ROWS, "a table of signals has room for all rows");

static const enum phase phase_of[ROWS] = {
#define TPU_SIGNAL(constant, name, sign, bits, choice, phase, ...) [ROW_##constant] = (phase),
#include "signals.def"
};

int tpu_signals(const struct tpu_config *config, struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS])
{
	static const struct npl_signal_def rows[ROWS] = {
#define TPU_SIGNAL(constant, signal_name, sign, bits, choice, phase, known, value, text)                               \
	[ROW_##constant] = SIM_SIGNAL_DEF(signal_name, sign, bits, choice, text),
#include "signals.def"
	};
	const struct sim_signal_index index[] = {{"row", config->rows}, {"column", config->columns}, {0}};
	for (int i = 0; i < ROWS; i++)
		def[i] = rows[i];
	sim_signals_index(def, ROWS, index);
	return ROWS;
}

/* Returns the write of the cycle in this column; NULL: there is none. The columns ascend. */
static const struct tpu_matrix_write *written(const struct tpu_rtl *rtl, int64_t column)
{
	const struct tpu_matrix *unit = &rtl->matrix.unit;
	int64_t low = 0, high = unit->writes;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (unit->write[middle].column < column)
			low = middle + 1;
		else
			high = middle;
	}
	return low < unit->writes && unit->write[low].column == column ? &unit->write[low] : NULL;
}

/* What the signals of a cycle are read from. */
struct moment {
	const struct tpu_rtl *rtl;
	const struct tpu_rtl_wires *wires;
	struct tpu_counters moved;
};

/* Reads a signal. Returns whether its value is known. */
static bool read_signal(const struct moment *moment, const struct sim_signal *signal, int64_t *read)
{
	const struct tpu_rtl *rtl = moment->rtl;
	const struct tpu_rtl_wires *wires = moment->wires;
	const struct tpu_counters *moved = &moment->moved;
	const bool has_values = !rtl->context.memory->timing_only;
	const int64_t i = signal->index[0], r = i, c = signal->index[1];
	switch ((enum signal_row)signal->row) {
#define TPU_SIGNAL(constant, name, sign, bits, choice, phase, known, value, text)                                      \
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

static void read_all(struct tpu_rtl *rtl, const struct moment *moment, enum phase phase)
{
	struct sim_signals *signals = rtl->signals;
	for (int i = 0; i < signals->n; i++) {
		int64_t value = 0;
		if (phase_of[signals->signal[i].row] != phase)
			continue;
		const bool is_known = read_signal(moment, &signals->signal[i], &value);
		sim_signals_put(signals, i, is_known, value);
	}
}

int tpu_rtl_signals_open(struct tpu_rtl *rtl, const struct npl_signal_sink *sink)
{
	struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS];
	const struct tpu_config *config = rtl->context.config;
	const int n = sink ? tpu_signals(config, def) : 0;
	return sim_signals_open(sink, def, n, config->clock_hz, &rtl->signals, rtl->context.err);
}

void tpu_rtl_signals_first(struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires)
{
	rtl->counted = rtl->context.outcome->counters;
	if (sim_signals_told(rtl->signals, rtl->context.cycle))
		read_all(rtl, &(struct moment){.rtl = rtl, .wires = wires}, FIRST);
}

void tpu_rtl_signals_last(struct tpu_rtl *rtl, const struct tpu_rtl_wires *wires)
{
	const uint64_t cycle = rtl->context.cycle - 1;
	struct moment moment = {rtl, wires, rtl->context.outcome->counters};
	if (rtl->context.rc || !sim_signals_told(rtl->signals, cycle))
		return;
#define TPU_COUNTER(form, member, ...) moment.moved.member -= rtl->counted.member;
#include "sim/systolic/tpu_v1/counters.def"
#undef TPU_COUNTER
	read_all(rtl, &moment, LAST);
	rtl->context.rc = sim_signals_tell(rtl->signals, cycle, rtl->context.err);
}
