/* SPDX-License-Identifier: MIT
 *
 * Promises of loops over tasks (core/base/parallel.h): every task runs once, whoever asks meanwhile; within a task a
 * thread works alone; a child process has threads again; as many threads as are allowed work. And of what runs on them:
 * random values and quantised ones are the same bits with any number of threads, and those of their rules. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/parallel.h"
#include "frontend/quantise/quantise.h"
#include "npulab/random.h"
#include "npulab/thread.h"
#include "tests/kit/support.h"

enum { TASKS = 500, MAX_WORKERS = 7 };

struct seen {
	atomic_int runs[TASKS], in_use[MAX_WORKERS], wrong;
	int workers;
	bool contended; /* others use the pool: a thread that does its tasks by itself may find it free within one */
};

static void note_task(void *context, int64_t i, int worker)
{
	struct seen *seen = context;
	if (worker < 0 || worker >= seen->workers || atomic_fetch_add(&seen->in_use[worker], 1) ||
	    (!seen->contended && seen->workers > 1 && npl_parallel_workers() != 1))
		atomic_fetch_add(&seen->wrong, 1);
	atomic_fetch_add(&seen->runs[i], 1);
	atomic_fetch_sub(&seen->in_use[worker], 1);
}

/* How much went wrong. */
static int loop(int workers, bool contended)
{
	struct seen *seen = calloc(1, sizeof *seen);
	seen->workers = workers;
	seen->contended = contended;
	npl_parallel(workers, TASKS, note_task, seen);
	int wrong = seen->wrong;
	for (int i = 0; i < TASKS; i++)
		wrong += seen->runs[i] != 1;
	free(seen);
	return wrong;
}

static void check_loop(int workers)
{
	cr_assert_eq(loop(workers, false), 0, "with %d workers", workers);
}

static void *loops(void *wrong)
{
	for (int i = 0; i < 100; i++)
		atomic_fetch_add((atomic_int *)wrong, loop(npl_parallel_workers(), true));
	return NULL;
}

TestSuite(parallel, .timeout = 60);

Test(parallel, every_task_is_done_once)
{
	pthread_t thread[3];
	atomic_int wrong = 0;
	for (int workers = 1; workers <= MAX_WORKERS; workers++) {
		npl_threads_allow(workers);
		cr_assert_eq(npl_parallel_workers(), workers);
		for (int i = 0; i < 50; i++)
			check_loop(workers);
	}
	for (int i = 0; i < 3; i++)
		cr_assert_eq(npl_thread_start(&thread[i], loops, &wrong), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	cr_assert_eq(wrong, 0);
}

Test(parallel, a_thread_that_is_alone_has_one_worker)
{
	npl_threads_allow(3);
	cr_assert(!npl_parallel_alone(true));
	cr_assert_eq(npl_parallel_workers(), 1);
	check_loop(1);
	cr_assert(npl_parallel_alone(false));
	cr_assert_eq(npl_parallel_workers(), 3);
	npl_threads_allow(0);
	cr_assert_eq(npl_threads_allowed(), npl_processors());
}

Test(parallel, a_child_process_has_its_own_threads)
{
	int status;
	npl_threads_allow(4);
	check_loop(4);
	const pid_t child = fork();
	if (!child)
		_exit(loop(4, false) != 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	check_loop(4);
}

struct holding {
	atomic_int there;
	int n_threads;
};

/* Waits for the other threads. It would wait for ever if there were fewer. */
static void hold(void *context, int64_t i, int worker)
{
	struct holding *holding = context;
	(void)i, (void)worker;
	atomic_fetch_add(&holding->there, 1);
	while (atomic_load(&holding->there) < holding->n_threads)
		usleep(100);
}

Test(parallel, as_many_threads_as_allowed)
{
	for (int workers = 2; workers <= MAX_WORKERS; workers++) {
		struct holding holding = {.n_threads = workers};
		npl_threads_allow(workers);
		npl_parallel(workers, workers, hold, &holding);
	}
}

/* Computes the values one by one, by the rule of npulab/random.h. */
static double by_rule(const struct npl_random_law *law, int64_t i)
{
	struct npl_random random = {.state = law->seed};
	random.state = npl_random_u64(&random) + (uint64_t)i * 0x9e3779b97f4a7c15u;
	const double p = ((double)(npl_random_u64(&random) >> 12) + 0.5) * 0x1p-52;
	return law->uniform ? (double)law->low + ((double)law->high - (double)law->low) * p
			    : (double)law->mean + (double)law->deviation * npl_normal_quantile(p);
}

Test(parallel, random_values_do_not_depend_on_threads)
{
	enum { N = 150001, FIRST = 77 };
	const struct npl_random_law laws[] = {{.mean = 0.25f, .deviation = 3, .seed = 5, .seeded = true},
					      {.uniform = true, .low = -1, .high = 2, .seed = 6, .seeded = true}};
	float *x = malloc(N * sizeof *x);
	double *wide = malloc(N * sizeof *wide);
	cr_assert(x && wide);
	for (int threads = 1; threads <= MAX_WORKERS; threads += 3)
		for (size_t l = 0; l < 2; l++) {
			npl_threads_allow(threads);
			npl_random_floats(&laws[l], FIRST, N, x);
			npl_random_doubles(&laws[l], FIRST, N, wide);
			for (int64_t i = 0; i < N; i++) {
				const double expected = by_rule(&laws[l], FIRST + i);
				cr_assert(!memcmp(&expected, &wide[i], sizeof expected) && x[i] == (float)expected,
					  "element %lld with %d threads: %a and %a, expected %a", (long long)i, threads,
					  (double)x[i], wide[i], expected);
			}
		}
	free(x);
	free(wide);
}

static int64_t as_integer(const struct npl_tensor *t, int64_t i)
{
	return (int64_t)npl_tensor_real(t, i);
}

/* Values on both sides of every limit and tie, of every type, by libm's rint. */
Test(parallel, quantised_values_do_not_depend_on_threads)
{
	enum { N = 200003 };
	static const struct {
		enum npl_dtype dtype;
		int32_t zero, low, high;
	} types[] = {{NPL_U8, 128, 0, 255}, {NPL_U8, 3, 0, 255}, {NPL_I8, -5, -128, 127}, {NPL_I16, 0, -32768, 32767}};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(1, N)}, q;
	struct npl_err err;
	uint64_t rng = 9;
	cr_assert_eq(npl_tensor_alloc(&x, &err), 0);
	float *value = x.data;
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (int threads = 1; threads <= MAX_WORKERS; threads += 3) {
			uint64_t saturations = 0, expected = 0;
			for (int64_t i = 0; i < N; i++)
				value[i] = (float)test_range(&rng, -80000, 80000) /
					   (types[t].dtype == NPL_I16 ? 2.0f : 200.0f);
			value[0] = INFINITY;
			value[N - 1] = -FLT_MAX;
			npl_threads_allow(threads);
			const struct npl_quant quant = {.scale = 0.5f, .zero_point = types[t].zero};
			cr_assert_eq(npl_quantise_to(&x, types[t].dtype, quant, &q, &saturations, &err), 0);
			for (int64_t i = 0; i < N; i++) {
				const double exact = rint((double)(value[i] / 0.5f)) + types[t].zero;
				const double inside = fmax(types[t].low, fmin(types[t].high, exact));
				expected += inside < exact || inside > exact;
				cr_assert_eq(as_integer(&q, i), (int64_t)inside, "%a", (double)value[i]);
			}
			cr_assert_eq(saturations, expected);
			npl_tensor_free(&q);
			value[N / 2] = NAN;
			cr_assert_eq(npl_quantise_to(&x, types[t].dtype, quant, &q, &saturations, &err), NPL_EINPUT);
		}
	npl_tensor_free(&x);
}
