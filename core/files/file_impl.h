/* SPDX-License-Identifier: MIT
 *
 * What the parts of core/files/file.h share: file.c reads, file_mapped.c keeps the mapped files, file_output.c keeps
 * the declared outputs and resolves paths, file_write.c writes, file_temporary.c keeps the temporaries. */
#ifndef NPULAB_CORE_FILES_FILE_IMPL_H
#define NPULAB_CORE_FILES_FILE_IMPL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "file.h"

/* Notes that file->data is mapped from path, a file of this status. Returns 0 or NPL_ENOMEM. */
int npl_mapping_add(struct npl_file *file, const char *path, const struct stat *status, struct npl_err *err);
/* Forgets a mapping. Call it before the file is unmapped. NULL is no mapping. */
void npl_mapping_remove(struct npl_mapping *mapping);

/* Returns NPL_EUSAGE when the file of this status, which is about to be read, is a declared output. */
int npl_output_refuse_reading(const struct stat *status, const char *path, struct npl_err *err);

/* The file that a document is written to. */
struct npl_output_target {
	char *path;   /* the file behind all links, to be freed; it need not exist */
	bool existed; /* true: the file existed when it was declared, with this device and inode */
	dev_t device;
	ino_t inode;
};

/* Finds the file that a document is written to: for a declared output the file that was found then, else the file that
 * path leads to now. Fails with NPL_EOUTPUT, NPL_EUSAGE or NPL_ENOMEM. */
int npl_output_find(const char *path, struct npl_output_target *target, struct npl_err *err);

/* A temporary file that npl_file_remove_temporaries knows, next to target. */
struct npl_temporary {
	char *path;
	int fd;   /* -1: none could be made, and errno has the reason */
	int slot; /* -1: there were too many temporaries to note this one */
};

struct npl_temporary npl_temporary_open(const char *target, mode_t mode);
/* Removes the temporary and frees the struct; `keep`: the file has been renamed and stays. */
void npl_temporary_close(struct npl_temporary *temporary, bool keep);

#endif
