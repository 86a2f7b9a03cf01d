/* SPDX-License-Identifier: MIT
 *
 * Promises of rooflines of a GPU, on a fake one: its peak is that of products large enough for a fast GPU, whose
 * operands stay on it; names and bytes are of what it makes of float32. */
#include "backends/cuda/layer_group/cuda.h"
#include "npulab/report.h"
#include "npulab/roofline.h"
#include "tests/kit/cuda/fake.h"
#include "tests/kit/shipped_models.h"

struct found {
	struct npl_graph *graph;
	struct npl_roofline roofline;
	struct npl_arena arena;
};

static void find(const char *set, struct found *f)
{
	struct npl_model_files files;
	struct npl_samples samples;
	struct npl_err err = {0};
	const char *const device = "cuda";
	const struct npl_compare_options options = {.device_names = &device, .n_devices = 1, .set = &set, .n_sets = 1};
	*f = (struct found){0};
	f->graph = shipped_load("digits", &(struct npl_load_options){.batch = 4}, &files, &f->arena);
	cr_assert_eq(npl_samples_load(f->graph, NULL, 0, NULL, 1, &samples, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_roofline(f->graph, &samples, NULL, &options, NPL_INTENSITY_MEMORY, &f->roofline, &err), 0,
		     "%s: %s", set, err.msg);
	npl_samples_free(&samples);
}

static void drop(struct found *f)
{
	npl_roofline_free(&f->roofline);
	npl_graph_free(f->graph);
	npl_arena_free(&f->arena);
	cr_assert_null(cu_fake_leaks(), "%s", cu_fake_leaks());
	cr_assert_eq(cu_fake.violations, 0, "%s", cu_fake.violation);
}

static uint64_t elements(const struct npl_graph *graph, int value)
{
	return value < 0 ? 0 : (uint64_t)npl_shape_count(&graph->value[value].shape);
}

/* The layers' bytes are so many for each element of weights, inputs and results. */
static void check_bytes(const struct found *f, uint64_t each)
{
	const struct npl_roofline_device *d = &f->roofline.device[0];
	cr_assert_geq(d->n_points, 7);
	for (int i = 0; i < d->n_points; i++) {
		const struct npl_node *node = &f->graph->node[d->point[i].node];
		uint64_t constants = 0;
		for (int k = 1; k < node->n_in; k++)
			constants += elements(f->graph, node->in[k]);
		cr_assert_eq(d->point[i].weight_bytes, each * constants, "%s", node->name);
		cr_assert_eq(d->point[i].input_bytes, each * elements(f->graph, node->in[0]), "%s", node->name);
		cr_assert_eq(d->point[i].output_bytes, each * elements(f->graph, node->out[0]), "%s", node->name);
	}
}

Test(cuda_roofline, names_and_bytes_are_those_of_the_precision)
{
	static const struct {
		const char *set, *name;
		uint64_t bytes;
	} cases[] = {{"cuda.precision=f32", "float32", 4},
		     {"cuda.precision=tf32", "tf32", 4},
		     {"cuda.precision=f16", "float16", 2},
		     {"cuda.precision=bf16", "bfloat16", 2}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct found f;
		char *text = NULL;
		size_t length = 0;
		cu_fake_reset();
		cu_loader = &cu_fake_loader;
		cu_fake.no_values = true;
		cu_fake.macs_per_second = 1e9; /* slow: few sizes are tried */
		find(cases[i].set, &f);
		const struct npl_roofline_device *d = &f.roofline.device[0];
		cr_assert_eq(d->roofs.n, 1);
		cr_assert_str_eq(npl_roofline_precision(d, 0), cases[i].name);
		cr_assert(strstr(d->roofs.roof[0].explanation, cases[i].name), "%s", d->roofs.roof[0].explanation);
		cr_assert_float_eq(d->roofs.roof[0].macs_per_second, 1e9, 1e7);
		check_bytes(&f, cases[i].bytes);
		FILE *out = open_memstream(&text, &length);
		npl_roofline_json(out, &f.roofline, "digits");
		npl_roofline_csv(out, &f.roofline, "digits");
		npl_roofline_table(out, &f.roofline, "digits");
		fclose(out);
		cr_assert_eq(!i, strstr(text, "\"precision\":\"float32\"") != NULL, "%s", text);
		cr_assert_eq(!i, strstr(text, ",cuda,float32,") != NULL, "%s", text);
		cr_assert_eq(!i, strstr(text, "cuda    float32") != NULL, "%s", text);
		free(text);
		drop(&f);
	}
}

/* As fast as an H200 in float16: products grow until the GPU takes a millisecond for one. */
Test(cuda_roofline, the_peak_of_a_fast_gpu_is_that_of_large_products)
{
	struct found f;
	/* A size is tried while this computer makes its operands in good time, however fast the GPU is. */
	if (cli_no_limits())
		cr_skip("matrices of 8192 x 8192 take a sanitizer or an emulator too long");
	cu_fake_reset();
	cu_loader = &cu_fake_loader;
	cu_fake.no_values = true;
	cu_fake.macs_per_second = 450e12;
	find("cuda.precision=f16", &f);
	const struct npl_roof *roof = &f.roofline.device[0].roofs.roof[0];
	cr_assert(strstr(roof->explanation, "products of 8192 x 8192 by 8192 x 8192 float16 matrices"), "%s",
		  roof->explanation);
	cr_assert_gt(roof->macs_per_second, 440e12);
	cr_assert_lt(cu_fake.bytes_down, (size_t)100 << 20, "results of 8192^2 stay on the GPU: %zu bytes came down",
		     cu_fake.bytes_down);
	drop(&f);
}
