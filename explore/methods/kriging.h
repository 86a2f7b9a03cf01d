/* SPDX-License-Identifier: MIT
 *
 * An estimate of a figure at every point of a space, from the points at which it is known: kriging, as Sacks, Welch,
 * Mitchell and Wynn use it for simulations, which give the same result each time ("Design and Analysis of Computer
 * Experiments", Statistical Science 4(4), 1989).
 *
 * A figure that has one sign is estimated by its logarithm, because times and energies of machines differ by factors.
 * The covariance of two points is a product over the axes of 1 + weight * correlation. So a figure may be a sum of what
 * each axis does alone (Stitson et al., "Support Vector Regression with ANOVA Decomposition Kernels", 1999), and of
 * what axes do together. The correlation of two values falls with the ratio of the numbers, or the difference where
 * some are not positive, and is the same for all pairs of values that are no numbers. The weights and ranges are those
 * of the greatest likelihood on at most 128 of the known points. */
#ifndef NPULAB_EXPLORE_METHODS_KRIGING_H
#define NPULAB_EXPLORE_METHODS_KRIGING_H

#include "explore/space/space.h"

/* The most points from which a figure is estimated: solving for n of them takes n^3 / 3 multiplications. */
#define SWEEP_KRIGING_POINTS 1000
#define SWEEP_KRIGING_LEAST  8 /* the fewest */

struct sweep_kriging; /* opaque; one thread at a time */

/* Opens the estimate of a figure from the n points at which it is known: levels of point i are level[i * n_axes] and
 * on, and value[i] is finite. All are copied. The space is borrowed. Of more than SWEEP_KRIGING_POINTS so many are
 * taken, spread evenly. Returns NPL_EUSAGE for fewer than SWEEP_KRIGING_LEAST. */
int sweep_kriging_open(const struct sweep_space *space, int64_t n, const int *level, const double *value,
		       struct sweep_kriging **surface, struct npl_err *err);
void sweep_kriging_close(struct sweep_kriging *surface); /* accepts NULL */

/* Returns the estimate at a point. Fastest where it differs from the point before only in the last axes. */
double sweep_kriging_at(struct sweep_kriging *surface, const int *level);

/* How far estimates are from the figure, relative to it: each known point is estimated from all the others. */
struct sweep_kriging_error {
	int64_t n;                   /* points that were compared */
	double median, ninth, worst; /* half and nine tenths of the points are within the first two */
};
/* Fills the errors for each level of an axis, of the points that have this level: error[level], n_levels of them. */
int sweep_kriging_error(const struct sweep_kriging *surface, int axis, int n_levels, struct sweep_kriging_error *error,
			struct npl_err *err);

#endif
