/* SPDX-License-Identifier: MIT
 *
 * Loads OpenBLAS (blas.h). The library's constructor chooses the kernel family once, from OPENBLAS_CORETYPE or else
 * from its own table of processors. */
#include "blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/message.h"
#include "core/computer/library_env.h"

/* Threads of OpenBLAS wait for more work by spinning for 2^N ticks: 30 ms at its own choice of 26, in which they take
 * a processor from the convolution that follows (2.1 ms instead of 1.3 measured) and burn energy. 2^20 ticks, less
 * than half a millisecond, still spare the next sgemm the waking. */
#define THREAD_TIMEOUT "20"

/* Makes OpenBLAS's threads and the calling one take their buffers now, while there is known to be memory; OpenBLAS
 * keeps them. */
static void take_buffers(const struct cpu_blas *blas, int threads)
{
	enum { SIZE = 256 };
	float *m = calloc(3, SIZE * SIZE * sizeof *m);
	blas->set_num_threads(threads);
	if (m)
		blas->sgemm(CPU_ROW_MAJOR, CPU_NO_TRANS, CPU_NO_TRANS, SIZE, SIZE, SIZE, 1, m, SIZE, m + SIZE * SIZE,
			    SIZE, 0, m + 2 * SIZE * SIZE, SIZE);
	free(m);
}

int cpu_blas_load(const char *soname, int threads, struct cpu_blas *blas, struct npl_err *err)
{
	char count[16];
	snprintf(count, sizeof count, "%d", threads);
	*blas = (struct cpu_blas){.isa = cpu_vectors_detect()};
	const struct {
		const char *name;
		void *pointer; /* address of the function pointer */
	} symbols[] = {
		{"cblas_sgemm", &blas->sgemm},
		{"cblas_sgemv", &blas->sgemv},
		{"openblas_get_config", &blas->config},
		{"openblas_get_corename", &blas->corename},
		{"openblas_set_num_threads", &blas->set_num_threads},
		{"openblas_get_num_threads", &blas->get_num_threads},
	};
	const char *core_type = getenv("OPENBLAS_CORETYPE");
	const struct npl_library_setting settings[] = {
		{.variable = "OPENBLAS_CORETYPE",
		 .value = cpu_core_for(blas->isa),
		 .overrides_user = core_type && !cpu_core_runs(core_type, blas->isa)},
		{.variable = "OPENBLAS_THREAD_TIMEOUT", .value = THREAD_TIMEOUT},
		{.variable = "OPENBLAS_NUM_THREADS", .value = threads ? count : NULL},
	};
	blas->library = npl_library_open(soname, settings, sizeof settings / sizeof *settings);
	if (!blas->library)
		return npl_fail(err, NPL_EDEVICE, "OpenBLAS cannot be loaded: %s (Debian package libopenblas0-pthread)",
				dlerror());
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *symbol = dlsym(blas->library, symbols[i].name);
		if (!symbol) {
			cpu_blas_unload(blas);
			return npl_fail(err, NPL_EDEVICE,
					"%s is not OpenBLAS: it has no %s (Debian package libopenblas0-pthread)",
					soname, symbols[i].name);
		}
		memcpy(symbols[i].pointer, &symbol, sizeof symbol);
	}
	if (threads)
		take_buffers(blas, threads);
	return 0;
}

void cpu_blas_unload(struct cpu_blas *blas)
{
	if (blas->library)
		dlclose(blas->library);
	*blas = (struct cpu_blas){0};
}

bool cpu_blas_obeys(const struct cpu_blas *blas)
{
	const char *core_type = getenv("OPENBLAS_CORETYPE");
	return !core_type || !*core_type || !strcasecmp(core_type, blas->corename());
}

void cpu_blas_reason(const struct cpu_blas *blas, char text[CPU_BLAS_REASON])
{
	const char *core_type = getenv("OPENBLAS_CORETYPE");
	const bool set = core_type && *core_type;
	if (!cpu_blas_obeys(blas))
		snprintf(text, CPU_BLAS_REASON, ", OPENBLAS_CORETYPE=%.24s ignored", core_type);
	else
		snprintf(text, CPU_BLAS_REASON, "%s", set ? " because OPENBLAS_CORETYPE is set" : "");
}

void cpu_blas_describe(const struct cpu_blas *blas, int threads, char *text, size_t n)
{
	const char *config = blas->config(), *core = blas->corename();
	const char *space = strchr(config, ' '), *end = space ? strchr(space + 1, ' ') : NULL;
	int version = end ? (int)(end - config) : (int)strlen(config); /* "OpenBLAS 0.3.21", the first two words */
	enum cpu_level level = cpu_core_level(core);
	const char *plural = npl_plural(threads);
	char reason[CPU_BLAS_REASON];
	cpu_blas_reason(blas, reason);
	if (level < blas->isa.level)
		snprintf(text, n, "%.*s, %s kernels older than this processor, %d thread%s, %s instead of %s%s",
			 version, config, core, threads, plural, cpu_level_name(level), cpu_level_name(blas->isa.level),
			 reason);
	else if (!cpu_blas_obeys(blas))
		snprintf(text, n, "%.*s, %s kernels, %d thread%s, %s%s", version, config, core, threads, plural,
			 cpu_level_name(level), reason);
	else
		snprintf(text, n, "%.*s, %s kernels, %d thread%s, %s", version, config, core, threads, plural,
			 cpu_level_name(blas->isa.level));
}
