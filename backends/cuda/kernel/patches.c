/* SPDX-License-Identifier: MIT
 *
 * Writes the patches of convolutions on the GPU (kernel.h). */
#include "core/ops/window.h"
#include "job.h"

/* Returns how many bytes of channels a thread loads at a time, 4 to 16: a divisor of the channels and of a row, to
 * which both addresses are aligned; 0: there is none. */
static int64_t bytes_at_a_time(const struct cu_value *x, int64_t channels, int64_t row, uint64_t z)
{
	for (int64_t bytes = 16; bytes >= 4; bytes /= 2)
		if (!(channels % bytes) && !(row % bytes) && !(x->address % (uint64_t)bytes) && !(z % (uint64_t)bytes))
			return bytes;
	return 0;
}

static int run_channels_last(const struct cu_job *job, const struct cu_value *x, const struct cu_patches *patches,
			     uint64_t z)
{
	const struct npl_image from = npl_image_of(&x->shape);
	const struct cu_window window = cu_window_of(patches->window, &x->shape, patches->out);
	const size_t byte = 1;
	const int64_t bytes = bytes_at_a_time(x, from.channels, patches->row_elements, z), element = bytes ? 4 : 1;
	int64_t pack = bytes ? bytes / element : cu_pack_of(byte, 1, &z, &byte);
	struct cu_macros macros = {""};
	while (patches->row_elements % (pack * element))
		pack /= 2;
	const int64_t packs = patches->row_elements / (pack * element);
	struct cu_im2col_last_args args = {.x = x->address,
					   .z = z,
					   .count = patches->rows * packs,
					   .window = window,
					   .packs = cu_divisor_of(packs),
					   .channels = cu_divisor_of(from.channels / element),
					   .taps = cu_divisor_of(window.kernel[1]),
					   .image = from.size[0] * from.size[1] * from.channels / element,
					   .first = patches->first,
					   .lines = from.channels ? window.kernel[0] : 0, /* else padding alone */
					   .pad = patches->pad_bits * (bytes ? 0x01010101u : 1u),
					   .flip = patches->flip * (bytes ? 0x01010101u : 1u)};
	cu_macro(&macros, bytes ? "X=u32 N=%d" : "X=u8 N=%d MIXED=1", (int)pack);
	const int64_t elements = patches->rows * patches->row_elements, pixels = patches->first + patches->rows;
	cu_macro_wide(job, &macros, elements > pixels ? elements : pixels);
	return args.count ? cu_launch_each(job, "im2col_channels_last", &macros, &args, args.count) : 0;
}

int cu_kernel_im2col(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_patches *patches, uint64_t z,
		     void *stream, struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	if (x->channels_last)
		return run_channels_last(&job, x, patches, z);
	const struct npl_image from = npl_image_of(&x->shape);
	const struct cu_window window = cu_window_of(patches->window, &x->shape, patches->out);
	const int64_t channels = from.channels / patches->groups;
	const size_t element = npl_dtype_size(x->dtype);
	int pack = cu_pack_of(element, 1, &z, &element);
	while (patches->row_elements % pack)
		pack /= 2;
	struct cu_macros macros = {""};
	struct cu_im2col_args args = {.z = z,
				      .count = patches->rows * (patches->row_elements / pack),
				      .window = window,
				      .packs = cu_divisor_of(patches->row_elements / pack),
				      .plane = from.size[0] * from.size[1] * from.size[2],
				      .first = patches->first,
				      .pad = (int)patches->pad_bits,
				      .flip = patches->flip};
	args.image = args.plane * from.channels;
	args.x = x->address + (uint64_t)(patches->group * channels * args.plane) * element;
	args.used = channels * window.kernel[0] * window.kernel[1] * window.kernel[2];
	for (int d = 0; d < NPL_VOLUME; d++)
		args.taps[d] = cu_divisor_of(args.window.kernel[d]);
	cu_macro(&macros, "X=%s N=%d", cu_unit_name(element), pack);
	cu_macro_wide(&job, &macros, args.count * pack);
	return args.count ? cu_launch_each(&job, "im2col", &macros, &args, args.count) : 0;
}
