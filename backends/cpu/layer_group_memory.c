/* SPDX-License-Identifier: MIT
 *
 * Places the tensors of a layer group in memory (layer_group.h) by their lifetimes (core/base/memory_plan.h). */
#include <stdlib.h>

#include "core/base/memory_plan.h"
#include "layer_group.h"

#define ALIGNMENT 64

/* Lists the tensors in the group's memory as pieces, one for each order that a tensor has. The caller's own tensors are
 * not listed. */
static int list_pieces(struct cpu_layer_group *group, struct npl_memory_piece *piece, size_t **offset)
{
	int n = 0;
	for (int p = 0; p < group->n_locations; p++)
		for (int f = 0; f < CPU_LAYOUTS; f++) {
			struct cpu_tensor *location = &group->location[p];
			if (!location->has_layout[f] ||
			    (f == CPU_FIRST && (location->from_caller || location->is_output)))
				continue;
			const size_t bytes = npl_tensor_bytes(location->tensor);
			offset[n] = &location->offset[f];
			piece[n++] = (struct npl_memory_piece){.bytes = bytes ? bytes : ALIGNMENT,
							       .first = location->first[f],
							       .last = location->last[f]};
		}
	return n;
}

int cpu_layer_group_memory(struct cpu_layer_group *group, struct npl_err *err)
{
	const size_t max_pieces = (size_t)group->n_locations * CPU_LAYOUTS + 1;
	struct npl_memory_piece *piece = calloc(max_pieces, sizeof *piece);
	size_t **offset = calloc(max_pieces, sizeof(size_t *));
	int n = 0;
	int rc = piece && offset
			 ? 0
			 : npl_fail(err, NPL_ENOMEM, "out of memory for a group of %d layers", group->request.n);
	if (!rc) {
		n = list_pieces(group, piece, offset);
		rc = npl_plan_memory(piece, n, ALIGNMENT, &group->memory_bytes, err);
	}
	for (int i = 0; i < n && !rc; i++)
		*offset[i] = piece[i].offset;
	free(piece);
	free(offset);
	return rc;
}
