/* SPDX-License-Identifier: MIT
 *
 * The register-level matrix unit. What the program promises: every register equals that of an array stated cell by
 * cell, in every cycle, whatever enters; legal programs give exact products at the published cycles; a refill or a
 * switch one cycle too early is not refused but does to the weights what the cells would do, and is counted. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/cpu_features.h"
#include "tests/kit/sim/matrix_oracle.h"
#include "tests/kit/sim/matrix_stimulus.h"

static const struct tpu_matrix_inputs nothing = {0};

static void open_unit(struct tpu_matrix *unit, int64_t rows, int64_t columns, int64_t accumulator_rows,
		      int64_t registers)
{
	struct npl_err err = {0};
	cr_assert_eq(tpu_matrix_open(unit, rows, columns, accumulator_rows, registers, &err), 0, "%s", err.msg);
}

static void step(struct tpu_matrix *unit, const struct tpu_matrix_inputs *in)
{
	struct npl_err err = {0};
	cr_assert_eq(tpu_matrix_step(unit, in, &err), 0, "%s", err.msg);
}

/* Bubbles until every row has been written; a unit that loses one fails here. */
static void drain(struct tpu_matrix *unit)
{
	int64_t maximum = unit->rows + unit->columns + unit->registers;
	while (!tpu_matrix_drained(unit)) {
		cr_assert_geq(maximum--, 0, "%llu of %llu rows' writes", (unsigned long long)unit->count.writes,
			      (unsigned long long)unit->count.input_rows);
		step(unit, &nothing);
	}
}

/* The n-th kernel that this processor can run, counted from 0 and round again. */
static const struct tpu_matrix_kernel *usable_kernel(uint64_t n)
{
	for (const struct tpu_matrix_kernel *k = tpu_matrix_kernel_list;;
	     k = k[1].name ? k + 1 : tpu_matrix_kernel_list)
		if (npl_cpu_has(k->required_features) && n-- == 0)
			return k;
}

/* Every kernel against the product as it is written, and no sum beyond its blocks. */
Test(systolic_matrix, kernels_equal_the_product)
{
	enum { MAX_ELEMENTS = 5 * TPU_MATRIX_LANES };
	int kernels = 0;
	for (const struct tpu_matrix_kernel *kernel = tpu_matrix_kernel_list; kernel->name; kernel++) {
		if (!npl_cpu_has(kernel->required_features))
			continue;
		kernels++;
		for (uint64_t seed = 1; seed <= 100; seed++) {
			static int16_t input[MAX_ELEMENTS], weight[MAX_ELEMENTS];
			static int32_t sum[MAX_ELEMENTS], expected[MAX_ELEMENTS];
			uint64_t rng = seed;
			int64_t blocks = test_range(&rng, 0, 5);
			for (int64_t i = 0; i < MAX_ELEMENTS; i++) { /* bytes minus zero points */
				input[i] = (int16_t)(seed % 4 ? test_range(&rng, -255, 255)
							      : test_range(&rng, 0, 1) * 510 - 255);
				weight[i] = (int16_t)(seed % 4 ? test_range(&rng, -255, 255)
							       : test_range(&rng, 0, 1) * 510 - 255);
				sum[i] = (int32_t)test_range(&rng, -1000000000, 1000000000);
				expected[i] = sum[i] + (i < blocks * TPU_MATRIX_LANES ? input[i] * weight[i] : 0);
			}
			kernel->multiply(sum, input, weight, blocks);
			cr_assert_arr_eq(sum, expected, sizeof sum, "%s, seed %llu", kernel->name,
					 (unsigned long long)seed);
		}
	}
	cr_assert_geq(kernels, 1);
}

/* Against the cells. */

static void expect_writes(const struct tpu_matrix *unit, const struct oracle *o, const char *subject)
{
	int64_t n = 0;
	for (int64_t c = 0; c < o->columns; c++) {
		if (!o->written[c])
			continue;
		cr_assert_lt(n, unit->writes, "%s: column %lld writes nothing", subject, (long long)c);
		const struct tpu_matrix_write *actual = &unit->write[n++], *expected = &o->write[c];
		cr_assert(actual->column == expected->column && actual->address == expected->address &&
				  actual->sum == expected->sum && actual->value == expected->value &&
				  actual->overflowed == expected->overflowed,
			  "%s: column %lld row %lld sum %d value %d%s, expected column %lld row %lld sum %d value %d%s",
			  subject, (long long)actual->column, (long long)actual->address, actual->sum, actual->value,
			  actual->overflowed ? " overflowed" : "", (long long)expected->column,
			  (long long)expected->address, expected->sum, expected->value,
			  expected->overflowed ? " overflowed" : "");
	}
	cr_assert_eq(n, unit->writes, "%s: %lld writes, expected %lld", subject, (long long)unit->writes, (long long)n);
}

static void expect_cells(const struct tpu_matrix *unit, const struct oracle *o, const char *subject)
{
	for (int64_t r = 0; r < o->rows; r++)
		for (int64_t c = 0; c < o->columns; c++) {
			struct tpu_matrix_cell actual = tpu_matrix_cell_at(unit, r, c);
			const struct oracle_cell *expected = &o->now.cell[r][c];
			cr_assert(actual.activation == expected->activation.value && actual.sum == expected->sum &&
					  actual.active == expected->active && actual.shadow == expected->shadow,
				  "%s: cell %lld,%lld holds %d %d %d %d, expected %d %d %d %d", subject, (long long)r,
				  (long long)c, actual.activation, actual.sum, actual.active, actual.shadow,
				  expected->activation.value, expected->sum, expected->active, expected->shadow);
		}
}

Test(systolic_matrix, every_register_in_every_cycle)
{
	struct oracle *o = malloc(sizeof *o);
	uint64_t writes = 0, hazards = 0, overflows = 0;
	cr_assert(o);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct stimulus s;
		struct tpu_matrix unit;
		struct tpu_matrix_inputs in;
		uint64_t rng = seed * 77;
		int64_t maximum = seed % 6 ? 9 : ORACLE_MAX, rows = test_range(&rng, 1, maximum),
			columns = test_range(&rng, 1, maximum);
		open_unit(&unit, rows, columns, test_range(&rng, 1, 40),
			  seed % 3 ? 0 : test_range(&rng, 1, ORACLE_REGISTERS));
		unit.kernel = usable_kernel(seed / 6);
		cr_assert(stimulus_open(&s, seed, rows, columns, unit.accumulator_rows));
		oracle_open(o, &unit);
		for (int64_t cycle = 0; cycle < 1200; cycle++) {
			char where[96];
			snprintf(where, sizeof where, "seed %llu, %lld x %lld, cycle %lld", (unsigned long long)seed,
				 (long long)rows, (long long)columns, (long long)cycle);
			stimulus_next(&s, &in);
			step(&unit, &in);
			oracle_step(o, &in);
			expect_writes(&unit, o, where);
			expect_cells(&unit, o, where);
		}
		cr_assert_eq(unit.count.overflows, o->overflows);
		cr_assert_arr_eq(unit.accumulator, o->accumulator,
				 (size_t)(unit.accumulator_rows * columns) * sizeof *o->accumulator);
		writes += unit.count.writes;
		hazards += unit.count.overruns + unit.count.early_switches;
		overflows += unit.count.overflows;
		free(o->accumulator);
		stimulus_close(&s);
		tpu_matrix_close(&unit);
	}
	free(o);
	cr_assert(writes > 100000 && hazards > 50 && overflows > 1000, "%llu writes, %llu hazards, %llu overflows",
		  (unsigned long long)writes, (unsigned long long)hazards, (unsigned long long)overflows);
}

/* Products. */

/* A pass as a program has it: a tile of weights, or that of the pass before, and rows through it. */
struct pass {
	bool fetch, accumulate;
	int shift;
	int64_t count, address;
	struct tpu_byte_format row_format, weight_format;
	uint8_t *row, *weights; /* (count, rows), (rows, columns) */
};

static void fill(uint8_t *bytes, int64_t count, uint64_t *rng)
{
	for (int64_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)(test_rng(rng) >> 33);
}

static void random_pass(struct pass *p, const struct tpu_matrix *unit, const struct pass *before, uint64_t *rng)
{
	struct stimulus draw = {.rng = test_rng(rng)};
	p->fetch = !before || test_range(rng, 0, 3);
	p->count = test_range(rng, 1,
			      2 * unit->rows < unit->accumulator_rows ? 2 * unit->rows : unit->accumulator_rows);
	p->address = test_range(rng, 0, unit->accumulator_rows - p->count);
	p->accumulate = test_range(rng, 0, 2);
	p->shift = 8 * (int)test_range(rng, 0, 2);
	p->row_format = stimulus_format(&draw);
	p->weight_format = stimulus_format(&draw);
	p->row = malloc((size_t)(p->count * unit->rows));
	p->weights = malloc((size_t)(unit->rows * unit->columns));
	cr_assert(p->row && p->weights);
	fill(p->row, p->count * unit->rows, rng);
	if (p->fetch)
		fill(p->weights, unit->rows * unit->columns, rng);
	else
		memcpy(p->weights, before->weights, (size_t)(unit->rows * unit->columns));
}

static int operand(uint8_t byte, struct tpu_byte_format format)
{
	return oracle_operand(byte, format);
}

/* acc (accumulator_rows, columns) as the passes leave it; returns the writes that wrap. */
static uint64_t naive(const struct tpu_matrix *unit, const struct pass *p, int32_t *acc)
{
	uint64_t wrapped = 0;
	for (int64_t b = 0; b < p->count; b++)
		for (int64_t c = 0; c < unit->columns; c++) {
			int32_t *at = acc + (p->address + b) * unit->columns + c;
			int64_t value = p->accumulate ? *at : 0;
			for (int64_t r = 0; r < unit->rows; r++)
				value += (int64_t)operand(p->row[b * unit->rows + r], p->row_format) *
					 operand(p->weights[r * unit->columns + c], p->weight_format) * (1 << p->shift);
			*at = (int32_t)(uint32_t)((uint64_t)value & UINT32_MAX);
			wrapped += *at != value;
		}
	return wrapped;
}

static int next_fetch(const struct pass *pass, int n, int from)
{
	while (from < n && !pass[from].fetch)
		from++;
	return from;
}

/* Runs passes as early as the rules allow, except bubbles and gaps at the given rate. */
static void run_passes(struct tpu_matrix *unit, const struct pass *pass, int n, int bubble_percent, uint64_t *rng)
{
	int at = 0, tile = next_fetch(pass, n, 0),
	    waits = -1; /* pass that streams or is next; tile to shift; tile in place */
	int64_t b = 0, row = unit->rows;
	while (at < n) {
		struct tpu_matrix_inputs in = {0};
		bool ready = at < n && (b > 0 || !pass[at].fetch || waits == at);
		if (ready && test_range(rng, 0, 99) >= bubble_percent) {
			const struct pass *p = &pass[at];
			in.row = p->row + b * unit->rows;
			in.row_format = p->row_format;
			in.weight_format = p->weight_format;
			in.switch_weights = p->fetch && b == 0;
			in.address = p->address + b;
			in.accumulate = p->accumulate;
			in.shift = p->shift;
			waits = in.switch_weights ? -1 : waits;
			if (++b == p->count) {
				at++;
				b = 0;
			}
		}
		if (waits < 0 && tile < n && test_range(rng, 0, 99) >= bubble_percent) {
			in.weights = pass[tile].weights + --row * unit->columns;
			if (row == 0) {
				waits = tile;
				tile = next_fetch(pass, n, tile + 1);
				row = unit->rows;
			}
		}
		step(unit, &in);
	}
	drain(unit);
}

Test(systolic_matrix, products_of_random_passes)
{
	enum { MAX_PASSES = 8 };
	uint64_t wrapped = 0;
	for (uint64_t seed = 1; seed <= 250; seed++) {
		struct tpu_matrix unit;
		struct pass pass[MAX_PASSES];
		uint64_t rng = seed, expected = 0;
		int n = (int)test_range(&rng, 1, MAX_PASSES);
		if (seed == 1)
			open_unit(&unit, 256, 256, 300, 0);
		else
			open_unit(&unit, test_range(&rng, 3, 32), test_range(&rng, 3, 32), test_range(&rng, 1, 150),
				  test_range(&rng, 0, 3) ? 0 : test_range(&rng, 1, 5));
		int32_t *acc = calloc((size_t)(unit.accumulator_rows * unit.columns), sizeof *acc);
		cr_assert(acc);
		for (int i = 0; i < n; i++) {
			random_pass(&pass[i], &unit, i ? &pass[i - 1] : NULL, &rng);
			expected += naive(&unit, &pass[i], acc);
		}
		run_passes(&unit, pass, n, seed % 2 ? 0 : 30, &rng);
		cr_assert_arr_eq(unit.accumulator, acc, (size_t)(unit.accumulator_rows * unit.columns) * sizeof *acc,
				 "seed %llu", (unsigned long long)seed);
		cr_assert_eq(unit.count.overflows, expected, "seed %llu: %llu overflows, expected %llu",
			     (unsigned long long)seed, (unsigned long long)unit.count.overflows,
			     (unsigned long long)expected);
		cr_assert_eq(unit.count.overruns + unit.count.early_switches, 0);
		wrapped += expected;
		for (int i = 0; i < n; i++) {
			free(pass[i].row);
			free(pass[i].weights);
		}
		free(acc);
		tpu_matrix_close(&unit);
	}
	cr_assert_gt(wrapped, 1000);
}

/* Cycles. */

/* Shifts a tile in, sends b rows through it; the cycles from the first row's to the last write's, both counted. */
static uint64_t cycles_of_pass(struct tpu_matrix *unit, int64_t b, uint64_t *rng)
{
	uint8_t *bytes = malloc((size_t)(unit->rows + unit->columns));
	cr_assert(bytes);
	struct tpu_matrix_inputs weights = {.weights = bytes}, row = {.row = bytes, .switch_weights = true};
	for (int64_t i = 0; i < unit->rows; i++) {
		fill(bytes, unit->columns, rng);
		step(unit, &weights);
	}
	uint64_t start = unit->count.cycles, last = 0;
	for (int64_t i = 0; i < b; i++, row.switch_weights = false) {
		row.address = i % unit->accumulator_rows;
		fill(bytes, unit->rows, rng);
		step(unit, &row);
		last = unit->writes ? unit->count.cycles : last;
	}
	for (int64_t i = 0; i < 2 * (unit->rows + unit->columns) + unit->registers; i++) {
		step(unit, &nothing);
		last = unit->writes ? unit->count.cycles : last;
	}
	cr_assert(tpu_matrix_drained(unit));
	free(bytes);
	return last - start;
}

Test(systolic_matrix, the_last_write_is_where_the_formula_says)
{
	static const int64_t shapes[][3] = {{256, 256, 0}, {1, 1, 0},   {1, 7, 0}, {7, 1, 0}, {3, 5, 0},
					    {32, 9, 0},    {16, 16, 3}, {5, 3, 1}, {1, 1, 2}};
	static const int64_t batches[] = {1, 2, 128, 256, 2048};
	uint64_t rng = 0x5eed0301;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (size_t j = 0; j < sizeof batches / sizeof *batches; j++) {
			struct tpu_matrix unit;
			int64_t b = batches[j], rows = shapes[i][0], columns = shapes[i][1], registers = shapes[i][2];
			open_unit(&unit, rows, columns, 2048, registers);
			cr_assert_eq(cycles_of_pass(&unit, b, &rng), (uint64_t)(b + rows + columns - 2 + registers),
				     "%lld rows on %lld x %lld", (long long)b, (long long)rows, (long long)columns);
			tpu_matrix_close(&unit);
		}
}

/* Refills and switches at the earliest cycle, and one cycle too early. */

/* Two tiles, their first weight rows and the first of `rows` input rows each in the given cycles. */
static void run_two(struct tpu_matrix *unit, const struct pass *pass, const int64_t *tile_at, const int64_t *pass_at)
{
	for (int64_t cycle = 0; cycle < 8 * (unit->rows + unit->columns); cycle++) {
		struct tpu_matrix_inputs in = {0};
		for (int i = 0; i < 2; i++) {
			int64_t row = cycle - pass_at[i], weight = unit->rows - 1 - (cycle - tile_at[i]);
			if (row >= 0 && row < pass[i].count) {
				in.row = pass[i].row + row * unit->rows;
				in.row_format = pass[i].row_format;
				in.weight_format = pass[i].weight_format;
				in.switch_weights = row == 0;
				in.address = pass[i].address + row;
			}
			if (weight >= 0 && weight < unit->rows) {
				in.weights = pass[i].weights + weight * unit->columns;
			}
		}
		step(unit, &in);
	}
}

Test(systolic_matrix, earliest_refill_and_switch)
{
	enum { LEGAL, EARLY_REFILL, EARLY_SWITCH, CASES };
	for (uint64_t seed = 1; seed <= 60; seed++)
		for (int what = LEGAL; what < CASES; what++) {
			struct tpu_matrix unit;
			struct pass pass[2];
			uint64_t rng = seed;
			int64_t rows = test_range(&rng, 2, 32), columns = test_range(&rng, 1, 32);
			open_unit(&unit, rows, columns, 2 * rows, 0);
			int32_t *acc = calloc((size_t)(2 * rows * columns), sizeof *acc);
			cr_assert(acc);
			for (int i = 0; i < 2; i++) {
				random_pass(&pass[i], &unit, NULL, &rng);
				free(pass[i].row);
				pass[i].row = malloc((size_t)(rows * rows));
				cr_assert(pass[i].row);
				fill(pass[i].row, rows * rows, &rng);
				pass[i].count = rows;
				pass[i].address = i * rows;
				pass[i].accumulate = false;
				pass[i].shift = 0;
			}
			/* Tile 0 in cycles 0 to rows - 1, then a cycle in which nothing may enter the plane. */
			int64_t first = rows + 1, tile_at[2] = {0, first}, pass_at[2] = {first, first + rows};
			tile_at[1] -= what == EARLY_REFILL;
			pass_at[1] -= what == EARLY_SWITCH;
			if (what == EARLY_SWITCH)
				pass[0].count--; /* the array takes one row per cycle */
			run_two(&unit, pass, tile_at, pass_at);
			if (what == EARLY_REFILL) /* the first row that came was the second tile's last */
				memcpy(pass[0].weights + (rows - 1) * columns, pass[1].weights + (rows - 1) * columns,
				       (size_t)columns);
			if (what == EARLY_SWITCH) /* the second tile's first row had not come */
				memcpy(pass[1].weights, pass[0].weights, (size_t)columns);
			naive(&unit, &pass[0], acc);
			naive(&unit, &pass[1], acc);
			cr_assert_arr_eq(unit.accumulator, acc, (size_t)(2 * rows * columns) * sizeof *acc,
					 "seed %llu case %d", (unsigned long long)seed, what);
			cr_assert_eq(unit.count.overruns, what == EARLY_REFILL);
			cr_assert_eq(unit.count.early_switches, what != LEGAL); /* a refill has begun: incomplete */
			for (int i = 0; i < 2; i++) {
				free(pass[i].row);
				free(pass[i].weights);
			}
			free(acc);
			tpu_matrix_close(&unit);
		}
}

/* 16-bit operands. */

/* x (B, K) by w (K, N), 16 bits each, as passes over low and high bytes. */
static void run_16x16(struct tpu_matrix *unit, int64_t b, const int16_t *x, const int16_t *w, uint64_t *rng)
{
	struct pass pass[4];
	for (int i = 0; i < 4; i++) {
		int row_byte = i & 1, weight_byte = i >> 1;
		pass[i] = (struct pass){.fetch = row_byte == 0,
					.accumulate = i > 0,
					.shift = 8 * (row_byte + weight_byte),
					.count = b,
					.row_format = {.is_signed = row_byte},
					.weight_format = {.is_signed = weight_byte},
					.row = malloc((size_t)(b * unit->rows)),
					.weights = malloc((size_t)(unit->rows * unit->columns))};
		cr_assert(pass[i].row && pass[i].weights);
		for (int64_t j = 0; j < b * unit->rows; j++)
			pass[i].row[j] = (uint8_t)((uint16_t)x[j] >> (8 * row_byte));
		for (int64_t j = 0; j < unit->rows * unit->columns; j++)
			pass[i].weights[j] = (uint8_t)((uint16_t)w[j] >> (8 * weight_byte));
	}
	run_passes(unit, pass, 4, 10, rng);
	for (int i = 0; i < 4; i++) {
		free(pass[i].row);
		free(pass[i].weights);
	}
}

Test(systolic_matrix, sixteen_bits_in_four_passes)
{
	enum { B = 9, K = 13, N = 6 };
	uint64_t rng = 0x5eed0302;
	for (int round = 0; round < 20; round++) {
		struct tpu_matrix unit;
		int16_t x[B * K], w[K * N];
		int magnitude = round % 2 ? 16 : 12; /* bits: sums that wrap, and sums that do not */
		for (int i = 0; i < B * K; i++)
			x[i] = (int16_t)((int16_t)test_rng(&rng) >> (16 - magnitude));
		for (int i = 0; i < K * N; i++)
			w[i] = (int16_t)((int16_t)test_rng(&rng) >> (16 - magnitude));
		open_unit(&unit, K, N, B, 0);
		run_16x16(&unit, B, x, w, &rng);
		for (int b = 0; b < B; b++)
			for (int n = 0; n < N; n++) {
				int64_t sum = 0;
				for (int k = 0; k < K; k++)
					sum += (int64_t)x[b * K + k] * w[k * N + n];
				cr_assert_eq((uint32_t)unit.accumulator[b * N + n], (uint32_t)(uint64_t)sum,
					     "round %d: %d,%d", round, b, n);
			}
		tpu_matrix_close(&unit);
	}
}

/* Wrapping, bad input. */

/* The greatest products, added up to and beyond 2^31: the first addition that wraps is the one that must. */
Test(systolic_matrix, sums_wrap_and_are_counted)
{
	enum { R = 32 };
	static uint8_t bytes[R];
	struct tpu_matrix unit;
	const int64_t each = (int64_t)R * 255 * 255, fit = INT32_MAX / each;
	memset(bytes, 255, sizeof bytes);
	open_unit(&unit, R, 1, 1, 0);
	for (int i = 0; i < R; i++)
		step(&unit, &(struct tpu_matrix_inputs){.weights = bytes});
	struct tpu_matrix_inputs in = {.row = bytes, .switch_weights = true};
	for (int64_t i = 0; i < fit; i++, in.accumulate = true, in.switch_weights = false)
		step(&unit, &in);
	drain(&unit);
	cr_assert_eq(unit.accumulator[0], fit * each);
	cr_assert_eq(unit.count.overflows, 0);
	step(&unit, &in);
	drain(&unit);
	cr_assert_eq(unit.accumulator[0], (fit + 1) * each - ((int64_t)1 << 32));
	cr_assert_eq(unit.count.overflows, 1);
	in.shift = 16; /* 2,080,800 * 65,536 is 31 * 2^32 and something, from an accumulator that is not looked at */
	in.accumulate = false;
	step(&unit, &in);
	drain(&unit);
	cr_assert_eq((uint32_t)unit.accumulator[0], (uint32_t)((uint64_t)each << 16));
	cr_assert_eq(unit.count.overflows, 2);
	tpu_matrix_close(&unit);
}

Test(systolic_matrix, refuses_what_cannot_be)
{
	static const int64_t sizes[][4] = {{0, 1, 1, 0},        {1, 0, 1, 0},  {1, 1, 0, 0},
					   {1, 1, 1, -1},       {-4, 4, 4, 0}, {TPU_MATRIX_MAX_ROWS + 1, 1, 1, 0},
					   {1, INT64_MAX, 1, 0}};
	uint8_t bytes[4] = {0};
	struct tpu_matrix unit;
	struct npl_err err = {0};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const int64_t *s = sizes[i];
		cr_assert_eq(tpu_matrix_open(&unit, s[0], s[1], s[2], s[3], &err), NPL_EINPUT, "size %zu", i);
		tpu_matrix_close(&unit);
	}
	open_unit(&unit, 4, 4, 4, 0);
	const struct tpu_matrix_inputs bad[] = {
		{.row = bytes, .address = 4},
		{.row = bytes, .address = -1},
		{.row = bytes, .shift = 4},
		{.row = bytes, .shift = 24},
		{.row = bytes, .row_format = {.is_signed = false, .zero_point = -1}},
		{.row = bytes, .row_format = {.is_signed = true, .zero_point = 128}},
		{.row = bytes, .weight_format = {.is_signed = false, .zero_point = 256}},
		{.row = bytes, .weight_format = {.is_signed = true, .zero_point = -129}},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_assert_eq(tpu_matrix_step(&unit, &bad[i], &err), NPL_EINTERNAL, "input %zu", i);
	cr_assert_eq(unit.count.cycles, 0);
	tpu_matrix_close(&unit);
}
