/* SPDX-License-Identifier: MIT
 *
 * The six applications of the TPU paper (Jouppi et al., ISCA 2017, Table 1), as reconstructed in models/, and one batch
 * of each on the machine as its counters see it: the input comes from the host, states of recurrent cells are in the
 * unified buffer from the step before, and results leave while the next batch is at work. */
#ifndef NPULAB_VALIDATE_TPU_APPLICATIONS_H
#define NPULAB_VALIDATE_TPU_APPLICATIONS_H

#include "npulab/device.h"
#include "npulab/graph.h"
#include "npulab/session.h"
#include "npulab/validate.h"

#define NPL_TPU_MACHINE "tpu_v1"

struct npl_tpu_application {
	const char *name, *model;
	bool wide; /* 16-bit activations: the paper's counters show half speed */
	/* samples in the batches that Table 3's counters saw, where the batches were not full; 0: Table 1's */
	int64_t counted_samples;
	const char *kind; /* the kind as Table 1 gives the machines' load, with two applications each */
};

enum { NPL_TPU_MLP0, NPL_TPU_MLP1, NPL_TPU_LSTM0, NPL_TPU_LSTM1, NPL_TPU_CNN0, NPL_TPU_CNN1, NPL_TPU_APPLICATIONS };
extern const struct npl_tpu_application npl_tpu_applications[NPL_TPU_APPLICATIONS];

/* The figures of one batch. Counters are sums over all layers; NAN when the machine did not run every layer that
 * multiplies, or does not know them. */
struct npl_tpu_counts {
	int64_t batch;
	double cycles, seconds, cells, macs, passes; /* passes: those of the array that one multiply-accumulate takes */
	double array_active, useful_macs, unused_macs, weight_stall, weight_shift, non_matrix, raw_stall, input_stall,
		tiles;
	double peak_buffer_bytes;
	/* Of the chip and its memory while they work; the second without static power, with the bottom-up range. */
	double watts;
	struct npl_estimates dynamic_watts;
	char reason[300]; /* why some figures are NAN; "" where all are known */
};

/* A change to the machine: a parameter, multiplied by a factor, or set to `value`. */
struct npl_tpu_change {
	const char *key; /* NPL_TPU_WEIGHT_RATE: the rate of weight memory, of whatever model it is */
	double factor;
	const char *value;
};
#define NPL_TPU_WEIGHT_RATE "weight_memory.bytes_per_second"

/* Opens the machine with options->set and the changes. Returns NPL_EUSAGE, or the code of npl_device_open. */
int npl_tpu_open(const struct npl_validate_options *options, bool wide, const struct npl_tpu_change *change, int n,
		 struct npl_device **device, struct npl_err *err);

/* Returns the paper's figure of a case; NAN: none. */
double npl_tpu_published(const struct npl_validation *validation, const char *case_name, const char *metric);

/* Means of a figure over applications: of n from `first` on, and of all. The weighted mean takes Table 1's shares of
 * load, each divided equally between its two applications, because the paper does not say more. */
double npl_tpu_geometric_mean(const double *value, int first, int n);
double npl_tpu_weighted_mean(const struct npl_validation *validation, const double *value);

/* Loads the application's graph at batch `batch` (0: its own). */
int npl_tpu_graph(const struct npl_tpu_application *app, int64_t batch, struct npl_graph **graph, struct npl_err *err);
/* Runs one batch: of app->counted_samples samples where the paper's counters are compared; 0: of Table 1's. */
int npl_tpu_count(const struct npl_tpu_application *app, int64_t batch, const struct npl_validate_options *options,
		  const struct npl_tpu_change *change, int n, struct npl_tpu_counts *counts, struct npl_err *err);

#endif
