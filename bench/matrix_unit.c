/* SPDX-License-Identifier: MIT
 *
 * How many array cycles per second the register-level matrix unit does at 256 x 256, every cell busy: one thread, one
 * input row in each cycle, either with the weights in place or with a new tile shifted in after every 256 rows. */
#include <string.h>

#include "bench.h"
#include "npulab/cpu_features.h"
#include "npulab/random.h"
#include "sim/systolic/array/matrix_unit.h"

enum { SIZE = 256, ACCUMULATOR_ROWS = 4096, CYCLES = 8192 };

struct stream {
	struct tpu_matrix unit;
	uint8_t rows[CYCLES][SIZE];
	int64_t rows_per_tile; /* 0: no refill */
};

static struct npl_err err;

static void stop(void)
{
	fprintf(stderr, "bench: %s\n", err.msg);
	exit(npl_exit_status(err.code));
}

static void run(void *context)
{
	struct stream *s = context;
	for (int64_t cycle = 0; cycle < CYCLES; cycle++) {
		struct tpu_matrix_inputs in = {.row = s->rows[cycle],
					       .weight_format.is_signed = true,
					       .address = cycle % ACCUMULATOR_ROWS,
					       .accumulate = cycle >= ACCUMULATOR_ROWS};
		if (s->rows_per_tile) {
			int64_t at = cycle % s->rows_per_tile;
			in.switch_weights = at == 0;
			in.weights = at < SIZE ? s->rows[CYCLES - 1 - cycle] : NULL;
		}
		if (tpu_matrix_step(&s->unit, &in, &err))
			stop();
	}
}

static void bench_stream(const struct tpu_matrix_kernel *kernel, int64_t rows_per_tile, const char *weights)
{
	static struct stream s;
	struct npl_random random = {.state = 3};
	char subject[64];
	if (tpu_matrix_open(&s.unit, SIZE, SIZE, ACCUMULATOR_ROWS, 0, &err))
		stop();
	s.unit.kernel = kernel;
	s.rows_per_tile = rows_per_tile;
	for (size_t i = 0; i < CYCLES; i++)
		for (size_t r = 0; r < SIZE; r++)
			s.rows[i][r] = (uint8_t)npl_random_u64(&random);
	snprintf(subject, sizeof subject, "matrix unit 256x256, %s, %s", kernel->name, weights);
	/* bench_print scales by 1e-9 */
	bench_print(subject, CYCLES * 1e6, "kcycle/s", bench_seconds(run, &s));
	tpu_matrix_close(&s.unit);
}

int main(void)
{
	for (const struct tpu_matrix_kernel *k = tpu_matrix_kernel_list; k->name; k++) {
		if (!npl_cpu_has(k->required_features))
			continue;
		bench_stream(k, 0, "weights in place");
		bench_stream(k, SIZE, "tile every 256 rows");
	}
	return 0;
}
