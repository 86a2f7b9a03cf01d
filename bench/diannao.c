/* SPDX-License-Identifier: MIT
 *
 * Measures how fast DianNao is simulated on this computer. First the fast engine runs CONV3 of the paper (Chen et al.,
 * ASPLOS 2014, Table 5) with values and products rounded to 16 bits, in turns with the cpu device in float32. Operands
 * of the full range have products that saturate and are counted; other operands have the range that calibration gives.
 * Next the fast engine's schedule runs without values. Last come the cycles per second of the register-level engine
 * with values, in layers that keep the NFU busy and in one that waits. */
#include <string.h>

#include "bench.h"
#include "frontend/compare/draw.h"
#include "npulab/device.h"
#include "npulab/random.h"
#include "npulab/single_layer.h"
#include "npulab/thread.h"

static struct npl_err err;

static void stop(const char *subject)
{
	fprintf(stderr, "bench: %s: %s\n", subject, err.msg);
	exit(npl_exit_status(err.code));
}

struct layer_case {
	struct npl_device *device;
	struct npl_attrs attrs;
	struct npl_tensor x, w, y;
	struct npl_layer layer;
	struct npl_result result;
};

static void run_layer(void *context)
{
	struct layer_case *c = context;
	c->result = (struct npl_result){0};
	if (npl_device_run(c->device, &c->layer, &c->result, &err))
		stop("layer");
}

static void fill(struct npl_tensor *t, int drop_bits)
{
	struct npl_random random = {.state = 1};
	if (npl_tensor_alloc(t, &err))
		stop("operands");
	npl_draw(t, &random);
	for (int64_t i = 0; t->dtype == NPL_I16 && i < npl_tensor_count(t); i++)
		((int16_t *)t->data)[i] = (int16_t)(((int16_t *)t->data)[i] >> drop_bits);
}

/* A convolution of ni maps of size x size to no maps; 16-bit operands lose bits at the top, so that products fit. */
static void open_case(struct layer_case *c, const char *device, const struct npl_device_options *options, int64_t size,
		      int64_t kernel, int64_t ni, int64_t no, int drop_x, int drop_w)
{
	*c = (struct layer_case){
		.attrs = {.opset = 13,
			  .conv = {.groups = 1, .window = {.rank = 2, .stride = {1, 1}, .dilation = {1, 1}}}}};
	if (npl_device_open(device, options, &c->device, &err))
		stop(device);
	bool q16 = npl_device_get_info(c->device)->format == NPL_FORMAT_Q16;
	const int64_t out = size - kernel + 1;
	const enum npl_dtype type = q16 ? NPL_I16 : NPL_F32;
	const float scale = q16 ? 0x1p-10f : 0.0f;
	c->x = (struct npl_tensor){.dtype = type, .shape = npl_shape_of(4, 1, ni, size, size), .quant.scale = scale};
	c->w = (struct npl_tensor){
		.dtype = type, .shape = npl_shape_of(4, no, ni, kernel, kernel), .quant.scale = scale};
	c->y = (struct npl_tensor){.dtype = type, .shape = npl_shape_of(4, 1, no, out, out), .quant.scale = scale};
	c->attrs.conv.window.kernel[0] = c->attrs.conv.window.kernel[1] = kernel;
	fill(&c->x, drop_x);
	fill(&c->w, drop_w);
	if (npl_tensor_alloc(&c->y, &err))
		stop("result");
	c->layer = (struct npl_layer){.name = "conv",
				      .op = NPL_OP_CONV,
				      .attrs = &c->attrs,
				      .n_in = 2,
				      .in = {&c->x, &c->w},
				      .out = &c->y,
				      .macs = (uint64_t)(out * out * kernel * kernel * ni * no)};
}

static void close_case(struct layer_case *c)
{
	npl_tensor_free(&c->x);
	npl_tensor_free(&c->w);
	npl_tensor_free(&c->y);
	npl_device_close(c->device);
}

/* Medians of two cases that take turns. */
static void take_turns(struct layer_case *const c[2], double seconds[2])
{
	double times[2][BENCH_RUNS], total = 0;
	int n = 0;
	run_layer(c[0]);
	run_layer(c[1]);
	for (; n < BENCH_RUNS && (n < 5 || total < 1); n++)
		for (int i = 0; i < 2; i++) {
			double start = npl_clock_seconds();
			run_layer(c[i]);
			times[i][n] = npl_clock_seconds() - start;
			total += times[i][n];
		}
	for (int i = 0; i < 2; i++) {
		qsort(times[i], (size_t)n, sizeof times[i][0], bench_order);
		seconds[i] = times[i][n / 2];
	}
}

static void against_cpu(const char *subject, int drop_x, int drop_w)
{
	struct layer_case diannao, cpu, *const both[2] = {&diannao, &cpu};
	double seconds[2];
	char line[80];
	open_case(&diannao, "diannao", NULL, 32, 4, 108, 200, drop_x, drop_w);
	open_case(&cpu, "cpu", NULL, 32, 4, 108, 200, 0, 0);
	take_turns(both, seconds);
	snprintf(line, sizeof line, "diannao with values, CONV3, %s", subject);
	bench_print(line, (double)diannao.layer.macs, "GMAC/s", seconds[0]);
	bench_print("cpu, float32, CONV3", (double)cpu.layer.macs, "GMAC/s", seconds[1]);
	printf("%-52s %9.2f times\n", "diannao / cpu", seconds[0] / seconds[1]);
	close_case(&diannao);
	close_case(&cpu);
}

struct speed_case {
	const char *subject, *engine;
	bool timing_only, ideal_memory;
	int64_t size, kernel, ni, no;
};

static void cycles_a_second(const struct speed_case *speed)
{
	const char *set = "memory.preset=ideal";
	const struct npl_device_options options = {.engine = speed->engine, .n_sets = speed->ideal_memory, .set = &set};
	struct layer_case c;
	char line[80];
	open_case(&c, "diannao", &options, speed->size, speed->kernel, speed->ni, speed->no, 0, 0);
	c.layer.timing_only = speed->timing_only;
	double seconds = bench_seconds(run_layer, &c);
	double busy = 0;
	const struct npl_device_info *info = npl_device_get_info(c.device);
	for (size_t i = 0; i < info->n_counters; i++)
		if (!strcmp(info->counter_def[i].name, "nfu_active"))
			busy = (double)c.result.counter[i] / (double)c.result.cycles;
	snprintf(line, sizeof line, "%s, NFU busy %.0f %%", speed->subject, 100 * busy);
	/* bench_print scales by 1e-9 */
	bench_print(line, (double)c.result.cycles * 1e6, "kcycle/s", seconds);
	close_case(&c);
}

int main(void)
{
	static const struct speed_case speed[] = {
		{"diannao fast engine, schedule alone, CONV3", "fast", true, false, 32, 4, 108, 200},
		{"diannao rtl engine, 3x3 128 -> 32", "rtl", false, true, 16, 3, 128, 32},
		{"diannao rtl engine, 7x7 16 -> 16", "rtl", false, true, 40, 7, 16, 16},
		{"diannao rtl engine, 1x1 12 -> 16, waits", "rtl", false, false, 60, 1, 12, 16},
	};
	npl_threads_allow(1);
	against_cpu("full range", 0, 0);
	against_cpu("in range", 2, 5);
	for (size_t i = 0; i < sizeof speed / sizeof *speed; i++)
		cycles_a_second(&speed[i]);
	return 0;
}
