/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that npulab does not compute: those that work on values which its networks do not have, with the
 * reason, and those that are not written yet. */
#include <string.h>

#include "build.h"
#include "core/files/words.h"

#define SUBGRAPH   "it runs a subgraph; export the model without control flow"
#define SEQUENCE   "it works on sequences of tensors, and values are tensors here"
#define OPTIONAL   "it works on optional values, and values are tensors here"
#define STRINGS    "it works on strings, and tensors hold numbers here"
#define TRAINING   "it is of training"
#define AFTER_LAST "it came with opset 24, and models of opset " GRAPH_OPSETS " are read"

_Static_assert(NPL_LAST_OPSET < 24, "the operators of opset 24 are now computed, or unwritten");

static const struct {
	const char *op, *reason;
} refused[] = {
	{"If", SUBGRAPH},
	{"Loop", SUBGRAPH},
	{"Scan", SUBGRAPH},
	{"SequenceMap", SUBGRAPH},
	{"SequenceAt", SEQUENCE},
	{"SequenceConstruct", SEQUENCE},
	{"SequenceEmpty", SEQUENCE},
	{"SequenceErase", SEQUENCE},
	{"SequenceInsert", SEQUENCE},
	{"SequenceLength", SEQUENCE},
	{"SplitToSequence", SEQUENCE},
	{"ConcatFromSequence", SEQUENCE},
	{"Optional", OPTIONAL},
	{"OptionalGetElement", OPTIONAL},
	{"OptionalHasElement", OPTIONAL},
	{"StringConcat", STRINGS},
	{"StringNormalizer", STRINGS},
	{"StringSplit", STRINGS},
	{"RegexFullMatch", STRINGS},
	{"TfIdfVectorizer", "it counts words of strings or integers, which no device here has"},
	{"ImageDecoder", "it decodes image files; give the network its pixels with --input"},
	{"Adagrad", TRAINING},
	{"Adam", TRAINING},
	{"Gradient", TRAINING},
	{"Momentum", TRAINING},
	{"Swish", AFTER_LAST},
	{"TensorScatter", AFTER_LAST},
};

const char graph_unwritten[] = "Bernoulli DeformConv Det GridSample MaxRoiPool Multinomial NegativeLogLikelihoodLoss "
			       "NonMaxSuppression RoiAlign SoftmaxCrossEntropyLoss Unique";

bool graph_is_unwritten(const char *op)
{
	return npl_word_index(graph_unwritten, op) >= 0;
}

const char *graph_refusal_reason(const char *op)
{
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		if (!strcmp(refused[i].op, op))
			return refused[i].reason;
	return NULL;
}
