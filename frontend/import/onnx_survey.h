/* SPDX-License-Identifier: MIT
 *
 * What an ONNX model needs, read without importing it: the names and types of its inputs and outputs, its operators,
 * and those of them that npulab does not have. */
#ifndef NPULAB_FRONTEND_IMPORT_ONNX_SURVEY_H
#define NPULAB_FRONTEND_IMPORT_ONNX_SURVEY_H

#include "npulab/op.h"
#include "onnx_wire.h"

struct onnx_survey { /* names live in the reader's arena */
	int n_inputs;
	const char **input;            /* the inputs in the order of the model, without initialisers */
	enum npl_dtype *input_type;    /* the declared type; NPL_DTYPES: no tensor of a type that npulab has */
	struct npl_shape *input_shape; /* the declared shape; a rank or dimension of -1 is open */
	int n_outputs;
	enum npl_dtype *output_type;
	/* The operators, sorted, each once, including those in subgraphs and in called functions, without the functions
	 * themselves; "DOMAIN.NAME" outside ONNX's own domain. missing: those that npulab does not have. */
	int n_operators, n_missing;
	const char **operators, **missing;
	const char *random; /* one of these operators that draws random numbers; NULL: there is none */
};

/* Fills the survey of a model. Returns NPL_EINPUT when it is not ONNX. */
int onnx_survey(const struct onnx_reader *reader, struct onnx_span model, struct onnx_survey *survey);

#endif
