/* SPDX-License-Identifier: MIT
 *
 * A few samples for the network digits, in a file: runs on the engine rtl that take little time. */
#ifndef NPULAB_TESTS_KIT_DIGITS_INPUT_H
#define NPULAB_TESTS_KIT_DIGITS_INPUT_H

#include "cli_run.h"
#include "npulab/tensor_file.h"

/* Writes `in.npy`: so many random images, of a fixed seed. */
static inline void digits_input(const char *folder, int64_t samples)
{
	struct npl_tensor images = {.dtype = NPL_F32,
				    .shape = npl_shape_of(4, samples, (int64_t)1, (int64_t)8, (int64_t)8)};
	struct npl_err err = {0};
	uint64_t rng = 17;
	cr_assert_eq(npl_tensor_alloc(&images, &err), 0, "%s", err.msg);
	for (int64_t i = 0; i < npl_tensor_count(&images); i++)
		((float *)images.data)[i] = (float)test_range(&rng, 0, 1000) / 1000;
	cr_assert_eq(npl_tensor_save_npy(cli_path(folder, "in.npy"), &images, &err), 0, "%s", err.msg);
	npl_tensor_free(&images);
}

#endif
