/* SPDX-License-Identifier: MIT
 *
 * Promises of system_load.h: what other programs take is what /proc/stat has gained less what this process has used;
 * what cannot be known is NAN, and never "not busy" in a report. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/computer/clock.h"
#include "npulab/system_load.h"

/* Makes a folder with a loadavg and a stat; NULL leaves that file out. */
static void write_proc(const char *folder, const char *loadavg, const char *stat)
{
	const char *const names[] = {"loadavg", "stat"}, *const texts[] = {loadavg, stat};
	for (int i = 0; i < 2; i++) {
		char path[100];
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
		FILE *file = texts[i] ? fopen(path, "w") : NULL;
		cr_assert(!texts[i] || (file && fputs(texts[i], file) >= 0 && !fclose(file)));
	}
}

static void pass_time(double seconds, bool working)
{
	double end = npl_clock_seconds() + seconds;
	while (npl_clock_seconds() < end)
		if (!working)
			usleep(1000);
}

/* Measures while the clock goes on for `seconds` and the computer counts more ticks of user and steal. */
static struct npl_system_load measure(const char *folder, long user, long steal, double seconds, bool working)
{
	struct npl_system_load load;
	char stat[200];
	write_proc(folder, "2.25 1.00 0.50 3/400 1234\n", "cpu  1000 10 200 90000 50 0 5 7 0 0\ncpu0 1 2 3\n");
	npl_system_load_start(&load, folder);
	snprintf(stat, sizeof stat, "cpu  %ld 10 200 99999 50 0 5 %ld 0 0\n", 1000 + user, 7 + steal);
	write_proc(folder, "9.00 1.00 0.50 3/400 1234\n", stat);
	pass_time(seconds, working);
	npl_system_load_stop(&load);
	return load;
}

Test(system_load, only_the_work_of_others_is_load)
{
	char folder[] = "/tmp/npulab-proc-XXXXXX";
	cr_assert(mkdtemp(folder));
	const long second = sysconf(_SC_CLK_TCK);
	struct npl_system_load load = measure(folder, second, 0, 0.5,
					      false); /* a second's work in at least half a second */
	cr_assert(load.load_average == 2.25 && load.processors >= 1, "as it was at the start");
	cr_assert(load.other_processors > 0.2 && load.other_processors <= 2.0 && load.busy, "%g",
		  load.other_processors);
	load = measure(folder, 0, second, 0.5, false);
	cr_assert(load.busy, "what a hypervisor takes is others' work");
	load = measure(folder, 0, 0, 0.2, false);
	cr_assert(load.other_processors == 0 && !load.busy);
	load = measure(folder, second / 100, 0, 0.3, true);
	cr_assert(load.other_processors < 0.05 && !load.busy, "its own work is no other's: %g", load.other_processors);
	load = measure(folder, 10 * second, 0, 0, false);
	cr_assert(isnan(load.other_processors) && !load.busy, "too short to tell");
	write_proc(folder, NULL, NULL);
	npl_system_load_start(&load, folder);
	pass_time(0.15, false);
	npl_system_load_stop(&load);
	cr_assert(isnan(load.load_average) && isnan(load.other_processors) && !load.busy, "no files");
	static const char *const odd[] = {"", "cpu 1 2 3\n", "cpux 1 2 3 4 5 6 7 8\n", "nothing\n"};
	for (int i = 0; i < 4; i++) {
		write_proc(folder, "much\n", odd[i]);
		npl_system_load_start(&load, folder);
		pass_time(0.11, false);
		npl_system_load_stop(&load);
		cr_assert(isnan(load.load_average) && isnan(load.other_processors), "%s", odd[i]);
	}
	write_proc(folder, NULL, NULL);
	rmdir(folder);
}

/* The real files: this process at work alone is nobody else's work, whatever else goes on. */
Test(system_load, this_process_is_nobody_else_s_work)
{
	struct npl_system_load load;
	npl_system_load_start(&load, NULL);
	pass_time(0.2, true);
	npl_system_load_stop(&load);
	cr_assert(!isnan(load.load_average) && !isnan(load.other_processors), "Linux has both");
	cr_assert(load.other_processors >= 0 && load.other_processors <= load.processors + 0.5, "%g of %d",
		  load.other_processors, load.processors);
}
