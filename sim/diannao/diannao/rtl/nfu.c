/* SPDX-License-Identifier: MIT
 *
 * The registers of the NFU and how they move (Chen et al., ASPLOS 2014, sections 5.1 and 7.1: pipelines of 3, 2 and 3
 * stages):
 *
 *     operands | products ... | products | terms ... | sums | sums | results ... | NBout
 *     1st         other           1st       other             1st     other
 *     -------- NFU-1 --------   -------- NFU-2 --------     -------- NFU-3 --------
 *
 * A stage has its registers in front of it. Its results are in the registers of the next stage at the next boundary;
 * those of the last stage are in NBout. Multiplication is NFU-1's first stage, the trees are NFU-2's first, the
 * function is NFU-3's first; the other stages pass values on. (Where within a unit the work is done makes no difference
 * outside it.) NFU-2's last stage adds to its sums; there partial sums come from NBout and go to it. An instruction
 * without NFU-1 OP begins in NFU-2's first registers. */
#include "rtl.h"

#include <stdlib.h>
#include <string.h>

#include "core/q16/q16.h"

static bool open_pipe(struct dn_rtl_pipe *pipe, int64_t n)
{
	pipe->n = n;
	pipe->bundle = calloc((size_t)n + 1, sizeof *pipe->bundle);
	return pipe->bundle != NULL;
}

/* Returns the index of register k in the pipeline. */
static int64_t register_index(const struct dn_rtl_pipe *pipe, int64_t k)
{
	const int64_t index = pipe->newest + k;
	return index < pipe->n ? index : index - pipe->n;
}

/* Moves every register's content to the next register and empties the first. Returns the first one's place. */
static int64_t shift(struct dn_rtl_pipe *pipe)
{
	pipe->newest = register_index(pipe, pipe->n - 1);
	pipe->bundle[pipe->newest].present = false;
	return pipe->newest;
}

int dn_rtl_nfu_open(struct dn_rtl *rtl)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	const struct dn_config *config = rtl->config;
	const size_t tn = (size_t)(nfu->tn = rtl->tn), word = sizeof *nfu->sum;
	bool allocated = open_pipe(&nfu->product, config->nfu1_stages) &&
			 open_pipe(&nfu->term, config->nfu2_stages - 1) && open_pipe(&nfu->result, config->nfu3_stages);
	if (allocated && rtl->engine_input->memory.bytes) {
		nfu->input = calloc(tn, sizeof *nfu->input);
		nfu->synapse = calloc(tn * tn, sizeof *nfu->synapse);
		nfu->products = calloc((size_t)nfu->product.n, tn * tn * sizeof *nfu->products);
		nfu->terms = calloc((size_t)nfu->term.n + 1, tn * word);
		nfu->sum = calloc(tn, word);
		nfu->exact = calloc(tn, word);
		nfu->results = calloc((size_t)nfu->result.n, tn * word);
		nfu->scratch = calloc(tn, word);
		nfu->last_input = calloc(tn, sizeof *nfu->last_input);
		nfu->last_factor = calloc(tn, sizeof *nfu->last_factor);
		nfu->last_synapse = calloc(tn * tn, sizeof *nfu->last_synapse);
		allocated = nfu->last_input && nfu->last_factor && nfu->last_synapse && nfu->input && nfu->synapse &&
			    nfu->products && nfu->terms && nfu->sum && nfu->exact && nfu->results && nfu->scratch;
	}
	return allocated ? 0 : npl_fail(rtl->err, NPL_ENOMEM, "out of memory for the NFU of the rtl engine");
}

void dn_rtl_nfu_close(struct dn_rtl *rtl)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	void *const all[] = {nfu->product.bundle, nfu->term.bundle, nfu->result.bundle, nfu->input,       nfu->synapse,
			     nfu->products,       nfu->terms,       nfu->sum,           nfu->exact,       nfu->results,
			     nfu->scratch,        nfu->last_input,  nfu->last_factor,   nfu->last_synapse};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
}

/* Returns the values of the register in place `index`; NULL: timing only. */
static int64_t *words(const struct dn_rtl_nfu *nfu, int64_t *value, int64_t index)
{
	return value ? value + index * nfu->tn : NULL;
}

static int32_t *products(const struct dn_rtl_nfu *nfu, int64_t index)
{
	return nfu->products ? nfu->products + index * nfu->tn * nfu->tn : NULL;
}

/* Writes results into NBout. */
static void write_results(struct dn_rtl *rtl, const struct dn_rtl_bundle *bundle, const int64_t *result)
{
	struct dn_rtl_request *store = dn_rtl_fifo_at(&rtl->dma[DN_DMA_NBOUT].request, bundle->store);
	store->filled_bytes += (uint64_t)bundle->lanes * (bundle->wide ? 4 : 2);
	rtl->outcome->counters.nbout_rows += (uint64_t)bundle->rows;
	if (rtl->engine_input->memory.bytes)
		dn_rtl_results_write(&rtl->nbout, bundle->row, result, bundle->lanes, bundle->wide);
}

/* Clocks NFU-3. Its first stage applies the segments, and the last stage's results go to NBout. */
static void clock_nfu3(struct dn_rtl *rtl)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	struct dn_counters *n = &rtl->outcome->counters;
	const int64_t first = register_index(&nfu->result, 0), last = register_index(&nfu->result, nfu->result.n - 1);
	const struct dn_rtl_bundle *bundle = &nfu->result.bundle[first];
	if (bundle->present && bundle->stores) {
		n->nfu3_operations += (uint64_t)bundle->lanes;
		if (rtl->engine_input->memory.bytes)
			dn_rtl_function(bundle, bundle->nfu3 ? &rtl->engine_input->function[bundle->nfu3 - 1] : NULL,
					words(nfu, nfu->results, first), n);
	}
	bundle = &nfu->result.bundle[last];
	if (bundle->present) {
		if (bundle->stores)
			write_results(rtl, bundle, words(nfu, nfu->results, last));
		nfu->in_flight--;
	}
	shift(&nfu->result);
}

/* Sets the sums before the first step of an instruction. */
static void begin_sums(struct dn_rtl *rtl, const struct dn_rtl_bundle *bundle)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	if (bundle->in == DN_FROM_NBOUT)
		rtl->outcome->counters.nbout_rows += (uint64_t)rtl->nbout.sum_rows;
	if (!rtl->engine_input->memory.bytes)
		return;
	if (bundle->in == DN_FROM_NBOUT)
		dn_rtl_sums_read(&rtl->nbout, bundle->sums, nfu->sum, nfu->exact);
	for (int64_t i = 0; i < nfu->tn && bundle->in == DN_FROM_RESET; i++)
		nfu->sum[i] = nfu->exact[i] = bundle->nfu2 == DN_MAXIMUM ? -((int64_t)1 << (rtl->config->sum_bits - 1))
									 : 0;
}

static void count_wraps(const struct dn_rtl_nfu *nfu, const struct dn_rtl_bundle *bundle, struct dn_counters *counters)
{
	for (int64_t i = 0; i < bundle->lanes && bundle->nfu2 == DN_ADD; i++)
		counters->sum_wraps += nfu->sum[i] != nfu->exact[i];
}

/* Sends the sums after the last step to NFU-3's first registers or to NBout, or keeps them. */
static void end_sums(struct dn_rtl *rtl, const struct dn_rtl_bundle *bundle)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	struct dn_counters *n = &rtl->outcome->counters;
	const bool values = rtl->engine_input->memory.bytes != NULL;
	const size_t bytes = (size_t)nfu->tn * sizeof *nfu->sum;
	if (values && bundle->stores)
		count_wraps(nfu, bundle, n);
	if (bundle->out == DN_TO_NFU3) {
		nfu->result.bundle[register_index(&nfu->result, 0)] = *bundle;
		if (values)
			memcpy(words(nfu, nfu->results, register_index(&nfu->result, 0)), nfu->sum, bytes);
	} else if (bundle->out == DN_TO_NBOUT && bundle->stores) {
		if (values) {
			memcpy(nfu->scratch, nfu->sum, bytes);
			if (!bundle->wide)
				dn_rtl_shift(bundle, nfu->scratch, n);
		}
		write_results(rtl, bundle, nfu->scratch);
	} else if (bundle->out == DN_TO_NBOUT) {
		n->nbout_rows += (uint64_t)rtl->nbout.sum_rows;
		if (values)
			dn_rtl_sums_write(&rtl->nbout, bundle->sums, nfu->sum, nfu->exact);
	}
}

/* Does the last stage of NFU-2. */
static void accumulate(struct dn_rtl *rtl, const struct dn_rtl_bundle *bundle, const int64_t *term)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	if (!bundle->present)
		return;
	if (bundle->first)
		begin_sums(rtl, bundle);
	if (rtl->engine_input->memory.bytes)
		dn_rtl_accumulate(bundle, rtl->config->sum_bits, nfu->tn, term, nfu->sum, nfu->exact);
	if (bundle->last)
		end_sums(rtl, bundle);
	nfu->in_flight -= !bundle->last || bundle->out != DN_TO_NFU3;
}

/* Does the first stage of NFU-2. */
static void make_terms(const struct dn_rtl *rtl, const struct dn_rtl_bundle *bundle, const int32_t *product,
		       int64_t *term)
{
	const int64_t tn = rtl->nfu.tn;
	if (!bundle->present || !rtl->engine_input->memory.bytes)
		return;
	if (bundle->nfu1 == DN_MULT)
		dn_rtl_trees(tn, product, term);
	else
		for (int64_t i = 0; i < tn; i++)
			term[i] = product[i];
}

static void clock_nfu2(struct dn_rtl *rtl)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	const int64_t from = register_index(&nfu->product, nfu->product.n - 1);
	const struct dn_rtl_bundle *bundle = &nfu->product.bundle[from];
	if (!nfu->term.n) { /* one stage does both */
		make_terms(rtl, bundle, products(nfu, from), nfu->terms);
		accumulate(rtl, bundle, nfu->terms);
		return;
	}
	const int64_t last = register_index(&nfu->term, nfu->term.n - 1);
	accumulate(rtl, &nfu->term.bundle[last], words(nfu, nfu->terms, last));
	const int64_t to = shift(&nfu->term);
	nfu->term.bundle[to] = *bundle;
	make_terms(rtl, bundle, products(nfu, from), words(nfu, nfu->terms, to));
}

/* Clocks the first stage of NFU-1. */
static void clock_nfu1(struct dn_rtl *rtl)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	const bool rounded = rtl->config->product == NPL_Q16_ROUNDED;
	const int64_t to = shift(&nfu->product);
	const struct dn_rtl_bundle *last = &nfu->product.bundle[register_index(&nfu->product, nfu->product.n - 1)];
	nfu->product.bundle[to] = nfu->operands;
	nfu->in_nfu1 -= last->present;
	if (!nfu->operands.present || !rtl->engine_input->memory.bytes)
		return;
	int32_t *product = products(nfu, to);
	if (nfu->operands.nfu1 == DN_MULT)
		rtl->outcome->counters.product_saturations += dn_rtl_multiply(rounded, nfu->tn, nfu->input,
									      nfu->synapse, product);
	else
		dn_rtl_biases(rounded, nfu->operands.first, nfu->tn, nfu->synapse, product);
}

static void count_activity(struct dn_rtl *rtl, const struct dn_rtl_bundle *step)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	struct dn_counters *counters = &rtl->outcome->counters;
	if (rtl->step_nbin < 0)
		return;
	const int16_t *input = dn_rtl_row(&rtl->nbin, rtl->step_nbin);
	dn_rtl_count_input(nfu->tn, input, nfu->last_input, counters);
	if (step->nfu1 == DN_MULT)
		dn_rtl_count_products(nfu->tn, input, dn_rtl_row(&rtl->sb, rtl->step_sb), nfu->last_factor,
				      nfu->last_synapse, counters);
}

/* Reads the rows of the step that was taken into the first registers that the step uses. */
static void read_rows(struct dn_rtl *rtl)
{
	struct dn_rtl_nfu *nfu = &rtl->nfu;
	const struct dn_rtl_bundle *step = &rtl->step;
	const bool values = rtl->engine_input->memory.bytes != NULL;
	nfu->operands.present = false;
	if (!step->present)
		return;
	if (values && dn_counts_activity(rtl->config))
		count_activity(rtl, step);
	const int64_t last = register_index(&nfu->product, nfu->product.n - 1);
	const int16_t *input = values && rtl->step_nbin >= 0 ? dn_rtl_row(&rtl->nbin, rtl->step_nbin) : NULL;
	if (step->nfu1 == DN_NFU1_NOP) {
		nfu->product.bundle[last] = *step;
		for (int64_t i = 0; i < nfu->tn && values; i++)
			products(nfu, last)[i] = input ? input[i] : 0;
		return;
	}
	nfu->operands = *step;
	nfu->in_nfu1++;
	if (!values)
		return;
	const size_t row = (size_t)nfu->tn * sizeof *nfu->input;
	if (input)
		memcpy(nfu->input, input, row);
	else
		memset(nfu->input, 0, row);
	if (rtl->step_sb >= 0)
		memcpy(nfu->synapse, dn_rtl_row(&rtl->sb, rtl->step_sb), (size_t)nfu->tn * row);
	else
		memset(nfu->synapse, 0, (size_t)nfu->tn * row);
}

/* Moves from the last registers to the first, so that each stage sees the registers in front of it as they were. */
void dn_rtl_nfu_clock(struct dn_rtl *rtl)
{
	rtl->progress |= rtl->nfu.in_flight > 0;
	clock_nfu3(rtl);
	clock_nfu2(rtl);
	clock_nfu1(rtl);
	read_rows(rtl);
}
