/* SPDX-License-Identifier: MIT
 *
 * UTF-8, as far as reports need it: names come from model files and may hold any bytes. */
#ifndef NPULAB_REPORTS_UTF8_H
#define NPULAB_REPORTS_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed sequence that begins at bytes (NUL-terminated), 0 when none does: overlong forms, surrogates
 * and what lies beyond U+10FFFF are none. */
size_t npl_utf8_length(const char *bytes);

#endif
