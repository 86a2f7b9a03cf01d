/* SPDX-License-Identifier: MIT
 *
 * A convolution of 8-bit integers in groups with a thread for each result; for a group's short patches a product of
 * matrices would be mostly padding. Weights are stored as for products: a row of taps for each filter, in PARTS
 * matrices that sum to them. x is made signed (`flip`); the part of that and of the zero points is in the bias. Outside
 * the image x is `pad`. Sums are finished as in integer_sums.cu. */
#include "finish.cuh"

KERNEL(integer_conv, cu_integer_conv_args)
{
	const position count = (position)a.count;
	unsigned hits = 0;
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.window.out[1]), slice = divide(row, a.window.out[0]),
			       plane = divide(slice, a.window.out[2]), image = divide(plane, a.filters),
			       filter = plane - image * (position)a.filters.by, group = divide(filter, a.group_filters);
		const long long x = (long long)(i - row * (position)a.window.out[1].by) * a.window.stride[1] -
				    a.window.begin[1],
				y = (long long)(row - slice * (position)a.window.out[0].by) * a.window.stride[0] -
				    a.window.begin[0],
				z = (long long)(slice - plane * (position)a.window.out[2].by) * a.window.stride[2] -
				    a.window.begin[2];
		const store_u8 *from = INPUT(u8, a.x) + (long long)image * a.image +
				       (long long)group * a.channels * a.plane;
		const store_i8 *w = INPUT(i8, a.w) + (long long)filter * a.ld;
		unsigned sum = a.bias ? (unsigned)INPUT(i32, a.bias)[filter] : 0;
		for (int c = 0; c < a.channels; c++, from += a.plane)
			for (int k = 0; k < a.window.kernel[2]; k++)
				for (int l = 0; l < a.window.kernel[0]; l++)
					for (int m = 0; m < a.window.kernel[1]; m++, w++) {
						const long long at_z = z + (long long)k * a.window.dilation[2],
								at_y = y + (long long)l * a.window.dilation[0],
								at_x = x + (long long)m * a.window.dilation[1];
						const int inside = at_x >= 0 && at_x < a.window.in[1] && at_y >= 0 &&
								   at_y < a.window.in[0] && at_z >= 0 &&
								   at_z < a.window.in[2];
						const int value = inside ? (store_i8)(from[(at_z * a.window.in[0] +
											    at_y) * a.window.in[1] +
											   at_x] ^
										      a.flip)
									 : a.pad;
						for (int p = 0; p < PARTS; p++)
							sum += (unsigned)(value * w[p * a.part]);
					}
#ifdef RAW
		TENSOR(i32, a.z)[i] = (int)sum < a.low ? a.low : (int)sum;
#else
		TENSOR(Z, a.z)[i] = (STORE(Z))FINISH(&a.finish, (float)(int)sum * INPUT(f32, a.scale)[filter], &hits);
#endif
	}
	leave_hits(a.counter, hits);
}
