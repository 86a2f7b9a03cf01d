/* SPDX-License-Identifier: MIT
 *
 * Reads Linux's description of the processor (processor.h). */
#include "npulab/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"

#define MAX_PROCESSORS 4096

/* Returns the value of a line "key : value" of cpuinfo; NULL: the line has another key. */
static const char *value_of(const char *line, const char *key)
{
	size_t length = strlen(key);
	if (strncmp(line, key, length))
		return NULL;
	const char *colon = line + length + strspn(line + length, " \t");
	return *colon == ':' ? colon + 1 + strspn(colon + 1, " \t") : NULL;
}

static int leading_number(const char *text)
{
	long value = text ? strtol(text, NULL, 10) : -1;
	return value < 0 || value > 1 << 20 ? -1 : (int)value;
}

/* Adds key to a list that holds each key once. */
static void note_once(int64_t *list, int *n, int64_t key)
{
	for (int i = 0; i < *n; i++)
		if (list[i] == key)
			return;
	if (*n < MAX_PROCESSORS)
		list[(*n)++] = key;
}

struct counting {
	int package; /* package of the processor that is being read; -1: not known */
	int n_packages, n_cores;
	int64_t packages[MAX_PROCESSORS], cores[MAX_PROCESSORS];
};

static void read_line(struct npl_processor *p, struct counting *c, const char *line)
{
	const char *value;
	if (value_of(line, "processor")) {
		p->processors++;
		c->package = -1;
	} else if ((value = value_of(line, "model name"))) {
		if (!*p->model)
			snprintf(p->model, sizeof p->model, "%.*s", (int)strcspn(value, "\n"), value);
	} else if ((value = value_of(line, "physical id"))) {
		c->package = leading_number(value);
		if (c->package >= 0)
			note_once(c->packages, &c->n_packages, c->package);
	} else if ((value = value_of(line, "core id"))) {
		note_once(c->cores, &c->n_cores, (c->package + 1LL) * (2LL << 20) + leading_number(value));
	} else if ((value = value_of(line, "cpu MHz"))) {
		if (p->clock_hz <= 0)
			p->clock_hz = 1e6 * strtod(value, NULL);
	} else if ((value = value_of(line, "flags"))) {
		p->is_virtual = p->is_virtual || strstr(value, " hypervisor");
	}
}

static void read_cpuinfo(const char *root, struct npl_processor *p)
{
	char path[512], *line = NULL;
	size_t line_capacity = 0;
	struct counting *c = calloc(1, sizeof *c);
	snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
	FILE *file = c ? fopen(path, "re") : NULL;
	while (file && getline(&line, &line_capacity, file) > 0)
		read_line(p, c, line);
	if (c) {
		p->packages = c->n_packages;
		p->cores = c->n_cores;
	}
	if (file)
		fclose(file);
	free(line);
	free(c);
}

/* Reads the first line of a file below cpuN, without its newline; false: it is not there. */
static bool cpu_text(const char *root, int cpu, const char *name, char *text, int size)
{
	char path[512];
	int n = snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/%s", root, cpu, name);
	FILE *file = n > 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
	bool ok = file && fgets(text, size, file);
	if (file)
		fclose(file);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

static bool cache_text(const char *root, int cpu, int index, const char *name, char *text, int size)
{
	char path[64];
	snprintf(path, sizeof path, "cache/index%d/%s", index, name);
	return cpu_text(root, cpu, path, text, size);
}

/* Returns the bytes of a size as sysfs writes it, such as "48K" or "32M"; 0 where its number is 2^32 or more. */
static uint64_t cache_bytes(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	return value < 1ull << 32 ? value << shift : 0;
}

/* Adds a cache. A cache that several processors share is counted at the first of them. */
static void read_cache(const char *root, int cpu, int index, struct npl_processor *p)
{
	char level[16], type[32], size[32], shared[64];
	if (!cache_text(root, cpu, index, "level", level, sizeof level) ||
	    !cache_text(root, cpu, index, "type", type, sizeof type) ||
	    !cache_text(root, cpu, index, "size", size, sizeof size))
		return;
	if (cache_text(root, cpu, index, "shared_cpu_list", shared, sizeof shared) && leading_number(shared) != cpu)
		return;
	const struct npl_cache cache = {.level = leading_number(level),
					.type = *type == 'D'   ? 'd'
						: *type == 'I' ? 'i'
							       : 'u',
					.bytes = cache_bytes(size),
					.instances = 1};
	for (int i = 0; i < p->n_caches; i++)
		if (p->cache[i].level == cache.level && p->cache[i].type == cache.type &&
		    p->cache[i].bytes == cache.bytes) {
			p->cache[i].instances++;
			return;
		}
	if (cache.level > 0 && cache.bytes && p->n_caches < NPL_PROCESSOR_CACHES)
		p->cache[p->n_caches++] = cache;
}

void npl_processor_read(const char *root, struct npl_processor *p)
{
	char text[64];
	*p = (struct npl_processor){0};
	root = root ? root : "";
	read_cpuinfo(root, p);
	p->packages = p->packages ? p->packages : 1;
	p->cores = p->cores ? p->cores : p->processors;
	for (int cpu = 0; cpu < p->processors && cpu < MAX_PROCESSORS; cpu++)
		for (int index = 0; index < NPL_PROCESSOR_CACHES; index++)
			read_cache(root, cpu, index, p);
	if (cpu_text(root, 0, "cpufreq/cpuinfo_max_freq", text, sizeof text))
		p->max_clock_hz = 1e3 * strtod(text, NULL);
}

const char *npl_processor_caches(const struct npl_processor *p, char *buf, size_t size)
{
	*buf = '\0';
	for (int i = 0; i < p->n_caches; i++) {
		const struct npl_cache *c = &p->cache[i];
		char type[2] = {c->type == 'u' ? '\0' : c->type, '\0'};
		bool mib = c->bytes >= 1u << 20 && !(c->bytes & ((1u << 20) - 1));
		npl_append(buf, size, ", ", "L%d%s %llu %s", c->level, type,
			   (unsigned long long)(c->bytes >> (mib ? 20 : 10)), mib ? "MiB" : "KiB");
		if (c->instances > 1)
			npl_append(buf, size, "", " x %d", c->instances);
	}
	return buf;
}

uint64_t npl_processor_last_cache_bytes(const struct npl_processor *p)
{
	int level = 0;
	uint64_t bytes = 0;
	for (int i = 0; i < p->n_caches; i++)
		if (p->cache[i].type != 'i' && p->cache[i].level > level)
			level = p->cache[i].level;
	for (int i = 0; i < p->n_caches; i++)
		if (p->cache[i].type != 'i' && p->cache[i].level == level)
			bytes += p->cache[i].bytes * (uint64_t)p->cache[i].instances;
	return bytes;
}
