/* SPDX-License-Identifier: MIT
 *
 * The activity of a whole program (run.h), without its time. A sample walks one repeat of a loop (engine.h), and takes
 * the next ones, which it leaves out, to be like it. Rows that these would have loaded are missing in the buffers, so
 * that the next repeat finds older ones in their places. */
#include "fast.h"

#include <string.h>

/* The repeat of one level that is under way. */
struct repeat {
	int64_t left;                /* repeats from its beginning on; 0: none is under way */
	struct dn_counters counters; /* at its beginning */
};

struct sample {
	const struct dn_stream *stream;
	struct dn_counters *counters;
	struct repeat level[DN_REPEAT_LEVELS];
};

/* Adds what the counters have gained since the beginning of the repeat, so many times. */
static void repeat_counts(struct dn_counters *counters, const struct dn_counters *begin, uint64_t times)
{
	uint64_t *to = (uint64_t *)counters;
	const uint64_t *from = (const uint64_t *)begin;
	for (size_t i = 0; i < sizeof *counters / sizeof *to; i++)
		to[i] += (to[i] - from[i]) * times;
}

/* Leaves out repeats that are like the one of this level that has just ended. The last repeat of a run is walked in any
 * case, since the loop around it may begin anew after it. Returns false where none can be left out. */
static bool leave_out(struct sample *sample, int level, int64_t n_alike)
{
	enum { ONE_OF = 8 };
	struct repeat *repeat = &sample->level[level];
	const int64_t most = n_alike - 1 < ONE_OF - 1 ? n_alike - 1 : ONE_OF - 1;
	if (repeat->left != n_alike + 1 || most < 1)
		return false;
	repeat_counts(sample->counters, &repeat->counters, (uint64_t)most);
	sample->stream->skip(sample->stream->state, level, most);
	memset(sample->level + level, 0, (size_t)(DN_REPEAT_LEVELS - level) * sizeof *sample->level);
	return true;
}

/* Notes which repeats begin with the next instruction, and leaves some out. */
static void begin_repeats(struct sample *sample)
{
	int64_t n_alike[DN_REPEAT_LEVELS];
	sample->stream->count_repeats(sample->stream->state, n_alike);
	for (int level = 0; level < DN_REPEAT_LEVELS; level++) {
		if (!n_alike[level])
			continue;
		if (leave_out(sample, level, n_alike[level])) {
			sample->stream->count_repeats(sample->stream->state, n_alike);
			level = -1;
			continue;
		}
		sample->level[level] = (struct repeat){n_alike[level], *sample->counters};
	}
}

int dn_count_activity(const struct dn_engine_input *engine_input, struct dn_counters *counters, struct npl_err *err)
{
	const struct dn_stream *stream = &engine_input->stream;
	const bool samples = engine_input->config->technology.activity == SIM_SAMPLED && stream->count_repeats;
	struct sample sample = {.stream = stream, .counters = counters};
	struct dn_fast_values *values;
	struct dn_instruction instruction = {0};
	if (dn_fast_values_open(engine_input, true, counters, &values, err))
		return err->code;
	while (instruction.cp.op != DN_CP_END) {
		if (samples)
			begin_repeats(&sample);
		stream->next(stream->state, &instruction);
		dn_fast_values_execute(values, &instruction);
	}
	dn_fast_values_close(values);
	return 0;
}
