/* SPDX-License-Identifier: MIT
 *
 * Remembered runs (remembered.h). */
#include "remembered.h"

#include <string.h>

/* Bytes of an instruction's fields, one after the other: the struct has gaps, which may hold anything. */
#define PACKED_BYTES 13
#define AT_A_TIME    256

static void pack(const struct tpu_instruction *instruction, uint8_t *bytes)
{
	memcpy(bytes, &instruction->opcode, 1);
	memcpy(bytes + 1, &instruction->flags, 2);
	memcpy(bytes + 3, &instruction->ub, 4);
	memcpy(bytes + 7, &instruction->operand, 2);
	memcpy(bytes + 9, &instruction->length, 4);
}

struct tpu_remembered tpu_remembered_of(const struct tpu_machine *machine, const struct tpu_generated *generated,
					int n_layers)
{
	const struct sim_program *program = &generated->program;
	struct npl_memo_key key = machine->timing;
	uint8_t packed[AT_A_TIME * PACKED_BYTES];
	for (int64_t i = 0; i < program->count;) {
		int n = 0;
		for (; n < AT_A_TIME && i < program->count; n++, i++)
			pack(&tpu_code(program)[i], packed + n * PACKED_BYTES);
		key = npl_memo_add(key, packed, (size_t)n * PACKED_BYTES);
	}
	key = npl_memo_add(key, generated->of_layer, (size_t)program->count * sizeof *generated->of_layer);
	key = npl_memo_add(key, &n_layers, sizeof n_layers);
	return (struct tpu_remembered){key, n_layers};
}

bool tpu_remembered_find(const struct tpu_remembered *run, struct tpu_share *layer_share)
{
	return npl_memo_find(run->key, layer_share, (size_t)run->n_layers * sizeof *layer_share);
}

void tpu_remembered_keep(const struct tpu_remembered *run, const struct tpu_share *layer_share)
{
	npl_memo_keep(run->key, layer_share, (size_t)run->n_layers * sizeof *layer_share);
}
