/* SPDX-License-Identifier: MIT
 *
 * The programs that a machine with an instruction set makes of layers, as text that npl_program_load takes again, with
 * what the machine's memories hold before each: run with these (npl_program_run), it gives the layers' cycles and
 * values.
 *
 *     struct npl_program_sink sink = {.put = keep, .context = &kept};
 *     if (npl_device_dump_programs(device, &sink, &err)) ...
 *     npl_device_run(device, &layer, &result, &err); // keep() is called before the layer runs
 */
#ifndef NPULAB_PROGRAM_DUMP_H
#define NPULAB_PROGRAM_DUMP_H

#include "npulab/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a memory holds, from its first byte on. */
struct npl_memory_image {
	uint8_t *data; /* allocated with malloc; NULL: nothing that matters */
	size_t bytes;
};

struct npl_program_dump {
	const char *machine; /* the device's name, which the text begins with; borrowed from the device */
	/* allocated with malloc: the instructions, the names of their layers and where tensors lie as comments */
	char *text;
	struct npl_memory_image host, weights, buffer; /* as those of struct npl_execution; all NULL in timing_only */
	bool writes_host, writes_buffer;               /* where results are afterwards */
	bool timing_only;
};
void npl_program_dump_free(struct npl_program_dump *dump); /* what it holds; accepts a zeroed one */

/* Is told of each program before it runs, and may keep what the dump holds: it then zeroes it. Not 0: the run ends with
 * that. */
struct npl_program_sink {
	int (*put)(void *context, struct npl_program_dump *dump, struct npl_err *err);
	void *context;
};

/* From now on the sink (borrowed) is given the programs of npl_device_run, and of each layer group when it is first run
 * by npl_device_run_layer_group. NULL: nobody is. NPL_EUSAGE: the device makes no programs, naming the drivers that
 * do. */
int npl_device_dump_programs(struct npl_device *device, const struct npl_program_sink *sink, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
