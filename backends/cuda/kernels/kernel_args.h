/* SPDX-License-Identifier: MIT
 *
 * The arguments of kernels: one struct for each kernel, passed by value. The host fills it (backends/cuda/kernel/); the
 * kernel of the same name reads it (kernels/). This text is therefore compiled as C and by NVRTC, and includes nothing.
 * Addresses are the GPU's; counts and steps are in elements.
 */
#ifndef NPULAB_BACKENDS_CUDA_KERNELS_KERNEL_ARGS_H
#define NPULAB_BACKENDS_CUDA_KERNELS_KERNEL_ARGS_H

#define CU_DIMS     16 /* most dimensions of a walk after merging: twice a tensor's, as Tile needs */
#define CU_OPERANDS 3
#define CU_POINTS   257 /* points of the table of Sigmoid or Tanh on integers */

typedef unsigned long long cu_address;

/* What kernels write into the fault word, an int, where their input is wrong: they cannot stop. They go on with the
 * nearest valid index or length, so that nothing outside a tensor is read. */
enum cu_fault {
	CU_FAULT_INDEX = 1,  /* an index is outside of the tensor that it picks from */
	CU_FAULT_NAN = 2,    /* a value that is to become an integer is a NaN */
	CU_FAULT_LENGTH = 3, /* the length of a sequence is negative or more than all steps */
};

/* A divisor. If `by` is below 2^31, magic and shift divide numbers below 2^31 by it with a multiplication. */
struct cu_divisor {
	long long by;
	unsigned magic, shift;
};

/* A loop over elements in the order of a dense result, with the place of each element in up to three operands. */
struct cu_walk {
	int rank; /* at least 1 */
	struct cu_divisor dim[CU_DIMS];
	long long step[CU_OPERANDS][CU_DIMS];
};

/* unary.cu and cast.cu compute y = f(x). */
struct cu_unary_args {
	cu_address x, y;
	long long count;
	float alpha, beta, bias;    /* parameters of the function */
	float low, high;            /* limits of Clip, unless they are in memory */
	cu_address low_at, high_at; /* addresses of Clip's limits; 0: not in memory */
};

/* binary.cu and binary_walk.cu compute z = f(x, y). binary.cu takes equal shapes and scalars only. */
struct cu_binary_args {
	cu_address x, y, z;
	long long count;
	int x_scalar, y_scalar;
	float factor; /* with FACTOR (Mean) the result is divided by it */
	struct cu_walk walk;
};

/* The arguments of where.cu. */
struct cu_where_args {
	cu_address condition, x, y, z;
	long long count;
	struct cu_walk walk;
};

/* copy.cu sets z[place by walk.step[1]] = x[place by walk.step[0]]. */
struct cu_copy_args {
	cu_address x, z;
	long long count;
	struct cu_walk walk;
};

/* transpose.cu transposes x (matrices, rows, columns). */
struct cu_transpose_args {
	cu_address x, z;
	long long matrices, rows, columns;
};

/* The arguments of pad.cu. */
struct cu_pad_args {
	cu_address x, z, value; /* value: address of the padding; 0: it is `fill` */
	unsigned long long fill;
	long long count;
	int rank, mode;           /* mode: enum npl_pad_mode */
	struct cu_divisor dim[8]; /* dimensions of z */
	/* per dimension of x: its step, and what negative pads leave */
	long long step[8], first[8], left[8], before[8];
};

/* The arguments of gather.cu, gather_elements.cu and gather_tuples.cu. */
struct cu_gather_args {
	cu_address x, indices, z;
	cu_address fault; /* the fault word; 0: not reported */
	long long count, size;
	struct cu_divisor piece, n; /* Gather: z is outer x n x piece, x outer x size x piece */
	struct cu_walk walk;        /* GatherElements: steps in x over z, without the axis */
	long long axis_step;
	int tuple; /* GatherND: indices of a tuple */
	long long tuple_size[8], tuple_step[8], whole;
	struct cu_divisor per_batch;
};

/* A window that slides over an image. Arrays are in the order height, width, depth. */
struct cu_window {
	long long in[3];                       /* the image's sizes */
	struct cu_divisor out[3];              /* the result's sizes */
	int kernel[3], stride[3], dilation[3]; /* the window's own */
	int begin[3];                          /* positions of padding before the image */
};

struct cu_pool_args {
	cu_address x, z, indices; /* indices: address, 0: not wanted */
	long long count;
	struct cu_window window;
	struct cu_divisor packs; /* with channels last: packs of channels of a position */
	/* For averages: the padding at the end that counts in the divisor. The padding at the beginning counts if
	 * counts_padding is not 0. */
	int counted_end[3];
	int counts_padding, column_major, zero_point, fused_relu;
	float power;
};

/* channels.cu computes y = (x - mean) * scale / sqrt(variance + epsilon) + bias for each channel. */
struct cu_channels_args {
	cu_address x, z, scale, bias, mean, variance;
	long long count;
	struct cu_divisor plane, channels;
	float epsilon;
};

/* The arguments of lrn.cu. */
struct cu_lrn_args {
	cu_address x, z;
	long long count;
	struct cu_divisor plane, channels;
	long long low, high; /* how many channels below and above are summed */
	float weight, bias, beta;
};

/* reduce.cu, softmax.cu, arg.cu and normalise.cu take vectors of x, each with its elements along the walk `inner`. */
struct cu_vectors_args {
	cu_address x, z;
	long long vectors, length;
	struct cu_walk outer, inner; /* step[0]: where a vector begins in x; where its elements are from there */
	float factor;                /* reduce: what Mean divides by, elements of a vector */
	/* arg, bits: 1: index of the greatest element, else of the least; 2: of the last equal one, else of the
	 * first */
	int flags;
	cu_address scale, bias, mean, deviation; /* normalise: addresses; 0: absent */
	struct cu_walk affine;                   /* normalise: scale (step[0]) and bias (step[1]) over x */
	float epsilon, added; /* normalise: epsilon is added to the variance, `added` to its square root */
};

/* The arguments of resize.cu. */
struct cu_resize_args {
	cu_address x, z;
	long long count;
	int rank, transform, nearest, exclude_outside;
	struct cu_divisor dim[8]; /* dimensions of z */
	int stays[8];
	long long size[8], step[8]; /* dimensions of x, and steps in x */
	double scale[8], length[8], from[8], to[8], cubic;
	float outside;
};

/* The arguments of onehot.cu, triangle.cu and reverse.cu. z is (outer, middle, inner). */
struct cu_sequence_args {
	cu_address x, z, extra; /* extra: address of the two values, the diagonal (0: none) or the lengths */
	cu_address fault;
	long long count, steps;
	struct cu_divisor inner, middle;
	int wraps, upper, batch_first;
};

struct cu_convtranspose_args {
	cu_address x, w, bias, z;
	long long count, channels, group_channels;
	struct cu_window window;
	struct cu_divisor filters, group_filters;
};

/* What the last step of the integer rules needs. */
struct cu_finish {
	float zero, low, high, relu6, function_scale;
	short point[CU_POINTS]; /* table of Sigmoid or Tanh */
};

/* The arguments of integer_pair.cu, integer_convert.cu and integer_sums.cu. */
struct cu_integer_args {
	cu_address x, y, z;
	long long count;
	int x_zero, y_zero;
	float x_scale, y_scale; /* factors of x and y before the finish */
	cu_address scale, bias; /* sums: addresses of a float and an int per channel; bias 0: none */
	struct cu_divisor inner, channels;
	int low, high;            /* limits of Clip or Relu */
	struct cu_divisor length; /* sums: elements of a row */
	long long ld;             /* sums: elements from row to row */
	cu_address counter;       /* a 64-bit count to which saturated values are added; 0: not counted */
	struct cu_walk walk;
	struct cu_finish finish;
};

/* The arguments of integer_sums_channels_last.cu. Rows of x are `ld` elements apart, those of z `channels`. */
struct cu_integer_rows_args {
	cu_address x, z, scale, bias, counter; /* these are as in cu_integer_args */
	long long count;                       /* packs of channels, of blocks of rows */
	long long rows, channels, ld;
	struct cu_divisor packs; /* of a row */
	int low;                 /* the least of a raw sum */
	struct cu_finish finish;
};

/* The arguments of integer_conv.cu and integer_conv_channels_last.cu. Spatial sizes are in the order height, width,
 * depth. */
struct cu_integer_conv_args {
	cu_address x, w, z, bias, scale, counter; /* these are as in cu_integer_args */
	/* ld: elements from a filter's row to the next, with channels last from a tap's row; part: elements from one of
	 * PARTS matrices to the next */
	long long count, ld, part;
	struct cu_window window;
	struct cu_divisor filters, group_filters;
	long long plane, image; /* elements of a channel and of an image of x */
	int channels;           /* channels of a group */
	/* With channels last: packs of filters of a position; elements from one position of x to the next. */
	struct cu_divisor packs;
	long long step;
	int pad, low; /* pad and flip: with channels last repeated for each element of a pack */
	unsigned flip;
	struct cu_finish finish;
};

struct cu_depthwise_args {
	cu_address x, w, bias, z; /* bias 0: there is none */
	long long count, image;   /* packs of z; packs of an image of x */
	struct cu_window window;
	struct cu_divisor packs; /* of a position */
};

/* The arguments of integer_pack.cu. sums 0: no sums are wanted. */
struct cu_integer_pack_args {
	cu_address x, z, sums;
	long long matrices, used, rows, columns, ld;
	unsigned flip;
};

/* The arguments of integer_stack.cu, which adds to each sum `all`, row_factor times the sum of its row and
 * column_factor times the sum of its column. row_step and column_step lead to the next matrix's sums. */
struct cu_integer_stack_args {
	cu_address x, z, row_sums, column_sums, counter;
	long long count, ld, row_step, column_step;
	struct cu_divisor rows, columns;
	int row_factor, column_factor;
	unsigned all;
	float scale;
	struct cu_finish finish;
};

/* The arguments of quantise_tensor.cu. */
struct cu_quantise_tensor_args {
	cu_address x, z, counter, fault; /* counter 0, fault 0: that is not reported */
	long long count;
	float scale;
	int zero;
};

/* quantise.cu computes z = saturate(rint(x / scale) + zero), and back, z = (x - zero) * scale. */
struct cu_quantise_args {
	cu_address x, z, scale, zero; /* scale, zero: addresses of values per channel; 0: one_scale, one_zero */
	long long count;
	struct cu_divisor inner, channels;
	float one_scale;
	int one_zero;
};

/* im2col.cu writes the patches of one group, image by image, as z (pixel, channel, tap). */
struct cu_im2col_args {
	cu_address x, z;
	long long count; /* of packs */
	struct cu_window window;
	struct cu_divisor taps[3], packs; /* packs: of a row, whose padding is `pad` */
	long long plane, image, used;     /* elements of a channel and of an image of x; columns with taps */
	long long first;                  /* index among the pixels of all images of the first one wanted */
	int pad;
	unsigned flip;
};

/* im2col_channels_last.cu writes the patches of images (image, y, x, channel) as z (pixel, tap, channel). Elements are
 * bytes, or words of four channels. */
struct cu_im2col_last_args {
	cu_address x, z;
	long long count; /* of packs */
	struct cu_window window;
	struct cu_divisor packs, channels; /* packs of a row, whose padding is `pad`; channels of a position of x */
	struct cu_divisor taps;            /* of a line of the kernel */
	long long image, first;            /* image: elements of an image of x; first: as in cu_im2col_args */
	int lines;                         /* of the kernel */
	unsigned pad, flip;                /* of each byte of an element */
};

/* recurrent_rnn.cu, recurrent_lstm.cu, recurrent_gru.cu and recurrent_gru_reset.cu do one step of all samples in all
 * directions. Sums are floats, of which each gate has `hidden`. */
struct cu_recurrent_args {
	cu_address inputs;          /* sums of X W: per row of X the gates of all directions; 0: there are none */
	cu_address states;          /* sums of h R: per direction and sample its gates, rows state_row apart */
	cu_address candidates;      /* GRU: sums of the hidden gate, per direction and sample */
	cu_address bias, peepholes; /* 0: absent */
	cu_address lengths;         /* steps of each sample; 0: all samples have all steps */
	cu_address fault;           /* the fault word; 0: not reported */
	/* h: the state; c, of LSTM: the cells' state, floats; reset, of GRU: r h, in the order of h */
	cu_address h, c, reset;
	cu_address y;                            /* the states of all steps */
	long long count, step, steps, state_row; /* count: elements of h */
	struct cu_divisor hidden, batch;
	int directions, batch_first, backwards; /* backwards: the first direction runs backwards */
	float clip, alpha[2][3], beta[2][3];    /* constants of the functions f, g and h of each direction */
};

/* bias.cu computes z = fused(x + bias[channel]). z may be x. */
struct cu_bias_args {
	cu_address x, z, bias;
	long long count;
	struct cu_divisor inner, channels;
};

#endif
