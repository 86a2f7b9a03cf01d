/* SPDX-License-Identifier: MIT
 *
 * The facts of number formats (number_format.h). */
#include "number_format.h"

static const struct {
	enum npl_dtype activations, weights;
	bool per_channel;
	float plain_scale;
} formats[] = {
#define NPL_FORMAT(constant, name, ...) {__VA_ARGS__},
#include "npulab/formats.def"
};

enum npl_dtype npl_format_dtype(enum npl_format format)
{
	return formats[format].activations;
}

enum npl_dtype npl_format_weight_dtype(enum npl_format format)
{
	return formats[format].weights;
}

bool npl_format_per_channel(enum npl_format format)
{
	return formats[format].per_channel;
}

float npl_format_plain_scale(enum npl_format format)
{
	return formats[format].plain_scale;
}
