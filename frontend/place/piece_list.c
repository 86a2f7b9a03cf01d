/* SPDX-License-Identifier: MIT
 *
 * The lists of pieces of the model of costs (place_impl.h). */
#include "core/base/grow.h"
#include "place_impl.h"

struct place_piece *place_piece_add(struct place_model *m, int first, int n_in, int n_out, int n_tasks)
{
	struct place_pieces *at = &m->at[first];
	struct place_piece *grown = npl_grow(at->piece, at->n, &at->capacity, sizeof *grown);
	if (!grown)
		return NULL;
	at->piece = grown;
	struct place_piece *piece = &grown[at->n];
	*piece = (struct place_piece){.first = first, .last = first};
	piece->in = npl_arena_array(&m->arena, (size_t)n_in + 1, sizeof *piece->in);
	piece->out = npl_arena_array(&m->arena, (size_t)n_out + 1, sizeof *piece->out);
	piece->task = npl_arena_array(&m->arena, (size_t)n_tasks + 1, sizeof *piece->task);
	if (!piece->in || !piece->out || !piece->task)
		return NULL;
	at->n++;
	m->n_pieces++;
	return piece;
}
