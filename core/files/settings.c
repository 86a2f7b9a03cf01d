/* SPDX-License-Identifier: MIT
 *
 * Settings files over libyaml's event parser. The parser does not use schemas: it only flattens. */
#include "settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/base/nearest.h"
#include "file.h"
#include "settings_cache.h"
#include "words.h"

#define MAX_BYTES    ((size_t)1 << 20)
#define MAX_DEPTH    8
#define MAX_SETTINGS 4096
#define YAML_TAGS    "tag:yaml.org,2002:"

/* in the order of enum npl_source */
static const char *const source_names[] = {"default", "published", "modelled", "fitted", "assumed", "own"};
_Static_assert(sizeof source_names / sizeof *source_names == NPL_SOURCES, "each source has a name");

/* The sources that have a tag are all between "default" and "own". */
#define FIRST_TAG (NPL_SOURCE_DEFAULT + 1)
#define TAGS_END  NPL_SOURCE_OWN

const char *npl_source_name(enum npl_source source)
{
	return source_names[source];
}

struct list {
	struct npl_setting *setting;
	int n, capacity;
};

struct reader {
	const char *path;
	struct npl_arena *arena;
	struct list scalars, mappings;     /* the settings; the mappings that have been opened, without values */
	int depth;                         /* open mappings */
	const char *prefix[MAX_DEPTH];     /* dotted path of each open mapping, "" for the outermost */
	enum npl_source source[MAX_DEPTH]; /* tag of each open mapping, or of the one around it */
	int n_before[MAX_DEPTH];           /* scalars and mappings when each open mapping began */
	const char *key; /* the pending key of the innermost mapping, with its prefix; NULL: expects a key */
	int key_line;    /* its line */
	bool takes_lists;
	int lists;  /* open lists, of which one may be within another */
	char *list; /* the text of the outer list, of list_bytes in a block of list_capacity; NULL: no scalar yet */
	size_t list_bytes, list_capacity;
	bool follows; /* the next scalar follows another one of the inner list */
	enum npl_source list_source;
};

/* Says whether there is a tag other than those of YAML's own that a key or value may have, such as !!str. "!" alone is
 * one of them. */
static bool is_own_tag(const char *tag)
{
	static const char *const yaml_tags[] = {"str", "int", "float", "bool", "null", "map", "seq"};
	if (!tag || !strcmp(tag, "!"))
		return false;
	for (size_t i = 0; i < sizeof yaml_tags / sizeof *yaml_tags; i++)
		if (!strncmp(tag, YAML_TAGS, strlen(YAML_TAGS)) && !strcmp(tag + strlen(YAML_TAGS), yaml_tags[i]))
			return false;
	return true;
}

/* Reads a tag. A tag of YAML's own gives no source. */
static int read_tag(const struct reader *r, const char *tag, int line, enum npl_source *source, struct npl_err *err)
{
	*source = r->depth ? r->source[r->depth - 1] : NPL_SOURCE_OWN;
	if (!is_own_tag(tag))
		return 0;
	for (enum npl_source tagged = FIRST_TAG; tagged < TAGS_END; tagged++)
		if (*tag == '!' && !strcmp(source_names[tagged], tag + 1)) {
			*source = tagged;
			return 0;
		}
	return npl_fail(err, NPL_EINPUT, "%s:%d: there is no tag '%s'%s", r->path, line, tag,
			NPL_NEAREST(tag + (*tag == '!'), source_names + FIRST_TAG, TAGS_END - FIRST_TAG));
}

/* Adds the pending key to a list, which must not have it yet. */
static int add(struct reader *r, struct list *list, const char *value, int line, enum npl_source source,
	       struct npl_err *err)
{
	for (int i = 0; i < list->n; i++)
		if (!strcmp(list->setting[i].key, r->key))
			return npl_fail(err, NPL_EINPUT, "%s:%d: '%s' is set twice (first in line %d)", r->path, line,
					r->key, list->setting[i].line);
	if (list->n == list->capacity) {
		int capacity = list->capacity ? 2 * list->capacity : 32;
		if (capacity > MAX_SETTINGS)
			return npl_fail(err, NPL_EINPUT, "%s:%d: more than %d settings", r->path, line, MAX_SETTINGS);
		struct npl_setting *grown = npl_arena_array(r->arena, (size_t)capacity, sizeof *grown);
		if (!grown)
			return npl_fail(err, NPL_ENOMEM, "%s: out of memory", r->path);
		if (list->n)
			memcpy(grown, list->setting, (size_t)list->n * sizeof *grown);
		list->setting = grown;
		list->capacity = capacity;
	}
	list->setting[list->n++] = (struct npl_setting){.key = r->key, .value = value, .line = line, .source = source};
	r->key = NULL;
	return 0;
}

/* Adds a scalar to the open list. */
static int add_to_list(struct reader *r, const char *text, struct npl_err *err)
{
	const size_t bytes = strlen(text) + 2; /* with the mark before it and the NUL behind it */
	const bool is_first = !r->list;
	if (!r->list || r->list_capacity - r->list_bytes < bytes) {
		const size_t capacity = 2 * (r->list ? r->list_bytes : 0) + bytes + 62;
		char *grown = npl_arena_alloc(r->arena, capacity);
		if (!grown)
			return npl_fail(err, NPL_ENOMEM, "%s: out of memory", r->path);
		if (r->list)
			memcpy(grown, r->list, r->list_bytes);
		r->list_bytes = r->list ? r->list_bytes : 0;
		r->list = grown;
		r->list_capacity = capacity;
	}
	if (!is_first)
		r->list[r->list_bytes++] = r->lists == 2 && r->follows ? ':' : '\n';
	r->list_bytes += (size_t)sprintf(r->list + r->list_bytes, "%s", text);
	r->follows = true;
	return 0;
}

static int on_list(struct reader *r, const yaml_event_t *event, int line, struct npl_err *err)
{
	if (!r->takes_lists || !r->key)
		return npl_fail(err, NPL_EINPUT, "%s:%d: lists are not used here, expected `key: value`", r->path,
				line);
	if (r->lists == 2)
		return npl_fail(err, NPL_EINPUT, "%s:%d: a list within a list within a list", r->path, line);
	r->follows = false;
	if (r->lists++)
		return 0;
	r->list = NULL;
	return read_tag(r, (const char *)event->data.sequence_start.tag, line, &r->list_source, err);
}

static int on_list_end(struct reader *r, int line, struct npl_err *err)
{
	if (!r->list)
		return npl_fail(err, NPL_EINPUT, "%s:%d: an empty list, expected values", r->path, line);
	return --r->lists ? 0 : add(r, &r->scalars, r->list, r->key_line, r->list_source, err);
}

static int on_scalar(struct reader *r, const yaml_event_t *event, struct npl_err *err)
{
	const char *text = (const char *)event->data.scalar.value;
	int line = (int)event->start_mark.line + 1;
	if (strlen(text) != event->data.scalar.length)
		return npl_fail(err, NPL_EINPUT, "%s:%d: a NUL character inside a value", r->path, line);
	if (r->lists == 2 && strpbrk(text, ",:\n"))
		return npl_fail(err, NPL_EINPUT, "%s:%d: '%s': a value of a list within a list has no ',' and no ':'",
				r->path, line, text);
	if (r->lists)
		return add_to_list(r, text, err);
	if (r->depth == 0)
		return npl_fail(err, NPL_EINPUT, "%s:%d: expected `key: value` lines, found a lone value", r->path,
				line);
	const char *prefix = r->prefix[r->depth - 1] ? r->prefix[r->depth - 1] : "";
	char *copy = r->key ? npl_arena_strdup(r->arena, text)
			    : npl_arena_printf(r->arena, "%s%s%s", prefix, prefix[0] ? "." : "", text);
	if (!copy)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", r->path);
	if (!r->key && is_own_tag((const char *)event->data.scalar.tag))
		return npl_fail(err, NPL_EINPUT, "%s:%d: a tag before the key '%s', expected it before the value",
				r->path, line, text);
	if (!r->key) {
		r->key = copy;
		r->key_line = line;
		return 0;
	}
	enum npl_source source;
	int rc = read_tag(r, (const char *)event->data.scalar.tag, line, &source, err);
	return rc ? rc : add(r, &r->scalars, copy, line, source, err);
}

static int on_mapping(struct reader *r, const yaml_event_t *event, int line, struct npl_err *err)
{
	enum npl_source source;
	if (r->depth == MAX_DEPTH)
		return npl_fail(err, NPL_EINPUT, "%s:%d: nested deeper than %d levels", r->path, line, MAX_DEPTH);
	if (r->lists)
		return npl_fail(err, NPL_EINPUT, "%s:%d: a mapping in a list, expected values", r->path, line);
	if (r->depth && !r->key)
		return npl_fail(err, NPL_EINPUT, "%s:%d: a mapping cannot be a key", r->path, line);
	if (read_tag(r, (const char *)event->data.mapping_start.tag, line, &source, err))
		return err->code;
	r->source[r->depth] = source;
	r->prefix[r->depth] = r->key ? r->key : "";
	if (r->key && add(r, &r->mappings, NULL, r->key_line, source, err))
		return err->code;
	r->n_before[r->depth++] = r->scalars.n + r->mappings.n;
	return 0;
}

/* Ends a mapping. One without keys would be lost without a word, as a value or as a key that no machine has. */
static int on_mapping_end(struct reader *r, int line, struct npl_err *err)
{
	r->depth--;
	if (r->depth && r->n_before[r->depth] == r->scalars.n + r->mappings.n)
		return npl_fail(err, NPL_EINPUT, "%s:%d: '%s' is an empty mapping, expected a value or keys", r->path,
				line, r->prefix[r->depth]);
	return 0;
}

static int on_event(struct reader *r, const yaml_event_t *event, struct npl_err *err)
{
	int line = (int)event->start_mark.line + 1;
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(r, event, err);
	case YAML_MAPPING_START_EVENT:
		return on_mapping(r, event, line, err);
	case YAML_MAPPING_END_EVENT:
		return on_mapping_end(r, line, err);
	case YAML_SEQUENCE_START_EVENT:
		return on_list(r, event, line, err);
	case YAML_SEQUENCE_END_EVENT:
		return on_list_end(r, line, err);
	case YAML_ALIAS_EVENT:
		return npl_fail(err, NPL_EINPUT, "%s:%d: aliases (*name) are not used here", r->path, line);
	default:
		return 0;
	}
}

/* What libyaml says of a text that it cannot read, and what that means in a settings file. */
static const struct {
	const char *problem, *meaning;
	bool where_it_began; /* the place is where the mapping, key or text began, not where it was noticed */
} problems[] = {
	{"did not find expected ',' or '}'",
	 "expected ',' between the entries of a mapping in braces and '}' at its end", true},
	{"did not find expected key", "expected a key in the same column as those beside it", false},
	{"could not find expected ':'", "expected `key: value`", true},
	{"found unexpected end of stream", "expected another quote at the end of this text", true},
	{"mapping values are not allowed in this context",
	 "expected one `key: value` in a line, with quotes around a value that contains ': '", false},
	{"found character that cannot start any token",
	 "expected blanks before a key, not tabs, and quotes around a value that begins with a special character",
	 false},
};

/* Says whether a byte continues a character of UTF-8. */
static bool continues_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Returns the place in the text of a byte. */
static yaml_mark_t mark_of_byte(const struct npl_file *file, size_t offset)
{
	const char *data = file->data;
	yaml_mark_t mark = {0};
	for (size_t i = npl_byte_order_mark(data, file->bytes); i < offset; i++) {
		mark.column = data[i] == '\n' ? 0 : mark.column + !continues_character(data[i]);
		mark.line += data[i] == '\n';
	}
	return mark;
}

/* Writes the rest of the line from a place on, without the blanks before it. */
static const char *text_at(const struct npl_file *file, yaml_mark_t mark, char *text, size_t n)
{
	const char *cursor = file->data, *end = cursor + file->bytes;
	cursor += npl_byte_order_mark(cursor, file->bytes);
	for (size_t line = 0; line < mark.line && cursor < end; cursor++)
		line += *cursor == '\n';
	for (size_t column = 0; column < mark.column && cursor < end && *cursor != '\n'; column++)
		do
			cursor++;
		while (cursor < end && continues_character(*cursor));
	while (cursor < end && (*cursor == ' ' || *cursor == '\t'))
		cursor++;
	size_t bytes = 0;
	while (cursor + bytes < end && bytes < 40 && cursor[bytes] && cursor[bytes] != '\n')
		bytes++;
	snprintf(text, n, cursor < end ? "'%.*s'" : "the end of the file", (int)bytes, cursor);
	return text;
}

/* Refuses a text that is no YAML. */
static int refuse_text(const struct reader *r, const yaml_parser_t *parser, const struct npl_file *file,
		       struct npl_err *err)
{
	const char *problem = parser->problem ? parser->problem : "", *means;
	yaml_mark_t mark = parser->problem_mark;
	char text[80], other[120];
	snprintf(other, sizeof other, "expected YAML (%s)", problem);
	means = other;
	if (parser->error == YAML_READER_ERROR) {
		means = "expected text in UTF-8";
		mark = mark_of_byte(file, parser->problem_offset);
	}
	for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
		if (!strcmp(problems[i].problem, problem)) {
			means = problems[i].meaning;
			mark = problems[i].where_it_began ? parser->context_mark : mark;
		}
	return npl_fail(err, NPL_EINPUT, "%s:%d: column %d: %s, found %s", r->path, (int)mark.line + 1,
			(int)mark.column + 1, means, text_at(file, mark, text, sizeof text));
}

static int read_events(struct reader *r, const struct npl_file *file, struct npl_err *err)
{
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", r->path);
	yaml_parser_set_input_string(&parser, file->data, file->bytes);
	int rc = 0, documents = 0;
	for (bool done = false; !done && !rc;) {
		yaml_event_t event;
		if (!yaml_parser_parse(&parser, &event)) {
			rc = refuse_text(r, &parser, file, err);
			break;
		}
		done = event.type == YAML_STREAM_END_EVENT;
		if (event.type == YAML_DOCUMENT_START_EVENT && documents++)
			rc = npl_fail(err, NPL_EINPUT, "%s:%d: a second document starts here, expected one", r->path,
				      (int)event.start_mark.line + 1);
		else
			rc = on_event(r, &event, err);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return rc;
}

static int load(const char *path, bool takes_lists, struct npl_arena *arena, struct npl_setting **settings, int *n,
		struct npl_err *err)
{
	struct npl_file file;
	struct reader r = {.path = path, .arena = arena, .takes_lists = takes_lists};
	int rc = npl_file_map(path, MAX_BYTES, &file, err);
	if (!rc && !npl_settings_recall(path, &file, arena, &r.scalars.setting, &r.scalars.n)) {
		rc = read_events(&r, &file, err);
		if (!rc)
			npl_settings_remember(path, &file, r.scalars.setting, r.scalars.n);
	}
	npl_file_unmap(&file);
	*settings = r.scalars.setting;
	*n = r.scalars.n;
	return rc;
}

int npl_settings_load(const char *path, struct npl_arena *arena, struct npl_setting **settings, int *n,
		      struct npl_err *err)
{
	return load(path, false, arena, settings, n, err);
}

int npl_settings_load_lists(const char *path, struct npl_arena *arena, struct npl_setting **settings, int *n,
			    struct npl_err *err)
{
	return load(path, true, arena, settings, n, err);
}

const char *npl_double_text(double value, char *buf, size_t n)
{
	/* Most computed values need 16 or 17 digits: one look at 15 saves nine tries. */
	snprintf(buf, n, "%.15g", value);
	for (int digits = strtod(buf, NULL) == value ? 6 : 16; digits <= 17; digits++) {
		snprintf(buf, n, "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			break;
	}
	return buf;
}

const char *npl_float_text(float value, char *buf, size_t n)
{
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(buf, n, "%.*g", digits, (double)value);
		if (strtof(buf, NULL) == value)
			break;
	}
	return buf;
}
