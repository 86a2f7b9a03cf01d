/* SPDX-License-Identifier: MIT
 *
 * Programs of the systolic machines as text (docs/tpu-isa.md, Text), one instruction per line, such that assembling it
 * gives the same bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "syntax.h"

/* The fewest digits that read back to the same float; the bits of what is no number. */
static void put_float(FILE *out, uint32_t bits)
{
	char text[32];
	float value, back;
	memcpy(&value, &bits, sizeof value);
	if (!isfinite(value)) {
		fprintf(out, "0x%08x", bits);
		return;
	}
	for (int digits = 1; digits <= 9; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, (double)value);
		back = strtof(text, NULL);
		if (!memcmp(&back, &value, sizeof value))
			break;
	}
	fputs(text, out);
}

static void put_value(FILE *out, enum tpu_register r, uint32_t bits)
{
	switch (tpu_register_kind_of(r)) {
	case TPU_UNSIGNED:
		fprintf(out, "%u", bits);
		break;
	case TPU_SIGNED:
		fprintf(out, "%d", (int32_t)bits);
		break;
	case TPU_FLOAT:
		put_float(out, bits);
		break;
	case TPU_TYPE:
		fputs(tpu_type_name((enum tpu_type)bits), out);
		break;
	}
}

static void put_instruction(FILE *out, const struct tpu_instruction *at)
{
	const struct tpu_syntax *syntax = tpu_syntax_of(at->opcode);
	fputs(syntax->name, out);
	for (const struct tpu_flag *f = syntax->flags; f->name; f++)
		if ((at->flags & f->mask) == f->bits)
			fprintf(out, "%c%s", at->opcode == TPU_SYNC ? ' ' : '.', f->name);
	if (at->opcode == TPU_SET_CONFIG) {
		fprintf(out, " %s ", tpu_register_name(at->acc));
		put_value(out, at->acc, at->length);
	} else {
		for (enum tpu_field_at i = 0; i < TPU_FIELDS; i++)
			if (!tpu_field_absent(syntax, at->flags, i))
				fprintf(out, " %s=%u", syntax->field[i].name, tpu_field_get(at, i));
	}
	fputc('\n', out);
}

int tpu_disassemble(const char *source, const struct tpu_program *program, char **text, struct npl_err *err)
{
	return tpu_disassemble_with(source, program, NULL, text, err);
}

int tpu_disassemble_with(const char *source, const struct tpu_program *program, const struct tpu_comments *comments,
			 char **text, struct npl_err *err)
{
	char why[200], where[64];
	size_t bytes;
	*text = NULL;
	for (int64_t i = 0; i < program->count; i++)
		if (!tpu_instruction_ok(&program->instruction[i], why, sizeof why)) {
			tpu_program_where(program, i, where, sizeof where);
			return npl_fail(err, NPL_EINPUT, "%s: %s: %s", source, where, why);
		}
	FILE *out = open_memstream(text, &bytes);
	if (!out)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", source);
	for (int64_t i = 0; i < program->count; i++) {
		if (comments)
			comments->put(comments->context, out, i);
		put_instruction(out, &program->instruction[i]);
	}
	if (!fclose(out))
		return 0;
	free(*text);
	*text = NULL;
	return npl_fail(err, NPL_ENOMEM, "%s: out of memory", source);
}
