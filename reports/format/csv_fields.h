/* SPDX-License-Identifier: MIT
 *
 * Fields of CSV files (RFC 4180): an empty field means not applicable or not known. */
#ifndef NPULAB_REPORTS_FORMAT_CSV_FIELDS_H
#define NPULAB_REPORTS_FORMAT_CSV_FIELDS_H

#include <stdio.h>

void npl_csv_put_text(FILE *out, const char *text); /* writes UTF-8, quoted where necessary; NULL is empty */
void npl_csv_put_double(FILE *out, double value);   /* NAN and infinities are empty */

#endif
