/* SPDX-License-Identifier: MIT
 *
 * Loads oneDNN (onednn.h). */
#include "onednn.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "library_env.h"
#include "npulab/cpu_features.h"

/* Threads of OpenMP (libgomp) wait for more work by spinning 300,000 times, about a millisecond, in which they keep a
 * processor from OpenBLAS's threads or npulab's own, which run the next layer. A tenth of it still spans the time
 * between two convolutions. */
#define OPENMP_SPINS "30000"

static const void *load_symbol(void *library, const char *name, void *pointer)
{
	void *address = dlsym(library, name);
	memcpy(pointer, &address, sizeof address);
	return address;
}

static int find_symbols(struct npl_onednn *onednn, const char *soname, struct npl_err *err)
{
	const struct {
		const char *name;
		void *pointer; /* pointer to the function pointer */
	} symbols[] = {
		{"dnnl_gemm_u8s8s32", &onednn->gemm_u8s8s32},
		{"dnnl_gemm_s8s8s32", &onednn->gemm_s8s8s32},
		{"dnnl_version", &onednn->version},
		{"dnnl_get_effective_cpu_isa", &onednn->effective_isa},
		{"dnnl_set_max_cpu_isa", &onednn->set_max_isa},
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!load_symbol(onednn->library, symbols[i].name, symbols[i].pointer))
			return npl_fail(err, NPL_EDEVICE, "%s is not oneDNN: it has no %s", soname, symbols[i].name);
	const struct npl_onednn_version *version = onednn->version();
	if (version->major != 2)
		return npl_fail(err, NPL_EDEVICE, "%s is oneDNN %d, expected 2", soname, version->major);
	if (version->cpu_runtime == NPL_ONEDNN_SEQUENTIAL)
		return 0;
	if (version->cpu_runtime != NPL_ONEDNN_OPENMP ||
	    !load_symbol(onednn->library, "omp_set_num_threads", &onednn->set_num_threads) ||
	    !load_symbol(onednn->library, "omp_get_max_threads", &onednn->get_max_threads))
		return npl_fail(err, NPL_EDEVICE, "%s has threads that are not OpenMP's and cannot be counted", soname);
	return 0;
}

/* Sets oneDNN's limit from NPULAB_MAX_ISA. A library that was used before keeps its former limit, and refuses. */
static void limit_isa(const struct npl_onednn *onednn)
{
	struct npl_onednn_limit library_limit;
	if (!npl_cpu_cap() || npl_onednn_limit(&library_limit))
		return;
	onednn->set_max_isa(npl_cpu_has(NPL_CPU_AVX512)                   ? NPL_ONEDNN_AVX512
			    : npl_cpu_has(NPL_CPU_AVX2 | NPL_CPU_AVXVNNI) ? NPL_ONEDNN_AVX2_VNNI
			    : npl_cpu_has(NPL_CPU_AVX2)                   ? NPL_ONEDNN_AVX2
			    : npl_cpu_has(NPL_CPU_AVX)                    ? NPL_ONEDNN_AVX
									  : NPL_ONEDNN_SSE41);
}

int npl_onednn_load(const char *soname, struct npl_onednn *onednn, struct npl_err *err)
{
	*onednn = (struct npl_onednn){0};
	const struct npl_library_setting settings[] = {
		{.variable = "GOMP_SPINCOUNT", .value = OPENMP_SPINS, .alternative_variable = "OMP_WAIT_POLICY"},
	};
	onednn->library = npl_library_open(soname, settings, sizeof settings / sizeof *settings);
	if (!onednn->library)
		return npl_fail(err, NPL_EDEVICE, "oneDNN cannot be loaded: %s (Debian package libdnnl2)", dlerror());
	int rc = find_symbols(onednn, soname, err);
	if (rc) {
		dlclose(onednn->library);
		*onednn = (struct npl_onednn){0};
	} else {
		limit_isa(onednn);
	}
	return rc;
}

bool npl_onednn_limit(struct npl_onednn_limit *limit)
{
	static const char *const variables[] = {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"};
	*limit = (struct npl_onednn_limit){0};
	for (size_t i = 0; i < sizeof variables / sizeof *variables && !limit->word; i++) {
		const char *value = getenv(variables[i]);
		if (value && *value)
			*limit = (struct npl_onednn_limit){.variable = variables[i], .word = value};
	}
	for (const char *cursor = NPL_ONEDNN_LIMITS; limit->word && *cursor; cursor += strspn(cursor, " ")) {
		size_t length = strcspn(cursor, " ");
		limit->known = limit->known ||
			       (strlen(limit->word) == length && !strncasecmp(limit->word, cursor, length));
		cursor += length;
	}
	return limit->word;
}

const char *npl_onednn_isa_name(int isa)
{
	switch (isa) {
	case NPL_ONEDNN_AVX2_VNNI:
		return "AVX2 VNNI";
	case NPL_ONEDNN_AVX512_VNNI:
		return "AVX-512 VNNI";
	case NPL_ONEDNN_AVX512_BF16:
		return "AVX-512 VNNI BF16";
	case NPL_ONEDNN_AVX512_AMX:
		return "AMX";
	default:
		return (isa & NPL_ONEDNN_AVX512_VNNI) == NPL_ONEDNN_AVX512_VNNI ? "AVX-512 VNNI or newer" : NULL;
	}
}

const char *npl_onednn_vectors(int isa)
{
	enum { AVX = 0x3 };
	if ((isa & NPL_ONEDNN_AVX512) == NPL_ONEDNN_AVX512)
		return "AVX-512";
	return (isa & NPL_ONEDNN_AVX2) == NPL_ONEDNN_AVX2 ? "AVX2" : (isa & AVX) == AVX ? "AVX" : "SSE4.1";
}
