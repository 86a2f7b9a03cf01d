/* SPDX-License-Identifier: MIT
 *
 * The order in memory (docs/diannao-isa.md, Memory). Loads run ahead of the instructions before them, stores come
 * after, and only CP SYNC orders them. This file keeps the bytes stored since the last CP SYNC, and the loads whose
 * rows no step has needed yet: all other loads have arrived before a store of the present instruction can begin. */
#include <stdlib.h>

#include "check_impl.h"
#include "core/base/arith.h"
#include "core/base/grow.h"

static int out_of_memory(struct dn_check *check)
{
	return npl_fail(check->err, NPL_ENOMEM, "%s: out of memory", check->source);
}

/* Forgets the accesses before a CP SYNC, except those of a store that is open, which is requested later. */
int dn_order_sync(struct dn_check *check)
{
	struct dn_memory_order *order = &check->order;
	const bool open = check->store_left && order->stores.count;
	const struct sim_access last = open ? order->stores.access[order->stores.count - 1] : (struct sim_access){0};
	sim_accesses_forget(&order->stores);
	order->count = 0;
	return open && !sim_accesses_add(&order->stores, &last) ? out_of_memory(check) : 0;
}

void dn_order_close(struct dn_memory_order *order)
{
	sim_accesses_close(&order->stores);
	free(order->load);
	*order = (struct dn_memory_order){0};
}

static int conflict(struct dn_check *check, const char *slot, const char *does, int64_t first,
		    const struct sim_access *earlier, const char *did)
{
	return dn_refuse(check, "%s: %s byte %lld of memory, which %s %s: expected a CP SYNC after that", slot, does,
			 (long long)npl_max_i64(first, earlier->first), SIM_LOCATION(&earlier->location), did);
}

static int stored_before(struct dn_check *check, const char *slot, const char *does, const struct sim_access *access)
{
	const struct sim_access *earlier = sim_accesses_find(&check->order.stores, access->first, access->end);
	return earlier ? conflict(check, slot, does, access->first, earlier, "stores") : 0;
}

/* Forgets loads that have arrived: no store can overtake them. */
static void forget_loads(struct dn_memory_order *order)
{
	int64_t n_kept = 0;
	for (int64_t i = 0; i < order->count; i++)
		if (order->load[i].rows_end > order->load[i].queue->rows_arrived)
			order->load[n_kept++] = order->load[i];
	order->count = n_kept;
}

static bool keep_load(struct dn_memory_order *order, const struct dn_load *load)
{
	bool full = order->count == order->capacity;
	if (full)
		forget_loads(order);
	/* The array grows only then, so that looking through the loads costs little per load. */
	if (full && order->count >= order->capacity / 2) {
		struct dn_load *grown = npl_grow(order->load, order->capacity, &order->capacity, sizeof *grown);
		if (!grown)
			return false;
		order->load = grown;
	}
	order->load[order->count++] = *load;
	return true;
}

int dn_order_load(struct dn_check *check, const struct dn_queue *queue, uint64_t first, uint64_t bytes)
{
	const struct sim_access access = {(int64_t)first, (int64_t)(first + bytes), check->location};
	if (stored_before(check, queue->name, "loads", &access))
		return check->err->code;
	return keep_load(&check->order, &(struct dn_load){access, queue, queue->rows_loaded}) ? 0
											      : out_of_memory(check);
}

int dn_order_store(struct dn_check *check, uint64_t first, uint64_t bytes)
{
	struct dn_memory_order *order = &check->order;
	const struct sim_access access = {(int64_t)first, (int64_t)(first + bytes), check->location};
	if (stored_before(check, "NBOUT", "stores", &access))
		return check->err->code;
	forget_loads(order);
	for (int64_t i = 0; i < order->count; i++)
		if (order->load[i].access.first < access.end && order->load[i].access.end > access.first)
			return conflict(check, "NBOUT", "stores", access.first, &order->load[i].access,
					"loads, maybe later");
	return sim_accesses_add(&order->stores, &access) ? 0 : out_of_memory(check);
}

void dn_program_written(const struct sim_program *program, uint64_t *first, uint64_t *end)
{
	*first = *end = 0;
	for (int64_t i = 0; i < program->count; i++) {
		const struct dn_instruction *instruction = &dn_code(program)[i];
		uint64_t from = instruction->nbout.address, to = from + instruction->nbout.size;
		if (instruction->nbout.write != DN_STORE || !instruction->nbout.size)
			continue;
		*first = *first == *end || from < *first ? from : *first;
		*end = to > *end ? to : *end;
	}
}

uint64_t dn_program_memory(const struct sim_program *program)
{
	uint64_t end = 0;
	for (int64_t i = 0; i < program->count; i++) {
		const struct dn_instruction *instruction = &dn_code(program)[i];
		const uint64_t ends[] = {
			instruction->sb.op == DN_LOAD ? instruction->sb.address + instruction->sb.size : 0,
			instruction->nbin.op == DN_LOAD ? instruction->nbin.address + instruction->nbin.size : 0,
			instruction->nbout.write == DN_STORE ? instruction->nbout.address + instruction->nbout.size
							     : 0};
		for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
			end = ends[k] > end ? ends[k] : end;
	}
	return end;
}
