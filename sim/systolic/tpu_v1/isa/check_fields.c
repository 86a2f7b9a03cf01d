/* SPDX-License-Identifier: MIT
 *
 * Whether 12 bytes are an instruction at all (docs/tpu-isa.md, Encoding): known opcode and flags, fields in their range,
 * and zero where a field or bit means nothing. */
#include <stdarg.h>
#include <stdio.h>

#include "check.h"
#include "syntax.h"

static bool refuse(char *why, size_t n, const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool refuse(char *why, size_t n, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(why, n, format, args);
	va_end(args);
	return false;
}

static bool flags_ok(const struct tpu_syntax *syntax, unsigned flags, char *why, size_t n)
{
	unsigned known = 0;
	for (const struct tpu_flag *f = syntax->flags; f->name; f++)
		known |= f->mask;
	if (flags & ~known)
		return refuse(why, n, "flags 0x%04x, expected 0 in all bits but those of 0x%04x", flags, known);
	if (syntax->opcode == TPU_SYNC && !flags)
		return refuse(why, n, "no unit, expected one at least to wait for");
	if (syntax->opcode == TPU_ACTIVATE && tpu_function_of(flags) >= TPU_FUNCTIONS)
		return refuse(why, n, "function %d, expected 0 to %d", (int)tpu_function_of(flags), TPU_FUNCTIONS - 1);
	return true;
}

static bool fields_ok(const struct tpu_syntax *syntax, const struct tpu_instruction *at, char *why, size_t n)
{
	static const char *const places[TPU_FIELDS] = {"ub", "acc", "length"};
	for (enum tpu_field_at i = 0; i < TPU_FIELDS; i++) {
		const struct tpu_field *field = &syntax->field[i];
		uint32_t value = tpu_field_get(at, i);
		if (tpu_field_absent(syntax, at->flags, i)) {
			if (value)
				return refuse(why, n, "the field `%s` is %u, expected 0: it means nothing here",
					      places[i], value);
		} else if (value < field->low || value > field->high) {
			return refuse(why, n, "%s is %u, expected %u to %u", field->name, value, field->low,
				      field->high);
		}
	}
	return true;
}

bool tpu_instruction_ok(const struct tpu_instruction *at, char *why, size_t n)
{
	const struct tpu_syntax *syntax = tpu_syntax_of(at->opcode);
	if (!syntax)
		return refuse(why, n, "unknown opcode 0x%02x, expected one of those in docs/tpu-isa.md", at->opcode);
	if (!flags_ok(syntax, at->flags, why, n) || !fields_ok(syntax, at, why, n))
		return false;
	bool type = at->opcode == TPU_SET_CONFIG && tpu_register_kind_of(at->acc) == TPU_TYPE;
	if (type && at->length >= TPU_TYPES)
		return refuse(why, n, "%s is %u, expected 0 to %d (i8, u8, i16, i32)", tpu_register_name(at->acc),
			      at->length, TPU_TYPES - 1);
	return true;
}
