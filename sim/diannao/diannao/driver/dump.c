/* SPDX-License-Identifier: MIT
 *
 * Writes the program of a layer as text, with its memory (npulab/program_dump.h). A layer's instructions are made as
 * they are needed; here all of them are held. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "driver_impl.h"
#include "sim/common/dump.h"

#define MAX_INSTRUCTIONS (1 << 20) /* the most of a text: about 100 MB */

/* Returns the name by which every program knows the function, or a name for this program. */
static const char *name_of(const struct dn_function *function)
{
	for (const struct sim_known_constant *known = dn_known_functions; known->name; known++)
		if (!memcmp(known->value, function, sizeof *function))
			return known->name;
	return "LAYER";
}

static int collect_program(const struct dn_stream *stream, const char *name, struct sim_program *program,
			   struct npl_err *err)
{
	struct dn_instruction instruction;
	do {
		stream->next(stream->state, &instruction);
		if (program->count == MAX_INSTRUCTIONS)
			return npl_fail(err, NPL_EUSAGE,
					"the program of layer %s has more than %d instructions, too many for a text",
					name, MAX_INSTRUCTIONS);
		if (sim_program_add(program, &instruction, 0, err))
			return err->code;
	} while (instruction.cp.op != DN_CP_END);
	return 0;
}

/* The heading before everything else: the layer's name and the places of its tensors. */
struct heading {
	const struct dn_layout_map *map;
	const char *name;
};

static void put_heading(void *context, FILE *out, int64_t index)
{
	const struct heading *heading = context;
	const struct dn_layout_map *map = heading->map;
	if (index >= 0)
		return;
	fputs("# layer ", out);
	sim_put_name(out, heading->name);
	fprintf(out,
		"\n# inputs from byte 0: %" PRId64 " image%s, rows of pixels, %" PRId64
		" channels of 16 bits for a pixel\n",
		map->layer->images, npl_plural(map->layer->images), map->channels);
	if (map->results > map->synapses)
		fprintf(out,
			"# biases and synapses from byte %" PRIu64 ", in the order in which the program reads them\n",
			map->synapses);
	fprintf(out, "# results from byte %" PRIu64 ": rows of pixels, %" PRId64 " channels of %" PRId64 " bits\n",
		map->results, map->out_channels, 8 * map->out_bytes);
}

static int copy_memories(const struct dn_layout_map *map, const struct npl_layer *model_layer,
			 struct npl_program_dump *dump, struct npl_err *err)
{
	const size_t inputs = map->synapses, weights = map->results - map->synapses;
	uint8_t *bytes = dn_make_memory(map, model_layer, map->results, err);
	if (!bytes)
		return err->code;
	int rc = sim_copy_image(bytes, inputs, inputs, &dump->host, err);
	if (!rc)
		rc = sim_copy_image(bytes + inputs, weights, weights, &dump->weights, err);
	free(bytes);
	return rc;
}

static int dump_program(const struct dn_layer *layer, const struct npl_layer *model_layer,
			struct dn_generator *generator, struct npl_program_dump *dump, struct npl_err *err)
{
	struct sim_program program = {.set = &dn_instruction_set};
	const struct dn_stream stream = dn_generator_stream(generator);
	const struct dn_layout_map *map = dn_generator_map(generator);
	struct heading heading = {map, model_layer->name};
	program.weight_address = map->synapses;
	program.n_constants = layer->activates;
	program.constant[0] = sim_constant_of(program.set->constants, name_of(&layer->function), &layer->function);
	int rc = collect_program(&stream, model_layer->name, &program, err);
	if (!rc)
		rc = dn_generator_failed(generator, err);
	if (!rc)
		rc = sim_disassemble("program", &program, dump->machine, &(struct sim_comments){put_heading, &heading},
				     &dump->text, err);
	sim_program_free(&program);
	return rc;
}

int dn_dump(struct dn_machine *machine, const struct dn_layer *layer, const struct npl_layer *model_layer,
	    struct npl_program_dump *dump, struct npl_err *err)
{
	struct dn_operands operands;
	struct dn_generator *generator = NULL;
	struct dn_tiles tiles;
	dump->timing_only = model_layer->timing_only;
	dump->writes_host = true;
	int rc = dn_operands_open(layer, model_layer, &operands, err);
	if (!rc)
		rc = dn_choose_tiles(machine, layer, &tiles, err);
	if (!rc)
		rc = dn_generator_open(machine->config, layer, &tiles, &generator, err);
	if (!rc)
		rc = dump_program(layer, model_layer, generator, dump, err);
	if (!rc && !model_layer->timing_only)
		rc = copy_memories(dn_generator_map(generator), &operands.model_layer, dump, err);
	dn_generator_close(generator);
	dn_operands_close(&operands);
	return rc;
}
