/* SPDX-License-Identifier: MIT
 *
 * Transfers from weight memory (port.h). All that is asked of the memory is known here before it begins, so its cycles
 * are gone through once. */
#include "port.h"
#include "core/base/arith.h"

static void fixed(const struct tpu_config *m, struct program_transfer *transfer, int64_t n)
{
	npl_u128 rate = (npl_u128)m->weight_bytes_per_second, end = 0, clock = (npl_u128)m->clock_hz;
	for (struct program_transfer *t = transfer; t < transfer + n; t++) {
		if (t->ready > (uint64_t)(end / rate))
			end = t->ready * rate;
		t->begun = (uint64_t)(end / rate);
		end += (npl_u128)t->bytes * clock;
		t->arrived = (uint64_t)((end + rate - 1) / rate);
	}
}

/* Boundary c of the machine is at c * memory_clock, boundary k of the memory at k * machine. */
static void behind_port(struct npl_memory *memory, const struct tpu_config *m, struct program_transfer *transfer,
			int64_t n)
{
	const struct npl_memory_info *info = npl_memory_info(memory);
	const npl_u128 memory_clock = (npl_u128)info->clock.numerator,
		       machine = (npl_u128)m->clock_hz * (npl_u128)info->clock.denominator;
	struct npl_memory_completion completion;
	uint64_t issued = 0, completed = 0, before = 0;
	int64_t next = 0;
	while (next < n || completed < issued) {
		const uint64_t k = npl_memory_now(memory);
		while (next < n && (npl_u128)transfer[next].ready * memory_clock <= k * machine) {
			struct program_transfer *t = &transfer[next];
			const uint64_t at = t->address + t->issued, bytes_left = t->bytes - t->issued;
			const uint64_t room = info->access_bytes ? info->access_bytes - at % info->access_bytes
								 : bytes_left;
			const struct npl_memory_request request = {
				.address = at, .bytes = room < bytes_left ? room : bytes_left, .tag = (uint64_t)next};
			if (!npl_memory_can_accept(memory, &request))
				break;
			if (!t->issued)
				t->begun = (uint64_t)(k * machine / memory_clock);
			npl_memory_push(memory, &request);
			issued++;
			t->issued += request.bytes;
			next += t->issued == t->bytes;
		}
		npl_memory_step(memory);
		for (; npl_memory_completed(memory, &completion); completed++)
			transfer[completion.tag].completed = completion.cycle;
	}
	for (struct program_transfer *t = transfer; t < transfer + n; t++) {
		t->arrived = (uint64_t)((t->completed * machine + memory_clock - 1) / memory_clock);
		t->arrived = t->arrived > t->begun ? t->arrived : t->begun + 1;
		before = t->arrived = t->arrived > before ? t->arrived : before;
	}
}

bool program_port(const struct tpu_config *config, struct program_transfer *transfer, int64_t n, uint64_t cycles,
		  struct tpu_counters *counters)
{
	struct npl_memory *memory;
	struct npl_err err;
	if (tpu_weight_memory_open(config, true, &memory, &err))
		return false;
	if (!memory) {
		fixed(config, transfer, n);
	} else {
		const struct npl_hz memory_clock = npl_memory_info(memory)->clock, machine = {config->clock_hz, 1};
		behind_port(memory, config, transfer, n);
		npl_memory_advance(memory, npl_hz_ceil(cycles, &machine, &memory_clock), 0);
	}
	tpu_count_weight_memory(memory, counters);
	npl_memory_close(memory);
	return true;
}
