/* SPDX-License-Identifier: MIT
 *
 * Fills a tensor with random elements. `npulab layer` uses it for operands; so do rooflines, benchmarks and tests.
 */
#ifndef NPULAB_FRONTEND_COMPARE_DRAW_H
#define NPULAB_FRONTEND_COMPARE_DRAW_H

#include "npulab/random.h"
#include "npulab/tensor.h"

/* Draws a tensor's elements from random, as the head of npulab/single_layer.h describes. */
void npl_draw(struct npl_tensor *tensor, struct npl_random *random);

#endif
