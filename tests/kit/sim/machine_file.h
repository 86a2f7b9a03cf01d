/* SPDX-License-Identifier: MIT
 *
 * The machine files of a driver, and the one that it was made for against the defaults of its parameters. */
#ifndef NPULAB_TESTS_KIT_SIM_MACHINE_FILE_H
#define NPULAB_TESTS_KIT_SIM_MACHINE_FILE_H

#include <criterion/criterion.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/driver.h"
#include "tests/kit/sim/keys.h"

/* Returns the paths of the n files in machines/ that have this driver, in the order of their names. They live in the
 * arena. */
static inline const char **test_machine_paths(const struct npl_driver *driver, struct npl_arena *arena, int *n)
{
	glob_t files;
	struct npl_err err;
	*n = 0;
	cr_assert_eq(glob("machines/*.yaml", 0, NULL, &files), 0);
	const char **path = npl_arena_array(arena, files.gl_pathc, sizeof *path);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct npl_description file;
		cr_assert_eq(npl_description_load(files.gl_pathv[i], "driver", arena, &file, &err), 0, "%s", err.msg);
		if (!strcmp(file.driver_or_model, driver->name))
			path[(*n)++] = npl_arena_strdup(arena, files.gl_pathv[i]);
	}
	globfree(&files);
	cr_assert(*n, "machines/ has no file of %s", driver->name);
	return path;
}

/* Returns the values of all parameters that follow from a machine file, in the order of the driver's list. They live in
 * the arena. */
static inline const struct npl_param_value *
test_values(const struct npl_driver *driver, const struct npl_description *description, struct npl_arena *arena)
{
	const struct npl_param_value *value;
	struct npl_err err;
	int n = 0;
	void *config = calloc(1, driver->config_bytes);
	cr_assert_eq(npl_params_read(driver->params, description, arena, config, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_values(driver->params, NULL, config, arena, &value, &n), 0);
	free(config);
	return value;
}

/* Machine files without an energy get none. */
static inline void test_no_energy(const struct npl_param *p)
{
	static const char *const nothing[] = {[NPL_PARAM_INT] = "0",
					      [NPL_PARAM_DOUBLE] = "0",
					      [NPL_PARAM_ORIGIN] = "absent",
					      [NPL_PARAM_STRING] = "none"};
	if (p->type != NPL_PARAM_CHOICE)
		cr_expect_str_eq(p->default_text, nothing[p->type], "%s", p->key);
}

/* The file gives each parameter once, with its default as the value. The `absent` keys (test_key_is_among) may be left
 * out and have other values. A figure that was fitted to the machine has its value as the former default, and another
 * default. */
static inline void test_machine_file(const struct npl_driver *driver, const char *path, const char *absent)
{
	struct npl_arena arena = {0};
	struct npl_description file, none = {.name = "none", .driver_or_model_key = "driver"}, former;
	struct npl_err err;
	none.driver_or_model = driver->name;
	former = none;
	for (const struct npl_former_default *d = driver->former_defaults; d->key; d++)
		cr_assert_eq(npl_description_set(&former, &arena, d->key, d->value, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_description_load(path, "driver", &arena, &file, &err), 0, "%s", err.msg);
	const struct npl_param_value *of_file = test_values(driver, &file, &arena),
				     *of_none = test_values(driver, &none, &arena),
				     *of_former = test_values(driver, &former, &arena);
	for (int p = 0; driver->params[p].key; p++) {
		const char *key = driver->params[p].key;
		int n_found = 0;
		for (int i = 0; i < file.n_settings; i++)
			n_found += !strcmp(file.setting[i].key, key);
		if (test_key_is_among(key, "energy.* technology.node_nm"))
			test_no_energy(&driver->params[p]);
		if (test_key_is_among(key, absent))
			continue;
		cr_expect_eq(n_found, 1, "%s does not give %s, with its source", path, key);
		cr_expect_str_eq(of_former[p].value, of_file[p].value, "%s", key);
		if (npl_description_setting(&former, key))
			cr_expect_str_neq(of_none[p].value, of_file[p].value, "%s was fitted to the machine", key);
	}
	npl_arena_free(&arena);
}

#endif
