/* SPDX-License-Identifier: MIT
 *
 * The counters of rapl.h, read from the powercap tree: ROOT/intel-rapl:N/{name,energy_uj,max_energy_range_uj}.
 *
 * Taken: the zones intel-rapl:N whose name starts with "package-". Not taken: their sub-zones (core, uncore, dram),
 * "psys" (the whole board; on some virtual machines a counter that always reads 0), and intel-rapl-mmio:N, which is
 * the same package counted a second time. Not modelled: the random noise that a processor adds to the counter when
 * its energy filtering is on (SGX), and the share of the package that other processes use. */
#include "rapl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "npulab/energy_meter.h"

#define BUSY_SECONDS 0.1    /* 100 steps of a counter that works */
#define MAX_WATTS    1000.0 /* watts of one package, twice the largest on sale: they bound the time of one wrap */

/* Reads the start of an open file as text without its newline; 0 or an errno. */
static int read_text(int fd, char *text, size_t n)
{
	ssize_t length = pread(fd, text, n - 1, 0);
	if (length < 0)
		return errno;
	text[length] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

static int read_count(int fd, uint64_t *count)
{
	char text[32], *end;
	int failed = read_text(fd, text, sizeof text);
	if (failed)
		return failed;
	errno = 0;
	*count = strtoull(text, &end, 10);
	return end == text || *end || errno ? EINVAL : 0;
}

static int open_below(const char *root, int zone, const char *file)
{
	char path[512];
	int n = snprintf(path, sizeof path, "%s/intel-rapl:%d/%s", root, zone, file);
	if (n < 0 || (size_t)n >= sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang; reading it by place fails */
}

/* Reads the text of a zone's small file. Returns false when it cannot be read. */
static bool zone_text(const char *root, int zone, const char *file, char *text, size_t n)
{
	int fd = open_below(root, zone, file);
	if (fd < 0)
		return false;
	bool ok = !read_text(fd, text, n);
	close(fd);
	return ok;
}

/* Adds zone N if it is a package that can be read; otherwise writes the reason, of which the last one stays. */
static void add_zone(struct npl_rapl *rapl, const char *root, int zone, char *reason, size_t reason_bytes)
{
	struct npl_rapl_domain domain = {.fd = -1};
	char range[32];
	if (!zone_text(root, zone, "name", domain.name, sizeof domain.name) || strncmp(domain.name, "package-", 8))
		return;
	domain.fd = open_below(root, zone, "energy_uj");
	int failed = domain.fd < 0 ? errno : read_count(domain.fd, &domain.start_uj);
	if (failed) {
		snprintf(reason, reason_bytes, "the counter of %s cannot be read: %s%s", domain.name, strerror(failed),
			 failed == EACCES ? " (Linux lets only root read it)" : "");
		if (domain.fd >= 0)
			close(domain.fd);
		return;
	}
	if (zone_text(root, zone, "max_energy_range_uj", range, sizeof range))
		domain.range_uj = strtoull(range, NULL, 10);
	rapl->domain[rapl->n_domains++] = domain;
}

/* Returns the processor time of this thread: the time that it waits for a processor is no load. */
static double processor_seconds(void)
{
	struct timespec t;
	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) ? npl_clock_seconds()
							  : (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Keeps this thread busy until every counter has moved, or for BUSY_SECONDS; drops the counters that stand still. */
static void drop_dead_counters(struct npl_rapl *rapl, char *reason, size_t reason_bytes)
{
	bool has_advanced[NPL_RAPL_DOMAINS] = {false};
	int n_still = rapl->n_domains;
	volatile double spin_value = 1;
	for (double begin = processor_seconds(); n_still && processor_seconds() - begin < BUSY_SECONDS;) {
		for (int i = 0; i < 100000; i++)
			spin_value = spin_value * 0.999999 + 1e-6;
		for (int i = 0; i < rapl->n_domains; i++) {
			uint64_t counter_uj;
			if (!has_advanced[i] && !read_count(rapl->domain[i].fd, &counter_uj) &&
			    counter_uj != rapl->domain[i].start_uj) {
				has_advanced[i] = true;
				n_still--;
			}
		}
	}
	int n_kept = 0;
	for (int i = 0; i < rapl->n_domains; i++) {
		if (has_advanced[i]) {
			rapl->domain[n_kept++] = rapl->domain[i];
			continue;
		}
		snprintf(rapl->stuck_package, sizeof rapl->stuck_package, "%s", rapl->domain[i].name);
		snprintf(reason, reason_bytes,
			 "the counter of %s stands still while the processor works, as in a virtual machine",
			 rapl->domain[i].name);
		close(rapl->domain[i].fd);
	}
	rapl->n_domains = n_kept;
}

int npl_rapl_open(const char *root, struct npl_rapl *rapl, struct npl_err *err)
{
	char reason[200];
	root = root ? root : NPL_POWERCAP_ROOT;
	*rapl = (struct npl_rapl){.shortest_seconds = NPL_RAPL_SHORTEST_SECONDS};
	snprintf(reason, sizeof reason,
		 !strcmp(root, NPL_POWERCAP_ROOT) ? "there is no package counter below %s, as in most virtual machines"
						  : "there is no package counter below %s",
		 root);
	for (int zone = 0; zone < NPL_RAPL_DOMAINS; zone++)
		add_zone(rapl, root, zone, reason, sizeof reason);
	drop_dead_counters(rapl, reason, sizeof reason);
	if (!rapl->n_domains)
		return npl_fail(err, NPL_EDEVICE, "%s", reason);
	return 0;
}

void npl_rapl_close(struct npl_rapl *rapl)
{
	for (int i = 0; i < rapl->n_domains; i++)
		close(rapl->domain[i].fd);
	rapl->n_domains = 0;
}

int npl_rapl_start(struct npl_rapl *rapl, struct npl_err *err)
{
	for (int i = 0; i < rapl->n_domains; i++) {
		int failed = read_count(rapl->domain[i].fd, &rapl->domain[i].start_uj);
		if (failed)
			return npl_fail(err, NPL_EDEVICE, "the counter of %s cannot be read: %s", rapl->domain[i].name,
					strerror(failed));
	}
	rapl->start_seconds = npl_clock_seconds();
	return 0;
}

/* Refuses a difference that means more power than a package can draw: the counter jumped, or went back, which looks
 * like a wrap. */
static int check_power(const struct npl_rapl_domain *domain, uint64_t delta_uj, double seconds, struct npl_err *err)
{
	const double watts = seconds > 0 ? (double)delta_uj * 1e-6 / seconds : 0;
	if (watts <= MAX_WATTS || seconds < NPL_RAPL_SHORTEST_SECONDS)
		return 0;
	return npl_fail(err, NPL_EDEVICE, "the counter of %s tells of %.3g W, which no package draws", domain->name,
			watts);
}

/* Gives the microjoules since start, with at most one wrap. */
static int domain_delta(const struct npl_rapl_domain *domain, double seconds, uint64_t *delta_uj, struct npl_err *err)
{
	uint64_t counter_uj;
	int failed = read_count(domain->fd, &counter_uj);
	if (failed)
		return npl_fail(err, NPL_EDEVICE, "the counter of %s cannot be read: %s", domain->name,
				strerror(failed));
	if (domain->range_uj && seconds * MAX_WATTS * 1e6 > (double)domain->range_uj)
		return npl_fail(
			err, NPL_EDEVICE,
			"%.0f s are too long for the counter of %s, which may have wrapped twice: at most %.0f s",
			seconds, domain->name, (double)domain->range_uj / MAX_WATTS * 1e-6);
	if (counter_uj == domain->start_uj && seconds >= NPL_RAPL_SHORTEST_SECONDS)
		return npl_fail(err, NPL_EDEVICE, "the counter of %s stood still for %.3g s", domain->name, seconds);
	if (counter_uj >= domain->start_uj) {
		*delta_uj = counter_uj - domain->start_uj;
		return check_power(domain, *delta_uj, seconds, err);
	}
	if (domain->start_uj > domain->range_uj)
		return npl_fail(err, NPL_EDEVICE,
				"the counter of %s went back from %llu to %llu uJ, beyond its range of %llu uJ",
				domain->name, (unsigned long long)domain->start_uj, (unsigned long long)counter_uj,
				(unsigned long long)domain->range_uj);
	*delta_uj = domain->range_uj - domain->start_uj + counter_uj;
	return check_power(domain, *delta_uj, seconds, err);
}

int npl_rapl_stop(struct npl_rapl *rapl, double *joules, double *seconds, struct npl_err *err)
{
	double elapsed = npl_clock_seconds() - rapl->start_seconds;
	if (!rapl->n_domains)
		return npl_fail(err, NPL_EDEVICE, "the energy meter is not open");
	if (elapsed < rapl->shortest_seconds)
		return npl_fail(err, NPL_EDEVICE,
				"%.3f ms are too short for a counter that steps every millisecond: at least %.0f ms",
				elapsed * 1e3, rapl->shortest_seconds * 1e3);
	uint64_t total_uj = 0;
	for (int i = 0; i < rapl->n_domains; i++) {
		uint64_t delta_uj = 0;
		int failed = domain_delta(&rapl->domain[i], elapsed, &delta_uj, err);
		if (failed)
			return failed;
		total_uj += delta_uj;
	}
	*joules = (double)total_uj * 1e-6;
	*seconds = elapsed;
	return 0;
}
