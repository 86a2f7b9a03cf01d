/* SPDX-License-Identifier: MIT
 *
 * Promise: a processor by its figures takes the time and draws the power that the head of processor_model.h says: by
 * hand for small cases, and by laws that hold for all of them. Figures that contradict each other are refused. The two
 * machine files that describe one die have the same figures of it. */
#include <math.h>

#include "npulab/device.h"
#include "tests/kit/host.h"
#include "tests/kit/support.h"

static struct npl_processor_model plain_model(void)
{
	return (struct npl_processor_model){.cores = 4,
					    .clock_hz = 1e9,
					    .macs = {8, 0, 0},
					    .lanes = 4,
					    .rate = {1, 0.1, 1, 1, 2},
					    .private_bytes = 1000,
					    .private_rate = 40e9,
					    .shared_bytes = 100000,
					    .shared_rate = 60e9,
					    .shared_core_rate = 20e9,
					    .memory_rate = 10e9,
					    .memory_core_rate = 4e9,
					    .overlap = 1,
					    .efficiency = 1,
					    .idle_watts = 10,
					    .core_watts = 5};
}

static struct npl_processor_time estimate(const struct npl_processor_model *model, struct npl_processor_counts work)
{
	return npl_processor_estimate(model, NPL_PROCESSOR_F32, &work);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

Test(processor_model, times_are_as_worked_by_hand)
{
	struct npl_processor_model m = plain_model();
	/* 32 MACs a cycle on all cores; 16 values a cycle; a division 10 times that; 8 scattered values */
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.macs = 3200}).seconds, 100e-9));
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.operations = {1600}}).seconds, 100e-9));
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.operations = {0, 160}}).seconds, 100e-9));
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.operations = {0, 0, 1600}}).seconds, 100e-9));
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.operations = {0, 0, 0, 1600}}).seconds, 100e-9));
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.operations = {0, 0, 0, 0, 800}}).seconds, 100e-9));
	/* 4000 bytes are in the four private caches, 5000 in the shared one, 200,000 in memory, weights always there */
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.bytes = 4000}).seconds, 4000 / 160e9));
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.bytes = 6000}).seconds, 6000 / 60e9));
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.bytes = 200000}).seconds, 200000 / 10e9));
	cr_assert(near(estimate(&m, (struct npl_processor_counts){.weight_bytes = 1000}).seconds, 1000 / 10e9));
	/* the greater of 100 and 400 ns, their sum without overlap, and twice that at half the efficiency, after the
	 * start */
	const struct npl_processor_counts both = {.macs = 3200, .weight_bytes = 4000};
	cr_assert(near(estimate(&m, both).seconds, 400e-9));
	m.overlap = 0;
	cr_assert(near(estimate(&m, both).seconds, 500e-9));
	m.overlap = 0.5;
	cr_assert(near(estimate(&m, both).seconds, 450e-9));
	m.efficiency = 0.5;
	m.overhead_seconds = 1e-6;
	cr_assert(near(estimate(&m, both).seconds, 1.9e-6));
}

/* Taking a core to work costs time: little work stays on one, and draws less. */
Test(processor_model, little_work_stays_on_one_core)
{
	struct npl_processor_model m = plain_model();
	m.fork_join_seconds = 100e-9;
	/* one core: 400 operations in 100 ns, four: in 25, but 300 more to start */
	struct npl_processor_time little = estimate(&m, (struct npl_processor_counts){.operations = {400}});
	cr_assert(little.cores == 1 && near(little.seconds, 100e-9) && near(little.watts, 15));
	/* 8000: 2000, 1000 + 100 or 500 + 300 ns */
	struct npl_processor_time much = estimate(&m, (struct npl_processor_counts){.operations = {8000}});
	cr_assert(much.cores == 4 && near(much.seconds, 800e-9) && near(much.watts, 30));
	/* 1600: 400, 200 + 100 or 100 + 300 ns */
	struct npl_processor_time some = estimate(&m, (struct npl_processor_counts){.operations = {1600}});
	cr_assert(some.cores == 2 && near(some.seconds, 300e-9) && near(some.watts, 20));
}

/* With an even share the work that waits for memory takes all cores and their power, at any rate of memory. */
Test(processor_model, an_even_share_of_memory_keeps_all_cores_busy)
{
	struct npl_processor_model m = plain_model();
	const struct npl_processor_counts work = {.weight_bytes = 1000};
	m.memory_core_rate = 0;
	for (int doubled = 0; doubled < 2; doubled++, m.memory_rate *= 2) {
		m.core_share = NPL_SHARE_WHOLE;
		const struct npl_processor_time whole = estimate(&m, work);
		cr_assert(whole.cores == 1 && near(whole.watts, 15));
		m.core_share = NPL_SHARE_EVEN;
		const struct npl_processor_time even = estimate(&m, work);
		cr_assert(even.cores == 4 && near(even.watts, 30));
		cr_assert(near(even.seconds, 1000 / m.memory_rate) && near(whole.seconds, even.seconds));
	}
}

/* What overlaps is taken from the shorter of arithmetic and traffic, of caches and memory alike. */
Test(processor_model, parts_of_the_time)
{
	struct npl_processor_model m = plain_model();
	m.overlap = 0.5;
	m.overhead_seconds = 1e-6;
	/* 100 ns of arithmetic, 400 of memory */
	struct npl_processor_time t = estimate(&m, (struct npl_processor_counts){.macs = 3200, .weight_bytes = 4000});
	cr_assert(near(t.part[NPL_PROCESSOR_ARITHMETIC], 50e-9) && near(t.part[NPL_PROCESSOR_MEMORY], 400e-9));
	cr_assert(near(t.part[NPL_PROCESSOR_START], 1e-6) && near(t.seconds, 1450e-9));
	/* 1000 ns of arithmetic, 25 of caches, 100 of memory: half of 125 is hidden */
	t = estimate(&m, (struct npl_processor_counts){.macs = 32000, .bytes = 4000, .weight_bytes = 1000});
	cr_assert(near(t.part[NPL_PROCESSOR_ARITHMETIC], 1e-6));
	cr_assert(near(t.part[NPL_PROCESSOR_CACHE], 12.5e-9) && near(t.part[NPL_PROCESSOR_MEMORY], 50e-9));
}

static struct npl_processor_model random_model(uint64_t *rng)
{
	struct npl_processor_model m = plain_model();
	m.cores = test_range(rng, 1, 40);
	m.clock_hz = (double)test_range(rng, 1, 4000) * 1e6;
	m.lanes = (double)test_range(rng, 1, 64);
	m.memory_core_rate = (double)test_range(rng, 0, 10) * 1e9;
	m.shared_core_rate = (double)test_range(rng, 0, 60) * 1e9;
	m.overlap = (double)test_range(rng, 0, 10) / 10;
	m.efficiency = (double)test_range(rng, 1, 10) / 10;
	m.fork_join_seconds = (double)test_range(rng, 0, 1000) * 1e-9;
	m.overhead_seconds = (double)test_range(rng, 0, 1000) * 1e-9;
	return m;
}

static struct npl_processor_counts random_work(uint64_t *rng)
{
	struct npl_processor_counts work = {.macs = (uint64_t)test_range(rng, 0, 1000000),
					    .weight_bytes = (uint64_t)test_range(rng, 0, 300000),
					    .bytes = (uint64_t)test_range(rng, 0, 300000)};
	for (int c = 0; c < NPL_CLASSES; c++)
		work.operations[c] = (double)test_range(rng, 0, 100000);
	return work;
}

/* Faster figures are never slower, nor is less work, and time never falls below what arithmetic or traffic alone take
 * of all cores. */
Test(processor_model, faster_figures_are_never_slower)
{
	uint64_t rng = 7;
	for (int i = 0; i < 20000; i++) {
		const struct npl_processor_model m = random_model(&rng);
		const struct npl_processor_counts work = random_work(&rng);
		const struct npl_processor_time time = estimate(&m, work);
		struct npl_processor_model faster = m;
		struct npl_processor_counts less = work;
		cr_assert(time.cores >= 1 && time.cores <= m.cores && time.seconds >= m.overhead_seconds, "case %d", i);
		switch (i % 6) {
		case 0:
			faster.clock_hz *= 2;
			break;
		case 1:
			faster.memory_rate *= 2;
			break;
		case 2:
			faster.overlap = 1;
			break;
		case 3:
			faster.efficiency = 1;
			break;
		case 4:
			faster.fork_join_seconds = 0;
			break;
		default:
			faster.rate[NPL_FUNCTION] *= 2;
		}
		cr_assert_leq(estimate(&faster, work).seconds, time.seconds * (1 + 1e-12), "case %d", i);
		less.operations[i % NPL_CLASSES] /= 2;
		less.macs /= 2;
		less.weight_bytes /= 2;
		cr_assert_leq(estimate(&m, less).seconds, time.seconds * (1 + 1e-12), "case %d", i);
		const double peak = npl_processor_peak(&m, NPL_PROCESSOR_F32);
		cr_assert_geq(time.seconds * (1 + 1e-12), (double)work.macs / peak, "case %d", i);
		cr_assert_geq(time.seconds * (1 + 1e-12), (double)work.weight_bytes / m.memory_rate, "case %d", i);
		cr_assert(near(time.watts, m.idle_watts + (double)time.cores * m.core_watts), "case %d", i);
	}
}

Test(processor_model, contradictions_are_refused)
{
	static const struct {
		const char *set, *expected;
	} cases[] = {
		{"private_cache.bytes=0", "private_cache.bytes"},
		{"shared_cache.bytes_per_second=0", "shared_cache.bytes_per_second is 0"},
		{"memory.core_bytes_per_second=1e12", "at most 5.1e+10, the memory.bytes_per_second of all cores"},
		{"memory.core_share=even", "memory.core_share is even and memory.core_bytes_per_second is 1.07e+10"},
		{"precision=f16", "precision f16 needs macs_per_cycle.f16 above 0"},
		{"efficiency=0", "efficiency must be a number from 0.001 to 1"},
		{"efficiency=1.1", "efficiency must be"},
		{"overlap=2", "overlap must be"},
		{"energy.origin=measured:rapl-pkg", "a model's energy is not measured"},
		{"cores=0", "cores must be"},
		{"clock_hz=nan", "clock_hz must be"},
		{"energy.idle_watts=-1", "energy.idle_watts must be"},
		{"host_link.name=cable", "expected a bandwidth"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_device *device;
		struct npl_err err = {0};
		const struct npl_device_options options = {.n_sets = 1, .set = &cases[i].set};
		cr_assert_neq(npl_device_open("host", &options, &device, &err), 0, "%s", cases[i].set);
		cr_assert(strstr(err.msg, cases[i].expected), "%s: %s", cases[i].set, err.msg);
	}
}

/* The parameters of a link mean the same on a processor as on other machines. */
Test(processor_model, link)
{
	static const char *const bandwidth[] = {"host_link.bytes_per_second=1e9"},
				 *const plain[] = {"host_link.bytes_per_second=1e9", "host_link.kind=plain",
						   "host_link.limit_bytes_per_second=5"};
	struct npl_device *device;
	struct npl_err err = {0};
	cr_assert_eq(
		npl_device_open("gpu_k80", &(struct npl_device_options){.n_sets = 1, .set = bandwidth}, &device, &err),
		NPL_EUSAGE);
	cr_assert(strstr(err.msg, "expected 0 for a link whose host_link.kind is not plain"), "%s", err.msg);
	cr_assert_eq(npl_device_open("gpu_k80", &(struct npl_device_options){.n_sets = 3, .set = plain}, &device, &err),
		     0, "%s", err.msg);
	cr_assert_eq(npl_device_get_info(device)->link.bytes_per_second, 1e9);
	int n;
	const char *const *note = npl_device_notes(device, &n);
	bool is_noted = false;
	for (int i = 0; i < n; i++)
		is_noted |= strstr(note[i], "host_link.limit_bytes_per_second has no effect") != NULL;
	cr_assert(is_noted);
	npl_device_close(device);
}

static const struct npl_tensor *tensor_of(struct npl_tensor *tensor, int64_t rows, int64_t columns)
{
	*tensor = (struct npl_tensor){.dtype = NPL_F32, .shape = npl_shape_of(2, rows, columns)};
	return tensor;
}

/* The work of an operator with n_in inputs of taken / n_in values each that makes `made`. */
static struct npl_processor_counts work_of(const char *name, const struct npl_attrs *attrs, int n_in, int64_t taken,
					   int64_t made)
{
	enum npl_op op = npl_op_find(name);
	struct npl_tensor in[8], out;
	const struct npl_tensor *ins[8];
	cr_assert(op < NPL_OPS && n_in <= 8, "%s", name);
	for (int k = 0; k < n_in; k++)
		ins[k] = tensor_of(&in[k], 1, taken / n_in);
	tensor_of(&out, 1, made);
	return npl_processor_count(op, attrs, ins, n_in, &out, 1, 0);
}

static double simple(const char *name, const struct npl_attrs *attrs, int n_in, int64_t taken, int64_t made)
{
	return work_of(name, attrs, n_in, taken, made).operations[NPL_SIMPLE];
}

/* A value of a Relu is one operation, one of a function of exponentials many, and pools read every input of their
 * windows. */
Test(processor_model, operators_have_the_work_of_their_definition)
{
	const struct npl_attrs plain = {0}, pool = {.pool.window.kernel = {3, 2}},
			       narrow = {.lrn = {.size = 5, .beta = 0.5f}}, wide = {.lrn = {.size = 9, .beta = 0.5f}};
	cr_assert(simple("Relu", &plain, 1, 100, 100) == 100 && simple("Add", &plain, 2, 200, 100) == 100);
	cr_assert(simple("Concat", &plain, 5, 100, 100) == 100);
	cr_assert(simple("Sum", &plain, 4, 400, 100) == 300 && simple("Sum", &plain, 1, 100, 100) == 100);
	cr_assert(work_of("MaxPool", &pool, 1, 600, 100).operations[NPL_REDUCE] == 600);
	cr_assert(work_of("GlobalAveragePool", &pool, 1, 600, 10).operations[NPL_REDUCE] == 600);
	cr_assert(simple("LRN", &wide, 1, 100, 100) - simple("LRN", &narrow, 1, 100, 100) == 400);
	static const char *const dear[] = {"Sigmoid", "Tanh", "Softmax", "LRN", "Erf", "Gelu"};
	for (size_t i = 0; i < sizeof dear / sizeof *dear; i++)
		cr_assert(work_of(dear[i], &plain, 1, 100, 100).operations[NPL_FUNCTION] >= 1200, "%s", dear[i]);
	cr_assert(work_of("Div", &plain, 2, 200, 100).operations[NPL_DIVIDE] == 100);
	cr_assert(work_of("Add", &plain, 2, 200, 100).bytes == 1200);
	/* a look-up reads the rows that it takes, not the table */
	cr_assert(work_of("Gather", &plain, 2, 2000000, 100).bytes == 400 + 400 + 4000000);
	/* weights are apart from what passes through */
	const struct npl_processor_counts product = work_of("Gemm", &plain, 2, 2000, 100);
	cr_assert(product.weight_bytes == 4000 && product.bytes == 4400 && product.operations[NPL_SIMPLE] == 0);
	cr_assert(work_of("MatMul", &plain, 2, 2000, 100).weight_bytes == 0);
}

/* x^2 is one product, sqrt a root; an exponent that is not known, or no such number, is logarithm and exponential. */
Test(processor_model, powers_count_as_products_and_roots)
{
	static const struct {
		float exponent;
		double simple, divide;
	} cases[] = {{2, 1, 0}, {1, 1, 0}, {3, 2, 0}, {0.5f, 0, 1}, {-1, 0, 1}, {-0.5f, 0, 2}, {2.5f, 1, 0}};
	struct npl_attrs plain = {0};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_tensor x, out, exponent = {.dtype = NPL_F32, .data = (void *)&cases[i].exponent};
		const struct npl_tensor *in[] = {tensor_of(&x, 1, 100), &exponent};
		tensor_of(&out, 1, 100);
		const struct npl_processor_counts work = npl_processor_count(NPL_OP_POW, &plain, in, 2, &out, 1, 0);
		cr_assert(work.operations[NPL_SIMPLE] == 100 * cases[i].simple &&
				  work.operations[NPL_DIVIDE] == 100 * cases[i].divide,
			  "x^%g", (double)cases[i].exponent);
		cr_assert((work.operations[NPL_FUNCTION] > 0) == (cases[i].exponent == 2.5f), "x^%g",
			  (double)cases[i].exponent);
	}
	cr_assert(work_of("Pow", &plain, 2, 200, 100).operations[NPL_FUNCTION] > 0);
}

/* Whether values are fetched one by one: only where the last dimension, that has more than one value, is another. */
Test(processor_model, a_moved_last_dimension_is_fetched_one_by_one)
{
	static const struct {
		int64_t dim[3], perm[3];
		bool scattered;
	} cases[] = {{{4, 5, 6}, {1, 0, 2}, false}, {{4, 5, 6}, {0, 2, 1}, true}, {{4, 5, 1}, {0, 2, 1}, false},
		     {{4, 1, 6}, {0, 2, 1}, false}, {{4, 5, 6}, {2, 0, 1}, true}, {{1, 5, 1}, {2, 1, 0}, false},
		     {{4, 5, 6}, {0, 1, 2}, false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const int64_t *d = cases[i].dim;
		struct npl_attrs attrs = {.transpose.rank = 3};
		memcpy(attrs.transpose.perm, cases[i].perm, sizeof cases[i].perm);
		const struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(3, d[0], d[1], d[2])},
					*in[] = {&x};
		const struct npl_processor_counts work = npl_processor_count(NPL_OP_TRANSPOSE, &attrs, in, 1, &x, 1, 0);
		cr_assert((work.operations[NPL_SCATTERED_ACCESS] > 0) == cases[i].scattered, "case %zu", i);
	}
}

/* The host is the die of cpu_haswell_e5_2699v3 in another program: what starting an operator costs differs, and nothing
 * of the die. */
Test(processor_model, the_host_is_the_die_of_the_other_machine_file)
{
	struct npl_device *host = kit_open_host(), *die;
	struct npl_err err;
	int n, n_die;
	cr_assert_eq(npl_device_open("cpu_haswell_e5_2699v3", NULL, &die, &err), 0, "%s", err.msg);
	const struct npl_param_value *of_host = npl_device_settings(host, &n);
	const struct npl_param_value *of_die = npl_device_settings(die, &n_die);
	cr_assert(n == n_die && n > 20);
	for (int i = 0; i < n; i++) {
		const bool differs = !strcmp(of_host[i].key, "overhead_seconds");
		cr_assert_str_eq(of_host[i].key, of_die[i].key);
		cr_expect_eq(strcmp(of_host[i].value, of_die[i].value) != 0, differs, "%s is %s in host, %s in %s",
			     of_host[i].key, of_host[i].value, of_die[i].value, "cpu_haswell_e5_2699v3");
	}
	npl_device_close(die);
	npl_device_close(host);
}
