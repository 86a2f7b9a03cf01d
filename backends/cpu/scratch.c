/* SPDX-License-Identifier: MIT
 *
 * The workspace of a single layer, kept from one layer to the next. */
#include "core/computer/clock.h"
#include "core/float_layer.h"
#include "cpu.h"
#include "layer_group.h"
#include "openblas_threads.h"
#include "widened.h"
#include <stdlib.h>

int cpu_reserve(struct cpu_state *cpu, size_t bytes, struct npl_err *err)
{
	if (bytes <= cpu->workspace_bytes)
		return 0;
	float *bigger = aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (!bigger)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of workspace", bytes);
	free(cpu->workspace);
	cpu->workspace = bigger;
	cpu->workspace_bytes = bytes;
	return 0;
}
