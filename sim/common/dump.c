/* SPDX-License-Identifier: MIT
 *
 * Contents of memories and names in dumps of programs (dump.h). */
#include "dump.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"

int sim_copy_image(const uint8_t *memory, size_t memory_bytes, size_t bytes, struct npl_memory_image *image,
		   struct npl_err *err)
{
	if (!bytes)
		return 0;
	image->data = calloc(bytes, 1);
	image->bytes = bytes;
	if (!image->data)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of a program's memory", bytes);
	if (memory_bytes)
		memcpy(image->data, memory, memory_bytes < bytes ? memory_bytes : bytes);
	return 0;
}

void sim_put_name(FILE *out, const char *name)
{
	char *copy = strdup(name ? name : "");
	fputs(copy ? npl_make_printable(copy) : "?", out);
	free(copy);
}
