/* SPDX-License-Identifier: MIT
 *
 * Where this build's CUDA without a GPU lies: the folder that LD_LIBRARY_PATH takes. The Makefile tells it; what only
 * reads the source, as clang-tidy does, has the path of a usual build. */
#ifndef NPULAB_TESTS_KIT_FAKE_CUDA_PATH_H
#define NPULAB_TESTS_KIT_FAKE_CUDA_PATH_H

#ifndef TEST_FAKE_CUDA
#define TEST_FAKE_CUDA "build/release/fake_cuda"
#endif

#endif
