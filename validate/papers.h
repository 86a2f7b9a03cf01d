/* SPDX-License-Identifier: MIT
 *
 * The papers of the machines, as rows of a validation name them (published/diannao.csv and published/tpu_v1.csv give
 * their titles). */
#ifndef NPULAB_VALIDATE_PAPERS_H
#define NPULAB_VALIDATE_PAPERS_H

#define CHEN_2014   "Chen et al. (ASPLOS 2014)"
#define JOUPPI_2017 "Jouppi et al. (ISCA 2017)"

#endif
