/* SPDX-License-Identifier: MIT
 *
 * The order of events. What the program promises: both engines tell the same events one after the other in the same
 * order, by cycle, then by name, then by index, however much happens at one boundary and whichever direction of the
 * host link overtakes the other. That every random program's events come so is looked at in
 * tests/kit/sim/tpu_v1/run.c. */
#include "sim/systolic/tpu_v1/rtl/run.h"
#include "tests/kit/sim/tpu_v1/fast_support.h"

/* Compares the events of both engines one by one. Those of the rtl engine are left in m. */
static void expect_same_events(struct test_machine *m, const char *subject)
{
	struct sim_event *fast = malloc(sizeof m->event);
	cr_assert(fast);
	fast_run(m);
	int events = m->events;
	memcpy(fast, m->event, sizeof m->event);
	test_run_ok(m);
	cr_assert_eq(m->events, events, "%s: %d and %d events", subject, m->events, events);
	for (int i = 0; i < events; i++)
		cr_assert(m->event[i].kind == fast[i].kind && m->event[i].cycle == fast[i].cycle &&
				  m->event[i].index == fast[i].index,
			  "%s: event %d is kind %d of %lld at %llu, fast: kind %d of %lld at %llu", subject, i,
			  m->event[i].kind, (long long)m->event[i].index, (unsigned long long)m->event[i].cycle,
			  fast[i].kind, (long long)fast[i].index, (unsigned long long)fast[i].cycle);
	free(fast);
}

/* Two instructions, of which the second is the transfer: each direction has host memory of its own. */
static int64_t transfer(struct test_machine *m, bool inward, int64_t rows)
{
	test_set(m, TPU_REG_HOST_ADDRESS, inward ? 2000 : 0);
	return test_add(m, inward ? TPU_READ_HOST_MEMORY : TPU_WRITE_HOST_MEMORY, 0, 16 * (uint32_t)m->program.count, 0,
			rows);
}

/* i1 goes out for long while others come in: a later instruction's events are earlier ones. */
Test(tpu_events, one_direction_overtakes_the_other)
{
	struct test_machine *m = test_open(test_config(4, 4, 16, 4), 4096);
	transfer(m, false, 20); /* i1 issues in 1 and crosses [2, 22) */
	transfer(m, true, 3);   /* i3 [4, 7) */
	transfer(m, true, 10);  /* i5 [7, 17) */
	transfer(m, true, 14);  /* i7 [17, 31) */
	transfer(m, false, 9);  /* i9 [22, 31) */
	test_halt(m);
	expect_same_events(m, "overtaking");
	static const struct sim_event expected[] = {
		{TPU_HOST_STARTED, 2, 1}, {TPU_HOST_STARTED, 4, 3},  {TPU_HOST_ENDED, 7, 3},  {TPU_HOST_STARTED, 7, 5},
		{TPU_HOST_ENDED, 17, 5},  {TPU_HOST_STARTED, 17, 7}, {TPU_HOST_ENDED, 22, 1}, {TPU_HOST_STARTED, 22, 9},
		{TPU_HOST_ENDED, 31, 7},  {TPU_HOST_ENDED, 31, 9}};
	size_t n = 0;
	for (int i = 0; i < m->events; i++) {
		const struct sim_event *event = &m->event[i];
		if (event->kind == TPU_ISSUED)
			continue;
		cr_assert_lt(n, sizeof expected / sizeof *expected);
		cr_assert(event->kind == expected[n].kind && event->cycle == expected[n].cycle &&
				  event->index == expected[n].index,
			  "event %zu: kind %d of %lld at %llu", n, event->kind, (long long)event->index,
			  (unsigned long long)event->cycle);
		n++;
	}
	cr_assert_eq(n, sizeof expected / sizeof *expected);
	test_close(m);
}

/* Two transfers of different directions that start and end at the same boundary come by index, whichever way round. */
Test(tpu_events, both_directions_at_once)
{
	for (int inward = 0; inward < 2; inward++) {
		struct test_machine *m = test_open(test_config(4, 4, 16, 4), 4096);
		int64_t first = transfer(m, inward, 8);                                   /* [2, 10) */
		int64_t second = transfer(m, !inward, 6);                                 /* [4, 10) */
		int64_t third = transfer(m, !inward, 2), fourth = transfer(m, inward, 2); /* [10, 12) */
		test_halt(m);
		expect_same_events(m, "at once");
		int at = 0;
		while (at < m->events && m->event[at].cycle < 10)
			at++;
		cr_assert(m->event[at].kind == TPU_HOST_ENDED && m->event[at].index == first);
		cr_assert(m->event[at + 1].kind == TPU_HOST_ENDED && m->event[at + 1].index == second);
		cr_assert(m->event[at + 2].kind == TPU_HOST_STARTED && m->event[at + 2].index == third);
		cr_assert(m->event[at + 3].kind == TPU_HOST_STARTED && m->event[at + 3].index == fourth);
		test_close(m);
	}
}

/* Weight memory so fast that many tiles and tables come at one boundary, more than a few of everything else. */
Test(tpu_events, many_events_at_one_boundary_are_the_same_in_both_engines)
{
	struct tpu_config config = test_config(2, 3, 100000, 1000);
	config.fifo_tiles = 60;
	config.parameter_tables = 60;
	config.queue_instructions = 500;
	struct test_machine *m = test_open(config, 4096);
	for (int i = 0; i < 40; i++) {
		transfer(m, i & 1, 1);
		test_multiply(m, TPU_MATRIX_SWITCH, 0, i, 1);
		test_activate(m, TPU_ACTIVATE_SWITCH, 4000 + (uint32_t)i, i, 1);
	}
	test_tiles(m, 40, 0);
	test_tables(m, 40, 0);
	test_halt(m);
	expect_same_events(m, "much at once");
	int maximum = 0;
	for (int i = 0, same = 0; i < m->events; i++) {
		same = i && m->event[i].cycle == m->event[i - 1].cycle ? same + 1 : 1;
		maximum = same > maximum ? same : maximum;
	}
	cr_assert_geq(maximum, 30, "at most %d events at one boundary", maximum);
	test_close(m);
}

/* A program that is stopped, or that can never end: what is told comes in order and is what happens. */
static int stop(void *context, int64_t instruction, struct npl_err *err)
{
	return instruction == *(const int64_t *)context ? npl_fail(err, NPL_EOUTPUT, "stopped") : 0;
}

struct stopped {
	int64_t at; /* first, for stop */
	struct sim_event last;
	int events;
};

static void in_order(void *context, const struct sim_event *event)
{
	struct stopped *s = context;
	cr_assert(!s->events || s->last.cycle < event->cycle ||
		  (s->last.cycle == event->cycle &&
		   (s->last.kind < event->kind || (s->last.kind == event->kind && s->last.index < event->index))));
	s->last = *event;
	s->events++;
}

Test(tpu_events, a_run_that_is_stopped)
{
	struct test_machine *m = test_open(test_config(4, 4, 16, 4), 4096);
	for (int i = 0; i < 30; i++)
		transfer(m, i % 3, 1 + i % 5);
	test_halt(m);
	for (int engine = 0; engine < 2; engine++) {
		struct stopped s = {.at = 17};
		const struct sim_observer observer = {.on_event = in_order, .on_retired = stop, .context = &s};
		cr_assert_eq((engine ? tpu_run_fast : tpu_run_rtl)(&(struct tpu_engine_input){.config = &m->config,
											      .program = &m->program,
											      .memory = m->memory,
											      .observer = &observer},
								   &m->outcome, &m->err),
			     NPL_EOUTPUT);
		cr_assert_gt(s.events, 17);
	}
	test_close(m);
}
