/* SPDX-License-Identifier: MIT
 *
 * What `exec` writes of a memory: its bytes as numbers of the type and shape that the user states, to .npy or as
 * text. */
#ifndef NPULAB_CLI_EXEC_OUTPUT_H
#define NPULAB_CLI_EXEC_OUTPUT_H

#include "npulab/tensor.h"

/* What --output-as TYPE[:ROWSxCOLUMNS[:FIRST]] asks for. */
struct exec_form {
	bool stated; /* by the option; without it the numbers are bytes, in .npy of one dimension */
	enum npl_dtype type;
	int64_t rows, columns; /* 0: not stated */
	int64_t first;         /* byte of the memory, or row of one that has rows; -1: the first that was written */
};
/* text NULL: bytes. NPL_EUSAGE, naming the option. */
int exec_form_read(const char *option, const char *text, struct exec_form *form, struct npl_err *err);

/* A part of a memory. */
struct exec_bytes {
	const char *name; /* for messages: "host memory" */
	const uint8_t *data;
	size_t n;
	size_t address;      /* in the memory, of the first of them */
	size_t row_bytes;    /* of a memory of rows; 0: it has none */
	enum npl_dtype word; /* npl_isa.word */
	bool planes; /* a number of several bytes has each in a row of its own (docs/tpu-isa.md), not side by side */
};

/* Its name ends in .txt or is "-", standard output. */
bool exec_output_is_text(const char *path);

/* The numbers, to be freed: of the form, or, where none is stated, of bytes, in a text of words. NPL_EINPUT: the bytes
 * are not as many as the form needs. */
int exec_output_make(const struct exec_form *form, const struct exec_bytes *bytes, bool text,
		     struct npl_tensor *numbers, struct npl_err *err);
/* Writes them to path, as text or as .npy. */
int exec_output_write(const char *path, const struct npl_tensor *numbers, struct npl_err *err);

#endif
