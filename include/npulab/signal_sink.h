/* SPDX-License-Identifier: MIT
 *
 * The signals of a machine's register-level engine: registers and wires, cycle by cycle. A machine lists them
 * (npl_device_signals), and an instruction sink that has a signal sink is told those that it chose. Only the engine
 * `rtl` has signals. Of what is not chosen nothing is read.
 *
 *     struct npl_signal_sink signals = {.choice = "matrix.*,cell[3][5].sum", .on_cycle = watch, .context = &seen};
 *     struct npl_instruction_sink sink = {.signals = &signals};
 *     if (npl_device_tell_instructions(device, &sink, &err)) ...
 *     npl_device_run(device, &layer, &result, &err); // watch() is called for each cycle in which a signal changes
 */
#ifndef NPULAB_SIGNAL_SINK_H
#define NPULAB_SIGNAL_SINK_H

#include "npulab/instruction_sink.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_MAX_SIGNAL_ROWS 128 /* rows of a machine's table of signals */
#define NPL_SIGNAL_NAME     96  /* bytes of a name, with its NUL */

/* A row of a machine's table: one signal, or one for each value of its indices. */
struct npl_signal_def {
	const char *name;    /* "matrix.busy"; with indices, as words in brackets: "cell[row][column].sum" */
	const char *meaning; /* one sentence without its stop */
	int width;           /* bits, 1 to 64 */
	bool is_signed;      /* values are in two's complement */
	bool by_default;     /* it is told to a sink that chooses nothing */
	int n_indices;       /* 0 to 2 */
	int64_t extent[2];   /* the values of each index are 0 <= i < extent */
};
/* Fills the table of the device's machine. Returns the number of rows; 0: it has no engine `rtl`. */
int npl_device_signals(const struct npl_device *device, struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS]);

/* A signal that was chosen. */
struct npl_signal {
	char name[NPL_SIGNAL_NAME]; /* with numbers for its indices: "cell[3][5].sum" */
	struct npl_signal_def def;
};

/* A signal whose value is another one than before. A value that is not known has no value: nothing runs with values,
 * or nothing is there. */
struct npl_signal_change {
	int signal; /* index in the list of on_signals */
	bool is_known;
	int64_t value;
};

/* Members that are pointers are borrowed. Functions may be NULL. If one does not return 0, the run ends with that code.
 * The members may be changed between programs, in on_program of the instruction sink too. */
struct npl_signal_sink {
	/* Which signals: patterns of names, separated by commas. `*` stands for any text, `?` for any character, and
	 * the pattern "default" for all that are told by default. A pattern that no signal of the machine fits fails
	 * the run with NPL_EUSAGE. NULL: "default". */
	const char *choice;
	const char *machine; /* only of the device with this name; NULL: of every device */
	/* Only the cycles from <= t < until of a program. until 0: to its end. from UINT64_MAX: no signals at all. */
	uint64_t from, until;
	/* Is told at the begin of a program: the signals, in the order of the machine's table, until its end. */
	int (*on_signals)(void *context, const struct npl_signal *signal, int n, int64_t clock_hz, struct npl_err *err);
	/* Is told in each cycle in which a signal changes, and in the first cycle of the window all of them. Registers
	 * have the values of the cycle, and wires what they carry in it. */
	int (*on_cycle)(void *context, uint64_t cycle, const struct npl_signal_change *change, int n,
			struct npl_err *err);
	void *context;
};

#ifdef __cplusplus
}
#endif

#endif
