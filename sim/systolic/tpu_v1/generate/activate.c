/* SPDX-License-Identifier: MIT
 *
 * Emits activate for a group (docs/tpu-isa.md): each node of the group sets the registers of its step. */
#include <math.h>

#include "impl.h"

static const struct tpu_gen_value *value_of(const struct tpu_gen *gen, int node)
{
	return &gen->value[gen->node[node].out];
}

static unsigned operand_step(struct tpu_gen *gen, const struct tpu_gen_group *group, const struct tpu_gen_value *source)
{
	const struct tpu_gen_node *node = &gen->node[group->operand];
	const struct tpu_gen_value *result = value_of(gen, group->operand);
	const struct tpu_gen_value *operand = group->second < 0 ? NULL : &gen->value[group->second];
	float scale = source->scale / result->scale;
	if (operand) {
		tpu_gen_set(gen, TPU_REG_OPERAND_TYPE, operand->type);
		tpu_gen_set_zero(gen, TPU_REG_OPERAND_ZERO_POINT, operand->zero_point);
	}
	if (operand && node->kind == TPU_GEN_ADD)
		tpu_gen_set_scale(gen, TPU_REG_OPERAND_SCALE, operand->scale / result->scale);
	if (operand && node->kind == TPU_GEN_MULTIPLY)
		scale = source->scale * operand->scale / result->scale;
	tpu_gen_set_scale(gen, TPU_REG_SOURCE_SCALE, scale);
	return TPU_WITH_OPERAND(node->kind == TPU_GEN_ADD        ? TPU_ADD
				: node->kind == TPU_GEN_MULTIPLY ? TPU_MULTIPLY
								 : TPU_SCALE);
}

/* Returns the integer that stands for a real number in a value's format, saturated. */
static int64_t quantised(const struct tpu_gen_value *value, float x)
{
	static const float low[] = {[TPU_I8] = -128, [TPU_U8] = 0, [TPU_I16] = -32768},
			   high[] = {[TPU_I8] = 127, [TPU_U8] = 255, [TPU_I16] = 32767};
	float q = nearbyintf(x / value->scale) + (float)value->zero_point;
	if (!(q < high[value->type]))
		return (int64_t)high[value->type];
	return q > low[value->type] ? (int64_t)q : (int64_t)low[value->type];
}

static unsigned function_step(struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	const struct tpu_gen_node *node = &gen->node[group->function];
	const struct tpu_gen_value *result = value_of(gen, group->function);
	if (node->function == TPU_RELU6)
		tpu_gen_set_zero(gen, TPU_REG_RELU6_LIMIT, quantised(result, node->limit));
	else if (node->function != TPU_RELU)
		tpu_gen_set_scale(gen, TPU_REG_FUNCTION_SCALE, 1.0f / 32768.0f / result->scale);
	return TPU_WITH_FUNCTION(node->function);
}

/* Sets the window of a pooling over an image of size `in`. Returns the pooling's flag. */
static unsigned pool_step(struct tpu_gen *gen, const struct tpu_gen_group *group, const int64_t in[2],
			  const int64_t out[2], const int64_t pad[2])
{
	const struct tpu_gen_node *node = &gen->node[group->pool];
	for (int d = 0; d < NPL_SPATIAL; d++) {
		tpu_gen_set(gen, TPU_REG_IN_HEIGHT + d, in[d]);
		tpu_gen_set(gen, TPU_REG_OUT_HEIGHT + d, out[d]);
		tpu_gen_set(gen, TPU_REG_KERNEL_HEIGHT + d, node->window.kernel[d]);
		tpu_gen_set(gen, TPU_REG_STRIDE_Y + d, node->window.stride[d]);
		tpu_gen_set(gen, TPU_REG_DILATION_Y + d, 1);
		tpu_gen_set(gen, TPU_REG_PAD_TOP + d, pad[d]);
	}
	return TPU_WITH_POOLING(node->pooling);
}

/* Sets the registers of formats and of all steps except pooling. Returns the flags. */
static unsigned steps(struct tpu_gen *gen, const struct tpu_gen_group *group)
{
	const struct tpu_gen_value *source = group->matrix >= 0 ? value_of(gen, group->matrix)
								: &gen->value[group->source];
	const struct tpu_gen_value *result = &gen->value[group->out];
	unsigned flags = 0;
	tpu_gen_set(gen, TPU_REG_RESULT_TYPE, result->type);
	if (result->type == TPU_I32)
		return 0;
	tpu_gen_set_zero(gen, TPU_REG_RESULT_ZERO_POINT, result->zero_point);
	tpu_gen_set(gen, TPU_REG_SOURCE_TYPE, source->type);
	tpu_gen_set_zero(gen, TPU_REG_SOURCE_ZERO_POINT, source->zero_point);
	if (group->operand >= 0)
		flags |= operand_step(gen, group, source);
	if (group->function >= 0)
		flags |= function_step(gen, group);
	return flags;
}

/* Sets the registers that place a block's lanes in the result. */
static void layout(struct tpu_gen *gen, const struct tpu_gen_group *group, const struct tpu_gen_n_block *block,
		   const struct tpu_gen_address *out)
{
	tpu_gen_set(gen, TPU_REG_RESULT_COLUMNS, block->channels);
	tpu_gen_set(gen, TPU_REG_RESULT_PIXEL_LANES, out->allocation->pixel_lanes);
	tpu_gen_set(gen, TPU_REG_RESULT_ROW_PIXELS, out->allocation->row_pixels);
	tpu_gen_set(gen, TPU_REG_RESULT_LANE, out->lane + block->first - group->out_extent[block->extent].first);
	if (out->allocation->planes > 1)
		tpu_gen_set(gen, TPU_REG_RESULT_PLANE_ROWS, out->allocation->plane_rows);
}

/* Sets the registers for reading `count` vectors of the second operand, or of a source in the buffer. */
static void reads(struct tpu_gen *gen, const struct tpu_gen_address *address, enum tpu_register base, int64_t first,
		  int64_t count)
{
	tpu_gen_set(gen, base, address->row);
	if (address->allocation && address->allocation->planes > 1)
		tpu_gen_set(gen, base + 1, address->allocation->plane_rows);
	tpu_gen_set(gen, TPU_REG_FIRST_SOURCE, first);
	tpu_gen_touch_vectors(gen, false, address, first, count);
}

/* The addresses of a block's tensors. */
struct addresses {
	struct tpu_gen_address source, second, out;
};

static struct addresses addresses_of(struct tpu_gen *gen, struct tpu_gen_group *group,
				     const struct tpu_gen_n_block *block)
{
	struct tpu_gen_address out = tpu_gen_address_of(gen, group, TPU_GEN_OUT, block->extent);
	struct addresses p = {out, out, out};
	if (group->matrix < 0)
		p.source = tpu_gen_address_of(gen, group, TPU_GEN_SOURCE, block->extent);
	if (group->second >= 0)
		p.second = tpu_gen_address_of(gen, group, TPU_GEN_SECOND, block->extent);
	return p;
}

static void second(struct tpu_gen *gen, const struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile,
		   const struct tpu_gen_address *address, int64_t first, int64_t count)
{
	if (group->second >= 0)
		reads(gen, address, TPU_REG_OPERAND,
		      tpu_gen_vector_at(address->allocation, out_tile->image, out_tile->row, out_tile->column) + first,
		      count);
}

static void writes(struct tpu_gen *gen, unsigned flags, const struct tpu_gen_address *out, int64_t acc, int64_t length,
		   int64_t first, int64_t results)
{
	tpu_gen_set(gen, TPU_REG_FIRST_RESULT, first);
	tpu_gen_touch_vectors(gen, true, out, first, results);
	tpu_gen_add(gen, TPU_ACTIVATE, flags, out->row, acc, length);
}

void tpu_gen_activate(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile,
		      const struct tpu_gen_n_block *block, int64_t acc, int64_t first, int64_t count)
{
	struct addresses at = addresses_of(gen, group, block);
	unsigned flags = steps(gen, group);
	int64_t to = tpu_gen_vector_at(at.out.allocation, out_tile->image, out_tile->row, out_tile->column) + first,
		results = count;
	layout(gen, group, block, &at.out);
	second(gen, group, out_tile, &at.second, first, count);
	if (group->pool >= 0) {
		const struct tpu_gen_node *node = &gen->node[group->pool];
		const struct npl_image *from = &gen->value[node->in[0]].image, *image = &gen->value[node->out].image;
		int64_t source = from->size[0] * from->size[1], pooled = image->size[0] * image->size[1];
		flags |= pool_step(gen, group, from->size, image->size, node->window.pad_begin);
		to = (out_tile->image + first / source) * pooled;
		results = count / source * pooled;
	}
	if (tpu_gen_need(gen, true, block->table_row, 1))
		flags |= TPU_ACTIVATE_SWITCH;
	writes(gen, flags, &at.out, acc, count, to, results);
}

/* Does a pooling from the buffer. Only the strip that the windows cover is read, as if it were an image. */
static void pool_block(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile,
		       const struct tpu_gen_n_block *block)
{
	const struct tpu_gen_node *node = &gen->node[group->pool];
	struct addresses at = addresses_of(gen, group, block);
	int64_t start[2] = {out_tile->row, out_tile->column}, out[2] = {out_tile->rows, out_tile->columns}, in[2],
		pad[2], low[2];
	for (int d = 0; d < NPL_SPATIAL; d++) {
		int64_t end;
		tpu_gen_input_range(gen, group, TPU_GEN_SOURCE, d, start[d], out[d], &low[d], &end);
		in[d] = end - low[d];
		pad[d] = node->window.pad_begin[d] + low[d] - start[d] * node->window.stride[d];
	}
	unsigned flags = steps(gen, group) | pool_step(gen, group, in, out, pad) | TPU_ACTIVATE_FROM_BUFFER;
	int64_t vectors = out_tile->images * in[0] * in[1];
	struct tpu_gen_out_tile source = {.image = out_tile->image, .row = low[0], .column = low[1]};
	layout(gen, group, block, &at.out);
	reads(gen, &at.source, TPU_REG_SOURCE, tpu_gen_vector_at(at.source.allocation, out_tile->image, low[0], low[1]),
	      vectors);
	second(gen, group, &source, &at.second, 0, vectors);
	writes(gen, flags, &at.out, 0, vectors,
	       tpu_gen_vector_at(at.out.allocation, out_tile->image, out_tile->row, out_tile->column),
	       out_tile->images * out_tile->rows * out_tile->columns);
}

static void plain_block(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile,
			const struct tpu_gen_n_block *block)
{
	struct addresses at = addresses_of(gen, group, block);
	unsigned flags = steps(gen, group) | TPU_ACTIVATE_FROM_BUFFER;
	int64_t vectors = out_tile->images * out_tile->rows * out_tile->columns;
	layout(gen, group, block, &at.out);
	reads(gen, &at.source, TPU_REG_SOURCE,
	      tpu_gen_vector_at(at.source.allocation, out_tile->image, out_tile->row, out_tile->column), vectors);
	second(gen, group, out_tile, &at.second, 0, vectors);
	writes(gen, flags, &at.out, 0, vectors,
	       tpu_gen_vector_at(at.out.allocation, out_tile->image, out_tile->row, out_tile->column), vectors);
}

/* Does lanes first to first + columns - 1 of `rows` rows, from row row[i] of each tensor on. */
static void row_lanes(struct tpu_gen *gen, const struct tpu_gen_group *group, const struct addresses *at,
		      unsigned flags, const int64_t row[3], int64_t rows, int64_t first, int64_t columns)
{
	const struct tpu_gen_address *address[] = {&at->source, &at->second, &at->out};
	static const enum tpu_register base[] = {TPU_REG_SOURCE, TPU_REG_OPERAND};
	tpu_gen_set(gen, TPU_REG_RESULT_COLUMNS, columns);
	tpu_gen_set(gen, TPU_REG_RESULT_PIXEL_LANES, gen->width);
	tpu_gen_set(gen, TPU_REG_RESULT_ROW_PIXELS, 1);
	tpu_gen_set(gen, TPU_REG_RESULT_LANE, first);
	tpu_gen_set(gen, TPU_REG_FIRST_SOURCE, 0);
	tpu_gen_set(gen, TPU_REG_FIRST_RESULT, 0);
	for (int i = 0; i < 3; i++) {
		const struct tpu_gen_allocation *allocation = address[i]->allocation;
		if (i == TPU_GEN_SECOND && group->second < 0)
			continue;
		for (int p = 0; p < allocation->planes; p++)
			tpu_gen_touch(gen, false, i == TPU_GEN_OUT,
				      address[i]->row + p * allocation->plane_rows + row[i],
				      address[i]->row + p * allocation->plane_rows + row[i] + rows);
		if (i != TPU_GEN_OUT)
			tpu_gen_set(gen, base[i], address[i]->row + row[i]);
		if (allocation->planes > 1)
			tpu_gen_set(gen, i == TPU_GEN_OUT ? TPU_REG_RESULT_PLANE_ROWS : base[i] + 1,
				    allocation->plane_rows);
	}
	tpu_gen_add(gen, TPU_ACTIVATE, flags, at->out.row + row[2], 0, rows);
}

/* Does a group whole rows at a time. Without pooling, several vectors in one row are as good as one long vector. So all
 * whole rows are done at once, as many columns at a time as there are, and then the vectors left in the last row.
 * Returns false where the vectors do not begin with a row. */
static bool whole_rows(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile)
{
	struct addresses at = addresses_of(gen, group, &group->block[0]);
	const struct tpu_gen_allocation *allocations[] = {
		at.source.allocation, group->second < 0 ? at.source.allocation : at.second.allocation,
		at.out.allocation};
	int64_t row[3], per_row = at.out.allocation->row_pixels,
			vectors = out_tile->images * out_tile->rows * out_tile->columns;
	for (int i = 0; i < 3; i++) {
		row[i] = tpu_gen_vector_at(allocations[i], out_tile->image, out_tile->row, out_tile->column);
		if (row[i] % per_row || per_row == 1)
			return false;
		row[i] /= per_row;
	}
	unsigned flags = steps(gen, group) | TPU_ACTIVATE_FROM_BUFFER;
	int64_t lanes[] = {per_row * at.out.allocation->pixel_lanes,
			   vectors % per_row * at.out.allocation->pixel_lanes};
	int64_t rows[] = {vectors / per_row, 1};
	for (int part = 0; part < 2; part++) {
		for (int64_t c = 0; c < lanes[part] && rows[part]; c += gen->columns)
			row_lanes(gen, group, &at, flags, row, rows[part], c,
				  lanes[part] - c < gen->columns ? lanes[part] - c : gen->columns);
		for (int i = 0; i < 3; i++)
			row[i] += rows[part];
	}
	return true;
}

void tpu_gen_vector(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile)
{
	if (group->pool < 0 && group->n_out_extents == 1 && out_tile->blocks == group->n_blocks &&
	    whole_rows(gen, group, out_tile))
		return;
	for (int b = out_tile->block; b < out_tile->block + out_tile->blocks; b++)
		if (group->pool >= 0)
			pool_block(gen, group, out_tile, &group->block[b]);
		else
			plain_block(gen, group, out_tile, &group->block[b]);
}
