/* SPDX-License-Identifier: MIT
 *
 * Products of square matrices (square_product.h). */
#include "square_product.h"

#include "draw.h"
#include "npulab/random.h"

void square_product_init(struct square_product *p, enum npl_dtype dtype, int64_t size)
{
	const bool integers = dtype == NPL_I8 || dtype == NPL_U8;
	*p = (struct square_product){
		.attrs = {.op = NPL_OP_GEMM, .opset = 13, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}}};
	p->x = p->w = p->y = (struct npl_tensor){.dtype = dtype, .shape = npl_shape_of(2, size, size)};
	p->x.quant.scale = p->w.quant.scale = integers ? 1 : 0;
	p->y.dtype = integers ? NPL_I32 : dtype;
	p->x.name = "x";
	p->w.name = "w";
	p->y.name = "y";
	p->layer = (struct npl_layer){.name = "product",
				      .op = NPL_OP_GEMM,
				      .attrs = &p->attrs,
				      .n_in = 2,
				      .in = {&p->x, &p->w},
				      .out = &p->y,
				      .macs = (uint64_t)size * (uint64_t)size * (uint64_t)size};
	p->constant = &p->x;
	npl_one_layer_group_init(&p->on_device, &p->layer);
	p->on_device.group.n_outputs = 0;
	p->on_device.group.n_constant = 1;
	p->on_device.group.constant = &p->constant;
}

int square_product_draw(struct square_product *p, struct npl_err *err)
{
	struct npl_random random = {.state = 1};
	if (npl_tensor_alloc(&p->x, err) || npl_tensor_alloc(&p->w, err))
		return err->code;
	npl_draw(&p->x, &random);
	npl_draw(&p->w, &random);
	return 0;
}

void square_product_free(struct square_product *p)
{
	npl_tensor_free(&p->x);
	npl_tensor_free(&p->w);
	npl_tensor_free(&p->y);
}
