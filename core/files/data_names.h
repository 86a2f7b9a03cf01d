/* SPDX-License-Identifier: MIT
 *
 * The folders of npulab's data (energies, machines, memories, models, plans, published), and their YAML files, which
 * users call by their names without ".yaml". */
#ifndef NPULAB_CORE_FILES_DATA_NAMES_H
#define NPULAB_CORE_FILES_DATA_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "csv.h"
#include "npulab/arena.h"
#include "npulab/error.h"

/* Writes the path of the folder `kind` into path, of n bytes: $NPULAB_DATA/KIND, the source tree's, or the installed
 * one. Returns NPL_EINPUT when there is none whose path fits; the message says which folders were tried. */
int npl_data_dir(const char *kind, char *path, size_t n, struct npl_err *err);

/* Says whether a user's word is the path of a file: it has a '/' or ends in ".yaml". */
bool npl_is_yaml_path(const char *word);
/* Returns how long a name or path is without the parameters behind it, "hbm2@timing.CL=12". */
size_t npl_data_name_length(const char *name);

/* Lists the n_first given names, then the names in the folder `kind`, sorted; all live in the arena. Returns NPL_EINPUT
 * when the folder cannot be listed. */
int npl_data_names(const char *kind, const char *const *first, int n_first, struct npl_arena *arena,
		   const char *const **names, int *n, struct npl_err *err);

/* Writes the path of the file called name in the folder `kind` into path, of n bytes. *exists: the file exists. Returns
 * NPL_EINPUT when there is no such folder. */
int npl_data_path(const char *kind, const char *name, char *path, size_t n, bool *exists, struct npl_err *err);

/* Reads a table, such as "tdp.csv", of the folder `kind`. Errors are those of npl_data_dir and npl_csv_load. */
int npl_data_csv(const char *kind, const char *file, struct npl_arena *arena, struct npl_csv *csv, struct npl_err *err);

#endif
