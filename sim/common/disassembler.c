/* SPDX-License-Identifier: MIT
 *
 * Writes programs as text, for every instruction set: directives, then one instruction per line. Assembling the text
 * gives the same program. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/files/settings.h"
#include "program.h"

/* Puts a float so that it reads back the same; a NaN or infinity as its bits. */
static void put_float(FILE *out, uint32_t bits)
{
	char text[32];
	float value;
	memcpy(&value, &bits, sizeof value);
	if (isfinite(value))
		fputs(npl_float_text(value, text, sizeof text), out);
	else
		fprintf(out, "0x%08x", bits);
}

static void put_value(FILE *out, const struct sim_program *program, const struct sim_field *field, int64_t value)
{
	switch (field->kind) {
	case SIM_NAMED:
		fputs(field->names[value], out);
		break;
	case SIM_CONSTANT:
		fputs(value ? program->constant[value - 1].name : program->set->constants->identity, out);
		break;
	case SIM_FLOAT:
		put_float(out, (uint32_t)value);
		break;
	case SIM_NUMBER:
		fprintf(out, "%" PRId64, value);
		break;
	}
}

static void put_slot(FILE *out, const struct sim_program *program, const void *instruction, const struct sim_slot *slot)
{
	const struct sim_instruction_set *set = program->set;
	const unsigned flags = sim_flags_of(set, instruction);
	struct sim_field field;
	char key[64];
	fputs(slot->name, out);
	for (const struct sim_flag *f = slot->flag; f && f->name; f++)
		if ((flags & f->mask) == f->bits)
			fprintf(out, "%c%s", slot->flag_noun ? ' ' : '.', f->name);
	for (int i = 0; i < slot->n_fields; i++) {
		if (!sim_field_of(set, instruction, slot, i, &field))
			continue;
		const int64_t value = sim_field_get(instruction, &field);
		if (field.keyed && !value && !set->opcode)
			continue;
		sim_field_key(&slot->field[i], key, sizeof key);
		fprintf(out, "%c%s%s", i && !field.keyed && !set->opcode ? ',' : ' ', field.keyed ? key : "",
			field.keyed ? "=" : "");
		put_value(out, program, &field, value);
	}
}

static bool is_there(const void *instruction, const struct sim_slot *slot)
{
	for (int i = 0; i < slot->n_fields; i++)
		if (sim_field_get(instruction, &slot->field[i]))
			return true;
	return false;
}

/* Puts an instruction. Of slots side by side those that are all 0 are left out, except the first one where all would
 * be. */
static void put_instruction(FILE *out, const struct sim_program *program, const void *instruction)
{
	const struct sim_instruction_set *set = program->set;
	const struct sim_slot *slot = set->opcode ? sim_slot_of(set, instruction) : set->slot;
	int n_put = 0;
	for (int s = 0; s < set->n_slots && !set->opcode; s++)
		if (is_there(instruction, &set->slot[s])) {
			fputs(n_put++ ? " | " : "", out);
			put_slot(out, program, instruction, &set->slot[s]);
		}
	if (!n_put)
		put_slot(out, program, instruction, slot);
	fputc('\n', out);
}

static void put_constant(FILE *out, const struct sim_constants *constants, const struct sim_constant *constant)
{
	const void *known = sim_known_values(constants, constant->name);
	fprintf(out, "%s %s", constants->directive, constant->name);
	if (!known || memcmp(known, constant->value, 2 * (size_t)constants->pairs * sizeof *constant->value) != 0)
		for (int k = 0; k < constants->pairs; k++)
			fprintf(out, " %d,%d", constant->value[k], constant->value[constants->pairs + k]);
	fputc('\n', out);
}

int sim_disassemble(const char *source, const struct sim_program *program, const char *machine,
		    const struct sim_comments *comments, char **text, struct npl_err *err)
{
	size_t bytes;
	*text = NULL;
	if (sim_program_instructions_ok(program, source, err))
		return err->code;
	FILE *out = open_memstream(text, &bytes);
	if (!out)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", source);
	if (comments)
		comments->put(comments->context, out, -1);
	if (machine && sim_machine_name_ok(machine))
		fprintf(out, ".machine %s\n", machine);
	if (program->host_address)
		fprintf(out, ".host %" PRIu64 "\n", program->host_address);
	if (program->weight_address)
		fprintf(out, ".weights %" PRIu64 "\n", program->weight_address);
	for (int i = 0; i < program->n_constants; i++)
		put_constant(out, program->set->constants, &program->constant[i]);
	for (int64_t i = 0; i < program->count; i++) {
		if (comments)
			comments->put(comments->context, out, i);
		put_instruction(out, program, sim_program_at(program, i));
	}
	if (!fclose(out))
		return 0;
	free(*text);
	*text = NULL;
	return npl_fail(err, NPL_ENOMEM, "%s: out of memory", source);
}
