/* SPDX-License-Identifier: MIT
 *
 * SCALE-Sim topologies: a CSV with a row per layer, of convolutions or of matrix products. The layers know nothing of each
 * other (their shapes do not chain: there is no pooling between them), so each becomes a node with an input, an output and
 * seeded weights of its own. Counts are SCALE-Sim's (scalesim/topology_utils.py): the last window of a convolution may
 * reach over the edge, ceil((H - R + S) / S) rows of output, which is padding at the end. */
#include "topology.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/files/csv.h"
#include "core/files/file.h"
#include "frontend/graph/build.h"
#include "npulab/sha256.h"
#include "npulab/text.h"

#define OPSET         13
#define MAX_BYTES     ((size_t)16 << 20)
#define MAX_DIMENSION (1 << 24)
#define MAX_HEADS     4096
#define CONV_COLUMNS  8 /* name, input height and width, filter height and width, channels, filters, stride */
#define GEMM_COLUMNS  4 /* name, M, N, K */

struct topology {
	struct npl_csv csv;
	struct npl_arena arena; /* of the CSV */
	bool gemm;
	char behind;   /* what the header says is behind the known columns: 's' sparsity, 'b' batch, 0 nothing */
	bool sparse;   /* a ratio other than 1:1 was ignored */
	int64_t batch; /* dimension 0 of every input */
	struct graph_builder b;
	struct npl_err err;
};

bool topology_is(const char *path)
{
	size_t length = strlen(path);
	return length > 4 && !strcasecmp(path + length - 4, ".csv");
}

/* A field without the white space around it; rows that are too short have empty ones. */
static const char *trimmed(const char *const *fields, int n, int column, size_t *length)
{
	const char *text = column < n ? fields[column] : "";
	while (isspace((unsigned char)*text))
		text++;
	*length = strlen(text);
	while (*length && isspace((unsigned char)text[*length - 1]))
		--*length;
	return text;
}

static const char *row_field(const struct npl_csv_row *row, int column, size_t *length)
{
	return trimmed(row->field, row->n, column, length);
}

static bool is_number(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return length > 0;
}

/* A known column: SCALE-Sim's own name, and what it may be called, of which only the letters count, in lower case. */
struct column {
	const char *name, *words;
};

static const struct column conv_column[CONV_COLUMNS] = {
	{"Layer name", "layername layer name"},
	{"IFMAP Height", "ifmapheight ifmaph inputheight inputh height h"},
	{"IFMAP Width", "ifmapwidth ifmapw inputwidth inputw width w"},
	{"Filter Height", "filterheight filterh kernelheight kernelh"},
	{"Filter Width", "filterwidth filterw kernelwidth kernelw"},
	{"Channels", "channels channel inputchannels inchannels numchannels"},
	{"Num Filter", "numfilter numfilters numberoffilters filters outputchannels outchannels out"},
	{"Strides", "strides stride"},
};
static const struct column gemm_column[GEMM_COLUMNS] = {
	{"Layer", "layername layer name"}, {"M", "m"}, {"N", "n"}, {"K", "k"}};
static const char ratio_words[] = "sparsity sparsityratio", batch_words[] = "batch batches batchsize heads";

/* Is the text, reduced to its letters, one of these words? */
static bool is_one_of(const char *words, const char *text, size_t length)
{
	char letters[32];
	size_t n = 0;
	for (size_t i = 0; i < length; i++) {
		if (!isalpha((unsigned char)text[i]))
			continue;
		if (n == sizeof letters)
			return false;
		letters[n++] = (char)tolower((unsigned char)text[i]);
	}
	for (size_t span; n && *words; words += span + (words[span] == ' ')) {
		span = strcspn(words, " ");
		if (span == n && !memcmp(words, letters, n))
			return true;
	}
	return false;
}

static int known_columns(const struct topology *t)
{
	return t->gemm ? GEMM_COLUMNS : CONV_COLUMNS;
}

/* The name in the first row, cut for a message. */
static const char *header_field(const struct topology *t, int column, size_t *length)
{
	return trimmed(t->csv.column, t->csv.n_columns, column, length);
}

static int shown(size_t length)
{
	return (int)(length > 40 ? 40 : length);
}

/* What is directly behind the known columns has a meaning, or none that is known here. */
static int read_header_behind(struct topology *t)
{
	size_t length;
	const char *text = header_field(t, known_columns(t), &length);
	if (!length || *text == '#')
		return 0;
	if (is_one_of(ratio_words, text, length))
		t->behind = 's';
	else if (t->gemm && is_one_of(batch_words, text, length))
		t->behind = 'b';
	else
		return npl_fail(&t->err, NPL_EINPUT, "%s:%d: column %d is '%.*s', expected nothing%s behind '%s'",
				t->csv.path, t->csv.line, known_columns(t) + 1, shown(length), text,
				t->gemm ? ", 'Batch' or 'Sparsity'" : " or 'Sparsity'",
				t->gemm ? gemm_column[GEMM_COLUMNS - 1].name : conv_column[CONV_COLUMNS - 1].name);
	text = header_field(t, known_columns(t) + 1, &length);
	if (!length || *text == '#')
		return 0;
	return npl_fail(&t->err, NPL_EINPUT, "%s:%d: column %d is '%.*s', expected nothing there", t->csv.path,
			t->csv.line, known_columns(t) + 2, shown(length), text);
}

/* Is it convolutions or products, and are the columns where SCALE-Sim has them? The second one of products is a single M. */
static int read_header(struct topology *t)
{
	size_t length;
	const char *text = header_field(t, 1, &length);
	t->gemm = is_one_of("m n k", text, length);
	if (is_number(text, length) || t->csv.n_columns < known_columns(t))
		return npl_fail(
			&t->err, NPL_EINPUT,
			"%s:%d: column 2 of the first row is '%.*s' of %d: expected the names of SCALE-Sim's columns, "
			"'Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num "
			"Filter, Strides,' or 'Layer, M, N, K,'",
			t->csv.path, t->csv.line, shown(length), text, t->csv.n_columns);
	const struct column *known = t->gemm ? gemm_column : conv_column;
	for (int i = 0; i < known_columns(t); i++) {
		text = header_field(t, i, &length);
		if (!is_one_of(known[i].words, text, length))
			return npl_fail(&t->err, NPL_EINPUT, "%s:%d: column %d is '%.*s', expected '%s'", t->csv.path,
					t->csv.line, i + 1, shown(length), text, known[i].name);
	}
	return read_header_behind(t);
}

/* Row's number in a column, 1 to most. */
static int read_number(struct topology *t, const struct npl_csv_row *row, int column, int64_t most, int64_t *number)
{
	const struct column *known = t->gemm ? gemm_column : conv_column;
	size_t length;
	const char *text = row_field(row, column, &length);
	*number = is_number(text, length) && length <= 9 ? strtoll(text, NULL, 10) : 0;
	if (*number >= 1 && *number <= most)
		return 0;
	return npl_fail(&t->err, NPL_EINPUT, "column %d (%s) is '%.*s', expected a whole number from 1 to %lld",
			column + 1, column < known_columns(t) ? known[column].name : "batch", shown(length), text,
			(long long)most);
}

static int check_length(struct topology *t, const struct npl_csv_row *row)
{
	int needed = known_columns(t);
	if (row->n >= needed)
		return 0;
	return npl_fail(&t->err, NPL_EINPUT, "%d column%s, expected %d: %s", row->n, npl_plural(row->n), needed,
			t->gemm ? "name, M, N, K"
				: "name, height and width of the input, of the filter, channels, filters, stride");
}

static bool is_blank(const struct npl_csv_row *row)
{
	size_t length = 0;
	for (int i = 0; i < row->n && !length; i++)
		row_field(row, i, &length);
	return !length;
}

/* A sparsity ratio N:M says what this network has not. */
static bool is_ratio(const char *text, size_t length)
{
	const char *colon = memchr(text, ':', length);
	return colon && is_number(text, (size_t)(colon - text)) &&
	       is_number(colon + 1, length - (size_t)(colon - text) - 1);
}

/* Behind the known columns: a ratio, or of products their number (0: none is given), then nothing up to an empty field or a
 * comment (#). Notes beside the table, behind an empty column, are not read. */
static int read_behind(struct topology *t, const struct npl_csv_row *row, int64_t *heads)
{
	const int column = known_columns(t);
	size_t length;
	const char *text = row_field(row, column, &length);
	*heads = 0;
	if (!length || *text == '#')
		return 0;
	if (is_ratio(text, length) && t->behind != 'b') {
		size_t n = (size_t)((const char *)memchr(text, ':', length) - text);
		t->sparse = t->sparse || n != length - n - 1 || memcmp(text, text + n + 1, n) != 0;
	} else if (t->gemm && is_number(text, length) && t->behind != 's') {
		if (read_number(t, row, column, MAX_HEADS, heads))
			return t->err.code;
	} else {
		const bool ratio = t->behind != 'b', number = t->gemm && t->behind != 's';
		return npl_fail(&t->err, NPL_EINPUT, "column %d is '%.*s', expected nothing%s%s", column + 1,
				shown(length), text, ratio ? " or a ratio N:M" : "",
				number ? " or how many such products there are" : "");
	}
	text = row_field(row, column + 1, &length);
	if (!length || *text == '#')
		return 0;
	return npl_fail(&t->err, NPL_EINPUT, "column %d is '%.*s', expected nothing there", column + 2, shown(length),
			text);
}

static const char *layer_name(struct topology *t, const struct npl_csv_row *row)
{
	struct npl_arena *arena = &t->b.graph->arena;
	size_t length;
	const char *text = row_field(row, 0, &length);
	return length ? npl_arena_strndup(arena, text, length) : npl_arena_printf(arena, "line_%d", row->line);
}

/* Input, weights and node of a layer; its result is an output of the network. Weights are He et al.'s (ICCV 2015): of deviation
 * sqrt(2 / fan-in), seeded by the layer's number, made when somebody asks for them. */
static int add_layer(struct topology *t, const char *name, const char *op, struct npl_attr_list *attrs,
		     const struct npl_shape *input, const struct npl_shape *weights, int64_t fan_in)
{
	struct graph_builder *b = &t->b;
	struct npl_arena *arena = &b->graph->arena;
	char text[192];
	if (!name)
		return graph_no_memory(b);
	struct npl_value w = {.dtype = NPL_F32,
			      .shape = *weights,
			      .constant = true,
			      .is_random = true,
			      .producer = -1,
			      .law = {.deviation = (float)sqrt(2.0 / (double)fan_in),
				      .seed = (uint64_t)b->n_nodes + 1,
				      .seeded = true}};
	const char *in_name = npl_arena_printf(arena, "%s.input", name),
		   *w_name = npl_arena_printf(arena, "%s.weight", name);
	if (!in_name || !w_name)
		return graph_no_memory(b);
	if (npl_shape_count(weights) < 0)
		return npl_fail(&t->err, NPL_EINPUT, "weights of shape %s are more than there can be",
				npl_shape_text(weights, text, sizeof text));
	in_name = graph_free_name(b, in_name);
	int x = in_name ? graph_append_shaped(b, in_name, NPL_F32, input) : graph_no_memory(b);
	if (x < 0)
		return x;
	w.name = graph_free_name(b, w_name);
	int v = w.name ? graph_add_value(b, &w) : graph_no_memory(b), y;
	if (v < 0)
		return v;
	int rc = graph_append_node(b, name, op, attrs, 2, (const int[]){x, v}, 1, &y);
	return rc ? rc : graph_append_output(b, y);
}

/* Rows (or columns) of output, and what the last window needs beyond the input. */
static int64_t windows(int64_t input, int64_t filter, int64_t stride, int64_t *pad)
{
	int64_t n = (input - filter + stride - 1) / stride + 1;
	*pad = (n - 1) * stride + filter - input;
	if (*pad < 0)
		*pad = 0;
	return n;
}

static int add_conv(struct topology *t, const struct npl_csv_row *row)
{
	enum { HEIGHT = 1, WIDTH, FILTER_HEIGHT, FILTER_WIDTH, CHANNELS, FILTERS, STRIDE };
	int64_t of[CONV_COLUMNS], heads;
	for (int i = HEIGHT; i <= STRIDE; i++)
		if (read_number(t, row, i, MAX_DIMENSION, &of[i]))
			return t->err.code;
	for (int i = 0; i < 2; i++)
		if (of[FILTER_HEIGHT + i] > of[HEIGHT + i])
			return npl_fail(&t->err, NPL_EINPUT,
					"column %d (Filter %s) is %lld, expected at most the input's %lld",
					FILTER_HEIGHT + i + 1, i ? "Width" : "Height", (long long)of[FILTER_HEIGHT + i],
					(long long)of[HEIGHT + i]);
	if (read_behind(t, row, &heads))
		return t->err.code;
	const char *name = layer_name(t, row);
	/* Depthwise, by its name: each channel has filters of its own. */
	int64_t groups = name && strstr(name, "DP") ? of[CHANNELS] : 1, depth = of[CHANNELS] / groups;
	int64_t *list = npl_arena_array(&t->b.graph->arena, 6, sizeof *list);
	struct npl_attr *attr = npl_arena_array(&t->b.graph->arena, 3, sizeof *attr);
	if (!list || !attr)
		return graph_no_memory(&t->b);
	(void)windows(of[HEIGHT], of[FILTER_HEIGHT], of[STRIDE], &list[2]);
	(void)windows(of[WIDTH], of[FILTER_WIDTH], of[STRIDE], &list[3]);
	list[4] = list[5] = of[STRIDE];
	attr[0] = (struct npl_attr){.name = "pads", .type = NPL_ATTR_INTS, .ints = list, .n = 4};
	attr[1] = (struct npl_attr){.name = "strides", .type = NPL_ATTR_INTS, .ints = list + 4, .n = 2};
	attr[2] = (struct npl_attr){.name = "group", .type = NPL_ATTR_INT, .i = groups};
	return add_layer(t, name, "Conv", &(struct npl_attr_list){.attr = attr, .n = 3},
			 &npl_shape_of(4, t->batch, of[CHANNELS], of[HEIGHT], of[WIDTH]),
			 &npl_shape_of(4, groups * of[FILTERS], depth, of[FILTER_HEIGHT], of[FILTER_WIDTH]),
			 depth * of[FILTER_HEIGHT] * of[FILTER_WIDTH]);
}

static int add_gemm(struct topology *t, const struct npl_csv_row *row)
{
	enum { M = 1, N, K };
	int64_t of[GEMM_COLUMNS], heads;
	for (int i = M; i <= K; i++)
		if (read_number(t, row, i, MAX_DIMENSION, &of[i]))
			return t->err.code;
	if (read_behind(t, row, &heads))
		return t->err.code;
	const char *name = layer_name(t, row);
	int rc = 0;
	for (int64_t h = 0; h < (heads ? heads : 1) && !rc; h++) {
		const char *own = heads <= 1 || !name
					  ? name
					  : npl_arena_printf(&t->b.graph->arena, "%s.%lld", name, (long long)h);
		rc = add_layer(t, own, "MatMul", &(struct npl_attr_list){0}, &npl_shape_of(3, t->batch, of[M], of[K]),
			       &npl_shape_of(2, of[K], of[N]), of[K]);
	}
	return rc;
}

static int add_rows(struct topology *t)
{
	for (int i = 0; i < t->csv.n_rows; i++) {
		const struct npl_csv_row *row = &t->csv.row[i];
		if (is_blank(row))
			continue;
		int rc = check_length(t, row);
		if (!rc)
			rc = t->gemm ? add_gemm(t, row) : add_conv(t, row);
		if (rc)
			return npl_prefix(&t->err, "%s:%d", t->csv.path, row->line);
	}
	if (!t->b.n_nodes)
		return npl_fail(&t->err, NPL_EINPUT, "%s: there is no layer in it", t->csv.path);
	return 0;
}

static void add_warning(struct topology *t)
{
	static const char *const sparse[] = {
		"the topology gives sparsity ratios, which are ignored: its layers are dense"};
	t->b.graph->n_warnings = t->sparse;
	t->b.graph->warning = sparse;
}

static int hash_file(struct topology *t, const char *path)
{
	struct npl_file file;
	if (npl_file_map(path, MAX_BYTES, &file, &t->err))
		return t->err.code;
	npl_sha256_hex(file.data, file.bytes, t->b.graph->file_sha256);
	npl_file_unmap(&file);
	return 0;
}

int topology_load(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		  struct npl_err *err)
{
	struct topology t = {0};
	struct npl_graph *made = calloc(1, sizeof *made);
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	*graph = NULL;
	if (!made)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	made->opset = OPSET;
	graph_builder_init(&t.b, made, options, GRAPH_LIMITS, &t.err);
	made->batch = 1;
	t.batch = t.b.options.batch > 0 ? t.b.options.batch : t.b.options.usual_batch;
	if (t.batch <= 0)
		t.batch = 1;
	made->producer = "SCALE-Sim topology";
	made->name = npl_arena_strndup(&made->arena, file, strlen(file) - strlen(".csv"));
	int rc = 0;
	if (t.b.options.n_dims)
		rc = npl_fail(&t.err, NPL_EUSAGE, "%s: a topology has no open dimension '%s'", path,
			      t.b.options.dims->name);
	if (!rc)
		rc = made->name ? npl_csv_load_ragged(path, &t.arena, &t.csv, &t.err) : graph_no_memory(&t.b);
	if (!rc)
		rc = hash_file(&t, path);
	if (!rc)
		rc = read_header(&t);
	if (!rc)
		rc = add_rows(&t);
	if (!rc)
		rc = graph_close_appended(&t.b);
	add_warning(&t);
	graph_builder_free(&t.b);
	npl_arena_free(&t.arena);
	if (rc) {
		npl_graph_free(made);
		return npl_fail(err, rc, "%s", t.err.msg);
	}
	*graph = made;
	return 0;
}
