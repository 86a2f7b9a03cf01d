/* SPDX-License-Identifier: MIT
 *
 * The messages of both engines for a program that does not end (stuck.h). Each engine finds this out by itself. */
#include "stuck.h"

#include <inttypes.h>

int dn_fail_too_long(const struct dn_engine_input *engine_input, struct npl_err *err)
{
	const struct npl_memory_info *memory = npl_memory_info(engine_input->port);
	return npl_fail(err, NPL_EINPUT,
			"the program takes longer than %d s at %" PRId64
			" Hz and %.4g bytes/s of memory %s, expected less",
			DN_MAX_SECONDS, engine_input->config->clock_hz, memory->peak_bytes_per_second, memory->name);
}

int dn_fail_deadlock(uint64_t cycle, int64_t instruction, struct npl_err *err)
{
	return npl_fail(err, NPL_EINTERNAL,
			"at cycle %" PRIu64 " instruction %" PRId64
			" and those before it wait for data that no transfer brings",
			cycle, instruction);
}
