/* SPDX-License-Identifier: MIT
 *
 * The code generators. They turn a layer into a stream of instructions (isa.h) that are made as they are needed and
 * never held all at once: CONV5* of the paper has 176 million. There is one file for each nest of tiles.h, over loops
 * that all nests share (loops.c).
 *
 * A visit is some rows of one window for one group of Tn outputs. It takes a few instructions: loads, consecutive steps
 * over runs of rows that are in both buffers at equal distances, and the freeing of rows. Taps in the padding are steps
 * with zeros when summing, and no steps when pooling.
 *
 *     struct dn_generator *generator;
 *     if (dn_generator_open(config, layer, tiles, &generator, &err)) ...
 *     execution.stream = dn_generator_stream(generator);
 *     if (dn_run_fast(&execution, &outcome, &err) || dn_generator_failed(generator, &err)) ...
 *     dn_generator_close(generator);
 */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_GENERATE_H
#define NPULAB_SIM_DIANNAO_DIANNAO_GENERATE_GENERATE_H

#include "layout.h"
#include "sim/diannao/diannao/engine/engine.h"

struct dn_generator; /* opaque */

/* Opens a generator, which borrows all three until it is closed. Returns 0 or NPL_ENOMEM. */
int dn_generator_open(const struct dn_config *config, const struct dn_layer *layer, const struct dn_tiles *tiles,
		      struct dn_generator **generator, struct npl_err *err);
void dn_generator_close(struct dn_generator *generator); /* accepts NULL */
struct dn_stream dn_generator_stream(struct dn_generator *generator);
const struct dn_layout_map *dn_generator_map(const struct dn_generator *generator);
/* Returns NPL_ENOMEM where memory ran out on the way and the stream ended too early, else 0. */
int dn_generator_failed(const struct dn_generator *generator, struct npl_err *err);

#endif
