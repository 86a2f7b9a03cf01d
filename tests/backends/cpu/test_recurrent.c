/* SPDX-License-Identifier: MIT
 *
 * Promise of recurrent layers on the cpu: in every form (direction, peepholes, lengths, reset before or after the
 * product, states given or not), with few samples and with many, on one thread and on two, results are the reference's
 * within 1e-4. */
#include "tests/kit/recurrent_net.h"

static struct net make_layer(const char *op, uint64_t *rng)
{
	static const char *const directions[] = {"forward", "reverse", "bidirectional"};
	const int64_t gates = !strcmp(op, "LSTM") ? 4 : !strcmp(op, "GRU") ? 3 : 1;
	const int direction = (int)test_range(rng, 0, 2);
	const int64_t many = direction == 2 ? 2 : 1, steps = test_range(rng, 1, 6),
		      batch = test_range(rng, 0, 2) ? test_range(rng, 1, 7) : test_range(rng, 16, 21),
		      input = test_range(rng, 1, 40), hidden = test_range(rng, 1, 50);
	const bool lengths = test_range(rng, 0, 1), states = test_range(rng, 0, 1);
	struct onnx_writer g = {0}, attrs = {0};
	char in[80];
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){steps, batch, input});
	put_weights(&g, rng, "w", 3, (int64_t[]){many, gates * hidden, input});
	put_weights(&g, rng, "r", 3, (int64_t[]){many, gates * hidden, hidden});
	put_weights(&g, rng, "b", 2, (int64_t[]){many, 2 * gates * hidden});
	put_weights(&g, rng, "h0", 3, (int64_t[]){many, batch, hidden});
	put_weights(&g, rng, "c0", 3, (int64_t[]){many, batch, hidden});
	put_weights(&g, rng, "p", 2, (int64_t[]){many, 3 * hidden});
	if (lengths) {
		int32_t length[32];
		for (int64_t i = 0; i < batch; i++)
			length[i] = (int32_t)test_range(rng, 0, steps);
		struct onnx_writer tensor = onnx_tensor_of("lens", ONNX_INT32, 1, &batch, length, (size_t)batch * 4);
		onnx_put_message(&g, 5, &tensor);
	}
	onnx_put_attr_int(&attrs, "hidden_size", hidden);
	put_text(&attrs, "direction", directions[direction]);
	if (gates == 3)
		onnx_put_attr_int(&attrs, "linear_before_reset", test_range(rng, 0, 1));
	if (test_range(rng, 0, 2) == 0)
		onnx_put_attr_float(&attrs, "clip", 0.6f);
	snprintf(in, sizeof in, "x w r b %s %s%s", lengths ? "lens" : "-", states ? "h0" : "-",
		 gates == 4 && states ? " c0 p" : "");
	onnx_put_node(&g, op, "cell", in, "y last", &attrs);
	onnx_put_output(&g, "y");
	onnx_put_output(&g, "last");
	return make_net(&g, rng);
}

Test(cpu_recurrent, every_form_equals_the_reference)
{
	static const char *const ops[] = {"LSTM", "GRU", "RNN"};
	for (int threads = 1; threads <= 2; threads++) {
		char set[32];
		snprintf(set, sizeof set, "threads=%d", threads);
		struct npl_device *cpu = open_device_set("cpu", 1, (const char *const[]){set});
		for (int round = 0; round < 90; round++) {
			uint64_t rng = 0x5eed0351 + (uint64_t)round;
			struct net net = make_layer(ops[round % 3], &rng);
			struct outcome o = run_net(&net, &cpu, 1, NULL, false);
			cr_assert_str_eq(row_of(&net, &o, "cell")->ran_on, "cpu");
			cr_assert_lt(error_of(&net, o.out), 1e-4, "round %d, %s, %d threads: %g", round, ops[round % 3],
				     threads, error_of(&net, o.out));
			free_outcome(&net, &o);
			free_net(&net);
		}
		npl_device_close(cpu);
	}
}
