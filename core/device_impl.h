/* SPDX-License-Identifier: MIT
 *
 * An opened device, for the files that open it and run layers on it.
 */
#ifndef NPULAB_CORE_DEVICE_IMPL_H
#define NPULAB_CORE_DEVICE_IMPL_H

#include <pthread.h>

#include "npulab/driver.h"
#include "npulab/instruction_sink.h"
#include "npulab/program_dump.h"
#include "npulab/sha256.h"

/* The parameters as YAML, and their hash. They are made when they are asked for first: a sweep over many machines asks
 * for neither. */
struct npl_device_texts {
	pthread_mutex_t lock; /* for threads that ask at the same time */
	struct npl_arena arena;
	char *yaml;                  /* NULL: not made yet */
	char sha256[NPL_SHA256_HEX]; /* empty: not made yet */
};

struct npl_device {
	const struct npl_driver *driver;
	struct npl_description machine;
	bool ships; /* the machine is a file of the machines folder */
	/* That file without --set, or the shipped file that the machine was copied from; name NULL: there is none. */
	struct npl_description shipped;
	const char *note[5]; /* complete_parameters adds one of each kind at most */
	/* The note about other sizes than the shipped machine's, for reports alone; NULL: none. */
	const char *resized_note;
	int n_notes;
	struct npl_device_info info;
	struct npl_arena arena;
	void *config;
	void *state;
	const char *instance;                /* NULL: the machine's name */
	struct npl_device_texts *texts;      /* NULL: the device has no parameters */
	const struct npl_param_value *value; /* n_values, in schema order */
	int n_values;
	const struct npl_program_sink *sink; /* receives programs; NULL: none */
	const struct npl_instruction_sink *instruction_sink;
	struct npl_instruction_sink own_sink; /* the driver's, which names the machine and calls instruction_sink */
};

#endif
