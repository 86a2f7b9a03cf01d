/* SPDX-License-Identifier: MIT
 *
 * A product of two square matrices as a layer, for measuring a device's peak. */
#ifndef NPULAB_FRONTEND_COMPARE_SQUARE_PRODUCT_H
#define NPULAB_FRONTEND_COMPARE_SQUARE_PRODUCT_H

#include "core/one_layer_group.h"
#include "npulab/layer.h"

/* y = x * w. The layer points to the other members, so that the struct stays where it is. `on_device` is its layer
 * group where x and the result stay on the device. */
struct square_product {
	struct npl_tensor x, w, y;
	struct npl_attrs attrs;
	struct npl_layer layer;
	struct npl_one_layer_group on_device;
	const struct npl_tensor *constant;
};

/* Describes the product of matrices of this type, of int32 where that has 8 bits. No tensor has data yet. */
void square_product_init(struct square_product *p, enum npl_dtype dtype, int64_t size);
/* Gives x and w random values, the same each time. */
int square_product_draw(struct square_product *p, struct npl_err *err);
void square_product_free(struct square_product *p);

#endif
