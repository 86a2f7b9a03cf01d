/* SPDX-License-Identifier: MIT
 *
 * Elements of tensors of any type, for tests: their bits, and their values as the widest numbers there are. */
#ifndef NPULAB_TESTS_KIT_ELEMENTS_SUPPORT_H
#define NPULAB_TESTS_KIT_ELEMENTS_SUPPORT_H

#include <string.h>

#include "core/base/half.h"
#include "npulab/tensor.h"

static inline uint64_t test_bits(const struct npl_tensor *tensor, int64_t i)
{
	uint64_t bits = 0;
	size_t size = npl_dtype_size(tensor->dtype);
	memcpy(&bits, (const char *)tensor->data + (size_t)i * size, size);
	return bits;
}

static inline void test_set_bits(struct npl_tensor *tensor, int64_t i, uint64_t bits)
{
	size_t size = npl_dtype_size(tensor->dtype);
	memcpy((char *)tensor->data + (size_t)i * size, &bits, size);
}

/* The value of an integer of at most 63 bits. */
static inline int64_t test_whole(const struct npl_tensor *tensor, int64_t i)
{
	uint64_t bits = test_bits(tensor, i);
	switch (tensor->dtype) {
	case NPL_I8:
		return (int8_t)bits;
	case NPL_I16:
		return (int16_t)bits;
	case NPL_I32:
		return (int32_t)bits;
	default:
		return (int64_t)bits;
	}
}

static inline double test_real(const struct npl_tensor *tensor, int64_t i)
{
	uint64_t bits = test_bits(tensor, i);
	uint32_t low = (uint32_t)bits;
	float narrow;
	double wide;
	memcpy(&narrow, &low, sizeof narrow);
	memcpy(&wide, &bits, sizeof wide);
	switch (tensor->dtype) {
	case NPL_F32:
		return (double)narrow;
	case NPL_F64:
		return wide;
	case NPL_U64:
		return (double)bits;
	default:
		return (double)test_whole(tensor, i);
	}
}

#endif
