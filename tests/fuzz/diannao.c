/* SPDX-License-Identifier: MIT
 *
 * libFuzzer on programs of DianNao. An even first byte: the rest is text; an odd one: a binary. Either is refused in
 * one line that blames the input, or is a program that goes to text and to binary and back to the same bytes; and the
 * check of the program on a small machine, on one with a lane and on the paper's comes to a verdict, after which what
 * it stores is in memory. */
#include <stdlib.h>
#include <string.h>

#include "sim/diannao/diannao/isa/check.h"
#include "tests/kit/sim/diannao/code.h"

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

static void require_same(const struct sim_program *program, const uint8_t *bytes, size_t n)
{
	struct npl_err err = {0};
	uint8_t *reread;
	size_t n_again;
	require(!dn_program_encode(program, &reread, &n_again, &err));
	require(n == n_again && !memcmp(bytes, reread, n));
	free(reread);
}

/* The file again, except the machine's name in its header. */
static void require_same_file(const struct sim_program *program, const uint8_t *bytes, size_t n)
{
	enum { NAME = 56, NAME_END = NAME + SIM_MACHINE_NAME };
	struct npl_err err = {0};
	uint8_t *reread;
	size_t n_again;
	require(!dn_program_encode(program, &reread, &n_again, &err));
	require(n == n_again && !memcmp(bytes, reread, NAME));
	require(!memcmp(bytes + NAME_END, reread + NAME_END, n - NAME_END));
	free(reread);
}

static void check_forms(const struct sim_program *program)
{
	struct npl_err err = {0};
	struct sim_program reread;
	char *text;
	uint8_t *bytes;
	size_t n;
	require(!dn_program_encode(program, &bytes, &n, &err));
	require(!dn_disassemble("fuzz", program, &text, &err));
	require(!dn_assemble("fuzz", text, strlen(text), &reread, &err));
	require_same(&reread, bytes, n);
	sim_program_free(&reread);
	require(!dn_program_decode("fuzz", bytes, n, &reread, &err));
	require_same(&reread, bytes, n);
	sim_program_free(&reread);
	free(text);
	free(bytes);
}

static void check_on(const struct dn_config *config, const struct sim_program *program)
{
	struct npl_err err = {0};
	uint64_t first, end, memory = dn_program_memory(program);
	int rc = dn_program_check(config, UINT64_MAX, program, "fuzz", &err);
	require_message(rc, &err);
	int within = dn_program_check(config, memory, program, "fuzz", &err);
	require_message(within, &err);
	require(rc ? within : !within); /* the memory it needs is enough, and adds no reason */
	if (!rc && memory)
		require(dn_program_check(config, memory - 1, program, "fuzz", &err) == NPL_EINPUT);
	dn_program_written(program, &first, &end);
	require(first <= end && end <= memory && memory <= (uint64_t)1 << DN_ADDRESS_BITS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dn_config machines[] = {
		{.tn = 4, .sum_bits = 32, .nbin_rows = 8, .sb_rows = 8, .nbout_rows = 8, .nbout_sum_rows = 4},
		{.tn = 1, .sum_bits = 40, .nbin_rows = 100, .sb_rows = 3, .nbout_rows = 3, .nbout_sum_rows = 1},
		{.tn = 16, .sum_bits = 32, .nbin_rows = 64, .sb_rows = 64, .nbout_rows = 64, .nbout_sum_rows = 32},
	};
	struct sim_program program;
	struct npl_err err = {0};
	if (!size)
		return 0;
	bool binary = data[0] & 1;
	int rc = binary ? dn_program_decode("fuzz", data + 1, size - 1, &program, &err)
			: dn_assemble("fuzz", (const char *)data + 1, size - 1, &program, &err);
	require_message(rc, &err);
	if (rc)
		return 0;
	check_forms(&program);
	if (binary && sim_has_header(data + 1, size - 1))
		require_same_file(&program, data + 1, size - 1);
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		check_on(&machines[i], &program);
	sim_program_free(&program);
	return 0;
}
