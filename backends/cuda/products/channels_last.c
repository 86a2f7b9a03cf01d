/* SPDX-License-Identifier: MIT
 *
 * Images with channels last (channels_last.h). */
#include "channels_last.h"

#include <string.h>

bool cu_layout_wanted(const struct cu_layer *layer)
{
	const struct cu_device *d = layer->device;
	const int rank = layer->layer->out->shape.rank;
	if (d->config->planar || (rank != 3 && rank != 4))
		return false;
	return layer->precision == CU_INT8 ||
	       ((layer->precision == CU_F16 || layer->precision == CU_BF16) && d->dnn.handle && d->gpu.major >= 7);
}

bool cu_layout_is_free(const struct npl_shape *shape)
{
	int64_t plane = 1;
	for (int d = 2; d < shape->rank; d++)
		plane *= shape->dim[d];
	return shape->rank < 3 || shape->dim[1] == 1 || plane <= 1 || !npl_shape_count(shape);
}

static void move(void *to, const void *from, size_t element)
{
	switch (element) {
	case 2:
		memcpy(to, from, 2);
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	default:
		memcpy(to, from, element);
	}
}

void cu_layout_turn(const struct npl_shape *shape, size_t element, bool to_last, const void *from, void *to)
{
	const int64_t count = npl_shape_count(shape), channels = shape->dim[1],
		      plane = count ? count / shape->dim[0] / channels : 0;
	const char *x = from;
	char *y = to;
	for (int64_t image = 0; image < count; image += channels * plane)
		for (int64_t p = 0; p < plane; p++)
			for (int64_t c = 0; c < channels; c++) {
				const int64_t plain = image + c * plane + p, last = image + p * channels + c;
				move(y + (size_t)(to_last ? last : plain) * element,
				     x + (size_t)(to_last ? plain : last) * element, element);
			}
}
