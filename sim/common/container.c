/* SPDX-License-Identifier: MIT
 *
 * Binary programs (container.h). Every number is little-endian. */
#include "container.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAGIC_BYTES = 8,
	AT_VERSION = MAGIC_BYTES,
	AT_CONSTANTS = 12,
	AT_INSTRUCTIONS = 16,
	AT_HOST = 24,
	AT_WEIGHTS = 32,
	AT_SET = 40,
	AT_MACHINE = AT_SET + SIM_SET_NAME,
	HEADER_BYTES = AT_MACHINE + SIM_MACHINE_NAME,
	VERSION = 1
};
static const char magic[MAGIC_BYTES] = "NPULAB\n"; /* and a zero */

static void put(uint8_t *bytes, int n, uint64_t value)
{
	for (int i = 0; i < n; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *bytes, int n)
{
	uint64_t value = 0;
	for (int i = 0; i < n; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

static size_t constant_bytes(const struct sim_instruction_set *set)
{
	return set->constants ? SIM_CONSTANT_NAME + 4 * (size_t)set->constants->pairs : 0;
}

bool sim_has_header(const uint8_t *bytes, size_t n)
{
	return n >= sizeof magic && !memcmp(bytes, magic, sizeof magic);
}

/* A name filled up with zeros, one at least. */
static bool take_name(const uint8_t *bytes, size_t capacity, char *name)
{
	const size_t length = strnlen((const char *)bytes, capacity);
	for (size_t i = length; i < capacity; i++)
		if (bytes[i])
			return false;
	memcpy(name, bytes, capacity);
	return length < capacity;
}

int sim_header_names(const char *source, const uint8_t *bytes, size_t n, char set[SIM_SET_NAME],
		     char machine[SIM_MACHINE_NAME], struct npl_err *err)
{
	if (n < HEADER_BYTES)
		return npl_fail(err, NPL_EINPUT, "%s: cut off: %zu bytes, expected a header of %d", source, n,
				HEADER_BYTES);
	if (get(bytes + AT_VERSION, 4) != VERSION)
		return npl_fail(err, NPL_EINPUT, "%s: version %llu of binary programs, expected %d", source,
				(unsigned long long)get(bytes + AT_VERSION, 4), VERSION);
	if (!take_name(bytes + AT_SET, SIM_SET_NAME, set) ||
	    !take_name(bytes + AT_MACHINE, SIM_MACHINE_NAME, machine) || !sim_machine_name_ok(machine))
		return npl_fail(
			err, NPL_EINPUT,
			"%s: the names of instruction set and machine in the header, expected visible characters, "
			"filled up with zeros",
			source);
	return 0;
}

int sim_to_binary(const struct sim_program *program, const char *machine, uint8_t **bytes, size_t *n,
		  struct npl_err *err)
{
	const struct sim_instruction_set *set = program->set;
	const size_t each = sim_instruction_bytes(set);
	*bytes = NULL;
	*n = HEADER_BYTES + (size_t)program->n_constants * constant_bytes(set) + (size_t)program->count * each;
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
	uint8_t *at = *bytes;
	memcpy(at, magic, sizeof magic);
	put(at + AT_VERSION, 4, VERSION);
	put(at + AT_CONSTANTS, 4, (uint64_t)program->n_constants);
	put(at + AT_INSTRUCTIONS, 8, (uint64_t)program->count);
	put(at + AT_HOST, 8, program->host_address);
	put(at + AT_WEIGHTS, 8, program->weight_address);
	memcpy(at + AT_SET, set->name, strlen(set->name));
	memcpy(at + AT_MACHINE, machine, strlen(machine));
	at += HEADER_BYTES;
	for (int i = 0; i < program->n_constants; i++, at += constant_bytes(set)) {
		const struct sim_constant *constant = &program->constant[i];
		memcpy(at, constant->name, strlen(constant->name));
		for (int k = 0; k < set->constants->pairs; k++) {
			put(at + SIM_CONSTANT_NAME + 4 * k, 2, (uint16_t)constant->value[k]);
			put(at + SIM_CONSTANT_NAME + 4 * k + 2, 2,
			    (uint16_t)constant->value[set->constants->pairs + k]);
		}
	}
	for (int64_t i = 0; i < program->count; i++, at += each)
		sim_encode(set, sim_program_at(program, i), at);
	return 0;
}

/* Bytes of the header: 0 of a file that has none. */
static size_t header_bytes(const struct sim_instruction_set *set, const uint8_t *bytes, size_t n)
{
	if (sim_has_header(bytes, n))
		return HEADER_BYTES;
	return set->former_magic && n >= AT_SET && !memcmp(bytes, set->former_magic, strlen(set->former_magic) + 1)
		       ? AT_SET
		       : 0;
}

static int take_constant(const char *source, const uint8_t *bytes, struct sim_program *program, struct npl_err *err)
{
	const struct sim_constants *constants = program->set->constants;
	struct sim_constant new = {0};
	const int number = program->n_constants + 1;
	if (!take_name(bytes, SIM_CONSTANT_NAME, new.name) || !sim_constant_name_ok(constants, new.name))
		return npl_fail(err, NPL_EINPUT,
				"%s: the name of %s %d is '%.*s', expected at most %d letters, digits and '_', filled "
				"up with zeros, and not %s",
				source, constants->directive + 1, number,
				(int)strnlen((const char *)bytes, SIM_CONSTANT_NAME), (const char *)bytes,
				SIM_CONSTANT_NAME - 1, constants->identity);
	if (sim_constant_number(program, new.name))
		return npl_fail(err, NPL_EINPUT, "%s: %ss %d and %d are both named %s", source,
				constants->directive + 1, sim_constant_number(program, new.name), number, new.name);
	for (int k = 0; k < constants->pairs; k++) {
		new.value[k] = (int16_t)get(bytes + SIM_CONSTANT_NAME + 4 * k, 2);
		new.value[constants->pairs + k] = (int16_t)get(bytes + SIM_CONSTANT_NAME + 4 * k + 2, 2);
	}
	program->constant[program->n_constants++] = new;
	return 0;
}

/* How many constants and instructions follow, which fill the file. */
static int take_header(const char *source, const uint8_t *bytes, size_t n, struct sim_program *program,
		       uint64_t *constants, uint64_t *instructions, struct npl_err *err)
{
	const struct sim_instruction_set *set = program->set;
	const uint64_t end = (uint64_t)1 << set->address_bits;
	char name[SIM_SET_NAME], machine[SIM_MACHINE_NAME];
	const size_t header = header_bytes(set, bytes, n);
	snprintf(name, sizeof name, "%s", set->name);
	if (header == HEADER_BYTES && sim_header_names(source, bytes, n, name, machine, err))
		return err->code;
	if (strcmp(name, set->name))
		return npl_fail(err, NPL_EINPUT, "%s: a program for the driver %s, expected one for %s", source, name,
				set->name);
	program->host_address = get(bytes + AT_HOST, 8);
	program->weight_address = get(bytes + AT_WEIGHTS, 8);
	if (program->host_address >= end || program->weight_address >= end)
		return npl_fail(err, NPL_EINPUT,
				"%s: host memory at byte %llu and weights at %llu, expected less than 2^%d", source,
				(unsigned long long)program->host_address, (unsigned long long)program->weight_address,
				set->address_bits);
	*constants = get(bytes + AT_CONSTANTS, 4);
	*instructions = get(bytes + AT_INSTRUCTIONS, 8);
	const uint64_t most = set->constants ? SIM_MOST_CONSTANTS : 0;
	const size_t rest = n - header, tables = *constants * constant_bytes(set);
	const size_t each = sim_instruction_bytes(set);
	if (*constants > most)
		return npl_fail(err, NPL_EINPUT, "%s: %llu constants, expected at most %llu", source,
				(unsigned long long)*constants, (unsigned long long)most);
	if (rest >= tables && (rest - tables) % each == 0 && (rest - tables) / each == *instructions)
		return 0;
	return npl_fail(
		err, NPL_EINPUT,
		"%s: %zu bytes, expected %zu of header, %llu constants of %zu bytes and %llu instructions of %zu",
		source, n, header, (unsigned long long)*constants, constant_bytes(set),
		(unsigned long long)*instructions, each);
}

int sim_from_binary(const struct sim_instruction_set *set, const char *source, const uint8_t *bytes, size_t n,
		    struct sim_program *program, struct npl_err *err)
{
	_Alignas(8) char instruction[SIM_MOST_INSTRUCTION];
	const size_t each = sim_instruction_bytes(set);
	const size_t header = header_bytes(set, bytes, n);
	uint64_t constants = 0, instructions = n / each;
	int rc = 0;
	*program = (struct sim_program){.set = set};
	if (header)
		rc = take_header(source, bytes, n, program, &constants, &instructions, err);
	else if (n % each)
		rc = npl_fail(err, NPL_EINPUT,
			      "%s: the last instruction is cut off: %zu bytes without a header, expected a multiple of "
			      "%zu",
			      source, n, each);
	bytes += header;
	for (; constants && !rc; constants--, bytes += constant_bytes(set))
		rc = take_constant(source, bytes, program, err);
	for (; instructions && !rc; instructions--, bytes += each) {
		sim_decode(set, bytes, instruction);
		rc = sim_program_add(program, instruction, 0, err);
	}
	if (!rc)
		rc = sim_program_instructions_ok(program, source, err);
	if (rc)
		sim_program_free(program);
	return rc;
}
