/* SPDX-License-Identifier: MIT
 *
 * What sessions promise of layers that run together (npulab/layer_group.h) on a machine with programs: every layer
 * makes the bits that it makes by itself, on another engine and by the rule on integers, whatever its neighbours are
 * and wherever they run; each has a row, whose figures sum to the totals; a layer done in another's pass has none; what
 * crosses the link is charged once, in cycles or as a transfer, and costs the same energy either way; a run can be
 * repeated. */
#include "frontend/session/layer_group.h"
#include "tests/kit/random_net.h"

#define PJ_PER_BYTE 70.0

/* A small machine whose link costs time and energy. */
static struct npl_device *open_machine(const char *buffer, const char *cells, const char *engine)
{
	char bytes[64], rows[32], columns[32];
	snprintf(bytes, sizeof bytes, "unified_buffer.bytes=%s", buffer);
	snprintf(rows, sizeof rows, "array.rows=%s", cells);
	snprintf(columns, sizeof columns, "array.columns=%s", cells);
	const char *const sets[] = {
		bytes, rows, columns, "accumulators.rows=64", "issue.sync_cycles=0", /* a layer by itself has none */
		"host_link.latency_seconds=1e-6", "host_link.pj_per_byte=70", "host_link.energy_origin=modelled:test",
		/* No table has memories as small as these. */
		"energy.unified_buffer_read.pj_per_byte=4", "energy.unified_buffer_read.origin=modelled:test",
		"energy.unified_buffer_write.pj_per_byte=3", "energy.unified_buffer_write.origin=modelled:test",
		"energy.accumulators.pj_per_word=5", "energy.accumulators.origin=modelled:test"};
	struct npl_device_options options = {.set = sets, .n_sets = sizeof sets / sizeof *sets, .engine = engine};
	struct npl_device *device;
	struct npl_err err;
	cr_assert_eq(npl_device_open("tpu_v1", &options, &device, &err), 0, "%s", err.msg);
	return device;
}

static struct npl_device *open_set(const char *name, const char *set)
{
	return open_device_set(name, 1, &set);
}

/* Counter by name; 0 where the row has none. */
static uint64_t counter_of(const struct npl_layer_run *row, const char *name)
{
	for (size_t k = 0; k < row->n_counters; k++)
		if (!strcmp(row->counter_def[k].name, name))
			return row->result.counter[k];
	return 0;
}

/* Bytes over the link within the cycles. */
static uint64_t within(const struct npl_layer_run *row)
{
	return counter_of(row, "host_bytes_in") + counter_of(row, "host_bytes_out");
}

static uint64_t sum_within(const struct npl_run *run)
{
	uint64_t sum = 0;
	for (int i = 0; i < run->n_layers; i++)
		sum += within(&run->layer[i]);
	return sum;
}

/* Layers that are done in another's pass; views and those fused by the plan do nothing either. */
static int check_idle_row(const struct npl_layer_run *row, const char *subject, int i)
{
	cr_assert(row->result.cycles == 0 && row->result.seconds == 0 && row->result.macs == 0, "%s, row %d", subject,
		  i);
	cr_assert(!row->counter_def && row->n_counters == 0, "%s, row %d has counters", subject, i);
	for (int k = 0; k < NPL_MAX_COUNTERS; k++)
		cr_assert_eq(row->result.counter[k], 0, "%s, row %d, counter %d", subject, i, k);
	for (int k = 0; k < NPL_MEM_LEVELS; k++)
		cr_assert_eq(row->result.bytes[k], 0, "%s, row %d, memory %d", subject, i, k);
	for (int e = 0; e < row->result.n_energy;
	     e++) { /* what it gathers or gives out is charged to it all the same */
		const char *component = row->result.energy[e].component;
		cr_assert(row->host_seconds > 0 || row->link_bytes, "%s, row %d has energy", subject, i);
		cr_assert(!strcmp(component, "host") || !strcmp(component, "host link") ||
				  !strcmp(component, "static, waiting"),
			  "%s, row %d has energy of %s", subject, i, component);
	}
	cr_assert(row->role != NPL_FUSED || strstr(row->note, "in the same pass as "), "%s, row %d", subject, i);
	return 1;
}

/* Rows, totals and what the link costs. Returns how many rows are fused beyond the plan. */
static int check_run(const struct outcome *o, const char *subject)
{
	int fused = 0;
	check_totals(&o->run, subject);
	for (int i = 0; i < o->run.n_layers; i++) {
		const struct npl_layer_run *row = &o->run.layer[i];
		bool by_plan = o->session->step[i].role != NPL_RAN;
		double joules = joules_of(row->result.energy, row->result.n_energy, "host link");
		double expected = (double)(row->link_bytes + within(row)) * PJ_PER_BYTE * 1e-12;
		if (row->role != NPL_RAN)
			fused += check_idle_row(row, subject, i) && !by_plan;
		else
			cr_assert(!strcmp(row->ran_on, "host") || row->n_counters > 0, "%s, row %d", subject, i);
		cr_assert(near(joules, expected), "%s, row %d: %g J of the link, expected %g", subject, i, joules,
			  expected);
		cr_assert_eq(row->transfers > 0, row->link_bytes > 0, "%s, row %d", subject, i);
	}
	return fused;
}

/* Outputs, and the results of layers that both runs have hashed. Returns how many. */
static int check_values(const struct net *net, const struct outcome *a, const struct outcome *b, const char *subject)
{
	int compared = 0;
	check_same_outputs(net, a->out, b->out, subject);
	for (int i = 0; i < a->run.n_layers; i++) {
		const struct npl_layer_run *x = &a->run.layer[i], *y = &b->run.layer[i];
		cr_assert(x->output_dtype == y->output_dtype && near(x->output_quant.scale, y->output_quant.scale) &&
				  x->output_quant.zero_point == y->output_quant.zero_point,
			  "%s, row %d has another format", subject, i);
		if (!*x->output_sha256 || !*y->output_sha256)
			continue;
		cr_assert_str_eq(x->output_sha256, y->output_sha256, "%s, %s: another result", subject,
				 net->graph->node[i].name);
		compared++;
	}
	return compared;
}

static void check_figures(const struct npl_run *a, const struct npl_run *b, bool values, const char *subject)
{
	for (int i = 0; i < a->n_layers; i++) {
		const struct npl_layer_run *x = &a->layer[i], *y = &b->layer[i];
		cr_assert(x->role == y->role && x->result.cycles == y->result.cycles &&
				  x->result.macs == y->result.macs && x->link_bytes == y->link_bytes &&
				  x->transfers == y->transfers,
			  "%s, row %d: %d and %d cycles", subject, i, (int)x->result.cycles, (int)y->result.cycles);
		cr_assert(!memcmp(x->result.counter, y->result.counter, sizeof x->result.counter) &&
				  !memcmp(x->result.bytes, y->result.bytes, sizeof x->result.bytes),
			  "%s, row %d", subject, i);
		cr_assert(near(npl_row_seconds(x), npl_row_seconds(y)), "%s, row %d", subject, i);
		cr_assert(near(joules_of(x->result.energy, x->result.n_energy, "static"),
			       joules_of(y->result.energy, y->result.n_energy, "static")),
			  "%s, row %d", subject, i);
		cr_assert(!values || (x->result.saturations == y->result.saturations &&
				      x->result.overflows == y->result.overflows),
			  "%s, row %d", subject, i);
	}
	cr_assert(a->cycles == b->cycles && a->peak_buffer_bytes == b->peak_buffer_bytes, "%s", subject);
	double joules[2] = {npl_energy_sum(a->energy, a->n_energy), npl_energy_sum(b->energy, b->n_energy)};
	cr_assert(near(joules[0], joules[1]) || (a->n_energy == 0 && b->n_energy == 0), "%s", subject);
}

static int most_layers(const struct npl_session *s)
{
	int maximum = 0;
	for (int c = 0; c < s->n_layer_groups; c++)
		maximum = s->group[c].n > maximum ? s->group[c].n : maximum;
	return maximum;
}

/* Places for devices 0 and 1, from a plan for device 0: an activation stays with what it is done after, the host's
 * layers are the host's. In turn, so that no two layers follow each other on one device, or by chance. */
static void spread_out(const struct net *net, const struct npl_session *plan, const int *place, uint64_t *rng,
		       int *spread)
{
	int turn = 0;
	for (int i = 0; i < net->graph->n_nodes; i++) {
		const struct npl_step *step = &plan->step[i];
		spread[i] = place && place[i] == NPL_ON_HOST ? NPL_ON_HOST : rng ? (int)test_range(rng, 0, 1) : turn;
		if (step->role == NPL_FUSED)
			spread[i] = spread[net->graph->value[net->graph->node[i].in[0]].producer];
		else if (step->role == NPL_RAN)
			turn = !turn;
	}
}

struct machines {
	struct npl_device *device[2]; /* alike */
	struct npl_device *rtl, *rule;
	bool roomy; /* everything fits in the unified buffer */
};

static struct machines open_machines(const char *buffer, const char *cells)
{
	return (struct machines){{open_machine(buffer, cells, "fast"), open_machine(buffer, cells, "fast")},
				 open_machine(buffer, cells, "rtl"),
				 open_set("reference", "precision=int8"),
				 strlen(buffer) > 6};
}

static void close_machines(struct machines *m)
{
	npl_device_close(m->device[0]);
	npl_device_close(m->device[1]);
	npl_device_close(m->rtl);
	npl_device_close(m->rule);
}

struct counted {
	int together, fused, compared, by_rule, moved, spilled;
};

/* Alone, spread out, by the rule: the same results. */
static void hold_against_others(struct net *net, struct machines *m, const int *place, uint64_t *rng,
				const struct outcome *o, struct counted *n, const char *subject)
{
	int spread[DRAWN_MAX];
	char name[80];
	for (int k = 0; k < 2; k++) {
		spread_out(net, o->session, place, k ? rng : NULL, spread);
		snprintf(name, sizeof name, "%s, %s", subject, k ? "by chance on two" : "each alone");
		struct outcome other = run_with(
			net, (struct npl_session_options){.n_devices = 2, .device = m->device, .place = spread}, name);
		check_run(&other, name);
		for (int c = 0; c < other.session->n_layer_groups && !k; c++) {
			int layers = 0;
			for (int i = other.session->group[c].first; i <= other.session->group[c].last; i++)
				layers += other.session->step[i].role == NPL_RAN;
			cr_assert_eq(layers, 1, "%s: %d layers", name, layers);
		}
		n->compared += check_values(net, o, &other, name);
		free_outcome(net, &other);
	}
	snprintf(name, sizeof name, "%s, by the rule", subject);
	struct outcome rule = run_with(
		net, (struct npl_session_options){.n_devices = 1, .device = &m->rule, .place = place}, name);
	bool same = true; /* what the machine refuses is the host's, in float */
	for (int i = 0; i < net->graph->n_nodes; i++)
		same = same && rule.session->step[i].device == o->session->step[i].device;
	n->by_rule += same ? check_values(net, o, &rule, name) : 0;
	free_outcome(net, &rule);
}

/* Again, on the other engine and without values: the same figures. */
static void hold_against_itself(struct net *net, struct machines *m, const int *place, struct outcome *o,
				const char *subject)
{
	char name[80];
	struct outcome repeated = {0};
	struct npl_err err;
	snprintf(name, sizeof name, "%s, again", subject);
	cr_assert_eq(npl_session_run(o->session, net->in, repeated.out, &repeated.run, &err), 0, "%s: %s", name,
		     err.msg);
	check_values(net, o, &repeated, name);
	check_figures(&o->run, &repeated.run, true, name);
	free_outcome(net, &repeated);
	snprintf(name, sizeof name, "%s, rtl", subject);
	struct outcome rtl = run_with(
		net, (struct npl_session_options){.n_devices = 1, .device = &m->rtl, .place = place}, name);
	check_values(net, o, &rtl, name);
	check_figures(&o->run, &rtl.run, true, name);
	free_outcome(net, &rtl);
	snprintf(name, sizeof name, "%s, without values", subject);
	struct outcome timed = run_with(
		net,
		(struct npl_session_options){
			.n_devices = 1, .device = m->device, .place = place, .plan.timing_only = true},
		name);
	check_figures(&o->run, &timed.run, false, name);
	cr_assert(!timed.out[0].data, "%s", name);
	free_outcome(net, &timed);
}

/* With inputs, outputs or both within the cycles, and layer after layer: the same values; nothing is charged twice. */
static void hold_against_moves(struct net *net, struct machines *m, const int *place, const struct outcome *o,
			       struct counted *n, const char *subject)
{
	uint64_t before[2] = {sum_within(&o->run), o->run.link_bytes}, moved[4][2];
	bool one_layer_group = true;
	for (int i = 0; i < net->graph->n_nodes; i++)
		one_layer_group = one_layer_group && o->session->step[i].device != NPL_ON_HOST;
	one_layer_group = one_layer_group && o->session->n_layer_groups == 1;
	for (int k = 1; k < 4; k++) {
		char name[80];
		snprintf(name, sizeof name, "%s, moving%s%s", subject, k & 1 ? " inputs" : "", k & 2 ? " outputs" : "");
		struct outcome other = run_with(net,
						(struct npl_session_options){.n_devices = 1,
									     .device = m->device,
									     .place = place,
									     .inputs_over_link = k & 1,
									     .outputs_over_link = k >> 1},
						name);
		check_run(&other, name);
		check_values(net, o, &other, name);
		moved[k][0] = sum_within(&other.run);
		moved[k][1] = other.run.link_bytes;
		free_outcome(net, &other);
	}
	n->moved += moved[3][0] > before[0];
	n->spilled += before[0] > 0;
	cr_assert_eq(moved[3][1], 0, "%s: %d bytes as transfers too", subject, (int)moved[3][1]);
	cr_assert(!m->roomy || !before[0], "%s: %d bytes within the cycles", subject, (int)before[0]);
	if (!one_layer_group || !m->roomy)
		return;
	cr_assert_eq(moved[1][1] + moved[2][1], before[1], "%s: %d and %d bytes, %d before", subject, (int)moved[1][1],
		     (int)moved[2][1], (int)before[1]);
}

static void check_net(struct net *net, struct machines *m, uint64_t seed, struct counted *n)
{
	uint64_t rng = seed * 31 + 7;
	int hosts[DRAWN_MAX], *place = test_range(&rng, 0, 3) ? NULL : hosts;
	char subject[40];
	snprintf(subject, sizeof subject, "seed %d", (int)seed);
	cr_assert_leq(net->graph->n_nodes, DRAWN_MAX, "%s", subject);
	for (int i = 0; i < net->graph->n_nodes; i++)
		hosts[i] = test_range(&rng, 0, 3) ? 0 : NPL_ON_HOST;
	struct outcome o = run_with(
		net, (struct npl_session_options){.n_devices = 1, .device = m->device, .place = place}, subject);
	n->fused += check_run(&o, subject);
	n->together += most_layers(o.session) > 1;
	hold_against_others(net, m, place, &rng, &o, n, subject);
	hold_against_itself(net, m, place, &o, subject);
	hold_against_moves(net, m, place, &o, n, subject);
	free_outcome(net, &o);
}

Test(session_layer_group, random_networks_equal_the_rule)
{
	static const char *const buffers[] = {"1000000", "2000", "900", "400"}, *const cells[] = {"16", "7"};
	struct counted n = {0};
	for (int machine = 0; machine < 8; machine++) {
		struct machines m = open_machines(buffers[machine % 4], cells[machine / 4]);
		for (uint64_t k = 0; k < 80; k += TEST_SANITIZED ? 4 : 1) {
			uint64_t seed = (uint64_t)machine * 100000 + k + 1;
			struct net net = make_random_net(seed, false);
			check_net(&net, &m, seed, &n);
			free_net(&net);
		}
		close_machines(&m);
	}
	const int part = TEST_SANITIZED ? 5 : 1;
	cr_assert(part * n.together > 400 && part * n.fused > 60 && part * n.compared > 5000 &&
			  part * n.by_rule > 2500 && part * n.moved > 400 && part * n.spilled > 20,
		  "%d, %d, %d, %d, %d, %d", n.together, n.fused, n.compared, n.by_rule, n.moved, n.spilled);
}

/* The processor's own 8-bit kernels, on what they do by the rule: any layer group equals them. */
Test(session_layer_group, layer_groups_equal_the_cpu_s_kernels)
{
	struct npl_device *device[] = {open_machine("100000", "16", "fast"), open_set("cpu", "precision=int8")};
	int compared = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct net net = make_random_net(seed, true);
		char subject[40];
		snprintf(subject, sizeof subject, "seed %d, cpu", (int)seed);
		struct outcome o = run_net(&net, device, 1, NULL, false),
			       cpu = run_net(&net, device + 1, 1, NULL, false);
		for (int i = 0; i < net.graph->n_nodes; i++)
			cr_assert(strcmp(o.run.layer[i].ran_on, "host") && strcmp(cpu.run.layer[i].ran_on, "host"),
				  "%s, %s: %s", subject, net.graph->node[i].name, o.run.layer[i].note);
		compared += check_values(&net, &o, &cpu, subject);
		free_outcome(&net, &o);
		free_outcome(&net, &cpu);
		free_net(&net);
	}
	cr_assert_gt(compared, 300);
	npl_device_close(device[0]);
	npl_device_close(device[1]);
}

/* x (2,3,6,4) -> before Reshape (2,3,4,6) -> conv 12, relu -> pool -> within Flatten -> fc 10, tanh -> after Reshape
 * (2,10,1,1). Outputs: p, the pool's result, its view f, and what `behind` gives. */
static struct net make_views(uint64_t *rng)
{
	struct onnx_writer g = {0}, pads = {0}, pool = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 3, 6, 4});
	onnx_put_int64s(&g, "turned", 4, (int64_t[]){2, 3, 4, 6});
	onnx_put_int64s(&g, "stood", 4, (int64_t[]){2, 10, 1, 1});
	put_weights(&g, rng, "w1", 4, (int64_t[]){12, 3, 3, 3});
	put_weights(&g, rng, "w2", 2, (int64_t[]){12 * 6, 10});
	put_weights(&g, rng, "b2", 1, (int64_t[]){10});
	onnx_put_attr_ints(&pads, "pads", 4, (int64_t[]){1, 1, 1, 1});
	onnx_put_attr_ints(&pool, "kernel_shape", 2, (int64_t[]){2, 2});
	onnx_put_attr_ints(&pool, "strides", 2, (int64_t[]){2, 2});
	onnx_put_node(&g, "Reshape", "before", "x turned", "t", NULL);
	onnx_put_node(&g, "Conv", "conv", "t w1", "a", &pads);
	onnx_put_node(&g, "Relu", "relu", "a", "b", NULL);
	onnx_put_node(&g, "MaxPool", "pool", "b", "p", &pool);
	onnx_put_node(&g, "Flatten", "within", "p", "f", NULL);
	onnx_put_node(&g, "Gemm", "fc", "f w2 b2", "c", NULL);
	onnx_put_node(&g, "Tanh", "tanh", "c", "d", NULL);
	onnx_put_node(&g, "Reshape", "behind", "d stood", "y", NULL);
	onnx_put_output(&g, "y");
	onnx_put_output(&g, "f");
	onnx_put_output(&g, "p");
	return make_net(&g, rng);
}

/* Views before, in and after a layer group cost nothing, and what is seen twice is moved and converted once. The pool
 * is done in the convolution's pass; together the layers take less time than each alone. */
Test(session_layer_group, views_in_a_layer_group_cost_nothing)
{
	enum { X = 2 * 3 * 6 * 4, P = 2 * 12 * 6, Y = 2 * 10 };
	static const char *const views[] = {"before", "within", "behind"};
	struct npl_device *device[] = {open_machine("1000000", "16", "fast"), open_machine("1000000", "16", "fast"),
				       open_set("reference", "precision=int8")};
	for (uint64_t seed = 1; seed <= 10; seed++) {
		uint64_t rng = seed;
		struct net net = make_views(&rng);
		struct outcome o = run_net(&net, device, 1, NULL, false);
		struct outcome rule = run_net(&net, device + 2, 1, NULL, false);
		int spread[8];
		spread_out(&net, o.session, NULL, NULL, spread);
		struct outcome single = run_net(&net, device, 2, spread, false);
		check_run(&o, "views");
		check_run(&single, "views, alone");
		cr_assert(o.session->n_layer_groups == 1 && most_layers(o.session) >= 3 &&
			  single.session->n_layer_groups == 3);
		cr_assert_geq(check_values(&net, &o, &rule, "views, by the rule"), 2);
		cr_assert_eq(check_values(&net, &single, &rule, "views, alone, by the rule"), 3);
		for (int i = 0; i < 3; i++) {
			const struct npl_layer_run *row = row_of(&net, &o, views[i]);
			bool is_output = i > 0; /* one that takes the value out pays for that */
			cr_assert(row->role == NPL_VIEW && row->result.cycles == 0, "%s", views[i]);
			cr_assert(is_output || npl_row_seconds(row) == 0, "%s", views[i]);
		}
		cr_assert_eq(row_of(&net, &o, "pool")->role, NPL_FUSED);
		cr_assert_str_eq(row_of(&net, &o, "pool")->note, "in the same pass as conv");
		cr_assert_eq(o.run.link_bytes, X + P + Y, "%d bytes", (int)o.run.link_bytes);
		cr_assert_lt(o.run.cycles, single.run.cycles);
		cr_assert(o.run.peak_buffer_bytes > P && o.run.peak_buffer_bytes <= 1000000);
		cr_assert_eq(rule.run.peak_buffer_bytes, 0, "not known");
		for (int64_t i = 0; i < X; i++) /* other inputs, the same time */
			((float *)net.in[0].data)[i] *= -0.5f;
		struct outcome other = {0};
		struct npl_err err;
		cr_assert_eq(npl_session_run(o.session, net.in, other.out, &other.run, &err), 0, "%s", err.msg);
		check_figures(&o.run, &other.run, false, "views, other inputs");
		cr_assert_str_neq(row_of(&net, &o, "fc")->output_sha256, row_of(&net, &other, "fc")->output_sha256);
		free_outcome(&net, &other);
		free_outcome(&net, &o);
		free_outcome(&net, &rule);
		free_outcome(&net, &single);
		free_net(&net);
	}
	for (int i = 0; i < 3; i++)
		npl_device_close(device[i]);
}

/* x (2,6,5,5) -> s, the last four channels of x -> conv c (2,3,5,5) -> Concat of s and c, the output. */
static struct net make_join(uint64_t *rng)
{
	struct onnx_writer g = {0}, axis = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 6, 5, 5});
	onnx_put_int64s(&g, "from", 1, (int64_t[]){2});
	onnx_put_int64s(&g, "to", 1, (int64_t[]){6});
	onnx_put_int64s(&g, "along", 1, (int64_t[]){1});
	put_weights(&g, rng, "w", 4, (int64_t[]){3, 4, 1, 1});
	onnx_put_attr_int(&axis, "axis", 1);
	onnx_put_node(&g, "Slice", "cut", "x from to along", "s", NULL);
	onnx_put_node(&g, "Conv", "conv", "s w", "c", NULL);
	onnx_put_node(&g, "Concat", "join", "s c", "y", &axis);
	onnx_put_output(&g, "y");
	return make_net(&g, rng);
}

/* Every byte crosses the link once, in cycles or as a transfer, by hand: also of an output that lies in both
 * memories. */
Test(session_layer_group, bytes_cross_once)
{
	enum { X = 2 * 6 * 25, S = 2 * 4 * 25, C = 2 * 3 * 25 };
	/* the joined output: its part s is in host memory as soon as x is, its part c when outputs go there */
	static const struct {
		bool in, out;
		uint64_t within_in, within_out, as_transfer;
		int transfers;
	} cases[] = {{false, false, 0, 0, X + S + C, 2},
		     {true, false, X, 0, C, 1},
		     {false, true, 0, C, X + S, 2},
		     {true, true, X, C, 0, 0}};
	struct npl_device *device = open_machine("1000000", "16", "fast");
	const struct npl_link *link = &npl_device_get_info(device)->link;
	uint64_t rng = 3;
	struct net net = make_join(&rng);
	struct outcome first = run_net(&net, &device, 1, NULL, false);
	for (int k = 0; k < 4; k++) {
		char subject[40];
		snprintf(subject, sizeof subject, "case %d", k);
		struct outcome o = run_with(&net,
					    (struct npl_session_options){.n_devices = 1,
									 .device = &device,
									 .inputs_over_link = cases[k].in,
									 .outputs_over_link = cases[k].out},
					    subject);
		uint64_t in = 0, out = 0;
		int transfers = 0;
		for (int i = 0; i < o.run.n_layers; i++) {
			in += counter_of(&o.run.layer[i], "host_bytes_in");
			out += counter_of(&o.run.layer[i], "host_bytes_out");
			transfers += o.run.layer[i].transfers;
		}
		check_run(&o, subject);
		check_values(&net, &first, &o, subject);
		cr_assert(in == cases[k].within_in && out == cases[k].within_out, "%s: %d in, %d out", subject, (int)in,
			  (int)out);
		cr_assert_eq(o.run.link_bytes, cases[k].as_transfer, "%s: %d bytes", subject, (int)o.run.link_bytes);
		cr_assert_eq(transfers, cases[k].transfers, "%s: %d transfers", subject, transfers);
		cr_assert(near(o.run.link_seconds,
			       transfers * link->latency_seconds + (double)o.run.link_bytes / link->bytes_per_second),
			  "%s: %g s", subject, o.run.link_seconds);
		cr_assert_eq(o.run.cycles > first.run.cycles, k > 0, "%s: %d cycles", subject, (int)o.run.cycles);
		free_outcome(&net, &o);
	}
	free_outcome(&net, &first);
	npl_device_close(device);
	free_net(&net);
}
