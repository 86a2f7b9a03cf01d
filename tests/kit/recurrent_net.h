/* SPDX-License-Identifier: MIT
 *
 * What tests of recurrent networks share: attributes that are texts, and a network with two of them.
 */
#ifndef NPULAB_TESTS_KIT_RECURRENT_NET_H
#define NPULAB_TESTS_KIT_RECURRENT_NET_H

#include "session_net.h"

static inline void put_text(struct onnx_writer *attrs, const char *name, const char *text)
{
	struct onnx_writer value = {0};
	onnx_put_string(&value, 4, text);
	onnx_put_attr(attrs, name, 3, &value);
}

/* x (5,3,6) -> up MatMul -> mix Conv, an image's as far as it knows -> lstm, both ways, whose Y and Y_c are read ->
 * gru, of which Y_h alone is -> down MatMul -> y; c is the LSTM's other output. The graph has to be loaded by
 * make_net. */
static inline struct onnx_writer recurrent_graph(uint64_t *rng)
{
	struct onnx_writer g = {0}, outputs = {0}, cells = {0}, order = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){5, 3, 6});
	put_weights(&g, rng, "w1", 2, (int64_t[]){6, 7});
	put_weights(&g, rng, "wc", 3, (int64_t[]){3, 3, 1});
	put_weights(&g, rng, "wl", 3, (int64_t[]){2, 16, 7});
	put_weights(&g, rng, "rl", 3, (int64_t[]){2, 16, 4});
	put_weights(&g, rng, "bl", 2, (int64_t[]){2, 32});
	put_weights(&g, rng, "pl", 2, (int64_t[]){2, 12});
	put_weights(&g, rng, "c0", 3, (int64_t[]){2, 3, 4});
	put_weights(&g, rng, "wg", 3, (int64_t[]){1, 15, 8});
	put_weights(&g, rng, "rg", 3, (int64_t[]){1, 15, 5});
	put_weights(&g, rng, "w2", 2, (int64_t[]){5, 3});
	onnx_put_int64s(&g, "joined", 3, (int64_t[]){5, 3, 8});
	onnx_put_attr_int(&outputs, "hidden_size", 4);
	put_text(&outputs, "direction", "bidirectional");
	onnx_put_attr_ints(&order, "perm", 4, (int64_t[]){0, 2, 1, 3});
	onnx_put_attr_int(&cells, "hidden_size", 5);
	onnx_put_node(&g, "MatMul", "up", "x w1", "a", NULL);
	onnx_put_node(&g, "Conv", "mix", "a wc", "m", NULL);
	onnx_put_node(&g, "LSTM", "lstm", "m wl rl bl - - c0 pl", "b - c", &outputs);
	onnx_put_node(&g, "Transpose", "turn", "b", "t", &order);
	onnx_put_node(&g, "Reshape", "join", "t joined", "j", NULL);
	onnx_put_node(&g, "GRU", "gru", "j wg rg", "- h", &cells);
	onnx_put_node(&g, "MatMul", "down", "h w2", "y", NULL);
	onnx_put_output(&g, "c");
	onnx_put_output(&g, "y");
	return g;
}

#endif
