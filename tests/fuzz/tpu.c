/* SPDX-License-Identifier: MIT
 *
 * libFuzzer on programs of the systolic machines. An even first byte: the rest is text; an odd one: a binary. Either is
 * refused in one line that blames the input, or is a program that encodes and decodes to the same bytes; what has a
 * text form assembles to the same bytes again; and the check of the program on a small machine and on the TPU's size
 * comes to a verdict. */
#include <stdlib.h>
#include <string.h>

#include "sim/systolic/tpu_v1/isa/check.h"
#include "tests/kit/sim/tpu_v1/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libFuzzer reports an abort as a crash, with the input. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_message(int rc, const struct npl_err *err)
{
	require(rc == 0 || rc == NPL_EINPUT);
	require(!rc || (err->code == rc && *err->msg && !strchr(err->msg, '\n')));
}

static void require_same(const struct sim_program *a, const struct sim_program *b)
{
	require(a->count == b->count);
	for (int64_t i = 0; i < a->count; i++) {
		uint8_t x[TPU_INSTRUCTION_BYTES], y[TPU_INSTRUCTION_BYTES];
		tpu_encode(&tpu_code(a)[i], x);
		tpu_encode(&tpu_code(b)[i], y);
		require(!memcmp(x, y, sizeof x));
		struct tpu_instruction back = tpu_decode(x);
		tpu_encode(&back, y);
		require(!memcmp(x, y, sizeof x));
	}
}

static void check_text(const struct sim_program *program)
{
	struct npl_err err = {0};
	char *text = NULL;
	int rc = tpu_disassemble("fuzz", program, &text, &err);
	require_message(rc, &err);
	if (rc)
		return;
	struct sim_program reread;
	require(!tpu_assemble("fuzz", text, strlen(text), &reread, &err));
	require_same(program, &reread);
	sim_program_free(&reread);
	free(text);
}

static void check_on(const struct tpu_config *config, const struct sim_program *program)
{
	uint8_t weights[64], host[64] = {0};
	struct npl_err err = {0};
	int64_t first, end;
	memset(weights, 0x41, sizeof weights);
	const struct tpu_memory memory = {
		.weights = weights, .weight_bytes = sizeof weights, .host = host, .host_bytes = sizeof host};
	int rc = tpu_program_check(config, program, NULL, "fuzz", &err);
	require_message(rc, &err);
	int with = tpu_program_check(config, program, &memory, "fuzz", &err);
	require_message(with, &err);
	require(!rc || with); /* memories only add reasons */
	tpu_program_host_written(program, config->rows, config->columns, &first, &end);
	require(first >= 0 && end >= first && (rc || end <= (int64_t)1 << 32));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tpu_config small = {
		.rows = 6, .columns = 4, .accumulator_rows = 32, .buffer_bytes = 384, .weight_bytes = 400};
	const struct tpu_config large = {.rows = 256,
					 .columns = 256,
					 .accumulator_rows = 4096,
					 .buffer_bytes = 25165824,
					 .weight_bytes = (int64_t)1 << 33};
	struct sim_program program;
	struct npl_err err = {0};
	if (!size)
		return 0;
	bool binary = data[0] & 1;
	int rc = binary ? sim_from_binary(&tpu_instruction_set, "fuzz", data + 1, size - 1, &program, &err)
			: tpu_assemble("fuzz", (const char *)data + 1, size - 1, &program, &err);
	require_message(rc, &err);
	if (rc)
		return 0;
	require_same(&program, &program);
	check_text(&program);
	check_on(&small, &program);
	check_on(&large, &program);
	sim_program_free(&program);
	return 0;
}
