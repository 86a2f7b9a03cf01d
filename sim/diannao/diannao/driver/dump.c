/* SPDX-License-Identifier: MIT
 *
 * The program of a layer as text, with its memory (npulab/program_dump.h). A layer's instructions are made as they are needed; here they
 * are held. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_impl.h"
#include "npulab/program_dump.h"
#include "npulab/text.h"
#include "sim/diannao/diannao/generate/generate.h"
#include "sim/diannao/diannao/isa/isa.h"

#define MOST_INSTRUCTIONS (1 << 20) /* of a text: about 100 MB */

/* The function by the name that every program knows it by, or one of its own. */
static const char *name_of(const struct dn_function *function)
{
	struct dn_function room;
	for (const char *const *name = dn_known_functions; *name; name++) {
		const struct dn_function *known = dn_known_function(*name, &room);
		if (known && !memcmp(known, function, sizeof *known))
			return *name;
	}
	return "LAYER";
}

static int hold(const struct dn_source *source, const char *name, struct sim_program *program, struct npl_err *err)
{
	struct dn_instruction at;
	do {
		source->next(source->state, &at);
		if (program->count == MOST_INSTRUCTIONS)
			return npl_fail(err, NPL_EUSAGE,
					"the program of layer %s has more than %d instructions, too many for a text",
					name, MOST_INSTRUCTIONS);
		if (sim_program_add(program, &at, 0, err))
			return err->code;
	} while (at.cp != DN_CP_END);
	return 0;
}

static void put_places(FILE *out, const struct dn_layout_map *map, const char *name)
{
	const struct dn_work *work = map->work;
	char *copy = strdup(name);
	fprintf(out, "# layer %s\n", copy ? npl_make_printable(copy) : "?");
	free(copy);
	fprintf(out,
		"# inputs from byte 0: %" PRId64 " image%s, rows of pixels, %" PRId64
		" channels of 16 bits for a pixel\n",
		work->images, npl_plural(work->images), map->channels);
	if (map->results > map->synapses)
		fprintf(out,
			"# biases and synapses from byte %" PRIu64 ", in the order in which the program reads them\n",
			map->synapses);
	fprintf(out, "# results from byte %" PRIu64 ": rows of pixels, %" PRId64 " channels of %" PRId64 " bits\n",
		map->results, map->out_channels, 8 * map->out_bytes);
}

static int put_text(const struct dn_layout_map *map, const char *name, const struct sim_program *program,
		    const char *machine, char **text, struct npl_err *err)
{
	char *code = NULL;
	size_t bytes;
	if (sim_disassemble("program", program, machine, NULL, &code, err))
		return err->code;
	FILE *out = open_memstream(text, &bytes);
	if (out) {
		put_places(out, map, name);
		fputs(code, out);
	}
	free(code);
	return out && !fclose(out) ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for the program of layer %s", name);
}

static int take_image(const uint8_t *bytes, uint64_t first, uint64_t end, struct npl_program_image *image,
		      struct npl_err *err)
{
	if (first == end)
		return 0;
	image->bytes = (size_t)(end - first);
	image->data = malloc(image->bytes);
	if (!image->data)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of a program's memory", image->bytes);
	memcpy(image->data, bytes + first, image->bytes);
	return 0;
}

static int take_images(const struct dn_layout_map *map, const struct npl_layer *layer, struct npl_program_dump *dump,
		       struct npl_err *err)
{
	uint8_t *bytes = calloc(map->results + 1, 1);
	if (!bytes)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the %" PRIu64 " bytes of layer %s in memory",
				map->results, layer->name);
	dn_put_operands(map, layer, bytes);
	int rc = take_image(bytes, 0, map->synapses, &dump->host, err);
	if (!rc)
		rc = take_image(bytes, map->synapses, map->results, &dump->weights, err);
	free(bytes);
	return rc;
}

int dn_dump_run(struct diannao *machine, const struct dn_work *work, const struct npl_layer *layer,
		struct npl_program_dump *dump, struct npl_err *err)
{
	struct dn_generator *generator = NULL;
	struct sim_program program = {.set = &dn_instructions};
	struct dn_tiles tiles;
	int rc = dn_choose_tiles(machine, work, &tiles, err);
	if (!rc)
		rc = dn_generator_open(&machine->config, work, &tiles, &generator, err);
	if (!rc) {
		const struct dn_source source = dn_generator_source(generator);
		rc = hold(&source, layer->name, &program, err);
	}
	if (!rc)
		rc = dn_generator_failed(generator, err);
	if (!rc) {
		const struct dn_layout_map *map = dn_generator_map(generator);
		program.weight_address = map->synapses;
		program.n_constants = work->activates;
		dn_set_function(&program.constant[0], name_of(&work->function), &work->function);
		dump->timing_only = layer->timing_only;
		dump->writes_host = true;
		rc = put_text(map, layer->name, &program, dump->machine, &dump->text, err);
		if (!rc && !layer->timing_only)
			rc = take_images(map, layer, dump, err);
	}
	dn_generator_close(generator);
	sim_program_free(&program);
	return rc;
}
