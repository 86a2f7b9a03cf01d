/* SPDX-License-Identifier: MIT
 *
 * Binary programs (program.h). Numbers are little-endian, as this computer's are (instruction_set.h). */
#include <stdlib.h>
#include <string.h>

#include "program.h"

enum { VERSION = 1 };

struct header {
	char magic[8]; /* with a zero */
	uint32_t version, constants;
	uint64_t instructions, host_address, weight_address;
	char set[SIM_SET_NAME], machine[SIM_MACHINE_NAME]; /* filled up with zeros */
};
#define MAGIC "NPULAB\n"
_Static_assert(sizeof MAGIC == sizeof((struct header *)0)->magic && sizeof(struct header) == 120, "as in docs/exec.md");

/* Former binaries had the whole header except the names. */
#define FORMER_HEADER offsetof(struct header, set)

static size_t constant_bytes(const struct sim_instruction_set *set)
{
	return set->constants ? SIM_CONSTANT_NAME + 4 * (size_t)set->constants->pairs : 0;
}

/* Returns where in a constant's binary value i is: pairs a,b stand there after the name. */
static size_t value_at(const struct sim_constants *constants, int i)
{
	return SIM_CONSTANT_NAME + 4 * (size_t)(i % constants->pairs) + 2 * (size_t)(i / constants->pairs);
}

bool sim_has_header(const uint8_t *bytes, size_t n)
{
	return n >= sizeof MAGIC && !memcmp(bytes, MAGIC, sizeof MAGIC);
}

/* Says whether zeros fill up the name, at least one of them. */
static bool is_filled(const char *name, size_t capacity)
{
	size_t i = strnlen(name, capacity);
	const bool ends = i < capacity;
	while (i < capacity && !name[i])
		i++;
	return ends && i == capacity;
}

int sim_header_names(const char *source, const uint8_t *bytes, size_t n, char set[SIM_SET_NAME],
		     char machine[SIM_MACHINE_NAME], struct npl_err *err)
{
	struct header header;
	if (n < sizeof header)
		return npl_fail(err, NPL_EINPUT, "%s: cut off: %zu bytes, expected a header of %d", source, n,
				(int)sizeof header);
	memcpy(&header, bytes, sizeof header);
	if (header.version != VERSION)
		return npl_fail(err, NPL_EINPUT, "%s: version %llu of binary programs, expected %d", source,
				(unsigned long long)header.version, VERSION);
	if (!is_filled(header.set, sizeof header.set) || !is_filled(header.machine, sizeof header.machine) ||
	    !sim_machine_name_ok(header.machine))
		return npl_fail(
			err, NPL_EINPUT,
			"%s: the names of instruction set and machine in the header, expected visible characters, "
			"filled up with zeros",
			source);
	memcpy(set, header.set, sizeof header.set);
	memcpy(machine, header.machine, sizeof header.machine);
	return 0;
}

int sim_to_binary(const struct sim_program *program, const char *machine, uint8_t **bytes, size_t *n,
		  struct npl_err *err)
{
	const struct sim_instruction_set *set = program->set;
	const size_t instruction_bytes = sim_instruction_bytes(set);
	struct header header = {.magic = MAGIC,
				.version = VERSION,
				.constants = (uint32_t)program->n_constants,
				.instructions = (uint64_t)program->count,
				.host_address = program->host_address,
				.weight_address = program->weight_address};
	*bytes = NULL;
	*n = sizeof header + (size_t)program->n_constants * constant_bytes(set) +
	     (size_t)program->count * instruction_bytes;
	if (!sim_machine_name_ok(machine))
		return npl_fail(err, NPL_EINPUT,
				"the machine's name '%s', expected at most %d visible characters without blanks: a "
				"program's header has it",
				machine, SIM_MACHINE_NAME - 1);
	if (sim_program_instructions_ok(program, "the program", err))
		return err->code;
	*bytes = calloc(*n, 1);
	if (!*bytes)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of program", *n);
	uint8_t *cursor = *bytes;
	snprintf(header.set, sizeof header.set, "%s", set->name);
	snprintf(header.machine, sizeof header.machine, "%s", machine);
	memcpy(cursor, &header, sizeof header);
	cursor += sizeof header;
	for (int i = 0; i < program->n_constants; i++, cursor += constant_bytes(set)) {
		const struct sim_constant *constant = &program->constant[i];
		memcpy(cursor, constant->name, strlen(constant->name));
		for (int k = 0; k < 2 * set->constants->pairs; k++)
			sim_put_number(cursor + value_at(set->constants, k), 2, (uint16_t)constant->value[k]);
	}
	for (int64_t i = 0; i < program->count; i++, cursor += instruction_bytes)
		sim_encode(set, sim_program_at(program, i), cursor);
	return 0;
}

/* Returns the bytes of the header; 0 for a file that has none. */
static size_t header_bytes(const struct sim_instruction_set *set, const uint8_t *bytes, size_t n)
{
	if (sim_has_header(bytes, n))
		return sizeof(struct header);
	const char *former = set->former_magic;
	return former && n >= FORMER_HEADER && !memcmp(bytes, former, strlen(former) + 1) ? FORMER_HEADER : 0;
}

static int take_constant(const char *source, const uint8_t *bytes, struct sim_program *program, struct npl_err *err)
{
	const struct sim_constants *constants = program->set->constants;
	struct sim_constant constant = {0};
	const int number = program->n_constants + 1;
	memcpy(constant.name, bytes, sizeof constant.name);
	if (!is_filled(constant.name, sizeof constant.name) || !sim_is_name(constant.name) ||
	    !strcmp(constant.name, constants->identity))
		return npl_fail(err, NPL_EINPUT,
				"%s: the name of %s %d is '%.*s', expected at most %d letters, digits and '_', filled "
				"up with zeros, and not %s",
				source, constants->directive + 1, number, SIM_CONSTANT_NAME, (const char *)bytes,
				SIM_CONSTANT_NAME - 1, constants->identity);
	if (sim_constant_number(program, constant.name))
		return npl_fail(err, NPL_EINPUT, "%s: %ss %d and %d are both named %s", source,
				constants->directive + 1, sim_constant_number(program, constant.name), number,
				constant.name);
	for (int k = 0; k < 2 * constants->pairs; k++)
		constant.value[k] = (int16_t)sim_get_number(bytes + value_at(constants, k), 2);
	program->constant[program->n_constants++] = constant;
	return 0;
}

/* Reads a header of so many bytes. What it says must follow, and fill the file. */
static int take_header(const char *source, const uint8_t *bytes, size_t n, size_t header_bytes,
		       struct sim_program *program, struct header *header, struct npl_err *err)
{
	const struct sim_instruction_set *set = program->set;
	if (header_bytes == sizeof *header && sim_header_names(source, bytes, n, header->set, header->machine, err))
		return err->code;
	memcpy(header, bytes, header_bytes);
	if (header_bytes == sizeof *header && strcmp(header->set, set->name) != 0)
		return npl_fail(err, NPL_EINPUT, "%s: a program for the driver %s, expected one for %s", source,
				header->set, set->name);
	const uint64_t host = program->host_address = header->host_address;
	const uint64_t weights = program->weight_address = header->weight_address;
	if ((host | weights) >> set->address_bits)
		return npl_fail(err, NPL_EINPUT,
				"%s: host memory at byte %llu and weights at %llu in the header, expected at most %lld",
				source, (unsigned long long)host, (unsigned long long)weights,
				((long long)1 << set->address_bits) - 1);
	const unsigned most_constants = set->constants ? SIM_MAX_CONSTANTS : 0;
	if (header->constants > most_constants)
		return npl_fail(err, NPL_EINPUT, "%s: %u constants, expected at most %u", source, header->constants,
				most_constants);
	const size_t instruction_bytes = sim_instruction_bytes(set);
	const size_t before = header_bytes + header->constants * constant_bytes(set); /* the instructions */
	if (n >= before && (n - before) % instruction_bytes == 0 &&
	    (n - before) / instruction_bytes == header->instructions)
		return 0;
	return npl_fail(err, NPL_EINPUT,
			"%s: %zu bytes, expected %zu of header, %u constants of %zu bytes and %llu instructions of %zu",
			source, n, header_bytes, header->constants, constant_bytes(set),
			(unsigned long long)header->instructions, instruction_bytes);
}

int sim_from_binary(const struct sim_instruction_set *set, const char *source, const uint8_t *bytes, size_t n,
		    struct sim_program *program, struct npl_err *err)
{
	_Alignas(8) char instruction[SIM_MAX_INSTRUCTION];
	const size_t instruction_bytes = sim_instruction_bytes(set), header_size = header_bytes(set, bytes, n);
	struct header header = {.instructions = n / instruction_bytes};
	int rc = 0;
	*program = (struct sim_program){.set = set};
	if (header_size)
		rc = take_header(source, bytes, n, header_size, program, &header, err);
	else if (n % instruction_bytes)
		rc = npl_fail(err, NPL_EINPUT,
			      "%s: the last instruction is cut off: %zu bytes without a header, expected a multiple of "
			      "%zu",
			      source, n, instruction_bytes);
	bytes += header_size;
	for (; header.constants && !rc; header.constants--, bytes += constant_bytes(set))
		rc = take_constant(source, bytes, program, err);
	for (; header.instructions && !rc; header.instructions--, bytes += instruction_bytes) {
		sim_decode(set, bytes, instruction);
		rc = sim_program_add(program, instruction, 0, err);
	}
	if (!rc)
		rc = sim_program_instructions_ok(program, source, err);
	if (rc)
		sim_program_free(program);
	return rc;
}
