/* SPDX-License-Identifier: MIT
 *
 * Which steps of a plan become chains, and of what layers and tensors (chain.h). A chain begins and ends with a layer that its
 * device runs; between them lie more of these, what is fused into them, and views. Where the device cannot do them
 * together the chain ends earlier. */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

#include "npulab/quantise.h"
#include "split.h"
#include "written.h"

/* A chain being put together. */
struct draft {
	struct npl_session *s;
	struct npl_session_chain c;
	struct npl_step_tensors *tensors; /* per layer */
	struct npl_tensor **made;         /* per value: as the chain's layers make it; NULL: they do not */
	const struct npl_tensor **wanted, **kept, **constant;
	int n_kept, n_constant;
};

static bool has_chains(const struct npl_session *s, const struct npl_step *step)
{
	return step->role == NPL_RAN && !step->factor && step->repeat <= 1 && step->device != NPL_ON_HOST &&
	       npl_device_has_chains(s->device[step->device]);
}

/* Reads of node's inputs that a device sees as values. */
static int data_inputs(const struct npl_step *step)
{
	return step->canonical ? 1 : step->n_in;
}

/* Whether the step that makes value v makes it in the shape that others see. */
static bool made_as_seen(const struct npl_session *s, int v)
{
	for (int i = s->graph->value[v].producer; i >= 0; i--)
		if (s->step[i].role == NPL_RAN && s->step[i].out == v)
			return npl_shape_equal(&s->step[i].y_shape, &s->graph->value[v].shape);
	return true;
}

static bool same_quant(const struct npl_quant *a, const struct npl_quant *b)
{
	return !(a->scale < b->scale) && !(a->scale > b->scale) && a->zero_point == b->zero_point;
}

/* Integers that the model itself has come with the scale and zero point of the step that makes them: inside a chain the
 * reader's must be the same. */
static bool made_as_read(const struct npl_session *s, const struct npl_step *step, int v)
{
	const struct npl_quant made = npl_written_quant(s, v);
	return !step->written || same_quant(&made, &step->x_quant);
}

/* On a real GPU, whose link is far slower than its memory, a layer that names a tensor in another shape costs nothing; a simulated
 * machine's chain ends there. */
static bool renames(const struct npl_session *s, int device)
{
	return npl_device_get_info(s->device[device])->link.measured;
}

/* Whether node i can go on with a chain that began at node `first`: canonical forms see some values in another shape, and
 * inside a chain a tensor has but one, unless the device renames it. */
static bool goes_on(const struct npl_session *s, int first, int i)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	if (step->role == NPL_FUSED)
		return true;
	if (step->role != NPL_VIEW &&
	    (!has_chains(s, step) || step->device != s->step[first].device || step->plain != s->step[first].plain))
		return false;
	if (step->role == NPL_VIEW && s->step[first].plain && !(npl_op_defs[node->op].flags & NPL_OP_IS_VIEW))
		return false; /* it changes the form */
	for (int k = 0; k < (step->role == NPL_VIEW ? 1 : data_inputs(step)); k++) {
		int v = node->in[k], producer = v < 0 ? -1 : s->graph->value[v].producer;
		if (producer < first)
			continue;
		bool same_shape = made_as_seen(s, v) &&
				  (!step->canonical || npl_shape_equal(&step->x_shape, &s->graph->value[v].shape));
		if ((!same_shape && !renames(s, s->step[first].device)) || !made_as_read(s, step, v))
			return false;
	}
	return true;
}

static int last_of_chain(const struct npl_session *s, int first)
{
	int last = first;
	for (int i = first + 1; i < s->graph->n_nodes && goes_on(s, first, i); i++)
		if (s->step[i].role != NPL_VIEW)
			last = i;
	return last;
}

static int out_of_memory(struct npl_err *err)
{
	return npl_fail(err, NPL_ENOMEM, "out of memory for a chain of layers");
}

/* Room for a chain of nodes first..last, of each a layer or, of Split, one per result; any result may be wanted. */
static int open_draft(struct npl_session *s, int first, int last, struct draft *d, struct npl_err *err)
{
	size_t layers = 0, inputs = 0, outputs = 0;
	for (int i = first; i <= last; i++) {
		layers += s->step[i].slice ? (size_t)s->graph->node[i].n_out
					   : 3; /* it may need names before and behind */
		inputs += (size_t)s->graph->node[i].n_in;
		outputs += (size_t)s->graph->node[i].n_out;
	}
	*d = (struct draft){.s = s, .c = {.first = first, .last = last, .device = s->step[first].device}};
	d->c.layer = npl_arena_array(&s->arena, layers, sizeof *d->c.layer);
	d->c.list = npl_arena_array(&s->arena, layers, sizeof *d->c.list);
	d->c.node = npl_arena_array(&s->arena, layers, sizeof *d->c.node);
	d->c.value = npl_arena_array(&s->arena, layers, sizeof *d->c.value);
	d->c.note = npl_arena_array(&s->arena, layers, sizeof *d->c.note);
	d->c.in = npl_arena_array(&s->arena, inputs, sizeof *d->c.in);
	d->c.out = npl_arena_array(&s->arena, outputs, sizeof *d->c.out);
	d->tensors = npl_arena_array(&s->arena, layers, sizeof *d->tensors);
	d->wanted = npl_arena_array(&s->arena, outputs, sizeof *d->wanted);
	d->kept = npl_arena_array(&s->arena, inputs, sizeof *d->kept);
	d->constant = npl_arena_array(&s->arena, inputs, sizeof *d->constant);
	d->made = calloc((size_t)s->graph->n_values + 1, sizeof *d->made);
	if (!d->c.layer || !d->c.list || !d->c.node || !d->c.value || !d->c.note || !d->c.in || !d->c.out ||
	    !d->tensors || !d->wanted || !d->kept || !d->constant || !d->made)
		return out_of_memory(err);
	return 0;
}

static struct npl_tensor *given(struct draft *d, int i, int v, const struct npl_shape *shape, struct npl_err *err)
{
	struct npl_session *s = d->s;
	enum npl_format form = npl_step_form(s, &s->step[i]);
	const bool own = form == NPL_FORMAT_F32; /* as the graph has it: float32 or the model's own integers */
	struct npl_quant quant = s->step[i].written ? s->step[i].x_quant : npl_session_quant(s, form, v);
	for (int p = 0; p < d->c.n_in; p++)
		if (d->c.in[p].value == v && d->c.in[p].form == form && same_quant(&d->c.in[p].tensor->quant, &quant) &&
		    npl_shape_equal(&d->c.in[p].tensor->shape, shape))
			return d->c.in[p].tensor;
	struct npl_tensor *tensor = npl_arena_alloc(&s->arena, sizeof *tensor);
	if (!tensor) {
		out_of_memory(err);
		return NULL;
	}
	*tensor = (struct npl_tensor){.name = s->graph->value[v].name,
				      .dtype = own ? s->graph->value[v].dtype : npl_session_dtype(s, form, v),
				      .shape = *shape,
				      .quant = quant};
	struct npl_value *value = &s->graph->value[v];
	if (own && value->constant && !s->timing_only) {
		const void *data = npl_value_data(s->graph, value, err);
		if (!data && npl_tensor_count(tensor) > 0)
			return NULL;
		tensor->data = (void *)data;
	}
	d->c.in[d->c.n_in++] = (struct npl_chain_port){.value = v, .node = i, .tensor = tensor, .form = form};
	return tensor;
}

/* The next layer, of node i; it makes value v. */
static struct npl_layer *add_layer(struct draft *d, int i, int v)
{
	struct npl_layer *layer = &d->c.layer[d->c.n];
	d->c.node[d->c.n] = i;
	d->c.value[d->c.n] = v;
	d->c.list[d->c.n] = layer;
	return layer;
}

/* What the layer of node i makes: one tensor or, where others are read too, a row of them. */
static int add_results(struct draft *d, int i, struct npl_step_tensors *t, struct npl_layer *layer, struct npl_err *err)
{
	const struct npl_node *node = &d->s->graph->node[i];
	struct npl_tensor several[NPL_MAX_OUTPUTS], *out = &t->out;
	layer->n_more = npl_step_more(d->s, i, several);
	if (layer->n_more) {
		out = npl_arena_array(&d->s->arena, (size_t)layer->n_more + 1, sizeof *out);
		if (!out)
			return out_of_memory(err);
		memcpy(out, several, ((size_t)layer->n_more + 1) * sizeof *out);
		out[0] = t->out;
		layer->out = out;
	}
	d->made[d->s->step[i].out] = &out[0];
	for (int k = 1; k <= layer->n_more; k++)
		if (node->out[k] >= 0)
			d->made[node->out[k]] = &out[k];
	return 0;
}

/* Tensor `in`, value v of node i, in another shape: a layer that names its data so, unless it has that shape. */
static struct npl_tensor *named_as(struct draft *d, int i, int v, struct npl_tensor *in, const struct npl_shape *shape)
{
	if (npl_shape_equal(&in->shape, shape))
		return in;
	const struct npl_node *node = &d->s->graph->node[i];
	struct npl_layer *layer = add_layer(d, i, v);
	struct npl_tensor *made = &d->tensors[d->c.n++].out;
	*made = *in;
	made->shape = *shape;
	*layer = (struct npl_layer){.name = node->name,
				    .op = NPL_OP_RESHAPE,
				    .attrs = &node->attrs,
				    .n_in = 1,
				    .in = {in},
				    .out = made,
				    .timing_only = d->s->timing_only};
	return made;
}

/* A layer of a node that the device runs; not one that only names its data. */
static bool is_work(const struct draft *d, int layer)
{
	const struct npl_step *step = &d->s->step[d->c.node[layer]];
	return step->role == NPL_RAN && (d->c.layer[layer].op != NPL_OP_RESHAPE || step->op == NPL_OP_RESHAPE);
}

/* What the chain has made of a canonical layer's input, in the shape that the layer sees; NULL: it has not made it. */
static struct npl_tensor *canonical_input(struct draft *d, int i)
{
	const struct npl_step *step = &d->s->step[i];
	int v = step->canonical ? d->s->graph->node[i].in[0] : -1;
	return v >= 0 && d->made[v] ? named_as(d, i, v, d->made[v], &step->x_shape) : NULL;
}

/* Others see the result in the shape that the graph gives it. */
static void name_result(struct draft *d, int i)
{
	int v = d->s->step[i].out;
	if (d->s->step[i].canonical && renames(d->s, d->c.device))
		d->made[v] = named_as(d, i, v, d->made[v], &d->s->graph->value[v].shape);
}

static int add_step(struct draft *d, int i, struct npl_err *err)
{
	struct npl_tensor *x = canonical_input(d, i);
	const struct npl_session *s = d->s;
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	struct npl_layer *layer = add_layer(d, i, step->out);
	struct npl_step_tensors *t = &d->tensors[d->c.n];
	npl_step_layer(s, i, t, layer);
	for (int k = 0; k < data_inputs(step); k++) {
		int v = node->in[k];
		if (v < 0)
			continue;
		const struct npl_shape *shape = step->canonical ? &step->x_shape : &s->graph->value[v].shape;
		if (d->made[v] &&
		    step->written) /* a QuantizeLinear among the chain's layers makes them without their scale */
			d->made[v]->quant = step->x_quant;
		if (k == 0 && x && step->written)
			x->quant = step->x_quant;
		layer->in[k] = k == 0 && x ? x : d->made[v] ? d->made[v] : given(d, i, v, shape, err);
		if (!layer->in[k])
			return err->code;
	}
	d->c.n++;
	if (add_results(d, i, t, layer, err))
		return err->code;
	name_result(d, i);
	return 0;
}

static int add_split(struct draft *d, int i, struct npl_err *err)
{
	const struct npl_session *s = d->s;
	const struct npl_node *node = &s->graph->node[i];
	int v = node->in[0];
	const struct npl_tensor *x = d->made[v] ? d->made[v] : given(d, i, v, &s->graph->value[v].shape, err);
	for (int k = 0; k < node->n_out && x; k++) {
		if (!npl_split_read(s, i, k))
			continue;
		struct npl_layer *layer = add_layer(d, i, node->out[k]);
		struct npl_tensor *out = &d->tensors[d->c.n++].out;
		npl_split_layer(s, i, k, out, layer);
		layer->in[0] = x;
		d->made[node->out[k]] = out;
	}
	return x ? 0 : err->code;
}

/* A view of what the chain makes: the same tensor, or a layer that names its data in another shape. */
static void add_view(struct draft *d, int i)
{
	const struct npl_node *node = &d->s->graph->node[i];
	const struct npl_value *out = &d->s->graph->value[node->out[0]];
	struct npl_tensor *in = d->made[node->in[0]];
	if (!in)
		return;
	d->made[node->out[0]] = in;
	if (npl_shape_equal(&in->shape, &out->shape))
		return;
	struct npl_layer *layer = add_layer(d, i, node->out[0]);
	struct npl_tensor *made = &d->tensors[d->c.n].out;
	*made = *in;
	made->name = out->name;
	made->shape = out->shape;
	*layer = (struct npl_layer){.name = node->name,
				    .op = NPL_OP_RESHAPE,
				    .attrs = &node->attrs,
				    .n_in = 1,
				    .in = {in},
				    .out = made,
				    .timing_only = d->s->timing_only};
	d->made[node->out[0]] = made;
	d->c.n++;
}

static void add_wanted(struct draft *d, int layer, int result, int v)
{
	const struct npl_step *step = &d->s->step[d->c.node[layer]];
	struct npl_tensor *tensor = &d->c.layer[layer].out[result];
	d->c.out[d->c.n_out] = (struct npl_chain_port){
		.value = v, .node = d->c.node[layer], .tensor = tensor, .form = npl_step_form(d->s, step)};
	d->wanted[d->c.n_out++] = tensor;
}

/* Values that somebody outside reads, through views or not, leave the chain where a layer makes them. */
static int find_wanted(struct draft *d, struct npl_err *err)
{
	const struct npl_graph *graph = d->s->graph;
	int *outside = calloc((size_t)graph->n_values + 1, sizeof *outside);
	if (!outside)
		return out_of_memory(err);
	for (int v = 0; v < graph->n_values; v++)
		outside[v] = graph->value[v].uses;
	for (int i = d->c.last; i >= d->c.first; i--) {
		const struct npl_node *node = &graph->node[i];
		for (int k = 0; k < node->n_in; k++)
			if (node->in[k] >= 0)
				outside[node->in[k]]--;
	}
	for (int i = d->c.last; i >= d->c.first; i--)
		if (d->s->step[i].role == NPL_VIEW && outside[graph->node[i].out[0]] > 0)
			outside[graph->node[i].in[0]]++;
	for (int l = 0; l < d->c.n; l++) {
		const int *more = graph->node[d->c.node[l]].out;
		if (!is_work(d, l))
			continue;
		for (int k = 0; k <= d->c.layer[l].n_more; k++) {
			int v = k ? more[k] : d->c.value[l];
			if (v >= 0 && outside[v] > 0)
				add_wanted(d, l, k, v);
		}
	}
	free(outside);
	return 0;
}

/* Inputs that never change, and those that are on the device from before. */
static void find_kept(struct draft *d)
{
	for (int p = 0; p < d->c.n_in; p++)
		if (d->s->graph->value[d->c.in[p].value].constant)
			d->constant[d->n_constant++] = d->c.in[p].tensor;
	for (int p = 0; p < d->c.n_in && d->s->kept; p++)
		if (d->s->kept[d->c.in[p].value])
			d->kept[d->n_kept++] = d->c.in[p].tensor;
}

static void note_moved_ports(struct npl_chain_port *port, int n, const struct npl_chain_info *info)
{
	for (int p = 0; p < n; p++)
		for (int m = 0; m < info->n_moved; m++)
			if (port[p].tensor == info->moved[m]) {
				port[p].moved = true;
				port[p].left = info->left[m];
			}
}

static void note_moved(struct draft *d, const struct npl_chain_info *info)
{
	note_moved_ports(d->c.in, d->c.n_in, info);
	note_moved_ports(d->c.out, d->c.n_out, info);
}

static int note_passes(struct draft *d, const struct npl_chain_info *info, struct npl_err *err)
{
	for (int l = 0; l < d->c.n; l++) {
		d->c.note[l] = NULL;
		if (info->pass[l] < 0 || info->pass[l] == l)
			continue;
		d->c.note[l] = npl_arena_printf(&d->s->arena, "in the same pass as %s", d->c.layer[info->pass[l]].name);
		if (!d->c.note[l])
			return out_of_memory(err);
	}
	return 0;
}

/* Nodes first..last as a chain, opened. */
static int open_chain(struct npl_session *s, int first, int last, bool timing_only, struct npl_session_chain *chain,
		      struct npl_err *err)
{
	struct draft d;
	int rc = open_draft(s, first, last, &d, err);
	for (int i = first; i <= last && !rc; i++)
		if (s->step[i].role == NPL_VIEW)
			add_view(&d, i);
		else if (s->step[i].role == NPL_RAN)
			rc = s->step[i].slice ? add_split(&d, i, err) : add_step(&d, i, err);
	if (!rc)
		rc = find_wanted(&d, err);
	if (!rc)
		find_kept(&d);
	const struct npl_chain asked = {.n = d.c.n,
					.layer = d.c.list,
					.n_wanted = d.c.n_out,
					.wanted = d.wanted,
					.host_in = s->host_in,
					.n_kept = d.n_kept,
					.kept = d.kept,
					.n_constant = d.n_constant,
					.constant = d.constant,
					.host_out = s->host_out,
					.timing_only = timing_only};
	if (!rc)
		rc = npl_device_open_chain(s->device[d.c.device], &asked, &d.c.opened, err);
	if (!rc) {
		note_moved(&d, npl_device_chain_info(d.c.opened));
		rc = note_passes(&d, npl_device_chain_info(d.c.opened), err);
	}
	free(d.made);
	if (rc)
		npl_device_close_chain(d.c.opened);
	else
		*chain = d.c;
	return rc;
}

/* Whether the device does nodes first..last together. NPL_EDEVICE: not. */
static int try_chain(struct npl_session *s, int first, int last, struct npl_err *err)
{
	struct npl_session_chain chain;
	int rc = open_chain(s, first, last, true, &chain, err);
	if (!rc)
		npl_device_close_chain(chain.opened);
	return rc;
}

/* The longest chain from first on, up to last, that the device takes; -1: not even one layer, which it then does alone. */
static int longest(struct npl_session *s, int first, int last, int *end, struct npl_err *err)
{
	int low = first - 1, high = last; /* low goes, beyond high does not */
	for (int middle = last; low < high; middle = (low + high + 1) / 2) {
		int rc = try_chain(s, first, middle, err);
		if (rc && rc != NPL_EDEVICE)
			return rc;
		if (rc)
			high = middle - 1;
		else
			low = middle;
	}
	while (low > first && s->step[low].role == NPL_VIEW)
		low--;
	*end = low < first ? -1 : low;
	return 0;
}

int npl_chains_open(struct npl_session *s, struct npl_err *err)
{
	s->chain = calloc((size_t)s->graph->n_nodes + 1, sizeof *s->chain);
	if (!s->chain)
		return out_of_memory(err);
	for (int i = 0; i < s->graph->n_nodes; i++) {
		int last;
		if (!has_chains(s, &s->step[i]))
			continue;
		int rc = longest(s, i, s->alone ? i : last_of_chain(s, i), &last, err);
		if (!rc && last >= 0)
			rc = open_chain(s, i, last, s->timing_only, &s->chain[s->n_chains], err);
		if (rc)
			return rc;
		s->n_chains += last >= 0;
		i = last > i ? last : i;
	}
	return 0;
}

void npl_chains_close(struct npl_session *s)
{
	for (int c = 0; c < s->n_chains; c++)
		npl_device_close_chain(s->chain[c].opened);
	free(s->chain);
}
