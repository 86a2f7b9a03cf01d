/* SPDX-License-Identifier: MIT
 *
 * Measures the processor's memory: a[i] = b[i] + s * c[i] over arrays several times the caches, by all threads of the
 * device, the best of a few runs, as in McCalpin's STREAM. Stores bypass the caches where the processor can (SSE2), so
 * that the twelve bytes counted for an element are those that cross the memory's pins; a plain store would also read
 * the line, which is not counted.
 *
 * Limits: on computers with several sockets Linux places each page beside the thread that first writes it, and the
 * threads' parts may differ between runs. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/message.h"
#include "core/computer/clock.h"
#include "cpu.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define RUNS      10
#define MIN_BYTES ((uint64_t)64 << 20) /* least bytes of an array; the size if the caches are unknown */
#define CACHES    4                    /* array size in units of all last-level caches */
#define SCALE     3.0f

struct triad {
	float *a, *b, *c;
	int64_t n, parts;
	bool fill; /* write first values instead */
};

static void part_of(const struct triad *t, int64_t i, int64_t *first, int64_t *last)
{
	int64_t part_count = (t->n / t->parts + 15) / 16 * 16; /* whole cache lines */
	*first = i * part_count < t->n ? i * part_count : t->n;
	*last = i + 1 == t->parts || (i + 1) * part_count > t->n ? t->n : (i + 1) * part_count;
}

static void run_part(void *context, int64_t i, int worker)
{
	const struct triad *t = context;
	int64_t first, last;
	(void)worker;
	part_of(t, i, &first, &last);
	if (t->fill) {
		for (int64_t k = first; k < last; k++) {
			t->a[k] = 0;
			t->b[k] = 1;
			t->c[k] = (float)(k & 1023);
		}
		return;
	}
#ifdef __SSE2__
	const __m128 s = _mm_set1_ps(SCALE);
	for (; first + 4 <= last; first += 4)
		_mm_stream_ps(t->a + first,
			      _mm_add_ps(_mm_load_ps(t->b + first), _mm_mul_ps(s, _mm_load_ps(t->c + first))));
	_mm_sfence();
#endif
	for (int64_t k = first; k < last; k++)
		t->a[k] = t->b[k] + SCALE * t->c[k];
}

/* Returns the bytes of one array: CACHES times the last-level caches and at least MIN_BYTES, but at most an eighth of
 * the free memory. */
static uint64_t array_bytes(void)
{
	struct npl_processor processor;
	npl_processor_read(NULL, &processor);
	uint64_t bytes = CACHES * npl_processor_last_cache_bytes(&processor);
	uint64_t limit = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 8;
	bytes = bytes < MIN_BYTES ? MIN_BYTES : bytes;
	return (bytes < limit ? bytes : limit) / 64 * 64;
}

int cpu_measure_memory(void *state, struct npl_memory_rate *rate, struct npl_err *err)
{
	struct cpu_state *cpu = state;
	const uint64_t bytes = array_bytes();
	struct triad t = {.n = (int64_t)(bytes / sizeof(float)), .parts = cpu->threads, .fill = true};
	double best = INFINITY;
	t.a = aligned_alloc(64, bytes);
	t.b = aligned_alloc(64, bytes);
	t.c = aligned_alloc(64, bytes);
	int rc = t.n && t.a && t.b && t.c ? 0
					  : npl_fail(err, NPL_ENOMEM, "out of memory for three arrays of %llu bytes",
						     (unsigned long long)bytes);
	for (int run = 0; run <= RUNS && !rc; run++) { /* run 0 makes the pages */
		double begin = npl_clock_seconds();
		npl_pool_run(cpu->pool, t.parts, run_part, &t);
		double seconds = npl_clock_seconds() - begin;
		best = !t.fill && seconds < best ? seconds : best;
		t.fill = false;
	}
	for (int64_t k = 0; k < t.n && !rc; k += t.n / 7 + 1)
		if (fabsf(t.a[k] - (t.b[k] + SCALE * t.c[k])) > 0)
			rc = npl_fail(err, NPL_EINTERNAL, "the triad's element %lld is wrong", (long long)k);
	free(t.a);
	free(t.b);
	free(t.c);
	if (rc)
		return rc;
	rate->bytes_per_second = 3.0 * (double)bytes / best;
	snprintf(rate->explanation, sizeof rate->explanation,
		 "a = b + s c over float32 arrays of %llu MiB, %d thread%s, best of %d; 12 bytes an element: two read, "
		 "one written past the caches",
		 (unsigned long long)(bytes >> 20), cpu->threads, npl_plural(cpu->threads), RUNS);
	return 0;
}
