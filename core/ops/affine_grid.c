/* SPDX-License-Identifier: MIT
 *
 * AffineGrid: where each place of an output image lies in an input image under an affine map. theta (N,2,3) with the
 * constant size (N,C,H,W) gives (N,H,W,2), theta (N,3,4) with (N,C,D,H,W) gives (N,D,H,W,3). Coordinates run from -1 to
 * 1 over the image: from centre to centre of its outer elements with align_corners=1, from edge to edge else. */
#include "cast.h"
#include "ops.h"

OP_ATTRS(op_affinegrid_attrs)
{
	return op_attr_flag(list, "align_corners", false, &out->affine_grid.align_corners, err);
}

OP_SHAPE(op_affinegrid_shape)
{
	int64_t size[NPL_MAX_RANK];
	int n;
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err) || op_input_dims(in[1], "size", size, &n, err))
		return NPL_EINPUT;
	const struct npl_shape *theta = &in[0]->shape;
	const int spatial = n - 2;
	if (in[0]->dtype != NPL_F32 && in[0]->dtype != NPL_F64)
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected floats", npl_dtype_name(in[0]->dtype));
	if ((spatial != 2 && spatial != 3) || theta->rank != 3 || theta->dim[0] != size[0] ||
	    theta->dim[1] != spatial || theta->dim[2] != spatial + 1)
		return npl_fail(err, NPL_EINPUT,
				"theta %s does not fit a size of %d values, expected Nx2x3 and 4, or Nx3x4 and 5",
				OP_TEXT(theta), n);
	out->dtype = in[0]->dtype;
	out->shape = (struct npl_shape){.rank = n, .dim[0] = size[0]};
	for (int d = 0; d < spatial; d++) {
		out->shape.dim[1 + d] = size[2 + d];
		if (size[2 + d] < 1)
			return npl_fail(err, NPL_EINPUT, "the size has a dimension of %lld", (long long)size[2 + d]);
	}
	out->shape.dim[n - 1] = spatial;
	return op_output_fits(&out->shape, 1, err);
}

static double coordinate(const struct npl_attrs *attrs, int64_t i, int64_t size)
{
	if (!attrs->affine_grid.align_corners)
		return (double)(2 * i + 1) / (double)size - 1;
	return size > 1 ? 2 * (double)i / (double)(size - 1) - 1 : 0;
}

OP_RUN(op_affinegrid_run)
{
	const int spatial = out->shape.rank - 2;
	const int64_t positions = op_count(out->shape.dim + 1, spatial);
	for (int64_t i = 0; i < out->shape.dim[0] * positions; i++) {
		double at[4] = {0};
		int64_t remaining = i;
		for (int d = 0; d < spatial; d++) { /* x, the last dimension of the image, is the first coordinate */
			const int64_t size = out->shape.dim[spatial - d];
			at[d] = coordinate(attrs, remaining % size, size);
			remaining /= size;
		}
		at[spatial] = 1;
		for (int r = 0; r < spatial; r++) {
			double sum = 0;
			for (int c = 0; c <= spatial; c++)
				sum += at[c] * npl_tensor_real(in[0], (remaining * spatial + r) * (spatial + 1) + c);
			op_store_real(out, i * spatial + r, sum);
		}
	}
	return 0;
}
