/* SPDX-License-Identifier: MIT
 *
 * Pooling in the fast engine: does each window once all vectors of an image are there. Threads share the lines of the
 * result. */
#include <stdlib.h>
#include <string.h>

#include "activate.h"
#include "core/base/parallel.h"

struct range {
	int64_t first, end;
};

/* Returns the positions of one dimension that window o covers inside the image. */
static struct range covered(const struct tpu_registers *r, int axis, int64_t o)
{
	int64_t in = r->value[TPU_REG_IN_HEIGHT + axis], kernel = r->value[TPU_REG_KERNEL_HEIGHT + axis];
	int64_t first = o * r->value[TPU_REG_STRIDE_Y + axis] -
			tpu_signed(r, (enum tpu_register)(TPU_REG_PAD_TOP + axis));
	int64_t past = first + kernel < in ? first + kernel : in;
	return (struct range){first > 0 ? first : 0, past};
}

int64_t tpu_fast_image_vectors(const struct tpu_fast_machine *m)
{
	return (int64_t)m->registers.value[TPU_REG_IN_HEIGHT] * m->registers.value[TPU_REG_IN_WIDTH];
}

int tpu_fast_image_space(const struct tpu_fast_activation *a, struct npl_err *err)
{
	struct tpu_fast_machine *m = a->machine;
	size_t bytes = (size_t)(tpu_fast_image_vectors(m) * a->columns) * sizeof *m->image;
	if (bytes <= m->image_bytes)
		return 0;
	free(m->image);
	m->image_bytes = 0;
	m->image = malloc(bytes);
	if (!m->image)
		return npl_fail(err, NPL_ENOMEM, "out of memory for an image of %zu bytes", bytes);
	m->image_bytes = bytes;
	return 0;
}

static void greatest(const struct tpu_fast_activation *a, struct range y, struct range x, int16_t *result)
{
	const struct tpu_fast_machine *m = a->machine;
	int64_t width = m->registers.value[TPU_REG_IN_WIDTH];
	memcpy(result, m->image + (y.first * width + x.first) * a->columns, (size_t)a->columns * sizeof *result);
	for (int64_t iy = y.first; iy < y.end; iy++)
		for (int64_t ix = x.first; ix < x.end; ix++)
			a->steps->greatest(m->image + (iy * width + ix) * a->columns, a->columns, result);
}

static void average(const struct tpu_fast_activation *a, struct range y, struct range x, int32_t *sum, int16_t *result)
{
	const struct tpu_fast_machine *m = a->machine;
	const struct tpu_registers *r = &m->registers;
	int64_t width = r->value[TPU_REG_IN_WIDTH], count = (y.end - y.first) * (x.end - x.first);
	const int32_t zero = a->result_target.zero_point;
	if (a->pooling == TPU_POOL_AVERAGE_PADDED)
		count = (int64_t)r->value[TPU_REG_KERNEL_HEIGHT] * r->value[TPU_REG_KERNEL_WIDTH];
	memset(sum, 0, (size_t)a->columns * sizeof *sum);
	for (int64_t iy = y.first; iy < y.end; iy++)
		for (int64_t ix = x.first; ix < x.end; ix++)
			a->steps->add(m->image + (iy * width + ix) * a->columns, zero, a->columns, sum);
	a->steps->average(sum, (int32_t)count, zero, a->columns, result);
}

struct pooling {
	const struct tpu_fast_activation *activation;
	int64_t image;
};

static void pool_line(void *context, int64_t oy, int worker)
{
	const struct pooling *pooling = context;
	const struct tpu_fast_activation *a = pooling->activation;
	const struct tpu_registers *r = &a->machine->registers;
	struct tpu_fast_worker *w = &a->machine->worker[worker];
	const int64_t height = r->value[TPU_REG_OUT_HEIGHT], width = r->value[TPU_REG_OUT_WIDTH];
	for (int64_t ox = 0; ox < width; ox++) {
		if (a->pooling == TPU_POOL_MAX)
			greatest(a, covered(r, 0, oy), covered(r, 1, ox), w->element);
		else
			average(a, covered(r, 0, oy), covered(r, 1, ox), w->product, w->element);
		tpu_fast_store(a, (pooling->image * height + oy) * width + ox, w->element);
	}
}

void tpu_fast_pool(const struct tpu_fast_activation *a, int64_t image)
{
	enum { ALONE_ELEMENTS = 1 << 15 }; /* with so few, one thread is done before another has woken up */
	struct pooling pooling = {a, image};
	const bool is_small = tpu_fast_image_vectors(a->machine) * a->columns < ALONE_ELEMENTS;
	npl_parallel(is_small ? 1 : a->machine->workers, a->machine->registers.value[TPU_REG_OUT_HEIGHT], pool_line,
		     &pooling);
}
