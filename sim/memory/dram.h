/* SPDX-License-Identifier: MIT
 *
 * DRAM at command level. A channel has ranks of devices in lockstep, a rank has groups of banks, and a bank has one
 * open row. A controller per channel gives at most one command per cycle: ACT opens a row, RD and WR move one burst,
 * PRE closes a row, REF refreshes a rank. Which command may follow another, and how soon, is JEDEC's rule (JESD79-3F
 * for DDR3, JESD79-4 for DDR4). JEDEC does not say which command a controller chooses; here it does as follows:
 *
 *  - Reads and writes have a queue each. Writes go out when more than `write_high` of them wait or no read waits, until
 *    fewer than `write_low` writes wait and a read does (Ramulator 2.1's rule and sizes).
 *  - First ready, first come, first served: of the requests in the queue whose turn it is, the oldest one goes that has
 *    its row open and whose burst can go now; if there is none, the oldest one whose next row command can go. A row is
 *    not closed while a request of that queue waits for it.
 *  - Every tREFI cycles a rank is due for a refresh. From then on it gets only PRE, as soon as possible, and REF.
 *  - A read of an access that waits to be written is answered from the queue, one cycle later.
 *
 * Two engines run the same rules: dram_stepped.c looks at every request in every cycle, dram_fast.c and dram_channel.c
 * go from command to command. They share this file, the parameters, the address mapping and the energy table, but no
 * timing and no choice.
 *
 * Not modelled: power-down and self-refresh, per-bank refresh, command-bus conflicts between row and column commands of
 * HBM (which has two), ECC, training, temperature.
 */
#ifndef NPULAB_SIM_MEMORY_DRAM_H
#define NPULAB_SIM_MEMORY_DRAM_H

#include "core/param_members.h"
#include "memory.h"

#define DRAM_MAX_QUEUE    256
#define DRAM_MAX_CHANNELS 64
#define DRAM_MAX_BANKS    64 /* the most banks of a channel, over its ranks */

/* What a memory file describes. */
struct dram_config {
#define PARAM_MEMBER_COUNT(key, member, ...)   int64_t member;
#define PARAM_MEMBER_CLOCKS(key, member, ...)  int64_t member;
#define PARAM_MEMBER_CURRENT(key, member, ...) double member;
#define DRAM_PARAMETER(form, ...)              PARAM_MEMBER_##form(__VA_ARGS__)
#include "dram_parameters.def"
#undef DRAM_PARAMETER
#undef PARAM_MEMBER_COUNT
#undef PARAM_MEMBER_CLOCKS
#undef PARAM_MEMBER_CURRENT
};

/* The location of an access. */
struct dram_address {
	uint32_t channel, rank, group, bank; /* bank: of the channel, ((rank * groups) + group) * banks + bank */
	uint32_t row, column;                /* column: in bursts */
};

enum dram_field { DRAM_ROW, DRAM_RANK, DRAM_GROUP, DRAM_BANK, DRAM_COLUMN, DRAM_CHANNEL, DRAM_FIELDS };

/* How the number of an access is written in digits, one for each field. */
struct dram_mapping {
	int n;
	enum dram_field order[DRAM_FIELDS]; /* the lowest digit first */
	uint32_t count[DRAM_FIELDS];        /* the size of each field; 1 where the mapping does not name the field */
	uint32_t banks, rank_banks;         /* banks of a group, and of a rank */
	int access_shift;                   /* bytes of an access, as a power of two */
	/* Where all counts are powers of two, the digits are bits. */
	bool powers_of_two;
	struct {
		uint32_t shift, mask;
	} bits[DRAM_FIELDS];
	int group_shift, rank_shift; /* banks and rank_banks as powers of two */
	uint64_t row_bits; /* addresses with equal bits under this mask are in the same row of their channels */
};

/* Counts of one channel. */
struct dram_counts {
	NPL_MEMORY_COMMANDS(NPL_MEMORY_COUNTER)
};
void dram_add_counts(struct npl_memory_counters *counters, const struct dram_counts *channel);

uint64_t dram_access_bytes(const struct dram_config *config);
uint64_t dram_burst_cycles(const struct dram_config *config); /* cycles for which a burst keeps the data bus */
uint64_t dram_capacity_bytes(const struct dram_config *config);
/* Begins the opening of an engine: applies the options' changes to *config, checks it and fills *info.
 * NPL_EUSAGE: parameters that are valid alone contradict each other. */
int dram_open_config(struct dram_config *config, const struct npl_memory_options *options, struct npl_memory_info *info,
		     struct npl_err *err);
/* Reads the mapping. NPL_EUSAGE: a field is unknown, doubled or missing. */
int dram_mapping_of(const struct dram_config *config, struct dram_mapping *mapping, struct npl_err *err);
extern const struct npl_param dram_params[];
int dram_energy(const void *config, const struct npl_memory_counters *counters,
		struct npl_memory_energy energy[NPL_MEMORY_ENERGIES]);

/* Finds the location of an address by division. */
struct dram_address dram_locate_any(const struct dram_mapping *mapping, uint64_t address);
static inline uint32_t dram_bits_of(const struct dram_mapping *mapping, uint64_t address, enum dram_field field)
{
	return (uint32_t)(address >> mapping->bits[field].shift) & mapping->bits[field].mask;
}

/* Finds the location of a request's address. It is used unless the request is in the same row as the one before it. */
static inline struct dram_address dram_locate(const struct dram_mapping *mapping, uint64_t address)
{
	if (!mapping->powers_of_two)
		return dram_locate_any(mapping, address);
	const uint32_t rank = dram_bits_of(mapping, address, DRAM_RANK);
	const uint32_t in_rank = (dram_bits_of(mapping, address, DRAM_GROUP) << mapping->group_shift) +
				 dram_bits_of(mapping, address, DRAM_BANK);
	return (struct dram_address){.channel = dram_bits_of(mapping, address, DRAM_CHANNEL),
				     .rank = rank,
				     .group = in_rank >> mapping->group_shift,
				     .bank = (rank << mapping->rank_shift) + in_rank,
				     .row = dram_bits_of(mapping, address, DRAM_ROW),
				     .column = dram_bits_of(mapping, address, DRAM_COLUMN)};
}

/* Updates *location, which is that of an address with the same bits under mapping->row_bits. */
static inline void dram_locate_in_row(const struct dram_mapping *mapping, uint64_t address,
				      struct dram_address *location)
{
	location->channel = dram_bits_of(mapping, address, DRAM_CHANNEL);
	location->column = dram_bits_of(mapping, address, DRAM_COLUMN);
}

#endif
