/* SPDX-License-Identifier: MIT
 *
 * Packs tiles of weights for the fast engine's products. A panel is packed when its columns are first needed, and only
 * down to the last row that holds a weight: few tiles of real layers are full. Panels get their memory one after the
 * other and are filled by several threads. Packed tiles are kept for the next block of rows and for passes that bring
 * the same tile again, until the tiles and the notes about them take too much memory. */
#include "values.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"

enum { BUCKETS = 4096, SLAB_BYTES = 1 << 21 };

/* Memory for panels. A reset keeps all of it for the panels that come later. */
struct tpu_fast_slab {
	struct tpu_fast_slab *next;
	size_t bytes, used;
	uint8_t *memory;
};

int tpu_fast_weights_open(struct tpu_fast_weights *w, const struct tpu_config *config, struct npl_err *err)
{
	*w = (struct tpu_fast_weights){.rows = config->rows,
				       .columns = config->columns,
				       .panels = npl_div_up_i64(config->columns, NPL_INT8_PANEL)};
	w->bucket = calloc(BUCKETS, sizeof *w->bucket);
	w->padded_tile = malloc((size_t)(w->rows * w->columns));
	if (w->bucket && w->padded_tile)
		return 0;
	return npl_fail(err, NPL_ENOMEM, "out of memory for weights");
}

/* Forgets all tiles. */
static void reset(struct tpu_fast_weights *w)
{
	npl_arena_free(&w->arena);
	memset(w->bucket, 0, BUCKETS * sizeof *w->bucket);
	for (struct tpu_fast_slab *slab = w->first; slab; slab = slab->next)
		slab->used = 0;
	w->slab = w->first;
	w->packed_bytes = 0;
}

void tpu_fast_weights_use(struct tpu_fast_weights *w, const struct tpu_memory *memory)
{
	if (w->bytes != memory->weights || w->n_bytes != memory->weight_bytes)
		reset(w);
	w->bytes = memory->weights;
	w->n_bytes = memory->weight_bytes;
}

void tpu_fast_weights_close(struct tpu_fast_weights *w)
{
	for (struct tpu_fast_slab *slab = w->first, *next; slab; slab = next) {
		next = slab->next;
		free(slab->memory);
		free(slab);
	}
	npl_arena_free(&w->arena);
	free(w->bucket);
	free(w->padded_tile);
}

/* Appends a slab. NULL: out of memory. */
static struct tpu_fast_slab *add_slab(struct tpu_fast_weights *w, size_t bytes)
{
	struct tpu_fast_slab *slab = malloc(sizeof *slab);
	if (!slab)
		return NULL;
	slab->bytes = bytes > SLAB_BYTES ? bytes : SLAB_BYTES;
	slab->memory = aligned_alloc(64, slab->bytes);
	if (!slab->memory) {
		free(slab);
		return NULL;
	}
	slab->used = 0;
	slab->next = w->first;
	w->first = slab;
	return slab;
}

/* Returns memory for a panel, a multiple of 64 bytes; NULL: out of memory. */
static uint8_t *panel_memory(struct tpu_fast_weights *w, size_t bytes)
{
	while (w->slab && w->slab->bytes - w->slab->used < bytes)
		w->slab = w->slab->next;
	if (!w->slab)
		w->slab = add_slab(w, bytes);
	if (!w->slab)
		return NULL;
	uint8_t *memory = w->slab->memory + w->slab->used;
	w->slab->used += bytes;
	w->packed_bytes += bytes;
	return memory;
}

void tpu_fast_weight_bytes(const struct tpu_fast_weights *w, uint64_t address, size_t bytes, uint8_t *out)
{
	size_t available = address < w->n_bytes ? w->n_bytes - (size_t)address : 0;
	available = available < bytes ? available : bytes;
	if (available)
		memcpy(out, w->bytes + address, available);
	memset(out + available, 0, bytes - available);
}

/* Says whether the whole tile is in the bytes given of weight memory. */
static bool has_all_bytes(const struct tpu_fast_weights *w, uint64_t tile)
{
	return tile < w->n_bytes && w->n_bytes - tile >= (size_t)(w->rows * w->columns);
}

/* Returns the tile's bytes as they are in memory. */
static const uint8_t *tile_bytes(struct tpu_fast_weights *w, uint64_t tile)
{
	if (has_all_bytes(w, tile))
		return w->bytes + tile;
	tpu_fast_weight_bytes(w, tile, (size_t)(w->rows * w->columns), w->padded_tile);
	return w->padded_tile;
}

/* Returns the rows up to the last one that is not all `empty_byte`. */
static int64_t rows_in_use(const uint8_t *tile, int64_t rows, int64_t columns, uint8_t empty_byte)
{
	for (; rows > 0; rows--) {
		const uint8_t *row = tile + (rows - 1) * columns;
		if (row[0] != empty_byte || memcmp(row, row + 1, (size_t)columns - 1) != 0)
			break;
	}
	return rows;
}

static struct tpu_fast_packed **bucket_of(struct tpu_fast_weights *w, uint64_t tile)
{
	return &w->bucket[(tile / (uint64_t)w->columns * 0x9e3779b97f4a7c15u) >> 52 & (BUCKETS - 1)];
}

static struct tpu_fast_packed *add_tile(struct tpu_fast_weights *w, uint64_t tile, struct tpu_fast_format format,
					bool packed_signed)
{
	struct tpu_fast_packed **bucket, *p = npl_arena_alloc(&w->arena, sizeof *p);
	if (!p)
		return NULL;
	*p = (struct tpu_fast_packed){.tile = tile, .format = format, .packed_signed = packed_signed, .magnitude = -1};
	p->panel = npl_arena_array(&w->arena, (size_t)w->panels, sizeof *p->panel);
	p->is_packed = npl_arena_array(&w->arena, (size_t)w->panels, sizeof *p->is_packed);
	p->sum = npl_arena_array(&w->arena, (size_t)(w->panels * NPL_INT8_PANEL), sizeof *p->sum);
	p->sum_k = npl_arena_array(&w->arena, (size_t)w->panels, sizeof *p->sum_k);
	if (!p->panel || !p->is_packed || !p->sum || !p->sum_k)
		return NULL;
	for (int64_t j = 0; j < w->panels; j++)
		p->sum_k[j] = -1;
	p->k = rows_in_use(tile_bytes(w, tile), w->rows, w->columns, (uint8_t)format.zero_point);
	bucket = bucket_of(w, tile);
	p->next = *bucket;
	return *bucket = p;
}

static struct tpu_fast_packed *find_tile(struct tpu_fast_weights *w, uint64_t tile, struct tpu_fast_format format,
					 bool inputs_signed)
{
	for (struct tpu_fast_packed *p = *bucket_of(w, tile); p; p = p->next)
		if (p->tile == tile && p->format.is_signed == format.is_signed &&
		    p->format.zero_point == format.zero_point && p->packed_signed == !inputs_signed)
			return p;
	return add_tile(w, tile, format, !inputs_signed);
}

static void make_space(struct tpu_fast_weights *w)
{
	if (w->packed_bytes + w->arena.bytes > TPU_FAST_KEPT_BYTES)
		reset(w);
}

struct tpu_fast_packed *tpu_fast_packed_tile(struct tpu_fast_weights *w, uint64_t tile, struct tpu_fast_format format,
					     bool inputs_signed)
{
	make_space(w);
	return find_tile(w, tile, format, inputs_signed);
}

int tpu_fast_find_tiles(struct tpu_fast_weights *w, struct tpu_fast_pass *pass, int64_t passes, struct npl_err *err)
{
	make_space(w);
	for (int64_t p = 0; p < passes; p++) {
		pass[p].packed = find_tile(w, pass[p].tile, pass[p].weights, pass[p].inputs.is_signed);
		if (!pass[p].packed)
			return npl_fail(err, NPL_ENOMEM, "out of memory for a tile of weights");
	}
	return 0;
}

static void fill(const struct tpu_fast_weights *w, struct tpu_fast_packed *p, int64_t panel, const uint8_t *tile)
{
	const int64_t columns_left = w->columns - panel * NPL_INT8_PANEL;
	npl_int8_pack_panel(tile + panel * NPL_INT8_PANEL, p->k,
			    columns_left < NPL_INT8_PANEL ? columns_left : NPL_INT8_PANEL, w->columns,
			    p->format.is_signed == p->packed_signed ? 0 : 0x80, p->panel[panel]);
	p->is_packed[panel] = true;
}

bool tpu_fast_panel_space(struct tpu_fast_weights *w, struct tpu_fast_packed *p, int64_t panel)
{
	if (p->panel[panel])
		return true;
	p->panel[panel] = panel_memory(w, (size_t)npl_int8_panel_bytes(p->k) + 64);
	/* A tile of which a part is missing is read through memory that all such tiles share. */
	if (p->panel[panel] && !has_all_bytes(w, p->tile))
		fill(w, p, panel, tile_bytes(w, p->tile));
	return p->panel[panel];
}

void tpu_fast_pack(const struct tpu_fast_weights *w, struct tpu_fast_packed *p, int64_t panel, int64_t k)
{
	int32_t *sum = p->sum + panel * NPL_INT8_PANEL;
	if (!p->is_packed[panel])
		fill(w, p, panel, w->bytes + p->tile);
	if (k < 0 || p->sum_k[panel] == k)
		return;
	memset(sum, 0, NPL_INT8_PANEL * sizeof *sum);
	npl_int8_panel_sums(p->panel[panel], k, p->packed_signed, sum);
	p->sum_k[panel] = k;
}

int64_t tpu_fast_tile_magnitude(struct tpu_fast_weights *w, struct tpu_fast_packed *p)
{
	enum { BLOCK = 64 };
	const uint8_t *tile = tile_bytes(w, p->tile), flip = p->format.is_signed ? 0x80 : 0;
	const int32_t zero = p->format.zero_point + flip;
	if (p->magnitude >= 0)
		return p->magnitude;
	for (int64_t j0 = 0; j0 < w->columns; j0 += BLOCK) {
		int64_t n = w->columns - j0 < BLOCK ? w->columns - j0 : BLOCK;
		int32_t sum[BLOCK] = {0};
		for (int64_t k = 0; k < p->k; k++)
			for (int64_t j = 0; j < n; j++)
				sum[j] += abs((tile[k * w->columns + j0 + j] ^ flip) - zero);
		for (int64_t j = 0; j < n; j++)
			p->magnitude = sum[j] > p->magnitude ? sum[j] : p->magnitude;
	}
	return p->magnitude;
}
