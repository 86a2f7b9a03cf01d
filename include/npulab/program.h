/* SPDX-License-Identifier: MIT
 *
 * Programs in a machine's own instructions: read and written as text or binary, and run, as `npulab asm`, `disasm` and
 * `exec` do. A driver offers its instruction set as a table (npl_driver.isa); a program belongs to one such set.
 *
 *     struct npl_program *program;
 *     if (npl_program_load("net.s", device, &program, &err)) ...
 *     if (!npl_program_check(program, device, &err) &&
 *         !npl_program_run(program, device, &request, &execution, &err)) ...
 *     npl_execution_free(&execution);
 *     npl_program_free(program);
 */
#ifndef NPULAB_PROGRAM_H
#define NPULAB_PROGRAM_H

#include "npulab/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_INSTRUCTION_NAME  64
#define NPL_MAX_CYCLE_CLASSES 24

/* An instruction of a program, for people. */
struct npl_instruction {
	/* line of the text that the program was made from; 0: it was made from a binary */
	int line;
	char name[NPL_INSTRUCTION_NAME]; /* its name, as the text of a program writes it */
	const char *unit;                /* the part of the machine that executes it; a constant */
};

/* An event in a machine. `name` is a constant. `index` counts as the machine's documentation says; `instruction` is an
 * index in the program. */
struct npl_program_event {
	uint64_t cycle;
	const char *name;
	int64_t index, instruction;
};

/* What the cycles of an instruction are attributed to. A class with the name of a counter sums to that counter over all
 * instructions. */
struct npl_cycle_class {
	const char *name; /* JSON key, snake_case */
	enum npl_cycle_class_kind {
		NPL_CLASS_WORKING,
		NPL_CLASS_WAITING,
		NPL_CLASS_PASSING /* the instruction, or its results, are on the way: neither work nor a wait */
	} kind;
	const char *help;
};

/* The cycles begin <= t < end of an instruction. The cycles of all classes of the set sum to end - begin. */
struct npl_instruction_time {
	uint64_t begin, end;
	uint64_t cycles[NPL_MAX_CYCLE_CLASSES];
};

struct npl_instruction_sink;

/* What a program runs with. All pointers are borrowed for the call. */
struct npl_execution_request {
	const char *engine; /* one of the driver's engines (npl_driver.engines); NULL: the first */
	bool timing_only;   /* no values: host and weights are not needed, and there is no output */
	const void *host;   /* host memory from byte 0; memory that the program writes beyond is added, at first 0 */
	size_t host_bytes;
	const void *weights; /* weight memory from byte 0; the rest of it is 0 */
	size_t weight_bytes;
	/* The buffer of a machine whose instruction set has_buffer, from its first byte on. Bytes that are not given
	 * are 0. */
	const void *buffer;
	size_t buffer_bytes;
	/* If not NULL, called for every event, by cycle, then name, then index. */
	void (*on_event)(void *context, const struct npl_program_event *event);
	void *context;
	bool timed; /* attribute each instruction's cycles */
	/* is told the instructions (npulab/instruction_sink.h); NULL: none is */
	const struct npl_instruction_sink *sink;
};

/* The results of one run of a program. */
struct npl_execution {
	struct npl_execution_request request; /* as it was given, with the engine that ran */
	uint64_t cycles, overflows, saturations;
	const struct npl_counter_def *counter_def; /* definitions of the counters */
	size_t n_counters;
	uint64_t counter[NPL_MAX_COUNTERS];
	size_t output_address, output_bytes; /* host memory from the first byte the program writes to the last */
	uint8_t *output;                     /* NULL when it writes none, or timing_only */
	/* from the first byte of the buffer that the program writes to the last */
	size_t buffer_output_address, buffer_output_bytes;
	uint8_t *buffer_output;
	size_t buffer_row_bytes;           /* bytes of a row of the buffer, in a machine whose set has_buffer */
	struct npl_instruction_time *time; /* for each instruction of the program; NULL: not timed */
};

struct npl_program; /* opaque */

/* Reads a program: text when the file's name ends in ".s", else binary. The file names its machine: a text by `.machine
 * NAME` before everything else, a binary in its header. A file that names none is read as a program of the device.
 * Returns NPL_EINPUT for a bad file, or one that names no machine where device is NULL; NPL_EUSAGE when the device has
 * no instruction set or another one. */
int npl_program_load(const char *path, const struct npl_device *device, struct npl_program **program,
		     struct npl_err *err);
void npl_program_free(struct npl_program *program); /* accepts NULL */
/* Returns the name of the machine that the file names, else of the device that it was read for. */
const char *npl_program_machine(const struct npl_program *program);

/* Make the binary, and the text that assembles to it; both are allocated with malloc. */
int npl_program_binary(const struct npl_program *program, uint8_t **bytes, size_t *n, struct npl_err *err);
int npl_program_text(const struct npl_program *program, char **text, struct npl_err *err);
/* Makes every check that is possible before a run. Returns NPL_EUSAGE when the device has another instruction set. */
int npl_program_check(const struct npl_program *program, const struct npl_device *device, struct npl_err *err);
/* Runs a program and overwrites execution, which npl_execution_free frees, after a failure too. Returns NPL_EUSAGE for
 * an unknown engine, with the nearest name, for a buffer where the machine has none, and when the device has another
 * instruction set. */
int npl_program_run(const struct npl_program *program, const struct npl_device *device,
		    const struct npl_execution_request *request, struct npl_execution *execution, struct npl_err *err);
void npl_execution_free(struct npl_execution *execution);     /* frees what the run allocated; accepts a zeroed one */
int64_t npl_program_count(const struct npl_program *program); /* number of instructions */
/* Describes an instruction; index is less than npl_program_count. */
void npl_program_instruction(const struct npl_program *program, int64_t index, struct npl_instruction *instruction);
/* Returns the n classes of instructions' cycles, in the order of npl_instruction_time.cycles. */
const struct npl_cycle_class *npl_program_cycle_classes(const struct npl_program *program, int *n);

#ifdef __cplusplus
}
#endif

#endif
