/* SPDX-License-Identifier: MIT
 *
 * The state of one activate in the fast engine. Private to sim/systolic. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_ACTIVATE_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_FAST_ACTIVATE_H

#include "steps.h"
#include "values.h"

/* A tensor of the buffer. `first` is the number of its vector that the instruction reads or writes as vector 0. */
struct tpu_fast_tensor {
	int64_t base, first, plane_rows;
	enum tpu_type type;
};

struct tpu_fast_activation {
	struct tpu_fast_machine *machine;
	const struct tpu_instruction *instruction;
	const struct tpu_fast_steps *steps;
	int64_t columns, pixel_lanes, row_pixels, lane;
	struct tpu_fast_tensor source, second, result;
	struct tpu_fast_target source_target, result_target;
	struct tpu_fast_operand operand;
	enum tpu_function function;
	int32_t floor, ceiling; /* the limits of results, for relu and relu6 */
	float function_scale;
	const int16_t *table;
	enum tpu_pooling pooling;
	bool raw, bytes_at_once; /* raw: results have 32 bits; bytes_at_once: one step makes bytes of sums */
};

/* Returns the first byte of byte plane `plane` of vector k of the tensor. */
static inline uint8_t *tpu_fast_vector(const struct tpu_fast_activation *a, const struct tpu_fast_tensor *t, int64_t k,
				       int plane)
{
	int64_t v = t->first + k, row = t->base + plane * t->plane_rows, index = a->lane;
	if (a->row_pixels == 1) {
		row += v;
	} else {
		row += v / a->row_pixels;
		index += v % a->row_pixels * a->pixel_lanes;
	}
	return a->machine->memory->buffer + row * a->machine->width + index;
}

/* Stores result number k, of 8 or 16 bits. */
void tpu_fast_store(const struct tpu_fast_activation *activation, int64_t k, const int16_t *element);

/* activity.c: counts what the activate is about to read from the buffer, and what it has written. */
void tpu_fast_reads_activity(const struct tpu_fast_activation *activation, int64_t index);
void tpu_fast_results_activity(const struct tpu_fast_activation *activation, int64_t index);

/* pool.c: makes the results of image number `image`, whose vectors are all in machine->image. */
void tpu_fast_pool(const struct tpu_fast_activation *activation, int64_t image);
/* Returns the number of vectors of an image. */
int64_t tpu_fast_image_vectors(const struct tpu_fast_machine *machine);
/* Makes room for the vectors of an image. Returns 0 or NPL_ENOMEM. */
int tpu_fast_image_space(const struct tpu_fast_activation *activation, struct npl_err *err);

#endif
