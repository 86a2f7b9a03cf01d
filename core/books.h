/* SPDX-License-Identifier: MIT
 *
 * The books of a layer: what must balance after every run, in every build. */
#ifndef NPULAB_CORE_BOOKS_H
#define NPULAB_CORE_BOOKS_H

#include "least_bytes.h"

/* Returns NPL_EINTERNAL with the place and both figures when the result contradicts itself or the layer. Raises
 * result->bytes_at_least to `least`: a driver that knows of more bytes has put a greater number there, which is
 * kept. */
int npl_books_check(const char *device, const struct npl_device_info *info, const struct npl_layer *layer,
		    const struct npl_least_bytes *least, struct npl_result *result, struct npl_err *err);

#endif
