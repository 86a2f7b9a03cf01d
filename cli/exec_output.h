/* SPDX-License-Identifier: MIT
 *
 * Writes the bytes of a memory for `exec`: as numbers of the type and shape that the user states, to .npy or as
 * text. */
#ifndef NPULAB_CLI_EXEC_OUTPUT_H
#define NPULAB_CLI_EXEC_OUTPUT_H

#include "npulab/tensor.h"

/* The values of --output-as TYPE[:ROWSxCOLUMNS[:FIRST]]. */
struct exec_form {
	bool has_type; /* given by the option; without it the numbers are bytes, in .npy of one dimension */
	enum npl_dtype type;
	int64_t rows, columns; /* 0: not stated */
	/* first byte of the memory, or first row of a memory with rows; -1: the first that was written */
	int64_t first;
};
/* Reads a form; text NULL: bytes. NPL_EUSAGE names the option. */
int exec_form_read(const char *option, const char *text, struct exec_form *form, struct npl_err *err);

/* A part of a memory. */
struct exec_bytes {
	const char *name; /* for messages: "host memory" */
	const uint8_t *data;
	size_t n;
	size_t address;      /* address in the memory of the first byte */
	size_t row_bytes;    /* bytes of a row of the memory; 0: it has no rows */
	enum npl_dtype word; /* npl_isa.word */
	bool planes; /* the bytes of a number are each in a row of their own (docs/tpu-isa.md), not side by side */
};

/* Says whether an output is text: its name ends in .txt or is "-", standard output. */
bool exec_output_is_text(const char *path);

/* Makes the numbers, which the caller frees. Without a stated form they are bytes, or words in a text. Returns
 * NPL_EINPUT when there are fewer or more bytes than the form needs. */
int exec_output_make(const struct exec_form *form, const struct exec_bytes *bytes, bool text,
		     struct npl_tensor *numbers, struct npl_err *err);
/* Writes the numbers to path, as text or as .npy. */
int exec_output_write(const char *path, const struct npl_tensor *numbers, struct npl_err *err);

#endif
