/* SPDX-License-Identifier: MIT
 *
 * Given to clang's static analyzer before each source (scripts/lint.sh) and to no compiler. The analyzer looks at one
 * file at a time and cannot know that npl_fail, npl_fail_settings and npl_no_memory return a code, which is never 0,
 * and npl_refuse false: without this it follows every failure into the code behind `if (!rc)` and reports null pointers
 * there.
 */
#ifndef NPULAB_SCRIPTS_ANALYZER_H
#define NPULAB_SCRIPTS_ANALYZER_H

#include "core/base/refuse.h"
#include "npulab/error.h"

#define npl_fail(err, code, ...) ((void)(npl_fail)(err, code, __VA_ARGS__), (code))
#define npl_fail_settings(err, mapping, ...) ((void)(npl_fail_settings)(err, mapping, __VA_ARGS__), NPL_EUSAGE)
#define npl_no_memory(err)       ((void)(npl_no_memory)(err), NPL_ENOMEM)
#define npl_refuse(reason, n, ...)  ((void)(npl_refuse)(reason, n, __VA_ARGS__), false)

#endif
