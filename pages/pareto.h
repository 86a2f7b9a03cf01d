/* SPDX-License-Identifier: MIT
 *
 * What the page of a sweep (npulab.pareto/1) is made of: the front as a table and as a drawing, and all points as data
 * for the scripts of the page. */
#ifndef NPULAB_PAGES_PARETO_H
#define NPULAB_PAGES_PARETO_H

#include "document.h"
#include "writer.h"

/* Rows of the table of the front. A longer front is thinned out. */
enum { PAGE_FRONT_ROWS = 200 };

/* Says whether all lists of a document have a value for each point: its schema cannot. NPL_EINPUT where not. */
int page_check_points(const struct page_document *document, struct npl_err *err);

/* Writes a figure with its unit as a sweep names it: "1/s", "bytes", "" for a count or a share. "" where it is not
 * finite. Returns buf. */
const char *page_sweep_quantity(double value, const char *unit, char *buf, size_t n);

/* Says whether points k and j of the front are of one network. Others are no alternatives: each network has a front of
 * its own. */
bool page_compete(const json_t *front, size_t k, size_t j);
/* Says whether point k of the front is the knee of a front that has more than two points, so that it says
 * something. */
bool page_is_knee(const json_t *front, size_t k);

/* Returns the place of a point of the front among all points, by its id; -1: it is not there. */
int64_t page_place_of(const json_t *root, const json_t *front_point);

/* Says which points are on the front: an allocated truth value for each point. NULL: memory is short. */
bool *page_on_front(const json_t *root);

/* Draws the first objective against the second, with the front as a line; one objective against the first parameter
 * whose values are numbers. Draws nothing where there are no such figures. suffix tells the drawings of several
 * documents from each other. */
void page_put_front_drawing(struct page_writer *writer, const json_t *root, const char *suffix);

/* Gives all points to the scripts of the page (pareto.js): columns whose values are coded by a dictionary, or as
 * floats. In formats other than HTML it writes nothing. Returns 0 or NPL_ENOMEM. */
int page_put_points_data(struct page_writer *writer, const json_t *root, struct npl_err *err);

#endif
