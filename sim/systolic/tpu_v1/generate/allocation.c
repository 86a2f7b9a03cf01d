/* SPDX-License-Identifier: MIT
 *
 * Allocation of rows of the unified buffer (generate.h): first fit (fit.c) over allocations with known lifetimes. When
 * they do not all fit, the batch is run in as few parts as make them fit. Then as many of the last groups as possible
 * are run in fewer parts: in networks the activations are large at the beginning, and the weights, which every part
 * fetches again, at the end. When single images are still too much, given tensors and outputs pass through host memory
 * part by part, the largest first. */
#include <stdlib.h>

#include "impl.h"

#define MAX_REUSE_DELAY 16   /* groups: two cells of an LSTM */
#define MAX_ONE_BY_ONE  64   /* stores sent to host memory with a new layout after each */
#define MAX_BY_SIZE     4096 /* allocations: placing the largest first takes time by their square */

/* Says whether all allocations get rows with the groups' present numbers of parts. */
static bool fits(struct tpu_gen *gen)
{
	tpu_gen_lifetimes(gen);
	if (tpu_gen_peak_rows(gen) > gen->buffer_rows) /* no order of placing can help */
		return false;
	return tpu_gen_place_all(gen, false) < 0 ||
	       (gen->n_allocations <= MAX_BY_SIZE && tpu_gen_place_all(gen, true) < 0);
}

/* Places all allocations once more so that rows which were given up are not taken again for as many groups as the
 * buffer allows. A unit that writes where another unit has just read has to wait for it. */
static void spread(struct tpu_gen *gen)
{
	for (gen->reuse_delay = MAX_REUSE_DELAY; gen->reuse_delay > 0; gen->reuse_delay /= 2)
		if (tpu_gen_place_all(gen, false) < 0)
			return;
	fits(gen);
}

static void set_parts(struct tpu_gen *gen, int first, int end, int64_t parts)
{
	for (int g = first; g < end; g++)
		gen->group[g].parts = parts;
}

/* Finds the fewest parts, the same for all groups, that fit, by doubling and halving. Returns 0 where not even single
 * images fit. */
static int64_t parts_for_all(struct tpu_gen *gen)
{
	int64_t low = 0, high = 1; /* low parts are too few */
	for (;; low = high, high = 2 * high < gen->images ? 2 * high : gen->images) {
		set_parts(gen, 0, gen->n_groups, high);
		if (fits(gen))
			break;
		if (high >= gen->images)
			return 0;
	}
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;
		set_parts(gen, 0, gen->n_groups, middle);
		*(fits(gen) ? &high : &low) = middle;
	}
	return high;
}

/* Does as many as possible of the last groups before `end` in `parts` parts, the others in `parts_before`. Returns the
 * first group with fewer parts. */
static int set_parts_from_end(struct tpu_gen *gen, int end, int64_t parts, int64_t parts_before)
{
	int low = 0, high = end; /* with `parts` from group high on it fits */
	while (low < high) {
		int middle = low + (high - low) / 2;
		set_parts(gen, middle, high, parts);
		if (fits(gen)) {
			high = middle;
		} else {
			set_parts(gen, middle, high, parts_before);
			low = middle + 1;
		}
	}
	return high;
}

/* Finds the parts of all groups. Returns false where not even single images fit. */
static bool split_batch(struct tpu_gen *gen)
{
	int64_t max_parts = parts_for_all(gen);
	int end = gen->n_groups;
	if (max_parts == 0)
		return false;
	set_parts(gen, 0, gen->n_groups, max_parts);
	for (int64_t parts = 1; parts < max_parts; parts *= 2)
		end = set_parts_from_end(gen, end, parts, max_parts);
	return fits(gen);
}

static int64_t bytes_of(const struct tpu_gen_store *store)
{
	return store->image.images * store->image.channels * store->image.size[0] * store->image.size[1] *
	       tpu_planes(store->type);
}

/* Sets gen->images to the number of images if all tensors have the same, else to 0; only then can the batch be
 * split. */
static void find_images(struct tpu_gen *gen)
{
	gen->images = gen->store[0].image.images;
	for (int s = 0; s < gen->n_stores; s++)
		if (gen->store[s].image.images != gen->images)
			gen->images = 0;
}

/* Gives host addresses to the stores whose home is host memory. NPL_EDEVICE: they take more than 4 GiB. */
static int place_in_host(struct tpu_gen *gen)
{
	for (int s = 0; s < gen->n_stores; s++) {
		struct tpu_gen_store *store = &gen->store[s];
		if (store->absent || !(store->staged_in_parts || store->staged_in_strips))
			continue;
		store->host_address = gen->host_bytes;
		gen->host_bytes += bytes_of(store);
		if (gen->host_bytes > (int64_t)1 << 32)
			return npl_fail(gen->err, NPL_EDEVICE,
					"the tensors that go through host memory take more than the 4 GiB that "
					"programs reach");
	}
	return 0;
}

static void report(struct tpu_gen *gen)
{
	struct tpu_generated *g = gen->generated;
	g->parts = 1;
	g->peak_rows = tpu_gen_peak_rows(gen);
	for (int i = 0; i < gen->n_groups; i++)
		g->parts = gen->group[i].parts > g->parts ? gen->group[i].parts : g->parts;
}

static int lay_out(struct tpu_gen *gen)
{
	gen->weight_rows = 0;
	return tpu_gen_layout(gen);
}

/* The store of a given tensor or an output that may go to host memory. */
struct candidate {
	int64_t bytes;
	int store;
};

static int largest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->store - y->store;
}

static int find_candidates(struct tpu_gen *gen, struct candidate **candidate)
{
	int n = 0;
	*candidate = npl_arena_array(&gen->arena, (size_t)gen->n_stores, sizeof **candidate);
	if (!*candidate)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
	for (int s = 0; s < gen->n_stores; s++) {
		const struct tpu_gen_store *store = &gen->store[s];
		if (!store->absent && !store->staged_in_parts && (store->maker < 0 || store->is_output) &&
		    bytes_of(store) > 0)
			(*candidate)[n++] = (struct candidate){bytes_of(store), s};
	}
	qsort(*candidate, (size_t)n, sizeof **candidate, largest_first);
	return n;
}

/* Sets whether candidates first to end - 1 have their home in host memory, and lays out anew. *fits becomes whether all
 * fits. */
static int try_in_host_memory(struct tpu_gen *gen, const struct candidate *candidate, int first, int end,
			      bool in_host_memory, bool *fits)
{
	for (int i = first; i < end; i++)
		gen->store[candidate[i].store].staged_in_parts = in_host_memory;
	int rc = lay_out(gen);
	if (!rc)
		*fits = split_batch(gen);
	return rc;
}

/* Sends the largest stores of given tensors and outputs to host memory, as few as make the others fit. It tries one
 * more at a time at first, and beyond that doubles and halves their number, so that a network of very many layers is
 * laid out a few times and not once for each store. */
static int send_home(struct tpu_gen *gen, bool *fits)
{
	struct candidate *candidate;
	int low = 0, high = 0, step = 1; /* with `low` stores at home in host memory it does not fit */
	const int n = find_candidates(gen, &candidate);
	int rc = n < 0 ? n : 0;
	for (; !rc && !*fits && high < n; step = high < MAX_ONE_BY_ONE ? 1 : 2 * step) {
		low = high;
		high = n - low < step ? n : low + step;
		rc = try_in_host_memory(gen, candidate, low, high, true, fits);
	}
	if (rc || !*fits || high - low < 2)
		return rc;
	int now = high; /* the number of stores that are at home there */
	while (!rc && high - low > 1) {
		const int middle = low + (high - low) / 2;
		rc = try_in_host_memory(gen, candidate, middle < now ? middle : now, middle < now ? now : middle,
					middle > now, fits);
		now = middle;
		*(*fits ? &high : &low) = middle;
	}
	return rc || now == high ? rc : try_in_host_memory(gen, candidate, now, high, true, fits);
}

int tpu_gen_allocate(struct tpu_gen *gen)
{
	tpu_gen_groups(gen);
	for (int s = 0; s < gen->n_stores; s++)
		gen->store[s].staged_in_parts = tpu_gen_crosses_link(gen, &gen->store[s]);
	if (lay_out(gen))
		return NPL_ENOMEM;
	find_images(gen);
	bool fits = split_batch(gen);
	int rc = fits ? 0 : send_home(gen, &fits);
	if (!rc && !fits)
		rc = tpu_gen_stream(gen);
	if (rc)
		return rc;
	if (fits)
		spread(gen);
	report(gen);
	if (gen->out_of_memory)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the allocations of %d layers", gen->n_layers);
	return place_in_host(gen);
}
