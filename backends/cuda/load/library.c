/* SPDX-License-Identifier: MIT
 *
 * Finds and loads shared libraries (library.h). */
#include "library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *system_open(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void system_close(void *library)
{
	dlclose(library);
}

static const char *system_last_error(void)
{
	return dlerror();
}

const struct cu_loader cu_system_loader = {
	.open = system_open,
	.symbol = dlsym,
	.close = system_close,
	.last_error = system_last_error,
};

/* Subfolders of a folder in NPULAB_CUDA_PATH. */
static const char *const subfolders[] = {"",           "lib64/",          "cu13/lib/", "cublas/lib/",
					 "cudnn/lib/", "cuda_nvrtc/lib/", "lib/"};
static const char *const default_folders[] = {"/usr/local/cuda/lib64", "/usr/local/nvidia/lib64"};

static bool try_path(struct cu_library *library, const char *folder, size_t length, const char *subfolder,
		     const char *name)
{
	int n = snprintf(library->path, sizeof library->path, "%.*s%s%s%s", (int)length, folder, length ? "/" : "",
			 subfolder, name);
	if (n < 0 || (size_t)n >= sizeof library->path)
		return false;
	library->handle = library->loader->open(library->path);
	return library->handle != NULL;
}

static bool try_named(struct cu_library *library, const char *name)
{
	const char *list = getenv("NPULAB_CUDA_PATH");
	for (const char *cursor = list; cursor && *cursor;) {
		size_t length = strcspn(cursor, ":");
		for (size_t i = 0; length && i < sizeof subfolders / sizeof *subfolders; i++)
			if (try_path(library, cursor, length, subfolders[i], name))
				return true;
		cursor += length + (cursor[length] == ':');
	}
	return false;
}

static bool try_usual(struct cu_library *library, const char *name)
{
	for (size_t i = 0; i < sizeof default_folders / sizeof *default_folders; i++)
		if (try_path(library, default_folders[i], strlen(default_folders[i]), "", name))
			return true;
	return false;
}

int cu_library_open(const struct cu_loader *loader, const char *const *names, struct cu_library *library, char *reason,
		    size_t reason_bytes)
{
	if (reason_bytes)
		*reason = '\0';
	*library = (struct cu_library){.loader = loader};
	for (; *names; names++) {
		if (try_named(library, *names) || try_path(library, "", 0, "", *names))
			return 0;
		const char *message = loader->last_error();
		if (message && reason_bytes && !*reason)
			snprintf(reason, reason_bytes, "%s", message);
		if (try_usual(library, *names))
			return 0;
	}
	*library = (struct cu_library){0};
	return NPL_EDEVICE;
}

void cu_library_close(struct cu_library *library)
{
	if (library->handle)
		library->loader->close(library->handle);
	*library = (struct cu_library){0};
}

const char *cu_library_symbols(const struct cu_library *library, const struct cu_symbol *symbols, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		void *symbol = library->loader->symbol(library->handle, symbols[i].name);
		if (!symbol)
			return symbols[i].name;
		memcpy(symbols[i].pointer, &symbol, sizeof symbol);
	}
	return NULL;
}
