/* SPDX-License-Identifier: MIT
 *
 * What a device reports about a layer. A time says whether it is modelled or measured, and each energy carries its
 * origin; an energy that is not known is NAN, never 0. Cycles and counters are those of the device's own clock and
 * table (device.h); a device without them has 0.
 */
#ifndef NPULAB_RESULT_H
#define NPULAB_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/counters.h"
#include "npulab/energy_model.h"
#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_MAX_ENERGY 16

/* Where a time comes from. */
enum npl_time_origin { NPL_TIME_NONE, NPL_TIME_MODELLED, NPL_TIME_MEASURED };

/* What an energy belongs to: a machine at work; the machine's main memory; a machine that waits for its host, a link or
 * another machine; the modelled host; a link. */
enum npl_energy_part { NPL_OF_MACHINE, NPL_OF_MEMORY, NPL_OF_WAITING, NPL_OF_HOST, NPL_OF_LINK, NPL_ENERGY_PARTS };
const char *npl_energy_part_name(enum npl_energy_part part); /* "machine", "memory", "waiting", "host", "link" */

/* One component of a layer's energy. npl_origin_ok accepts these origins:
 *   measured:rapl-pkg  measured:nvml-energy  measured:nvml-power-integral
 *   modelled:TABLE  calibrated:PAPER  assumed:tdp  absent
 * where TABLE and PAPER stand for a name. */
struct npl_energy {
	const char *component; /* "matrix unit", borrowed from the device */
	const char *origin;    /* borrowed from the device */
	uint64_t events;       /* events that were counted; 0 for a measured energy */
	double pj_per_event;   /* joules = events * pj_per_event * 1e-12, checked, when events > 0 */
	double joules;         /* NAN when the origin is "absent" */
	/* The bottom-up range of a machine's energy model (energy_model.h); both NAN: no table has the component.
	 * has_range false: the energy is of another kind, and is its own range. */
	bool has_range;
	double joules_low, joules_high;
	/* What the activity of the operands makes of `joules`; has_activity false: it was not counted, or does not
	 * matter. */
	bool has_activity;
	double joules_by_activity;
	enum npl_energy_part part;
};

bool npl_origin_ok(const char *origin);
/* Says whether an origin is "absent": the energy is not known. */
bool npl_origin_is_absent(const char *origin);
/* Says whether an energy of this origin was measured. */
bool npl_origin_is_measured(const char *origin);

/* NPL_MEM_HOST: the host's memory, reached over the link within the cycles. */
enum npl_memory_level { NPL_MEM_DRAM, NPL_MEM_BUFFER, NPL_MEM_HOST, NPL_MEM_LEVELS };

/* Transfers over a link that the device itself measures (npl_link.measured). */
struct npl_transfers {
	uint64_t n, bytes;
	double seconds;
};

/* The counts of a layer. Each is a member of struct npl_result, and its sum is a member of struct npl_run (session.h):
 * sums over layers, layer groups and batches follow from this list, and so do the keys of a layer in run traces
 * (run_trace.h). What a count is of decides what moved when it differs in two traces: TIME of the time that the layer
 * takes, WORK of what is to be done, VALUE of the values of the result.
 *     cycles        ticks of the machine's own clock; 0 for a real device
 *     macs          multiply-accumulates that were done for the layer
 *     saturations   outputs that hit the end of their number format
 *     overflows     sums that wrapped, because their accumulator could not hold them */
#define NPL_RESULT_COUNTS_OF(TIME, WORK, VALUE) TIME(cycles) WORK(macs) VALUE(saturations) VALUE(overflows)
#define NPL_RESULT_COUNTS(COUNT)                NPL_RESULT_COUNTS_OF(COUNT, COUNT, COUNT)
#define NPL_COUNT_MEMBER(name)                  uint64_t name;
#define NPL_NO_COUNT(name)                      /* for the counts that a use of NPL_RESULT_COUNTS_OF leaves out */

/* The result of a layer. The caller zeroes it before npl_device_run. The device fills it, except what core adds. */
struct npl_result {
	NPL_RESULT_COUNTS(NPL_COUNT_MEMBER)
	/* For a device with a clock, core computes this from the cycles. Otherwise the driver sets it, modelled or
	 * measured. */
	double seconds;
	enum npl_time_origin seconds_origin;
	uint64_t counter[NPL_MAX_COUNTERS]; /* in the order of the device's counter definitions */
	uint64_t bytes[NPL_MEM_LEVELS];     /* bytes that crossed each memory's port */
	/* The bytes that must have crossed each port. Core counts those of the tensors (npl_device_info.crosses) and
	 * puts them here after the run. A driver leaves 0, or puts in a greater number where it knows one: it can only
	 * make its own check stricter. */
	uint64_t bytes_at_least[NPL_MEM_LEVELS];
	struct npl_transfers to_device, to_host; /* transfers of the layer's tensors, not within seconds */
	int n_energy;
	struct npl_energy energy[NPL_MAX_ENERGY];
};

/* Adds a component of the machine's energy, counted in events. Returns NPL_EINTERNAL when the table is full or the
 * origin is unknown. */
int npl_result_energy(struct npl_result *result, const char *component, uint64_t events, double pj_per_event,
		      const char *origin, struct npl_err *err);
/* Adds a component of any part's energy, as npl_result_energy does for the machine's. */
int npl_result_energy_of(struct npl_result *result, enum npl_energy_part part, const char *component, uint64_t events,
			 double pj_per_event, const char *origin, struct npl_err *err);
/* Adds so many events of an action of the machine's energy model. `activity` is that of the action's operands, 1 for
 * random ones; NAN: it was not counted. */
int npl_result_action(struct npl_result *result, const struct npl_action *action, uint64_t events, double activity,
		      struct npl_err *err);
/* Return the sum of the joules of n components, and of those of a result. NAN: there is none, or one is absent. */
double npl_energy_sum(const struct npl_energy *energy, int n);
double npl_result_joules(const struct npl_result *result);
/* Returns the sums of joules_low, joules and joules_high of n components. A component that no table has is in the
 * middle only; if no table has any, low and high are NAN. All are NAN where npl_energy_sum is. */
struct npl_estimates npl_energy_estimates(const struct npl_energy *energy, int n);
/* Returns the sum of joules_by_activity, and of joules where an energy has none. NAN: none of the n components has it,
 * or npl_energy_sum is NAN. */
double npl_energy_by_activity(const struct npl_energy *energy, int n);
/* Writes the origins of n components, "calibrated:a + modelled:b" without repeats, or "absent"; returns buf. */
const char *npl_energy_origins(const struct npl_energy *energy, int n, char *buf, size_t size);
/* Adds the cycles, seconds, counts and energies of another layer on the same device to sum. */
int npl_result_add(struct npl_result *sum, const struct npl_result *add, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
