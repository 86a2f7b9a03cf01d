/* SPDX-License-Identifier: MIT
 *
 * The clock of every measured time: monotonic, so that a correction of the wall clock cannot enter a result. */
#ifndef NPULAB_CORE_COMPUTER_CLOCK_H
#define NPULAB_CORE_COMPUTER_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

double npl_clock_seconds(void); /* seconds since a fixed moment */

#ifdef __cplusplus
}
#endif

#endif
