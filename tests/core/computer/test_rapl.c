/* SPDX-License-Identifier: MIT
 *
 * Promises of the package counters over a fake powercap tree: only package zones count, each once; a counter that
 * stands still or cannot be read is refused with the reason; a wrap is handled exactly; a measurement too short for the
 * counter's step or too long for its range is refused; with no usable counter there is a reason and never a 0. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/computer/rapl.h"

static char root[] = "/tmp/npulab_meter_XXXXXX";

static void make_root(void)
{
	cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -rf '%s'", root);
	if (system(command))
		perror(command);
}

/* A skipped test does not come to its end, where .fini would tidy up. */
#define SKIP(...)                                                                                                      \
	do {                                                                                                           \
		remove_root();                                                                                         \
		cr_skip(__VA_ARGS__);                                                                                  \
	} while (0)

TestSuite(rapl, .init = make_root, .fini = remove_root);

static void write_file(const char *zone, const char *file, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", root, zone);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/%s/%s", root, zone, file);
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

static void make_zone(const char *zone, const char *name, const char *range)
{
	write_file(zone, "name", name);
	write_file(zone, "max_energy_range_uj", range);
	write_file(zone, "energy_uj", "00000000000000000000");
}

/* Written in place and at a fixed width, so that a reader never sees half a number. */
static void set_counter(const char *zone, uint64_t value)
{
	char path[256], text[32];
	snprintf(path, sizeof path, "%s/%s/energy_uj", root, zone);
	int fd = open(path, O_WRONLY);
	int n = snprintf(text, sizeof text, "%020llu\n", (unsigned long long)value);
	if (fd < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		perror(path);
	close(fd);
}

/* A thread that lets counters run while a meter opens. */
static atomic_bool stop_ticking, ticks;
static const char *const *ticking_zones;

static void *tick(void *unused)
{
	(void)unused;
	for (uint64_t value = 1; !atomic_load(&stop_ticking); value++) {
		for (const char *const *zone = ticking_zones; *zone; zone++)
			set_counter(*zone, value);
		atomic_store(&ticks, true);
		usleep(1000);
	}
	return NULL;
}

static int open_while_ticking(const char *const *zones, struct npl_rapl *rapl, struct npl_err *err)
{
	pthread_t thread;
	ticking_zones = zones;
	atomic_store(&stop_ticking, false);
	atomic_store(&ticks, false);
	cr_assert_eq(pthread_create(&thread, NULL, tick, NULL), 0);
	while (!atomic_load(&ticks)) /* a busy machine may let it wait */
		usleep(100);
	int code = npl_rapl_open(root, rapl, err);
	atomic_store(&stop_ticking, true);
	pthread_join(thread, NULL);
	return code;
}

static void expect_refused(const char *reason)
{
	struct npl_rapl rapl;
	struct npl_err err = {0};
	double joules = 7, seconds = 7;
	cr_assert_eq(npl_rapl_open(root, &rapl, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, reason), "expected '%s' in '%s'", reason, err.msg);
	cr_assert_eq(npl_rapl_stop(&rapl, &joules, &seconds, &err), NPL_EDEVICE);
	cr_assert_eq(joules, 7, "a meter that is not open must not give a figure");
	npl_rapl_close(&rapl);
}

Test(rapl, gives_the_reason_when_there_is_no_counter)
{
	expect_refused("there is no package counter below /tmp/");
	make_zone("intel-rapl:0", "psys", "262143328850");
	expect_refused("there is no package counter below /tmp/");
	make_zone("intel-rapl-mmio:0", "package-0", "262143328850");
	expect_refused("there is no package counter below /tmp/");
	make_zone("intel-rapl:1", "package-0", "262143328850");
	expect_refused("the counter of package-0 stands still");
	write_file("intel-rapl:1", "energy_uj", "not a number");
	expect_refused("the counter of package-0 cannot be read: Invalid argument");
	char path[256];
	snprintf(path, sizeof path, "%s/intel-rapl:1/energy_uj", root);
	unlink(path);
	expect_refused("the counter of package-0 cannot be read: No such file");
	mkdir(path, 0755);
	expect_refused("the counter of package-0 cannot be read: Is a directory");
	cr_assert(!rmdir(path) && !mkfifo(path, 0666));
	expect_refused("the counter of package-0 cannot be read: Illegal seek");
	snprintf(path, sizeof path, "%s/intel-rapl:1/name", root);
	cr_assert(!unlink(path) && !mkfifo(path, 0666));
	expect_refused("there is no package counter below /tmp/");
}

Test(rapl, a_missing_permission_is_named)
{
	if (!geteuid())
		SKIP("root reads every file");
	make_zone("intel-rapl:0", "package-0", "1000000");
	char path[256];
	snprintf(path, sizeof path, "%s/intel-rapl:0/energy_uj", root);
	chmod(path, 0);
	expect_refused("Permission denied (Linux lets only root read it)");
}

Test(rapl, counts_each_live_package_once)
{
	struct npl_rapl rapl;
	struct npl_err err = {0};
	double joules, seconds;
	make_zone("intel-rapl:0", "package-0", "262143328850");
	make_zone("intel-rapl:0:0", "core", "262143328850");
	make_zone("intel-rapl:1", "package-1-die-0", "262143328850");
	make_zone("intel-rapl:2", "psys", "262143328850");
	make_zone("intel-rapl:3", "package-9", "262143328850"); /* stands still */
	make_zone("intel-rapl-mmio:0", "package-0", "262143328850");
	static const char *const zones[] = {"intel-rapl:0", "intel-rapl:0:0",    "intel-rapl:1",
					    "intel-rapl:2", "intel-rapl-mmio:0", NULL};
	cr_assert_eq(open_while_ticking(zones, &rapl, &err), 0, "%s", err.msg);
	cr_assert_eq(rapl.n_domains, 2);
	cr_assert_str_eq(rapl.stuck_package, "package-9");
	cr_assert_str_eq(rapl.domain[0].name, "package-0");
	cr_assert_str_eq(rapl.domain[1].name, "package-1-die-0");

	cr_assert_eq(npl_rapl_start(&rapl, &err), 0);
	cr_assert_eq(npl_rapl_stop(&rapl, &joules, &seconds, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "too short for a counter that steps every millisecond: at least 100 ms"), "%s",
		  err.msg);

	rapl.shortest_seconds = 0;
	set_counter("intel-rapl:0", 1000000);
	set_counter("intel-rapl:1", 5000000);
	cr_assert_eq(npl_rapl_start(&rapl, &err), 0);
	for (size_t i = 0; zones[i]; i++)
		set_counter(zones[i], 8500000);
	cr_assert_eq(npl_rapl_stop(&rapl, &joules, &seconds, &err), 0, "%s", err.msg);
	cr_assert_float_eq(joules, 7.5 + 3.5, 1e-12);
	cr_assert(seconds >= 0 && seconds < 60);
	npl_rapl_close(&rapl);
	cr_assert_eq(rapl.n_domains, 0);
}

Test(rapl, handles_a_wrap)
{
	static const char *const zones[] = {"intel-rapl:0", NULL};
	static const struct {
		uint64_t start, end;
		double joules; /* negative: refused */
	} cases[] = {
		{10, 10, 0},
		{0, 65532610987, 65532.610987},
		{65532610987, 0, 0},
		{65532610000, 1013, 0.002},
		{65532610988, 5, -1} /* started beyond the range: not a wrap */
	};
	struct npl_rapl rapl;
	struct npl_err err = {0};
	make_zone("intel-rapl:0", "package-0", "65532610987");
	cr_assert_eq(open_while_ticking(zones, &rapl, &err), 0, "%s", err.msg);
	rapl.shortest_seconds = 0;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double joules = -7, seconds;
		set_counter("intel-rapl:0", cases[i].start);
		cr_assert_eq(npl_rapl_start(&rapl, &err), 0);
		set_counter("intel-rapl:0", cases[i].end);
		int code = npl_rapl_stop(&rapl, &joules, &seconds, &err);
		cr_assert_eq(code, cases[i].joules < 0 ? NPL_EDEVICE : 0, "case %zu: %s", i, err.msg);
		if (!code)
			cr_assert_float_eq(joules, cases[i].joules, 1e-9, "case %zu: %.9f", i, joules);
	}
	/* A range of 1 mJ lasts a microsecond at 1000 W: the counter may have wrapped any number of times. */
	rapl.domain[0].range_uj = 1000;
	set_counter("intel-rapl:0", 5);
	double joules, seconds;
	cr_assert_eq(npl_rapl_start(&rapl, &err), 0);
	usleep(2000);
	cr_assert_eq(npl_rapl_stop(&rapl, &joules, &seconds, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "may have wrapped twice"), "%s", err.msg);
	npl_rapl_close(&rapl);
}

/* What no package draws is no energy, nor is a counter that stops; both after the shortest time that is measured at
 * all. */
Test(rapl, refuses_what_cannot_be)
{
	static const char *const zones[] = {"intel-rapl:0", NULL};
	static const struct {
		uint64_t start, end;
		const char *reason;
	} cases[] = {{5000000, 5000000, "package-0 stood still for"},
		     {5000000, 4999000, "which no package draws"}, /* back, which looks like a wrap */
		     {5000000, 500005000000, "which no package draws"},
		     {5000000, 6000000, NULL}};
	struct npl_rapl rapl;
	struct npl_err err = {0};
	make_zone("intel-rapl:0", "package-0", "999999999999");
	cr_assert_eq(open_while_ticking(zones, &rapl, &err), 0, "%s", err.msg);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double joules, seconds;
		set_counter("intel-rapl:0", cases[i].start);
		cr_assert_eq(npl_rapl_start(&rapl, &err), 0);
		usleep(110000);
		set_counter("intel-rapl:0", cases[i].end);
		int code = npl_rapl_stop(&rapl, &joules, &seconds, &err);
		cr_assert_eq(code, cases[i].reason ? NPL_EDEVICE : 0, "case %zu: %s", i, err.msg);
		cr_assert(!cases[i].reason || strstr(err.msg, cases[i].reason), "case %zu: %s", i, err.msg);
	}
	npl_rapl_close(&rapl);
}

/* The machine's own counters, where there are any: watts of a processor, not of a lamp or a town. */
Test(rapl, real_counter_is_plausible)
{
	struct npl_rapl rapl;
	struct npl_err err = {0};
	double joules, seconds;
	if (npl_rapl_open(NULL, &rapl, &err))
		SKIP("%s", err.msg);
	cr_assert_eq(npl_rapl_start(&rapl, &err), 0);
	usleep(200000);
	cr_assert_eq(npl_rapl_stop(&rapl, &joules, &seconds, &err), 0, "%s", err.msg);
	cr_assert(joules / seconds > 0.1 && joules / seconds < 1000 * rapl.n_domains, "%g W", joules / seconds);
	npl_rapl_close(&rapl);
}
