/* SPDX-License-Identifier: MIT
 *
 * The power that a processor or GPU is assumed to draw where nothing can be measured: its thermal design power, from
 * published/tdp.csv by its model or from the user. It is an upper bound: the figure is for a whole package at full
 * load, which a chip seldom draws. The origin of such energies is assumed:tdp.
 */
#ifndef NPULAB_TDP_H
#define NPULAB_TDP_H

#include "npulab/error.h"
#include "npulab/processor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_tdp {
	double watts;     /* power of one package, or of one board */
	int cores;        /* cores of one package; 0: a GPU */
	char source[120]; /* where the figure is published */
};

enum npl_tdp_kind { NPL_TDP_CPU, NPL_TDP_GPU };

/* Finds a model in the table. Names are compared without words that makers and kernels add: (R), (TM), "CPU",
 * "Processor", "16-Core", "12th Gen", the clock after "@". The rest must be equal. Returns NPL_EDEVICE when the table
 * does not have the name, NPL_EINPUT when the table is bad. */
int npl_tdp_find(enum npl_tdp_kind kind, const char *model, struct npl_tdp *tdp, struct npl_err *err);

struct npl_assumed_power {
	double watts;   /* NAN: not known */
	char note[320]; /* how it was found, or why there is none */
};

/* Gives the power of `threads` threads of this processor: TDP x cores used / cores of a package. Each thread counts as
 * a core, up to the number of cores. watts and cores are those of one package as the user gave them; 0: by model. */
void npl_assume_package(const struct npl_processor *processor, int threads, double watts, int cores,
			struct npl_assumed_power *power);

/* Gives the power of a GPU's board, by the name that its driver gives it. watts: of the board, as the user gave it; 0:
 * by model. */
void npl_assume_board(const char *name, double watts, struct npl_assumed_power *power);

#ifdef __cplusplus
}
#endif

#endif
