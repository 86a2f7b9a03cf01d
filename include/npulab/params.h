/* SPDX-License-Identifier: MIT
 *
 * Parameters of machines. One schema table per driver defines ranges, units and help. From it come the parser of a
 * machine's YAML file, `--set machine.key=value`, and the dump of `devices NAME --yaml` (which loads back to the same
 * values). Keys are dotted paths: `array.rows` is the key `rows` of the mapping `array`. A number may be followed by a
 * unit of the kind that the schema names: `24 MiB`, `700MHz`, `6 us`.
 *
 *     static const struct npl_param schema[] = {
 *         {"array.rows", NPL_PARAM_INT, offsetof(struct tpu_config, rows), "256", 1, 4096, "cells",
 *          "rows of the array"},
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
	NPL_PARAM_CHOICE, /* int: index into the space-separated `words`; "f32/float32" are two words for one value */
	NPL_PARAM_ORIGIN, /* const char *: an energy origin, see result.h */
};

struct npl_param { /* a table ends with key NULL */
	const char *key;
	enum npl_param_type type;
	size_t offset;            /* in the device's config struct */
	const char *default_text; /* NULL: a file must give the value */
	double min, max;          /* INT, DOUBLE: inclusive */
	const char *unit;         /* "" when none */
	const char *help;
	/* CHOICE: the accepted words. ORIGIN: the keys of the figures that must be given unless the origin is
	 * "absent". STRING: what a file has, such as "memory", where the value may be the path of one; NULL: it is
	 * none. */
	const char *words;
};

/* Where the value of a parameter comes from. Files that ship with npulab say so by YAML tags: `rows: !published 256`. A
 * tag of a mapping or of the whole document applies to everything below it. A figure that has an origin beside it takes
 * its source from that origin. */
enum npl_source {
	NPL_SOURCE_DEFAULT,   /* neither a file nor the user gave it */
	NPL_SOURCE_PUBLISHED, /* in a paper or data sheet, or measured there */
	NPL_SOURCE_MODELLED,  /* computed from published figures; the arithmetic is beside it */
	NPL_SOURCE_FITTED,    /* chosen so that results come near published ones (scripts/fit_MACHINE.py) */
	NPL_SOURCE_ASSUMED,   /* a choice of the file's author */
	NPL_SOURCE_OWN,       /* the user's own: from --set or the user's file */
	NPL_SOURCES
};
const char *npl_source_name(enum npl_source source); /* "default", "published"... */

/* A default that older versions had and that was fitted to one machine. A table of them ends with key NULL. */
struct npl_former_default {
	const char *key, *value;
};

/* When parameters have an effect. A table of them ends with keys NULL. Without a row: energy figures have none while
 * the origin beside them is "absent". */
struct npl_param_condition {
	const char *keys;         /* of the parameters, with blanks between them */
	const char *deciding_key; /* the key of the parameter that decides */
	/* The values of deciding_key for which the keys have an effect, or for which they have none. One member is set,
	 * the other is NULL. "" means that the value is empty. */
	const char *effective_words, *ineffective_words;
};

/* One key and its value as a file or the command line gave it. */
struct npl_setting {
	const char *key;
	const char *value;
	int line; /* the line in the file; 0: from the command line */
	/* What the user typed, "--set tpu_v1.clock_hz=1GHz" or "tpu_v1@clock_hz=1GHz", for messages; NULL in a file. */
	const char *typed;
	bool from_file;         /* what was typed is in a file, such as one of placement rules */
	enum npl_source source; /* the file's tag; NPL_SOURCE_OWN where there is none */
};

/* A machine description before a schema has read it. Everything lives in the arena. */
struct npl_description {
	const char *name; /* the file's `name:`, or the file's base name */
	/* The value of a machine's `driver:`, or of the `model:` of a memory or of a network. For a device without a
	 * file it is the device's own name. */
	const char *driver_or_model;
	const char *driver_or_model_key; /* "driver" or "model": the file's key that driver_or_model was read from */
	/* a machine's file says `model:` in place of `driver:`, as older versions wrote it */
	bool former_key;
	struct { /* the lines of these keys in the file; 0: not given */
		int name, driver_or_model, copied_from;
	} line;
	const char *description;
	const char *path; /* NULL for a device without a file */
	/* The file's `copied_from:`, which a dump writes: the shipped machine whose dump the user edited; NULL:
	 * none. */
	const char *copied_from;
	int n_settings;
	struct npl_setting *setting;
	/* The source of each parameter, in the schema's order. NULL: not known (npl_description_sources). */
	const enum npl_source *source;
};

/* Reads the file of a machine (key "driver") or of a memory or network (key "model"): YAML, nested mappings of scalars,
 * at most 1 MiB, 8 levels. `model` in a machine's file is understood as `driver`. */
int npl_description_load(const char *path, const char *key, struct npl_arena *arena,
			 struct npl_description *description, struct npl_err *err);
/* Adds a `--set` override; later ones win. */
int npl_description_set(struct npl_description *description, struct npl_arena *arena, const char *key,
			const char *value, struct npl_err *err);

/* Fills config from defaults, then from the machine's settings in order. Refuses a figure that is missing beside its
 * origin. NPL_EINPUT (file) or NPL_EUSAGE (--set) names the line, the key (with the nearest known one if it is unknown)
 * and the range. */
int npl_params_read(const struct npl_param *schema, const struct npl_description *description, struct npl_arena *arena,
		    void *config, struct npl_err *err);
/* Finds description->source. `shipped` describes the shipped machine without --set: this machine, or the one that it
 * was copied from; NULL: there is none. A value that the user gives has the shipped source while it equals the
 * shipped value; otherwise its source is the user. Call it again when config changes. Returns 0 or NPL_ENOMEM. */
int npl_description_sources(struct npl_description *description, const struct npl_param *schema, const void *config,
			    const struct npl_description *shipped, struct npl_arena *arena, struct npl_err *err);
/* Returns the source of one parameter; NPL_SOURCE_DEFAULT where none is known. */
enum npl_source npl_description_source(const struct npl_description *description, const struct npl_param *schema,
				       const char *key);
/* Returns the last setting of a key; NULL: the key is not given. */
const struct npl_setting *npl_description_setting(const struct npl_description *description, const char *key);

/* Returns the parameters in force as YAML, with sources, units and help as comments; the text lives in the arena. */
char *npl_params_dump(const struct npl_param *schema, const struct npl_description *description, const void *config,
		      struct npl_arena *arena);

/* One value in force, for reports. npl_params_values gives all of them in schema order; keys are borrowed from the
 * schema, values live in the arena. Returns 0 or NPL_ENOMEM. */
struct npl_param_value {
	const char *key, *value;
	bool is_number; /* value is a JSON number */
	const char *unit;
	enum npl_source source; /* NPL_SOURCE_DEFAULT where machine, which may be NULL, has no sources */
	bool has_no_effect;     /* as the machine is set; known in the reports of a comparison alone */
};
int npl_params_values(const struct npl_param *schema, const struct npl_description *description, const void *config,
		      struct npl_arena *arena, const struct npl_param_value **values, int *n);
/* Returns the value of a key among n values, as text or as a number. Returns NULL or NAN where no value has the key. */
const char *npl_param_text(const struct npl_param_value *value, int n, const char *key);
double npl_param_number(const struct npl_param_value *value, int n, const char *key);

#ifdef __cplusplus
}
#endif

#endif
