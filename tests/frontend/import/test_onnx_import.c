/* SPDX-License-Identifier: MIT
 *
 * What the ONNX importer makes of models written by the test itself: nodes sorted, named and counted, initialisers in
 * every encoding, and the wire format below it all, number by number. */
#include <criterion/criterion.h>

#include "frontend/graph/build.h"
#include "frontend/import/onnx_wire.h"
#include "tests/kit/onnx_writer.h"

#define PATH      "folder/model.onnx"
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static int load_bytes(const struct onnx_writer *model, const struct npl_load_options *options, struct npl_graph **graph,
		      struct npl_err *err)
{
	*err = (struct npl_err){0};
	return npl_graph_load_memory(PATH, model->data, model->bytes, options, GRAPH_LIMITS, graph, err);
}

/* Numbers have at most 64 bits in at most ten bytes; field 0, groups and lengths past the end are refused. */
Test(onnx_import, malformed_bytes_are_refused)
{
	static const struct {
		const char *bytes;
		size_t n;
		int rc;
		uint64_t value;
	} cases[] = {
		{"\x08\x00", 2, 1, 0},
		{"\x08\xac\x02", 3, 1, 300},
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 1, UINT64_MAX},
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, NPL_EINPUT, 0},
		{"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12, NPL_EINPUT, 0},
		{"\x08\x80", 2, NPL_EINPUT, 0},
		{"\x09\1\2\3\4\5\6\7\x88", 9, 1, 0x8807060504030201u},
		{"\x09\1\2\3\4\5\6\7", 8, NPL_EINPUT, 0},
		{"\x0d\1\2\3\x84", 5, 1, 0x84030201u},
		{"\x0d\1\2\3", 4, NPL_EINPUT, 0},
		{"\x0a\x02\1\2", 4, 1, 0},
		{"\x0a\x03\1\2", 4, NPL_EINPUT, 0},
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, NPL_EINPUT, 0},
		{"\x00\x00", 2, NPL_EINPUT, 0},
		{"\x0b\x0c", 2, NPL_EINPUT, 0},
		{"\x0e\x00", 2, NPL_EINPUT, 0},
		{"", 0, 0, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct npl_err err;
		struct onnx_field field = {0};
		const unsigned char *start = (const unsigned char *)cases[i].bytes;
		const struct onnx_reader reader = {.start = start, .err = &err};
		struct onnx_span span = {start, start + cases[i].n};
		int rc = onnx_next(&reader, &span, &field);
		cr_assert_eq(rc, cases[i].rc, "case %zu: %d", i, rc);
		cr_assert(rc != 1 || (field.value == cases[i].value && span.at == span.end), "case %zu", i);
	}
}

/* A file in any order comes out sorted, as little changed as can be; one in order keeps its order. */
Test(onnx_import, a_file_in_any_order_is_sorted)
{
	static const char *const expected[] = {"a", "b", "c", "d", "e"};
	for (int round = 0; round < 2; round++) {
		struct onnx_writer g = {0};
		struct npl_graph *graph;
		struct npl_err err;
		onnx_put_output(&g, "ve");
		if (round)
			onnx_put_node(&g, "Add", "e", "vd vc", "ve", NULL);
		onnx_put_node(&g, "Relu", "a", "x", "va", NULL);
		if (round)
			onnx_put_node(&g, "Add", "d", "vb vb", "vd", NULL);
		onnx_put_node(&g, "Relu", "b", "va", "vb", NULL);
		onnx_put_node(&g, "Relu", "c", "x", "vc", NULL);
		if (!round) {
			onnx_put_node(&g, "Add", "d", "vb vb", "vd", NULL);
			onnx_put_node(&g, "Add", "e", "vd vc", "ve", NULL);
		}
		onnx_put_input(&g, "x", ONNX_FLOAT, 1, DIMS(3));
		struct onnx_writer model = onnx_model(&g, 13);
		cr_assert_eq(load_bytes(&model, NULL, &graph, &err), 0, "%s", err.msg);
		cr_assert_eq(graph->n_nodes, 5);
		bool made[32] = {false};
		made[graph->input[0]] = true;
		for (int i = 0; i < 5; i++) {
			const struct npl_node *node = &graph->node[i];
			cr_assert(round || !strcmp(node->name, expected[i]));
			for (int k = 0; k < node->n_in; k++)
				cr_assert(made[node->in[k]], "%s reads what is not made yet", node->name);
			made[node->out[0]] = true;
			cr_assert_eq(graph->value[node->out[0]].producer, i);
		}
		for (int v = 0; v < graph->n_values; v++)
			if (!strcmp(graph->value[v].name, "vb"))
				cr_assert_eq(graph->value[v].uses, 2); /* both inputs of d */
		npl_graph_free(graph);
		onnx_writer_free(&model);
	}
}

/* Names are unique: "#2" is added, a node without a name is OPERATOR_INDEX. What nobody reads is dropped. */
Test(onnx_import, names_and_dead_nodes)
{
	struct onnx_writer g = {0};
	struct npl_graph *graph;
	struct npl_err err;
	onnx_put_input(&g, "x", ONNX_FLOAT, 1, DIMS(3));
	onnx_put_floats(&g, "unused", 1, DIMS(1), &(float){1});
	onnx_put_node(&g, "Relu", "same", "x", "a", NULL);
	onnx_put_node(&g, "Relu", "same", "a", "b", NULL);
	onnx_put_node(&g, "Add", "dead", "a unused", "nobody", NULL);
	onnx_put_node(&g, "Relu", "", "b", "c", NULL);
	onnx_put_node(&g, "Relu", "Relu_3", "c", "d", NULL);
	onnx_put_node(&g, "Relu", "same", "d", "e", NULL);
	onnx_put_output(&g, "e");
	struct onnx_writer model = onnx_model(&g, 13);
	cr_assert_eq(load_bytes(&model, NULL, &graph, &err), 0, "%s", err.msg);
	static const char *const names[] = {"same", "same#2", "Relu_3", "Relu_3#2", "same#3"};
	cr_assert_eq(graph->n_nodes, 5);
	cr_assert_eq(graph->file_nodes, 6);
	for (int i = 0; i < 5; i++)
		cr_assert_str_eq(graph->node[i].name, names[i]);
	cr_assert_eq(graph->n_values, 6); /* x and a to e */
	cr_assert_eq(graph->parameters, 0);
	cr_assert_str_eq(graph->name, "model");
	cr_assert_str_eq(graph->producer_name, "writer");
	cr_assert_eq(graph->ir_version, 7);
	npl_graph_free(graph);
	onnx_writer_free(&model);
}

/* An initialiser that is listed as input too is no input; a float tensor is used in place when its bytes are aligned
 * for it and copied when they are not; every encoding gives the same values. */
Test(onnx_import, an_initialiser_is_no_input)
{
	static const float expected[3] = {1.5f, -2.0f, 3.25f};
	for (int form = 0; form < 3; form++)
		for (int shift = 0; shift < 4; shift++) {
			struct onnx_writer g = {0}, t = {0}, packed = {0};
			struct npl_graph *graph;
			struct npl_err err;
			char pad[8] = "padding";
			onnx_put_bytes(&g, 2, pad, (size_t)shift); /* the graph's name moves what follows */
			onnx_put_int(&t, 1, 3);
			onnx_put_int(&t, 2, ONNX_FLOAT);
			onnx_put_string(&t, 8, "w");
			for (int i = 0; i < 3; i++) {
				onnx_put_raw(&packed, &expected[i], 4);
				if (form == 0)
					onnx_put_float(&t, 4, expected[i]);
			}
			if (form > 0)
				onnx_put_bytes(&t, form == 1 ? 4 : 9, packed.data, packed.bytes);
			onnx_writer_free(&packed);
			onnx_put_message(&g, 5, &t);
			onnx_put_input(&g, "w", ONNX_FLOAT, 1, DIMS(3));
			onnx_put_input(&g, "x", ONNX_FLOAT, 1, DIMS(3));
			onnx_put_node(&g, "Add", "sum", "x w", "y", NULL);
			onnx_put_output(&g, "y");
			struct onnx_writer model = onnx_model(&g, 13);
			cr_assert_eq(load_bytes(&model, NULL, &graph, &err), 0, "%s", err.msg);
			cr_assert_eq(graph->n_inputs, 1);
			const struct npl_value *w = &graph->value[graph->node[0].in[1]];
			cr_assert(w->constant && w->producer == -1 && !w->is_fill);
			cr_assert_eq((uintptr_t)w->data % 4, 0);
			cr_assert_eq(memcmp(w->data, expected, sizeof expected), 0);
			cr_assert_eq(graph->parameters, 3);
			npl_graph_free(graph);
			onnx_writer_free(&model);
		}
}

/* An output is what the nodes make of it; a file that says something else of its type or shape gets a warning, unless
 * what it says is open or speaks of another batch. */
Test(onnx_import, a_wrong_declaration_of_an_output_gets_a_warning)
{
	static const struct {
		int type, rank;
		int64_t dims[3];
		int64_t batch;
		const char *expected; /* NULL: no warning */
	} cases[] = {
		{ONNX_FLOAT, 2, {2, 4}, 0, NULL},
		{ONNX_FLOAT, 2, {-1, 4}, 0, NULL},
		{ONNX_FLOAT, 2, {-1, -2}, 0, NULL},
		{ONNX_FLOAT, 2, {2, 4}, 5, NULL},
		{ONNX_FLOAT, -1, {0}, 0, NULL},
		{ONNX_STRING, 2, {2, 4}, 0, NULL},
		{ONNX_FLOAT, 2, {2, 9}, 0, "output 'y' is declared float32 2x9, but it is float32 2x4"},
		{ONNX_FLOAT, 2, {-2, 9}, 0, "output 'y' is declared float32 ?x9, but it is float32 2x4"},
		{ONNX_FLOAT, 3, {-1, 2, 4}, 0, "output 'y' is declared float32 Nx2x4, but it is float32 2x4"},
		{ONNX_FLOAT, 0, {0}, 0, "output 'y' is declared float32 scalar, but it is float32 2x4"},
		{ONNX_INT64, 2, {2, 4}, 5, "output 'y' is declared int64 2x4, but it is float32 5x4"},
		{ONNX_INT64, -1, {0}, 0, "output 'y' is declared int64, but it is float32 2x4"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct onnx_writer g = {0};
		struct npl_graph *graph;
		struct npl_err err;
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(2, 4));
		onnx_put_node(&g, "Relu", "act", "x", "y", NULL);
		struct onnx_writer value = onnx_value_of("y", cases[i].type, cases[i].rank, cases[i].dims);
		onnx_put_message(&g, 12, &value);
		struct onnx_writer model = onnx_model(&g, 13);
		const struct npl_load_options options = {.batch = cases[i].batch};
		cr_assert_eq(load_bytes(&model, &options, &graph, &err), 0, "%s", err.msg);
		cr_assert_eq(graph->n_warnings, cases[i].expected != NULL, "case %zu", i);
		if (cases[i].expected)
			cr_assert_str_eq(graph->warning[0], cases[i].expected);
		npl_graph_free(graph);
		onnx_writer_free(&model);
	}
}

/* Lists of strings reach the operator, with and without the attribute's type. */
Test(onnx_import, lists_of_strings_reach_the_operator)
{
	for (int typed = 0; typed < 2; typed++) {
		struct onnx_writer g = {0}, attrs = {0}, strings = {0};
		struct npl_graph *graph;
		struct npl_err err;
		onnx_put_input(&g, "x", ONNX_FLOAT, 3, DIMS(2, 1, 1));
		onnx_put_floats(&g, "w", 3, DIMS(2, 1, 1), (const float[]){1, 1});
		onnx_put_words(&strings, 9, "Affine Relu");
		onnx_put_attr(&attrs, "activations", typed ? 8 : 0, &strings);
		onnx_put_string(&strings, 4, "bidirectional");
		onnx_put_attr(&attrs, "direction", 3, &strings);
		onnx_put_node(&g, "RNN", "cells", "x w w", "y", &attrs);
		onnx_put_output(&g, "y");
		struct onnx_writer model = onnx_model(&g, 14);
		cr_assert_eq(load_bytes(&model, NULL, &graph, &err), 0, "%s", err.msg);
		const struct npl_recurrent_attrs *r = &graph->node[0].attrs.recurrent;
		cr_assert_eq(r->activation[0][0].function, NPL_CELL_AFFINE);
		cr_assert_eq(r->activation[1][0].function, NPL_CELL_RELU);
		npl_graph_free(graph);
		onnx_writer_free(&model);
	}
}

/* Integers of every width, as lists and as raw bytes. */
Test(onnx_import, integers_of_every_width_are_read)
{
	static const struct {
		int type, size, field;
	} kinds[] = {{ONNX_INT8, 1, 5},  {ONNX_UINT8, 1, 5}, {ONNX_BOOL, 1, 5},
		     {ONNX_INT16, 2, 5}, {ONNX_INT32, 4, 5}, {ONNX_INT64, 8, 7}};
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
		for (int raw = 0; raw < 2; raw++) {
			struct onnx_writer g = {0}, t = {0}, attrs = {0};
			struct npl_graph *graph;
			struct npl_err err;
			int64_t v[2] = {kinds[k].type == ONNX_UINT8 || kinds[k].type == ONNX_BOOL ? 1 : -3,
					kinds[k].type == ONNX_BOOL ? 0 : 100};
			if (raw) {
				char bytes[16];
				memcpy(bytes, &v[0], (size_t)kinds[k].size);
				memcpy(bytes + kinds[k].size, &v[1], (size_t)kinds[k].size);
				t = onnx_tensor_of("v", kinds[k].type, 1, DIMS(2), bytes, 2 * (size_t)kinds[k].size);
			} else {
				onnx_put_int(&t, 1, 2);
				onnx_put_int(&t, 2, kinds[k].type);
				onnx_put_int(&t, kinds[k].field, v[0]);
				onnx_put_int(&t, kinds[k].field, v[1]);
			}
			onnx_put_attr_tensor(&attrs, "value", &t);
			onnx_put_node(&g, "Constant", "", "", "y", &attrs);
			onnx_put_output(&g, "y");
			struct onnx_writer model = onnx_model(&g, 13);
			cr_assert_eq(load_bytes(&model, NULL, &graph, &err), 0, "%s", err.msg);
			cr_assert_eq(graph->n_nodes, 0);
			cr_assert_eq(graph->folded_constants, 1);
			const unsigned char *data = npl_value_data(graph, &graph->value[graph->output[0]], &err);
			for (int i = 0; i < 2; i++) {
				int64_t imported = 0;
				memcpy(&imported, data + i * kinds[k].size, (size_t)kinds[k].size);
				int unused_bits = 64 - 8 * kinds[k].size;
				cr_assert_eq(imported, (int64_t)((uint64_t)v[i] << unused_bits >> unused_bits));
			}
			npl_graph_free(graph);
			onnx_writer_free(&model);
		}
}
