/* SPDX-License-Identifier: MIT
 *
 * What the parts of core/files/file.h share: file.c reads, file_mapped.c knows what is mapped, file_output.c what will
 * be written and where a path leads, file_write.c writes, file_temporary.c knows the temporaries. */
#ifndef NPULAB_CORE_FILES_FILE_IMPL_H
#define NPULAB_CORE_FILES_FILE_IMPL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "file.h"

/* Notes that file->data is mapped from path, a file of this status. NPL_ENOMEM. */
int npl_mapping_add(struct npl_file *file, const char *path, const struct stat *status, struct npl_err *err);
/* To be called before the file is unmapped; NULL is no mapping. */
void npl_mapping_remove(struct npl_mapping *mapping);

/* NPL_EUSAGE when the file of this status, which is about to be read, is a declared output. */
int npl_output_refuse_reading(const struct stat *status, const char *path, struct npl_err *err);

/* Where a document goes. */
struct npl_output_target {
	char *path;   /* the file behind all links, to be freed; it need not exist */
	bool existed; /* when it was declared: then it was this file */
	dev_t device;
	ino_t inode;
};

/* Finds where a document goes: what was found when a declared output was declared, else what is there now. NPL_EOUTPUT,
 * NPL_EUSAGE, NPL_ENOMEM. */
int npl_output_find(const char *path, struct npl_output_target *target, struct npl_err *err);

/* A temporary file that npl_file_remove_temporaries knows, next to target. */
struct npl_temporary {
	char *path;
	int fd;   /* -1: none could be made, errno says why */
	int slot; /* -1: there were too many at a time to know all */
};

struct npl_temporary npl_temporary_open(const char *target, mode_t mode);
/* Frees what is left of it; `keep`: the file has been renamed and stays. */
void npl_temporary_close(struct npl_temporary *temporary, bool keep);

#endif
