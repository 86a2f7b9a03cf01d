/* SPDX-License-Identifier: MIT
 *
 * The protobuf wire format, read in place: a message is a span of bytes, a field is its number and a value or another
 * span. Every length is checked against the message that encloses it, so a span never leaves the file. The reader
 * enters a message only where its caller asks for it: unknown fields are skipped by their length, so the nesting of a
 * file costs neither stack nor time. (Format: protobuf.dev, "Encoding".)
 *
 *     struct onnx_field field;
 *     while ((rc = onnx_next(reader, &message, &field)) > 0)
 *         if (field.number == 3) ...
 *     if (rc < 0) return rc;
 *
 * Not read: groups (wire types 3 and 4), which ONNX has never used; they are refused.
 */
#ifndef NPULAB_FRONTEND_IMPORT_ONNX_WIRE_H
#define NPULAB_FRONTEND_IMPORT_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/arena.h"
#include "npulab/error.h"

/* The state that every reading function receives: the byte that positions are counted from, the arena for copies, and
 * the error. */
struct onnx_reader {
	const unsigned char *start; /* the file's first byte */
	struct npl_arena *arena;
	struct npl_err *err;            /* never NULL */
	struct onnx_external *external; /* onnx_external.h; NULL: the model has no folder */
};

struct onnx_span {
	const unsigned char *at, *end;
};

enum onnx_wire { ONNX_VARINT = 0, ONNX_FIXED64 = 1, ONNX_BYTES = 2, ONNX_FIXED32 = 5 };

struct onnx_field {
	uint32_t number;
	enum onnx_wire wire;
	uint64_t value;         /* VARINT, FIXED32 (the low 32 bits), FIXED64 */
	struct onnx_span bytes; /* BYTES */
};

/* Takes the next field off the message. Returns 1, 0 at its end, or NPL_EINPUT with the position of the byte. */
int onnx_next(const struct onnx_reader *reader, struct onnx_span *message, struct onnx_field *field);

/* Returns NPL_EINPUT unless the field has the wire type of its definition. */
int onnx_expect(const struct onnx_reader *reader, const struct onnx_field *field, enum onnx_wire wire,
		const char *field_name);

/* Copies a string field into the arena. Refuses names with a NUL inside or of more than 64 KiB. */
int onnx_string(const struct onnx_reader *reader, const struct onnx_field *field, const char *field_name,
		const char **text);

/* The numbers in one occurrence of a repeated field, which a writer may pack into one BYTES field. */
struct onnx_numbers {
	enum onnx_wire wire; /* wire type of one number */
	bool single;         /* not packed: the only number is in `value`, until it is taken */
	uint64_t value;
	struct onnx_span packed;
};
int onnx_numbers_begin(const struct onnx_reader *reader, const struct onnx_field *field, enum onnx_wire wire,
		       const char *field_name, struct onnx_numbers *numbers);
/* Takes a number: returns 1 and its bits, 0 when there are no more, or NPL_EINPUT. */
int onnx_numbers_next(const struct onnx_reader *reader, struct onnx_numbers *numbers, uint64_t *value);
/* Counts the numbers that are left, and checks that each is whole. */
int onnx_numbers_count(const struct onnx_reader *reader, struct onnx_numbers numbers, int64_t *count);

#endif
