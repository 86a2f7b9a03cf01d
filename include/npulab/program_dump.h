/* SPDX-License-Identifier: MIT
 *
 * The programs that a machine with an instruction set makes of layers, as text that npl_program_load reads, each with
 * the contents of the machine's memories before it. Run with these (npl_program_run), a program gives the layers'
 * cycles and values.
 *
 *     struct npl_program_sink sink = {.on_program = keep, .context = &kept};
 *     if (npl_device_dump_programs(device, &sink, &err)) ...
 *     npl_device_run(device, &layer, &result, &err); // keep() is called before the layer runs
 */
#ifndef NPULAB_PROGRAM_DUMP_H
#define NPULAB_PROGRAM_DUMP_H

#include "npulab/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The contents of a memory, from its first byte on. */
struct npl_memory_image {
	uint8_t *data; /* allocated with malloc; NULL: the contents do not matter */
	size_t bytes;
};

struct npl_program_dump {
	const char *machine; /* the device's name, which the text begins with; borrowed from the device */
	/* The instructions, with the names of their layers and the places of tensors as comments; allocated with
	 * malloc. */
	char *text;
	struct npl_memory_image host, weights, buffer; /* as in struct npl_execution_request; all NULL in timing_only */
	bool writes_host, writes_buffer;               /* the memories that the program writes its results to */
	bool timing_only;
};
void npl_program_dump_free(struct npl_program_dump *dump); /* frees the contents; accepts a zeroed dump */

/* on_program() is called for each program before it runs. It may keep the contents of the dump: it then zeroes the
 * dump. If it does not return 0, the run ends with that code. */
struct npl_program_sink {
	int (*on_program)(void *context, struct npl_program_dump *dump, struct npl_err *err);
	void *context;
};

/* From now on the sink (borrowed) receives the programs of npl_device_run, and of each layer group when
 * npl_device_run_layer_group first runs it. NULL: programs are not dumped. Returns NPL_EUSAGE when the device makes no
 * programs, with the drivers that do. */
int npl_device_dump_programs(struct npl_device *device, const struct npl_program_sink *sink, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
