/* SPDX-License-Identifier: MIT
 *
 * Output of Conv and Gemm on the systolic machines, bit-exact to the format (layer.h), by the fast integer kernels of
 * core/. The sums are added up in the array's order where that shows: where additions that wrap are counted. */
#include "tpu.h"

int tpu_matrix_values(const struct tpu_config *config, const struct tpu_plan *plan, const struct npl_layer *layer,
		      struct npl_int8_memory *memory, struct npl_result *result, struct npl_err *err)
{
	const struct npl_int8_order order = {.k_segment = plan->segment, .k_block = config->rows};
	struct npl_int8_counts counts = {0};
	int rc = npl_int8_run_layer(layer, &order, memory, &counts, err);
	result->overflows += counts.overflows;
	result->saturations += counts.saturations;
	return rc;
}
