/* SPDX-License-Identifier: MIT
 *
 * Numbers with a unit after them, as people write them in machine files: "24 MiB", "700MHz", "34.1 GB/s", "6 us". */
#ifndef NPULAB_CORE_QUANTITY_H
#define NPULAB_CORE_QUANTITY_H

#include <stddef.h>

/* Brings `text`, a number with or without a unit, to the unit that a schema names (struct npl_param.unit): a decimal
 * number, in buf or the text itself. A text that has no unit, or one of another kind, is returned as it is and fails as
 * a number. Decimal prefixes move the exponent, so that 34.1 GB/s is as exact as 34.1e9. */
const char *npl_quantity_in(const char *text, const char *unit, char *buf, size_t n);

/* The units that npl_quantity_in takes beside a schema's own, for messages: "Hz, kHz, MHz, GHz, THz"; "" where there
 * are none. */
const char *npl_quantity_units(const char *unit, char *buf, size_t n);

#endif
