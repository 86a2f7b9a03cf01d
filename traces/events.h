/* SPDX-License-Identifier: MIT
 *
 * The events of a trace, read one by one (docs/traces.md). */
#ifndef NPULAB_TRACES_EVENTS_H
#define NPULAB_TRACES_EVENTS_H

#include <string.h>

#include "cycles.h"
#include "names.h"
#include "npulab/run_trace.h"
#include "text.h"

enum trace_kind {
	TRACE_PROGRAM,     /* a program begins: the device and its layers */
	TRACE_BLOCK,       /* instructions follow: how many, with the checksum of their fields */
	TRACE_OF,          /* instructions of another layer follow */
	TRACE_INSTRUCTION, /* name, unit, begin, length */
	TRACE_CYCLE,       /* signals change: how many cycles after the line before */
	TRACE_END,         /* of a program: its cycles */
	TRACE_LAYER,       /* name, operator, device, role */
	TRACE_TASK,        /* kind, device, layer */
	TRACE_BATCH,       /* its number */
	TRACE_EXECUTION,   /* of a program that is run by itself */
	TRACE_COMPLETE,    /* the last line: how many events the trace has. trace_events_next keeps it for itself */
	TRACE_KINDS
};

struct trace_event {
	enum trace_kind kind;
	uint64_t number; /* its line in the file */
	char *line;      /* the line as it is in the file, without its end; allocated */
	size_t bytes, capacity;
	size_t identifying; /* so many bytes identify the event: of the line, or of `renamed` */
	char *renamed;      /* these bytes with the device's name in another trace; NULL: the line has them */
	bool has_sum;       /* of an instruction: a checksum of what it wrote is known */
	char sum[9];
	uint64_t key;   /* a checksum of what identifies the event */
	uint64_t layer; /* of an instruction: the checksum of the name of its layer; 0: of none */
};
/* Says whether two events are the same but for their times and values: their kind, and the words that identify them.
 * What identifies signals that change is their names. Instructions may be of different layers. */
static inline bool trace_same_event(const struct trace_event *a, const struct trace_event *b)
{
	return a->identifying == b->identifying &&
	       !memcmp(a->renamed ? a->renamed : a->line, b->renamed ? b->renamed : b->line, a->identifying) &&
	       (a->kind != TRACE_CYCLE || trace_cycles_same_signals(a->line, b->line));
}

/* Says whether a line stands between instructions and is no event of its own. */
static inline bool trace_is_between(const struct trace_event *event)
{
	return event->kind == TRACE_BLOCK || event->kind == TRACE_OF;
}

struct trace_events;
/* Reads the events of an input whose head has been read. */
int trace_events_open(struct trace_in *in, struct trace_events **opened, struct npl_err *err);
void trace_events_close(struct trace_events *events); /* accepts NULL */
/* From now on events of machines with these names (borrowed) are identified by their other names. */
void trace_events_rename(struct trace_events *events, const struct trace_names *names);
/* Passes over events that a trace with less detail cannot have. */
void trace_events_limit(struct trace_events *events, enum npl_trace_detail detail);
/* Reads the next event. *more false: there is none. The event's memory is used again; trace_event_free frees it.
 * Returns NPL_EINPUT, with the line, for what is no event, or comes where it cannot. */
int trace_events_next(struct trace_events *events, struct trace_event *event, bool *more, struct npl_err *err);
void trace_event_free(struct trace_event *event); /* accepts a zeroed one */

/* The words of an event's line, cut in a copy. */
#define TRACE_WORDS 4096
struct trace_words {
	char text[TRACE_LINE];
	char *word[TRACE_WORDS], *value[TRACE_WORDS];
	int n;
	int end_of_classes; /* of an instruction: the word after its classes of cycles, which sum to its length */
};
/* The words of an instruction, which follow its kind. */
enum { TRACE_NAME = 1, TRACE_UNIT, TRACE_BEGIN, TRACE_LENGTH, TRACE_FIRST_KEY };
/* Returns how many words of an event of this kind come before its key=value; -1: any number. */
int trace_fixed_words(enum trace_kind kind);
/* Returns how many bytes of a line its first n words take; n less than 0: those before its key=value. */
size_t trace_bytes_of_words(const char *line, int n);
/* Cuts the line of an event into words, and checks those of an instruction: whole numbers below 10^18, and classes of
 * cycles that sum to its length. Returns NULL, or what is wrong. */
const char *trace_event_cut(const struct trace_event *event, struct trace_words *words);
/* Returns the value of a key; NULL: the event does not have it. */
const char *trace_value(const struct trace_words *words, const char *key);

#endif
