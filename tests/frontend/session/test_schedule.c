/* SPDX-License-Identifier: MIT
 *
 * When the work of a run takes place (npulab/timeline.h): a resource does one thing at a time, work waits for what it
 * reads and for nothing else, branches overlap, and the time of the run is the makespan: never below the longest path
 * or the busiest resource, never above the sum, and that to the bit where nothing can overlap. */
#include "frontend/session/layer_group.h"
#include "tests/kit/host.h"
#include "tests/kit/random_net.h"

/* Machines whose links cost time and energy. */
static struct npl_device *open_tpu(const char *buffer)
{
	char bytes[64];
	snprintf(bytes, sizeof bytes, "unified_buffer.bytes=%s", buffer);
	return open_device_set("tpu_v1", 6,
			       (const char *const[]){bytes, "array.rows=16", "array.columns=16",
						     "host_link.latency_seconds=1e-6", "host_link.pj_per_byte=70",
						     "host_link.energy_origin=modelled:test"});
}

static struct npl_device *open_diannao(void)
{
	return open_device_set("diannao", 1, (const char *const[]){"memory.host_latency_seconds=3e-6"});
}

static bool at_least(double a, double b)
{
	return a >= b - 1e-12 * fabs(b);
}

/* When the value is made: the end of the layer's work that makes it, through views and what is fused. */
static double made_at(const struct net *net, const struct npl_run *run, const struct npl_session *s, int v)
{
	int producer = net->graph->value[v].producer;
	double end = 0;
	if (producer < 0)
		return 0;
	if (s->step[producer].role != NPL_RAN)
		return made_at(net, run, s, net->graph->node[producer].in[0]);
	for (int i = 0; i < run->n_tasks; i++)
		if (run->task[i].node == producer && run->task[i].kind == NPL_TASK_LAYER)
			end = fmax(end, run->task[i].end_seconds);
	return end;
}

/* Every task against the graph: values are made before they are converted, moved or read. */
static void check_order(const struct net *net, const struct npl_run *run, const struct npl_session *s,
			const char *subject)
{
	for (int i = 0; i < run->n_tasks; i++) {
		const struct npl_task *task = &run->task[i];
		const struct npl_node *node = &net->graph->node[task->node];
		cr_assert(task->seconds > 0 && task->start_seconds >= 0, "%s, piece %d", subject, i);
		cr_assert(fabs(task->end_seconds - task->start_seconds - task->seconds) <= 1e-12 * task->end_seconds,
			  "%s, piece %d", subject, i);
		if (task->value >= 0)
			cr_assert(at_least(task->start_seconds, made_at(net, run, s, task->value)),
				  "%s, piece %d of %s: '%s' is not made yet", subject, i, node->name,
				  net->graph->value[task->value].name);
		for (int k = 0; k < node->n_in && task->kind == NPL_TASK_LAYER; k++)
			if (node->in[k] >= 0)
				cr_assert(at_least(task->start_seconds, made_at(net, run, s, node->in[k])),
					  "%s, %s begins before '%s' is made", subject, node->name,
					  net->graph->value[node->in[k]].name);
		/* what a layer gathers comes before it, what it delivers after it */
		for (int k = 0; k < run->n_tasks && task->kind == NPL_TASK_LAYER; k++)
			if (run->task[k].node == task->node && run->task[k].value >= 0) {
				const struct npl_task *other = &run->task[k];
				bool own = other->delivers || other->kind == NPL_TASK_TO_HOST;
				cr_assert(own || at_least(task->start_seconds, other->end_seconds),
					  "%s, %s begins before it has its inputs", subject, node->name);
				cr_assert(!other->delivers || at_least(other->start_seconds, task->end_seconds),
					  "%s, %s delivers before it ends", subject, node->name);
			}
	}
}

/* One thing at a time; each piece begins at the beginning or where another one ends; sums by resource and by row. */
static void check_resources(const struct npl_run *run, const char *subject)
{
	struct npl_layer_run *sum = calloc((size_t)run->n_layers + 1, sizeof *sum);
	cr_assert(sum);
	for (int r = 0; r < run->n_resources; r++) {
		double end = 0, busy = 0;
		uint64_t bytes = 0, transfers = 0, within = 0;
		for (int i = 0; i < run->n_tasks; i++) {
			const struct npl_task *task = &run->task[i];
			if (task->resource != r)
				continue;
			cr_assert(at_least(task->start_seconds, end), "%s, %s: two pieces at once", subject,
				  run->resource[r].name);
			end = task->end_seconds;
			if (task->kind == NPL_TASK_LINK_HELD) {
				within += task->bytes;
				continue;
			}
			busy += task->seconds;
			bytes += task->bytes;
			transfers += run->resource[r].kind == NPL_RESOURCE_LINK;
			struct npl_layer_run *row = &sum[task->node];
			row->host_seconds += run->resource[r].kind == NPL_RESOURCE_HOST ? task->seconds : 0;
			row->link_seconds += run->resource[r].kind == NPL_RESOURCE_LINK ? task->seconds : 0;
			row->result.seconds += run->resource[r].kind == NPL_RESOURCE_DEVICE ? task->seconds : 0;
			row->link_bytes += task->bytes;
			row->transfers += run->resource[r].kind == NPL_RESOURCE_LINK;
		}
		const struct npl_resource *resource = &run->resource[r];
		cr_assert(near(busy, resource->busy_seconds) && bytes == resource->bytes &&
				  transfers == resource->transfers && within == resource->bytes_within,
			  "%s, %s", subject, resource->name);
		cr_assert(at_least(run->seconds, busy), "%s: the makespan is below the work of %s", subject,
			  resource->name);
	}
	for (int i = 0; i < run->n_layers; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		cr_assert(near(sum[i].host_seconds, row->host_seconds) &&
				  near(sum[i].link_seconds, row->link_seconds) &&
				  near(sum[i].result.seconds, row->result.seconds) &&
				  sum[i].link_bytes == row->link_bytes && sum[i].transfers == row->transfers,
			  "%s, row %d", subject, i);
	}
	for (int i = 0; i < run->n_tasks; i++) {
		bool tight = run->task[i].start_seconds == 0;
		for (int k = 0; k < run->n_tasks && !tight; k++)
			tight = near(run->task[k].end_seconds, run->task[i].start_seconds);
		cr_assert(tight, "%s, piece %d waits for nothing", subject, i);
	}
	free(sum);
}

/* Between what it cannot be below and what it cannot be above, with a path of pieces that fills it. */
static void check_makespan(const struct net *net, const struct npl_run *run, const struct npl_session *s,
			   const char *subject)
{
	double sum = run->device_seconds + run->host_seconds + run->link_seconds, last = 0, longest = 0, reached = 0;
	double *path = calloc((size_t)net->graph->n_nodes + 1, sizeof *path);
	cr_assert(path);
	for (int i = 0; i < run->n_tasks; i++) {
		last = fmax(last, run->task[i].end_seconds);
		if (!run->task[i].critical)
			continue;
		cr_assert(near(run->task[i].start_seconds, reached) || (reached == 0 && !run->task[i].start_seconds),
			  "%s: a gap in the path before piece %d", subject, i);
		reached = run->task[i].end_seconds;
	}
	cr_assert(near(reached, last) && near(last, run->seconds), "%s: %g, %g and %g s", subject, reached, last,
		  run->seconds);
	cr_assert(at_least(sum, run->seconds), "%s: above the sum", subject);
	for (int i = 0; i < net->graph->n_nodes; i++) {
		for (int k = 0; k < net->graph->node[i].n_in; k++) {
			int v = net->graph->node[i].in[k], producer = v < 0 ? -1 : net->graph->value[v].producer;
			path[i] = fmax(path[i], producer < 0 ? 0 : path[producer]);
		}
		for (int k = 0; k < run->n_tasks; k++)
			path[i] += run->task[k].node == i && run->task[k].kind == NPL_TASK_LAYER ? run->task[k].seconds
												 : 0;
		longest = fmax(longest, path[i]);
	}
	cr_assert(at_least(run->seconds, longest), "%s: %g s, the longest path has %g", subject, run->seconds, longest);
	(void)s;
	free(path);
}

static void check_rows(const struct net *net, const struct npl_run *run, const char *subject)
{
	for (int i = 0; i < run->n_layers; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		cr_assert(row->start_seconds >= 0 && row->end_seconds >= row->start_seconds, "%s, row %d", subject, i);
		cr_assert(at_least(run->seconds, row->end_seconds) && at_least(run->seconds, row->ready_seconds),
			  "%s, row %d", subject, i);
		for (int k = 0; k < run->n_tasks; k++)
			if (run->task[k].node == i && run->task[k].kind == NPL_TASK_LAYER)
				for (int n = 0; n < net->graph->node[i].n_in; n++) {
					int v = net->graph->node[i].in[n];
					int producer = v < 0 ? -1 : net->graph->value[v].producer;
					cr_assert(producer < 0 || at_least(run->task[k].start_seconds,
									   run->layer[producer].ready_seconds),
						  "%s, row %d", subject, i);
				}
	}
}

/* A machine with static power draws it from the beginning to the end, once: while it works in its own figures, else
 * here. A link's joules are those of its bytes. */
static void check_energy(const struct npl_run *run, struct npl_device *const *device, int n_devices,
			 const char *subject)
{
	double waiting = 0;
	for (int d = 0; d < n_devices; d++)
		for (int r = 0; r < run->n_resources; r++)
			if (run->resource[r].kind == NPL_RESOURCE_DEVICE && run->resource[r].device == d)
				waiting += npl_device_get_info(device[d])->static_watts *
					   (run->seconds - run->resource[r].busy_seconds);
	double actual = joules_of(run->energy, run->n_energy, "static, waiting");
	cr_assert(fabs(actual - waiting) <= 1e-9 * fabs(waiting) + 1e-18, "%s: %g J waiting, expected %g", subject,
		  actual, waiting);
	double joules = 0;
	bool known = true;
	for (int r = 0; r < run->n_resources; r++)
		if (run->resource[r].kind == NPL_RESOURCE_LINK) {
			known = known && isfinite(run->resource[r].joules);
			joules += run->resource[r].bytes + run->resource[r].bytes_within ? run->resource[r].joules : 0;
		}
	actual = joules_of(run->energy, run->n_energy, "host link");
	cr_assert(!known || near(actual, joules), "%s: the links take %g J, their bytes %g", subject, actual, joules);
}

static void check_all(const struct net *net, const struct outcome *o, struct npl_device *const *device, int n_devices,
		      const char *subject)
{
	check_totals(&o->run, subject);
	check_resources(&o->run, subject);
	check_order(net, &o->run, o->session, subject);
	check_makespan(net, &o->run, o->session, subject);
	check_rows(net, &o->run, subject);
	check_energy(&o->run, device, n_devices, subject);
}

/* The times are those of the other run, to the bit. */
static void check_same_times(const struct npl_run *a, const struct npl_run *b, const char *subject)
{
	cr_assert(a->n_tasks == b->n_tasks && !memcmp(&a->seconds, &b->seconds, sizeof a->seconds), "%s", subject);
	for (int i = 0; i < a->n_tasks; i++)
		cr_assert(a->task[i].node == b->task[i].node && a->task[i].resource == b->task[i].resource &&
				  !memcmp(&a->task[i].start_seconds, &b->task[i].start_seconds, sizeof(double)) &&
				  !memcmp(&a->task[i].end_seconds, &b->task[i].end_seconds, sizeof(double)),
			  "%s, piece %d", subject, i);
}

/* Random networks, each layer on a random device or the host: the laws; the same again without values, under other
 * names. */
Test(schedule, schedules_of_random_networks_keep_the_laws)
{
	static const char *const buffers[] = {"1000000", "2000", "900"};
	int overlapping = 0, serial = 0, held = 0;
	for (uint64_t seed = 1; seed <= 240; seed++) {
		uint64_t rng = seed * 77 + 5;
		struct npl_device *device[] = {open_tpu(buffers[seed % 3]), open_diannao(), open_tpu("1000000"),
					       open_device("reference")};
		struct net net = make_random_net(seed + 5000, false);
		int place[DRAWN_MAX], maximum = seed % 4 ? 2 : 3;
		char subject[40];
		snprintf(subject, sizeof subject, "seed %d", (int)seed);
		cr_assert_leq(net.graph->n_nodes, DRAWN_MAX);
		for (int i = 0; i < net.graph->n_nodes; i++)
			place[i] = i && test_range(&rng, 0, 2) == 0 ? place[i - 1]
								    : (int)test_range(&rng, NPL_ON_HOST, maximum);
		struct npl_session_options options = {.n_devices = maximum + 1,
						      .device = device,
						      .place = place,
						      .inputs_over_link = seed & 1,
						      .outputs_over_link = seed >> 1 & 1};
		struct outcome o = run_with(&net, options, subject);
		check_all(&net, &o, device, maximum + 1, subject);
		overlapping += o.run.overlap_seconds > 0;
		serial += o.run.overlap_seconds == 0;
		for (int i = 0; i < o.run.n_tasks; i++)
			held += o.run.task[i].kind == NPL_TASK_LINK_HELD;
		if (maximum == 2) { /* simulated alone: the same every time */
			for (int i = 0; i < net.graph->n_nodes; i++)
				net.graph->node[i].name = i % 2 ? "zz" : "a";
			options.plan.timing_only = seed % 2;
			struct outcome repeated = run_with(&net, options, subject);
			check_same_times(&o.run, &repeated.run, subject);
			free_outcome(&net, &repeated);
		}
		free_outcome(&net, &o);
		free_net(&net);
		for (int d = 0; d < 4; d++)
			npl_device_close(device[d]);
	}
	cr_assert(overlapping > 60 && serial > 20 && held > 100, "%d, %d, %d", overlapping, serial, held);
}

/* Layers one after the other have nothing to do at the same time, wherever they are: the sum, to the bit. */
Test(schedule, a_line_of_layers_takes_the_sum)
{
	uint64_t rng = 3;
	struct net net = make_layer_group(&rng);
	struct npl_device *device[] = {open_tpu("1000000"), open_diannao(), open_device("reference")};
	for (int i = 0; i < 40; i++) {
		int place[SEQUENCE];
		for (int k = 0; k < SEQUENCE; k++)
			place[k] = (int)test_range(&rng, NPL_ON_HOST, 2);
		struct outcome o = run_net(&net, device, 3, i ? place : NULL, false);
		double sum = o.run.device_seconds + o.run.host_seconds + o.run.link_seconds;
		check_all(&net, &o, device, 3, "a line");
		cr_assert(!memcmp(&sum, &o.run.seconds, sizeof sum) && o.run.overlap_seconds == 0, "%g and %g s", sum,
			  o.run.seconds);
		for (int s = 0; s < o.run.n_tasks; s++)
			cr_assert(o.run.task[s].critical || o.run.task[s].kind == NPL_TASK_LINK_HELD, "piece %d", s);
		free_outcome(&net, &o);
	}
	for (int d = 0; d < 3; d++)
		npl_device_close(device[d]);
	free_net(&net);
}

/* x (1,4,N,N) -> two convolutions -> their sum. */
static struct net make_branches(uint64_t *rng, int64_t n)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){1, 4, n, n});
	put_weights(&g, rng, "w1", 4, (int64_t[]){8, 4, 1, 1});
	put_weights(&g, rng, "w2", 4, (int64_t[]){8, 4, 1, 1});
	onnx_put_node(&g, "Conv", "left", "x w1", "a", NULL);
	onnx_put_node(&g, "Conv", "right", "x w2", "b", NULL);
	onnx_put_node(&g, "Add", "sum", "a b", "y", NULL);
	onnx_put_output(&g, "y");
	return make_net(&g, rng);
}

static double transfer(const struct npl_device *device, double bytes)
{
	const struct npl_link *link = &npl_device_get_info(device)->link;
	return link->latency_seconds + bytes / link->bytes_per_second;
}

/* Two machines at once, worked out by hand: the host converts for both in turn, then links and machines work side by
 * side, and the host takes up what comes back in the order of the sum's inputs. */
Test(schedule, two_branches_by_hand)
{
	enum { N = 32, X = 4 * N * N, Y = 8 * N * N };
	uint64_t rng = 4;
	struct net net = make_branches(&rng, N);
	struct npl_device *device[] = {open_tpu("1000000"), open_diannao()};
	struct npl_device *host = kit_open_host();
	struct outcome o = run_net(&net, device, 2, (int[]){0, 1, NPL_ON_HOST}, false);
	check_all(&net, &o, device, 2, "two branches");
	double left = o.run.layer[0].result.seconds, right = o.run.layer[1].result.seconds;
	double to_int8 = kit_host_seconds(host, X, 0, X * 5), to_q16 = kit_host_seconds(host, X, 0, X * 6);
	double from_int8 = kit_host_seconds(host, Y, 0, Y * 5), from_q16 = kit_host_seconds(host, Y, 0, Y * 6);
	double a = to_int8 + transfer(device[0], X) + left + transfer(device[0], Y);
	double b = to_int8 + to_q16 + transfer(device[1], X * 2) + right + transfer(device[1], Y * 2);
	double a_plain = fmax(a, to_int8 + to_q16) + from_int8, b_plain = fmax(a_plain, b) + from_q16;
	double end = b_plain + kit_host_seconds(host, Y, 0, Y * 12);
	cr_assert(near(o.run.seconds, end), "%g s, expected %g", o.run.seconds, end);
	cr_assert(o.run.overlap_seconds > 0);
	cr_assert(near(o.run.layer[0].ready_seconds, to_int8 + transfer(device[0], X) + left));
	cr_assert(near(o.run.layer[1].start_seconds, to_int8) &&
		  near(o.run.layer[1].end_seconds, b - transfer(device[1], Y * 2)));
	cr_assert(near(o.run.layer[2].start_seconds, a - transfer(device[0], Y)) &&
		  near(o.run.layer[2].end_seconds, end));
	/* on one machine there is one queue */
	struct outcome one = run_net(&net, device, 1, (int[]){0, 0, NPL_ON_HOST}, false);
	check_all(&net, &one, device, 1, "one queue");
	npl_device_close(host);
	free_outcome(&net, &o);
	free_outcome(&net, &one);
	npl_device_close(device[0]);
	npl_device_close(device[1]);
	free_net(&net);
}

static const struct npl_resource *link_of(const struct npl_run *run, int device)
{
	int r = 0;
	while (r < run->n_resources &&
	       (run->resource[r].kind != NPL_RESOURCE_LINK || run->resource[r].device != device))
		r++;
	cr_assert_lt(r, run->n_resources, "no link of device %d", device);
	return &run->resource[r];
}

/* A value from one machine to another crosses the first's link to the host and then the second's, once each, whoever
 * else reads it there. */
Test(schedule, from_device_to_device)
{
	uint64_t rng = 6;
	struct onnx_writer g = {0};
	enum { V = 2 * 8 * 6 * 6 };
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 4, 6, 6});
	put_weights(&g, &rng, "w1", 4, (int64_t[]){8, 4, 1, 1});
	put_weights(&g, &rng, "w2", 4, (int64_t[]){8, 8, 1, 1});
	onnx_put_node(&g, "Conv", "c1", "x w1", "a", NULL);
	onnx_put_node(&g, "Conv", "c2", "a w2", "y1", NULL);
	onnx_put_node(&g, "Conv", "c3", "a w2", "y2", NULL);
	onnx_put_output(&g, "y1");
	onnx_put_output(&g, "y2");
	struct net net = make_net(&g, &rng);
	struct npl_device *device[] = {open_tpu("1000000"), open_tpu("900000")};
	struct outcome o = run_net(&net, device, 2, (int[]){0, 1, 1}, false);
	check_all(&net, &o, device, 2, "a to b");
	uint64_t bytes[2] = {0}, out[2] = {0}, in[2] = {0};
	for (int i = 0; i < o.run.n_tasks; i++) {
		const struct npl_task *task = &o.run.task[i];
		if (task->value < 0 || strcmp(net.graph->value[task->value].name, "a"))
			continue;
		int d = o.run.resource[task->resource].device;
		if (o.run.resource[task->resource].kind != NPL_RESOURCE_LINK)
			continue;
		bytes[d] += task->bytes;
		out[d] += task->kind == NPL_TASK_TO_HOST;
		in[d] += task->kind == NPL_TASK_TO_DEVICE;
		cr_assert_str_eq(net.graph->node[task->node].name, "c2", "who asks first pays");
	}
	cr_assert(bytes[0] == V && bytes[1] == V && out[0] == 1 && !in[0] && in[1] == 1 && !out[1]);
	const struct npl_resource *first = link_of(&o.run, 0), *second = link_of(&o.run, 1);
	cr_assert(first->bytes == V / 2 + V && second->bytes == V + 2 * V);
	cr_assert(near(first->joules, (double)first->bytes * 70e-12) &&
		  near(second->joules, (double)second->bytes * 70e-12));
	cr_assert(near(second->busy_seconds, 3 * transfer(device[1], V)), "%g s", second->busy_seconds);
	cr_assert_str_eq(first->name, npl_device_get_info(device[0])->link.name);
	free_outcome(&net, &o);
	npl_device_close(device[0]);
	npl_device_close(device[1]);
	free_net(&net);
}

/* Batches follow each other: times add, and what overlaps in each. */
Test(schedule, times_of_batches_add)
{
	uint64_t rng = 5;
	struct net net = make_branches(&rng, 16);
	struct npl_device *device[] = {open_tpu("1000000"), open_diannao()};
	struct outcome o = run_net(&net, device, 2, (int[]){0, 1, NPL_ON_HOST}, false);
	struct npl_run sum = {0};
	struct npl_err err;
	for (int i = 0; i < 3; i++)
		cr_assert_eq(npl_run_add(&sum, &o.run, &err), 0, "%s", err.msg);
	check_totals(&sum, "three batches");
	cr_assert(near(sum.seconds, 3 * o.run.seconds) && near(sum.overlap_seconds, 3 * o.run.overlap_seconds));
	cr_assert(sum.n_tasks == o.run.n_tasks && near(sum.layer[2].end_seconds, o.run.layer[2].end_seconds));
	for (int r = 0; r < sum.n_resources; r++)
		cr_assert(sum.resource[r].bytes == 3 * o.run.resource[r].bytes &&
			  near(sum.resource[r].busy_seconds, 3 * o.run.resource[r].busy_seconds));
	npl_run_free(&sum);
	free_outcome(&net, &o);
	npl_device_close(device[0]);
	npl_device_close(device[1]);
	free_net(&net);
}
