/* SPDX-License-Identifier: MIT
 *
 * What a kernel is told: one struct each, by value. The host fills it (backends/cuda/kernel/), the kernel of the same
 * name reads it (kernels/), so this text is compiled as C and by NVRTC and includes nothing. Addresses are the GPU's;
 * counts and steps are in elements.
 */
#ifndef NPULAB_BACKENDS_CUDA_KERNELS_KERNEL_ARGS_H
#define NPULAB_BACKENDS_CUDA_KERNELS_KERNEL_ARGS_H

#define CU_DIMS     16 /* of a walk, merged: those of a tensor twice, as Tile needs */
#define CU_OPERANDS 3
#define CU_POINTS   257 /* of the table after Sigmoid and Tanh on integers */

typedef unsigned long long cu_address;

/* A divisor, with the multiplication and shift that divide numbers below 2^31 by it where it is below 2^31 too. */
struct cu_divisor {
	long long by;
	unsigned magic, shift;
};

/* Elements in the order of a dense result and where they lie in up to three operands. */
struct cu_walk {
	int rank; /* at least 1 */
	struct cu_divisor dim[CU_DIMS];
	long long step[CU_OPERANDS][CU_DIMS];
};

/* unary.cu, cast.cu: y = f(x) */
struct cu_unary_args {
	cu_address x, y;
	long long count;
	float alpha, beta, bias;    /* of the function */
	float low, high;            /* Clip, unless they lie in memory: */
	cu_address low_at, high_at; /* 0: not there */
};

/* binary.cu, binary_walk.cu: z = f(x, y), where binary.cu knows equal shapes and scalars alone */
struct cu_binary_args {
	cu_address x, y, z;
	long long count;
	int x_scalar, y_scalar;
	float factor; /* the result is divided by it with FACTOR: Mean */
	struct cu_walk walk;
};

/* where.cu */
struct cu_where_args {
	cu_address condition, x, y, z;
	long long count;
	struct cu_walk walk;
};

/* copy.cu: z[walk step 1] = x[walk step 0] */
struct cu_copy_args {
	cu_address x, z;
	long long count;
	struct cu_walk walk;
};

/* transpose.cu: matrices of rows x columns, each turned */
struct cu_transpose_args {
	cu_address x, z;
	long long matrices, rows, columns;
};

/* pad.cu */
struct cu_pad_args {
	cu_address x, z, value; /* value 0: `fill` */
	unsigned long long fill;
	long long count;
	int rank, mode;                                  /* 0 constant, 1 reflect, 2 edge */
	struct cu_divisor dim[8];                        /* of z */
	long long step[8], first[8], left[8], before[8]; /* of x: per dimension, what negative pads leave of it */
};

/* gather.cu, gather_elements.cu, gather_tuples.cu */
struct cu_gather_args {
	cu_address x, indices, z;
	cu_address fault; /* an int that becomes 1 where an index is outside; 0: not told */
	long long count, size;
	struct cu_divisor piece, n; /* Gather: z is outer x n x piece, x outer x size x piece */
	struct cu_walk walk;        /* GatherElements: of x over z, without its axis */
	long long axis_step;
	int tuple; /* GatherND */
	long long tuple_size[8], tuple_step[8], whole;
	struct cu_divisor per_batch;
};

/* pool.cu: sizes in the order height, width, depth */
struct cu_pool_args {
	cu_address x, z, indices; /* indices 0: not asked for */
	long long count;
	struct cu_divisor out[3];
	struct cu_divisor packs; /* with channels last: of the channels of a position */
	long long in[3];
	int kernel[3], stride[3], dilation[3], pad[3];
	/* Of an average: the padding at the end that counts in the divisor. That at the beginning counts if
	 * counts_padding says so. */
	int counted_end[3];
	int counts_padding, column_major, zero_point, fused_relu;
	float power;
};

/* channels.cu: y = (x - mean) * scale / sqrt(variance + epsilon) + bias, per channel */
struct cu_channels_args {
	cu_address x, z, scale, bias, mean, variance;
	long long count;
	struct cu_divisor plane, channels;
	float epsilon;
};

/* lrn.cu */
struct cu_lrn_args {
	cu_address x, z;
	long long count;
	struct cu_divisor plane, channels;
	long long low, high; /* neighbours below and above */
	float weight, bias, beta;
};

/* reduce.cu, softmax.cu, arg.cu, normalise.cu: vectors of x, each along a walk of its own */
struct cu_vectors_args {
	cu_address x, z;
	long long vectors, length;
	struct cu_walk outer, inner; /* step 0: where a vector begins in x; where its elements are from there */
	float factor;                /* reduce: elements of a vector (Mean) */
	int flags;                   /* arg: 1 the greatest, 2 the last of equals */
	cu_address scale, bias, mean, deviation; /* normalise: 0 where there is none */
	struct cu_walk affine;                   /* normalise: of scale (step 0) and bias (step 1) over x */
	float epsilon, added;                    /* under and beside the root */
};

/* resize.cu */
struct cu_resize_args {
	cu_address x, z;
	long long count;
	int rank, transform, nearest, exclude_outside;
	struct cu_divisor dim[8]; /* of z */
	int stays[8];
	long long size[8], step[8]; /* of x */
	double scale[8], length[8], from[8], to[8], cubic;
	float outside;
};

/* onehot.cu, triangle.cu, reverse.cu: z is (outer, middle, inner) */
struct cu_sequence_args {
	cu_address x, z, extra; /* extra: the two values, the diagonal (0: none), the lengths */
	cu_address fault;
	long long count, steps;
	struct cu_divisor inner, middle;
	int wraps, upper, batch_first;
};

/* convtranspose.cu: sizes in the order height, width, depth */
struct cu_convtranspose_args {
	cu_address x, w, bias, z;
	long long count, channels, group_channels;
	struct cu_divisor out[3], filters, group_filters;
	long long in[3];
	int kernel[3], stride[3], dilation[3], begin[3];
};

/* integer_pair.cu, integer_convert.cu, integer_sums.cu: what integer_finish needs for the integer rules */
struct cu_finish {
	float zero, low, high, relu6, function_scale;
	short point[CU_POINTS]; /* Sigmoid and Tanh */
};
struct cu_integer_args {
	cu_address x, y, z;
	long long count;
	int x_zero, y_zero;
	float x_scale, y_scale; /* factors before the finish */
	cu_address scale, bias; /* sums: per channel, float and int; bias 0: none */
	struct cu_divisor inner, channels;
	int low, high;            /* Clip, Relu */
	struct cu_divisor length; /* sums: of a row, */
	long long ld;             /* from one to the next */
	cu_address counter;       /* of 64 bits, to which saturations are added; 0: not counted */
	struct cu_walk walk;
	struct cu_finish finish;
};

/* integer_conv.cu: sizes in the order height, width, depth */
struct cu_integer_conv_args {
	cu_address x, w, z, bias, scale, counter; /* as in cu_integer_args */
	long long count, ld, part; /* from a filter's row to the next; from one of PARTS matrices to the next */
	struct cu_divisor out[3], filters, group_filters;
	long long in[3], plane, image; /* elements of a channel and of an image of x */
	int channels;                  /* of a group */
	int kernel[3], stride[3], dilation[3], begin[3];
	int pad, low;
	unsigned flip;
	struct cu_finish finish;
};

/* integer_pack.cu, with sums 0: none; integer_stack.cu: `all` is added to every sum, row_factor times its row's sum,
 * column_factor times its column's; steps from matrix to matrix */
struct cu_integer_pack_args {
	cu_address x, z, sums;
	long long matrices, used, rows, columns, ld;
	unsigned flip;
};
struct cu_integer_stack_args {
	cu_address x, z, row_sums, column_sums, counter;
	long long count, ld, row_step, column_step;
	struct cu_divisor rows, columns;
	int row_factor, column_factor;
	unsigned all;
	float scale;
	struct cu_finish finish;
};

/* quantise_tensor.cu */
struct cu_quantise_tensor_args {
	cu_address x, z, counter, fault; /* 0: nobody is told */
	long long count;
	float scale;
	int zero;
};

/* quantise.cu: z = saturate(rint(x / scale) + zero), and back, z = (x - zero) * scale */
struct cu_quantise_args {
	cu_address x, z, scale, zero; /* vectors where there are several; 0: one_scale, one_zero */
	long long count;
	struct cu_divisor inner, channels;
	float one_scale;
	int one_zero;
};

/* im2col.cu: rows of patches, image by image: z[pixel][channel][tap], of one group */
struct cu_im2col_args {
	cu_address x, z;
	long long count;
	struct cu_divisor taps[3], columns, channels,
		out[3];                      /* columns: padded row length; the rest of a row is `pad` */
	long long in[3], plane, image, used; /* elements of a channel and of an image of x; columns that hold a tap */
	long long first;                     /* the first pixel of all images' that is asked for */
	int stride[3], dilation[3], begin[3], pad;
	unsigned flip;
};

/* recurrent_rnn.cu, recurrent_lstm.cu, recurrent_gru.cu, recurrent_gru_reset.cu: one step of all samples in all
 * directions. Sums are floats, `hidden` of them for each gate. */
struct cu_recurrent_args {
	cu_address inputs;     /* of X times W: for each row of X all gates of all directions; 0: there are no inputs */
	cu_address states;     /* of h times R: for each direction and sample its gates, rows state_row apart */
	cu_address candidates; /* GRU: of the hidden gate, for each direction and sample */
	cu_address bias, peepholes; /* 0: none */
	cu_address lengths;         /* of samples; 0: all have all steps */
	cu_address fault;           /* an int that becomes 3 where a length is none; 0: not told */
	cu_address h, c, reset; /* the state; LSTM: the cell's, floats; GRU: what the reset leaves of h, as h lies */
	cu_address y;           /* of all steps */
	long long count, step, steps, state_row; /* count: elements of h */
	struct cu_divisor hidden, batch;
	int directions, batch_first, backwards; /* backwards: the first direction is */
	float clip, alpha[2][3], beta[2][3];    /* of the functions f, g and h of each direction */
};

/* bias.cu: z = fused(x + bias[channel]); x and z may be one */
struct cu_bias_args {
	cu_address x, z, bias;
	long long count;
	struct cu_divisor inner, channels;
};

#endif
