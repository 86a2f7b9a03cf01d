/* SPDX-License-Identifier: MIT
 *
 * Which parameters a table of points shows: columns for those in which its rows differ, and a line that names what all
 * of them have alike. */
#ifndef NPULAB_EXPLORE_SHOWN_KEYS_H
#define NPULAB_EXPLORE_SHOWN_KEYS_H

#include <stdio.h>

#include "reports/format/table.h"
#include "results.h"

struct sweep_shown_keys {
	int n;
	const char *key[NPL_TABLE_COLUMNS];
	int left_out; /* parameters that differ, and for which there was no room */
};

/* Chooses the columns of the points results->result[index[0]] and on, n of them; at most `room` columns. */
void sweep_choose_keys(const struct sweep_results *results, const int64_t *index, int64_t n, int room,
		       struct sweep_shown_keys *shown);
/* Writes a line with the parameters that the n points have alike, and how many are left out. A value at an end of the
 * values of all points is said to be one, since better ones may lie beyond it. Returns 0 or NPL_ENOMEM. */
int sweep_print_alike(FILE *out, const struct sweep_results *results, const int64_t *index, int64_t n,
		      const struct sweep_shown_keys *shown);

#endif
