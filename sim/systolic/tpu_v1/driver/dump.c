/* SPDX-License-Identifier: MIT
 *
 * Writes the program of a layer group as text (npulab/program_dump.h): the instructions of each layer, and the
 * locations of tensors. */
#include <inttypes.h>

#include "core/base/message.h"
#include "driver_impl.h"
#include "sim/common/dump.h"

struct listing {
	const struct npl_layer_group *group;
	const struct tpu_generated *generated;
	int64_t row_bytes;
	int layer; /* the layer whose instruction was put last; -1: none */
};

/* Puts the layer and those that are done in the same pass. */
static void put_layer(FILE *out, const struct listing *l, int layer)
{
	const char *separator = " (with ";
	fputs("# layer ", out);
	sim_put_name(out, l->group->layer[layer]->name);
	for (int i = 0; i < l->group->n; i++) {
		if (i == layer || l->generated->layer[i].pass != layer)
			continue;
		fputs(separator, out);
		sim_put_name(out, l->group->layer[i]->name);
		separator = ", ";
	}
	fputs(*separator == ',' ? ")\n" : "\n", out);
}

static void put_extent(FILE *out, const struct listing *l, const struct tpu_location *location,
		       const struct tpu_extent *extent)
{
	fprintf(out, "#   channels %" PRId64 " to %" PRId64 ": ", extent->first, extent->first + extent->channels - 1);
	if (extent->in_host)
		fprintf(out, "host memory from byte %" PRId64 ", a pixel every %" PRId64 " bytes", extent->host_address,
			extent->pixel_bytes);
	else
		fprintf(out,
			"unified buffer from row %" PRId64 ", lane %" PRId64 ", a row of %" PRId64 " bytes for %" PRId64
			" pixel%s of %" PRId64 " lanes",
			extent->row, extent->lane, l->row_bytes, extent->row_pixels, npl_plural(extent->row_pixels),
			extent->pixel_lanes);
	if (location->planes > 1 && extent->in_host)
		fprintf(out, "; %d planes of bytes, low ones first, %" PRId64 " bytes apart", location->planes,
			extent->plane_bytes);
	else if (location->planes > 1)
		fprintf(out, "; %d planes of bytes, low ones first, %" PRId64 " rows apart", location->planes,
			extent->plane_rows);
	fputc('\n', out);
}

/* Puts the locations of the given tensors, or of the outputs. */
static void put_locations(FILE *out, const struct listing *l, bool inputs)
{
	for (int i = 0; i < l->generated->n_locations; i++) {
		const struct tpu_location *location = &l->generated->location[i];
		char shape[128];
		if (inputs ? !location->is_input : !location->is_output)
			continue;
		npl_shape_text(&location->tensor->shape, shape, sizeof shape);
		fprintf(out, "# %s ", inputs ? "input" : "result");
		sim_put_name(out, location->tensor->name);
		fprintf(out, " %s %s, image after image, row after row of pixels:\n", shape,
			npl_dtype_name(location->tensor->dtype));
		for (int r = 0; r < location->n_extents; r++)
			put_extent(out, l, location, &location->extent[r]);
	}
}

static void put_comment(void *context, FILE *out, int64_t instruction)
{
	struct listing *l = context;
	const int layer = instruction < 0 ? -1 : l->generated->of_layer[instruction];
	if (instruction == 0) {
		put_locations(out, l, true);
		put_locations(out, l, false);
	}
	if (layer >= 0 && layer != l->layer) {
		fputc('\n', out);
		put_layer(out, l, layer);
	}
	l->layer = layer >= 0 ? layer : l->layer;
}

/* Returns the bytes of weight memory up to the last one that the program reads. Bytes that the weights do not have are
 * 0. */
static size_t weights_read(const struct tpu_config *config, const struct sim_program *program)
{
	size_t end = 0;
	for (int64_t i = 0; i < program->count; i++) {
		const struct tpu_instruction *in = &tpu_code(program)[i];
		const bool tables = in->flags & TPU_WEIGHTS_PARAMETERS;
		if (in->opcode != TPU_READ_WEIGHTS)
			continue;
		const size_t rows = in->length + in->operand * (size_t)tpu_weight_rows_of(tables, config->rows);
		end = rows * (size_t)config->columns > end ? rows * (size_t)config->columns : end;
	}
	return end;
}

/* Returns the bytes of the rows up to the last one that is not all 0. */
static size_t rows_used(const struct tpu_config *config, const uint8_t *buffer)
{
	const size_t row = (size_t)tpu_row_bytes(config);
	size_t rows = (size_t)tpu_buffer_size_rows(config);
	for (; rows; rows--)
		for (size_t i = 0; i < row; i++)
			if (buffer[(rows - 1) * row + i])
				return rows * row;
	return 0;
}

static int take_memories(const struct tpu_config *config, const struct tpu_generated *generated,
			 const struct tpu_memory *memory, struct npl_program_dump *dump, struct npl_err *err)
{
	const size_t buffer = rows_used(config, memory->buffer), weights = weights_read(config, &generated->program);
	if (sim_copy_image(memory->host, memory->host_bytes, memory->host_bytes, &dump->host, err) ||
	    sim_copy_image(memory->weights, memory->weight_bytes, weights, &dump->weights, err))
		return err->code;
	return sim_copy_image(memory->buffer, buffer, buffer, &dump->buffer, err);
}

int tpu_dump(const struct tpu_config *config, const struct npl_layer_group *group,
	     const struct tpu_generated *generated, const struct tpu_memory *memory, struct npl_program_dump *dump,
	     struct npl_err *err)
{
	struct listing listing = {
		.group = group, .generated = generated, .row_bytes = tpu_row_bytes(config), .layer = -1};
	const struct sim_comments comments = {put_comment, &listing};
	dump->timing_only = group->timing_only;
	for (int i = 0; i < generated->n_locations; i++)
		for (int r = 0; r < generated->location[i].n_extents && generated->location[i].is_output; r++) {
			dump->writes_host |= generated->location[i].extent[r].in_host;
			dump->writes_buffer |= !generated->location[i].extent[r].in_host;
		}
	int rc = sim_disassemble("program", &generated->program, dump->machine, &comments, &dump->text, err);
	if (!rc && !group->timing_only)
		rc = take_memories(config, generated, memory, dump, err);
	return rc;
}
