/* SPDX-License-Identifier: MIT
 *
 * What all kinds of pools share (pool.h). */
#include "pool.h"

#include "wire.h"

const struct sweep_cluster *sweep_cluster;

void sweep_serve(struct sweep_evaluator *evaluator, const char *line, size_t n, FILE *out)
{
	struct npl_arena arena = {0};
	struct sweep_request request;
	struct sweep_outcome outcome;
	struct npl_err err = {0};
	if (sweep_read_request(line, n, &arena, &request, &err))
		outcome = sweep_failed(err.msg);
	else
		sweep_evaluate(evaluator, &request, &outcome);
	sweep_write_outcome(out, request.id, &outcome);
	npl_arena_free(&arena);
}
