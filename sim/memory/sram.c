/* SPDX-License-Identifier: MIT
 *
 * Buffers on chip (sim/memory/sram.h): ports per bank and cycle, counts, and double buffering. */
#include "sram.h"

#include <inttypes.h>
#include <stdlib.h>

struct bank { /* what has been taken in the last cycle that asked */
	uint64_t cycle;
	int64_t reads, writes;
};

struct npl_sram {
	struct npl_sram_config config;
	struct npl_sram_counters count;
	struct bank bank[];
};

int npl_sram_open(const struct npl_sram_config *config, const char *where, struct npl_sram **sram, struct npl_err *err)
{
	const struct npl_sram_config *c = config;
	*sram = NULL;
	if (c->rows < 1 || c->row_bytes < 1 || c->banks < 1 || c->banks > c->rows)
		return npl_fail(err, NPL_EINPUT,
				"%s: a buffer needs rows, bytes in them, and no more banks than rows; got %" PRId64
				" rows of %" PRId64 " bytes in %" PRId64 " banks",
				where, c->rows, c->row_bytes, c->banks);
	if (c->read_ports < 0 || c->write_ports < 0 || c->shared_ports < 0 || c->read_ports + c->shared_ports < 1 ||
	    c->write_ports + c->shared_ports < 1)
		return npl_fail(err, NPL_EINPUT,
				"%s: a bank needs a port to read and one to write, or a shared one; got %" PRId64
				" to read, %" PRId64 " to write, %" PRId64 " shared",
				where, c->read_ports, c->write_ports, c->shared_ports);
	*sram = calloc(1, sizeof **sram + (size_t)c->banks * sizeof *(*sram)->bank);
	if (!*sram)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", where);
	(*sram)->config = *c;
	return 0;
}

void npl_sram_close(struct npl_sram *sram)
{
	free(sram);
}

void npl_sram_reset(struct npl_sram *sram)
{
	sram->count = (struct npl_sram_counters){0};
	for (int64_t i = 0; i < sram->config.banks; i++)
		sram->bank[i] = (struct bank){0};
}

uint64_t npl_sram_bytes(const struct npl_sram_config *config)
{
	return (uint64_t)config->rows * (uint64_t)config->row_bytes;
}

static int64_t beyond(int64_t used, int64_t ports)
{
	return used > ports ? used - ports : 0;
}

bool npl_sram_access(struct npl_sram *sram, uint64_t cycle, int64_t row, bool is_write)
{
	const struct npl_sram_config *c = &sram->config;
	struct bank *bank = &sram->bank[row % c->banks];
	if (bank->cycle != cycle)
		*bank = (struct bank){.cycle = cycle};
	int64_t reads = bank->reads + !is_write, writes = bank->writes + is_write;
	if (beyond(reads, c->read_ports) + beyond(writes, c->write_ports) > c->shared_ports) {
		*(is_write ? &sram->count.write_waits : &sram->count.read_waits) += 1;
		return false;
	}
	bank->reads = reads;
	bank->writes = writes;
	*(is_write ? &sram->count.writes : &sram->count.reads) += 1;
	return true;
}

const struct npl_sram_counters *npl_sram_counters(const struct npl_sram *sram)
{
	return &sram->count;
}

void npl_sram_energy(const struct npl_sram *sram, struct npl_memory_energy energy[NPL_SRAM_ENERGIES])
{
	const struct npl_sram_config *c = &sram->config;
	energy[0] = (struct npl_memory_energy){"read", sram->count.reads, c->read_pj, c->origin, NPL_MEMORY_READ};
	energy[1] = (struct npl_memory_energy){"write", sram->count.writes, c->write_pj, c->origin, NPL_MEMORY_WRITE};
}

bool npl_double_can_fill(const struct npl_double_buffer *buffer)
{
	return buffer->fills < buffer->drains + 2;
}

bool npl_double_can_drain(const struct npl_double_buffer *buffer)
{
	return buffer->drains < buffer->fills;
}

static uint64_t begin(uint64_t ready, uint64_t other, uint64_t *waits)
{
	if (ready >= other)
		return ready;
	*waits += other - ready;
	return other;
}

uint64_t npl_double_fill_begin(struct npl_double_buffer *buffer, uint64_t ready)
{
	return begin(ready, buffer->drained[buffer->fills % 2], &buffer->fill_wait_cycles);
}

void npl_double_fill_end(struct npl_double_buffer *buffer, uint64_t end)
{
	buffer->filled[buffer->fills++ % 2] = end;
}

uint64_t npl_double_drain_begin(struct npl_double_buffer *buffer, uint64_t ready)
{
	return begin(ready, buffer->filled[buffer->drains % 2], &buffer->drain_wait_cycles);
}

void npl_double_drain_end(struct npl_double_buffer *buffer, uint64_t end)
{
	buffer->drained[buffer->drains++ % 2] = end;
}
