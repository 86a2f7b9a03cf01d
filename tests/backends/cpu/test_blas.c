/* SPDX-License-Identifier: MIT
 *
 * Promises of how the cpu device loads OpenBLAS: the kernel family fits the processor and is named in the
 * description; a family that the user chose is kept, and named as old when it is; the environment is afterwards as it
 * was; a library that is missing, or is not OpenBLAS, is an error that names the reason and the package. Each test
 * is a process of its own, as a library can be loaded only once. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/blas.h"
#include "backends/cpu/cpu.h"
#include "npulab/driver.h"
#include "tests/kit/cli_run.h"

extern const struct npl_driver npl_driver_cpu;

static void load(struct cpu_blas *blas)
{
	struct npl_err err = {0};
	if (cpu_blas_load(CPU_BLAS_SONAME, 1, blas, &err))
		cr_skip("%s", err.msg);
}

Test(cpu_blas, missing_library_is_an_error_with_the_package)
{
	struct cpu_blas blas;
	struct npl_err err = {0};
	cr_assert_eq(cpu_blas_load("libthere-is-no-such-blas.so.0", 1, &blas, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "libthere-is-no-such-blas.so.0: cannot open shared object file"), "%s", err.msg);
	cr_assert(strstr(err.msg, "libopenblas0-pthread"), "%s", err.msg);
	cr_assert_eq(cpu_blas_load("libm.so.6", 1, &blas, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "libm.so.6 is not OpenBLAS: it has no cblas_sgemm"), "%s", err.msg);
	cr_assert_null(blas.library);
	cpu_blas_unload(&blas);
}

Test(cpu_blas, family_fits_the_processor)
{
	static const struct {
		struct cpu_vectors isa;
		const char *core;
	} cases[] = {{{.level = CPU_AVX512, .amd = false, .limited = false}, "SkylakeX"},
		     {{.level = CPU_AVX512, .amd = true, .limited = false}, "SkylakeX"},
		     {{.level = CPU_AVX2, .amd = false, .limited = false}, "Haswell"},
		     {{.level = CPU_AVX2, .amd = true, .limited = false}, "Zen"},
		     {{.level = CPU_AVX, .amd = false, .limited = false}, NULL},
		     {{.level = CPU_SSE, .amd = true, .limited = false}, NULL},
		     {{.level = CPU_AVX, .amd = false, .limited = true}, "Sandybridge"},
		     {{.level = CPU_SSE, .amd = true, .limited = true}, "Prescott"},
		     {{.level = CPU_AVX2, .amd = false, .limited = true}, "Haswell"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *core = cpu_core_for(cases[i].isa);
		cr_assert_eq(!core, !cases[i].core);
		if (core) {
			cr_assert_str_eq(core, cases[i].core);
			cr_assert_eq(cpu_core_level(core), cases[i].isa.level, "%s is not of its processor's level",
				     core);
		}
	}
	cr_assert_eq(cpu_core_level("Prescott"), CPU_SSE);
	cr_assert_eq(cpu_core_level("Sandybridge"), CPU_AVX);
	cr_assert_eq(cpu_core_level("SapphireRapids"), CPU_AVX512);
}

Test(cpu_blas, chooses_and_names_the_family)
{
	struct cpu_blas blas;
	char text[200];
	unsetenv("OPENBLAS_CORETYPE");
	setenv("OPENBLAS_THREAD_TIMEOUT", "", 1);
	load(&blas);
	cr_assert_null(getenv("OPENBLAS_CORETYPE"), "the environment must be as it was");
	cr_assert_str_eq(getenv("OPENBLAS_THREAD_TIMEOUT"), "");
	cpu_blas_describe(&blas, 2, text, sizeof text);
	cr_assert(!strncmp(text, "OpenBLAS ", 9) && strstr(text, blas.corename()) &&
			  strstr(text, " kernels, 2 threads, "),
		  "%s", text);
	cr_assert_geq(cpu_core_level(blas.corename()), blas.isa.level, "kernels older than the processor: %s", text);
	cr_assert(strstr(text, cpu_level_name(blas.isa.level)), "%s", text);
	cpu_blas_unload(&blas);
}

Test(cpu_blas, users_family_is_kept_and_called_old)
{
	struct cpu_blas blas;
	char text[200];
	setenv("OPENBLAS_CORETYPE", "Prescott", 1);
	load(&blas);
	cr_assert_str_eq(getenv("OPENBLAS_CORETYPE"), "Prescott");
	cr_assert_str_eq(blas.corename(), "Prescott");
	cpu_blas_describe(&blas, 1, text, sizeof text);
	if (blas.isa.level > CPU_SSE)
		cr_assert(strstr(text, "Prescott kernels older than this processor, 1 thread, SSE instead of AVX") &&
				  strstr(text, " because OPENBLAS_CORETYPE is set"),
			  "%s", text);
	cpu_blas_unload(&blas);
}

/* Families whose instructions the processor does not have are not taken: they end the program at the first product.
 * Those that OpenBLAS has kernels of, on this processor and on others. */
Test(cpu_blas, family_that_the_processor_cannot_run_is_not_taken)
{
	static const char *const families[] = {"Bulldozer", "Piledriver", "Excavator", "Opteron",   "Sandybridge",
					       "Haswell",   "Zen",        "SkylakeX",  "Cooperlake"};
	const struct cpu_vectors old = {.detected = CPU_SSE}, usual = {.detected = CPU_AVX2, .level = CPU_SSE},
				 bulldozer = {.detected = CPU_AVX, .fma4 = true},
				 opteron = {.detected = CPU_SSE, .three_d_now = true};
	cr_assert(cpu_core_runs("haswell", usual), "a cap on our own kernels takes nothing from the processor");
	cr_assert_not(cpu_core_runs("SkylakeX", usual));
	cr_assert_not(cpu_core_runs("Piledriver", usual));
	cr_assert_not(cpu_core_runs("sandybridge", old));
	cr_assert_not(cpu_core_runs("Opteron_SSE3", old));
	cr_assert(cpu_core_runs("Piledriver", bulldozer) && !cpu_core_runs("Excavator", bulldozer));
	cr_assert(cpu_core_runs("Opteron", opteron) && cpu_core_runs("Fastest", old));
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		setenv("OPENBLAS_CORETYPE", families[i], 1);
		struct cli_result r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "64", "-n", "64",
					      "-k", "64", "--devices", "cpu");
		cr_assert_eq(r.status, 0, "%s: exit status %d, %s", families[i], r.status, r.err);
		char ignored[80];
		snprintf(ignored, sizeof ignored, "OPENBLAS_CORETYPE=%s ignored", families[i]);
		if (!cpu_core_runs(families[i], cpu_vectors_detect()))
			cr_assert(cli_says(r.out, ignored), "%s", r.out);
		cli_free(&r);
	}
	unsetenv("OPENBLAS_CORETYPE");
}

/* An empty variable would make OpenBLAS search its table for a family of that name. */
Test(cpu_blas, empty_variable_counts_as_unset)
{
	struct cpu_blas blas;
	setenv("OPENBLAS_CORETYPE", "", 1);
	load(&blas);
	cr_assert_str_eq(getenv("OPENBLAS_CORETYPE"), "");
	cr_assert_geq(cpu_core_level(blas.corename()), blas.isa.level);
	cpu_blas_unload(&blas);
}

Test(cpu_blas, device_describes_itself)
{
	for (int64_t threads = 0; threads <= 2; threads++) {
		struct npl_device_info info = {0};
		struct npl_err err = {0};
		void *state;
		if (npl_driver_cpu.open(&(struct cpu_config){.threads = threads}, &state, &err))
			cr_skip("%s", err.msg);
		npl_driver_cpu.describe(state, &info);
		cr_assert_eq(info.kind, NPL_KIND_CPU);
		cr_assert_eq(info.format, NPL_FORMAT_F32);
		cr_assert_null(info.engine);
		cr_assert_null(info.link.name);
		cr_assert_eq(info.clock_hz, 0);
		if (threads == 1)
			cr_assert(strstr(info.detail, ", 1 thread,"), "%s", info.detail);
		cr_assert(strstr(info.detail, "; other operators: reference kernels"), "%s", info.detail);
		npl_driver_cpu.close(state);
	}
	npl_driver_cpu.close(NULL);
}

Test(cpu_blas, parameters_read_and_check)
{
	struct npl_arena arena = {0};
	struct npl_err err = {0};
	struct npl_description machine = {.name = "cpu", .driver_or_model_key = "driver", .driver_or_model = "cpu"};
	struct cpu_config config = {.threads = 7, .precision = 7};
	cr_assert_eq(npl_params_read(npl_driver_cpu.params, &machine, &arena, &config, &err), 0, "%s", err.msg);
	cr_assert_eq(config.threads, 0);
	cr_assert_eq(config.precision, 0);
	cr_assert_eq(npl_description_set(&machine, &arena, "threads", "3", &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(npl_driver_cpu.params, &machine, &arena, &config, &err), 0, "%s", err.msg);
	cr_assert_eq(config.threads, 3);
	cr_assert_eq(npl_description_set(&machine, &arena, "precision", "int3", &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(npl_driver_cpu.params, &machine, &arena, &config, &err), NPL_EUSAGE);
	npl_arena_free(&arena);
}

/* OpenBLAS takes fewer threads than it is told without a word: more than it has are refused with the most. Integer
 * kernels have no such limit, and what is told of OpenBLAS then is its own number. */
Test(cpu_blas, more_threads_than_it_has)
{
	enum { TOO_MANY = 1024 };
	struct npl_device_info info = {0};
	struct npl_err err = {0};
	struct cpu_blas blas;
	char text[32];
	void *state;
	load(&blas);
	blas.set_num_threads(TOO_MANY);
	const int maximum = blas.get_num_threads();
	if (maximum >= TOO_MANY)
		cr_skip("a build for more threads than can be asked for");
	cr_assert_eq(npl_driver_cpu.open(&(struct cpu_config){.threads = TOO_MANY}, &state, &err), NPL_EUSAGE);
	snprintf(text, sizeof text, "at most %d,", maximum);
	cr_assert(strstr(err.msg, "threads is 1024") && strstr(err.msg, text), "%s", err.msg);
	cr_assert_eq(npl_driver_cpu.open(&(struct cpu_config){.threads = maximum}, &state, &err), 0, "%s", err.msg);
	npl_driver_cpu.close(state);
	const struct cpu_config bytes = {.threads = maximum + 1, .precision = CPU_INT8};
	cr_assert_eq(npl_driver_cpu.open(&bytes, &state, &err), 0, "%s", err.msg);
	npl_driver_cpu.describe(state, &info);
	snprintf(text, sizeof text, " %d threads,", maximum);
	cr_assert(strstr(info.detail, text), "%s", info.detail);
	snprintf(text, sizeof text, " %d threads,", maximum + 1);
	cr_assert(strstr(info.detail, text), "%s", info.detail);
	npl_driver_cpu.close(state);
	cpu_blas_unload(&blas);
}
