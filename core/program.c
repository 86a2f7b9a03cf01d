/* SPDX-License-Identifier: MIT
 *
 * Functions of core on programs: messages and freeing dumps (npulab/program_dump.h). */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>

#include "npulab/driver.h"
#include "npulab/program_dump.h"

/* Writes the drivers with an instruction set, for messages. */
static const char *drivers(char *list, size_t n)
{
	size_t used = 0;
	list[0] = '\0';
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		if ((*d)->isa && used < n)
			used += (size_t)snprintf(list + used, n - used, "%s%s", used ? ", " : "", (*d)->name);
	return list;
}

int npl_program_no_isa(const char *name, struct npl_err *err)
{
	char list[100];
	return npl_fail(err, NPL_EUSAGE, "%s has no instruction set, expected a machine of one of these drivers: %s",
			name, drivers(list, sizeof list));
}

void npl_program_dump_free(struct npl_program_dump *dump)
{
	free(dump->text);
	free(dump->host.data);
	free(dump->weights.data);
	free(dump->buffer.data);
	*dump = (struct npl_program_dump){0};
}
