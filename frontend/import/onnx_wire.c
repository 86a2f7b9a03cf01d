/* SPDX-License-Identifier: MIT
 *
 * The wire format of onnx_wire.h: varints, fixed fields and length-delimited fields, all bounds checked. */
#include "onnx_wire.h"

#include <string.h>

#include "core/base/refuse.h"

#define MAX_NAME_BYTES 65536

static int fail_malformed(const struct onnx_reader *reader, const unsigned char *cursor, const char *problem)
{
	return npl_fail(reader->err, NPL_EINPUT, "malformed or truncated protobuf at byte %zu: %s",
			(size_t)(cursor - reader->start), problem);
}

/* Reads a varint of at most 10 bytes, of which the tenth may hold only the 64th bit. */
static int read_varint(const struct onnx_reader *reader, struct onnx_span *span, uint64_t *value)
{
	const unsigned char *start = span->at;
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (span->at == span->end)
			return fail_malformed(reader, start, "a number runs past the end of what encloses it");
		unsigned char byte = *span->at++;
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = v;
			return 0;
		}
	}
	return fail_malformed(reader, start, "a number has more than 64 bits");
}

static int read_fixed(const struct onnx_reader *reader, struct onnx_span *span, size_t bytes, uint64_t *value)
{
	if ((size_t)(span->end - span->at) < bytes)
		return fail_malformed(reader, span->at, "a fixed-size number runs past the end of what encloses it");
	uint64_t v = 0;
	memcpy(&v, span->at, bytes); /* the wire is little-endian, as the host is */
	span->at += bytes;
	*value = v;
	return 0;
}

static int read_number(const struct onnx_reader *reader, struct onnx_span *span, enum onnx_wire wire, uint64_t *value)
{
	if (wire == ONNX_VARINT)
		return read_varint(reader, span, value);
	return read_fixed(reader, span, wire == ONNX_FIXED64 ? 8 : 4, value);
}

int onnx_next(const struct onnx_reader *reader, struct onnx_span *message, struct onnx_field *field)
{
	if (message->at == message->end)
		return 0;
	const unsigned char *start = message->at;
	uint64_t key, length;
	int rc = read_varint(reader, message, &key);
	if (rc)
		return rc;
	if (key >> 3 == 0 || key >> 3 > 0x1fffffff)
		return fail_malformed(reader, start, "a field number outside 1..2^29-1");
	*field = (struct onnx_field){.number = (uint32_t)(key >> 3), .wire = (enum onnx_wire)(key & 7)};
	switch (key & 7) {
	case ONNX_VARINT:
	case ONNX_FIXED64:
	case ONNX_FIXED32:
		rc = read_number(reader, message, field->wire, &field->value);
		return rc ? rc : 1;
	case ONNX_BYTES:
		rc = read_varint(reader, message, &length);
		if (rc)
			return rc;
		if (length > (uint64_t)(message->end - message->at))
			return fail_malformed(reader, start, "a field runs past the end of what encloses it");
		field->bytes = (struct onnx_span){message->at, message->at + length};
		message->at += length;
		return 1;
	default:
		return fail_malformed(reader, start, "a wire type that ONNX does not use");
	}
}

int onnx_expect(const struct onnx_reader *reader, const struct onnx_field *field, enum onnx_wire wire,
		const char *field_name)
{
	if (field->wire == wire)
		return 0;
	return npl_fail(reader->err, NPL_EINPUT, "malformed protobuf: %s (field %u) has wire type %d, expected %d",
			field_name, (unsigned)field->number, (int)field->wire, (int)wire);
}

int onnx_string(const struct onnx_reader *reader, const struct onnx_field *field, const char *field_name,
		const char **text)
{
	int rc = onnx_expect(reader, field, ONNX_BYTES, field_name);
	if (rc)
		return rc;
	size_t length = (size_t)(field->bytes.end - field->bytes.at);
	if (length > MAX_NAME_BYTES)
		return npl_fail(reader->err, NPL_EINPUT, "%s has %zu bytes, more than the %d allowed", field_name,
				length, MAX_NAME_BYTES);
	if (length && memchr(field->bytes.at, 0, length))
		return npl_fail(reader->err, NPL_EINPUT, "%s holds a NUL byte", field_name);
	*text = npl_arena_strndup(reader->arena, (const char *)field->bytes.at, length);
	return *text ? 0 : npl_no_memory(reader->err);
}

int onnx_numbers_begin(const struct onnx_reader *reader, const struct onnx_field *field, enum onnx_wire wire,
		       const char *field_name, struct onnx_numbers *numbers)
{
	*numbers = (struct onnx_numbers){.wire = wire};
	if (field->wire == wire) {
		numbers->single = true;
		numbers->value = field->value;
		return 0;
	}
	numbers->packed = field->bytes;
	return onnx_expect(reader, field, ONNX_BYTES, field_name);
}

int onnx_numbers_next(const struct onnx_reader *reader, struct onnx_numbers *numbers, uint64_t *value)
{
	if (numbers->single) {
		*value = numbers->value;
		numbers->single = false;
		return 1;
	}
	if (numbers->packed.at == numbers->packed.end)
		return 0;
	int rc = read_number(reader, &numbers->packed, numbers->wire, value);
	return rc ? rc : 1;
}

int onnx_numbers_count(const struct onnx_reader *reader, struct onnx_numbers numbers, int64_t *count)
{
	uint64_t value;
	int rc;
	*count = 0;
	while ((rc = onnx_numbers_next(reader, &numbers, &value)) > 0)
		++*count;
	return rc;
}
