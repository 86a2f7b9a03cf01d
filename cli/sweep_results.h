/* SPDX-License-Identifier: MIT
 *
 * What the commands share that read the results of a sweep. */
#ifndef NPULAB_CLI_SWEEP_RESULTS_H
#define NPULAB_CLI_SWEEP_RESULTS_H

#include "explore/front.h"
#include "options.h"

/* A list of at most SWEEP_METRICS measures, which lives in the arena of the results; {0} to begin with. */
struct cli_measures {
	int n;
	struct sweep_measure *measure;
};

/* Which way measures of a list go. */
enum cli_direction { CLI_AS_BETTER, CLI_LEAST, CLI_MOST };

/* Reads the points of a database, of which those are feasible that meet all constraints of the list too. */
int cli_results_read(struct sweep_store *store, const struct cli_list *constraints, struct sweep_results *results,
		     struct npl_err *err);
/* Does the same for the database of a path, which is closed again. */
int cli_results_open(const char *path, const struct cli_list *constraints, struct sweep_results *results,
		     struct npl_err *err);
/* Adds the measures of "a,b,max(c,d)", but those that are there; NULL: none. `option` names the list in messages. */
int cli_measures_add(const char *list, enum cli_direction direction, const char *option, struct sweep_results *results,
		     struct cli_measures *measures, struct npl_err *err);

/* Adds the objectives of the plan that a database is of; without any, time and, where it is known, energy. */
int cli_objectives_of(struct sweep_store *store, struct sweep_results *results, struct cli_measures *measures,
		      struct npl_err *err);
/* Finds the front of these objectives. Returns NPL_EUSAGE where there are too many. */
int cli_front_of(const struct sweep_results *results, const struct cli_measures *objectives, struct sweep_front *front,
		 struct npl_err *err);

/* Says that points of several networks, which are no alternatives, are in one table. */
void cli_hint_at_models(const struct sweep_results *results);
/* Prints estimates of the points of the grid that did not run (explore/estimates.h). The constraints are those with
 * which the results were read. */
int cli_print_estimates(struct sweep_store *store, const struct cli_list *constraints, struct sweep_results *results,
			const struct sweep_front *front, struct npl_err *err);

#define CLI_ESTIMATE_OPTION(target)                                                                                    \
	{                                                                                                              \
		"estimate", CLI_FLAG, (target), 0, 0, NULL,                                                            \
			"estimate the points of the grid that did not run, too, and say how far off estimates are"     \
	}
#define CLI_CONSTRAINT_OPTION(target)                                                                                  \
	{                                                                                                              \
		"constraint", CLI_LIST_OF_TEXT, (target), 0, 0, "EXPRESSION",                                          \
			"only points that meet it, as 'area_mm2 < 400 and array.rows >= 128'"                          \
	}

#endif
