/* SPDX-License-Identifier: MIT
 *
 * Promise: the steps of the NFU are the ideal cycles of the paper's loop nests, for all its layers (Chen et al.,
 * ASPLOS 2014, Table 5) and for random ones walked step by step; cycles are steps, one filling of the pipeline and,
 * except ideal memory, waiting. No data is needed for any of it. */
#include "sim/diannao/diannao/generate/tiles.h"
#include "tests/kit/sim/diannao/fixture.h"

/* The nest of figures 5, 7 and 8, literally. */
static bool inside(const struct dn_case *c, int d, int64_t o, int64_t k)
{
	const struct npl_window *w = npl_op_window(c->layer.op, &c->attrs);
	int64_t at = o * w->stride[d] + k * w->dilation[d] - w->pad_begin[d];
	return at >= 0 && at < c->x.shape.dim[2 + d];
}

static uint64_t walk(const struct dn_case *c, int64_t tn)
{
	bool gemm = c->layer.op == NPL_OP_GEMM, pool = !c->w.shape.rank,
	     global = c->layer.op == NPL_OP_GLOBALAVERAGEPOOL;
	const int64_t *x = c->x.shape.dim, *y = c->y.shape.dim, *w = c->w.shape.dim;
	int64_t groups = c->layer.op == NPL_OP_CONV ? c->attrs.conv.groups : 1;
	const struct npl_window *slides = npl_op_window(c->layer.op, &c->attrs);
	int64_t ky = gemm ? 1 : slides->kernel[0], kx = gemm ? 1 : slides->kernel[1];
	int64_t ni = pool || gemm ? x[1] : w[1], no = pool ? 1 : w[0] / groups, height = gemm ? 1 : y[2],
		width = gemm ? 1 : y[3];
	uint64_t steps = 0;
	for (int64_t window = 0; window < x[0] * groups * height * width; window++)
		for (int64_t nn = 0; nn < no; nn += tn) {
			steps += c->bias.shape.rank > 0;
			for (int64_t k = 0; k < ky * kx; k++)
				if (!pool || global ||
				    (inside(c, 0, window / width % height, k / kx) &&
				     inside(c, 1, window % width, k % kx)))
					for (int64_t ii = 0; ii < ni; ii += tn)
						steps++;
		}
	return steps;
}

static void timing(const struct dn_config *config, struct dn_case *c, struct npl_result *result)
{
	dn_case_run(config, c, result);
	uint64_t waits = dn_counter(result, "wait_sb") + dn_counter(result, "wait_nbin") +
			 dn_counter(result, "wait_nbout");
	cr_assert_eq(result->cycles, dn_counter(result, "nfu_active") + dn_counter(result, "nfu_fill") + waits);
	cr_assert(!waits || strcmp(config->memory_preset, "ideal"));
	cr_assert_float_eq(result->seconds, (double)result->cycles / 980e6, 1e-12);
	cr_assert_eq(result->macs, c->layer.macs);
	cr_assert_eq(dn_counter(result, "useful_macs") + dn_counter(result, "idle_lanes"),
		     dn_counter(result, "nfu_active") * (uint64_t)(config->tn * config->tn));
}

/* These are the paper's layers; "*" marks private kernels. With ideal memory and requests that cost nothing, a layer
 * takes its steps and one filling of the pipeline. */
Test(diannao_cycles, the_papers_layers_take_the_stated_cycles)
{
	static const struct {
		const char *name;
		int64_t nx, ny, k, ni, no;
		bool private_kernels;
		uint64_t ideal;
	} conv[] = {{"CONV1", 500, 375, 9, 32, 48, false, 87754104},
		    {"CONV2*", 200, 200, 18, 8, 8, true, 10850436},
		    {"CONV3", 32, 32, 4, 108, 200, false, 1224496},
		    {"CONV4", 32, 32, 7, 16, 512, false, 1059968},
		    {"CONV5*", 256, 256, 11, 256, 384, true, 2811815424}},
	  pool[] = {{"POOL1", 492, 367, 2, 12, 12, false, 45018},
		    {"POOL3", 32, 32, 4, 100, 100, false, 448},
		    {"POOL5", 256, 256, 2, 256, 256, false, 262144}},
	  class[] = {{"CLASS1", 0, 0, 0, 960, 20, false, 120}, {"CLASS3", 0, 0, 0, 200, 100, false, 91}};
	struct dn_config config = dn_ideal();
	struct npl_result result;
	struct dn_case c;
	for (size_t i = 0; i < sizeof conv / sizeof *conv; i++) {
		dn_case_window(&c, NPL_OP_CONV, 1, conv[i].ni, conv[i].ny, conv[i].nx, conv[i].no, 1,
			       dn_window(conv[i].k, 1));
		c.attrs.conv.private_kernels = conv[i].private_kernels;
		if (conv[i].private_kernels)
			c.w.shape.dim[0] *= c.y.shape.dim[2] * c.y.shape.dim[3];
		timing(&config, &c, &result);
		cr_expect_eq(dn_counter(&result, "nfu_active"), conv[i].ideal, "%s", conv[i].name);
		cr_expect_eq(result.cycles, conv[i].ideal + 8, "%s", conv[i].name);
		cr_expect_eq(dn_counter(&result, "sb_rows"), conv[i].ideal);
	}
	for (size_t i = 0; i < sizeof class / sizeof *class; i++) {
		dn_case_gemm(&c, 1, class[i].no, class[i].ni);
		timing(&config, &c, &result);
		cr_expect_eq(result.cycles, class[i].ideal + 8, "%s", class[i].name);
	}
	/* One NBin row per cycle: Kx * Ky times the figure for one group of windows per cycle. */
	for (size_t i = 0; i < sizeof pool / sizeof *pool; i++) {
		dn_case_window(&c, NPL_OP_MAXPOOL, 1, pool[i].ni, pool[i].ny, pool[i].nx, 0, 1,
			       dn_window(pool[i].k, pool[i].k));
		timing(&config, &c, &result);
		cr_expect_eq(dn_counter(&result, "nbin_rows"), pool[i].ideal * (uint64_t)(pool[i].k * pool[i].k), "%s",
			     pool[i].name);
		cr_expect_eq(result.cycles, dn_counter(&result, "nbin_rows") + 2, "%s: a maximum uses NFU-2 alone",
			     pool[i].name);
		cr_expect_eq(dn_counter(&result, "sb_rows"), 0);
		cr_expect_eq(dn_counter(&result, "nfu3_operations"), 0);
	}
}

/* Sums take a step for each tap, padding too, and one for the bias; pooling one for each tap inside the input. */
Test(diannao_cycles, random_layers_take_the_cycles_of_a_walk_over_their_loops)
{
	struct dn_config config = dn_default();
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct npl_result result;
		struct dn_case c;
		char reason[200];
		struct dn_layer layer;
		config.tn = 8 << test_range(&rng, 0, 2);
		dn_random_case(&c, &rng);
		if (!dn_layer_of(&config, &c.layer, &layer, reason, sizeof reason))
			continue;
		timing(&config, &c, &result);
		cr_assert_eq(dn_counter(&result, "nfu_active"), walk(&c, config.tn), "seed %llu",
			     (unsigned long long)seed);
		if (c.w.shape.rank)
			cr_assert_eq(dn_counter(&result, "sb_rows"), walk(&c, config.tn));
		else
			cr_assert_eq(dn_counter(&result, "nbin_rows"), walk(&c, config.tn));
	}
}

/* Relu alone takes a step for each row of Tn values, which go through NFU-2 and NFU-3. */
Test(diannao_cycles, relu_alone_takes_a_step_for_each_row_of_values)
{
	struct dn_config config = dn_ideal();
	struct npl_result result;
	struct dn_case c = {.x = dn_tensor(NPL_I16, 0, npl_shape_of(3, 5, 7, 9)),
			    .y = dn_tensor(NPL_I16, 0, npl_shape_of(3, 5, 7, 9))};
	dn_case_layer(&c, NPL_OP_RELU);
	timing(&config, &c, &result);
	cr_assert_eq(result.cycles, (5 * 7 * 9 + 15) / 16 + 2 + 3);
	cr_assert_eq(dn_counter(&result, "nfu3_operations"), 5 * 7 * 9);
	cr_assert_eq(result.bytes[NPL_MEM_DRAM], 2 * 2 * 5 * 7 * 9);
}

Test(diannao_cycles, the_peak_is_the_papers)
{
	struct dn_config config = dn_default();
	struct npl_device_info info = {0};
	cr_assert_eq(dn_operations_per_cycle(&config), 496);
	/* The paper's 452 GOP/s are units of 2^30 at a critical path of 1.02 ns. */
	cr_assert_float_eq((double)dn_operations_per_cycle(&config) / 1.02e-9 / 0x1p30, 452, 1);
	void *state = dn_opened(&config);
	npl_driver_diannao.describe(state, &info);
	cr_assert(strstr(info.detail, "memory diannao-250gbps"), "%s", info.detail);
	cr_assert(strstr(info.detail, "256 multiply-accumulates per cycle (496 operations as the paper counts)"), "%s",
		  info.detail);
	cr_assert_lt(strlen(info.detail), 120);
	cr_assert_eq(info.link.bytes_per_second, 250e9);
	cr_assert_eq(info.format, NPL_FORMAT_Q16);
	cr_assert_float_eq(info.peak_macs_per_second, 256 * 980e6, 1);
	cr_assert_str_eq(info.link.name, "main memory");
	cr_assert_str_eq(info.link.energy_within, "the layers' memory", "whose accesses hold that energy");
	for (size_t i = 0; i < info.n_counters; i++)
		cr_assert_eq(info.counter_def[i].partition > 0, i < 5,
			     "the first five counters are the parts of the cycles");
	npl_driver_diannao.close(state);
}

static void refused(struct dn_case *c, const char *expected)
{
	struct dn_config config = dn_default();
	void *state = dn_opened(&config);
	dn_refuses(state, &c->layer, expected);
	npl_driver_diannao.close(state);
}

Test(diannao_cycles, layers_beyond_the_machine_are_refused)
{
	struct dn_case c;
	dn_case_gemm(&c, 2, 3, 4);
	c.layer.op = NPL_OP_SOFTMAX;
	refused(&c, "no operation");
	dn_case_gemm(&c, 2, 3, 4);
	c.x.dtype = NPL_F32;
	refused(&c, "float32");
	dn_case_gemm(&c, 2, 3, 4);
	c.w.quant.scale = 0.3f;
	refused(&c, "power of two");
	dn_case_gemm(&c, 2, 3, 4);
	c.y.quant.zero_point = 1;
	refused(&c, "zero point");
	dn_case_gemm(&c, 2, 3, 4);
	c.y.shape.dim[1] = 5;
	refused(&c, "(rows,N)");
	dn_case_gemm(&c, (int64_t)1 << 20, (int64_t)1 << 20, (int64_t)1 << 20);
	refused(&c, "2^63");
	dn_case_gemm(&c, (int64_t)1 << 30, 1, (int64_t)1 << 20);
	refused(&c, "2^40");
	dn_case_window(&c, NPL_OP_CONV, 1, 4, 8, 8, 6, 1, dn_window(3, 1));
	c.attrs.conv.groups = 4;
	refused(&c, "groups");
	dn_case_window(&c, NPL_OP_CONV, 1, 4, 8, 8, 6, 1, dn_window(3, 1));
	c.x.shape.dim[1] = c.w.shape.dim[1] = 0; /* sums of nothing */
	refused(&c, "a tensor is empty");
	dn_case_window(&c, NPL_OP_AVERAGEPOOL, 1, 1, 300, 300, 0, 1, dn_window(300, 1));
	refused(&c, "65536");
	dn_case_window(&c, NPL_OP_MAXPOOL, 1, 4, 8, 8, 0, 1, dn_window(3, 1));
	c.y.shape.dim[3]++;
	refused(&c, "window");
	struct dn_config config = dn_default();
	config.nest = DN_WANT_DOWN; /* which is for kernels that all positions share */
	void *state = dn_opened(&config);
	dn_case_window(&c, NPL_OP_CONV, 1, 64, 10, 10, 64, 1, dn_window(9, 1));
	c.attrs.conv.private_kernels = true;
	c.w.shape.dim[0] *= c.y.shape.dim[2] * c.y.shape.dim[3];
	dn_refuses(state, &c.layer, "no tiles as asked for by tiles.* fit the buffers");
	npl_driver_diannao.close(state);
}
