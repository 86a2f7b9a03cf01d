/* SPDX-License-Identifier: MIT
 *
 * The shipped networks in tests: loading one by its name, and holding files against the script that makes them. */
#ifndef NPULAB_TESTS_KIT_SHIPPED_MODELS_H
#define NPULAB_TESTS_KIT_SHIPPED_MODELS_H

#include <stdlib.h>

#include "cli_run.h"
#include "npulab/model.h"

static inline struct npl_graph *shipped_load(const char *name, const struct npl_load_options *options,
					     struct npl_model_files *files, struct npl_arena *arena)
{
	struct npl_graph *graph;
	struct npl_err err;
	cr_assert_eq(npl_model_find(name, arena, files, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_graph_load(files->path, options, &graph, &err), 0, "%s", err.msg);
	return graph;
}

/* True when python3-onnx is there, which the scripts need. A folder that a removed package left behind is importable
 * too, but empty. */
static inline bool shipped_can_make(void)
{
	return !system("/usr/bin/python3 -c 'import numpy; from onnx import TensorProto' 2>/dev/null");
}

/* The script writes models/NAME.onnx to the byte. */
static inline void shipped_check_made(const char *script, const char *const *names, size_t n)
{
	char folder[CLI_PATH], command[3 * CLI_PATH];
	cli_folder(folder);
	snprintf(command, sizeof command, "/usr/bin/python3 %s --out %s", script, folder);
	cr_assert_eq(system(command), 0);
	cr_assert_eq((size_t)cli_count_files(folder), n);
	for (size_t i = 0; i < n; i++) {
		char path[64], file[32];
		size_t bytes[2];
		snprintf(path, sizeof path, "models/%s.onnx", names[i]);
		snprintf(file, sizeof file, "%s.onnx", names[i]);
		char *shipped = cli_read(path, &bytes[0]), *generated = cli_read(cli_path(folder, file), &bytes[1]);
		cr_assert(bytes[0] == bytes[1] && !memcmp(shipped, generated, bytes[0]),
			  "%s is not what the script makes", path);
		free(shipped);
		free(generated);
	}
	cli_remove_folder(folder);
}

#endif
