/* SPDX-License-Identifier: MIT
 *
 * Drawings as files of a folder. */
#ifndef NPULAB_CLI_DRAWING_FILES_H
#define NPULAB_CLI_DRAWING_FILES_H

#include "pages/writer.h"

/* To be called before anything is written: refuses a folder that cannot be used, and one in which a drawing would
 * overwrite a file that this run reads or writes. */
int cli_check_drawings(const char *folder, const struct page_files *files, struct npl_err *err);
/* Writes the files; makes the folder if there is none. */
int cli_write_drawings(const char *folder, const struct page_files *files, struct npl_err *err);

/* Returns the path of an existing folder relative to the folder of the file at `path`: "../charts". For "-", standard
 * output, it is the path as given. Allocated; NULL: out of memory. */
char *cli_folder_as_named_by(const char *path, const char *folder);

#endif
