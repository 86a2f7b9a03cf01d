/* SPDX-License-Identifier: MIT
 *
 * Random programs for DianNao machines, with their machine and memory: all operations, loads that run far ahead, sums
 * that are kept in registers or in NBout, stores of several results, rows that are freed before they have come. Every
 * one passes the check (check.h). Also programs whose parts are repeated with other addresses, and several of them
 * together, as streams of units that are alike, at two levels.
 */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_PROGRAMS_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_PROGRAMS_H

#include "sim/diannao/diannao/engine/engine.h"
#include "tests/kit/sim/diannao/code.h"

enum diannao_memory {
	DIANNAO_IDEAL,
	DIANNAO_FIXED,       /* to the fraction of a cycle */
	DIANNAO_WHOLE,       /* whole_cycles */
	DIANNAO_LATE,        /* with a latency */
	DIANNAO_ACCESSES,    /* with access_bytes */
	DIANNAO_OTHER_CLOCK, /* one of those on a clock that is not the machine's */
	DIANNAO_DRAM,
	DIANNAO_MEMORIES
};

struct diannao_request {   /* zeroed: whatever the seed makes of it */
	int instructions;  /* about so many; 0: 1 to 60 */
	bool repeats;      /* parts are repeated */
	int64_t times;     /* so often, about; 0: 2 to 60 */
	int64_t rounds;    /* two parts, one after the other, and both together so often, about; 0: not */
	bool synchronised; /* and begin with a SYNC */
	enum diannao_memory memory;
	bool this_memory; /* that one */
};

/* Instructions first..first + count - 1 of the program, `times` times; each time their addresses are `move` of each
 * higher. */
struct diannao_part {
	int64_t first, count, times;
};
#define DIANNAO_PARTS 5
#define DIANNAO_MAX   2000 /* instructions, each counted once */

struct diannao_case {
	uint64_t seed;
	struct dn_config config;
	char memory_name[40], memory_text[300]; /* a preset's, or what is in a file */
	struct npl_hz memory_clock;             /* that it is opened with */
	struct sim_program program;
	struct dn_function function[SIM_MAX_CONSTANTS]; /* the program's */
	struct diannao_part part[DIANNAO_PARTS];        /* all of it, except repeats */
	int parts;
	int round_first, round_end; /* of the parts that are repeated together, `rounds` times */
	int64_t rounds;
	uint64_t move[DIANNAO_MAX]; /* by instruction */
	uint8_t *bytes;             /* of memory, size of them */
	uint64_t size;
};

/* False: out of memory. */
bool diannao_case_make(struct diannao_case *c, uint64_t seed, const struct diannao_request *wish);
void diannao_case_free(struct diannao_case *c);
/* NULL: it cannot be opened, err says why. */
struct npl_memory *diannao_case_memory(const struct diannao_case *c, struct npl_err *err);

/* The program as a stream, with rounds as units and, in them or alone, the times of a part. */
#define DIANNAO_LEVELS 2
struct diannao_stream {
	const struct diannao_case *c;
	int part;
	int64_t round, time, at;       /* time, at: within the part */
	int64_t skips[DIANNAO_LEVELS]; /* calls of skip */
};
struct dn_stream diannao_source(struct diannao_stream *stream, const struct diannao_case *c, bool units);

#endif
