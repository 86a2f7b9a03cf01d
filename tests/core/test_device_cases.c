/* SPDX-License-Identifier: MIT
 *
 * The cases of tests/kit/device_cases.h, against which the suite every_device holds each device: they have what a
 * device might ignore. */
#include "tests/kit/device_cases.h"

enum { SEEDS = 120 }; /* as in test_every_device.c */

/* The defaults. The constants give every member in its order, without its name, so that a further member is a missing
 * initialiser: give its default here, and name the attribute below. LRN has such a constant in device_cases.h. */
#define DEFAULT_WINDOW                                                                                                 \
	{                                                                                                              \
		2, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, NPL_PAD_NOTSET, false, false                 \
	}
static const struct npl_conv_attrs default_conv = {DEFAULT_WINDOW, 1, false, {0}, {0}};
static const struct npl_pool_attrs default_pool = {DEFAULT_WINDOW, 2, false};
static const struct npl_gemm_attrs default_gemm = {1, 1, false, false};

/* Adds to seen[] the names of the attributes and activations that the case has with another value than the default. */
static int attributes_of(const struct device_case *c, const char *const **list, bool *seen)
{
	static const char *const names[] = {"rank 1",
					    "rank 3",
					    "kernel",
					    "stride",
					    "dilation of Conv",
					    "dilation of MaxPool",
					    "dilation of AveragePool",
					    "pad_begin",
					    "pad_end",
					    "ceil_mode",
					    "count_include_pad",
					    "groups",
					    "private_kernels",
					    "alpha",
					    "beta",
					    "trans_a",
					    "no trans_b"};
	const enum npl_op op = c->layer.op;
	const struct npl_attrs *a = c->layer.attrs;
	const struct npl_window *w = npl_op_window(op, a);
	const bool conv = op == NPL_OP_CONV, gemm = op == NPL_OP_GEMM;
	const struct npl_window *d = conv ? &default_conv.window : &default_pool.window;
	const bool dilated = w && (w->dilation[0] > d->dilation[0] || w->dilation[1] > d->dilation[1]);
	const bool has[] = {w && w->rank == 1,
			    w && w->rank == 3,
			    w && w->kernel[1] > d->kernel[1],
			    w && w->stride[1] > d->stride[1],
			    conv && dilated,
			    op == NPL_OP_MAXPOOL && dilated,
			    op == NPL_OP_AVERAGEPOOL && dilated,
			    w && w->pad_begin[1] > d->pad_begin[1],
			    w && w->pad_end[1] > d->pad_end[1],
			    w && w->ceil_mode != d->ceil_mode,
			    w && w->count_include_pad != d->count_include_pad,
			    conv && a->conv.groups > default_conv.groups,
			    conv && a->conv.private_kernels != default_conv.private_kernels,
			    gemm && a->gemm.alpha != default_gemm.alpha,
			    gemm && a->gemm.beta != default_gemm.beta && c->layer.n_in > 2,
			    gemm && a->gemm.trans_a != default_gemm.trans_a,
			    gemm && !a->gemm.trans_b};
	enum { NAMES = sizeof names / sizeof *names };
	for (int i = 0; i < NAMES; i++)
		seen[i] |= has[i];
	*list = names;
	return NAMES;
}

/* In float32, which has them all, cases have each attribute of windows and of Gemm with a value that a device must not
 * take for the default, and each activation; the shape rule replaces auto_pad by pads. In integers they have those that
 * such layers have. */
Test(device_cases, have_each_attribute_and_activation)
{
	static struct device_case c;
	static const char *const not_of_integers[] = {"rank 3", "private_kernels", "alpha",
						      "beta",   "trans_a",         "no trans_b"};
	for (int numbers = 0; numbers <= DEVICE_INTEGERS; numbers++) {
		const char *const *names = NULL;
		bool seen[40] = {false}, fused[NPL_ACTIVATIONS] = {false};
		int n = 0;
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			device_case_make(&c, (enum device_numbers)numbers, seed);
			n = attributes_of(&c, &names, seen);
			fused[c.layer.activation] = true;
			device_case_free(&c);
		}
		for (int i = 0; i < n; i++) {
			bool has = true;
			for (size_t k = 0; k < sizeof not_of_integers / sizeof *not_of_integers; k++)
				has &= numbers == DEVICE_FLOATS || strcmp(names[i], not_of_integers[k]);
			cr_expect_eq(seen[i], has, "numbers %d: %s", numbers, names[i]);
		}
		for (int i = 0; i < NPL_ACTIVATIONS; i++)
			cr_expect(fused[i], "numbers %d: no case has %s", numbers,
				  npl_activation_name((enum npl_activation)i));
	}
}
