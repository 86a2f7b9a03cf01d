/* SPDX-License-Identifier: MIT
 *
 * Expressions over the parameters and the results of a point: what constraints, objectives and derived parameters are
 * written in.
 *
 *     area_mm2 < 400 and power_w <= 75
 *     array.rows * array.columns <= 64Ki
 *     weight_memory.preset == 'hbm2' or not (batch > 8)
 *     log2(unified_buffer.bytes / 1Mi)
 *
 * From weak to strong: or; and; not; < <= > >= == !=; + -; * /; -x; ^. Functions: abs, ceil, floor, log2, max, min,
 * round, sqrt. A number may end with K, M, G or T (thousands, millions...) or Ki, Mi, Gi, Ti (powers of 1024). A
 * comparison is 1 or 0. What depends on a figure that is not known is not known either (NAN): arithmetic, a comparison,
 * and `not`, `and` and `or` where the other operand does not decide. */
#ifndef NPULAB_EXPLORE_SPACE_EXPRESSION_H
#define NPULAB_EXPLORE_SPACE_EXPRESSION_H

#include <stdbool.h>

#include "npulab/arena.h"
#include "npulab/error.h"

#define SWEEP_EXPRESSION_NAMES 32 /* the most different names in an expression */

/* The value of a name. */
struct sweep_operand {
	double number;    /* NAN: not known, or a text that is no number */
	const char *text; /* NULL: a number */
};

struct sweep_node; /* an operation, a number, a text or a name */

struct sweep_expression { /* lives in the arena */
	const char *text; /* as the user wrote it */
	int n_names;
	const char *name[SWEEP_EXPRESSION_NAMES];
	const struct sweep_node *root;
};

/* Parses a whole text. Returns NPL_EUSAGE, without a place, for what is no expression. */
int sweep_expression_parse(const char *text, struct npl_arena *arena, struct sweep_expression *expression,
			   struct npl_err *err);
/* Cuts the next expression off a list, which commas and line breaks divide that stand in no brackets and no quotes.
 * *list moves behind it, and is NULL behind the last. Returns it without the blanks around it; NULL when memory is
 * short. */
const char *sweep_expression_cut(const char **list, struct npl_arena *arena);
/* Returns the value, with one operand for each name in the order of expression->name. */
double sweep_expression_value(const struct sweep_expression *expression, const struct sweep_operand *operand);
/* Returns how far an expression is from being true: 0 where it is. A comparison of numbers that does not hold is as far
 * as they differ, as a share of the greater one; `and` adds up, `or` takes the least. Anything else that is not true,
 * and an unknown figure, is 1. */
double sweep_expression_violation(const struct sweep_expression *expression, const struct sweep_operand *operand);

#endif
