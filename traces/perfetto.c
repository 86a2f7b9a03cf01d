/* SPDX-License-Identifier: MIT
 *
 * Writes a trace as a picture in time (npulab/run_trace.h). Two readers go through the file: one reads the schedule of
 * a batch, which stands behind its programs, and then the other one its programs. So the memory needed is that of the
 * schedule of one batch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"
#include "core/base/arith.h"
#include "core/base/refuse.h"
#include "core/files/path.h"
#include "header.h"
#include "occupancy.h"
#include "schedule.h"
#include "tracks.h"

/* A file that is being read. */
struct reader {
	struct trace_in *in;
	struct trace_events *events;
	struct trace_event event;
	struct trace_words words;
};

/* The instructions of a layer of a program. */
struct span {
	bool has_any;
	uint64_t begin, end;
};

struct picture {
	const struct npl_trace_choice *choice;
	struct trace_chosen chosen;
	struct trace_tracks tracks;
	struct npl_picture picture;
	struct reader ahead, reader;
	struct trace_schedule schedule; /* of the batch that is read */
	double batch_begin;             /* in seconds */

	/* Members of a program. */
	struct trace_words program; /* the words of its line: its device, then its layers */
	uint64_t line;              /* its place in the file */
	struct trace_process *process;
	struct trace_clock clock;
	struct trace_unit *last_unit; /* the unit of the instruction before; NULL: there is none */
	struct span span[TRACE_WORDS];
	uint64_t begin;   /* of the instruction before */
	uint64_t end;     /* of the instruction that ends last */
	int layer;        /* the word of the layer whose instructions come; 0: none */
	bool is_chosen;   /* that layer */
	bool is_left_out; /* an instruction is not in the picture */
	struct npl_err *err;
};

static int fail_at(const struct picture *p, const char *what)
{
	return npl_fail(p->err, NPL_EINPUT, "%s:%llu: %s", trace_in_path(p->reader.in),
			(unsigned long long)trace_in_number(p->reader.in), what);
}

/* Puts the place before a failure of code that does not know it. */
static int fail_here(const struct picture *p)
{
	const struct npl_err failure = *p->err;
	return failure.code == NPL_EINPUT ? fail_at(p, failure.msg) : failure.code;
}

static bool is_chosen(struct picture *p, const char *layer)
{
	return trace_chosen_layer(&p->chosen, layer);
}

/* ---- The schedule of a batch. */

static void put_work(struct picture *p, const struct trace_work *work, const struct trace_work *row, int pid, int tid,
		     int64_t begin, int64_t end)
{
	npl_picture_slice(&p->picture, pid, tid, work->layer, work->kind, begin, end);
	npl_json_string(&p->picture.json, "work", work->kind);
	if (row)
		npl_json_string(&p->picture.json, "operator", row->op_name);
	if (work->bytes)
		npl_json_u64(&p->picture.json, "bytes", work->bytes);
	if (row && !strcmp(work->kind, "layer") && !strcmp(work->device, row->device)) {
		npl_json_u64(&p->picture.json, "cycles", row->cycles);
		npl_json_u64(&p->picture.json, "macs", row->macs);
	}
	npl_json_u64(&p->picture.json, "line", work->line);
	npl_picture_slice_end(&p->picture);
}

/* Returns the row of a layer; NULL: there is none. Work comes in the order of the rows, so that the search begins at
 * the last one that was found. */
static const struct trace_work *row_of(const struct trace_schedule *schedule, const char *layer, int64_t *last)
{
	for (int64_t i = 0; i < schedule->n_rows; i++) {
		const int64_t at = (*last + i) % schedule->n_rows;
		if (strcmp(schedule->row[at].layer, layer) != 0)
			continue;
		*last = at;
		return &schedule->row[at];
	}
	return NULL;
}

/* Puts the tasks of a batch, or its rows where it has no tasks. */
static int put_schedule(struct picture *p)
{
	const struct trace_schedule *s = &p->schedule;
	const struct trace_work *list = s->n_tasks ? s->task : s->row;
	int64_t last = 0;
	for (int64_t i = 0; i < s->n_rows; i++) /* Layers that take no time have no task. */
		is_chosen(p, s->row[i].layer);
	for (int64_t i = 0; i < (s->n_tasks ? s->n_tasks : s->n_rows); i++) {
		const struct trace_work *work = &list[i];
		const bool on_link = strcmp(work->kind, "layer") != 0 && strcmp(work->kind, "conversion") != 0;
		const enum trace_track track = on_link ? TRACE_TRACK_LINK : TRACE_TRACK_WORK;
		if (!is_chosen(p, work->layer) || !(work->seconds > 0))
			continue;
		p->chosen.events += !trace_chosen_within_programs(p->choice);
		struct trace_process *process = trace_tracks_process(&p->tracks, work->device, p->err);
		const int tid = process ? trace_tracks_thread(&p->tracks, process, track, p->err) : 0;
		if (!tid)
			return fail_here(p);
		/* Starts are sums of distances, in which the last bits are lost. */
		const double begin = p->batch_begin + work->start;
		const int64_t begin_ns = npl_max_i64(trace_nanoseconds(begin), process->end_ns[track]),
			      end_ns = npl_max_i64(trace_nanoseconds(begin + work->seconds), begin_ns);
		put_work(p, work, row_of(s, work->layer, &last), process->pid, tid, begin_ns, end_ns);
		process->end_ns[track] = end_ns;
	}
	return 0;
}

/* Reads the schedule of the next batch, which begins at p->batch_begin. */
static int next_schedule(struct picture *p)
{
	bool more;
	for (struct trace_process *process = p->tracks.process; process; process = process->next)
		process->at = 0;
	if (!(p->batch_begin <= TRACE_MAX_SECONDS))
		return fail_at(p, "the batch begins more than 104 days after the first");
	return trace_schedule_read(p->ahead.events, &p->ahead.event, &p->ahead.words, &p->schedule, &more, p->err) ||
			       put_schedule(p)
		       ? p->err->code
		       : 0;
}

/* ---- Programs. */

/* Returns the word of a layer in the line of the program; 0: it is not there. */
static int layer_of_program(const struct picture *p, const char *name)
{
	for (int i = 2; i < p->program.n; i++)
		if (!strcmp(p->program.word[i], name))
			return i;
	return 0;
}

/* Returns the second in which the program begins. That is when the device begins the first of its layers, or when its
 * program before has ended: a layer may have several. */
static double program_begin(struct picture *p)
{
	const struct trace_schedule *s = &p->schedule;
	const struct trace_work *list = s->n_tasks ? s->task : s->row;
	const int64_t n = s->n_tasks ? s->n_tasks : s->n_rows;
	struct trace_process *process = p->process;
	for (int64_t i = process->at; i < n; i++) {
		if (strcmp(list[i].kind, "layer") != 0 || strcmp(list[i].device, process->name) != 0 ||
		    !layer_of_program(p, list[i].layer))
			continue;
		process->at = i;
		return fmax(p->batch_begin + list[i].start, process->free);
	}
	return fmax(p->batch_begin, process->free);
}

static int open_program(struct picture *p, const struct trace_event *event)
{
	trace_event_cut(event, &p->program);
	p->process = trace_tracks_process(&p->tracks, p->program.word[1], p->err);
	if (!p->process)
		return fail_here(p);
	if (!(p->process->hz > 0))
		return fail_at(
			p,
			"the head of the trace has no clock_hz of this machine, without which a program has no times");
	p->clock = (struct trace_clock){&p->picture, program_begin(p), p->process->hz};
	p->line = event->number;
	p->last_unit = NULL;
	memset(p->span, 0, (size_t)p->program.n * sizeof *p->span);
	for (struct trace_unit *unit = p->process->unit; unit; unit = unit->next)
		unit->leaves = 0;
	for (struct trace_lane *lane = p->process->lane; lane; lane = lane->next)
		lane->end = 0;
	p->begin = p->end = 0;
	p->layer = 0;
	p->is_chosen = is_chosen(p, p->program.n == 2 ? "" : NULL);
	p->is_left_out = false;
	return 0;
}

static int open_layer(struct picture *p)
{
	const char *name = p->reader.words.word[1];
	p->layer = layer_of_program(p, name);
	p->is_chosen = is_chosen(p, name);
	return p->layer ? 0 : fail_at(p, "the program has no such layer");
}

/* Puts the layers that had instructions: each from the begin of the first to the end of the last. */
static int put_spans(struct picture *p)
{
	for (int i = 2; i < p->program.n; i++) {
		const struct span *span = &p->span[i];
		if (!span->has_any)
			continue;
		struct trace_lane *lane = trace_tracks_lane(&p->tracks, p->process, span->begin, p->err);
		if (!lane)
			return fail_here(p);
		lane->end = span->end;
		npl_picture_slice(&p->picture, p->process->pid, lane->tid, p->program.word[i], "instructions",
				  trace_clock_ns(&p->clock, span->begin), trace_clock_ns(&p->clock, span->end));
		npl_json_u64(&p->picture.json, "begin", span->begin);
		npl_json_u64(&p->picture.json, "end", span->end);
		npl_picture_slice_end(&p->picture);
	}
	return 0;
}

static int put_program(struct picture *p, uint64_t cycles)
{
	const int tid = trace_tracks_thread(&p->tracks, p->process, TRACE_TRACK_PROGRAMS, p->err);
	if (!tid)
		return fail_here(p);
	npl_picture_slice(&p->picture, p->process->pid, tid, p->program.n > 2 ? p->program.word[2] : "program",
			  "program", trace_clock_ns(&p->clock, 0), trace_clock_ns(&p->clock, cycles));
	npl_json_u64(&p->picture.json, "cycles", cycles);
	npl_json_u64(&p->picture.json, "layers", (uint64_t)p->program.n - 2);
	npl_json_u64(&p->picture.json, "line", p->line);
	npl_picture_slice_end(&p->picture);
	return 0;
}

/* Returns the count of a key from word `first` on; 0: there is none. */
static uint64_t count_of(const struct trace_words *words, int first, const char *key)
{
	uint64_t count;
	for (int i = first; i < words->n; i++)
		if (words->value[i] && !strcmp(words->word[i], key))
			return trace_read_count(words->value[i], &count) ? count : 0;
	return 0;
}

/* Adds the use of the array in some of its cycles, which end at `until`: those that all its multipliers would take for
 * the useful multiply-accumulates. */
static void add_use(struct picture *p, int first_key, uint64_t active, uint64_t from, uint64_t until)
{
	const struct trace_words *words = &p->reader.words;
	const double useful = (double)count_of(words, first_key, "useful_macs"),
		     idle = (double)count_of(words, first_key, "unused_macs") +
			    (double)count_of(words, first_key, "idle_lanes");
	if (useful > 0)
		trace_bins_add(&p->process->use, &p->clock, (double)active * useful / (useful + idle), from, until);
}

/* A machine that does not tell the multiply-accumulates of instructions tells those of the program. */
static void add_use_of_program(struct picture *p, uint64_t cycles)
{
	const struct trace_words *words = &p->reader.words;
	uint64_t active = 0;
	if (p->process->use.has_amount || p->is_left_out)
		return;
	for (int i = 2; i < words->n; i++)
		if (words->value[i] && !strncmp(words->word[i], "cycles:", 7) &&
		    trace_phase_of(words->word[i] + 7) == TRACE_IN_ARRAY)
			active += count_of(words, i, words->word[i]);
	add_use(p, 2, npl_min_u64(active, cycles), 0, cycles);
}

static int close_program(struct picture *p)
{
	uint64_t cycles;
	if (!trace_read_count(p->reader.words.word[1], &cycles))
		return fail_at(p, "expected the cycles of the program");
	if (!((double)cycles / p->clock.hz <= TRACE_MAX_SECONDS))
		return fail_at(p, "the program takes more than 104 days");
	if (p->end > cycles)
		return fail_at(p, "an instruction of the program ends after it");
	p->chosen.longest = npl_max_u64(p->chosen.longest, cycles);
	add_use_of_program(p, cycles);
	for (struct trace_unit *unit = p->process->unit; unit; unit = unit->next)
		trace_queue_end(&unit->queue, &p->clock, cycles);
	for (struct trace_rate *rate = p->process->rate; rate; rate = rate->next)
		trace_bins_end(&rate->bins, &p->clock, cycles);
	trace_bins_end(&p->process->active, &p->clock, cycles);
	trace_bins_end(&p->process->use, &p->clock, cycles);
	p->process->free = p->clock.begin + (double)cycles / p->clock.hz;
	return put_spans(p) || put_program(p, cycles) ? p->err->code : 0;
}

/* ---- Instructions. */

/* Writes the key=value of words first to end - 1. */
static void put_keys(struct picture *p, const char *name, int first, int end)
{
	const struct trace_words *words = &p->reader.words;
	uint64_t count;
	npl_json_open(&p->picture.json, name, '{');
	for (int i = first; i < end; i++) {
		if (!words->value[i])
			continue;
		if (trace_read_count(words->value[i], &count))
			npl_json_u64(&p->picture.json, words->word[i], count);
		else
			npl_json_string(&p->picture.json, words->word[i], words->value[i]);
	}
	npl_json_close(&p->picture.json, '}');
}

static void put_instruction(struct picture *p, const struct trace_occupancy *o, uint64_t taken, uint64_t leaves)
{
	const struct trace_event *event = &p->reader.event;
	const struct trace_words *words = &p->reader.words;
	npl_picture_slice(&p->picture, p->process->pid, p->last_unit->tid, words->word[1], "instruction",
			  trace_clock_ns(&p->clock, taken), trace_clock_ns(&p->clock, leaves));
	if (p->layer)
		npl_json_string(&p->picture.json, "layer", p->program.word[p->layer]);
	npl_json_u64(&p->picture.json, "begin", o->begin);
	npl_json_u64(&p->picture.json, "end", o->end);
	npl_json_u64(&p->picture.json, "line", event->number);
	if (event->has_sum)
		npl_json_string(&p->picture.json, "sum", event->sum);
	put_keys(p, "cycles", TRACE_FIRST_KEY, words->end_of_classes);
	put_keys(p, "counts", words->end_of_classes, words->n);
	npl_picture_slice_end(&p->picture);
}

/* Adds what an instruction moves to the counters. */
static int count_instruction(struct picture *p, const struct trace_occupancy *o, uint64_t leaves)
{
	const struct trace_words *words = &p->reader.words;
	if (trace_queue_add(&p->last_unit->queue, &p->clock, o->issued, o->taken, p->err))
		return p->err->code;
	if (o->array) { /* It waits first, and then works. */
		trace_bins_add(&p->process->active, &p->clock, (double)o->array, leaves - o->array, leaves);
		add_use(p, words->end_of_classes, o->array, leaves - o->array, leaves);
	}
	for (int i = words->end_of_classes; i < words->n; i++) {
		uint64_t bytes;
		if (!words->value[i] || !strstr(words->word[i], "_bytes") ||
		    !trace_read_count(words->value[i], &bytes) || !bytes)
			continue;
		struct trace_rate *rate = trace_tracks_rate(&p->tracks, p->process, words->word[i], p->err);
		if (!rate)
			return fail_here(p);
		trace_bins_add(&rate->bins, &p->clock, (double)bytes, o->taken, o->end);
	}
	return 0;
}

static void note_span(struct picture *p, const struct trace_occupancy *o)
{
	struct span *span = &p->span[p->layer];
	if (!p->layer)
		return;
	span->begin = span->has_any ? npl_min_u64(span->begin, o->begin) : o->begin;
	span->end = npl_max_u64(span->end, o->end);
	span->has_any = true;
}

static int take_instruction(struct picture *p)
{
	const struct trace_words *words = &p->reader.words;
	struct trace_occupancy o;
	if (!trace_occupancy_of(words, p->begin, &o))
		return fail_at(p, "the instruction begins before its program, or after 10^18 cycles");
	if (!((double)o.end / p->clock.hz <= TRACE_MAX_SECONDS))
		return fail_at(p, "the instruction ends more than 104 days after its program began");
	p->begin = o.begin;
	p->end = npl_max_u64(p->end, o.end);
	if (!p->last_unit || strcmp(p->last_unit->name, words->word[TRACE_UNIT]) != 0)
		p->last_unit = trace_tracks_unit(&p->tracks, p->process, words->word[TRACE_UNIT], p->err);
	if (!p->last_unit)
		return fail_here(p);
	/* An instruction that no unit works on, such as a load, is shown from the end of the one before it until its
	 * data has arrived. */
	const uint64_t taken = npl_max_u64(o.taken, p->last_unit->leaves),
		       leaves = npl_max_u64(o.leaves > o.taken ? o.leaves : o.end, taken);
	p->last_unit->leaves = leaves;
	const bool is_of_unit = trace_chosen_unit(&p->chosen, words->word[TRACE_UNIT]);
	if (!p->is_chosen || !is_of_unit || !trace_chosen_cycles(&p->chosen, o.begin, o.end)) {
		p->is_left_out = true;
		return 0;
	}
	p->chosen.events++;
	note_span(p, &o);
	put_instruction(p, &o, taken, leaves);
	return count_instruction(p, &o, leaves);
}

static int put_event(struct picture *p)
{
	const struct trace_event *event = &p->reader.event;
	const char *problem = trace_event_cut(event, &p->reader.words);
	if (problem)
		return fail_at(p, problem);
	switch (event->kind) {
	case TRACE_PROGRAM:
		return open_program(p, event);
	case TRACE_OF:
		return open_layer(p);
	case TRACE_INSTRUCTION:
		return take_instruction(p);
	case TRACE_END:
		return close_program(p);
	case TRACE_BATCH:
	case TRACE_EXECUTION:
		p->batch_begin += p->schedule.seconds;
		return next_schedule(p);
	case TRACE_LAYER:
	case TRACE_TASK: /* The schedule was read before: it has these. */
	case TRACE_BLOCK:
	case TRACE_CYCLE: /* A picture has neither checksums nor signals. */
	case TRACE_COMPLETE:
	case TRACE_KINDS:
		break;
	}
	return 0;
}

/* ---- The file. */

static int open_reader(struct reader *reader, const char *path, struct npl_trace_header *header, struct npl_err *err)
{
	if (trace_in_open(path, &reader->in, err) || trace_header_read(reader->in, header, err))
		return err->code;
	return trace_events_open(reader->in, &reader->events, err);
}

static void close_reader(struct reader *reader)
{
	trace_event_free(&reader->event);
	trace_events_close(reader->events);
	trace_in_close(reader->in);
}

static int put_events(struct picture *p)
{
	int rc = next_schedule(p);
	for (bool more = true; !rc && more;) {
		rc = trace_events_next(p->reader.events, &p->reader.event, &more, p->err);
		if (!rc && more)
			rc = put_event(p);
	}
	return rc;
}

/* Begins the picture: its head names the run. */
static void put_head(struct npl_picture *picture, FILE *out, const struct npl_trace_header *header)
{
	struct npl_json *json = &picture->json;
	npl_picture_begin(picture, out);
	npl_json_open(json, "otherData", '{');
	npl_json_string(json, "npulab", header->version);
	npl_json_string(json, "run", header->command);
	npl_json_string(json, "of", header->argument);
	npl_json_close(json, '}');
	npl_picture_events(picture);
}

static int put_picture(struct picture *p, const char *path, const struct npl_trace_header *header, const char *out_path,
		       struct npl_trace_size *size)
{
	struct trace_out *out = NULL;
	FILE *stream = NULL;
	if (!header->has_times)
		return npl_fail(
			p->err, NPL_EINPUT,
			"%s: has no times, as its devices are real and take another time in each run; record it "
			"on a simulated machine",
			path);
	int rc = trace_out_open(out_path, &out, p->err);
	if (!rc && npl_path_ends_in(out_path, ".gz"))
		rc = trace_out_gzip(out, p->err);
	if (!rc && !(stream = trace_out_stream(out)))
		rc = npl_no_memory(p->err);
	if (!rc) {
		put_head(&p->picture, stream, header);
		rc = put_events(p);
	}
	if (!rc)
		rc = trace_chosen_check(&p->chosen, path, p->err);
	if (!rc)
		npl_picture_end(&p->picture);
	if (stream)
		fclose(stream);
	if (!rc)
		rc = trace_out_finish(out, p->err);
	if (!rc && size)
		*size = (struct npl_trace_size){.events = p->picture.events, .bytes = trace_out_bytes(out)};
	trace_out_close(out);
	return rc;
}

int npl_trace_export_perfetto(const char *path, const char *out, const struct npl_trace_choice *choice,
			      uint64_t bin_cycles, struct npl_trace_size *size, struct npl_err *err)
{
	struct npl_trace_header header = {0}, again = {0};
	struct picture *p = calloc(1, sizeof *p);
	if (!p)
		return npl_no_memory(err);
	p->choice = p->chosen.choice = choice;
	p->tracks.picture = &p->picture;
	p->tracks.header = &header;
	p->tracks.bin_cycles = npl_min_u64(npl_max_u64(bin_cycles, 1), 1000000000);
	p->err = err;
	int rc = open_reader(&p->reader, path, &header, err);
	if (!rc)
		rc = open_reader(&p->ahead, path, &again, err);
	if (!rc)
		rc = put_picture(p, path, &header, out, size);
	close_reader(&p->reader);
	close_reader(&p->ahead);
	trace_schedule_free(&p->schedule);
	trace_tracks_free(&p->tracks);
	trace_chosen_free(&p->chosen);
	npl_trace_header_free(&header);
	npl_trace_header_free(&again);
	free(p);
	return rc;
}
