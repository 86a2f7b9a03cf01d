/* SPDX-License-Identifier: MIT
 *
 * The TPU v1 (Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017) as a
 * weight-stationary int8 array with exact tile timing; any array size, buffer and bandwidth by parameters.
 *
 *     weight memory --> weight FIFO --> shadow plane | active plane      rows x columns cells
 *                       (4 tiles)       (shift in)   | (multiply)             |
 *     unified buffer --> systolic setup --> one row per cycle -------------->|
 *           ^                                                          accumulators (two halves)
 *           +------------------------- activation unit <------------------+
 *
 * parameters.def has the parameters, isa/ the instructions, generate/ turns layers into a program, engine/ has what
 * both engines (rtl/, fast/) take and give, and driver/ is the device, with the costs of a layer. All times are cycle
 * boundaries: an interval [start, end) holds end - start cycles, and an event at cycle t is visible to whatever happens
 * in cycle t. docs/tpu-isa.md states the machine, docs/machine-tpu_v1.md what is modelled and what is not.
 */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_TPU_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_TPU_H

#include "core/int8/layer.h"
#include "core/ops/window.h"
#include "core/param_members.h"
#include "npulab/device.h"
#include "npulab/memory.h"
#include "sim/energy/model.h"
#include "sim/memory/link_model.h"

#define TPU_MAX_FIFO_TILES 64

/* One kind of energy event. */
struct tpu_energy {
	double pj;
	const char *origin; /* "absent": the energy is not known, whatever pj says */
};

#define TPU_STANDBYS(X) X(TPU_STANDBY_APART, "apart") X(TPU_STANDBY_STATIC, "static")
enum tpu_standby { TPU_STANDBYS(PARAM_CONSTANT) };

#define TPU_PRECISIONS(X) X(TPU_INT8, "int8") X(TPU_8X16, "8x16/int8x16")
enum tpu_precision { TPU_PRECISIONS(PARAM_CONSTANT) };

/* What a machine file describes. weight_preset is "fixed" (or NULL) for a weight memory of weight_bytes_per_second. */
struct tpu_config {
#define PARAM_MEMBER_ENERGY(key, figure, member, ...) struct tpu_energy member;
#define PARAM_MEMBER_TECHNOLOGY(member)               struct sim_technology member;
#define TPU_PARAMETER(form, ...)                      PARAM_MEMBER_##form(__VA_ARGS__)
#include "parameters.def"
#undef TPU_PARAMETER
#undef PARAM_MEMBER_ENERGY
#undef PARAM_MEMBER_TECHNOLOGY
	/* Not parameters: these follow from the link and from the preset. */
	double link_bytes_per_second, link_latency_seconds;
	double weight_peak_bytes_per_second;
};

/* Says whether the activity of operands is counted (activity.def). */
static inline bool tpu_counts_activity(const struct tpu_config *config)
{
	return config->technology.activity != SIM_NOT_COUNTED;
}

/* The memories that a program works on. They are borrowed; the engines write the buffer and host memory. */
struct tpu_memory {
	uint8_t *buffer;        /* tpu_buffer_size_rows() rows of tpu_row_bytes() */
	const uint8_t *weights; /* the bytes from weight row 0 on */
	size_t weight_bytes;    /* bytes given; the bytes after them read as 0 */
	/* tpu_program_check refuses bytes after those given, as part of the image is missing */
	bool weights_end;
	uint8_t *host;
	size_t host_bytes; /* bytes given; a program that goes beyond them is refused */
	bool timing_only;  /* no values: buffer, weights and host may be NULL and are not touched */
};

extern const struct npl_param tpu_params[];
extern const char tpu_size_keys[];
extern const struct npl_former_default tpu_former_defaults[];
extern const struct npl_param_condition tpu_conditions[];
/* Sets channels and size where the user chose another weight memory (npl_driver.adapt_unset). */
int tpu_config_adapt(void *tpu_config, const struct npl_description *machine, struct npl_arena *arena,
		     const char **note, struct npl_err *err);
/* Checks what the ranges of single parameters cannot say. Returns 0 or NPL_EUSAGE. */
int tpu_config_check(const struct tpu_config *config, struct npl_err *err);

/* Fills the members that follow from the link. NPL_EUSAGE: no link has these parameters. */
int tpu_config_derive(struct tpu_config *config, struct npl_err *err);

/* Opens the memory that the preset names; *memory is NULL where the preset is "fixed". every_cycle: as in struct
 * npl_memory_options. NPL_EUSAGE: there is no such memory, or it does not hold weight_bytes. NPL_EINPUT: its file is
 * bad. NPL_ENOMEM. */
int tpu_weight_memory_open(const struct tpu_config *config, bool every_cycle, struct npl_memory **memory,
			   struct npl_err *err);

/* Returns the most bytes per second that weight memory gives. */
double tpu_weight_rate(const struct tpu_config *config);

int64_t tpu_row_bytes(const struct tpu_config *config); /* width of the unified buffer */
int64_t tpu_buffer_size_rows(const struct tpu_config *config);
/* These return the host link's bandwidth and latency as the integers that the cycle models use, the bandwidth rounded
 * to the nearest one and the latency up. */
uint64_t tpu_link_bytes_per_second(const struct tpu_config *config);
uint64_t tpu_link_latency_cycles(const struct tpu_config *config);

#endif
