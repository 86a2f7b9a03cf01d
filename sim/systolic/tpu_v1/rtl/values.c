/* SPDX-License-Identifier: MIT
 *
 * What the activation unit does to a source vector before pooling: requantisation, operand, function. Scales are
 * float32, with every operation rounded by itself; everything else is integers. The arithmetic is this engine's own on
 * purpose: it uses neither the kernels of core/ nor the rounding of libm. */
#include "rtl.h"

static const struct {
	int32_t low, high;
} ranges[TPU_TYPES] = {[TPU_I8] = {INT8_MIN, INT8_MAX},
		       [TPU_U8] = {0, UINT8_MAX},
		       [TPU_I16] = {INT16_MIN, INT16_MAX},
		       [TPU_I32] = {INT32_MIN, INT32_MAX}};

/* An element type with its zero point, to which a value is rounded and saturated. */
struct format {
	enum tpu_type type;
	int32_t zero_point;
	bool rectified; /* relu or relu6 takes the value: saturation at the low end does not count */
	bool limited;   /* relu6 takes the value: saturation at the high end does not count either */
};

static struct format format_of(const struct tpu_rtl_issued *issued, enum tpu_register type,
			       enum tpu_register zero_point, bool function_follows)
{
	const enum tpu_function function = tpu_function_of(issued->instruction.flags);
	return (struct format){.type = (enum tpu_type)tpu_rtl_register(issued, type),
			       .zero_point = tpu_signed(&issued->registers, zero_point),
			       .rectified = function_follows && (function == TPU_RELU || function == TPU_RELU6),
			       .limited = function_follows && function == TPU_RELU6};
}

/* Rounds to the nearest integer, ties to even. A value beyond 2^30 is beyond every type and is cut to that. */
static int32_t round_half_even(float x)
{
	const float limit = 0x1p30f;
	if (x >= limit || x <= -limit)
		return x > 0 ? (int32_t)limit : -(int32_t)limit;
	int32_t truncated = (int32_t)x;        /* towards 0 */
	float fraction = x - (float)truncated; /* exact: below 2^23 both are multiples of x's last bit, above it is 0 */
	if (fraction > 0.5f || (fraction == 0.5f && truncated % 2 != 0))
		return truncated + 1;
	if (fraction < -0.5f || (fraction == -0.5f && truncated % 2 != 0))
		return truncated - 1;
	return truncated;
}

static int32_t quantise(float x, struct format to, uint64_t *saturations)
{
	int32_t value = round_half_even(x) + to.zero_point;
	int32_t low = ranges[to.type].low, high = ranges[to.type].high;
	if (value >= low && value <= high)
		return value;
	*saturations += value > high ? !to.limited : !to.rectified;
	return value < low ? low : high;
}

/* Adds the bias to the accumulators. An overflow counts if the sum of all products and the bias does not fit, whatever
 * happened on the way. */
static void add_bias(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires, int64_t count,
		     struct sim_value_counts *value_counts)
{
	for (int64_t j = 0; j < count; j++) {
		activate->value[j] = (int32_t)((uint32_t)wires->accumulators[j] + (uint32_t)activate->bias[j]);
		value_counts->overflows += activate->value[j] != wires->exact_sums[j] + activate->bias[j];
	}
}

static void requantise(struct tpu_rtl_activate *activate, int64_t count, struct sim_value_counts *value_counts)
{
	bool last = tpu_operand_of(activate->current.instruction.flags) == TPU_NO_OPERAND;
	struct format to = format_of(&activate->current, TPU_REG_SOURCE_TYPE, TPU_REG_SOURCE_ZERO_POINT, last);
	for (int64_t j = 0; j < count; j++)
		activate->value[j] = quantise((float)activate->value[j] * activate->scale[j], to,
					      &value_counts->saturations);
}

static void read_tensor(struct tpu_rtl_context *context, const struct tpu_rtl_issued *now, enum tpu_register base,
			int64_t vector, int64_t count, int32_t *element)
{
	/* The registers of source and operand stand in the same order: base, distance of planes, type. */
	const struct tpu_rtl_tensor tensor = {.base = tpu_rtl_register(now, base),
					      .plane_rows = tpu_rtl_register(now, base + 1),
					      .type = (enum tpu_type)tpu_rtl_register(now, base + 2),
					      .pixel_lanes = tpu_rtl_register(now, TPU_REG_RESULT_PIXEL_LANES),
					      .row_pixels = tpu_rtl_register(now, TPU_REG_RESULT_ROW_PIXELS),
					      .lane = tpu_rtl_register(now, TPU_REG_RESULT_LANE)};
	const int64_t number = tpu_rtl_register(now, TPU_REG_FIRST_SOURCE) + vector;
	const enum tpu_rtl_port port = base == TPU_REG_SOURCE ? TPU_RTL_SOURCES : TPU_RTL_OPERANDS;
	tpu_rtl_read_vector(context, &tensor, number, count, element);
	tpu_rtl_count_activity(context, now->index,
			       &(struct tpu_activity){.ub_read_toggles = tpu_rtl_vector_toggles(context, port, &tensor,
												number, count)});
}
_Static_assert(TPU_REG_SOURCE_PLANE_ROWS == TPU_REG_SOURCE + 1 && TPU_REG_SOURCE_TYPE == TPU_REG_SOURCE + 2 &&
		       TPU_REG_OPERAND_PLANE_ROWS == TPU_REG_OPERAND + 1 && TPU_REG_OPERAND_TYPE == TPU_REG_OPERAND + 2,
	       "the registers of a tensor stand together");

/* Returns the format of the results of the operand step and of the functions after it. */
static struct format result_format(const struct tpu_rtl_issued *now)
{
	return format_of(now, TPU_REG_RESULT_TYPE, TPU_REG_RESULT_ZERO_POINT, true);
}

static bool by_table(enum tpu_function function)
{
	return function == TPU_SIGMOID || function == TPU_TANH;
}

static void apply_operand(struct tpu_rtl_activate *activate, int64_t vector, int64_t count,
			  struct tpu_rtl_context *context, struct sim_value_counts *value_counts)
{
	const struct tpu_rtl_issued *now = &activate->current;
	enum tpu_operand operand = tpu_operand_of(now->instruction.flags);
	const struct format q4_12 = {.type = TPU_I16};
	struct format to = by_table(tpu_function_of(now->instruction.flags)) ? q4_12 : result_format(now);
	int32_t source_zero = tpu_signed(&now->registers, TPU_REG_SOURCE_ZERO_POINT);
	int32_t operand_zero = tpu_signed(&now->registers, TPU_REG_OPERAND_ZERO_POINT);
	float source_scale = tpu_float(&now->registers, TPU_REG_SOURCE_SCALE);
	float operand_scale = tpu_float(&now->registers, TPU_REG_OPERAND_SCALE);
	if (operand == TPU_NO_OPERAND)
		return;
	if (operand != TPU_SCALE)
		read_tensor(context, now, TPU_REG_OPERAND, vector, count, activate->operand);
	for (int64_t j = 0; j < count; j++) {
		int32_t q = activate->value[j] - source_zero, o = activate->operand[j] - operand_zero;
		float scaled = (float)q * source_scale;
		if (operand == TPU_ADD)
			scaled += (float)o * operand_scale;
		else if (operand == TPU_MULTIPLY)
			scaled = (float)((int64_t)q * o) * source_scale;
		activate->value[j] = quantise(scaled, to, &value_counts->saturations);
	}
}

/* Returns a function of a Q4.12 value in Q0.15, by linear interpolation. */
static int32_t interpolate(const struct tpu_function_table *table, int32_t q)
{
	int32_t i = (q + 32768) / 256, r = (q + 32768) % 256;
	int32_t sum = table->point[i] * (256 - r) + table->point[i + 1] * r + 128;
	int32_t quotient = sum / 256;
	return quotient - (sum % 256 < 0);
}

static void apply_function(struct tpu_rtl_activate *activate, int64_t count, struct sim_value_counts *value_counts)
{
	const struct tpu_rtl_issued *now = &activate->current;
	enum tpu_function function = tpu_function_of(now->instruction.flags);
	const struct tpu_function_table *table = function == TPU_SIGMOID ? &activate->sigmoid : &activate->tanh;
	struct format to = result_format(now);
	int32_t upper_limit = function == TPU_RELU6 ? tpu_signed(&now->registers, TPU_REG_RELU6_LIMIT) : INT32_MAX;
	float scale = tpu_float(&now->registers, TPU_REG_FUNCTION_SCALE);
	if (function == TPU_IDENTITY)
		return;
	for (int64_t j = 0; j < count; j++) {
		int32_t q = activate->value[j];
		if (by_table(function)) {
			q = quantise((float)interpolate(table, q) * scale, to, &value_counts->saturations);
		} else {
			q = q > to.zero_point ? q : to.zero_point;
			q = q < upper_limit ? q : upper_limit;
		}
		activate->value[j] = q;
	}
}

void tpu_rtl_values(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires, int64_t vector,
		    struct tpu_rtl_context *context)
{
	const struct tpu_rtl_issued *now = &activate->current;
	int64_t count = tpu_rtl_register(now, TPU_REG_RESULT_COLUMNS);
	bool from_buffer = now->instruction.flags & TPU_ACTIVATE_FROM_BUFFER;
	struct sim_value_counts value_counts = {0, 0};
	if (from_buffer)
		read_tensor(context, now, TPU_REG_SOURCE, vector, count, activate->value);
	else
		add_bias(activate, wires, count, &value_counts);
	if (tpu_rtl_register(now, TPU_REG_RESULT_TYPE) != TPU_I32) {
		if (!from_buffer)
			requantise(activate, count, &value_counts);
		apply_operand(activate, vector, count, context, &value_counts);
		apply_function(activate, count, &value_counts);
	}
	context->outcome->overflows += value_counts.overflows;
	context->outcome->saturations += value_counts.saturations;
	tpu_rtl_count_values(context, now->index, value_counts);
}
