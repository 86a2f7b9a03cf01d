/* SPDX-License-Identifier: MIT
 *
 * Parameters of machines. One schema table per device gives the parsing of its YAML file, `--set
 * machine.key=value`, the dump of `devices NAME --yaml` (which loads back to the same values), ranges, units
 * and help. Keys are dotted paths: `array.rows` is the key `rows` of the mapping `array`.
 *
 *     static const struct npl_param schema[] = {
 *         {"array.rows", NPL_PARAM_INT, offsetof(struct tpu_config, rows), "256", 1, 4096, "cells", "rows of the array"},
 *         {0}};
 */
#ifndef NPULAB_PARAMS_H
#define NPULAB_PARAMS_H

#include "npulab/arena.h"
#include "npulab/error.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum npl_param_type {
	NPL_PARAM_INT,    /* int64_t */
	NPL_PARAM_DOUBLE, /* double */
	NPL_PARAM_STRING, /* const char *, living in the arena given to npl_params_read */
	NPL_PARAM_CHOICE, /* int: index into its space-separated `words` */
	NPL_PARAM_ORIGIN, /* const char *: an energy origin, see result.h */
};

struct npl_param { /* a table ends with key NULL */
	const char *key;
	enum npl_param_type type;
	size_t offset;         /* in the device's config struct */
	const char *otherwise; /* default, as text; NULL: a file must give it */
	double min, max;       /* INT, DOUBLE: inclusive */
	const char *unit;      /* "" when none */
	const char *help;
	const char *
		words; /* CHOICE: what it may be; ORIGIN: keys of the figures that must be given unless it is "absent" */
};

/* One key and its value as a file or the command line gave it. */
struct npl_setting {
	const char *key;
	const char *value;
	int line; /* of the file; 0: from the command line */
};

/* A machine description before a schema has read it. Everything lives in the arena. */
struct npl_machine {
	const char *name;  /* the file's `name:`, or the file's base name */
	const char *model; /* the file's `model:`: which simulator runs it; for real devices the device's own name */
	const char *description;
	const char *path; /* NULL for a device without a file */
	int n_settings;
	struct npl_setting *setting;
};

/* Reads a machine file (YAML: nested mappings of scalars, at most 1 MiB, 8 levels). */
int npl_machine_load(const char *path, struct npl_arena *arena, struct npl_machine *machine, struct npl_err *err);
/* Adds a `--set` override; later ones win. */
int npl_machine_set(struct npl_machine *machine, struct npl_arena *arena, const char *key, const char *value,
		    struct npl_err *err);

/* Fills config from defaults, then the machine's settings in order. A figure that is missing beside its origin is refused. NPL_EINPUT (file) or NPL_EUSAGE (--set)
 * names the line, the key (the nearest known one if unknown) and the range. */
int npl_params_read(const struct npl_param *schema, const struct npl_machine *machine, struct npl_arena *arena,
		    void *config, struct npl_err *err);
/* The effective machine as YAML with units and help as comments; the text lives in the arena. */
char *npl_params_dump(const struct npl_param *schema, const struct npl_machine *machine, const void *config,
		      struct npl_arena *arena);

/* The effective values in schema order, for reports; keys borrowed from the schema, values in the arena. 0 or NPL_ENOMEM. */
struct npl_param_value {
	const char *key, *value;
	bool is_number; /* value is a JSON number */
};
int npl_params_values(const struct npl_param *schema, const void *config, struct npl_arena *arena,
		      const struct npl_param_value **values, int *n);

#ifdef __cplusplus
}
#endif

#endif
