/* SPDX-License-Identifier: MIT
 *
 * libFuzzer on NumPy's .npy files, as files: any bytes are refused with one line that names the file and blames the
 * input, or give a tensor that, saved and loaded again, has the same type, shape and bytes, and saved once more makes
 * the same file. onnx.c reads .npy from memory, where the sanitizer sees each step past the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files/file.h"
#include "npulab/graph.h"
#include "npulab/tensor_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[256];

/* libFuzzer reports an abort as a crash, with the input. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static const char *path_of(const char *name, char path[300])
{
	snprintf(path, 300, "%s/%s.npy", folder, name);
	return path;
}

static void remove_folder(void)
{
	char path[300];
	static const char *const names[] = {"given", "saved", "again"};
	for (int i = 0; i < 3; i++)
		remove(path_of(names[i], path));
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *parent = getenv("TMPDIR");
	(void)argc, (void)argv;
	snprintf(folder, sizeof folder, "%s/fuzz_npy_XXXXXX", parent && *parent ? parent : "/tmp");
	require(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
	return 0;
}

static void save(const struct npl_tensor *tensor, const char *path)
{
	struct npl_err err = {0};
	require(npl_tensor_save_npy(path, tensor, &err) == 0);
}

static void check_same_files(const char *one, const char *other)
{
	struct npl_file a = {0}, b = {0};
	struct npl_err err = {0};
	require(!npl_file_map(one, SIZE_MAX, &a, &err) && !npl_file_map(other, SIZE_MAX, &b, &err));
	require(a.bytes == b.bytes && !memcmp(a.data, b.data, a.bytes));
	npl_file_unmap(&a);
	npl_file_unmap(&b);
}

static void check_tensor(const struct npl_tensor *tensor)
{
	char saved[300], again[300];
	struct npl_tensor copy = {0};
	struct npl_err err = {0};
	require(tensor->dtype < NPL_DTYPES && npl_tensor_count(tensor) >= 0);
	save(tensor, path_of("saved", saved));
	require(npl_tensor_load(saved, &copy, &err) == 0);
	require(copy.dtype == tensor->dtype && npl_shape_equal(&copy.shape, &tensor->shape));
	require(!npl_tensor_bytes(tensor) || !memcmp(copy.data, tensor->data, npl_tensor_bytes(tensor)));
	save(&copy, path_of("again", again));
	check_same_files(saved, again);
	npl_tensor_free(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[300];
	struct npl_tensor tensor = {0};
	struct npl_err err = {0};
	FILE *file = fopen(path_of("given", path), "wb");
	require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
	int rc = npl_tensor_load(path, &tensor, &err);
	if (rc) {
		require(rc == NPL_EINPUT && err.code == rc && !strncmp(err.msg, path, strlen(path)) &&
			!strchr(err.msg, '\n'));
		require(!tensor.data);
	} else
		check_tensor(&tensor);
	npl_tensor_free(&tensor);
	return 0;
}
