/* SPDX-License-Identifier: MIT
 *
 * Transpose, Slice and other copies in steps (core/ops/strided.h), divided among all threads. */
#include "core/computer/clock.h"
#include "core/ops/strided.h"
#include "cpu.h"

/* A copy in steps, and the number of its first dimensions that are divided among threads. */
struct shared_copy {
	struct op_strided copy;
	const void *x;
	void *y;
	int dims;
	int64_t indices, tasks;
};

static void copy_task(void *context, int64_t i, int worker)
{
	const struct shared_copy *s = context;
	(void)worker;
	op_strided_copy_part(&s->copy, s->dims, s->indices * i / s->tasks, s->indices * (i + 1) / s->tasks, s->x, s->y);
}

bool cpu_is_copy(const struct npl_layer *layer)
{
	struct op_strided copy;
	return layer->n_in > 0 && !layer->activation && !layer->n_further &&
	       op_strided_of(layer->attrs, layer->in[0], layer->out, &copy);
}

void cpu_copy_run(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out, double *seconds)
{
	const int64_t max_tasks = CPU_TASKS_OF_THREAD * (int64_t)cpu->threads,
		      full_tasks = npl_tensor_count(out) / CPU_TASK_ELEMENTS;
	struct shared_copy s = {
		.x = layer->in[0]->data, .y = out->data, .dims = 1, .tasks = cpu->threads == 1 ? 1 : max_tasks};
	op_strided_of(layer->attrs, layer->in[0], out, &s.copy);
	s.tasks = s.tasks > full_tasks ? full_tasks : s.tasks;
	s.tasks = s.tasks < 1 ? 1 : s.tasks;
	for (s.indices = s.copy.dim[0]; s.indices < s.tasks && s.dims < s.copy.rank; s.dims++)
		s.indices *= s.copy.dim[s.dims];
	double begin = npl_clock_seconds();
	npl_pool_run(cpu->pool, s.tasks, copy_task, &s);
	*seconds = npl_clock_seconds() - begin;
}
