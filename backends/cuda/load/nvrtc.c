/* SPDX-License-Identifier: MIT
 *
 * Loads NVRTC and compiles kernels (nvrtc.h). Multiplications and additions are not fused (--fmad=false), because the
 * integer rules prescribe single steps; kernels that only move data lose no time by it. */
#include "nvrtc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_COMPILATION = 6 };
enum { MAX_OPTIONS = 24, MAX_TEXTS = 64, MAX_MACROS = 512 };

static int find_symbols(struct cu_nvrtc *nvrtc, struct npl_err *err)
{
	const struct cu_symbol symbols[] = {
		{"nvrtcVersion", &nvrtc->version},
		{"nvrtcGetNumSupportedArchs", &nvrtc->count_architectures},
		{"nvrtcGetSupportedArchs", &nvrtc->architectures},
		{"nvrtcCreateProgram", &nvrtc->create},
		{"nvrtcDestroyProgram", &nvrtc->destroy},
		{"nvrtcCompileProgram", &nvrtc->compile},
		{"nvrtcGetProgramLogSize", &nvrtc->log_size},
		{"nvrtcGetProgramLog", &nvrtc->log},
		{"nvrtcGetCUBINSize", &nvrtc->cubin_size},
		{"nvrtcGetCUBIN", &nvrtc->cubin},
		{"nvrtcGetPTXSize", &nvrtc->ptx_size},
		{"nvrtcGetPTX", &nvrtc->ptx},
		{"nvrtcGetErrorString", &nvrtc->error_string},
	};
	const char *missing = cu_library_symbols(&nvrtc->library, symbols, sizeof symbols / sizeof *symbols);
	return missing ? npl_fail(err, NPL_EDEVICE, "%.200s is too old or damaged: it has no %s", nvrtc->library.path,
				  missing)
		       : 0;
}

static int failed(const struct cu_nvrtc *nvrtc, const char *call, int code, struct npl_err *err)
{
	return npl_fail(err, NPL_EDEVICE, "NVRTC fails: %s returns %s (%d)", call, nvrtc->error_string(code), code);
}

/* Asks NVRTC for its version and its architectures. */
static int read_capabilities(struct cu_nvrtc *nvrtc, struct npl_err *err)
{
	int code = nvrtc->version(&nvrtc->major, &nvrtc->minor);
	if (code)
		return failed(nvrtc, "nvrtcVersion", code, err);
	if ((code = nvrtc->count_architectures(&nvrtc->n_architectures)))
		return failed(nvrtc, "nvrtcGetNumSupportedArchs", code, err);
	if (nvrtc->n_architectures < 1 || nvrtc->n_architectures > CU_NVRTC_ARCHITECTURES)
		return npl_fail(err, NPL_EDEVICE, "NVRTC fails: it says that it knows %d architectures",
				nvrtc->n_architectures);
	if ((code = nvrtc->architectures(nvrtc->architecture)))
		return failed(nvrtc, "nvrtcGetSupportedArchs", code, err);
	return 0;
}

/* Chooses the architecture to compile for: the GPU's own, or the nearest below it. */
static int choose_architecture(const struct cu_nvrtc *nvrtc, int capability, int *architecture, struct npl_err *err)
{
	*architecture = 0;
	for (int i = 0; i < nvrtc->n_architectures; i++)
		if (nvrtc->architecture[i] <= capability && nvrtc->architecture[i] > *architecture)
			*architecture = nvrtc->architecture[i];
	if (*architecture)
		return 0;
	return npl_fail(err, NPL_EDEVICE,
			"NVRTC %d.%d compiles for compute capability %d.%d and later, this GPU has %d.%d", nvrtc->major,
			nvrtc->minor, nvrtc->architecture[0] / 10, nvrtc->architecture[0] % 10, capability / 10,
			capability % 10);
}

/* How well a library fits the driver and the GPU; greater is better. */
enum { ABSENT, USELESS, FITS, BEST_FIT = FITS + 3 };

/* Opens one library and returns how well it fits. If it is ABSENT or USELESS it is not kept open and err has the
 * reason. */
static int open_one(const struct cu_loader *loader, const char *name, int driver_version, int capability,
		    struct cu_nvrtc *nvrtc, struct npl_err *err)
{
	const char *const names[] = {name, NULL};
	char failure[200];
	int architecture;
	*nvrtc = (struct cu_nvrtc){0};
	if (cu_library_open(loader, names, &nvrtc->library, failure, sizeof failure)) {
		npl_fail(err, NPL_EDEVICE,
			 "no NVRTC: neither libnvrtc.so.13 nor libnvrtc.so.12 can be loaded (%s); the GPU's kernels "
			 "are compiled by it, and NPULAB_CUDA_PATH may name its folder",
			 failure);
		return ABSENT;
	}
	if (find_symbols(nvrtc, err) || read_capabilities(nvrtc, err) ||
	    choose_architecture(nvrtc, capability, &architecture, err)) {
		cu_nvrtc_close(nvrtc);
		return USELESS;
	}
	return FITS + 2 * (nvrtc->major <= driver_version / 1000) + (architecture == capability);
}

int cu_nvrtc_open(const struct cu_loader *loader, int driver_version, int capability, struct cu_nvrtc *nvrtc,
		  struct npl_err *err)
{
	static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
	int best = -1;
	*nvrtc = (struct cu_nvrtc){0};
	for (size_t i = 0; i < sizeof names / sizeof *names && best < BEST_FIT; i++) {
		struct cu_nvrtc candidate;
		struct npl_err failure = {0};
		const int fit = open_one(loader, names[i], driver_version, capability, &candidate, &failure);
		if (fit <= best) {
			cu_nvrtc_close(&candidate);
			continue;
		}
		cu_nvrtc_close(nvrtc);
		*nvrtc = candidate;
		*err = failure;
		best = fit;
	}
	return best < FITS ? err->code : 0;
}

void cu_nvrtc_close(struct cu_nvrtc *nvrtc)
{
	cu_library_close(&nvrtc->library);
	*nvrtc = (struct cu_nvrtc){0};
}

const char *cu_nvrtc_target(const struct cu_nvrtc *nvrtc, int capability, char text[24])
{
	struct npl_err ignored;
	int architecture;
	choose_architecture(nvrtc, capability, &architecture, &ignored);
	snprintf(text, 24, "%s_%d", architecture == capability ? "sm" : "compute", architecture);
	return text;
}

/* Copies the first line of the log that reports an error, or the first line if none does. */
static void first_error(const struct cu_nvrtc *nvrtc, void *program, char *line, size_t n)
{
	size_t bytes = 0;
	char *log = NULL;
	snprintf(line, n, "no log");
	if (nvrtc->log_size(program, &bytes) || !(log = calloc(bytes + 1, 1)) || nvrtc->log(program, log)) {
		free(log);
		return;
	}
	const char *found = strstr(log, "error");
	while (found && found > log && found[-1] != '\n')
		found--;
	if (!found)
		found = log;
	if (*found)
		snprintf(line, n, "%.*s", (int)strcspn(found, "\n"), found);
	free(log);
}

/* Makes -D options of macros ("X=f32 N=4"), after the options that are always given. `words` holds their text. */
static int options_of(const char *macros, char *words, size_t capacity, const char *architecture,
		      const char *options[MAX_OPTIONS], struct npl_err *err)
{
	int n = 0;
	size_t used = 0;
	options[n++] = architecture;
	options[n++] = "--std=c++17";
	options[n++] = "--fmad=false";
	for (const char *word = macros; *word;) {
		int length = (int)strcspn(word, " ");
		size_t bytes = (size_t)length + sizeof "-D";
		if (n >= MAX_OPTIONS || used + bytes > capacity)
			return npl_fail(err, NPL_EINTERNAL, "a kernel is asked for with too many macros: %s", macros);
		options[n++] = words + used;
		used += (size_t)snprintf(words + used, capacity - used, "-D%.*s", length, word) + 1;
		word += length;
		word += strspn(word, " ");
	}
	return n;
}

static int take_image(const struct cu_nvrtc *nvrtc, void *program, bool machine_code, char **image, size_t *bytes,
		      struct npl_err *err)
{
	int code = machine_code ? nvrtc->cubin_size(program, bytes) : nvrtc->ptx_size(program, bytes);
	if (code)
		return failed(nvrtc, machine_code ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize", code, err);
	*image = calloc(*bytes + 1, 1); /* PTX is a string and needs its 0 */
	if (!*image)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a kernel of %zu bytes", *bytes);
	code = machine_code ? nvrtc->cubin(program, *image) : nvrtc->ptx(program, *image);
	if (!code)
		return 0;
	free(*image);
	*image = NULL;
	return failed(nvrtc, machine_code ? "nvrtcGetCUBIN" : "nvrtcGetPTX", code, err);
}

static int compile(const struct cu_nvrtc *nvrtc, void *program, const char *name, const char *macros, int capability,
		   char **image, size_t *bytes, struct npl_err *err)
{
	const char *options[MAX_OPTIONS];
	char architecture[48], line[300], words[MAX_MACROS];
	int chosen, rc = choose_architecture(nvrtc, capability, &chosen, err);
	if (rc)
		return rc;
	const bool exact = chosen == capability;
	char target[24];
	snprintf(architecture, sizeof architecture, "--gpu-architecture=%s",
		 cu_nvrtc_target(nvrtc, capability, target));
	int n = options_of(macros, words, sizeof words, architecture, options, err);
	if (n < 0)
		return n;
	int code = nvrtc->compile(program, n, options);
	if (code == NVRTC_ERROR_COMPILATION) {
		first_error(nvrtc, program, line, sizeof line);
		return npl_fail(err, NPL_EINTERNAL, "the kernel %s (%s) does not compile for %s: %s", name, macros,
				architecture + strlen("--gpu-architecture="), line);
	}
	if (code != NVRTC_SUCCESS)
		return failed(nvrtc, "nvrtcCompileProgram", code, err);
	return take_image(nvrtc, program, exact, image, bytes, err);
}

int cu_nvrtc_compile(const struct cu_nvrtc *nvrtc, const char *name, const char *macros, int capability, char **image,
		     size_t *bytes, struct npl_err *err)
{
	const char *text = NULL, *headers[MAX_TEXTS], *names[MAX_TEXTS];
	int n = 0;
	*image = NULL;
	for (const struct cu_text *t = cu_texts; t->name; t++)
		if (!strcmp(t->name, name)) {
			text = t->text;
		} else if (strchr(strrchr(t->name, '.'), 'h') && n < MAX_TEXTS) {
			headers[n] = t->text;
			names[n++] = t->name;
		}
	if (!text)
		return npl_fail(err, NPL_EINTERNAL, "there is no kernel source %s", name);
	void *program = NULL;
	int code = nvrtc->create(&program, text, name, n, headers, names);
	if (code)
		return failed(nvrtc, "nvrtcCreateProgram", code, err);
	int rc = compile(nvrtc, program, name, macros, capability, image, bytes, err);
	nvrtc->destroy(&program);
	return rc;
}
