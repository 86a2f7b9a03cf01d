/* SPDX-License-Identifier: MIT
 *
 * Run traces: what a run did, kept in a file, so that a later run can be compared with it to the event
 * (docs/traces.md). A recorder writes one while a comparison, a layer or a program runs. npl_trace_diff compares two.
 *
 *     struct npl_trace_recorder *recorder;
 *     if (npl_trace_recorder_open(&header, "a.trace", &recorder, &err)) ...
 *     options.watcher = npl_trace_recorder_watcher(recorder);
 *     if (!npl_compare(graph, &samples, NULL, &options, &comparison, &err) &&
 *         !npl_trace_recorder_finish(recorder, &err)) ...
 *     npl_trace_recorder_close(recorder);
 */
#ifndef NPULAB_RUN_TRACE_H
#define NPULAB_RUN_TRACE_H

#include <stdio.h>

#include "npulab/compare.h"
#include "npulab/instruction_sink.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_TRACE_FORMAT 2 /* the version of the format that is written, and the only one that is read */

/* How much of a run is recorded. */
enum npl_trace_detail { NPL_TRACE_LAYERS, NPL_TRACE_INSTRUCTIONS, NPL_TRACE_CYCLES, NPL_TRACE_DETAILS };
const char *npl_trace_detail_name(enum npl_trace_detail detail); /* "layers", "instructions", "cycles" */

/* A name and a value; a file and its SHA-256. */
struct npl_trace_pair {
	const char *name, *value;
};
struct npl_trace_pairs { /* zero-initialise before use; everything lives in the arena of the header */
	struct npl_trace_pair *pair;
	int n, capacity;
};

/* A machine as it was when the trace was recorded. */
struct npl_trace_machine {
	const char *name; /* the device's, or "host" for the modelled host */
	const char *driver;
	const char *sha256; /* of the machine (npl_device_report.machine_sha256); empty: it has no parameters */
	const char *format; /* the number format */
	struct npl_trace_pairs parameter; /* all of them, in the order of the schema */
};

/* The head of a trace: all that decides what a run does, and what is said of it. */
struct npl_trace_header {
	struct npl_arena arena;
	const char *version;            /* npulab's */
	const char *command, *argument; /* "run", "layer" or "exec", and the model, the kind of layer or the program */
	enum npl_trace_detail detail;
	/* With NPL_TRACE_CYCLES: the signals that are recorded (npl_signal_sink.choice); NULL: those by default. A head
	 * that has been read has them among its options only. */
	const char *signals;
	bool has_values, has_times;         /* has_times false: the devices are real */
	struct npl_trace_pairs reason;      /* why it was recorded, oldest first: the version and the text */
	struct npl_trace_pairs option;      /* of the command, as they were given */
	struct npl_trace_pairs file;        /* that the run read, and their SHA-256 */
	struct npl_trace_pairs environment; /* what values of real devices depend on */
	struct npl_trace_machine *machine;
	int n_machines, machine_capacity;
};
/* Appends a pair, whose texts are copied. Returns 0 or NPL_ENOMEM. */
int npl_trace_add(struct npl_trace_header *header, struct npl_trace_pairs *pairs, const char *name, const char *value,
		  struct npl_err *err);
/* Adds a file that the run reads, whose role is `role`. Returns NPL_EINPUT where it cannot be read. */
int npl_trace_add_file(struct npl_trace_header *header, const char *role, const char *path, struct npl_err *err);
/* Adds the files that parameters of a machine name, such as "memory of tpu_v1". A recorder does it by itself. */
int npl_trace_add_machine_files(struct npl_trace_header *header, const char *machine, const char *driver,
				const struct npl_param_value *setting, int n, struct npl_err *err);
/* Returns the index of the pair of `other` that belongs to pair i: of the same name (of settings, of the same key), and
 * with as many others of that name before it. -1: there is none. */
int npl_trace_partner(const struct npl_trace_pair *pairs, int i, const struct npl_trace_pairs *other);
void npl_trace_header_free(struct npl_trace_header *header); /* accepts a zeroed one */
/* Reads the head of a trace. Returns NPL_EINPUT, with the line, for what is no trace or one of another format. */
int npl_trace_header_read(const char *path, struct npl_trace_header *header, struct npl_err *err);

struct npl_trace_recorder;
/* Makes a recorder. The recorder borrows the header until npl_trace_recorder_close. It records as much as the header's
 * `detail` says, and adds the machines to the header. npl_trace_recorder_finish writes the file `path`, whole or not at
 * all, and compresses it where its name ends in ".zst". path NULL: the trace gets no file, and the recorder keeps it
 * until npl_trace_recorder_close, for npl_trace_diff_recorded. Returns 0, NPL_EOUTPUT or NPL_ENOMEM. */
int npl_trace_recorder_open(struct npl_trace_header *header, const char *path, struct npl_trace_recorder **opened,
			    struct npl_err *err);
/* Returns what records a network or a layer: the value of npl_compare_options.watcher, for npl_compare with one entry
 * or npl_single_layer with one device. The recorder owns it. */
const struct npl_run_watcher *npl_trace_recorder_watcher(struct npl_trace_recorder *recorder);
/* The three calls that record a program of npl_program_run. Before it runs, npl_trace_recorder_machine writes the head
 * with its machine. npl_trace_recorder_sink is the sink for its request; NULL: no instructions are recorded.
 * Afterwards npl_trace_recorder_execution writes what the execution gave. */
int npl_trace_recorder_machine(struct npl_trace_recorder *recorder, const struct npl_device *device,
			       struct npl_err *err);
const struct npl_instruction_sink *npl_trace_recorder_sink(struct npl_trace_recorder *recorder);
int npl_trace_recorder_execution(struct npl_trace_recorder *recorder, const struct npl_execution *execution,
				 struct npl_err *err);
/* Ends the recording, and writes the file of a recorder with a path. Returns NPL_EOUTPUT where that fails. */
int npl_trace_recorder_finish(struct npl_trace_recorder *recorder, struct npl_err *err);
struct npl_trace_size { /* what a file has */
	uint64_t events, bytes;
};
/* Of a recorder that has finished: the events of the trace, and the bytes of its file. */
struct npl_trace_size npl_trace_recorder_size(const struct npl_trace_recorder *recorder);
/* Writes what a recorder without a path has recorded and finished as the file `path`, in the form that
 * npl_trace_recorder_open gives it. */
int npl_trace_recorder_save(const struct npl_trace_recorder *recorder, const char *path, struct npl_err *err);
void npl_trace_recorder_close(struct npl_trace_recorder *recorder); /* accepts NULL */

/* What two traces differ in. */
enum {
	NPL_TRACE_MOVED_PROGRAM = 1 << 0, /* events that only one has, or instructions with other fields */
	NPL_TRACE_MOVED_TIMES = 1 << 1,
	NPL_TRACE_MOVED_VALUES = 1 << 2,
	NPL_TRACE_MOVED_ENERGY = 1 << 3,
	NPL_TRACE_MOVED_COUNTS = 1 << 4,  /* bytes, rows, tiles */
	NPL_TRACE_MOVED_SIGNALS = 1 << 5, /* which signals change, and to what */
	NPL_TRACE_MOVED_END,              /* one more than the last flag */
	NPL_TRACE_MOVED_ALL = 2 * (NPL_TRACE_MOVED_END - 1) - 1
};
/* Writes "program, times and values"; returns buf. */
const char *npl_trace_moved_text(unsigned moved, char *buf, size_t n);

/* How far figures may be off before traces count as different. 0: not at all. */
struct npl_trace_tolerance {
	/* As shares: 0.01 is 1 %. With `cycles` the times of layers and batches are judged, and those of single
	 * instructions and signals are not. */
	double cycles, energy;
	/* By how many dB the signal-to-noise ratio of a layer's result to float32 may differ when the checksum of the
	 * result differs. It has an effect where both traces have ratios. Two of at least NPL_TRACE_ROUNDING_DB are
	 * alike. The ratio compares a layer with float32 of its own model, so it does not guard weights. */
	double values_db;
};
/* The tolerance for values of real devices in another environment: another processor, library or number of threads. */
#define NPL_TRACE_OTHER_ENVIRONMENT_DB 1.0
/* From here on the noise is that of rounding float32, which the order of additions decides. */
#define NPL_TRACE_ROUNDING_DB 100.0

/* Which events that differ are kept. */
struct npl_trace_wanted {
	/* Only events of layers whose name has this text; NULL: every event, also those of no layer. */
	const char *layer;
	int events; /* so many at most; 0: one */
};

/* The cycles of a layer, or of all, that went to a class. The classes of a layer sum to its cycles. */
struct npl_trace_class {
	const char *name;
	uint64_t cycles[2];
};

/* A layer of either trace, over all batches. */
struct npl_trace_layer {
	const char *name;
	const char *ran_on;       /* in the first trace; in the second one where the first lacks the layer */
	const char *other_ran_on; /* in the second trace; NULL: the same */
	int order;                /* of its row in the traces */
	bool in[2];
	/* NPL_TRACE_MOVED_... of the layer's row and of its instructions. Where its program moved, other results of its
	 * instructions do not count as values that moved: the row alone decides that. */
	unsigned moved;
	uint64_t cycles[2];
	double seconds[2], joules[2];
	double sqnr_db[2]; /* of the first batch (struct npl_layer_accuracy); NAN: not known */
	struct npl_trace_class *cycle_class;
	int n_classes, class_capacity;
};

/* The energy of a component, over all batches. */
struct npl_trace_component {
	const char *name;
	double joules[2];
};

/* By how much the cycles of a class in a unit differ. Instructions of units run at the same time, so that these cycles
 * are not those of the run. */
struct npl_trace_cause {
	const char *unit, *cycle_class;
	int64_t cycles; /* of the second trace, less those of the first */
};

/* An event that differs. */
struct npl_trace_difference {
	bool is_known;
	uint64_t line[2];      /* in the files; 0: the event is in the other one alone */
	const char *layer;     /* that it belongs to; NULL: to none */
	const char *text[2];   /* its lines, with the checksum of an instruction as sum=...; NULL as above */
	const char *what;      /* what differs, in words */
	const char *before[3]; /* the lines before it in the first trace, oldest first; NULL: there are fewer */
};

struct npl_trace_diff {
	struct npl_arena arena;
	unsigned moved; /* NPL_TRACE_MOVED_... */
	bool is_beyond; /* something differs by more than the tolerance */
	/* The tolerance for values that was in force: the user's, or the one for another environment. 0: values are
	 * compared bit for bit. */
	double values_db;
	/* The first difference that the tolerance does not cover, in words; NULL: there is none, or no tolerance. */
	const char *beyond;
	uint64_t events; /* pairs of events that were compared */
	uint64_t differing, only[2];
	uint64_t cycles[2];
	double seconds[2], joules[2];
	bool has_times; /* false: the devices of a trace are real, so that it has no cycles, times and energies */
	struct npl_trace_difference first,
		first_wait;                 /* first_wait: the first instruction whose cycles went elsewhere */
	struct npl_trace_difference *event; /* the first ones that differ, with `first` */
	int n_events, event_capacity;
	const char **head; /* what the heads differ in, in words: "tpu_v1: weight_fifo.tiles 4 -> 1" */
	int n_heads, head_capacity;
	struct npl_trace_layer *layer;
	int n_layers, layer_capacity;
	struct npl_trace_component *component;
	int n_components, component_capacity;
	struct npl_trace_cause *cause;
	int n_causes, cause_capacity;
};
/* Compares two traces, of which one may be "-", standard input. Their heads may differ. Machines are paired by name. If
 * the same number of machines is left in both, these are paired in their order. Of traces with different detail, only
 * the events that both have are compared. wanted NULL: one event. Returns NPL_EINPUT, with file and line, for what is
 * no trace. */
int npl_trace_diff_events(const char *a, const char *b, const struct npl_trace_tolerance *tolerance,
			  const struct npl_trace_wanted *wanted, struct npl_trace_diff *diff, struct npl_err *err);
int npl_trace_diff(const char *a, const char *b, const struct npl_trace_tolerance *tolerance,
		   struct npl_trace_diff *diff, struct npl_err *err);
void npl_trace_diff_free(struct npl_trace_diff *diff); /* accepts a zeroed one */
/* Compares a trace with what a recorder without a path has recorded and finished. */
int npl_trace_diff_recorded(const char *path, const struct npl_trace_recorder *recorder,
			    const struct npl_trace_tolerance *tolerance, struct npl_trace_diff *diff,
			    struct npl_err *err);
/* Prints the difference as text; a and b name the traces, b NULL: the run now. Returns 0, or NPL_ENOMEM when cells are
 * missing. */
int npl_report_trace_diff(FILE *out, const char *a, const char *b, const struct npl_trace_diff *diff);

/* What came of comparing a trace with another one, or with its run made again. */
struct npl_trace_verdict {
	const char *path, *other; /* other: the second trace; NULL: the run now */
	int code;                 /* NPL_E..., where they could not be compared; 0: they were */
	const char *message;      /* of that code; NULL: 0 */
	double wall_seconds;      /* that it took; NAN: not known */
	struct npl_trace_diff diff;
};
/* "same", "within the tolerance", "moved" or "not compared". */
const char *npl_trace_verdict_name(const struct npl_trace_verdict *verdict);

/* Reports of verdicts for programs (docs/ci.md). Each report escapes the names that come from models.
 *
 * npl_trace_json writes JSON with the schema npulab.trace/1. */
void npl_trace_json(FILE *out, const struct npl_trace_verdict *verdict, int n,
		    const struct npl_trace_tolerance *tolerance);
/* JUnit's XML: a test case for each trace. One that moved is a failure, one that could not be compared an error. */
void npl_trace_junit(FILE *out, const struct npl_trace_verdict *verdict, int n);
/* Markdown for a pull request or merge request: a table of traces, and for each that moved its layers and its first
 * difference. */
void npl_trace_markdown(FILE *out, const struct npl_trace_verdict *verdict, int n);
/* Annotations of GitHub: a line `::error file=...` for each trace that moved or could not be compared, and a
 * `::notice` for one that moved within the tolerance. */
void npl_trace_annotations(FILE *out, const struct npl_trace_verdict *verdict, int n);

/* Which events are shown. */
struct npl_trace_choice {
	const char *layer; /* only events of layers whose name has this text; NULL: of all */
	const char *unit;  /* only instructions of this unit, and signals whose names begin with it; NULL: of all */
	/* only instructions and signals in the cycles from <= t < until of their program; until 0: to its end */
	uint64_t from, until;
	/* For npl_trace_show: only events at most NPL_TRACE_LINES_AROUND lines of the file from this one; 0: all. */
	uint64_t line;
	bool parameters; /* npl_trace_show prints the parameters of each machine */
};
#define NPL_TRACE_LINES_AROUND 5
/* Prints the head of a trace and its events as tables; path "-" is standard input. Returns 0, NPL_ENOMEM, NPL_EINPUT
 * for what is no trace, or NPL_EUSAGE where nothing fits the choice, with the nearest name; then nothing is printed. */
int npl_trace_show(FILE *out, const char *path, const struct npl_trace_choice *choice, struct npl_err *err);

/* Returns NPL_EUSAGE, with the nearest name, where no layer of the trace has this text in its name; NPL_EINPUT for what
 * is no trace; NPL_ENOMEM. */
int npl_trace_find_layer(const char *path, const char *text, struct npl_err *err);

/* Writes a trace as a picture in time, for Perfetto and chrome://tracing (docs/waveforms.md): trace events in JSON, as
 * the file `out`, whole or not at all, compressed by gzip where its name ends in ".gz". `choice` chooses instructions,
 * and with `layer` also the layers. Counters have the means of bins of bin_cycles cycles, 1 to 10^9. `size` gets the
 * size of the file; NULL: it is not wanted. Returns NPL_EINPUT for what is no trace, or has no times since its devices
 * are real; NPL_EUSAGE where nothing fits the choice; NPL_EOUTPUT when the file cannot be written; NPL_ENOMEM. */
#define NPL_TRACE_BIN_CYCLES 256 /* by default */
int npl_trace_export_perfetto(const char *path, const char *out, const struct npl_trace_choice *choice,
			      uint64_t bin_cycles, struct npl_trace_size *size, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
