/* SPDX-License-Identifier: MIT
 *
 * Networks whose tensors are float16 or bfloat16 on the cuda device over a fake CUDA, in every precision: every layer
 * is the GPU's, its results are within the rounding of the reference, which widens each layer to float32 and rounds its
 * result.
 */
#include "core/base/half.h"
#include "npulab/driver.h"
#include "tests/kit/cuda/fake_device.h"
#include "tests/kit/session_net.h"

extern const struct npl_driver npl_driver_cuda;

TestSuite(cuda_halves, .init = cuda_fake_open, .fini = cuda_fake_close);

static const char *const precisions[] = {"precision=f32", "precision=tf32", "precision=f16", "precision=bf16",
					 "precision=int8"};

static void put_cast(struct onnx_writer *g, const char *from, const char *to, int type)
{
	struct onnx_writer attr = {0};
	onnx_put_attr_int(&attr, "to", type);
	onnx_put_node(g, "Cast", to, from, to, &attr);
}

/* A constant of 16 bits. */
static void put_halves(struct onnx_writer *g, uint64_t *rng, const char *name, int type, int rank, const int64_t *dims)
{
	const int64_t count = onnx_count(rank, dims);
	float *data = random_floats(rng, count);
	uint16_t *narrow = calloc((size_t)count, sizeof *narrow);
	cr_assert(narrow);
	npl_half_narrow(type == ONNX_FLOAT16 ? NPL_F16 : NPL_BF16, data, count, narrow);
	struct onnx_writer t = onnx_tensor_of(name, type, rank, dims, narrow, (size_t)count * sizeof *narrow);
	onnx_put_message(g, 5, &t);
	free(narrow);
	free(data);
}

/* The network's outputs are float32, as its input is. */
static void end_with(struct onnx_writer *g, const char *const *results, int n)
{
	for (int i = 0; i < n; i++) {
		char name[16];
		snprintf(name, sizeof name, "y%d", i);
		put_cast(g, results[i], name, ONNX_FLOAT);
		onnx_put_output(g, name);
	}
}

/* Convolutions with pads, dilations and groups, a bias with Relu after it, and one without; poolings; a residual; a
 * transposed one. */
static struct net convolutions(uint64_t *rng, int type)
{
	struct onnx_writer g = {0}, pads = {0}, depth = {0}, grouped = {0}, pool = {0}, up = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 3, 12, 13});
	put_halves(&g, rng, "w1", type, 4, (int64_t[]){8, 3, 3, 3});
	put_halves(&g, rng, "b1", type, 1, (int64_t[]){8});
	put_halves(&g, rng, "w2", type, 4, (int64_t[]){8, 1, 3, 3});
	put_halves(&g, rng, "w3", type, 4, (int64_t[]){12, 4, 1, 1});
	put_halves(&g, rng, "b3", type, 1, (int64_t[]){12});
	put_halves(&g, rng, "w4", type, 4, (int64_t[]){12, 12, 1, 1});
	put_halves(&g, rng, "w5", type, 4, (int64_t[]){12, 2, 2, 2});
	put_cast(&g, "x", "h", type);
	onnx_put_attr_ints(&pads, "pads", 4, (int64_t[]){1, 1, 1, 1});
	onnx_put_node(&g, "Conv", "padded", "h w1 b1", "a", &pads);
	onnx_put_node(&g, "Relu", "relu", "a", "b", NULL);
	onnx_put_attr_int(&depth, "group", 8);
	onnx_put_attr_ints(&depth, "dilations", 2, (int64_t[]){2, 2});
	onnx_put_node(&g, "Conv", "depthwise", "b w2", "c", &depth);
	onnx_put_node(&g, "Sigmoid", "sigmoid", "c", "d", NULL);
	onnx_put_attr_int(&grouped, "group", 2);
	onnx_put_node(&g, "Conv", "grouped", "d w3 b3", "e", &grouped);
	onnx_put_attr_ints(&pool, "kernel_shape", 2, (int64_t[]){2, 2});
	onnx_put_node(&g, "MaxPool", "pool", "e", "f", &pool);
	onnx_put_node(&g, "Conv", "point", "f w4", "i", NULL);
	onnx_put_node(&g, "Add", "add", "i f", "j", NULL);
	onnx_put_attr_ints(&up, "strides", 2, (int64_t[]){2, 2});
	onnx_put_node(&g, "ConvTranspose", "up", "j w5", "k", &up);
	end_with(&g, (const char *const[]){"e", "j", "k"}, 3);
	return make_net(&g, rng);
}

/* Gemm plain, transposed and scaled; MatMul with a constant and of two computed tensors, in stacks; views between. */
static struct net products(uint64_t *rng, int type)
{
	struct onnx_writer g = {0}, trans = {0}, left = {0}, turn = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){6, 20});
	put_halves(&g, rng, "w1", type, 2, (int64_t[]){16, 20});
	put_halves(&g, rng, "b1", type, 1, (int64_t[]){16});
	put_halves(&g, rng, "w2", type, 2, (int64_t[]){8, 5});
	put_halves(&g, rng, "b2", type, 1, (int64_t[]){5});
	onnx_put_int64s(&g, "shape", 3, (int64_t[]){3, 4, 8});
	put_cast(&g, "x", "h", type);
	onnx_put_attr_int(&trans, "transB", 1);
	onnx_put_node(&g, "Gemm", "gemm", "h w1 b1", "a", &trans);
	onnx_put_node(&g, "Relu", "relu", "a", "b", NULL);
	onnx_put_attr_int(&left, "transA", 1);
	onnx_put_attr_float(&left, "alpha", 0.375f);
	onnx_put_node(&g, "Gemm", "computed", "b h", "c", &left);
	onnx_put_node(&g, "Reshape", "view", "b shape", "d", NULL);
	onnx_put_node(&g, "MatMul", "constant", "d w2", "e", NULL);
	onnx_put_node(&g, "Add", "bias", "e b2", "f", NULL);
	onnx_put_attr_ints(&turn, "perm", 3, (int64_t[]){0, 2, 1});
	onnx_put_node(&g, "Transpose", "turn", "d", "i", &turn);
	onnx_put_node(&g, "MatMul", "scores", "d i", "j", NULL);
	onnx_put_node(&g, "Softmax", "softmax", "j", "k", NULL);
	onnx_put_node(&g, "MatMul", "mix", "k f", "l", NULL);
	end_with(&g, (const char *const[]){"c", "k", "l"}, 3);
	return make_net(&g, rng);
}

/* The state goes from one layer into the other, and out. */
static struct net recurrent(uint64_t *rng, int type)
{
	struct onnx_writer g = {0}, lstm = {0}, gru = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){5, 2, 8});
	put_halves(&g, rng, "w1", type, 3, (int64_t[]){1, 24, 8});
	put_halves(&g, rng, "r1", type, 3, (int64_t[]){1, 24, 6});
	put_halves(&g, rng, "b1", type, 2, (int64_t[]){1, 48});
	put_halves(&g, rng, "w2", type, 3, (int64_t[]){1, 15, 6});
	put_halves(&g, rng, "r2", type, 3, (int64_t[]){1, 15, 5});
	onnx_put_int64s(&g, "shape", 3, (int64_t[]){5, 2, 6});
	put_cast(&g, "x", "h", type);
	onnx_put_attr_int(&lstm, "hidden_size", 6);
	onnx_put_node(&g, "LSTM", "lstm", "h w1 r1 b1", "a b c", &lstm);
	onnx_put_node(&g, "Reshape", "view", "a shape", "d", NULL);
	onnx_put_attr_int(&gru, "hidden_size", 5);
	onnx_put_node(&g, "GRU", "gru", "d w2 r2", "e", &gru);
	end_with(&g, (const char *const[]){"b", "c", "e"}, 3);
	return make_net(&g, rng);
}

static void check(struct net (*make)(uint64_t *rng, int type), uint64_t seed, double roundings)
{
	static const int types[] = {ONNX_FLOAT16, ONNX_BFLOAT16};
	for (int t = 0; t < 2; t++) {
		struct net net = make(&seed, types[t]);
		for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
			struct npl_device *cuda = open_device_set("cuda", 1, &precisions[p]);
			struct outcome o = run_net(&net, &cuda, 1, NULL, false);
			for (int i = 0; i < net.graph->n_nodes; i++) {
				const struct npl_layer_run *row = &o.run.layer[i];
				cr_assert(row->role != NPL_RAN || !strcmp(row->ran_on, "cuda"), "%s, %s: %s",
					  precisions[p], net.graph->node[i].name, row->note);
			}
			/* the network's own float32 at both ends is 16 bits on a device of such */
			const double unit = t || !strcmp(precisions[p], "precision=bf16") ? 0x1p-8 : 0x1p-11;
			cr_assert_leq(error_of(&net, o.out), roundings * unit, "type %d, %s: %g", t, precisions[p],
				      error_of(&net, o.out));
			free_outcome(&net, &o);
			npl_device_close(cuda);
			cuda_fake_check(precisions[p]);
		}
		free_net(&net);
	}
}

Test(cuda_halves, convolutions_are_near_the_reference)
{
	check(convolutions, 0xc0da0101, 4);
	cr_assert_gt(cu_fake.last_convolutions, 0);
}

Test(cuda_halves, convolutions_as_products_of_patches)
{
	cu_fake.missing[CU_FAKE_DNN] = true;
	check(convolutions, 0xc0da0102, 4);
	cr_assert_eq(cu_fake.convolutions, 0);
}

Test(cuda_halves, products_are_near_the_reference)
{
	check(products, 0xc0da0104, 4);
}

Test(cuda_halves, recurrent_networks_are_near_the_reference)
{
	check(recurrent, 0xc0da0105, 8);
}

/* The libraries take one type for all of a product, and a GPU may be too old for it, though not for the device's
 * precision. */
Test(cuda_halves, what_it_does_not_take_has_a_reason)
{
	static const struct npl_attrs attrs = {.gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	static const struct {
		enum npl_dtype x, w, y;
		int major, minor;
		const char *reason; /* NULL: taken */
	} cases[] = {{NPL_F16, NPL_F32, NPL_F16, 9, 0, "input 1 of Gemm is float32 and input 0 float16"},
		     {NPL_F32, NPL_BF16, NPL_F32, 9, 0, "input 1 of Gemm is bfloat16 and input 0 float32"},
		     {NPL_F16, NPL_BF16, NPL_F16, 9, 0, "input 1 of Gemm is bfloat16 and input 0 float16"},
		     {NPL_F16, NPL_F16, NPL_F32, 9, 0, "output 0 of Gemm is float32 and input 0 float16"},
		     {NPL_BF16, NPL_BF16, NPL_BF16, 7, 5, "has compute capability 7.5; products of bfloat16 need 8.0"},
		     {NPL_BF16, NPL_BF16, NPL_BF16, 8, 0, NULL},
		     {NPL_F16, NPL_F16, NPL_F16, 7, 5, NULL}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_tensor x = {.dtype = cases[i].x, .shape = npl_shape_of(2, 3, 4)},
				  w = {.dtype = cases[i].w, .shape = npl_shape_of(2, 5, 4)},
				  y = {.dtype = cases[i].y, .shape = npl_shape_of(2, 3, 5)};
		const struct npl_layer layer = {
			.op = NPL_OP_GEMM, .attrs = &attrs, .n_in = 2, .in = {&x, &w}, .out = &y};
		struct cu_config config = {.patch_mib = 64};
		char reason[200] = "";
		cu_fake_reset();
		cu_fake.major = cases[i].major;
		cu_fake.minor = cases[i].minor;
		struct cu_device *device = cuda_fake_gpu(&config, CU_F32);
		cr_assert_eq(npl_driver_cuda.supports(device, &layer, reason, sizeof reason), !cases[i].reason,
			     "case %zu: %s", i, reason);
		cr_assert(!cases[i].reason || strstr(reason, cases[i].reason), "case %zu: %s", i, reason);
		cu_close(device);
		cuda_fake_check("a case");
	}
}
