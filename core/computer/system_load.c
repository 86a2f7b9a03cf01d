/* SPDX-License-Identifier: MIT
 *
 * Other work on this computer (system_load.h). */
#include "npulab/system_load.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"

/* The kernel counts time in steps of 10 ms, which over this time is an error of a tenth of one processor. */
#define SHORTEST_SECONDS 0.1

/* Returns the first line of a file; NULL: it cannot be read. */
static const char *read_first_line(const char *root, const char *name, char *line, int size)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", root, name);
	FILE *file = fopen(path, "re");
	const char *text = file ? fgets(line, size, file) : NULL;
	if (file)
		fclose(file);
	return text;
}

/* Returns the seconds that all processors have worked since the computer started. The seconds of guests are within user
 * and nice; those that a hypervisor took away count as other work. */
static double all_processors_seconds(const char *root)
{
	unsigned long long user, nice, system, idle, wait, irq, softirq, steal;
	char line[400];
	if (!read_first_line(root, "stat", line, sizeof line) ||
	    sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq,
		   &softirq, &steal) != 8)
		return NAN;
	return (double)(user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static double process_seconds(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage) ? NAN : seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

void npl_system_load_start(struct npl_system_load *load, const char *root)
{
	char line[100];
	*load = (struct npl_system_load){
		.root = root ? root : NPL_PROC_ROOT, .load_average = NAN, .other_processors = NAN};
	load->processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (!read_first_line(load->root, "loadavg", line, sizeof line) || sscanf(line, "%lf", &load->load_average) != 1)
		load->load_average = NAN;
	load->start_process_seconds = process_seconds();
	load->start_total_seconds = all_processors_seconds(load->root);
	load->start_seconds = npl_clock_seconds();
}

void npl_system_load_stop(struct npl_system_load *load)
{
	double elapsed = npl_clock_seconds() - load->start_seconds;
	double other_processors = all_processors_seconds(load->root) - load->start_total_seconds -
				  (process_seconds() - load->start_process_seconds);
	load->other_processors = elapsed >= SHORTEST_SECONDS && other_processors == other_processors
					 ? fmax(other_processors / elapsed, 0)
					 : NAN;
	load->busy = load->other_processors >= NPL_BUSY_PROCESSORS;
}
