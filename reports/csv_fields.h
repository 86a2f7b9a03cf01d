/* SPDX-License-Identifier: MIT
 *
 * Fields of CSV files (RFC 4180): empty is not applicable or not known. */
#ifndef NPULAB_REPORTS_CSV_FIELDS_H
#define NPULAB_REPORTS_CSV_FIELDS_H

#include <stdio.h>

void npl_csv_put_text(FILE *out, const char *text); /* UTF-8, quoted where it must be; NULL is empty */
void npl_csv_put_double(FILE *out, double value);   /* NAN and infinities are empty */

#endif
