/* SPDX-License-Identifier: MIT
 *
 * Processors by their figures: how long a CPU or a GPU takes for an operator, and what it draws meanwhile. The modelled
 * host of a simulated machine is such a processor (machines/host.yaml). So are the analytical devices
 * (machines/cpu_*.yaml, gpu_*.yaml), which stand in a table for devices that are not at hand.
 *
 * An operator is a number of multiply-accumulates, operations of five classes and bytes (npl_processor_counts). It may
 * use 1, 2, 4, 8 and so on, or all cores; it uses as many of these as make it fastest. On n cores of a processor with
 * the figures of its machine file
 *
 *     arithmetic = macs / (n x clock x products) + operations of each class / (n x clock x rate of the class)
 *     traffic    = weights / (bandwidth of memory) + other bytes / (bandwidth of the smallest level that holds these),
 *                on n cores
 *     time       = overhead + (n - 1) x fork_join + (greater + (1 - overlap) x lesser of the two) / efficiency
 *     power      = idle + n x core
 *
 * Weights come from memory, since those of the other layers have passed through the caches since their last use.
 *
 * Not modelled: serial parts of an operator, bytes that are read again after they left a cache, clocks that follow
 * the load, other programs. */
#ifndef NPULAB_SIM_PROCESSOR_PROCESSOR_MODEL_H
#define NPULAB_SIM_PROCESSOR_PROCESSOR_MODEL_H

#include "core/param_members.h"
#include "npulab/device.h"
#include "sim/memory/link_model.h"

/* Kinds of work on the values of a tensor. */
enum npl_processor_class {
	NPL_SIMPLE, /* arithmetic, comparisons, conversions: vector instructions */
	NPL_DIVIDE, /* divisions and square roots: vector instructions */
	/* Steps of the polynomials that compute exp, log, erf and similar functions: vector instructions that wait for
	 * each other. */
	NPL_FUNCTION,
	/* Values that are put together into one, as for a sum or a maximum: vector instructions on several at a
	 * time. */
	NPL_REDUCE,
	NPL_SCATTERED_ACCESS, /* values that are fetched from scattered addresses: one by one */
	NPL_CLASSES
};

#define NPL_PROCESSOR_PRECISION_LIST(X)                                                                                \
	X(NPL_PROCESSOR_F32, "f32/float32") X(NPL_PROCESSOR_TF32, "tf32") X(NPL_PROCESSOR_F16, "f16/float16")
enum npl_processor_precision { NPL_PROCESSOR_PRECISION_LIST(PARAM_CONSTANT) NPL_PROCESSOR_PRECISIONS };

/* What one core can use of the rate of memory to all cores. */
#define NPL_PROCESSOR_SHARES(X) X(NPL_SHARE_WHOLE, "whole") X(NPL_SHARE_EVEN, "even")
enum npl_processor_share { NPL_PROCESSOR_SHARES(PARAM_CONSTANT) };

struct npl_processor_model {
	/* Multiply-accumulates for each core and cycle. 0: the processor has none in this precision. */
	double macs[NPL_PROCESSOR_PRECISIONS];
	double rate[NPL_CLASSES]; /* vectors per core and cycle; for NPL_SCATTERED_ACCESS values */
#define PROCESSOR_PARAMETER(form, ...) PARAM_MEMBER_##form(__VA_ARGS__)
#include "parameters.def"
#undef PROCESSOR_PARAMETER
};

extern const struct npl_param npl_processor_params[];
extern const struct npl_param_condition npl_processor_conditions[];

/* Checks the figures. NPL_EUSAGE: they contradict each other. */
int npl_processor_check(const struct npl_processor_model *processor, struct npl_err *err);

struct npl_processor_counts {
	uint64_t macs;
	double operations[NPL_CLASSES]; /* operations on single values */
	/* The bytes of operands that every product reads again: filters, matrices, biases. */
	uint64_t weight_bytes;
	uint64_t bytes; /* bytes read and written, except weight_bytes */
};

/* Counts the work of an operator on these tensors, whose data may be NULL except small constants; counts.c has the
 * reason for each number. Optional inputs that are absent are NULL. */
struct npl_processor_counts npl_processor_count(enum npl_op op, const struct npl_attrs *attrs,
						const struct npl_tensor *const *in, int n_in,
						const struct npl_tensor *out, int n_out, uint64_t macs);
/* Adds one operation for each value of a tensor, for an activation that follows. The tensor's bytes are counted
 * already. */
void npl_processor_add_activation(struct npl_processor_counts *counts, enum npl_activation activation,
				  const struct npl_tensor *out);
/* Counts the work of converting a tensor into another of as many values in another number format. */
struct npl_processor_counts npl_processor_conversion(const struct npl_tensor *from, const struct npl_tensor *to);

/* The parts of an operator's time. */
enum npl_processor_part {
#define PROCESSOR_COUNTER(part, ...) NPL_PROCESSOR_##part,
#include "counters.def"
#undef PROCESSOR_COUNTER
	NPL_PROCESSOR_PARTS
};
struct npl_processor_time {
	double seconds, watts;
	double part[NPL_PROCESSOR_PARTS]; /* seconds; their sum is `seconds` */
	int64_t cores;                    /* the number of cores at work */
};
/* Estimates the time of an operator in a precision that the processor has. */
struct npl_processor_time npl_processor_estimate(const struct npl_processor_model *processor,
						 enum npl_processor_precision precision,
						 const struct npl_processor_counts *counts);

/* Returns the peak of all cores in a precision, in multiply-accumulates per second; 0: the processor has none. */
double npl_processor_peak(const struct npl_processor_model *processor, enum npl_processor_precision precision);

/* Returns the figures of a device that is a processor; NULL: it is another kind of device. */
const struct npl_processor_model *npl_processor_of(const struct npl_device *device);

#endif
