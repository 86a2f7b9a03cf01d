/* SPDX-License-Identifier: MIT
 *
 * Parts of a file's path. */
#ifndef NPULAB_CORE_FILES_PATH_H
#define NPULAB_CORE_FILES_PATH_H

#include <stdbool.h>
#include <string.h>

#include "npulab/arena.h"

/* Returns the name of the file in its folder: the part of the path after the last slash. */
static inline const char *npl_path_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Returns the length of a file's name without its extension. A name that begins with its only dot has none. */
static inline size_t npl_path_stem_length(const char *file)
{
	const char *dot = strrchr(file, '.');
	return dot && dot != file ? (size_t)(dot - file) : strlen(file);
}

/* Returns a path's file name without the extension: "dir/net.onnx" gives "net". NULL: out of memory. */
static inline const char *npl_path_stem(struct npl_arena *arena, const char *path)
{
	const char *file = npl_path_file(path);
	return npl_arena_strndup(arena, file, npl_path_stem_length(file));
}

/* Says whether the path ends in this extension, such as ".npy", and has something before it. */
static inline bool npl_path_ends_in(const char *path, const char *extension)
{
	const size_t n = strlen(path), m = strlen(extension);
	return n > m && !strcmp(path + n - m, extension);
}

#endif
