/* SPDX-License-Identifier: MIT
 *
 * libFuzzer on settings files: any bytes are read as a machine's YAML file. Either they are refused with one line that
 * blames the input, or every key and value is a string with its line, and for each driver whose schema takes them the
 * effective machine, dumped as YAML, reads back to the same dump.
 *
 * The file is a memfd, opened by its name below /proc like any other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/files/settings.h"
#include "npulab/driver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libFuzzer reports an abort as a crash, with the input. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_message(int rc, const struct npl_err *err)
{
	require(rc == 0 || rc == NPL_EINPUT);
	require(!rc || (err->code == rc && *err->msg && !strchr(err->msg, '\n')));
}

/* The path of a file with these bytes; *fd is to be closed. */
static void make_file(const void *data, size_t size, char path[64], int *fd)
{
	*fd = memfd_create("settings", 0);
	require(*fd >= 0 && write(*fd, data, size) == (ssize_t)size);
	snprintf(path, 64, "/proc/self/fd/%d", *fd);
}

static void check_settings(const char *path)
{
	struct npl_arena arena = {0};
	struct npl_setting *setting = NULL;
	struct npl_err err = {0};
	int n = 0;
	int rc = npl_settings_load(path, &arena, &setting, &n, &err);
	check_message(rc, &err);
	for (int i = 0; i < n && !rc; i++)
		require(strlen(setting[i].key) < ((size_t)1 << 21) && setting[i].value && setting[i].line > 0);
	npl_arena_free(&arena);
}

/* The dump of what a driver makes of the file; NULL when it refuses it. */
static char *dump(const char *path, const struct npl_driver *driver, struct npl_arena *arena)
{
	struct npl_description machine;
	struct npl_err err = {0};
	char *text = NULL;
	int rc = npl_description_load(path, "driver", arena, &machine, &err);
	check_message(rc, &err);
	if (rc)
		return NULL;
	void *config = calloc(1, driver->config_bytes);
	require(config != NULL);
	rc = npl_params_read(driver->params, &machine, arena, config, &err);
	check_message(rc, &err);
	if (!rc) {
		text = npl_params_dump(driver->params, &machine, config, arena);
		require(text != NULL);
	}
	free(config);
	return text;
}

static void check_round_trip(const char *path, const struct npl_driver *driver)
{
	struct npl_arena arena = {0};
	char *first = dump(path, driver, &arena);
	if (first) {
		char again[64];
		int fd;
		make_file(first, strlen(first), again, &fd);
		char *second = dump(again, driver, &arena);
		require(second && !strcmp(first, second));
		close(fd);
	}
	npl_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd;
	make_file(data, size, path, &fd);
	check_settings(path);
	for (const struct npl_driver *const *driver = npl_drivers; *driver; driver++)
		if ((*driver)->params)
			check_round_trip(path, *driver);
	close(fd);
	return 0;
}
