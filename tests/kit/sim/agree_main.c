/* SPDX-License-Identifier: MIT
 *
 * The agreement of the two engines of a simulator as a program of its own, small enough to be built and run once for
 * each mutation by scripts/mutants.sh. Systolic machines: random programs, then the cycles worked out by hand. DRAM:
 * random memories and requests. DianNao: random programs, streams of units that are alike, random layers
 * on both engines and with and without their units. Ends at the first disagreement, says what it is and returns 1.
 *
 *     agree [PROGRAMS [FIRST_SEED]]
 *     agree dram [MEMORIES [FIRST_SEED]]
 *     agree diannao [PROGRAMS [FIRST_SEED]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/sim/diannao/agree.h"
#include "tests/kit/sim/diannao/cases.h"
#include "tests/kit/sim/diannao/units.h"
#include "tests/kit/sim/dram/agree.h"
#include "tests/kit/sim/tpu_v1/run.h"
#include "tests/kit/sim/tpu_v1/worked.h"

static bool agree(uint64_t seed, const struct program_request *request)
{
	struct program_case c;
	struct npl_err err = {0};
	char reason[512] = "";
	if (program_case_make(&c, seed, request, &err)) {
		printf("seed %llu: %s\n", (unsigned long long)seed, err.msg);
		return false;
	}
	bool ok = program_agrees(&c, false, reason, sizeof reason);
	if (!ok)
		printf("seed %llu: %s\n", (unsigned long long)seed, reason);
	program_case_free(&c);
	return ok;
}

static int agree_dram(uint64_t memories, uint64_t first)
{
	for (uint64_t seed = first; seed < first + memories; seed++) {
		char reason[512] = "";
		if (!dram_agrees(seed, NULL, reason, sizeof reason)) {
			printf("seed %llu: %s\n", (unsigned long long)seed, reason);
			return 1;
		}
	}
	puts("agree");
	return 0;
}

/* Short streams against rtl, long ones against fast instruction by instruction; where nothing may be skipped too. */
static bool diannao_stream_agrees(uint64_t seed, char *reason, size_t reason_bytes)
{
	static const enum diannao_memory memories[] = {DIANNAO_IDEAL, DIANNAO_FIXED,   DIANNAO_FIXED,
						       DIANNAO_WHOLE, DIANNAO_LATE,    DIANNAO_OTHER_CLOCK,
						       DIANNAO_DRAM,  DIANNAO_ACCESSES};
	const enum diannao_memory memory = memories[seed % (sizeof memories / sizeof *memories)];
	const bool may_skip = memory <= DIANNAO_LATE;
	int64_t skips[DIANNAO_LEVELS] = {0};
	return diannao_units_agree(seed,
				   &(struct diannao_request){.instructions = !may_skip ? 8
									     : seed % 16 < 8
										     ? 12
										     : 1 + (int)(seed / 16 % 12),
							     .repeats = true,
							     .synchronised = seed % 3 == 0,
							     .rounds = seed % 7 < 2 ? 8 : 0,
							     .times = may_skip && seed % 5 == 0 ? 500
								      : may_skip                ? 0
												: 20,
							     .memory = memory,
							     .this_memory = true},
				   skips, reason, reason_bytes);
}

static int agree_diannao(uint64_t programs, uint64_t first)
{
	struct npl_arena arena = {0};
	struct dn_config paper;
	struct npl_err err = {0};
	struct diannao_unit_skips skips = {0};
	int rc = dn_read_machine(&arena, &paper, &err);
	if (rc)
		printf("%s\n", err.msg);
	for (uint64_t seed = first; !rc && seed < first + programs; seed++) {
		const struct diannao_request request = {.instructions = seed % 32 ? 0 : 400};
		struct diannao_layer_seen layer_counts;
		char reason[512] = "";
		const char *case_kind = "program";
		bool ok = diannao_agrees(seed, &request, reason, sizeof reason);
		if (ok) {
			case_kind = "stream";
			ok = diannao_stream_agrees(seed, reason, sizeof reason);
		}
		if (ok && seed % 8 == 0) {
			case_kind = "layer";
			ok = diannao_layer_agrees(seed, &paper, &layer_counts, reason, sizeof reason);
		}
		if (ok && seed % 2 == 0) {
			case_kind = "units of a layer";
			ok = diannao_units_of_layer_agree(seed, &paper, &skips, reason, sizeof reason);
		}
		if (!ok) {
			printf("%s, seed %llu: %s\n", case_kind, (unsigned long long)seed, reason);
			rc = 1;
		}
	}
	npl_arena_free(&arena);
	if (!rc)
		puts("agree");
	return rc != 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "dram"))
		return agree_dram(argc > 2 ? strtoull(argv[2], NULL, 10) : 3000,
				  argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
	if (argc > 1 && !strcmp(argv[1], "diannao"))
		return agree_diannao(argc > 2 ? strtoull(argv[2], NULL, 10) : 4000,
				     argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
	uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000,
		 first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	static tpu_engine *const engines[] = {tpu_run_rtl, tpu_run_fast};
	for (uint64_t seed = first; seed < first + programs; seed++) {
		/* Some that cannot end, some with more columns than a fast kernel takes at a time, some with so many
		 * rows that 16-bit products of one pass do not fit an accumulator. */
		struct program_request request = {.stuck_percent = seed % 8 ? 0 : 100,
						  .columns = seed % 16 == 5 ? 100 : 0,
						  .rows = seed % 16 == 9 ? 200 : 0};
		if (!agree(seed, &request))
			return 1;
	}
	for (int i = 0; i < 2 * WORKED_CASES; i++) {
		const char *name;
		char reason[300] = "";
		if (!program_works(i / 2, engines[i % 2], &name, reason, sizeof reason)) {
			printf("worked out by hand, %s, %s: %s\n", i % 2 ? "fast" : "rtl", name, reason);
			return 1;
		}
	}
	puts("agree");
	return 0;
}
