/* SPDX-License-Identifier: MIT
 *
 * DepthToSpace and SpaceToDepth: blocks of channels become squares of the image, and back; any type. In mode DCR (the
 * only one before opset 11) the block is the outer part of the channels, in CRD the inner one. */
#include "ops.h"
#include "strided.h"

OP_ATTRS(op_depthspace_attrs)
{
	static const char *const modes[] = {[NPL_DCR] = "DCR", [NPL_CRD] = "CRD", NULL};
	out->depth_space.mode = NPL_DCR;
	if (op_attr_int(list, "blocksize", 0, &out->depth_space.block, err))
		return NPL_EINPUT;
	if (out->depth_space.block < 1 || out->depth_space.block > INT32_MAX)
		return npl_fail(err, NPL_EINPUT, "the attribute blocksize is %lld, expected 1 to 2147483647",
				(long long)out->depth_space.block);
	if (out->op == NPL_OP_SPACETODEPTH || op_before(out, 11))
		return 0;
	return op_attr_choice(list, "mode", modes, NPL_DCR, &out->depth_space.mode, err);
}

OP_SHAPE(op_depthspace_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	int64_t block = attrs->depth_space.block;
	bool to_space = attrs->op == NPL_OP_DEPTHTOSPACE;
	if (x->rank != 4 || (to_space ? x->dim[1] % (block * block) : x->dim[2] % block || x->dim[3] % block))
		return npl_fail(err, NPL_EINPUT, "%s does not divide into blocks of %lld", OP_TEXT(x),
				(long long)block);
	out->dtype = in[0]->dtype;
	out->shape = to_space ? npl_shape_of(4, x->dim[0], x->dim[1] / (block * block), x->dim[2] * block,
					     x->dim[3] * block)
			      : npl_shape_of(4, x->dim[0], x->dim[1] * block * block, x->dim[2] / block,
					     x->dim[3] / block);
	return op_output_fits(&out->shape, 1, err);
}

struct op_strided op_depthspace_copy(const struct npl_attrs *attrs, const struct npl_tensor *x,
				     const struct npl_tensor *y)
{
	/* The order of dimensions in which channels are (block, block, channels) or (channels, block, block). Rows and
	 * columns take a block each. */
	static const int64_t from_outer[] = {0, 3, 4, 1, 5, 2}, from_inner[] = {0, 1, 4, 2, 5, 3};
	static const int64_t to_outer[] = {0, 3, 5, 1, 2, 4};
	const int64_t *in = x->shape.dim, *out = y->shape.dim, b = attrs->depth_space.block;
	const size_t element = npl_dtype_size(y->dtype);
	if (attrs->op == NPL_OP_SPACETODEPTH)
		return op_strided_permute(element, 6, (int64_t[]){in[0], in[1], out[2], b, out[3], b}, to_outer);
	if (attrs->depth_space.mode == NPL_DCR)
		return op_strided_permute(element, 6, (int64_t[]){in[0], b, b, out[1], in[2], in[3]}, from_outer);
	return op_strided_permute(element, 6, (int64_t[]){in[0], out[1], b, b, in[2], in[3]}, from_inner);
}

OP_RUN(op_depthspace_run)
{
	const struct op_strided copy = op_depthspace_copy(attrs, in[0], out);
	op_strided_copy(&copy, in[0]->data, out->data);
	return 0;
}
