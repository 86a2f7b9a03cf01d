/* SPDX-License-Identifier: MIT
 *
 * The facts of the devices' number formats, from include/npulab/formats.def. */
#ifndef NPULAB_CORE_NUMBER_FORMAT_H
#define NPULAB_CORE_NUMBER_FORMAT_H

#include "npulab/layer.h"

/* Returns the type of activations in a format. */
enum npl_dtype npl_format_dtype(enum npl_format format);
/* Returns the type of weights in a format. */
enum npl_dtype npl_format_weight_dtype(enum npl_format format);
/* Says whether weights have a scale per output channel. */
bool npl_format_per_channel(enum npl_format format);
/* Returns the scale of values whose range is not known. 0: values of the format have no scale. */
float npl_format_plain_scale(enum npl_format format);

#endif
