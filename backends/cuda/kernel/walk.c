/* SPDX-License-Identifier: MIT
 *
 * Divisors, walks, packs and names for kernels (job.h). */

#include "job.h"

/* Returns the constants with which n / by = (n + (n * magic >> 32)) >> shift for n below 2^31. magic is 2^32 (2^shift /
 * by - 1), rounded up (Granlund and Montgomery, PLDI 1994). */
struct cu_divisor cu_divisor_of(int64_t extent)
{
	struct cu_divisor d = {.by = extent > 0 ? extent : 1};
	if (d.by > (int64_t)1 << 31)
		return d; /* positions then have 64 bits */
	while ((int64_t)1 << d.shift < d.by)
		d.shift++;
	uint64_t more = (UINT64_C(1) << d.shift) - (uint64_t)d.by;
	d.magic = (unsigned)((more << 32) / (uint64_t)d.by + 1);
	return d;
}

int64_t cu_product(const int64_t *dim, int n)
{
	int64_t product = 1;
	for (int i = 0; i < n; i++)
		product *= dim[i];
	return product;
}

void cu_dense_steps(int rank, const int64_t *dim, int64_t *step)
{
	int64_t next = 1;
	for (int d = rank - 1; d >= 0; d--) {
		step[d] = next;
		next *= dim[d];
	}
}

struct cu_axes cu_axes_of(const struct npl_shape *shape)
{
	struct cu_axes axes = {.rank = shape->rank};
	for (int d = 0; d < shape->rank; d++)
		axes.dim[d] = shape->dim[d];
	cu_dense_steps(shape->rank, shape->dim, axes.step[0]);
	return axes;
}

void cu_order_of(int rank, bool channels_last, int *dimension)
{
	channels_last = channels_last && rank > 2;
	for (int d = 0; d < rank; d++)
		dimension[d] = !channels_last || !d ? d : d == rank - 1 ? 1 : d + 1;
}

void cu_steps_of(const struct npl_shape *shape, bool channels_last, int64_t *step)
{
	int order[NPL_MAX_RANK];
	int64_t next = 1;
	cu_order_of(shape->rank, channels_last, order);
	for (int i = shape->rank - 1; i >= 0; i--) {
		step[order[i]] = next;
		next *= shape->dim[order[i]];
	}
}

void cu_axes_broadcast(struct cu_axes *axes, int k, const struct npl_shape *operand, bool channels_last)
{
	int64_t step[NPL_MAX_RANK] = {0};
	cu_steps_of(operand, channels_last, step);
	for (int i = 1; i <= axes->rank; i++) {
		const int d = operand->rank - i;
		axes->step[k][axes->rank - i] = d < 0 || operand->dim[d] == 1 ? 0 : step[d];
	}
}

void cu_axes_order(struct cu_axes *axes, bool channels_last)
{
	int order[2 * NPL_MAX_RANK];
	const struct cu_axes from = *axes;
	cu_order_of(axes->rank, channels_last, order);
	for (int i = 0; i < axes->rank; i++) {
		axes->dim[i] = from.dim[order[i]];
		for (int k = 0; k < CU_OPERANDS; k++)
			axes->step[k][i] = from.step[k][order[i]];
	}
}

/* Says whether dimension d continues the last dimension of the walk, so that both are one with the step of d. */
static bool merges(const struct cu_walk *walk, const struct cu_axes *axes, int d)
{
	const int last = walk->rank - 1;
	for (int k = 0; k < CU_OPERANDS; k++)
		if (walk->step[k][last] != axes->step[k][d] * axes->dim[d])
			return false;
	return true;
}

struct cu_walk cu_walk_of(const struct cu_axes *axes)
{
	struct cu_walk walk = {.rank = 0};
	for (int d = 0; d < axes->rank; d++) {
		if (axes->dim[d] == 1)
			continue;
		int64_t extent = axes->dim[d];
		if (walk.rank && merges(&walk, axes, d))
			extent *= walk.dim[walk.rank - 1].by;
		else
			walk.rank++;
		walk.dim[walk.rank - 1] = cu_divisor_of(extent);
		for (int k = 0; k < CU_OPERANDS; k++)
			walk.step[k][walk.rank - 1] = axes->step[k][d];
	}
	if (walk.rank)
		return walk;
	walk.rank = 1;
	walk.dim[0] = cu_divisor_of(1);
	return walk;
}

/* in the order of npulab/element_types.def */
static const char *const type_names[] = {"f32",   "f64", "i8",  "u8",  "i16", "i32", "i64",
					 "bool8", "u16", "u32", "u64", "f16", "bf16"};
_Static_assert(sizeof type_names / sizeof *type_names == NPL_DTYPES, "each type of elements has a name");

const char *cu_type_name(enum npl_dtype dtype)
{
	return type_names[dtype];
}

const char *cu_unit_name(size_t bytes)
{
	return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : bytes == 8 ? "u64" : "u128";
}

const char *cu_fused_name(enum npl_activation fused)
{
	switch (fused) {
	case NPL_ACT_NONE:
		return "fused_none";
	case NPL_ACT_RELU:
		return "fused_relu";
	case NPL_ACT_RELU6:
		return "fused_relu6";
	case NPL_ACT_SIGMOID:
		return "fused_sigmoid";
	case NPL_ACT_TANH:
		return "fused_tanh";
	}
	return "fused_unknown"; /* which no kernel has, so that none is compiled */
}

int cu_pack_of(size_t widest, int n, const uint64_t *address, const size_t *element)
{
	const size_t pack = 16 / widest;
	for (int i = 0; i < n; i++)
		if (address[i] % (pack * element[i]))
			return 1;
	return (int)pack;
}
