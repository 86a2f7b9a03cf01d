/* SPDX-License-Identifier: MIT
 *
 * DMA engines (sim/memory/dma.h). Each engine goes through its ring of jobs with four indices that only grow. Jobs
 * before jobs_taken are gone, those before jobs_done have completed, those before jobs_issued have asked for all their
 * accesses, and those before jobs_pushed are in the ring. */
#include "dma.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAX_ENGINES 64
#define MAX_QUEUE   (1 << 20)

/* The tag of an access in memory: the engine, the number of jobs that it is for, and the number of the first of these
 * modulo 2^37. */
#define TAG_JOBS  6
#define TAG_FIRST 27

struct job {
	struct npl_dma_descriptor descriptor; /* counts at least 1, gapless rows joined */
	uint64_t in_flight;                   /* accesses asked for and not completed */
	uint64_t completion_cycle;            /* the boundary at which the last of its accesses was answered */
};

struct engine {
	struct job *ring;
	uint64_t ring_mask;
	uint64_t jobs_taken, jobs_done, jobs_issued, jobs_pushed;
	uint64_t in_flight; /* accesses of all jobs */
	/* The next access, and the place of its job: row and plane, and the bytes of the row that are left from the
	 * access on. */
	struct npl_memory_request next;
	/* With in_request the engine has the port until memory has taken the last access of its request. */
	bool has_next, in_request;
	uint64_t row, plane, row_bytes_left;
};

struct npl_dma {
	struct npl_memory *memory;
	struct npl_dma_config config;
	/* Accesses are cut at multiples of `unit`; 0: they are not cut. unit_mask is unit - 1 for a power of two, else
	 * 0. */
	uint64_t unit, unit_mask;
	uint64_t cycle, n_pushed_now; /* accesses pushed in this cycle */
	uint64_t n_pushed;            /* accesses pushed since the start */
	uint64_t untaken;             /* completions of all engines */
	int round_robin, engines;
	struct engine *owner; /* the engine that has the port, where requests follow each other */
	uint64_t kept_until;  /* the owner keeps the port at least until this boundary */
	struct engine engine[];
};

enum obstacle { NO_ACCESS, REFUSED, OUT_OF_TURNS, PORT_KEPT };

static struct job *job_at(const struct engine *e, uint64_t index)
{
	return &e->ring[index & e->ring_mask];
}

static int check(const struct npl_dma_config *c, struct npl_err *err)
{
	if (c->engines < 1 || c->engines > MAX_ENGINES || c->queue < 1 || c->queue > MAX_QUEUE)
		return npl_fail(err, NPL_EINPUT,
				"DMA: expected 1 to %d engines with queues of 1 to %d descriptors, got %" PRId64
				" and %" PRId64,
				MAX_ENGINES, MAX_QUEUE, c->engines, c->queue);
	if (c->outstanding < 0 || c->accesses_per_cycle < 0 || c->burst_bytes < 0 || c->request_cycles < 0)
		return npl_fail(err, NPL_EINPUT,
				"DMA: %" PRId64 " accesses under way, %" PRId64 " per cycle, bursts of %" PRId64
				" bytes, requests of %" PRId64 " cycles: expected no negative number",
				c->outstanding, c->accesses_per_cycle, c->burst_bytes, c->request_cycles);
	return 0;
}

int npl_dma_open(struct npl_memory *memory, const struct npl_dma_config *config, struct npl_dma **dma,
		 struct npl_err *err)
{
	*dma = NULL;
	if (check(config, err))
		return err->code;
	struct npl_dma *d = calloc(1, sizeof *d + (size_t)config->engines * sizeof *d->engine);
	if (!d)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the DMA");
	d->memory = memory;
	d->config = *config;
	d->unit = npl_memory_info(memory)->access_bytes;
	if (d->unit && !(d->unit & (d->unit - 1)))
		d->unit_mask = d->unit - 1;
	d->engines = (int)config->engines;
	d->config.queue = 0;
	if (npl_dma_lengthen(d, config->queue, err)) {
		npl_dma_close(d);
		return err->code;
	}
	*dma = d;
	return 0;
}

int npl_dma_lengthen(struct npl_dma *dma, int64_t queue, struct npl_err *err)
{
	uint64_t mask = 0;
	if (queue > MAX_QUEUE)
		return npl_fail(err, NPL_EINPUT, "DMA: queues of %" PRId64 " descriptors, expected up to %d", queue,
				MAX_QUEUE);
	while (mask + 1 < (uint64_t)queue)
		mask = 2 * mask + 1;
	for (int i = 0; i < dma->engines && queue > dma->config.queue; i++) {
		struct engine *e = &dma->engine[i];
		struct job *longer = calloc((size_t)mask + 1, sizeof *longer);
		if (!longer)
			return npl_fail(err, NPL_ENOMEM, "out of memory for the DMA");
		for (uint64_t job = e->jobs_taken; job < e->jobs_pushed; job++)
			longer[job & mask] = *job_at(e, job);
		free(e->ring);
		e->ring = longer;
		e->ring_mask = mask;
	}
	dma->config.queue = queue > dma->config.queue ? queue : dma->config.queue;
	return 0;
}

void npl_dma_close(struct npl_dma *dma)
{
	for (int i = 0; dma && i < dma->engines; i++)
		free(dma->engine[i].ring);
	free(dma);
}

/* Completes jobs in order: those at the front whose accesses have all been answered. */
static void complete_jobs(struct npl_dma *dma, struct engine *e, uint64_t cycle)
{
	while (e->jobs_done < e->jobs_issued && !job_at(e, e->jobs_done)->in_flight) {
		job_at(e, e->jobs_done++)->completion_cycle = cycle;
		dma->untaken++;
	}
}

static uint64_t up_to_cut(const struct npl_dma *dma, uint64_t address, uint64_t bytes_left)
{
	uint64_t room = dma->config.burst_bytes ? (uint64_t)dma->config.burst_bytes : bytes_left;
	if (dma->unit)
		room = dma->unit - (dma->unit_mask ? address & dma->unit_mask : address % dma->unit);
	return room < bytes_left ? room : bytes_left;
}

/* Finds the next access from what is left of the present row; where nothing is left, goes on to the next job. */
static void find_next(struct npl_dma *dma, struct engine *e)
{
	e->has_next = false;
	while (e->jobs_issued < e->jobs_pushed) {
		const struct npl_dma_descriptor *d = &job_at(e, e->jobs_issued)->descriptor;
		if (!e->row_bytes_left && d->row_bytes && e->plane < d->count[1]) { /* a row begins */
			e->next.address = d->address + e->row * (uint64_t)d->stride[0] +
					  e->plane * (uint64_t)d->stride[1];
			e->row_bytes_left = d->row_bytes;
			if (++e->row == d->count[0]) {
				e->row = 0;
				e->plane++;
			}
		}
		if (e->row_bytes_left) {
			e->next.bytes = up_to_cut(dma, e->next.address, e->row_bytes_left);
			e->next.is_write = d->is_write;
			e->has_next = true;
			return;
		}
		e->in_request = e->in_request && d->continues;
		e->jobs_issued++;
		e->row = e->plane = 0;
	}
}

/* Extends an access by what it takes of the rows after the present one, side by side with it. */
static void extend(const struct npl_dma *dma, struct engine *e)
{
	const struct npl_dma_descriptor *d = &job_at(e, e->jobs_issued)->descriptor;
	uint64_t room = dma->unit - (dma->unit_mask ? e->next.address & dma->unit_mask : e->next.address % dma->unit);
	uint64_t end = e->next.address + e->row_bytes_left;
	if (e->row_bytes_left >= room || e->plane < d->count[1])
		return;
	e->next.bytes = e->row_bytes_left;
	for (uint64_t i = e->jobs_issued + 1; d->continues && i < e->jobs_pushed && e->next.bytes < room; i++) {
		d = &job_at(e, i)->descriptor;
		if (d->address != end || d->is_write != e->next.is_write || d->count[0] > 1 || d->count[1] > 1)
			return;
		e->next.bytes += d->row_bytes;
		end += d->row_bytes;
	}
	if (e->next.bytes > room)
		e->next.bytes = room;
}

static void push_access(struct npl_dma *dma, struct engine *e)
{
	struct npl_memory_request r = e->next;
	const uint64_t first = e->jobs_issued;
	uint64_t jobs = 0, bytes_left = r.bytes;
	while (bytes_left) { /* from row to row */
		const uint64_t bytes = bytes_left < e->row_bytes_left ? bytes_left : e->row_bytes_left;
		jobs = e->jobs_issued + 1 - first;
		job_at(e, e->jobs_issued)->in_flight++;
		bytes_left -= bytes;
		e->row_bytes_left -= bytes;
		e->next.address += bytes;
		/* A descriptor's last row ends the request here, unless the descriptor `continues`; find_next decides
		 * that. */
		if (!e->row_bytes_left)
			e->in_request = e->in_request && e->plane == job_at(e, e->jobs_issued)->descriptor.count[1];
		find_next(dma, e);
	}
	r.tag = first << TAG_FIRST | jobs << TAG_JOBS | (uint64_t)(e - dma->engine);
	npl_memory_push(dma->memory, &r);
	e->in_flight++;
	dma->n_pushed++;
	dma->n_pushed_now++;
}

static bool can_request(const struct npl_dma *dma, const struct engine *e)
{
	return e->has_next && !(dma->config.outstanding && e->in_flight == (uint64_t)dma->config.outstanding);
}

/* Returns the engine whose turn it is to begin a request; NULL: none has a request. */
static struct engine *next_owner(struct npl_dma *dma)
{
	for (int tried = 0, i = dma->round_robin; tried < dma->engines; tried++) {
		if (can_request(dma, &dma->engine[i]))
			return &dma->engine[i];
		i = i + 1 == dma->engines ? 0 : i + 1;
	}
	return NULL;
}

static void begin_request(struct npl_dma *dma, struct engine *e, uint64_t now)
{
	const int i = (int)(e - dma->engine);
	dma->owner = e;
	dma->round_robin = i + 1 == dma->engines ? 0 : i + 1;
	dma->kept_until = now + (uint64_t)dma->config.request_cycles;
	e->in_request = true;
}

static void begin_cycle(struct npl_dma *dma, uint64_t now)
{
	if (dma->cycle != now) {
		dma->cycle = now;
		dma->n_pushed_now = 0;
	}
}

/* Asks for the accesses of one request after the other. Returns why it stopped. */
static enum obstacle push_in_turn(struct npl_dma *dma)
{
	const uint64_t now = npl_memory_now(dma->memory), limit = (uint64_t)dma->config.accesses_per_cycle;
	begin_cycle(dma, now);
	for (;;) {
		if (dma->owner && !dma->owner->in_request)
			dma->owner = NULL;
		if (!dma->owner && now < dma->kept_until)
			return PORT_KEPT;
		struct engine *e = dma->owner ? dma->owner : next_owner(dma);
		if (!e || !can_request(dma, e))
			return NO_ACCESS; /* it waits for a push, or for an answer */
		if (limit && dma->n_pushed_now == limit)
			return OUT_OF_TURNS;
		if (dma->unit)
			extend(dma, e);
		if (!npl_memory_can_accept(dma->memory, &e->next))
			return REFUSED;
		if (!dma->owner)
			begin_request(dma, e, now);
		push_access(dma, e);
	}
}

/* Asks for all that the memory takes now. Returns why it stopped. */
static enum obstacle push_all(struct npl_dma *dma)
{
	const uint64_t now = npl_memory_now(dma->memory), limit = (uint64_t)dma->config.accesses_per_cycle;
	bool refused = false;
	begin_cycle(dma, now);
	for (int tried = 0, i = dma->round_robin; tried < dma->engines; tried++) {
		struct engine *e = &dma->engine[i];
		i = i + 1 == dma->engines ? 0 : i + 1;
		if (!can_request(dma, e))
			continue;
		if (limit && dma->n_pushed_now == limit)
			return OUT_OF_TURNS;
		if (!npl_memory_can_accept(dma->memory, &e->next)) {
			refused = true;
			continue;
		}
		push_access(dma, e);
		dma->round_robin = i;
		/* A push may make room: a read of what waits to be written is answered from the write queue. */
		refused = false;
		tried = -1;
	}
	return refused ? REFUSED : NO_ACCESS;
}

/* Takes what the memory has answered by now. Returns false when there was nothing. */
static bool take_completions(struct npl_dma *dma)
{
	struct npl_memory_completion completion;
	bool any_completion = false;
	while (npl_memory_completed(dma->memory, &completion)) {
		struct engine *e = &dma->engine[completion.tag % MAX_ENGINES];
		const uint64_t first = completion.tag >> TAG_FIRST,
			       jobs = completion.tag >> TAG_JOBS & ((1 << (TAG_FIRST - TAG_JOBS)) - 1);
		for (uint64_t i = 0; i < jobs; i++)
			job_at(e, first + i)->in_flight--;
		e->in_flight--;
		complete_jobs(dma, e, completion.cycle);
		any_completion = true;
	}
	return any_completion;
}

bool npl_dma_can_push(const struct npl_dma *dma, int engine)
{
	const struct engine *e = &dma->engine[engine];
	return e->jobs_pushed - e->jobs_taken < (uint64_t)dma->config.queue;
}

void npl_dma_push(struct npl_dma *dma, int engine, const struct npl_dma_descriptor *descriptor)
{
	struct engine *e = &dma->engine[engine];
	struct job *job = job_at(e, e->jobs_pushed++);
	struct npl_dma_descriptor *d = &job->descriptor;
	*job = (struct job){.descriptor = *descriptor};
	for (int i = 0; i < 2; i++)
		if (!d->count[i])
			d->count[i] = 1;
	if (d->count[0] == 1) {
		d->count[0] = d->count[1];
		d->stride[0] = d->stride[1];
		d->count[1] = 1;
	}
	while (!(d->separate_rows && dma->config.whole_requests) && d->count[0] > 1 &&
	       d->stride[0] == (int64_t)d->row_bytes) {
		d->row_bytes *= d->count[0];
		d->count[0] = d->count[1];
		d->stride[0] = d->stride[1];
		d->count[1] = 1;
	}
	if (!e->has_next) {
		find_next(dma, e);
		complete_jobs(dma, e, npl_memory_now(dma->memory));
	}
}

bool npl_dma_advance(struct npl_dma *dma, uint64_t until, bool stop)
{
	while (!(stop && dma->untaken)) {
		uint64_t now = npl_memory_now(dma->memory), pushed_before = dma->n_pushed;
		if (now >= until)
			break;
		enum obstacle obstacle = dma->config.whole_requests ? push_in_turn(dma) : push_all(dma);
		if (dma->n_pushed > pushed_before && take_completions(dma))
			continue;
		uint64_t next = obstacle == OUT_OF_TURNS ? now + 1 : obstacle == PORT_KEPT ? dma->kept_until : until;
		npl_memory_advance(dma->memory, next < until ? next : until,
				   NPL_MEMORY_COMPLETION | (obstacle == REFUSED ? NPL_MEMORY_ROOM : 0));
		take_completions(dma);
	}
	return dma->untaken;
}

bool npl_dma_completed(struct npl_dma *dma, int engine, struct npl_memory_completion *completion)
{
	struct engine *e = &dma->engine[engine];
	if (e->jobs_taken == e->jobs_done)
		return false;
	const struct job *job = job_at(e, e->jobs_taken++);
	*completion = (struct npl_memory_completion){job->completion_cycle, job->descriptor.tag};
	dma->untaken--;
	return true;
}

uint64_t npl_dma_kept_until(const struct npl_dma *dma)
{
	return dma->kept_until;
}

uint64_t npl_dma_pending(const struct npl_dma *dma)
{
	uint64_t n = 0;
	for (int i = 0; i < dma->engines; i++)
		n += dma->engine[i].jobs_pushed - dma->engine[i].jobs_taken;
	return n;
}

/* Returns the tag with the number of the job counted from the first one that has not completed. */
static uint64_t relative_tag(const void *asker, uint64_t tag)
{
	const struct npl_dma *dma = asker;
	return tag - (dma->engine[tag % MAX_ENGINES].jobs_done << TAG_FIRST);
}

static void add_engine(const struct engine *e, uint64_t now, struct npl_memory_words *words)
{
	npl_memory_add_word(words, e->jobs_done - e->jobs_taken);
	npl_memory_add_word(words, e->jobs_issued - e->jobs_done);
	npl_memory_add_word(words, e->jobs_pushed - e->jobs_issued);
	npl_memory_add_word(words, (uint64_t)e->in_request);
	npl_memory_add_word(words, e->row);
	npl_memory_add_word(words, e->plane);
	npl_memory_add_word(words, e->row_bytes_left);
	for (uint64_t i = e->jobs_taken; i < e->jobs_pushed; i++) {
		const struct job *job = job_at(e, i);
		npl_memory_add_word(words, job->descriptor.tag);
		npl_memory_add_word(words, i < e->jobs_done ? now - job->completion_cycle : job->in_flight);
		if (i < e->jobs_issued)
			continue;
		npl_memory_add_word(words, job->descriptor.row_bytes);
		npl_memory_add_word(words, job->descriptor.count[0]);
		npl_memory_add_word(words, job->descriptor.count[1]);
		npl_memory_add_word(words, 2u * job->descriptor.continues + job->descriptor.is_write);
	}
}

bool npl_dma_relative_state(const struct npl_dma *dma, struct npl_memory_words *words)
{
	const uint64_t now = npl_memory_now(dma->memory);
	if (dma->unit || !npl_memory_relative_state(dma->memory, words, relative_tag, dma))
		return false;
	npl_memory_add_word(words, (uint64_t)dma->round_robin);
	npl_memory_add_word(words, dma->owner ? 1 + (uint64_t)(dma->owner - dma->engine) : 0);
	npl_memory_add_word(words, dma->kept_until > now ? dma->kept_until - now : 0);
	npl_memory_add_word(words, dma->cycle == now ? dma->n_pushed_now : 0);
	for (int i = 0; i < dma->engines; i++)
		add_engine(&dma->engine[i], now, words);
	return true;
}
