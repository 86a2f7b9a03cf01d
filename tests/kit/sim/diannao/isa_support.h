/* SPDX-License-Identifier: MIT
 *
 * What the tests of DianNao's instruction set share: a small machine, programs from text, random instructions. */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_ISA_SUPPORT_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_ISA_SUPPORT_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/diannao/diannao/isa/check.h"
#include "tests/kit/sim/diannao/code.h"
#include "tests/kit/support.h"

/* Tn 4, so rows of 8 bytes and SB rows of 32; 8 rows in each buffer, of NBout's 4 for sums, of which Tn take 2. */
static inline struct dn_config dn_isa_machine(void)
{
	return (struct dn_config){.clock_hz = 1000000,
				  .tn = 4,
				  .nfu1_stages = 3,
				  .nfu2_stages = 2,
				  .nfu3_stages = 3,
				  .sum_bits = 32,
				  .nbin_rows = 8,
				  .sb_rows = 8,
				  .nbout_rows = 8,
				  .nbout_sum_rows = 4,
				  .dma_queue = 8,
				  .dma_burst_bytes = 32};
}

static inline struct sim_program dn_isa_program(const char *text)
{
	struct sim_program program;
	struct npl_err err = {0};
	cr_assert_eq(dn_assemble("test.s", text, strlen(text), &program, &err), 0, "%s\n%s", err.msg, text);
	return program;
}

/* What the check says of a text, or the assembler; "" when nothing is wrong. */
static inline const char *dn_isa_verdict(const struct dn_config *config, uint64_t memory_bytes, const char *text,
					 struct npl_err *err)
{
	struct sim_program program;
	*err = (struct npl_err){0};
	int rc = dn_assemble("test.s", text, strlen(text), &program, err);
	if (!rc)
		rc = dn_program_check(config, memory_bytes, &program, "test.s", err);
	cr_assert_eq(rc, err->code);
	cr_assert(rc == 0 || rc == NPL_EINPUT, "%d: %s", rc, err->msg);
	sim_program_free(&program);
	return rc ? err->msg : "";
}

/* Between low and high, often at one of them. */
static inline int64_t dn_isa_number(uint64_t *rng, int64_t low, int64_t high)
{
	int64_t kind = test_range(rng, 0, 5);
	return kind == 0   ? low
	       : kind == 1 ? high
	       : kind == 2 ? test_range(rng, low, high < low + 9 ? high : low + 9)
			   : test_range(rng, low, high);
}

static inline void dn_isa_random_rows(uint64_t *rng, struct dn_instruction *out)
{
	const int64_t maximum = ((int64_t)1 << DN_ADDRESS_BITS) - UINT32_MAX;
	if (out->sb.op != DN_READ_NOP) {
		out->sb.reuse = dn_uses_nfu(out) ? (uint8_t)test_range(rng, 0, 1) : out->sb.op == DN_LOAD;
		out->sb.size = (uint32_t)dn_isa_number(rng, 1, UINT32_MAX);
		out->sb.address = (uint64_t)dn_isa_number(rng, 0, maximum);
	}
	if (out->nbin.op == DN_READ_NOP)
		return;
	out->nbin.reuse = dn_uses_nfu(out) ? (uint8_t)test_range(rng, 0, 1) : out->nbin.op == DN_LOAD;
	if (out->nbin.op == DN_LOAD) {
		out->nbin.size = (uint32_t)dn_isa_number(rng, 1, UINT32_MAX / 2) * 2;
		out->nbin.address = (uint64_t)dn_isa_number(rng, 0, maximum);
	}
	if ((dn_uses_nfu(out) || out->nbin.op == DN_READ) && test_range(rng, 0, 1)) {
		out->nbin.stride = (uint32_t)dn_isa_number(rng, 1, 1 << 20);
		out->nbin.begin = (uint32_t)dn_isa_number(rng, 0, 1 << 30);
		out->nbin.end = out->nbin.begin + out->nbin.stride * (uint32_t)test_range(rng, 0, 1000);
	}
}

/* Where sums come from and go to. */
static inline void dn_isa_random_ends(uint64_t *rng, int n_functions, struct dn_instruction *out)
{
	const int64_t most = ((int64_t)1 << DN_ADDRESS_BITS) - UINT32_MAX;
	bool maximum = out->nfu.nfu2 == DN_MAXIMUM;
	out->nfu.in = (uint8_t)test_range(rng, 0, 2);
	out->nfu.out = (uint8_t)test_range(rng, 0, 2);
	out->nfu.nfu3 = (uint8_t)test_range(rng, 0, n_functions);
	out->nfu.begin = (uint8_t)test_range(rng, 0, 1);
	out->nfu.end = (uint8_t)test_range(rng, 0, 1);
	out->nbout.read = out->nfu.in == DN_FROM_NBOUT ? DN_READ : DN_READ_NOP;
	if (out->nfu.out == DN_TO_NFU3 || (out->nfu.out == DN_TO_NBOUT && test_range(rng, 0, 1)))
		out->nbout.write = DN_STORE;
	else if (out->nfu.out == DN_TO_NBOUT)
		out->nbout.write = DN_WRITE;
	if (out->nbout.write == DN_STORE && test_range(rng, 0, 1)) {
		out->nbout.size = (uint32_t)dn_isa_number(rng, 1, UINT32_MAX / 2) * 2;
		out->nbout.address = (uint64_t)dn_isa_number(rng, 0, most);
	}
	if (out->nfu.out == DN_TO_NFU3 || (out->nbout.write == DN_STORE && maximum))
		out->nfu.shift = (int16_t)dn_isa_number(rng, INT16_MIN, INT16_MAX);
	if (out->nfu.out == DN_TO_NFU3 && out->nfu.nfu3)
		out->nfu.result_shift = (int16_t)dn_isa_number(rng, INT16_MIN, INT16_MAX);
	if (out->nfu.out == DN_TO_NFU3 && !maximum && test_range(rng, 0, 1))
		out->nfu.divisor = (uint32_t)dn_isa_number(rng, 1, 65536);
}

/* Any instruction that is one: often at the ends of its ranges. */
static inline struct dn_instruction dn_isa_random(uint64_t *rng, int n_functions)
{
	struct dn_instruction out = {.cp.op = (uint8_t)test_range(rng, 0, 2)};
	switch (test_range(rng, 0, 4)) {
	case 0: /* no steps */
		out.sb.op = (uint8_t)test_range(rng, 0, 2);
		out.nbin.op = (uint8_t)test_range(rng, 0, 2);
		break;
	case 1:
		out.nfu.nfu1 = DN_BIAS;
		out.nfu.nfu2 = DN_ADD;
		out.sb.op = (uint8_t)test_range(rng, DN_LOAD, DN_READ);
		break;
	case 2:
		out.nfu.nfu2 = (uint8_t)test_range(rng, DN_ADD, DN_MAXIMUM);
		out.nbin.op = (uint8_t)test_range(rng, DN_LOAD, DN_READ);
		break;
	default:
		out.nfu.nfu1 = DN_MULT;
		out.nfu.nfu2 = DN_ADD;
		out.sb.op = (uint8_t)test_range(rng, DN_LOAD, DN_READ);
		out.nbin.op = (uint8_t)test_range(rng, 0, 2);
	}
	dn_isa_random_rows(rng, &out);
	if (dn_uses_nfu(&out))
		dn_isa_random_ends(rng, n_functions, &out);
	return out;
}

static inline uint8_t *dn_isa_encoded(const struct sim_program *program, size_t *n)
{
	uint8_t *bytes;
	struct npl_err err = {0};
	cr_assert_eq(dn_program_encode(program, &bytes, n, &err), 0, "%s", err.msg);
	return bytes;
}

/* A program of any instructions and functions, of which the first may be known ones. */
static inline struct sim_program dn_isa_random_program(uint64_t *rng)
{
	enum { KNOWN = 3 };
	struct sim_program program = {.set = &dn_instruction_set,
				      .n_constants = (int)test_range(rng, 0, SIM_MAX_CONSTANTS)};
	struct npl_err err = {0};
	bool known = test_range(rng, 0, 1);
	if (known && test_range(rng, 0, 1))
		program.n_constants = (int)test_range(rng, 1, KNOWN);
	for (int i = 0; i < program.n_constants; i++) {
		struct dn_function function;
		char name[SIM_CONSTANT_NAME];
		bool is_known = known && i < KNOWN;
		snprintf(name, sizeof name, "f_%d", i);
		if (is_known)
			snprintf(name, sizeof name, "%s", dn_known_functions[(i + 1) % KNOWN].name);
		for (int k = 0; k < DN_SEGMENTS; k++) {
			function.a[k] = (int16_t)dn_isa_number(rng, INT16_MIN, INT16_MAX);
			function.b[k] = (int16_t)dn_isa_number(rng, INT16_MIN, INT16_MAX);
		}
		if (is_known && test_range(rng, 0, 5))
			memcpy(&function, dn_known_functions[(i + 1) % KNOWN].value, sizeof function);
		program.constant[i] = sim_constant_of(program.set->constants, name, &function);
	}
	if (test_range(rng, 0, 1))
		program.host_address = (uint64_t)dn_isa_number(rng, 0, ((int64_t)1 << DN_ADDRESS_BITS) - 1);
	if (test_range(rng, 0, 1))
		program.weight_address = (uint64_t)dn_isa_number(rng, 0, ((int64_t)1 << DN_ADDRESS_BITS) - 1);
	for (int64_t n = test_range(rng, 0, 60); n > 0; n--) {
		const struct dn_instruction instruction = dn_isa_random(rng, program.n_constants);
		cr_assert_eq(dn_program_add(&program, &instruction, 0, &err), 0);
	}
	return program;
}

/* Text of the program, its binary, and back from both. */
static inline void dn_isa_round_trip(const struct sim_program *program, uint64_t seed)
{
	struct npl_err err = {0};
	struct sim_program assembled_again;
	char *text, *text_again;
	size_t n, n_again;
	uint8_t *bytes = dn_isa_encoded(program, &n);
	cr_assert_eq(dn_disassemble("a", program, &text, &err), 0, "seed %llu: %s", (unsigned long long)seed, err.msg);
	cr_assert_eq(dn_assemble("b", text, strlen(text), &assembled_again, &err), 0, "seed %llu: %s\n%s",
		     (unsigned long long)seed, err.msg, text);
	uint8_t *bytes_again = dn_isa_encoded(&assembled_again, &n_again);
	cr_assert(n == n_again && !memcmp(bytes, bytes_again, n), "seed %llu:\n%s", (unsigned long long)seed, text);
	sim_program_free(&assembled_again);
	free(bytes_again);
	cr_assert_eq(dn_program_decode("c", bytes, n, &assembled_again, &err), 0, "seed %llu: %s",
		     (unsigned long long)seed, err.msg);
	bytes_again = dn_isa_encoded(&assembled_again, &n_again);
	cr_assert(n == n_again && !memcmp(bytes, bytes_again, n), "seed %llu", (unsigned long long)seed);
	cr_assert_eq(dn_disassemble("d", &assembled_again, &text_again, &err), 0, "seed %llu: %s",
		     (unsigned long long)seed, err.msg);
	cr_assert_str_eq(text, text_again);
	sim_program_free(&assembled_again);
	free(bytes_again);
	free(bytes);
	free(text);
	free(text_again);
}

#endif
