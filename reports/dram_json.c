/* SPDX-License-Identifier: MIT
 *
 * Traffic through a memory as JSON, schema npulab.dram/1: what is not known, or what the memory's model does not have,
 * is null. */
#include <math.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/report.h"
#include "npulab/sha256.h"
#include "settings_json.h"

static void put_traffic(struct npl_json *json, const struct npl_traffic_report *r)
{
	npl_json_open(json, "traffic", '{');
	npl_json_string(json, "kind", r->is_pattern ? "pattern" : "trace");
	npl_json_string(json, "name", r->name);
	npl_json_u64(json, "requests", r->result->requests);
	if (r->result->inject)
		npl_json_i64(json, "inject", r->result->inject);
	else
		npl_json_null(json, "inject");
	npl_json_close(json, '}');
}

static void put_memory(struct npl_json *json, const struct npl_traffic_report *r, const char *yaml)
{
	const struct npl_memory_info *info = npl_memory_info(r->memory);
	char sha256[NPL_SHA256_HEX];
	npl_sha256_hex(yaml, strlen(yaml), sha256);
	npl_json_open(json, "memory", '{');
	npl_json_string(json, "name", info->name);
	npl_json_string(json, "model", info->model);
	npl_json_text(json, "description", info->description);
	npl_json_string(json, "engine", r->every_cycle ? "every_cycle" : "fast");
	npl_json_i64(json, "channels", info->channels);
	npl_json_text(json, "mapping", info->mapping);
	npl_json_double(json, "clock_hz", (double)info->clock.numerator / (double)info->clock.denominator);
	if (info->access_bytes)
		npl_json_u64(json, "access_bytes", info->access_bytes);
	else
		npl_json_null(json, "access_bytes");
	if (info->capacity_bytes != UINT64_MAX)
		npl_json_u64(json, "capacity_bytes", info->capacity_bytes);
	else
		npl_json_null(json, "capacity_bytes");
	npl_json_double(json, "peak_gb_per_s", info->peak_bytes_per_second / 1e9);
	npl_json_string(json, "memory_sha256", sha256);
	npl_json_close(json, '}');
}

static void put_latency(struct npl_json *json, const char *key, const struct npl_latency *latency)
{
	if (!latency->requests) {
		npl_json_null(json, key);
		return;
	}
	npl_json_open(json, key, '{');
	npl_json_double(json, "mean", latency->mean);
	npl_json_u64(json, "p99", latency->p99);
	npl_json_u64(json, "max", latency->max);
	npl_json_close(json, '}');
}

static void put_counter(struct npl_json *json, const char *key, bool is_known, uint64_t value)
{
	if (is_known)
		npl_json_u64(json, key, value);
	else
		npl_json_null(json, key);
}

static void put_counters(struct npl_json *json, const struct npl_traffic_report *r)
{
	const struct npl_memory_counters *n = &r->result->counters;
	const bool is_dram = !strcmp(npl_memory_info(r->memory)->model, "dram");
	npl_json_open(json, "counters", '{');
#define PUT(name)         put_counter(json, #name, true, n->name);
#define PUT_OF_DRAM(name) put_counter(json, #name, is_dram, n->name);
	NPL_MEMORY_REQUESTS(PUT)
	NPL_MEMORY_COMMANDS(PUT_OF_DRAM)
	PUT_OF_DRAM(idle_rank_cycles)
	npl_json_close(json, '}');
}

/* Writes the energies; "active standby" is the key active_standby. */
static void put_energy(struct npl_json *json, const struct npl_traffic_report *r,
		       const struct npl_traffic_figures *figures)
{
	npl_json_open(json, "energy_j", '{');
	for (int i = 0; i < r->result->n_energy; i++) {
		char key[32];
		snprintf(key, sizeof key, "%s", r->result->energy[i].name);
		for (char *c = key; *c; c++)
			*c = *c == ' ' ? '_' : *c;
		npl_json_double(json, key, figures->joules[i]);
	}
	npl_json_double(json, "total", figures->total_joules);
	npl_json_close(json, '}');
	npl_json_string(json, "energy_origin", r->result->n_energy ? r->result->energy[0].origin : "absent");
	npl_json_double(json, "pj_per_bit", figures->pj_per_bit);
}

int npl_dram_json(FILE *out, const struct npl_traffic_report *r, struct npl_err *err)
{
	const struct npl_traffic_result *result = r->result;
	const struct npl_param_value *value;
	struct npl_traffic_figures figures;
	struct npl_arena arena = {0};
	struct npl_json json = {.out = out};
	const char *yaml = npl_memory_yaml(r->memory, &arena);
	int n;
	if (!yaml || npl_memory_settings(r->memory, &arena, &value, &n)) {
		npl_arena_free(&arena);
		return npl_no_memory(err);
	}
	npl_traffic_figures_of(r->memory, result, &figures);
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.dram/1");
	npl_json_build(&json);
	put_traffic(&json, r);
	put_memory(&json, r, yaml);
	npl_json_u64(&json, "cycles", result->cycles);
	npl_json_double(&json, "seconds", result->seconds);
	npl_json_double(&json, "gb_per_s", result->bytes_per_second / 1e9);
	npl_json_double(&json, "peak_fraction", figures.peak_fraction);
	npl_json_double(&json, "row_hit_rate", figures.row_hit_rate);
	put_latency(&json, "latency_cycles", &result->latency);
	put_latency(&json, "read_latency_cycles", &result->read_latency);
	put_latency(&json, "write_latency_cycles", &result->write_latency);
	put_counters(&json, r);
	put_energy(&json, r, &figures);
	npl_json_settings(&json, value, n);
	npl_json_close(&json, '}');
	fputc('\n', out);
	npl_arena_free(&arena);
	return 0;
}
