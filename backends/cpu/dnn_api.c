/* SPDX-License-Identifier: MIT
 *
 * Finds oneDNN's functions (dnn_api.h). */
#include "dnn_api.h"

#include <dlfcn.h>
#include <string.h>

int dnn_api_load(const char *soname, struct dnn_api *api, struct npl_err *err)
{
	*api = (struct dnn_api){0};
	if (npl_onednn_load(soname, &api->library, err))
		return err->code;
	const struct {
		const char *name;
		void *pointer; /* address of the function pointer */
	} symbols[] = {
#define DNN_FUNCTION(name, arguments) {"dnnl_" #name, &api->name},
#include "dnn_functions.def"
#undef DNN_FUNCTION
		{"dnnl_memory_desc_get_size", &api->memory_desc_get_size},
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *symbol = dlsym(api->library.library, symbols[i].name);
		if (!symbol)
			return npl_fail(err, NPL_EDEVICE, "%s has no %s", soname, symbols[i].name);
		memcpy(symbols[i].pointer, &symbol, sizeof symbol);
	}
	return 0;
}
