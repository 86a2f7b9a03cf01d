/* SPDX-License-Identifier: MIT
 *
 * Which tiles a layer takes. Only the candidates of tiles.c that take at most a twentieth more than the least time are
 * considered. Of these the one that moves the fewest bytes is taken, because most of a layer's energy is memory's (Chen
 * et al., ASPLOS 2014, section 7.3: more than 95 %); of two that move the same bytes, one that is more than a hundredth
 * faster. The time of a candidate is its estimate, times a correction: what a slice of the layer really takes on the
 * fast engine, over the estimate for that slice. The slice is some blocks of some rows of outputs. */
#include <string.h>

#include "core/base/arith.h"
#include "core/base/refuse.h"
#include "driver_impl.h"
#include "sim/diannao/diannao/fast/run.h"
#include "sim/diannao/diannao/generate/windows.h"

struct dn_engine_input dn_engine_input_of(const struct dn_machine *machine, const struct dn_layer *layer,
					  struct dn_generator *generator)
{
	return (struct dn_engine_input){.config = machine->config,
					.stream = dn_generator_stream(generator),
					.n_functions = layer->activates,
					.function = &layer->function,
					.port = machine->memory};
}

#define SLOWER_FOR_FEWER_BYTES   1.05
#define FASTER_FOR_MORE_REQUESTS 1.01

/* Returns a slice of the layer with enough of each loop that a repetition is seen twice. Where it fits the input it has
 * no padding, so that it is like the interior. */
static struct dn_layer slice_of(const struct dn_config *config, const struct dn_layer *layer,
				const struct dn_tiles *tiles)
{
	struct dn_layer slice = *layer;
	int64_t rows = 2, columns = 32, groups = 2;
	if (tiles->nest == DN_DOWN) {
		rows = 8;
		columns = 2 * tiles->columns;
	} else if (tiles->nest == DN_STREAMED) {
		columns = 2 * tiles->positions;
		groups = 2 * tiles->groups;
	} else if (tiles->nest == DN_ACROSS) {
		groups = 2 * tiles->groups;
	}
	slice.images = slice.groups = 1;
	slice.out[0] = npl_min_i64(layer->out[0], rows);
	slice.out[1] = npl_min_i64(layer->out[1], columns);
	if (layer->kind == DN_SUM)
		slice.no = npl_min_i64(layer->no, groups * config->tn);
	for (int d = 0; d < NPL_SPATIAL; d++) {
		const struct dn_axis axis = dn_axis_of(&slice, d);
		if (dn_extent(&axis, axis.out, axis.kernel) <= axis.in)
			slice.window.pad_begin[d] = 0;
	}
	return slice;
}

static int time_slice(const struct dn_machine *machine, const struct dn_layer *slice, const struct dn_tiles *tiles,
		      uint64_t *cycles, struct npl_err *err)
{
	struct dn_generator *generator;
	int rc = dn_generator_open(machine->config, slice, tiles, &generator, err);
	if (!rc) {
		const struct dn_engine_input engine_input = dn_engine_input_of(machine, slice, generator);
		struct dn_outcome outcome = {0};
		rc = dn_run_fast(&engine_input, &outcome, err);
		*cycles = outcome.cycles;
	}
	if (!rc)
		rc = dn_generator_failed(generator, err);
	dn_generator_close(generator);
	return rc;
}

double dn_bytes_per_cycle(const struct dn_machine *machine)
{
	return npl_memory_info(machine->memory)->peak_bytes_per_second / (double)machine->config->clock_hz;
}

static int choose(const struct dn_machine *machine, const struct dn_layer *layer, struct dn_tiles *tiles,
		  struct npl_err *err)
{
	const double bytes_per_cycle = dn_bytes_per_cycle(machine);
	struct dn_candidates all;
	struct npl_err none;
	double least = 0;
	int best = 0;
	if (dn_find_tiles(machine->config, layer, bytes_per_cycle, &all, &none))
		return npl_unsupported(none.msg, err);
	for (int i = 0; i < all.n && all.n > 1; i++) {
		const struct dn_layer slice = slice_of(machine->config, layer, &all.tiles[i]);
		uint64_t cycles;
		if (time_slice(machine, &slice, &all.tiles[i], &cycles, err))
			return err->code;
		all.cycles[i] *= (double)cycles /
				 dn_estimated_cycles(machine->config, &slice, bytes_per_cycle, &all.tiles[i]);
		least = i && least < all.cycles[i] ? least : all.cycles[i];
	}
	for (int i = 1; i < all.n; i++) {
		const double limit = least * SLOWER_FOR_FEWER_BYTES;
		bool fits = all.cycles[i] <= limit, best_fits = all.cycles[best] <= limit;
		const bool no_more = all.bytes[i] <= all.bytes[best];
		if (fits && (!best_fits || all.bytes[i] < all.bytes[best] ||
			     (no_more && all.cycles[i] * FASTER_FOR_MORE_REQUESTS < all.cycles[best])))
			best = i;
	}
	*tiles = all.tiles[best];
	return 0;
}

/* Chooses tiles, or finds those of an equal layer. Layers are compared as bytes: they are made from zeroed ones, so
 * that equal layers have equal bytes. */
int dn_choose_tiles(struct dn_machine *machine, const struct dn_layer *layer, struct dn_tiles *tiles,
		    struct npl_err *err)
{
	for (uint64_t i = 0; i < machine->n_choices && i < DN_MAX_CHOICES; i++)
		if (!memcmp(&machine->choice[i].layer, layer, sizeof *layer)) {
			*tiles = machine->choice[i].tiles;
			return 0;
		}
	if (choose(machine, layer, tiles, err))
		return err->code;
	struct dn_tile_choice *entry = &machine->choice[machine->n_choices++ % DN_MAX_CHOICES];
	memcpy(&entry->layer, layer, sizeof *layer);
	entry->tiles = *tiles;
	return 0;
}
