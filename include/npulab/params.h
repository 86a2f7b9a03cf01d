/* SPDX-License-Identifier: MIT
 *
 * Parameters of machines. One schema table per device gives the parsing of its YAML file, `--set
 * machine.key=value`, the dump of `devices NAME --yaml` (which loads back to the same values), ranges, units
 * and help. Keys are dotted paths: `array.rows` is the key `rows` of the mapping `array`. A number may have a unit
 * after it, of the kind that the schema names: `24 MiB`, `700MHz`, `6 us`.
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
	NPL_PARAM_CHOICE, /* int: index into its space-separated `words`; "f32/float32" are two for the same */
	NPL_PARAM_ORIGIN, /* const char *: an energy origin, see result.h */
};

struct npl_param { /* a table ends with key NULL */
	const char *key;
	enum npl_param_type type;
	size_t offset;            /* in the device's config struct */
	const char *default_text; /* NULL: a file must give it */
	double min, max;          /* INT, DOUBLE: inclusive */
	const char *unit;         /* "" when none */
	const char *help;
	/* CHOICE: what it may be. ORIGIN: the keys of the figures that must be given unless it is "absent". */
	const char *words;
};

/* Where the value of a parameter comes from. Files that ship with npulab say so by YAML tags: `rows: !published 256`. A
 * tag of a mapping or of the whole document holds for what is below it. A figure that has an origin beside it has its
 * source from there. */
enum npl_source {
	NPL_SOURCE_DEFAULT,   /* nobody gave it */
	NPL_SOURCE_PUBLISHED, /* in a paper or data sheet, or measured there */
	NPL_SOURCE_MODELLED,  /* computed from published figures; the arithmetic is beside it */
	NPL_SOURCE_FITTED,    /* chosen so that results come near published ones (scripts/fit_MACHINE.py) */
	NPL_SOURCE_ASSUMED,   /* a choice of the file's author */
	NPL_SOURCE_OWN,       /* the user's: --set, or a file of the user's own */
	NPL_SOURCES
};
const char *npl_source_name(enum npl_source source); /* "default", "published"... */

/* A default that older versions had and that was fitted to one machine; a table ends with key NULL. */
struct npl_former_default {
	const char *key, *value;
};

/* One key and its value as a file or the command line gave it. */
struct npl_setting {
	const char *key;
	const char *value;
	int line;               /* of the file; 0: from the command line */
	enum npl_source source; /* the file's tag; NPL_SOURCE_OWN where there is none */
};

/* A machine description before a schema has read it. Everything lives in the arena. */
struct npl_description {
	const char *name; /* the file's `name:`, or the file's base name */
	/* What runs it: a machine's `driver:`, the `model:` of a memory or of a network; for a device without a file
	 * the device's own name. */
	const char *driver_or_model;
	const char *driver_or_model_key; /* "driver" or "model": the file's key whose value driver_or_model is */
	bool former_key;                 /* a machine's file says `model:` for `driver:`, as all did before */
	const char *description;
	const char *path; /* NULL for a device without a file */
	/* The file's `copied_from:`, which a dump has: the shipped machine that the user has edited; NULL: none. */
	const char *copied_from;
	int n_settings;
	struct npl_setting *setting;
	/* Of each parameter, in the schema's order. NULL: not known (npl_description_sources). */
	const enum npl_source *source;
};

/* Reads the file of a machine (key "driver") or of a memory or network (key "model"): YAML, nested mappings of scalars,
 * at most 1 MiB, 8 levels. `model` in a machine's file is understood as `driver`. */
int npl_description_load(const char *path, const char *key, struct npl_arena *arena, struct npl_description *machine,
			 struct npl_err *err);
/* Adds a `--set` override; later ones win. */
int npl_description_set(struct npl_description *machine, struct npl_arena *arena, const char *key, const char *value,
			struct npl_err *err);

/* Fills config from defaults, then the machine's settings in order. A figure that is missing beside its origin is
 * refused. NPL_EINPUT (file) or NPL_EUSAGE (--set) names the line, the key (the nearest known one if unknown) and the
 * range. */
int npl_params_read(const struct npl_param *schema, const struct npl_description *machine, struct npl_arena *arena,
		    void *config, struct npl_err *err);
/* Finds machine->source. `shipped` is the description that a shipped machine's file gives without --set: of this
 * machine, or of the one that it was copied from; NULL: there is none. What the user gives has the shipped source as
 * long as it has the shipped value, else it is the user's own. Call it again when config changes. 0 or NPL_ENOMEM. */
int npl_description_sources(struct npl_description *machine, const struct npl_param *schema, const void *config,
			    const struct npl_description *shipped, struct npl_arena *arena, struct npl_err *err);
/* The source of one parameter; NPL_SOURCE_DEFAULT where none is known. */
enum npl_source npl_description_source(const struct npl_description *machine, const struct npl_param *schema,
				       const char *key);
/* The last setting of a key; NULL: it is not given. */
const struct npl_setting *npl_description_setting(const struct npl_description *machine, const char *key);

/* The effective machine as YAML with sources, units and help as comments; the text lives in the arena. */
char *npl_params_dump(const struct npl_param *schema, const struct npl_description *machine, const void *config,
		      struct npl_arena *arena);

/* The effective values in schema order, for reports; keys borrowed from the schema, values in the arena. 0 or
 * NPL_ENOMEM. */
struct npl_param_value {
	const char *key, *value;
	bool is_number; /* value is a JSON number */
	const char *unit;
	enum npl_source source; /* NPL_SOURCE_DEFAULT where the machine, which may be NULL, does not know */
};
int npl_params_values(const struct npl_param *schema, const struct npl_description *machine, const void *config,
		      struct npl_arena *arena, const struct npl_param_value **values, int *n);
/* The value of a key among n of them, as text and as a number. NULL and NAN where no value has the key. */
const char *npl_param_text(const struct npl_param_value *value, int n, const char *key);
double npl_param_number(const struct npl_param_value *value, int n, const char *key);

#ifdef __cplusplus
}
#endif

#endif
