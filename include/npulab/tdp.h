/* SPDX-License-Identifier: MIT
 *
 * What a processor or GPU is assumed to draw where nothing can be measured: its thermal design power, by model, from
 * published/tdp.csv or from the user. An upper bound and a guess: the figure is for a whole package at full load, and
 * a chip seldom draws it. Origin: assumed:tdp.
 */
#ifndef NPULAB_TDP_H
#define NPULAB_TDP_H

#include "npulab/error.h"
#include "npulab/processor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_tdp {
	double watts;     /* of one package, or of one board */
	int cores;        /* of one package; 0: a GPU */
	char source[120]; /* who says so */
};

enum npl_tdp_kind { NPL_TDP_CPU, NPL_TDP_GPU };

/* Names are compared without what makers and kernels put around them: (R), (TM), "CPU", "Processor", "16-Core", "12th
 * Gen", the clock after "@". The whole name must agree. NPL_EDEVICE: none of this name; NPL_EINPUT: a bad table. */
int npl_tdp_find(enum npl_tdp_kind kind, const char *model, struct npl_tdp *tdp, struct npl_err *err);

struct npl_assumed_power {
	double watts;   /* NAN: nothing to go by */
	char note[320]; /* how it was found, or why there is none */
};

/* The power of `threads` threads of this processor: TDP x cores used / cores of a package, a thread counted as a core
 * up to the cores there are. watts: of one package, as the user gave it (0: by model); cores: of one package, as the
 * user gave them (0: by model). */
void npl_assume_package(const struct npl_processor *processor, int threads, double watts, int cores,
			struct npl_assumed_power *power);

/* The power of a GPU's board, by the name that its driver gives it; watts as above. */
void npl_assume_board(const char *name, double watts, struct npl_assumed_power *power);

#ifdef __cplusplus
}
#endif

#endif
