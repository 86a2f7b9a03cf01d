/* SPDX-License-Identifier: MIT
 *
 * Our declarations of CUDA agree with the toolkit's headers, where those are installed (tests/kit/cuda/headers.c);
 * elsewhere skipped. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INCLUDE "/usr/local/cuda/include"

#ifndef TEST_CC
#define TEST_CC "cc"
#endif

static int compile(const char *part, const char *more)
{
	char command[300];
	snprintf(command, sizeof command,
		 TEST_CC " -std=c17 -D_GNU_SOURCE -w -D%s %s -Iinclude -I. -isystem " INCLUDE
			 " -fsyntax-only tests/kit/cuda/headers.c",
		 part, more);
	return system(command);
}

static void check(const char *part, const char *header)
{
	char path[100];
	snprintf(path, sizeof path, INCLUDE "/%s", header);
	if (access(path, R_OK))
		cr_skip("%s is not there", path);
	cr_assert_eq(compile(part, ""), 0, "backends/cuda and %s disagree", header);
	cr_assert_neq(compile(part, "-DWRONG 2>/dev/null"), 0, "the comparison compares nothing");
}

Test(cuda_headers, declarations_are_those_of_the_driver)
{
	check("DRIVER", "cuda.h");
}

Test(cuda_headers, declarations_are_those_of_cublaslt)
{
	check("BLAS", "cublasLt.h");
}

Test(cuda_headers, declarations_are_those_of_cudnn)
{
	check("DNN", "cudnn.h");
}
