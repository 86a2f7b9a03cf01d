/* SPDX-License-Identifier: MIT
 *
 * The files that a run reads, as the head of its trace has them (npulab/run_trace.h). */
#include <limits.h>
#include <stdio.h>

#include "core/files/data_names.h"
#include "core/files/file.h"
#include "core/params_impl.h"
#include "npulab/driver.h"
#include "npulab/run_trace.h"
#include "npulab/sha256.h"

int npl_trace_add_file(struct npl_trace_header *header, const char *role, const char *path, struct npl_err *err)
{
	struct npl_file file;
	char hex[NPL_SHA256_HEX];
	if (npl_file_map(path, SIZE_MAX, &file, err))
		return err->code;
	npl_sha256_hex(file.data, file.bytes, hex);
	npl_file_unmap(&file);
	return npl_trace_add(header, &header->file, role, hex, err);
}

int npl_trace_add_machine_files(struct npl_trace_header *header, const char *machine, const char *driver,
				const struct npl_param_value *setting, int n, struct npl_err *err)
{
	const struct npl_driver *found = npl_driver_named(driver);
	char role[300], path[PATH_MAX];
	for (int i = 0; i < n && found; i++) {
		/* Parameters may stand behind the path of a memory. */
		snprintf(path, sizeof path, "%.*s", (int)npl_data_name_length(setting[i].value), setting[i].value);
		const char *content = npl_param_file(found->params, setting[i].key, path);
		if (!content)
			continue;
		snprintf(role, sizeof role, "%s of %s", content, machine);
		if (npl_trace_add_file(header, role, path, err))
			return err->code;
	}
	return 0;
}
