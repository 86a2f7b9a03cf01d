/* SPDX-License-Identifier: MIT
 *
 * What the files about parameters (params.h) share. */
#ifndef NPULAB_CORE_PARAMS_IMPL_H
#define NPULAB_CORE_PARAMS_IMPL_H

#include "npulab/params.h"

/* Returns the parameter of a key; NULL: there is none. The schema may be NULL. */
const struct npl_param *npl_param_find(const struct npl_param *schema, const char *key);
/* Returns the number of parameters; the schema may be NULL. */
int npl_param_count(const struct npl_param *schema);
/* Reads one value into its member of config. Members that are texts borrow the value. On failure the message begins
 * with `location`, and `code` is returned. */
int npl_params_parse(const struct npl_param *param, const char *value, void *config, const char *location, int code,
		     struct npl_err *err);
/* Adds an override as npl_description_set does; messages about it begin with setting->typed. Its texts are copied. */
int npl_params_set(struct npl_description *description, struct npl_arena *arena, const struct npl_setting *setting,
		   struct npl_err *err);
/* Returns the value in config as text; buf holds numbers. */
const char *npl_params_text(const struct npl_param *param, const void *config, char *buf, size_t n);
/* Writes the word of a choice, the first of its spellings, into buf. Returns buf. */
const char *npl_params_choice_word(const char *words, int choice, char *buf, size_t n);

/* Returns what the file has whose path a parameter has as its value (npl_param.words); NULL: the value is no path. */
const char *npl_param_file(const struct npl_param *schema, const char *key, const char *value);

/* The files of a folder of data: each is "a memory of the model 'dram'". */
struct npl_shipped_files {
	const char *folder, *noun, *key; /* "memories", "memory", "model" */
};
/* Finds the shipped file that a user's file was made from: that of `copied_from:`, or one of the file's name, which
 * counts as none where it cannot be read or has another driver. shipped->name is NULL where there is none. NPL_EINPUT:
 * copied_from names no shipped file with this driver. */
int npl_description_find_shipped(const struct npl_description *description, const struct npl_shipped_files *files,
				 struct npl_arena *arena, struct npl_description *shipped, struct npl_err *err);
/* Returns a note on parameters that the machine does not give and whose defaults have become neutral; NULL: there is
 * none, or memory is short. */
const char *npl_description_left_out_note(const struct npl_description *description, const struct npl_param *schema,
					  const struct npl_former_default *former_defaults, const char *former_machine,
					  struct npl_arena *arena);
/* Returns a note on sizes of a shipped machine that the user has changed, while its energies and fitted figures stay;
 * NULL: there is none, or memory is short. */
const char *npl_description_resized_note(const struct npl_description *description, const struct npl_param *schema,
					 const char *size_keys, const struct npl_description *shipped,
					 struct npl_arena *arena);
/* Returns a note on parameters that a file leaves out and that have other values in the shipped machine that it was
 * copied from; NULL: there is none, or memory is short. */
const char *npl_description_lost_note(const struct npl_description *description, const struct npl_param *schema,
				      const void *config, const struct npl_description *shipped,
				      struct npl_arena *arena);
/* Returns the parameter whose value takes the effect from this one; NULL: this one has an effect. conditions may be
 * NULL. */
const struct npl_param *npl_params_decided_by(const struct npl_param *schema,
					      const struct npl_param_condition *conditions,
					      const struct npl_param *param, const void *config);
/* Returns a note on parameters that the user set and that have no effect: by --set, or in a file to another value than
 * the default and the shipped one. NULL: there is none, or memory is short. */
const char *npl_description_without_effect_note(const struct npl_description *description,
						const struct npl_param *schema,
						const struct npl_param_condition *conditions, const void *config,
						struct npl_arena *arena);

#endif
