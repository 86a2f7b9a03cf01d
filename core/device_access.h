/* SPDX-License-Identifier: MIT
 *
 * What lies behind an opened device (npulab/device.h), for code that knows its driver, and for reports.
 */
#ifndef NPULAB_CORE_DEVICE_ACCESS_H
#define NPULAB_CORE_DEVICE_ACCESS_H

#include "npulab/driver.h"
#include "npulab/instruction_sink.h"

const struct npl_driver *npl_device_driver(const struct npl_device *device);
/* Returns the state that the driver's open made. */
const void *npl_device_state(const struct npl_device *device);
/* Returns NPL_EUSAGE: the device of this name has no instruction set; the message names the drivers that have one. */
int npl_device_no_isa(const char *name, struct npl_err *err);

/* Returns the signal sink of an instruction sink, where it is for this device; NULL otherwise. */
const struct npl_signal_sink *npl_device_signal_sink(const struct npl_device *device,
						     const struct npl_instruction_sink *sink);
/* Returns NPL_EUSAGE where the device, which runs this engine, has no signals to tell. */
int npl_device_check_signals(const struct npl_device *device, const char *engine, struct npl_err *err);

/* Copies the notes into the arena for a report. Where the user changed the sizes or the clock of a shipped machine, a
 * last note says which energies and fitted figures were not changed with them. Returns NULL when memory is short. */
const char *const *npl_device_keep_notes(const struct npl_device *device, struct npl_arena *arena, int *n);

#endif
