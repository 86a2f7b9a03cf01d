/* SPDX-License-Identifier: MIT
 *
 * Functions of core on programs: messages and freeing dumps (npulab/program_dump.h). */
#include "program.h"

#include <stdlib.h>

#include "core/base/message.h"
#include "npulab/driver.h"
#include "npulab/program_dump.h"

int npl_program_no_isa(const char *name, struct npl_err *err)
{
	char list[100] = "";
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		if ((*d)->isa)
			npl_append(list, sizeof list, "%s%s", *list ? ", " : "", (*d)->name);
	return npl_fail(err, NPL_EUSAGE, "%s has no instruction set, expected a machine of one of these drivers: %s",
			name, list);
}

void npl_program_dump_free(struct npl_program_dump *dump)
{
	free(dump->text);
	free(dump->host.data);
	free(dump->weights.data);
	free(dump->buffer.data);
	*dump = (struct npl_program_dump){0};
}
