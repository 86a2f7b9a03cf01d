/* SPDX-License-Identifier: MIT
 *
 * Promises of what is read of the processor: cores and packages are counted once however many threads share them,
 * caches once however many processors share them, a hypervisor is noticed, and a computer that tells nothing breaks
 * nothing. */
#include "npulab/processor.h"
#include "tests/kit/cli_run.h"

static char folder[CLI_PATH];

static void enter(void)
{
	cli_folder(folder);
}

static void leave(void)
{
	cli_remove_folder(folder);
}

TestSuite(processor, .init = enter, .fini = leave);

static void write_below(const char *path, const char *text)
{
	char whole[CLI_PATH + 128];
	snprintf(whole, sizeof whole, "%s/%s", folder, path);
	for (char *slash = whole + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	cli_write_text(folder, path, text);
}

static void write_cache(int cpu, int index, const char *level, const char *type, const char *size, const char *shared)
{
	const char *const name[] = {"level", "type", "size", "shared_cpu_list"};
	const char *const text[] = {level, type, size, shared};
	for (int i = 0; i < 4; i++) {
		char path[100];
		snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, name[i]);
		write_below(path, text[i]);
	}
}

/* Two packages of two cores of two threads each. */
Test(processor, counts_packages_cores_and_caches_once)
{
	char text[4000] = "", shared[40], caches[200];
	for (int cpu = 0; cpu < 8; cpu++)
		snprintf(text + strlen(text), sizeof text - strlen(text),
			 "processor\t: %d\nmodel name\t: Some Processor 9000 @ 2.00GHz\ncpu MHz\t\t: 2%d00.5\n"
			 "physical id\t: %d\ncore id\t\t: %d\nflags\t\t: fpu sse\n\n",
			 cpu, cpu, cpu / 4, cpu % 4 / 2);
	write_below("proc/cpuinfo", text);
	for (int cpu = 0; cpu < 8; cpu++) {
		snprintf(shared, sizeof shared, "%d-%d\n", cpu / 2 * 2, cpu / 2 * 2 + 1);
		write_cache(cpu, 0, "1\n", "Data\n", "48K\n", shared);
		write_cache(cpu, 1, "1\n", "Instruction\n", "32K\n", shared);
		write_cache(cpu, 2, "2\n", "Unified\n", "1280K\n", shared);
		write_cache(cpu, 3, "3\n", "Unified\n", "36M\n", cpu < 4 ? "0-3\n" : "4-7\n");
	}
	write_below("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n");
	struct npl_processor p;
	npl_processor_read(folder, &p);
	cr_assert_str_eq(p.model, "Some Processor 9000 @ 2.00GHz");
	cr_assert_eq(p.packages, 2);
	cr_assert_eq(p.cores, 4);
	cr_assert_eq(p.processors, 8);
	cr_assert(!p.is_virtual);
	cr_assert_float_eq(p.clock_hz, 2000.5e6, 1);
	cr_assert_float_eq(p.max_clock_hz, 3.5e9, 1);
	cr_assert_str_eq(npl_processor_caches(&p, caches, sizeof caches),
			 "L1d 48 KiB x 4, L1i 32 KiB x 4, L2 1280 KiB x 4, L3 36 MiB x 2");
	cr_assert_eq(npl_processor_last_cache_bytes(&p), (uint64_t)72 << 20);
}

Test(processor, notices_a_hypervisor)
{
	write_below("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor sse\n");
	struct npl_processor p;
	char caches[20] = "?";
	npl_processor_read(folder, &p);
	cr_assert(p.is_virtual);
	cr_assert_eq(p.packages, 1);
	cr_assert_eq(p.cores, 1);
	cr_assert_str_eq(npl_processor_caches(&p, caches, sizeof caches), "");
	cr_assert_eq(npl_processor_last_cache_bytes(&p), 0);
}

Test(processor, takes_nothing_and_nonsense)
{
	struct npl_processor p;
	npl_processor_read(folder, &p);
	cr_assert_str_eq(p.model, "");
	cr_assert_eq(p.processors, 0);
	cr_assert_eq(p.packages, 1);
	write_below("proc/cpuinfo", "processor\nmodel name:\nphysical id\t: -7\ncore id\t: x\nprocessor : 1\n");
	write_cache(0, 0, "-1\n", "\n", "99999999999999999999K\n", "7\n");
	npl_processor_read(folder, &p);
	cr_assert_eq(p.processors, 1);
	cr_assert_eq(p.n_caches, 0);
}
