/* SPDX-License-Identifier: MIT
 *
 * Least bytes (least_bytes.h). A pass is work that a machine does in one go, such as a convolution with the activation
 * after it. Operators that only move elements are assumed to cost nothing, because a machine may read their inputs in
 * place. */
#include "least_bytes.h"

#include <stdlib.h>

#include "core/base/refuse.h"
#include "core/ops/window.h"

/* Passes are layers of the group; these stand for none and for several. */
enum { NO_PASS = -1, MANY_PASSES = -2 };

static bool only_moves(const struct npl_layer *layer)
{
	return npl_op_defs[layer->op].flags & (NPL_OP_IS_VIEW | NPL_OP_ANY_TYPE | NPL_OP_BY_SHAPE);
}

static bool slides_a_window(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_CONV || layer->op == NPL_OP_MAXPOOL || layer->op == NPL_OP_AVERAGEPOOL;
}

static enum npl_crossing crossing_of(const struct npl_layer *layer, int k)
{
	if (!k || k > 2 || !npl_layer_has_weights(layer))
		return NPL_CROSS_ACTIVATIONS;
	return k == 1 ? NPL_CROSS_WEIGHTS : NPL_CROSS_BIASES;
}

/* Returns the tensor's bytes in the device's memory. A device whose elements are narrower than float32 is taken to keep
 * integers in the same ratio. */
static uint64_t tensor_bytes(const struct npl_device_info *info, const struct npl_tensor *tensor)
{
	const uint64_t bytes = npl_tensor_bytes(tensor);
	return info->element_bytes && info->element_bytes < sizeof(float) ? bytes * info->element_bytes / sizeof(float)
									  : bytes;
}

/* Returns the bytes of input k that are read: those that a window covers, where one slides over it. */
static uint64_t read_bytes(const struct npl_device_info *info, const struct npl_layer *layer, int k)
{
	const struct npl_tensor *x = layer->in[k];
	const struct npl_image in = npl_image_of(&x->shape), out = npl_image_of(&layer->out->shape);
	const struct npl_window *window = slides_a_window(layer) ? npl_op_window(layer->op, layer->attrs) : NULL;
	uint64_t bytes = tensor_bytes(info, x);
	if (!npl_tensor_count(layer->out) || npl_op_defs[layer->op].flags & NPL_OP_NEEDS_VALUES)
		return 0;
	if (k || !window || x->shape.rank < 3)
		return bytes;
	for (int d = 0; d < x->shape.rank - 2; d++) {
		const int index = npl_window_index(x->shape.rank - 2, d);
		if (in.size[index])
			bytes = bytes / (uint64_t)in.size[index] *
				(uint64_t)npl_window_touched(window, index, in.size[index], out.size[index]);
	}
	return bytes;
}

static void add(const struct npl_device_info *info, enum npl_crossing crossing, uint64_t bytes,
		struct npl_least_bytes *least)
{
	for (int level = 0; level < NPL_MEM_LEVELS; level++)
		if (info->crosses[level] & crossing)
			least->bytes[level] += bytes;
}

/* Says whether the layer reads the tensor as one of its first n inputs. */
static bool reads(const struct npl_layer *layer, const struct npl_tensor *tensor, int n)
{
	for (int k = 0; k < n; k++)
		if (layer->in[k] == tensor)
			return true;
	return false;
}

struct npl_least_bytes npl_least_bytes_of(const struct npl_device_info *info, const struct npl_layer *layer)
{
	struct npl_least_bytes least = {0};
	if (!npl_device_kind_is_modelled(info->kind) || only_moves(layer))
		return least;
	for (int k = 0; k < npl_layer_outputs(layer); k++)
		add(info, NPL_CROSS_ACTIVATIONS, tensor_bytes(info, &layer->out[k]), &least);
	for (int k = 0; k < layer->n_in; k++)
		if (layer->in[k] && !reads(layer, layer->in[k], k))
			add(info, crossing_of(layer, k), read_bytes(info, layer, k), &least);
	return least;
}

/* A layer of a group. For a layer that only moves elements, `origin` is the last pass that computed any of them, and
 * `readers` are those of its result. */
struct member {
	const struct npl_layer *layer;
	int index;      /* index in the group */
	int pass;       /* pass that makes its results; NO_PASS: it only moves elements */
	int first_pass; /* pass that reads its inputs */
	int earlier;    /* index of the last member before this one that has the same first_pass; -1: none */
	int origin;     /* the pass that made its results; NO_PASS: they were given */
	/* The pass that reads each result; NO_PASS: none, MANY_PASSES: several, or the result is an output. */
	int readers[NPL_MAX_OUTPUTS];
};

struct members {
	int n;
	struct member *member;           /* members in the order of the group */
	const struct member **by_result; /* members in the order of their results' addresses */
	int *last_of_pass;               /* the last member with each first_pass, while members are filled in */
};

static int compare_results(const void *a, const void *b)
{
	const struct npl_tensor *x = (*(const struct member *const *)a)->layer->out,
				*y = (*(const struct member *const *)b)->layer->out;
	return (x > y) - (x < y);
}

/* Returns the member that makes the tensor, as its result *k; NULL: the tensor is given. */
static struct member *find_producer(const struct members *m, const struct npl_tensor *tensor, int *k)
{
	int low = 0, high = m->n; /* results at by_result[low - 1] and before begin at or below the tensor */
	while (low < high) {
		const int middle = (low + high) / 2;
		if (m->by_result[middle]->layer->out <= tensor)
			low = middle + 1;
		else
			high = middle;
	}
	const struct member *producer = low ? m->by_result[low - 1] : NULL;
	if (!tensor || !producer || tensor > producer->layer->out + producer->layer->n_further)
		return NULL;
	*k = (int)(tensor - producer->layer->out);
	return &m->member[producer->index];
}

static int merge_readers(int a, int b)
{
	return a == b || b == NO_PASS ? a : a == NO_PASS ? b : MANY_PASSES;
}

/* Finds, from the first layer to the last, the passes that the elements of each come from. */
static void find_origins(struct members *m)
{
	int k;
	for (int i = 0; i < m->n; i++) {
		struct member *member = &m->member[i];
		member->origin = member->pass;
		for (int in = 0; in < member->layer->n_in && member->pass == NO_PASS; in++) {
			const struct member *producer = find_producer(m, member->layer->in[in], &k);
			if (producer && producer->origin > member->origin)
				member->origin = producer->origin;
		}
	}
}

/* Finds, from the last layer to the first, the readers of each layer's results. */
static void find_readers(struct members *m, const struct npl_layer_group *group)
{
	int k;
	for (int w = 0; w < group->n_outputs; w++) {
		struct member *producer = find_producer(m, group->output[w], &k);
		if (producer)
			producer->readers[k] = MANY_PASSES;
	}
	for (int i = m->n - 1; i >= 0; i--) {
		const struct member *member = &m->member[i];
		int reader = member->first_pass;
		for (int out = 0; out < npl_layer_outputs(member->layer) && member->pass == NO_PASS; out++)
			reader = merge_readers(reader, member->readers[out]);
		for (int in = 0; in < member->layer->n_in; in++) {
			struct member *producer = find_producer(m, member->layer->in[in], &k);
			if (producer)
				producer->readers[k] = merge_readers(producer->readers[k], reader);
		}
	}
}

/* Says whether an earlier layer of the pass reads the tensor as well. */
static bool is_read_before(const struct members *m, const struct member *member, const struct npl_tensor *tensor)
{
	for (int i = member->earlier; i >= 0; i = m->member[i].earlier)
		if (reads(m->member[i].layer, tensor, m->member[i].layer->n_in))
			return true;
	return false;
}

static void count_member(const struct npl_device_info *info, const struct members *m, const struct member *member,
			 struct npl_least_bytes *least)
{
	const struct npl_layer *layer = member->layer;
	int result;
	for (int k = 0; k < npl_layer_outputs(layer); k++)
		if (member->readers[k] != NO_PASS && member->readers[k] != member->pass)
			add(info, NPL_CROSS_ACTIVATIONS, tensor_bytes(info, &layer->out[k]), &least[member->pass]);
	for (int k = 0; k < layer->n_in; k++) {
		const struct npl_tensor *in = layer->in[k];
		const struct member *producer = in ? find_producer(m, in, &result) : NULL;
		if (!in || (producer && producer->origin == member->first_pass) || reads(layer, in, k) ||
		    is_read_before(m, member, in))
			continue;
		const enum npl_crossing crossing = crossing_of(layer, k);
		add(info, crossing, read_bytes(info, layer, k),
		    &least[crossing == NPL_CROSS_ACTIVATIONS ? member->first_pass : member->index]);
	}
}

/* Returns the pass that a driver names for layer i. A pass that is none of the group's does not free a layer of its
 * bytes. */
static int named_pass(const int *pass, int i, int n)
{
	return pass && pass[i] >= 0 && pass[i] < n ? pass[i] : i;
}

static void fill_members(struct members *m, const struct npl_layer_group *group,
			 const struct npl_layer_group_info *group_info)
{
	for (int i = 0; i < m->n; i++)
		m->last_of_pass[i] = -1;
	for (int i = 0; i < m->n; i++) {
		const struct npl_layer *layer = group->layer[i];
		const bool is_move = only_moves(layer);
		m->member[i] = (struct member){.layer = layer,
					       .index = i,
					       .pass = is_move ? NO_PASS : named_pass(group_info->pass, i, m->n),
					       .first_pass = is_move ? NO_PASS
								     : named_pass(group_info->first_pass
											  ? group_info->first_pass
											  : group_info->pass,
										  i, m->n)};
		int *last = is_move ? NULL : &m->last_of_pass[m->member[i].first_pass];
		m->member[i].earlier = last ? *last : -1;
		if (last)
			*last = i;
		for (int k = 0; k < NPL_MAX_OUTPUTS; k++)
			m->member[i].readers[k] = NO_PASS;
		m->by_result[i] = &m->member[i];
	}
	qsort(m->by_result, (size_t)m->n, sizeof *m->by_result, compare_results);
}

int npl_least_bytes_of_group(const struct npl_device_info *info, const struct npl_layer_group *group,
			     const struct npl_layer_group_info *group_info, struct npl_least_bytes *least,
			     struct npl_err *err)
{
	struct members m = {.n = group->n};
	for (int i = 0; i < m.n; i++)
		least[i] = (struct npl_least_bytes){0};
	if (!npl_device_kind_is_modelled(info->kind) || m.n < 1)
		return 0;
	m.member = calloc((size_t)m.n, sizeof *m.member);
	m.by_result = calloc((size_t)m.n, sizeof *m.by_result);
	m.last_of_pass = calloc((size_t)m.n, sizeof *m.last_of_pass);
	const bool allocated = m.member && m.by_result && m.last_of_pass;
	if (allocated) {
		fill_members(&m, group, group_info);
		find_origins(&m);
		find_readers(&m, group);
	}
	for (int i = 0; allocated && i < m.n; i++)
		if (m.member[i].pass != NO_PASS)
			count_member(info, &m, &m.member[i], least);
	free(m.member);
	free(m.by_result);
	free(m.last_of_pass);
	return allocated ? 0 : npl_no_memory(err);
}
