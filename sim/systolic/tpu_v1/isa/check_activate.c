/* SPDX-License-Identifier: MIT
 *
 * Rules of activate (docs/tpu-isa.md): types and zero points of its steps, the pooling window, and the vectors that it
 * reads and writes. */
#include "check_impl.h"

/* Vectors first <= i < first + count of the tensor at row base. */
struct vectors {
	int64_t base, first, count, plane_rows;
	int planes;
};

static enum tpu_type type_in(const struct tpu_check *check, enum tpu_register r)
{
	return (enum tpu_type)tpu_register_value(check, r);
}

static bool is_table_function(const struct tpu_check *check)
{
	enum tpu_function function = tpu_function_of(check->instruction->flags);
	return function == TPU_SIGMOID || function == TPU_TANH;
}

static int check_type(struct tpu_check *check, enum tpu_register type, enum tpu_register zero_point)
{
	if (type_in(check, type) == TPU_I32)
		return tpu_refuse(check, "the register %s is i32, expected i8, u8 or i16", tpu_register_names[type]);
	return tpu_check_zero_point(check, zero_point, type_in(check, type));
}

/* Checks an activate without an operand. Nothing then converts the source, so its type must be the one that the
 * function or the result needs. */
static int check_unconverted(struct tpu_check *check)
{
	enum tpu_type source = type_in(check, TPU_REG_SOURCE_TYPE), result = type_in(check, TPU_REG_RESULT_TYPE);
	if (is_table_function(check)) {
		if (source != TPU_I16)
			return tpu_refuse(check, "the register source_type is %s, expected i16 before sigmoid and tanh",
					  tpu_type_names[source]);
		return 0;
	}
	if (source != result)
		return tpu_refuse(check,
				  "the registers source_type and result_type are %s and %s, expected the same "
				  "without an operand",
				  tpu_type_names[source], tpu_type_names[result]);
	if (tpu_register_value(check, TPU_REG_SOURCE_ZERO_POINT) !=
	    tpu_register_value(check, TPU_REG_RESULT_ZERO_POINT))
		return tpu_refuse(check,
				  "the registers source_zero_point and result_zero_point are %lld and %lld, "
				  "expected the same without an operand",
				  (long long)tpu_register_value(check, TPU_REG_SOURCE_ZERO_POINT),
				  (long long)tpu_register_value(check, TPU_REG_RESULT_ZERO_POINT));
	return 0;
}

static int check_limit(struct tpu_check *check)
{
	static const int64_t low[TPU_TYPES] = {-128, 0, -32768}, high[TPU_TYPES] = {127, 255, 32767};
	enum tpu_type type = type_in(check, TPU_REG_RESULT_TYPE);
	return tpu_check_register(check, TPU_REG_RELU6_LIMIT, low[type], high[type]);
}

static int check_steps(struct tpu_check *check)
{
	enum tpu_operand operand = tpu_operand_of(check->instruction->flags);
	if (check_type(check, TPU_REG_SOURCE_TYPE, TPU_REG_SOURCE_ZERO_POINT) ||
	    check_type(check, TPU_REG_RESULT_TYPE, TPU_REG_RESULT_ZERO_POINT))
		return check->err->code;
	if (operand == TPU_ADD || operand == TPU_MULTIPLY)
		if (check_type(check, TPU_REG_OPERAND_TYPE, TPU_REG_OPERAND_ZERO_POINT))
			return check->err->code;
	if (operand == TPU_NO_OPERAND ? check_unconverted(check) : tpu_check_scale(check, TPU_REG_SOURCE_SCALE))
		return check->err->code;
	if (operand == TPU_ADD && tpu_check_scale(check, TPU_REG_OPERAND_SCALE))
		return check->err->code;
	if (is_table_function(check) && tpu_check_scale(check, TPU_REG_FUNCTION_SCALE))
		return check->err->code;
	return tpu_function_of(check->instruction->flags) == TPU_RELU6 ? check_limit(check) : 0;
}

/* Checks a pooling and sets *results. The number of taps is limited so that sums of 16-bit values fit 32 bits. */
static int check_pooling(struct tpu_check *check, int64_t *results)
{
	enum { MAX_TAPS = 65536 };
	static const char *const axis[] = {"height", "width"};
	if (tpu_check_window(check, false))
		return check->err->code;
	int64_t taps = tpu_register_value(check, TPU_REG_KERNEL_HEIGHT) *
		       tpu_register_value(check, TPU_REG_KERNEL_WIDTH);
	if (taps > MAX_TAPS)
		return tpu_refuse(check, "a pooling window of %lld taps, expected at most %d", (long long)taps,
				  MAX_TAPS);
	for (int d = 0; d < 2; d++) {
		int64_t kernel = tpu_register_value(check, TPU_REG_KERNEL_HEIGHT + d),
			pad = tpu_register_value(check, TPU_REG_PAD_TOP + d);
		int64_t in = tpu_register_value(check, TPU_REG_IN_HEIGHT + d),
			out = tpu_register_value(check, TPU_REG_OUT_HEIGHT + d);
		int64_t last = (out - 1) * tpu_register_value(check, TPU_REG_STRIDE_Y + d) - pad;
		if (kernel - 1 < pad || last > in - 1)
			return tpu_refuse(check,
					  "the %s window along the %s begins at %lld, expected %lld to %lld so that "
					  "it meets the image",
					  kernel - 1 < pad ? "first" : "last", axis[d],
					  (long long)(kernel - 1 < pad ? -pad : last), 1 - (long long)kernel,
					  (long long)in - 1);
	}
	int64_t image = tpu_register_value(check, TPU_REG_IN_HEIGHT) * tpu_register_value(check, TPU_REG_IN_WIDTH);
	if (check->instruction->length % image)
		return tpu_refuse(check, "%lld source vectors, expected whole images of in_height x in_width = %lld",
				  (long long)check->instruction->length, (long long)image);
	*results = tpu_saturating_product(check->instruction->length / image,
					  tpu_register_value(check, TPU_REG_OUT_HEIGHT) *
						  tpu_register_value(check, TPU_REG_OUT_WIDTH));
	return 0;
}

static void rows_of(const struct tpu_check *check, const struct vectors *v, int64_t *first, int64_t *end)
{
	int64_t per_row = tpu_register_value(check, TPU_REG_RESULT_ROW_PIXELS);
	*first = v->base + v->first / per_row;
	*end = v->base + tpu_saturating_sum(v->first, v->count - 1) / per_row + 1;
}

static int check_vectors(struct tpu_check *check, bool writes, const struct vectors *v)
{
	int64_t first, end;
	rows_of(check, v, &first, &end);
	if (writes && v->planes > 1 && v->plane_rows < end - first)
		return tpu_refuse(check,
				  "the register result_plane_rows is %lld, expected %lld at least: a plane of the "
				  "result takes so many rows",
				  (long long)v->plane_rows, (long long)(end - first));
	return tpu_check_rows(check, writes, first, end, v->planes, v->plane_rows);
}

static bool same_place(const struct vectors *a, const struct vectors *b)
{
	return a->base == b->base && a->first == b->first && a->count == b->count && a->planes == b->planes &&
	       (a->planes == 1 || a->plane_rows == b->plane_rows);
}

/* Checks that a result overwrites no source that is still to be read. It may overwrite its own source. */
static int check_overlap(struct tpu_check *check, const struct vectors *read, const struct vectors *result,
			 const char *role)
{
	int64_t read_first, read_end, first, end;
	bool pooling = tpu_pooling_of(check->instruction->flags) != TPU_NO_POOLING;
	if (!pooling && same_place(read, result))
		return 0;
	rows_of(check, read, &read_first, &read_end);
	rows_of(check, result, &first, &end);
	for (int p = 0; p < read->planes; p++)
		for (int q = 0; q < result->planes; q++) {
			int64_t from = read_first + p * read->plane_rows, to = first + q * result->plane_rows;
			if (from < to + (end - first) && to < from + (read_end - read_first))
				return tpu_refuse(check,
						  "rows %lld to %lld of the result lie on rows %lld to %lld of "
						  "the %s, expected others, or each result in the place of its source",
						  (long long)to, (long long)(to + end - first - 1), (long long)from,
						  (long long)(from + read_end - read_first - 1), role);
		}
	return 0;
}

static int check_places(struct tpu_check *check, int64_t results)
{
	unsigned flags = check->instruction->flags;
	enum tpu_operand operand = tpu_operand_of(flags);
	bool from_buffer = flags & TPU_ACTIVATE_FROM_BUFFER, second = operand == TPU_ADD || operand == TPU_MULTIPLY;
	int64_t first = tpu_register_value(check, TPU_REG_FIRST_SOURCE), length = check->instruction->length;
	struct vectors source = {tpu_register_value(check, TPU_REG_SOURCE), first, length,
				 tpu_register_value(check, TPU_REG_SOURCE_PLANE_ROWS),
				 tpu_planes(type_in(check, TPU_REG_SOURCE_TYPE))};
	struct vectors operand_vectors = {tpu_register_value(check, TPU_REG_OPERAND), first, length,
					  tpu_register_value(check, TPU_REG_OPERAND_PLANE_ROWS),
					  tpu_planes(type_in(check, TPU_REG_OPERAND_TYPE))};
	struct vectors result = {check->instruction->ub, tpu_register_value(check, TPU_REG_FIRST_RESULT), results,
				 tpu_register_value(check, TPU_REG_RESULT_PLANE_ROWS),
				 tpu_planes(type_in(check, TPU_REG_RESULT_TYPE))};
	if (from_buffer && check_vectors(check, false, &source))
		return check->err->code;
	if (second && check_vectors(check, false, &operand_vectors))
		return check->err->code;
	if (check_vectors(check, true, &result))
		return check->err->code;
	if (from_buffer && check_overlap(check, &source, &result, "source"))
		return check->err->code;
	return second ? check_overlap(check, &operand_vectors, &result, "operand") : 0;
}

static int check_table(struct tpu_check *check, bool raw)
{
	unsigned flags = check->instruction->flags;
	if (flags & TPU_ACTIVATE_SWITCH) {
		if (check->table_switches == check->tables)
			return tpu_refuse(check,
					  "switches to parameter table %lld, but the program reads %lld: expected a "
					  "read_weights.parameters for each switch",
					  (long long)check->table_switches + 1, (long long)check->tables);
		check->table_switches++;
	} else if (!check->table_switches && !raw && !(flags & TPU_ACTIVATE_FROM_BUFFER)) {
		return tpu_refuse(check, "no scales yet, expected the flag `switch` here or earlier");
	}
	return 0;
}

int tpu_check_activate(struct tpu_check *check)
{
	unsigned flags = check->instruction->flags;
	bool raw = type_in(check, TPU_REG_RESULT_TYPE) == TPU_I32;
	int64_t results = check->instruction->length;
	if (raw && flags & ~(unsigned)TPU_ACTIVATE_SWITCH)
		return tpu_refuse(check, "the register result_type is i32, expected no flag but `switch` with it");
	if (check_table(check, raw))
		return check->err->code;
	if (!(flags & TPU_ACTIVATE_FROM_BUFFER) && tpu_check_accumulators(check, "reads"))
		return check->err->code;
	if (!raw && check_steps(check))
		return check->err->code;
	if (tpu_pooling_of(flags) && check_pooling(check, &results))
		return check->err->code;
	if (tpu_check_register(check, TPU_REG_RESULT_COLUMNS, 1, check->config->columns) ||
	    tpu_check_layout(check, TPU_REG_RESULT_PIXEL_LANES, TPU_REG_RESULT_ROW_PIXELS, TPU_REG_RESULT_LANE,
			     tpu_register_value(check, TPU_REG_RESULT_COLUMNS)))
		return check->err->code;
	return check_places(check, results);
}
