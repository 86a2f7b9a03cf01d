/* SPDX-License-Identifier: MIT
 *
 * What drawings share: SVG that is readable without a script, with a legend above it. Its colours are those of the
 * styles (style.css, drawing.css). */
#ifndef NPULAB_PAGES_DRAWING_H
#define NPULAB_PAGES_DRAWING_H

#include <stdio.h>

#include "npulab/error.h"
#include "writer.h"

/* Colours that the styles have: a drawing has no more series. */
enum { PAGE_COLOURS = 8 };

/* A drawing that is being made. Draw at y from 0 on: the legend stands above that. */
struct page_pen {
	FILE *out; /* NULL: out of memory */
	char *text;
	size_t bytes;
	int top; /* height of the legend */
};
/* How the series look: as areas, or as marks (page_mark). */
enum page_look { PAGE_AREAS, PAGE_MARKS };
/* Begins a drawing of that width with a legend of n series; a single series has none. */
void page_pen_begin(struct page_pen *pen, int width, enum page_look look, const char *const *series, int n);
/* Puts the drawing, of that height below its legend, on the page. */
void page_pen_end(struct page_pen *pen, struct page_writer *writer, struct page_drawing drawing);

/* Says whether a figure has a place in a drawing: it is 0, or its size is from 1e-100 to 1e100. Sums, ratios and
 * logarithms of such figures are finite. */
bool page_is_drawable(double value);

/* Returns the path of a series' mark, around the point where the pen is: a diamond, a square, a triangle up, one down,
 * and so on again, in other colours. */
const char *page_mark(int series);

/* Writes a text at a place. anchor: "start", "middle" or "end". style: a class of the styles, or "". */
void page_draw_text(FILE *out, double x, double y, const char *anchor, const char *style, const char *text);

/* Returns the step between the ticks of an axis from 0 to `most`: 1, 2 or 5 times a power of ten, so that there are 4
 * to 10 of them. */
double page_tick(double most);

/* Writes a figure with its unit, "1.24 ms"; decibels and areas have no prefix. "" where it is not finite. Returns
 * buf. */
const char *page_quantity(double value, const char *unit, char *buf, size_t n);

/* Cuts a name in its middle, so that names that begin alike stay apart: "layer1…conv2". Returns buf, of n bytes, with
 * at most `characters` of the name. */
const char *page_short_name(char *buf, size_t n, const char *name, int characters);

#endif
