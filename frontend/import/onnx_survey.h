/* SPDX-License-Identifier: MIT
 *
 * What an ONNX model asks for, read without importing it: the names and types of its inputs and outputs, its operators
 * and which of them npulab has not. */
#ifndef NPULAB_FRONTEND_IMPORT_ONNX_SURVEY_H
#define NPULAB_FRONTEND_IMPORT_ONNX_SURVEY_H

#include "npulab/op.h"
#include "onnx_wire.h"

struct onnx_survey { /* names live in the reader's arena */
	int n_inputs;
	const char **input;            /* in the order of the model, without those that are initialisers */
	enum npl_dtype *input_type;    /* declared; NPL_DTYPES: no tensor of a type that npulab has */
	struct npl_shape *input_shape; /* declared; a rank or dimension of -1 is open */
	int n_outputs;
	enum npl_dtype *output_type;
	/* Sorted, each once; those in subgraphs and in the functions that are called too, not the functions themselves;
	 * "DOMAIN.NAME" outside ONNX's own domain. missing: of all, those that
	 * npulab has not. */
	int n_operators, n_missing;
	const char **operators, **missing;
	const char *random; /* an operator of these that draws random numbers; NULL: there is none */
};

/* NPL_EINPUT: not ONNX. */
int onnx_survey(const struct onnx_reader *reader, struct onnx_span model, struct onnx_survey *survey);

#endif
