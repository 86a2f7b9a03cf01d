/* SPDX-License-Identifier: MIT
 *
 * The plan of a sweep: which network on which machines, what is varied, what is wanted. A plan is a list of entries,
 * keys with values, from a YAML file or from options of the command line:
 *
 *     model: resnet50                      # or several
 *     device: tpu_v1                       # or several
 *     batch: 1..64*2
 *     vary:
 *       array.rows = array.columns: 64..512*2
 *       tpu_v1.weight_memory.preset: [fixed, hbm2]
 *       host.cores: [4, 18]
 *     set: {unified_buffer.bytes: 8 MiB}   # the same in all points
 *     derive: {accumulators.rows: 16 * array.rows}
 *     constraint: [area_mm2 < 400, power_w < 75]
 *     minimise: [seconds, energy_j]
 *     maximise: top1_accuracy
 *     method: evolution                    # grid, random, sobol, latin-hypercube, evolution, narrowing
 *     points: 1000
 *     seed: 1
 *
 * The values of parameters that move together are the same, or a list for each: [128, 4], and `label` among the keys
 * names them. A key of `vary`, `set` and `derive` is a parameter of every machine of the plan, or with the name of a
 * machine before it of that one alone, or with "host." before it of the modelled host. */
#ifndef NPULAB_EXPLORE_SPACE_PLAN_H
#define NPULAB_EXPLORE_SPACE_PLAN_H

#include "expression.h"
#include "npulab/graph.h"
#include "space.h"

/* The most settings, derived parameters, constraints, samples and dimensions of a plan each. */
#define SWEEP_PLAN_LIST 64

#define SWEEP_OBJECTIVES 8 /* the most objectives */

#define SWEEP_CHUNK 8 /* points that a process takes at once */

/* A key with its value, as the user gave it. */
struct sweep_entry {
	const char *key; /* "vary.array.rows" */
	const char *value;
	const char *where; /* "plan.yaml:12" or "--vary" */
	bool from_file;    /* a mistake is then NPL_EINPUT, else NPL_EUSAGE */
};

/* A parameter that all points have, for one machine or for all. */
struct sweep_setting {
	const char *key, *value, *where;
	int device; /* -1: each; as in struct sweep_axis */
};

/* An expression that the user gave. */
struct sweep_formula {
	const char *key; /* of a derived parameter */
	int device;      /* of a derived parameter, as in struct sweep_axis */
	struct sweep_expression expression;
	bool is_maximised; /* of an objective */
	const char *where;
};

struct sweep_formulas {
	int n;
	struct sweep_formula formula[SWEEP_PLAN_LIST];
};

enum sweep_method {
	SWEEP_GRID,
	SWEEP_RANDOM,
	SWEEP_SOBOL,
	SWEEP_LATIN_HYPERCUBE,
	SWEEP_EVOLUTION,
	SWEEP_NARROWING,
	SWEEP_ASKED, /* another program chooses: points: - */
	SWEEP_METHODS
};
extern const char *const sweep_method_name[SWEEP_METHODS];

struct sweep_texts {
	int n;
	const char *text[SWEEP_PLAN_LIST];
};

struct sweep_plan { /* zero-initialise before use */
	struct npl_arena arena;
	const char *path;               /* of its file; NULL: it has none */
	const char *name, *description; /* NULL: not given */
	/* Every plan has the axes model, device and batch, which may have one level each, in this order, and then those
	 * of `vary`. A batch of "" is the model's own. */
	struct sweep_space space;
	int n_settings;
	struct sweep_setting setting[SWEEP_PLAN_LIST];
	struct sweep_formulas derived, constraints, objectives;
	enum sweep_method method;
	int64_t points;     /* of the methods that choose points; 0: those of the grid */
	int64_t population; /* of the method evolution: points of a generation; 0: the method chooses */
	uint64_t seed;
	const char *engine, *host, *labels; /* NULL: not given */
	struct sweep_texts inputs;
	int n_dims;
	struct npl_dim dim[SWEEP_PLAN_LIST];
	bool values; /* networks run with values, so that errors and accuracy are known */
	bool layers; /* the rows of layers are kept too */
	/* A device of the plan is a real one, whose points run one after the other. The check finds it. */
	bool is_measured;
};
enum { SWEEP_MODEL_AXIS, SWEEP_DEVICE_AXIS, SWEEP_BATCH_AXIS, SWEEP_FIRST_VARIED };

/* Reads the entries of a YAML file into the plan's arena; the path is borrowed. Returns NPL_EINPUT with file and
 * line. */
int sweep_plan_entries(const char *path, struct sweep_plan *plan, struct sweep_entry **entries, int *n,
		       struct npl_err *err);
/* Reads a plan from n entries, of which later ones replace earlier ones of the same key, but for constraints, which add
 * up. The plan borrows the entries. Nothing but the entries is looked at: whether there are such models and parameters,
 * sweep_plan_check finds. */
int sweep_plan_read(const struct sweep_entry *entry, int n, struct sweep_plan *plan, struct npl_err *err);
/* Checks that there are such devices, that they have the parameters, and that expressions name parameters or results.
 * The message has the nearest name. */
int sweep_plan_check(struct sweep_plan *plan, struct npl_err *err);
void sweep_plan_free(struct sweep_plan *plan);

/* Fails for a place that the user wrote: in a file with NPL_EINPUT, else with NPL_EUSAGE. */
int sweep_fail_at(const char *where, struct npl_err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts the place before a failure that has none, and makes its code that of the place. */
int sweep_fail_there(const char *where, struct npl_err *err);

#endif
