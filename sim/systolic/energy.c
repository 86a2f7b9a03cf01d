/* SPDX-License-Identifier: MIT
 *
 * Energy of a layer: counters times the table of the machine file. The matrix unit costs the same in every cell of an
 * active array, used or padding: weights of zero still move operands. Rows of the memories are charged whole, by the
 * byte or the word, so that those of a narrower array cost less. Each row of partial sums is one read and one write of
 * the accumulators: the first tile's writes read nothing, but the Activate reads each row once. Bytes over the host link
 * within the cycles cost what bytes over it cost elsewhere (frontend/execute.c); where none cross, the link has no part, so
 * that a link whose energy is not known leaves that of the layer known.
 *
 * Not here: clock tree and pipeline registers, the activation unit's arithmetic, instruction issue, I/O of the weight
 * memory: no table has them for this chip. The static power is calibrated and holds whatever is constant. Energy per
 * byte that follows the size of a memory: the table is right for the sizes that it was made for. */
#include "engine.h"

int tpu_energy_of(const struct tpu_config *config, const struct tpu_counters *counter, uint64_t cycles,
		  struct npl_result *result, struct npl_err *err)
{
	struct tpu_energy idle = {config->static_watts / (double)config->clock_hz * 1e12, config->static_origin};
	struct tpu_energy link = {config->link_pj_per_byte, config->link_origin};
	uint64_t link_bytes = counter->host_bytes_in + counter->host_bytes_out;
	uint64_t row_bytes = (uint64_t)tpu_row_bytes(config), row_words = (uint64_t)config->columns;
	const struct {
		const char *component;
		uint64_t events;
		const struct tpu_energy *each;
	} parts[] = {
		{"matrix unit", counter->useful_macs + counter->unused_macs, &config->cell},
		{"unified buffer read", counter->ub_rows_read * row_bytes, &config->buffer_byte_read},
		{"unified buffer write", counter->ub_rows_written * row_bytes, &config->buffer_byte_written},
		{"accumulators", counter->accumulator_writes * row_words, &config->accumulator_word},
		{"weight memory", counter->weight_bytes, &config->weight_byte},
		{"static", cycles, &idle},
		{"host link", link_bytes, &link},
	};
	size_t n = sizeof parts / sizeof *parts - (link_bytes == 0);
	for (size_t i = 0; i < n; i++)
		if (npl_result_energy(result, parts[i].component, parts[i].events, parts[i].each->pj,
				      parts[i].each->origin, err))
			return NPL_EINTERNAL;
	return 0;
}
