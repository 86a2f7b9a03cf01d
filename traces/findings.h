/* SPDX-License-Identifier: MIT
 *
 * What a comparison of two traces has found so far, by layer: figures, classes of cycles, and what moved. */
#ifndef NPULAB_TRACES_FINDINGS_H
#define NPULAB_TRACES_FINDINGS_H

#include "events.h"
#include "npulab/run_trace.h"

/* How the fields of a block of instructions are in the other trace. */
enum trace_fields { TRACE_FIELDS_SAME, TRACE_FIELDS_DIFFER, TRACE_FIELDS_UNKNOWN };

/* Of a layer, or of the instructions that belong to none: */
struct trace_layer_notes {
	bool sums;       /* results of instructions differ where the fields are the same */
	bool other_sums; /* results of instructions differ where the fields differ or are not known */
	uint64_t block;  /* the last block with different fields that has an instruction of the layer */
};

struct trace_findings { /* zero-initialise before use, except diff and err */
	struct npl_trace_diff *diff;
	struct npl_err *err;
	struct trace_layer_notes *notes; /* of each layer of diff, in its order */
	int notes_capacity;
	struct trace_layer_notes of_none;
	int n_rows;
	int found;                /* the layer that was found last */
	enum trace_fields fields; /* of the block whose instructions come */
	uint64_t block;           /* its number */
	bool is_explained;        /* it is known which layer's program moved in it */
};

/* Those that return an int return 0, NPL_ENOMEM, or NPL_EINPUT for a trace with more layers, or units with classes of
 * cycles, than are kept; its message lacks the trace's name.
 *
 * Finds a layer by its name, or adds it. *index: in diff->layer. */
int trace_find_layer(struct trace_findings *f, const char *name, int *index);
/* Adds what a row of a layer says of one trace. ran_on: the device. */
int trace_add_row(struct trace_findings *f, int side, int index, const char *ran_on, const struct trace_words *words);
/* Adds what a row of a batch or of an execution says of one trace. */
int trace_add_total(struct trace_findings *f, int side, const struct trace_words *words);
/* Returns the energy of a row, of all its components. */
double trace_joules_of(const struct trace_words *words);
/* Adds cycles of an instruction in a unit: of the second trace, or less those of the first. */
int trace_add_cause(struct trace_findings *f, const char *unit, const char *cycle_class, int64_t cycles);

/* A block of instructions begins, or a program ends (TRACE_FIELDS_SAME). */
void trace_begin_block(struct trace_findings *f, enum trace_fields fields);
/* Notes that an instruction of a layer (-1: of none) is in the block, and whether its result differs. */
void trace_note_instruction(struct trace_findings *f, int layer, bool other_sum);
/* Marks what moved in a layer (-1: in none). */
void trace_mark(struct trace_findings *f, int layer, unsigned moved);
/* Decides whether results of instructions that differ mean values or the program, and orders the layers. */
void trace_conclude(struct trace_findings *f);

#endif
