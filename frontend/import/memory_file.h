/* SPDX-License-Identifier: MIT
 *
 * The bytes of a machine's memory from a file, as `npulab exec` takes them: .npy or .pb, or text with one row of a
 * matrix in each line. docs/exec.md is the manual of the text. */
#ifndef NPULAB_FRONTEND_IMPORT_MEMORY_FILE_H
#define NPULAB_FRONTEND_IMPORT_MEMORY_FILE_H

#include "npulab/tensor.h"

/* Fills bytes, a tensor of NPL_U8 with one dimension, which the caller frees. word is the machine's type of operands,
 * NPL_U8 or NPL_I16. Numbers before which the text names no type have that type. A file that begins as .npy does, or
 * whose name ends in .npy or .pb, is read as a tensor of bytes or of words. Any other file is text. Returns NPL_EINPUT
 * with the message "PATH:LINE: what is wrong and what was expected". */
int npl_memory_load(const char *path, enum npl_dtype word, struct npl_tensor *bytes, struct npl_err *err);

#endif
