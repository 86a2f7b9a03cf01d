/* SPDX-License-Identifier: MIT
 *
 * Packs operands before products of two 8-bit tensors, and converts their sums to results after (kernel.h). */
#include "job.h"

#include "core/base/arith.h"

#define TILE       32 /* the same as in integer_pack.cu */
#define TILE_LINES 8

int cu_kernel_pack(struct cu_kernels *kernels, uint64_t x, const struct cu_packing *packing, uint64_t z, uint64_t sums,
		   void *stream, struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	const struct cu_integer_pack_args args = {.x = x,
						  .z = z,
						  .sums = sums,
						  .matrices = packing->matrices,
						  .used = packing->filled_rows,
						  .rows = packing->rows,
						  .columns = packing->columns,
						  .ld = packing->ld,
						  .flip = packing->flip};
	struct cu_macros macros = {""};
	if (packing->turned)
		cu_macro(&macros, "TURNED=1");
	const struct cu_grid grid = {packing->matrices * npl_div_up_i64(packing->rows, TILE), TILE, TILE_LINES};
	return cu_launch(&job, "integer_pack", &macros, &args, grid);
}

int cu_kernel_stack_sums(struct cu_kernels *kernels, uint64_t x, const struct cu_stack_sums *sums,
			 enum npl_activation fused, const struct npl_tensor *out, uint64_t y, void *stream,
			 struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	struct cu_macros macros = {""};
	struct cu_integer_stack_args args = {.x = x,
					     .z = y,
					     .row_sums = sums->row_sums,
					     .column_sums = sums->column_sums,
					     .counter = cu_counter_of(&job),
					     .count = sums->matrices * sums->rows * sums->columns,
					     .ld = sums->ld,
					     .row_step = sums->row_step,
					     .column_step = sums->column_step,
					     .rows = cu_divisor_of(sums->rows),
					     .columns = cu_divisor_of(sums->columns),
					     .row_factor = sums->row_factor,
					     .column_factor = sums->column_factor,
					     .all = sums->constant,
					     .scale = sums->scale};
	args.finish = cu_finish_of(fused, out, &macros);
	cu_macro(&macros, "Z=%s", cu_type_name(out->dtype));
	cu_macro_wide(&job, &macros, args.count);
	return args.count ? cu_launch_each(&job, "integer_stack", &macros, &args, args.count) : 0;
}
