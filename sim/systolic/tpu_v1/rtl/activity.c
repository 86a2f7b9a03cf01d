/* SPDX-License-Identifier: MIT
 *
 * The activity of operands in the register-level engine: each row that passes a port is compared with the one before it
 * when it passes. The cells of the array count for themselves (matrix_unit.c). */
#include <stdlib.h>

#include "rtl.h"

enum { PLANES = 4 }; /* of 32-bit results */

static size_t port_bytes(const struct tpu_config *config)
{
	const int64_t row = tpu_row_bytes(config);
	return (size_t)(row > config->columns ? row : config->columns);
}

int tpu_rtl_activity_open(struct tpu_rtl_context *context)
{
	if (!tpu_counts_activity(context->config) || context->memory->timing_only)
		return 0;
	context->last_row = calloc(TPU_RTL_PORTS * PLANES, port_bytes(context->config));
	return context->last_row ? 0 : npl_fail(context->err, NPL_ENOMEM, "out of memory for the activity of operands");
}

void tpu_rtl_activity_close(struct tpu_rtl_context *context)
{
	free(context->last_row);
}

uint64_t tpu_rtl_toggles(struct tpu_rtl_context *context, enum tpu_rtl_port port, int plane, const uint8_t *row,
			 int64_t bytes)
{
	uint64_t toggles = 0;
	if (!context->last_row)
		return 0;
	uint8_t *last = context->last_row + (size_t)(port * PLANES + plane) * port_bytes(context->config);
	for (int64_t i = 0; i < bytes; i++) {
		for (unsigned bits = last[i] ^ row[i]; bits; bits >>= 1)
			toggles += bits & 1;
		last[i] = row[i];
	}
	return toggles;
}

void tpu_rtl_count_activity(struct tpu_rtl_context *context, int64_t instruction, const struct tpu_activity *activity)
{
	struct tpu_counters *total = &context->outcome->counters;
	struct tpu_activity none = {0};
	struct tpu_activity *sum = context->activity ? &context->activity[instruction] : &none;
	if (!context->last_row)
		return;
#define TPU_ACTIVITY(member, ...)                                                                                      \
	total->member += activity->member;                                                                             \
	sum->member += activity->member;
#include "sim/systolic/tpu_v1/activity.def"
#undef TPU_ACTIVITY
}
