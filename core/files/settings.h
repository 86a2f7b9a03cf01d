/* SPDX-License-Identifier: MIT
 *
 * Settings files: YAML restricted to nested mappings of scalars, read into a flat list of dotted keys (`array: {rows:
 * 256}` is `array.rows` = "256") with their lines. Machine files and models' NAME.yaml are such files. Tags say where
 * values come from (enum npl_source); all other tags except YAML's own are refused. Sequences, aliases, keys that
 * come twice and more than one document are refused with their line.
 */
#ifndef NPULAB_CORE_FILES_SETTINGS_H
#define NPULAB_CORE_FILES_SETTINGS_H

#include "npulab/params.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Loads a settings file of at most 1 MiB, 8 levels and 4096 keys. The settings live in the arena. */
int npl_settings_load(const char *path, struct npl_arena *arena, struct npl_setting **settings, int *n,
		      struct npl_err *err);

/* Loads a settings file in which a value may also be a list of scalars, or a list of such lists. The value is then the
 * text of all: the scalars of the outer list are divided by line breaks, those of an inner one by colons, and they
 * contain neither commas nor colons. */
int npl_settings_load_lists(const char *path, struct npl_arena *arena, struct npl_setting **settings, int *n,
			    struct npl_err *err);

/* Write a finite number with as many digits as it takes to read back the same value, or 6 if fewer do; return buf. */
const char *npl_double_text(double value, char *buf, size_t n);
const char *npl_float_text(float value, char *buf, size_t n);

#ifdef __cplusplus
}
#endif

#endif
