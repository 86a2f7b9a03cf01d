/* SPDX-License-Identifier: MIT
 *
 * Promises of the cache of settings files (core/files/settings_cache.h): whatever was read before, a file reads as its
 * bytes say now, each reader has a copy of its own, and threads may read at the same time. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files/settings.h"
#include "tests/kit/support.h"

enum { FILES = 40, ROUNDS = 600, THREADS = 4 }; /* more files than the cache keeps */

static char folder[] = "/tmp/npulab-settings-XXXXXX";

static void path_of(int i, char *path, size_t n)
{
	snprintf(path, n, "%s/%d.yaml", folder, i);
}

static void make_folder(void)
{
	cr_assert(mkdtemp(folder));
}

static void remove_folder(void)
{
	char path[100];
	for (int i = 0; i < FILES; i++) {
		path_of(i, path, sizeof path);
		unlink(path);
	}
	rmdir(folder);
}

TestSuite(settings_cache, .init = make_folder, .fini = remove_folder);

/* Writes a file whose text has the same length for all values. */
static void put_file(int i, int value)
{
	char path[100];
	path_of(i, path, sizeof path);
	FILE *file = fopen(path, "wb");
	cr_assert(file && fprintf(file, "name: file%02d\narray: {rows: %03d}\n", i, value) > 0 && !fclose(file));
}

static bool reads_as(int i, int value)
{
	char path[100], name[20], rows[20];
	struct npl_arena arena = {0};
	struct npl_setting *setting;
	struct npl_err err = {0};
	int n;
	path_of(i, path, sizeof path);
	snprintf(name, sizeof name, "file%02d", i);
	snprintf(rows, sizeof rows, "%03d", value);
	const bool ok = !npl_settings_load(path, &arena, &setting, &n, &err) && n == 2 &&
			!strcmp(setting[0].key, "name") && !strcmp(setting[0].value, name) && setting[0].line == 1 &&
			!strcmp(setting[1].key, "array.rows") && !strcmp(setting[1].value, rows) &&
			setting[1].line == 2 && setting[1].source == NPL_SOURCE_OWN;
	if (ok) /* the copy is the reader's own */
		setting[1].value = setting[0].key = "changed";
	npl_arena_free(&arena);
	return ok;
}

Test(settings_cache, a_file_reads_as_its_bytes_say_now)
{
	uint64_t rng = 1;
	int value[FILES];
	for (int i = 0; i < FILES; i++)
		put_file(i, value[i] = i);
	for (int round = 0; round < ROUNDS; round++) {
		const int few = round % 2 ? FILES : 5, i = (int)test_range(&rng, 0, few - 1);
		if (test_range(&rng, 0, 3) == 0)
			put_file(i, value[i] = (int)test_range(&rng, 0, 999));
		cr_assert(reads_as(i, value[i]), "round %d", round);
	}
}

static void *read_all(void *failures)
{
	uint64_t rng = (uint64_t)(uintptr_t)failures;
	for (int round = 0; round < ROUNDS; round++) {
		const int i = (int)test_range(&rng, 0, FILES - 1);
		*(int *)failures += !reads_as(i, i);
	}
	return NULL;
}

Test(settings_cache, threads_read_at_the_same_time)
{
	pthread_t thread[THREADS];
	int failures[THREADS] = {0};
	for (int i = 0; i < FILES; i++)
		put_file(i, i);
	for (int t = 0; t < THREADS; t++)
		cr_assert_eq(pthread_create(&thread[t], NULL, read_all, &failures[t]), 0);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(thread[t], NULL);
		cr_assert_eq(failures[t], 0, "thread %d", t);
	}
}

/* What cannot be read is refused each time, also after a text at the same path that could be. */
Test(settings_cache, faults_are_refused_each_time)
{
	char path[100];
	struct npl_arena arena = {0};
	struct npl_setting *setting;
	int n;
	put_file(0, 1);
	cr_assert(reads_as(0, 1));
	path_of(0, path, sizeof path);
	FILE *file = fopen(path, "wb");
	cr_assert(file && fprintf(file, "name: file00\nname: file01\n") > 0 && !fclose(file));
	for (int k = 0; k < 2; k++) {
		struct npl_err err = {0};
		cr_assert_eq(npl_settings_load(path, &arena, &setting, &n, &err), NPL_EINPUT);
		cr_assert(strstr(err.msg, "'name' is set twice"), "%s", err.msg);
	}
	npl_arena_free(&arena);
}
