/* SPDX-License-Identifier: MIT
 *
 * onemac multiplies matrices of 8-bit integers and waits for its memory. docs/first-machine.md explains it. */
#include "core/base/arith.h"
#include "core/base/refuse.h"
#include "core/integer.h"
#include "npulab/driver.h"

struct onemac {
	int64_t clock_hz, macs_per_cycle, bytes_per_cycle;
	double mac_pj;
	const char *mac_origin;
};
#define AT(member) offsetof(struct onemac, member)
static const struct npl_param params[] = {
	{"clock_hz", NPL_PARAM_INT, AT(clock_hz), "100000000", 1000, 1e10, "Hz", "clock", NULL},
	{"multiplier.macs_per_cycle", NPL_PARAM_INT, AT(macs_per_cycle), "1", 1, 65536, "macs", "each cycle", NULL},
	{"memory.bytes_per_cycle", NPL_PARAM_INT, AT(bytes_per_cycle), "1", 1, 65536, "bytes", "each cycle", NULL},
	{"energy.mac.pj", NPL_PARAM_DOUBLE, AT(mac_pj), "0", 0, 1e6, "pJ", "of a multiply-accumulate", NULL},
	{"energy.mac.origin", NPL_PARAM_ORIGIN, AT(mac_origin), "absent", 0, 0, "", "of that", "energy.mac.pj"},
	{0}};

static const struct npl_counter_def counters[] = {
	{"compute_cycles", "cycles", "it multiplies", 0, 1, NULL, NPL_COUNTER_WORK, "products"},
	{"stall_cycles", "cycles", "it waits for its memory", 0, 1, NULL, NPL_COUNTER_MEMORY, "memory"}};

static int onemac_open(const void *config, void **state, struct npl_err *err)
{
	(void)err;
	*state = (void *)config; /* the parameters are all that it has */
	return 0;
}

static void onemac_close(void *state)
{
	(void)state;
}

static void onemac_describe(const void *state, struct npl_device_info *info)
{
	const struct onemac *m = state;
	info->kind = NPL_KIND_SIMULATED;
	info->format = NPL_FORMAT_INT8;
	info->clock_hz = (double)m->clock_hz;
	info->peak_macs_per_second = (double)m->macs_per_cycle * info->clock_hz;
	info->memory_bytes_per_second = (double)m->bytes_per_cycle * info->clock_hz;
	info->crosses[NPL_MEM_DRAM] = NPL_CROSS_ALL;
	info->counter_def = counters;
	info->n_counters = sizeof counters / sizeof *counters;
}

static bool onemac_supports(const void *state, const struct npl_layer *layer, char *reason, size_t bytes)
{
	(void)state;
	if (layer->op != NPL_OP_GEMM)
		return npl_refuse(reason, bytes, "it multiplies matrices, and has no %s", npl_op_defs[layer->op].name);
	return npl_integer_layer_ok(layer, reason, bytes);
}

static int onemac_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	const struct onemac *m = state;
	struct npl_integer_counts counts = {0};
	result->macs = (uint64_t)(npl_tensor_count(layer->out) * layer->in[0]->shape.dim[1]);
	result->bytes[NPL_MEM_DRAM] = npl_tensor_bytes(layer->out);
	for (int i = 0; i < layer->n_in; i++)
		result->bytes[NPL_MEM_DRAM] += layer->in[i] ? npl_tensor_bytes(layer->in[i]) : 0;
	result->counter[0] = npl_div_up_u64(result->macs, (uint64_t)m->macs_per_cycle);
	result->cycles = npl_div_up_u64(result->bytes[NPL_MEM_DRAM], (uint64_t)m->bytes_per_cycle);
	result->cycles = npl_max_u64(result->cycles, result->counter[0]);
	result->counter[1] = result->cycles - result->counter[0];
	if ((!layer->timing_only && npl_run_integer(layer, layer->out, &counts, err)) ||
	    npl_result_energy_of(result, NPL_OF_MEMORY, "memory", result->bytes[NPL_MEM_DRAM], 0, "absent", err))
		return err->code;
	result->saturations = counts.saturations;
	result->overflows = counts.overflows;
	return npl_result_energy(result, "multiplier", result->macs, m->mac_pj, m->mac_origin, err);
}

const struct npl_driver npl_driver_onemac = {.name = "onemac",
					     .summary = "a few products of 8-bit integers a cycle",
					     .params = params,
					     .config_bytes = sizeof(struct onemac),
					     .needs_machine = true,
					     .open = onemac_open,
					     .close = onemac_close,
					     .describe = onemac_describe,
					     .supports = onemac_supports,
					     .run = onemac_run};
