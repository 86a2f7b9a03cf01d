/* SPDX-License-Identifier: MIT
 *
 * How many array cycles per second the register-level engine does with the whole TPU v1 around the array, one thread:
 * the array busy in every cycle (with weights in place, with a tile every 256 rows, with convolution, with the
 * activation unit beside it), and waiting for weights. Then the most memory that the process took, without the unified
 * buffer, which is the caller's. */
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "core/base/refuse.h"
#include "npulab/random.h"
#include "sim/systolic/tpu_v1/engine/engine.h"
#include "sim/systolic/tpu_v1/isa/check.h"
#include "sim/systolic/tpu_v1/rtl/run.h"

static struct npl_err err;

static void check(int rc)
{
	if (!rc)
		return;
	fprintf(stderr, "bench: %s\n", err.msg);
	exit(npl_exit_status(err.code));
}

/* machines/tpu_v1.yaml, but that a case may choose how fast weights come. */
static struct tpu_config tpu_v1(int64_t weight_bytes_per_second)
{
	return (struct tpu_config){.clock_hz = 700000000,
				   .rows = 256,
				   .columns = 256,
				   .accumulator_rows = 4096,
				   .buffer_bytes = 24 << 20,
				   .weight_bytes = 64 << 20,
				   .weight_bytes_per_second = weight_bytes_per_second,
				   .fifo_tiles = 4,
				   .activate_cycles_per_row = 1,
				   .parameter_tables = 8,
				   .queue_instructions = 32,
				   .issue_cycles = 1,
				   .link.name = "PCIe Gen3 x16",
				   .link_bytes_per_second = 10737418240.0};
}

static uint8_t *random_bytes(size_t count, uint64_t seed)
{
	struct npl_random random = {.state = seed};
	uint8_t *bytes = malloc(count);
	if (!bytes)
		check(npl_no_memory(&err));
	for (size_t i = 0; bytes && i < count; i++)
		bytes[i] = (uint8_t)npl_random_u64(&random);
	return bytes;
}

struct machine {
	struct tpu_config config;
	struct sim_program program;
	struct tpu_memory memory;
	struct tpu_outcome outcome;
};

static void add(struct machine *m, int opcode, unsigned flags, uint32_t ub, int64_t acc, int64_t length)
{
	struct tpu_instruction instruction = {(uint8_t)opcode, (uint16_t)flags, ub, (uint16_t)acc, (uint32_t)length};
	m->program.set = &tpu_instruction_set;
	check(sim_program_add(&m->program, &instruction, 0, &err));
}

static void run(void *context)
{
	struct machine *m = context;
	check(tpu_run_rtl(&(struct tpu_engine_input){.config = &m->config, .program = &m->program, .memory = m->memory},
			  &m->outcome, &err));
}

static void bench(struct machine *m, const char *subject)
{
	add(m, TPU_HALT, 0, 0, 0, 0);
	check(tpu_program_check(&m->config, &m->program, &m->memory, subject, &err));
	double seconds = bench_seconds(run, m), cycles = (double)m->outcome.cycles;
	char line[80];
	snprintf(line, sizeof line, "%s, array busy %.0f %%", subject,
		 100 * (double)m->outcome.counters.array_active / cycles);
	/* bench_print scales by 1e-9 */
	bench_print(line, cycles * 1e6, "kcycle/s", seconds);
	sim_program_free(&m->program);
}

/* `tiles` times `rows` input rows, each tile through its own weights. */
static void add_tiles(struct machine *m, int opcode, int tiles, int64_t rows, bool activate)
{
	const uint32_t results = 8192, table = 65536; /* of zeros: beyond the weights given */
	if (activate)
		add(m, TPU_READ_WEIGHTS, TPU_WEIGHTS_PARAMETERS, 0, 1, table);
	for (int i = 0; i < tiles; i++) {
		int64_t half = i % 2 * 2048;
		add(m, TPU_READ_WEIGHTS, 0, 0, 1, i * 256);
		add(m, opcode, TPU_MATRIX_SWITCH, 0, half, rows);
		if (activate)
			add(m, TPU_ACTIVATE, TPU_WITH_FUNCTION(TPU_RELU) | (i == 0 ? TPU_ACTIVATE_SWITCH : 0), results,
			    half, rows);
	}
}

static void convolution(struct machine *m)
{
	static const struct {
		enum tpu_register number;
		uint32_t value;
	} set[] = {{TPU_REG_IN_HEIGHT, 32}, {TPU_REG_IN_WIDTH, 32},     {TPU_REG_OUT_HEIGHT, 32},
		   {TPU_REG_OUT_WIDTH, 32}, {TPU_REG_KERNEL_HEIGHT, 3}, {TPU_REG_KERNEL_WIDTH, 3},
		   {TPU_REG_PAD_TOP, 1},    {TPU_REG_PAD_LEFT, 1},      {TPU_REG_PIXEL_LANES, 32},
		   {TPU_REG_ROW_PIXELS, 8}, {TPU_REG_TAP_LANES, 28},    {TPU_REG_TAPS, 9}};
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		add(m, TPU_SET_CONFIG, 0, 0, set[i].number, set[i].value);
	add_tiles(m, TPU_CONVOLVE, 8, 1024, false);
}

int main(void)
{
	enum { WEIGHTS = 4 << 20 };
	const int64_t fast = 700000000LL * 65536, tpu = 34133333334;
	struct machine m = {.config = tpu_v1(fast)};
	size_t buffer = (size_t)m.config.buffer_bytes;
	uint8_t *weights = random_bytes(WEIGHTS, 5);
	m.memory = (struct tpu_memory){.buffer = random_bytes(buffer, 6), .weights = weights, .weight_bytes = WEIGHTS};

	add_tiles(&m, TPU_MATRIX_MULTIPLY, 4, 2048, false);
	bench(&m, "rtl engine, 2048 rows per tile");
	add_tiles(&m, TPU_MATRIX_MULTIPLY, 32, 256, false);
	bench(&m, "rtl engine, 256 rows per tile");
	convolution(&m);
	bench(&m, "rtl engine, convolution 3x3");
	add_tiles(&m, TPU_MATRIX_MULTIPLY, 6, 2048, true);
	bench(&m, "rtl engine, with activate");
	m.config = tpu_v1(tpu);
	add_tiles(&m, TPU_MATRIX_MULTIPLY, 16, 200, true);
	bench(&m, "rtl engine, waits for weights");
	m.config = tpu_v1(tpu / 100);
	add_tiles(&m, TPU_MATRIX_MULTIPLY, 16, 200, true);
	bench(&m, "rtl engine, idle");

	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%-52s %9.2f MiB\n", "rtl engine, memory without the unified buffer",
	       (double)usage.ru_maxrss / 1024 - (double)(buffer >> 20));
	free(weights);
	free(m.memory.buffer);
	return 0;
}
