/* SPDX-License-Identifier: MIT
 *
 * Finds models (model.h). */
#include "npulab/model.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "core/files/data_names.h"
#include "core/files/path.h"
#include "core/files/settings.h"
#include "core/param_rows.h"
#include "npulab/device.h"

/* Returns the path of a file beside the settings file. */
static const char *beside(struct npl_arena *arena, const char *settings, const char *name)
{
	if (name[0] == '/')
		return name;
	return npl_arena_printf(arena, "%.*s%s", (int)(npl_path_file(settings) - settings), settings, name);
}

struct settings { /* the keys of a NAME.yaml */
	const char *input, *labels, *calibration, *description, *license, *source;
	int64_t batch;
};

#define PARAM_CONFIG struct settings

static const struct npl_param schema[] = {
	TEXT("input", input, "", "samples to run (.npy)"),
	TEXT("labels", labels, "", "their classes (.npy)"),
	TEXT("calibration", calibration, "", "samples to calibrate quantisation on (.npy)"),
	NUMBER("batch", INT, batch, "0", 0, 1 << 20, "samples", "default batch"),
	TEXT("license", license, "", "licence of model and data"),
	TEXT("source", source, "", "attribution"),
	{0},
};

/* Reads NAME.yaml into files. `model_file`: skip it quietly unless its `model:` is this file name. */
static int read_settings(const char *path, const char *model_file, struct npl_arena *arena,
			 struct npl_model_files *files, struct npl_err *err)
{
	struct npl_description machine;
	struct settings set;
	if (npl_description_load(path, "model", arena, &machine, err)) {
		if (!model_file || err->code == NPL_EUSAGE) /* an output of this run is refused whatever it holds */
			return err->code;
		return 0; /* a NAME.yaml that is no settings file belongs to another program and is ignored */
	}
	if (model_file && strcmp(machine.driver_or_model, model_file))
		return 0;
	if (npl_params_read(schema, &machine, arena, &set, err))
		return err->code;
	const char *from[] = {machine.driver_or_model, set.input, set.labels, set.calibration};
	const char **to[] = {&files->path, &files->input, &files->labels, &files->calibration};
	for (int i = 0; i < 4; i++)
		if (*from[i] && !(*to[i] = beside(arena, path, from[i])))
			return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	files->description = machine.description;
	files->license = *set.license ? set.license : NULL;
	files->source = *set.source ? set.source : NULL;
	files->batch = set.batch;
	return 0;
}

int npl_model_list(struct npl_arena *arena, const char *const **names, int *n, struct npl_err *err)
{
	return npl_data_names("models", NULL, 0, arena, names, n, err);
}

static int find_path(const char *name, struct npl_arena *arena, struct npl_model_files *files, struct npl_err *err)
{
	files->path = npl_arena_strdup(arena, name);
	const char *base = npl_path_file(name);
	const size_t stem = npl_path_stem_length(base);
	files->name = npl_arena_strndup(arena, base, stem);
	char *yaml = npl_arena_printf(arena, "%.*s%.*s.yaml", (int)(base - name), name, (int)stem, base);
	if (!files->path || !files->name || !yaml)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", name);
	return access(yaml, F_OK) ? 0 : read_settings(yaml, base, arena, files, err);
}

int npl_model_find(const char *name, struct npl_arena *arena, struct npl_model_files *files, struct npl_err *err)
{
	char path[PATH_MAX + 300];
	bool ships;
	*files = (struct npl_model_files){0};
	if (strchr(name, '/') || npl_path_ends_in(name, ".onnx") || npl_path_ends_in(name, ".csv"))
		return find_path(name, arena, files, err);
	if (npl_data_path("models", name, path, sizeof path, &ships, err))
		return err->code;
	if (ships) {
		files->name = npl_arena_strdup(arena, name);
		return files->name ? read_settings(path, NULL, arena, files, err) : npl_no_memory(err);
	}
	if (!access(name, F_OK))
		return find_path(name, arena, files, err);
	const char *const *names;
	int n;
	if (npl_model_list(arena, &names, &n, err))
		return err->code;
	return npl_fail(err, NPL_EINPUT, "%s: no such model: neither a file nor one of the shipped models%s", name,
			NPL_NEAREST_ONLY(name, names, n));
}
