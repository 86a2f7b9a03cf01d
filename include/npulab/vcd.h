/* SPDX-License-Identifier: MIT
 *
 * Writes the signals of a machine (npulab/signal_sink.h) as a value change dump (IEEE 1364-2005, section 18), which
 * GTKWave and other viewers of waveforms read (docs/waveforms.md).
 *
 *     struct npl_vcd *vcd;
 *     if (npl_vcd_open(&(struct npl_vcd_options){.signals = "matrix.*"}, "a.vcd", &vcd, &err) ||
 *         npl_device_tell_instructions(device, npl_vcd_sink(vcd), &err)) ...
 *     if (!npl_device_run(device, &layer, &result, &err) && !npl_vcd_finish(vcd, &err)) ...
 *     npl_vcd_close(vcd);
 */
#ifndef NPULAB_VCD_H
#define NPULAB_VCD_H

#include "npulab/signal_sink.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is written. Texts are borrowed until the dump is closed. */
struct npl_vcd_options {
	const char *signals; /* npl_signal_sink.choice */
	/* Only programs of this device; NULL: of the device that runs the first one that is written. */
	const char *machine;
	const char *layer; /* only programs that compute a layer whose name has this text; NULL: all programs */
	/* Only the cycles from <= t < until of each program; until 0: to its end. Signals are x in the others. */
	uint64_t from, until;
};

struct npl_vcd;
/* Makes a dump that is written to `path` when it finishes, whole or not at all. */
int npl_vcd_open(const struct npl_vcd_options *options, const char *path, struct npl_vcd **opened, struct npl_err *err);
/* Returns the sink for the device or the program. Programs follow each other in the dump's time without gaps. */
const struct npl_instruction_sink *npl_vcd_sink(struct npl_vcd *vcd);
/* Returns the sink for an earlier run of the same programs, on any engine. It finds the cycles in which units work for
 * instructions of the layers that the options choose: a program may compute all layers of a network. */
const struct npl_instruction_sink *npl_vcd_layer_sink(struct npl_vcd *vcd);
/* Ends that run: the dump will have of each program only these cycles, from the first to the last. Returns NPL_EUSAGE
 * where programs have run, and no instruction is of these layers. */
int npl_vcd_narrow(struct npl_vcd *vcd, struct npl_err *err);
/* What has been written so far. */
struct npl_vcd_size {
	int64_t programs, signals;
	uint64_t cycles, changes;
};
struct npl_vcd_size npl_vcd_size_of(const struct npl_vcd *vcd);
/* Writes the file. Returns NPL_EUSAGE where no program was to be written, or none of its cycles, with why. */
int npl_vcd_finish(struct npl_vcd *vcd, struct npl_err *err);
void npl_vcd_close(struct npl_vcd *vcd); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif
