/* SPDX-License-Identifier: MIT
 *
 * The data of a case: test_data_set_N/input_K.pb and output_K.pb. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "impl.h"
#include "npulab/tensor_file.h"

static int ascending(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

int *npl_data_set_numbers(const char *case_path, int *n)
{
	static const char prefix[] = "test_data_set_";
	int *numbers = NULL;
	int64_t capacity = 0;
	DIR *dir = opendir(case_path);
	*n = 0;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		const char *digits = entry->d_name + strlen(prefix);
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || strlen(digits) > 9 || !*digits ||
		    digits[strspn(digits, "0123456789")] || (*digits == '0' && digits[1]))
			continue;
		int *grown = npl_grow(numbers, *n, &capacity, sizeof *grown);
		if (!grown)
			break;
		numbers = grown;
		numbers[(*n)++] = atoi(digits);
	}
	if (dir)
		closedir(dir);
	if (numbers)
		qsort(numbers, (size_t)*n, sizeof *numbers, ascending);
	return numbers;
}

static int load_tensors(const char *folder, const char *kind, struct npl_tensor **list, int *n, struct npl_err *err)
{
	int64_t capacity = 0;
	for (;;) {
		char path[PATH_MAX];
		if (snprintf(path, sizeof path, "%s/%s_%d.pb", folder, kind, *n) >= (int)sizeof path)
			return npl_fail(err, NPL_EINPUT, "%s: the path is too long", folder);
		if (access(path, F_OK))
			return 0;
		struct npl_tensor *grown = npl_grow(*list, *n, &capacity, sizeof *grown);
		if (!grown)
			return npl_no_memory(err);
		*list = grown;
		if (npl_tensor_load(path, &grown[*n], err))
			return err->code;
		++*n;
	}
}

static bool bits_are_bfloat16(struct npl_tensor *t, int n, const enum npl_dtype *declared, int n_declared)
{
	bool any = false;
	for (int i = 0; i < n && i < n_declared; i++)
		if (t[i].dtype == NPL_U16 && declared[i] == NPL_BF16) {
			t[i].dtype = NPL_BF16;
			any = true;
		}
	return any;
}

int npl_data_set_load(const char *case_path, int number, const struct onnx_survey *model, struct npl_data_set *set,
		      struct npl_err *err)
{
	char folder[PATH_MAX];
	*set = (struct npl_data_set){0};
	if (snprintf(folder, sizeof folder, "%s/test_data_set_%d", case_path, number) >= (int)sizeof folder)
		return npl_fail(err, NPL_EINPUT, "%s: the path is too long", case_path);
	int rc = load_tensors(folder, "input", &set->in, &set->n_in, err);
	if (!rc)
		rc = load_tensors(folder, "output", &set->out, &set->n_out, err);
	if (!rc && !set->n_out)
		rc = npl_fail(err, NPL_EINPUT, "%s: holds no output_0.pb", folder);
	if (rc) {
		npl_data_set_free(set);
		return rc;
	}
	set->has_bits = bits_are_bfloat16(set->in, set->n_in, model->input_type, model->n_inputs);
	bits_are_bfloat16(set->out, set->n_out, model->output_type, model->n_outputs);
	return 0;
}

void npl_data_set_free(struct npl_data_set *set)
{
	for (int i = 0; i < set->n_in; i++)
		npl_tensor_free(&set->in[i]);
	for (int i = 0; i < set->n_out; i++)
		npl_tensor_free(&set->out[i]);
	free(set->in);
	free(set->out);
	*set = (struct npl_data_set){0};
}
