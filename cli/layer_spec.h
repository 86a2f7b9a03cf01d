/* SPDX-License-Identifier: MIT
 *
 * The layer that the options of `npulab layer` describe: its kind, shapes and attributes. */
#ifndef NPULAB_CLI_LAYER_SPEC_H
#define NPULAB_CLI_LAYER_SPEC_H

#include "npulab/arena.h"
#include "npulab/single_layer.h"

/* The kinds of layers: X(word) for each, with `between` between two. A kind has the functions read_WORD and WORD_title
 * in layer_spec.c, and options in layer_options.def. */
#define CLI_LAYER_KINDS(X, between)                                                                                    \
	X(gemm) between X(conv)                                                                                        \
	between X(pool)

/* The words of all kinds as one literal, with the literal `between` between two. */
#define CLI_LAYER_WORD(word)     #word
#define CLI_LAYER_WORDS(between) CLI_LAYER_KINDS(CLI_LAYER_WORD, between)

/* The options of the layer itself. One that is not given is 0, NULL or false. */
struct cli_layer_options {
	int64_t m, n, k, filters, groups;
	const char *input, *kernel, *stride, *pad, *dilation, *pool;
	bool is_unsigned, requantise, private_kernels;
	int64_t zero_percent;
};

/* Fills spec with a layer of the kind that the word names, such as "gemm". Returns NPL_EUSAGE for a kind that there is
 * not, and for an option that is missing, malformed or of another kind of layer. */
int cli_layer_read(const char *word, const struct cli_layer_options *options, struct npl_layer_spec *spec,
		   struct npl_err *err);

/* Writes the words of all kinds, the last one behind `last`, and returns buf. */
const char *cli_layer_kinds_text(const char *last, char *buf, size_t size);

/* Returns the heading of the layer's report, such as "gemm 4x4x4", in the arena. NULL: out of memory. word: one that
 * cli_layer_read took. */
const char *cli_layer_title(const char *word, const struct npl_layer_spec *spec, struct npl_arena *arena);

#endif
