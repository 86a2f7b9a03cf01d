/* SPDX-License-Identifier: MIT
 *
 * Both engines on one program, and what to do when they disagree: see run.h. */
#include <stdlib.h>
#include <string.h>

#include "core/params_impl.h"
#include "liveness.h"
#include "run.h"
#include "sim/systolic/tpu_v1/isa/check.h"
#include "tests/kit/sim/tpu_v1/code.h"

struct tpu_memory program_memory(const struct program_case *c)
{
	return (struct tpu_memory){.buffer = c->buffer,
				   .weights = c->weights,
				   .weight_bytes = c->weight_bytes,
				   .host = c->host,
				   .host_bytes = c->host_bytes};
}

static bool prefixed(const char *prefix, char *reason, size_t reason_bytes)
{
	char unprefixed[400];
	snprintf(unprefixed, sizeof unprefixed, "%s", reason);
	snprintf(reason, reason_bytes, "%s: %s", prefix, unprefixed);
	return false;
}

/* A program that cannot end is refused: before it runs where that can be seen, else by the engine. */
static bool ended_as_expected(const struct program_case *c, const struct program_run *run, char *reason,
			      size_t reason_bytes)
{
	if (c->stuck_at < 0 && run->rc)
		snprintf(reason, reason_bytes, "does not end: %.300s", run->err.msg);
	else if (c->stuck_at >= 0 && run->rc != NPL_EINPUT)
		snprintf(reason, reason_bytes, "returns %d, expected that issue gets stuck at instruction %lld",
			 run->rc, (long long)c->stuck_at);
	else
		return true;
	return false;
}

bool program_agrees(const struct program_case *c, bool thorough, char *reason, size_t reason_bytes)
{
	struct program_run rtl = {0}, fast = {0}, quick = {0};
	struct tpu_memory memory = program_memory(c);
	struct npl_err err;
	if (tpu_program_check(&c->config, &c->program, &memory, "program", &err)) {
		snprintf(reason, reason_bytes, "%.300s", err.msg);
		/* Fewer tiles or tables than switches: seen without running. */
		return c->stuck_at >= 0 && strstr(err.msg, "but the program reads");
	}
	bool ok = program_run(&rtl, tpu_run_rtl, c, false) && program_run(&fast, tpu_run_fast, c, false);
	if (!ok)
		snprintf(reason, reason_bytes, "out of memory");
	ok = ok &&
	     (program_same(&rtl, &fast, false, reason, reason_bytes) ||
	      prefixed("rtl and fast", reason, reason_bytes)) &&
	     ended_as_expected(c, &rtl, reason, reason_bytes);
	if (ok && thorough && !rtl.rc) {
		ok = (program_follows_rules(c, &rtl, reason, reason_bytes) ||
		      prefixed("rules", reason, reason_bytes)) &&
		     program_run(&quick, tpu_run_fast, c, true) &&
		     (program_same(&fast, &quick, true, reason, reason_bytes) ||
		      prefixed("fast with and without values", reason, reason_bytes));
		program_run_free(&quick);
		ok = ok && program_run(&quick, tpu_run_rtl, c, true) &&
		     (program_same(&rtl, &quick, true, reason, reason_bytes) ||
		      prefixed("rtl with and without values", reason, reason_bytes));
	}
	program_run_free(&rtl);
	program_run_free(&fast);
	program_run_free(&quick);
	return ok;
}

/* Whether the program is valid and the engines do not agree about it. */
static bool still_fails(struct program_case *c, bool thorough)
{
	char reason[512];
	struct npl_err err;
	struct tpu_memory memory = program_memory(c);
	if (tpu_program_check(&c->config, &c->program, &memory, "program", &err))
		return false;
	c->stuck_at = liveness_stuck_at(&c->config, &c->program);
	return !program_agrees(c, thorough, reason, sizeof reason);
}

/* Without instructions at .. at + chunk - 1, if it still fails so. */
static bool fails_without(struct program_case *c, struct tpu_instruction *saved_code, int64_t at, int64_t chunk,
			  bool thorough)
{
	struct sim_program *p = &c->program;
	int64_t count = p->count;
	memcpy(saved_code, p->instruction, (size_t)count * sizeof *saved_code);
	memmove(tpu_code(p) + at, tpu_code(p) + at + chunk, (size_t)(count - at - chunk) * sizeof *saved_code);
	p->count -= chunk;
	if (still_fails(c, thorough))
		return true;
	memcpy(p->instruction, saved_code, (size_t)count * sizeof *saved_code);
	p->count = count;
	return false;
}

/* An instruction that does less, if it still fails so: fewer vectors, fewer tiles, no switch. */
static bool shrink(struct program_case *c, int64_t at, int step, bool thorough)
{
	struct tpu_instruction *in = tpu_code(&c->program) + at, original = *in;
	enum tpu_unit unit = tpu_unit_of(in->opcode);
	bool weights = unit == TPU_WEIGHTS, steps = unit == TPU_MATRIX || unit == TPU_ACTIVATION;
	if (unit == TPU_UNITS)
		return false;
	if (step < 2 && weights)
		in->operand = (uint16_t)(step ? in->operand - 1 : in->operand / 2);
	else if (step < 2)
		in->length = step ? in->length - 1 : in->length / 2;
	else if (steps)
		in->flags &= (uint16_t) ~(unit == TPU_MATRIX ? TPU_MATRIX_SWITCH : TPU_ACTIVATE_SWITCH);
	if (memcmp(in, &original, sizeof original) && still_fails(c, thorough))
		return true;
	*in = original;
	return false;
}

void program_shrink(struct program_case *c, bool thorough, int trials)
{
	struct sim_program *p = &c->program;
	struct tpu_instruction *saved_code = malloc((size_t)p->count * sizeof *saved_code);
	bool progress = saved_code;
	for (int64_t first = p->count / 2; progress; first = 2) {
		progress = false;
		for (int64_t chunk = first; chunk > 0; chunk /= 2)
			for (int64_t at = 0; at + chunk < p->count && trials-- > 0;)
				if (fails_without(c, saved_code, at, chunk, thorough))
					progress = true;
				else
					at++;
		for (int64_t at = 0; at + 1 < p->count; at++)
			for (int step = 0; step < 3 && trials > 0; step++)
				while (trials-- > 0 && shrink(c, at, step, thorough))
					progress = true;
	}
	free(saved_code);
	c->stuck_at = liveness_stuck_at(&c->config, p);
}

void program_print(FILE *to, const struct program_case *c)
{
	const struct tpu_config *m = &c->config;
	struct npl_err err = {0};
	char *text = NULL, number[64];
	fprintf(to, "seed %llu: stuck at %lld; link %llu B/s, latency %llu cycles\n", (unsigned long long)c->seed,
		(long long)c->stuck_at, (unsigned long long)tpu_link_bytes_per_second(m),
		(unsigned long long)tpu_link_latency_cycles(m));
	for (const struct npl_param *p = tpu_params; p->key; p++) {
		const char *value = npl_params_text(p, m, number, sizeof number);
		if (value)
			fprintf(to, "%s=%s\n", p->key, value);
	}
	if (tpu_disassemble("program", &c->program, &text, &err))
		fprintf(to, "%s\n", err.msg);
	else
		fputs(text, to);
	free(text);
}
