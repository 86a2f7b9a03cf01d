/* SPDX-License-Identifier: MIT
 *
 * Finds models by name, and loads the samples to run them on. A shipped model NAME is described by models/NAME.yaml.
 * Its key `model` names the ONNX file, and others give the default input, labels, calibration set and batch. A model
 * may also be named by the path of an ONNX file or of a SCALE-Sim topology (NAME.csv). A NAME.yaml beside that file is
 * used if its key `model` names this very file.
 */
#ifndef NPULAB_MODEL_H
#define NPULAB_MODEL_H

#include "npulab/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_model_files { /* strings live in the arena; NULL: not given */
	const char *name;
	const char *path; /* path of the ONNX file or topology */
	const char *input, *labels, *calibration;
	const char *description, *license, *source;
	int64_t batch; /* 0: not given */
};

/* Finds the files of a model. Returns NPL_EINPUT when there is no such model, with the nearest name. */
int npl_model_find(const char *name, struct npl_arena *arena, struct npl_model_files *files, struct npl_err *err);
/* Lists the names of the shipped models, sorted. */
int npl_model_list(struct npl_arena *arena, const char *const **names, int *n, struct npl_err *err);

/* Tensors for the graph's inputs, with any number of samples in dimension 0. */
struct npl_samples {
	int64_t count; /* samples */
	int n_inputs;
	struct npl_tensor *input; /* per graph input, of shape (count, ...); data NULL: only described */
	struct npl_tensor labels; /* of shape (count), int64; data NULL: no labels */
	/* For each output of the graph, the rows of its dimension 0 for each sample; 0: the output is the same in every
	 * batch. NULL: the samples are one batch. */
	int64_t *rows;
	bool random; /* the inputs are random, made from the seed */
};

/* Loads samples from `files`, each "FILE" or "NAME=FILE" (.npy, .pb). Without files the inputs are seeded random:
 * floats in [-1, 1); bytes over their whole range, like quantised values; wider integers and bools 0 or 1, like masks;
 * integers that pick rows, such as word numbers for a Gather, over the rows that exist. labels may be NULL. Returns
 * NPL_EINPUT when a file does not fit the graph, when the inputs' counts differ, or when the samples are no full batch
 * of a network that mixes them. */
int npl_samples_load(const struct npl_graph *graph, const char *const *files, int n_files, const char *labels,
		     uint64_t seed, struct npl_samples *samples, struct npl_err *err);
/* Describes one batch of random samples for a run without values: they are not read, and no memory holds them
 * (input[i].data NULL). */
int npl_samples_describe(const struct npl_graph *graph, const char *labels, struct npl_samples *samples,
			 struct npl_err *err);
void npl_samples_free(struct npl_samples *samples);

/* Gives batch number b, of the graph's batch size: borrowed where the samples fill it, else a copy in which the last
 * sample is repeated. batch has graph->n_inputs tensors; free each by npl_tensor_free. *real is the number of real
 * samples. */
int npl_samples_batch(const struct npl_graph *graph, const struct npl_samples *samples, int64_t b,
		      struct npl_tensor *batch, int64_t *real, struct npl_err *err);
int64_t npl_samples_batches(const struct npl_graph *graph, const struct npl_samples *samples);

#ifdef __cplusplus
}
#endif

#endif
