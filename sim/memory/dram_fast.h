/* SPDX-License-Identifier: MIT
 *
 * The DRAM engine that goes from command to command (dram.h has the rules). Private to sim/memory. For each bank it
 * keeps the bank's requests and the first cycle in which timing allows each command. The next command of a channel is
 * the first of few candidates, one per bank with work. Nothing happens before it, so the cycles between are skipped.
 *
 *     dram_fast.c       the memory: channels side by side, the port
 *     dram_channel.c    one channel: which command is next, and what it changes */
#ifndef NPULAB_SIM_MEMORY_DRAM_FAST_H
#define NPULAB_SIM_MEMORY_DRAM_FAST_H

#include "dram.h"

enum { DRAM_READ, DRAM_WRITE, DRAM_DIRECTIONS };
enum { DRAM_NONE = UINT16_MAX, DRAM_FILTER = 256 };

/* A request that waits, in the list of its bank and direction, which begins with the oldest. */
struct dram_entry {
	uint64_t tag, age; /* age: order of arrival on the channel */
	uint32_t row, column;
	uint16_t next, previous;
	uint8_t bank;
	bool activated; /* a row was opened for it */
};

struct dram_list {
	uint16_t first, last;
	uint16_t hit; /* the oldest request whose row is open */
};

struct dram_bank {
	int64_t open_row; /* -1: none */
	int64_t earliest_act, earliest_pre, earliest_column[DRAM_DIRECTIONS];
	struct dram_list list[DRAM_DIRECTIONS];
	uint8_t rank, group; /* group: of the channel */
};

struct dram_group {
	int64_t earliest_act, earliest_column[DRAM_DIRECTIONS];
};

struct dram_rank {
	int64_t earliest_act, earliest_column[DRAM_DIRECTIONS];
	int64_t refresh_due, active_since;
	int64_t activates[4]; /* cycles of the last four; the next one replaces that at `oldest` */
	int oldest, open_banks;
};

/* The next command of a channel. */
struct dram_plan {
	int64_t cycle;
	enum { DRAM_DO_REFRESH, DRAM_DO_CLOSE, DRAM_DO_BURST, DRAM_DO_ACT, DRAM_DO_PRE, DRAM_DO_NOTHING } action;
	int bank; /* DRAM_DO_REFRESH: the rank */
};

struct dram_channel {
	const struct dram_config *config;
	bool writing, planned;
	int n_waiting[DRAM_DIRECTIONS], pending; /* pending: accepted and not taken */
	uint64_t busy_banks[DRAM_DIRECTIONS];    /* banks, a bit each */
	uint64_t ages;
	int64_t next_due; /* the earliest of all ranks */
	struct dram_plan plan;
	struct dram_bank bank[DRAM_MAX_BANKS];
	struct dram_group group[DRAM_MAX_BANKS];
	struct dram_rank rank[DRAM_MAX_BANKS];
	struct dram_entry entry[2 * DRAM_MAX_QUEUE];
	uint16_t free;                        /* first of the free entries, linked by `next` */
	uint16_t waiting_writes[DRAM_FILTER]; /* counts of writes that wait, by a hash of their location */
	struct memory_ring completions;
	struct dram_counts count;
	/* Distances of commands in cycles, from the configuration. */
	int64_t burst, burst_to_burst, write_to_pre, read_data, write_data, write_to_read_s, write_to_read_l,
		read_to_write, write_to_other;
};

void dram_channel_open(struct dram_channel *channel, const struct dram_config *config);
void dram_channel_reset(struct dram_channel *channel);

/* Says whether the access waits to be written. */
bool dram_channel_has_queued_write(const struct dram_channel *channel, const struct dram_address *location);
void dram_channel_push(struct dram_channel *channel, const struct dram_address *location, int direction, uint64_t tag);
/* Answers a request in cycle `now` without a command. */
void dram_channel_forward(struct dram_channel *channel, int64_t now, uint64_t tag);
/* Plans the next command from cycle `now` on. A request that comes and changes it makes `planned` false. */
void dram_channel_plan(struct dram_channel *channel, int64_t now);
/* dram_channel_is_idle() says whether from cycle `now` until `until` there are only refreshes to do, several for each
 * rank; dram_channel_skip_refreshes() then does all except the last two of each. */
bool dram_channel_is_idle(const struct dram_channel *channel, int64_t now, int64_t until);
void dram_channel_skip_refreshes(struct dram_channel *channel, int64_t now, int64_t until);
/* Does the planned command. Says whether a request left its queue. */
bool dram_channel_issue(struct dram_channel *channel);
uint64_t dram_channel_active_cycles(const struct dram_channel *channel, int64_t now);

#endif
