/* SPDX-License-Identifier: MIT
 *
 * Numbers with a unit after them, as people write them in machine files: "24 MiB", "700MHz", "34.1 GB/s", "6 us". */
#ifndef NPULAB_CORE_QUANTITY_H
#define NPULAB_CORE_QUANTITY_H

#include <stddef.h>

/* Converts `text`, a number with or without a unit, into the unit that a schema names (struct npl_param.unit). Returns
 * a decimal number, in buf or as the text itself. A text without a unit, or with one of another kind, is returned
 * unchanged; with a unit it then fails to parse as a number. Decimal prefixes move the exponent, so that 34.1 GB/s is
 * as exact as 34.1e9. */
const char *npl_quantity_in(const char *text, const char *unit, char *buf, size_t n);

/* Writes the units that npl_quantity_in accepts besides a schema's own, for messages: "Hz, kHz, MHz, GHz, THz"; ""
 * where there are none. */
const char *npl_quantity_units(const char *unit, char *buf, size_t n);

#endif
