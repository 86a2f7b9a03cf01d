/* SPDX-License-Identifier: MIT
 *
 * What an ONNX model asks for, read without importing it: the names of its inputs and the operators that npulab has not. */
#ifndef NPULAB_FRONTEND_ONNX_SURVEY_H
#define NPULAB_FRONTEND_ONNX_SURVEY_H

#include "onnx_wire.h"

struct onnx_survey { /* names live in the reader's arena */
	int n_inputs;
	const char **input; /* in the order of the model, without those that are initialisers */
	int n_missing;
	const char **missing; /* sorted, each once; those in subgraphs too; "DOMAIN.NAME" outside ONNX's own domain */
};

/* NPL_EINPUT: not ONNX. */
int onnx_survey(const struct onnx_reader *reader, struct onnx_span model, struct onnx_survey *survey);

#endif
