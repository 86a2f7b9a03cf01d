/* SPDX-License-Identifier: MIT
 *
 * NVRTC and modules on a processor (native.h). */
#include "native.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TEST_CC /* the Makefile says what the tests themselves are built with */
#define TEST_CC            "cc"
#define TEST_KERNEL_FLAGS  ""
#define TEST_KERNEL_FOLDER "build/kernels"
#endif

enum { MAX_HEADERS = 16, MAX_OPTIONS = 48, PATH_BYTES = 1024, COMPILATION_FAILED = 6, INVALID_VALUE = 1 };

#define SHIM "tests/kit/cuda/kernel_native.h"
enum { ROOT_BYTES = PATH_BYTES - 200 };

struct cuda_native_counts cuda_native_counts;
int (*cuda_native_before_launch)(void *stream);

struct program {
	char *source, *name;
	int n_headers;
	char *header[MAX_HEADERS], *header_name[MAX_HEADERS];
	char object[PATH_BYTES];
	char *log;
};

static int nvrtc_version(int *major, int *minor)
{
	*major = 13;
	*minor = 0;
	return 0;
}

static int nvrtc_count(int *n)
{
	*n = 3;
	return 0;
}

static int nvrtc_architectures(int *n_known)
{
	n_known[0] = 75;
	n_known[1] = 80;
	n_known[2] = 90;
	return 0;
}

static int nvrtc_create(void **to, const char *source, const char *name, int n, const char *const *headers,
			const char *const *names)
{
	struct program *program = calloc(1, sizeof *program);
	if (!program || n > MAX_HEADERS)
		return 1;
	program->source = strdup(source);
	program->name = strdup(name);
	for (int i = 0; i < n; i++) {
		program->header[i] = strdup(headers[i]);
		program->header_name[i] = strdup(names[i]);
	}
	program->n_headers = n;
	cuda_native_counts.programs++;
	*to = program;
	return 0;
}

static int nvrtc_destroy(void **at)
{
	struct program *program = *at;
	for (int i = 0; i < program->n_headers; i++) {
		free(program->header[i]);
		free(program->header_name[i]);
	}
	free(program->source);
	free(program->name);
	free(program->log);
	free(program);
	cuda_native_counts.destroyed++;
	*at = NULL;
	return 0;
}

static uint64_t hashed(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash * 31;
}

static int write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	if (!file)
		return 1;
	int failed = fputs(text, file) < 0;
	return fclose(file) || failed;
}

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 65536);
	if (file && text)
		text[fread(text, 1, 65535, file)] = '\0';
	if (file)
		fclose(file);
	return text;
}

/* The folder of the sources, above that of this code, whichever is the current one; "." where there is none. */
static void find_root(char root[ROOT_BYTES])
{
	char path[PATH_BYTES];
	Dl_info this_object;
	char *absolute = dladdr((const void *)&cuda_native_counts, &this_object) && this_object.dli_fname
				 ? realpath(this_object.dli_fname, NULL)
				 : NULL;
	for (char *slash = absolute ? strrchr(absolute, '/') : NULL; slash; slash = strrchr(absolute, '/')) {
		*slash = '\0';
		snprintf(root, ROOT_BYTES, "%s", absolute);
		snprintf(path, sizeof path, "%s/" SHIM, root);
		if (!access(path, R_OK))
			break;
	}
	if (!absolute || !*absolute || access(path, R_OK))
		snprintf(root, ROOT_BYTES, ".");
	free(absolute);
}

/* Runs the compiler with its messages in a file; its exit status. */
static int run(char *const *argv, const char *messages)
{
	posix_spawn_file_actions_t actions;
	pid_t child;
	int status = -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 2, messages, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	int failed = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (failed)
		return failed;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int build(struct program *program, const char *shim, int n_options, const char *const *options)
{
	const char *const always[] = {TEST_CC, "-std=gnu17", "-O1", "-ffp-contract=off", "-w", "-shared",
				      "-fPIC", "-include",   shim};
	char folder[PATH_BYTES + 16], path[PATH_BYTES + 80], flags[] = TEST_KERNEL_FLAGS, object[PATH_BYTES + 32],
							     messages[PATH_BYTES + 32], include[PATH_BYTES + 32];
	char *argv[MAX_OPTIONS];
	int n = 0;
	snprintf(folder, sizeof folder, "%.1000s.%d", program->object, (int)getpid());
	if (mkdir(folder, 0755))
		return 1;
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		argv[n++] = (char *)always[i];
	for (char *save = NULL, *flag = strtok_r(flags, " ", &save); flag; flag = strtok_r(NULL, " ", &save))
		argv[n++] = flag;
	for (int i = 0; i < n_options && n < MAX_OPTIONS - 8; i++)
		if (!strncmp(options[i], "-D", 2))
			argv[n++] = (char *)options[i];
	for (int i = 0; i < program->n_headers; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, program->header_name[i]);
		if (write_text(path, program->header[i]))
			return 1;
	}
	snprintf(path, sizeof path, "%s/%s", folder, program->name);
	if (write_text(path, program->source))
		return 1;
	snprintf(include, sizeof include, "-I%s", folder);
	snprintf(object, sizeof object, "%s/made.so", folder);
	snprintf(messages, sizeof messages, "%s/messages", folder);
	char *const last_arguments[] = {include, "-o", object, "-x", "c", path, "-lm", NULL};
	for (int i = 0; i < 8; i++)
		argv[n++] = last_arguments[i];
	int status = run(argv, messages);
	program->log = read_text(messages);
	if (!status)
		status = rename(object, program->object); /* whole, whoever makes the same beside us */
	for (int i = 0; i < program->n_headers; i++) {
		char header[PATH_BYTES + 80];
		snprintf(header, sizeof header, "%s/%s", folder, program->header_name[i]);
		unlink(header);
	}
	unlink(path);
	unlink(object);
	unlink(messages);
	rmdir(folder);
	return status;
}

static int nvrtc_compile(void *at, int n, const char *const *options)
{
	struct program *program = at;
	char root[ROOT_BYTES], shim[PATH_BYTES];
	find_root(root);
	snprintf(shim, sizeof shim, "%s/" SHIM, root);
	char *text = read_text(shim);
	uint64_t hash = hashed(hashed(hashed(1, program->source), text), TEST_CC " " TEST_KERNEL_FLAGS);
	free(text);
	for (int i = 0; i < program->n_headers; i++)
		hash = hashed(hash, program->header[i]);
	for (int i = 0; i < n; i++)
		hash = hashed(hash, options[i]);
	snprintf(program->object, sizeof program->object, "%s/" TEST_KERNEL_FOLDER, root);
	mkdir(program->object, 0755);
	snprintf(program->object, sizeof program->object, "%s/" TEST_KERNEL_FOLDER "/%.*s-%016llx.so", root,
		 (int)strcspn(program->name, "."), program->name, (unsigned long long)hash);
	if (!access(program->object, R_OK))
		return 0;
	return build(program, shim, n, options) ? COMPILATION_FAILED : 0;
}

static int nvrtc_log_size(void *at, size_t *bytes)
{
	struct program *program = at;
	*bytes = program->log ? strlen(program->log) + 1 : 1;
	return 0;
}

static int nvrtc_log(void *at, char *log)
{
	struct program *program = at;
	strcpy(log, program->log ? program->log : "");
	return 0;
}

/* The image is the path of the object. */
static int nvrtc_size(void *at, size_t *bytes)
{
	*bytes = strlen(((struct program *)at)->object) + 1;
	return 0;
}

static int nvrtc_image(void *at, char *image)
{
	strcpy(image, ((struct program *)at)->object);
	return 0;
}

static const char *nvrtc_error(int code)
{
	return code == COMPILATION_FAILED ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}

static int module_load(void **module, const void *image)
{
	*module = dlopen(image, RTLD_NOW | RTLD_LOCAL);
	if (!*module) {
		fprintf(stderr, "%s\n", dlerror());
		return INVALID_VALUE;
	}
	cuda_native_counts.modules++;
	return 0;
}

static int module_unload(void *module)
{
	cuda_native_counts.unloaded++;
	return dlclose(module) ? INVALID_VALUE : 0;
}

static int module_function(void **function, void *module, const char *name)
{
	*function = dlsym(module, name);
	return *function ? 0 : INVALID_VALUE;
}

size_t cuda_native_argument_bytes(void *function)
{
	size_t (*kernel)(const unsigned *, const unsigned *, const void *);
	memcpy(&kernel, &function, sizeof kernel);
	return kernel(NULL, NULL, NULL);
}

static int launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
		  unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra)
{
	const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
	size_t (*kernel)(const unsigned *, const unsigned *, const void *);
	unsigned threads = block_x * block_y * block_z;
	if (!grid_x || grid_x > INT32_MAX || !grid_y || grid_y > 65535 || !grid_z || grid_z > 65535 || !threads ||
	    threads > 1024 || block_z > 64 || shared_bytes > 49152 || extra)
		return INVALID_VALUE;
	int code = cuda_native_before_launch ? cuda_native_before_launch(stream) : 0;
	if (code)
		return code;
	memcpy(&kernel, &function, sizeof kernel);
	kernel(grid, block, parameters[0]);
	cuda_native_counts.launches++;
	Dl_info named;
	if (dladdr(function, &named) && named.dli_sname)
		cuda_native_counts.moves += !strcmp(named.dli_sname, "transpose") || !strcmp(named.dli_sname, "copy");
	if (grid_x > cuda_native_counts.most_blocks)
		cuda_native_counts.most_blocks = grid_x;
	return 0;
}

void *cuda_native_symbol(const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} symbols[] = {
		{"nvrtcVersion", (void (*)(void))nvrtc_version},
		{"nvrtcGetNumSupportedArchs", (void (*)(void))nvrtc_count},
		{"nvrtcGetSupportedArchs", (void (*)(void))nvrtc_architectures},
		{"nvrtcCreateProgram", (void (*)(void))nvrtc_create},
		{"nvrtcDestroyProgram", (void (*)(void))nvrtc_destroy},
		{"nvrtcCompileProgram", (void (*)(void))nvrtc_compile},
		{"nvrtcGetProgramLogSize", (void (*)(void))nvrtc_log_size},
		{"nvrtcGetProgramLog", (void (*)(void))nvrtc_log},
		{"nvrtcGetCUBINSize", (void (*)(void))nvrtc_size},
		{"nvrtcGetCUBIN", (void (*)(void))nvrtc_image},
		{"nvrtcGetPTXSize", (void (*)(void))nvrtc_size},
		{"nvrtcGetPTX", (void (*)(void))nvrtc_image},
		{"nvrtcGetErrorString", (void (*)(void))nvrtc_error},
		{"cuModuleLoadData", (void (*)(void))module_load},
		{"cuModuleUnload", (void (*)(void))module_unload},
		{"cuModuleGetFunction", (void (*)(void))module_function},
		{"cuLaunchKernel", (void (*)(void))launch},
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!strcmp(symbols[i].name, name)) {
			void *pointer;
			memcpy(&pointer, &symbols[i].function, sizeof pointer);
			return pointer;
		}
	return NULL;
}
