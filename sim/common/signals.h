/* SPDX-License-Identifier: MIT
 *
 * What the register-level engines share to tell a signal sink (npulab/signal_sink.h): the choice of signals by their
 * names, and the changes of a cycle. An engine has a table of signals and reads the chosen ones in each cycle. */
#ifndef NPULAB_SIM_COMMON_SIGNALS_H
#define NPULAB_SIM_COMMON_SIGNALS_H

#include "npulab/signal_sink.h"

/* A row of a machine's table, beside its definition, where the .def file says more. */
enum sim_sign { SIM_UNSIGNED, SIM_SIGNED };
enum sim_choice { SIM_ON_REQUEST, SIM_BY_DEFAULT };

/* An index of signals: the word that stands for it in names, and how many values it has. */
struct sim_signal_index {
	const char *word;
	int64_t extent;
};
/* Makes the definition of a row of a machine's table. */
#define SIM_SIGNAL_DEF(signal_name, sign, bits, choice, text)                                                          \
	{                                                                                                              \
		.name = (signal_name), .meaning = (text), .width = (bits), .is_signed = SIM_##sign == SIM_SIGNED,      \
		.by_default = SIM_##choice == SIM_BY_DEFAULT,                                                          \
	}

/* Finds the indices of each row in its name. The list of indices ends with the word NULL, and has every word that
 * stands in brackets in a name. */
void sim_signals_index(struct npl_signal_def *def, int n, const struct sim_signal_index *index);

/* A signal that was chosen, and its last value. */
struct sim_signal {
	int row; /* of the table */
	int64_t index[2];
	bool is_told, is_known;
	int64_t value;
};
struct sim_signals {
	const struct npl_signal_sink *sink;
	struct sim_signal *signal;
	int n, capacity, n_changes;
	struct npl_signal_change *change; /* (n) */
	struct npl_signal *described;     /* (n) */
};
/* Chooses the signals of a sink and tells it which they are. *opened is NULL where nothing is to be told, as with a
 * sink of NULL. Returns NPL_EUSAGE for a pattern that fits no signal, or NPL_ENOMEM, or what the sink returns. */
int sim_signals_open(const struct npl_signal_sink *sink, const struct npl_signal_def *def, int n, int64_t clock_hz,
		     struct sim_signals **opened, struct npl_err *err);
void sim_signals_close(struct sim_signals *signals); /* accepts NULL */

/* Says whether the sink is told this cycle. */
static inline bool sim_signals_told(const struct sim_signals *signals, uint64_t cycle)
{
	return cycle >= signals->sink->from && (!signals->sink->until || cycle < signals->sink->until);
}

/* Notes the value of signal i of those chosen, in this cycle. */
static inline void sim_signals_put(struct sim_signals *signals, int i, bool is_known, int64_t value)
{
	struct sim_signal *signal = &signals->signal[i];
	if (!is_known)
		value = 0;
	if (signal->is_told && signal->is_known == is_known && signal->value == value)
		return;
	signal->is_told = true;
	signal->is_known = is_known;
	signal->value = value;
	signals->change[signals->n_changes++] = (struct npl_signal_change){i, is_known, value};
}
/* Tells the changes of the cycle. The caller has put each signal at most once since the last call. */
int sim_signals_tell(struct sim_signals *signals, uint64_t cycle, struct npl_err *err);

#endif
