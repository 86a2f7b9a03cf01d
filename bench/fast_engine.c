/* SPDX-License-Identifier: MIT
 *
 * The fast engine of the systolic machines, values included, on a 2048 x 2048 x 2048 product as a program of the TPU v1
 * (8 x 8 tiles of 256 x 256, 2048 rows each) against the same product alone by the best kernel of this computer, taking
 * turns; and how long the program's schedule takes by itself. */
#include <string.h>

#include "bench.h"
#include "core/base/refuse.h"
#include "core/int8/int8.h"
#include "npulab/random.h"
#include "npulab/thread.h"
#include "sim/systolic/tpu_v1/engine/engine.h"
#include "sim/systolic/tpu_v1/fast/run.h"
#include "sim/systolic/tpu_v1/isa/check.h"

enum { N = 2048, TILE = 256, TILES = N / TILE, RUNS = 15 };

static struct npl_err err;

static void stop(void)
{
	fprintf(stderr, "bench: %s\n", err.msg);
	exit(npl_exit_status(err.code));
}

static void *memory_of(size_t bytes)
{
	void *memory = aligned_alloc(64, bytes);
	if (!memory) {
		npl_no_memory(&err);
		stop();
	}
	memset(memory, 0, bytes);
	return memory;
}

struct gemm {
	struct tpu_config config;
	struct sim_program program;
	struct tpu_memory memory;
	struct npl_int8_product product;
	uint64_t cycles;
};

static void add(struct gemm *g, int opcode, unsigned flags, uint32_t ub, int64_t acc, int64_t length)
{
	struct tpu_instruction instruction = {(uint8_t)opcode, (uint16_t)flags, ub, (uint16_t)acc, (uint32_t)length};
	if (sim_program_add(&g->program, &instruction, 0, &err))
		stop();
}

static void set(struct gemm *g, enum tpu_register r, uint32_t value)
{
	add(g, TPU_SET_CONFIG, 0, 0, r, value);
}

/* Inputs in rows 0 to 8 * 2048 of the buffer, one tensor for each 256 of k; weights tile by tile, those of a block of
 * columns one after the other; results after the inputs: raw, four planes each (for half of the columns, as there is
 * no room for more), or one byte each. Half of the accumulators for every other block. */
static void make_program(struct gemm *g, bool raw)
{
	int64_t table = TILES * TILES * TILE;
	uint32_t planes = raw ? 4 : 1, results = TILES * N;
	g->program.set = &tpu_instruction_set;
	g->program.count = 0;
	set(g, TPU_REG_RESULT_TYPE, raw ? TPU_I32 : TPU_I8);
	set(g, TPU_REG_RESULT_PLANE_ROWS, N);
	if (!raw)
		add(g, TPU_READ_WEIGHTS, TPU_WEIGHTS_PARAMETERS, 0, 1, table);
	for (int n = 0; n < TILES; n++) {
		int64_t acc = n % 2 * N;
		for (int k = 0; k < TILES; k++) {
			unsigned flags = TPU_MATRIX_SWITCH | TPU_MATRIX_UNSIGNED_INPUTS;
			add(g, TPU_READ_WEIGHTS, 0, 0, 1, (n * TILES + k) * TILE);
			add(g, TPU_MATRIX_MULTIPLY, flags | (k ? TPU_MATRIX_ACCUMULATE : 0), (uint32_t)(k * N), acc, N);
		}
		add(g, TPU_ACTIVATE, n || raw ? 0 : TPU_ACTIVATE_SWITCH,
		    results + (uint32_t)(raw ? n % 4 : n) * planes * N, acc, N);
	}
	add(g, TPU_HALT, 0, 0, 0, 0);
}

static void make_operands(struct gemm *g)
{
	struct npl_random random = {.state = 1};
	uint8_t *a = memory_of((size_t)N * N), *b = memory_of((size_t)N * N);
	uint8_t *buffer = memory_of((size_t)g->config.buffer_bytes);
	uint8_t *weights = memory_of((size_t)N * N + (size_t)8 * TILE);
	for (int64_t i = 0; i < (int64_t)N * N; i++) {
		a[i] = (uint8_t)npl_random_u64(&random);
		b[i] = (uint8_t)npl_random_u64(&random);
	}
	for (int64_t i = 0; i < N; i++)
		for (int64_t k = 0; k < N; k++) {
			buffer[(k / TILE * N + i) * TILE + k % TILE] = a[i * N + k];
			weights[((i / TILE * TILES + k / TILE) * TILE + k % TILE) * TILE + i % TILE] = b[i * N + k];
		}
	for (int64_t j = 0; j < TILE; j++) {
		float scale = 1.0f / 16384;
		memcpy(weights + (int64_t)N * N + 8 * j + 4, &scale, sizeof scale);
	}
	g->memory = (struct tpu_memory){
		.buffer = buffer, .weights = weights, .weight_bytes = (size_t)N * N + (size_t)8 * TILE};
	g->product = (struct npl_int8_product){.m = N,
					       .n = N,
					       .k = N,
					       .a = {a, NPL_U8, 0, N, 1},
					       .b = {b, NPL_I8, 0, N, 1},
					       .c = memory_of((size_t)N * N * sizeof(int32_t)),
					       .c_stride = N};
}

static void run_product(void *context)
{
	const struct gemm *g = context;
	uint64_t overflows = 0;
	if (npl_int8_gemm(&g->product, &overflows, &err))
		stop();
}

static void run_program(void *context)
{
	struct gemm *g = context;
	struct tpu_outcome outcome;
	if (tpu_run_fast(&(struct tpu_engine_input){.config = &g->config, .program = &g->program, .memory = g->memory},
			 &outcome, &err))
		stop();
	g->cycles = outcome.cycles;
}

/* The last four blocks of columns of the program's raw results. */
static void compare(const struct gemm *g)
{
	for (int64_t i = 0; i < N; i++)
		for (int64_t j = N / 2; j < N; j++) {
			const uint8_t *at = g->memory.buffer + (TILES * N + (j / TILE - 4) * 4 * N + i) * TILE +
					    j % TILE;
			uint32_t sum = 0;
			for (int plane = 0; plane < 4; plane++)
				sum |= (uint32_t)at[(int64_t)plane * N * TILE] << 8 * plane;
			if (sum != (uint32_t)g->product.c[i * N + j]) {
				npl_fail(&err, NPL_EINTERNAL, "row %lld, column %lld differs", (long long)i,
					 (long long)j);
				stop();
			}
		}
}

static void bench_gemm(struct gemm *g, bool raw)
{
	double times[2][RUNS], median[2];
	make_program(g, raw);
	g->memory.timing_only = false;
	if (tpu_program_check(&g->config, &g->program, &g->memory, "gemm", &err))
		stop();
	for (int i = -1; i < RUNS; i++) /* one to warm up */
		for (int w = 0; w < 2; w++) {
			double start = npl_clock_seconds();
			w ? run_program(g) : run_product(g);
			if (i >= 0)
				times[w][i] = npl_clock_seconds() - start;
		}
	for (int w = 0; w < 2; w++) {
		qsort(times[w], RUNS, sizeof times[w][0], bench_order);
		median[w] = times[w][RUNS / 2];
	}
	if (raw)
		compare(g);
	bench_print("2048^3, the product alone", (double)N * N * N, "GMAC/s", median[0]);
	bench_print(raw ? "2048^3, a program with 32-bit results" : "2048^3, a program with 8-bit results",
		    (double)N * N * N, "GMAC/s", median[1]);
	printf("%-52s %9.2f times the product alone (at most 1.50); %llu cycles\n", "", median[1] / median[0],
	       (unsigned long long)g->cycles);
}

int main(void)
{
	static struct gemm g;
	const char *reason = NULL, *library = npl_int8_library(&reason);
	npl_threads_allow(1);
	g.config = (struct tpu_config){.clock_hz = 700000000,
				       .rows = TILE,
				       .columns = TILE,
				       .accumulator_rows = 4096,
				       .buffer_bytes = 25165824,
				       .weight_bytes = 8589934592,
				       .weight_bytes_per_second = 34133333334,
				       .fifo_tiles = 4,
				       .activate_cycles_per_row = 1,
				       .parameter_tables = 8,
				       .queue_instructions = 32,
				       .issue_cycles = 1,
				       .link_bytes_per_second = 10737418240};
	printf("fast engine, 1 thread; %s\n", library ? library : reason);
	make_operands(&g);
	bench_gemm(&g, false);
	bench_gemm(&g, true);
	g.memory.timing_only = true;
	bench_print("2048^3, the program's times alone", (double)g.program.count, "Ginstr/s",
		    bench_seconds(run_program, &g));
	return 0;
}
