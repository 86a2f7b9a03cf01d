/* SPDX-License-Identifier: MIT
 *
 * Points and what came of them as lines of JSON: what a sweep and its workers tell each other, and what a program tells
 * that chooses points itself (`npulab sweep --points -`).
 *
 *     {"id":7,"parameters":{"array.rows":128,"weight_memory.preset":"hbm2"}}
 *     {"id":7,"status":"done","feasible":true,"reason":null,"metrics":{"seconds":0.00124,"cycles":849928}}
 *
 * A figure that is not known is left out. "violation" says how far the constraints are from being met, if they are
 * not. */
#ifndef NPULAB_EXPLORE_EVALUATE_WIRE_H
#define NPULAB_EXPLORE_EVALUATE_WIRE_H

#include <stdbool.h>
#include <stdio.h>

#include "npulab/arena.h"
#include "point.h"
#include "reports/format/json.h"

/* Write a line with its line break. */
void sweep_write_request(FILE *out, const struct sweep_request *request);
void sweep_write_outcome(FILE *out, int64_t id, const struct sweep_outcome *outcome);
/* Writes both in one line: {"id":7,"parameters":{...},"status":"done",...}. */
void sweep_write_point(FILE *out, const struct sweep_request *request, const struct sweep_outcome *outcome);
/* Writes the parameters of a point as one JSON object, without a line break. */
void sweep_write_parameters(FILE *out, const struct sweep_parameter *parameter, int n);

/* Writes the value of a parameter: as a number where it is written as JSON writes numbers; NULL: null. */
void sweep_put_parameter(struct npl_json *json, const char *key, const char *value);

/* Reads a line of n bytes. Texts live in the arena. A request without "id" has the id -1. Returns NPL_EINPUT, without a
 * place, for a line that is no request. */
int sweep_read_request(const char *line, size_t n, struct npl_arena *arena, struct sweep_request *request,
		       struct npl_err *err);
/* Reads an outcome; its layers live in the arena. */
int sweep_read_outcome(const char *line, size_t n, struct npl_arena *arena, int64_t *id, struct sweep_outcome *outcome,
		       struct npl_err *err);
/* Reads the parameters of a point from a JSON object. */
int sweep_read_parameters(const char *text, struct npl_arena *arena, const struct sweep_parameter **parameter, int *n,
			  struct npl_err *err);

#endif
