/* SPDX-License-Identifier: MIT
 *
 * Placement rules (placement.h). */
#include "npulab/placement.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/files/file.h"
#include "core/files/words.h"
#include "layer_pattern.h"
#include "npulab/progress.h"
#include "npulab/session.h"

#define MAX_FILE_BYTES (1 << 20)

struct rule {
	const char *pattern; /* wildcards for the operator's type, or the expression */
	bool matches_name;
	const char *device;
	const char *text; /* "PATTERN=DEVICE" */
};

/* The state of reading rules into a placement. */
struct reader {
	const struct npl_graph *graph;
	struct npl_arena *arena;
	struct npl_placement *placement;
	const char *location; /* the beginning of every message: "--place", "FILE:LINE" */
	int error_code;       /* the code of every message */
};

#define BAD(r, format, ...) npl_fail(err, (r)->error_code, "%s: " format, (r)->location, __VA_ARGS__)

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* Returns the slash that closes the expression which `text` opens: the first one that is followed by '=' and not
 * preceded by a backslash, because names have slashes too. NULL: there is none. */
static const char *closing_slash(const char *text)
{
	for (const char *c = text + 1; *c; c += *c == '\\' && c[1] ? 2 : 1)
		if (*c == '/' && *skip_blanks(c + 1) == '=')
			return c;
	return NULL;
}

/* Copies the part from..end without blanks at its ends; in an expression "\/" becomes "/". NULL: memory is short. */
static const char *copy_trimmed(const struct reader *r, const char *from, const char *end, bool expression)
{
	from = skip_blanks(from);
	while (end > from && strchr(" \t", end[-1]))
		end--;
	char *trimmed = npl_arena_strndup(r->arena, from, (size_t)(end > from ? end - from : 0)), *to = trimmed;
	for (const char *c = trimmed; c && expression && *c; *to++ = *c++)
		if (*c == '\\' && c[1] == '/')
			c++;
		else if (*c == '\\' && c[1])
			*to++ = *c++;
	if (trimmed && expression)
		*to = '\0';
	return trimmed;
}

/* Cuts one rule off the text, up to a comma that is not in its expression, and moves *cursor to the next rule. */
static int cut_rule(const struct reader *r, const char **cursor, struct rule *rule, struct npl_err *err)
{
	const char *start = skip_blanks(*cursor), *end = start + strcspn(start, "=,");
	rule->matches_name = *start == '/';
	if (rule->matches_name && !(end = closing_slash(start)))
		return BAD(r, "'%s': expected /EXPRESSION/=DEVICE", start);
	rule->pattern = copy_trimmed(r, start + rule->matches_name, end, rule->matches_name);
	end = skip_blanks(end + rule->matches_name);
	size_t length = *end == '=' ? strcspn(end + 1, ",") : 0;
	rule->device = copy_trimmed(r, end + (*end == '='), end + (*end == '=') + length, false);
	if (!rule->pattern || !rule->device)
		return npl_no_memory(err);
	if (!*rule->device || !*rule->pattern)
		return BAD(r, "'%s': expected PATTERN=DEVICE", start);
	const char *slash = rule->matches_name ? "/" : "";
	rule->text = npl_arena_printf(r->arena, "%s%s%s=%s", slash, rule->pattern, slash, rule->device);
	if (!rule->text)
		return npl_no_memory(err);
	*cursor = end + 1 + length;
	*cursor = skip_blanks(*cursor + (**cursor == ','));
	return 0;
}

static int device_index(const struct reader *r, const char *device)
{
	struct npl_placement *placement = r->placement;
	if (!strcmp(device, NPL_HOST_NAME))
		return NPL_ON_HOST;
	for (int i = 0; i < placement->n_names; i++)
		if (!strcmp(placement->names[i], device))
			return i;
	placement->names[placement->n_names] = device;
	placement->named_at[placement->n_names] = r->error_code == NPL_EINPUT ? r->location : NULL;
	return placement->n_names++;
}

/* Returns how many nodes the rule with this text placed. */
static int count_of(const struct reader *r, const char *text)
{
	int n = 0;
	for (int i = 0; i < r->graph->n_nodes; i++)
		n += r->placement->rule[i] == text;
	return n;
}

static int warn_unused(const struct reader *r, const struct rule *rule, const char *earlier_rule, struct npl_err *err)
{
	struct npl_placement *placement = r->placement;
	const char *line = npl_arena_printf(
		r->arena, "%s: '%s' places nothing: '%s' before it has all that it matches, and the first match wins",
		r->location, rule->text, earlier_rule);
	if (!line)
		return npl_no_memory(err);
	placement->warning[placement->n_warnings++] = line;
	return 0;
}

/* Says whether the rule with this text has the same pattern and differs at most in the device. */
static bool same_pattern(const char *text, const struct rule *rule)
{
	size_t length = strlen(rule->text) - strlen(rule->device);
	return !strncmp(text, rule->text, length);
}

/* Gives the rule's device to every node that it matches and that no earlier rule has placed. */
static int apply(const struct reader *r, const struct rule *rule, struct npl_err *err)
{
	struct npl_placement *placement = r->placement;
	int device = device_index(r, rule->device), n_matched = 0, n_placed = 0;
	/* The one earlier rule that placed all nodes that this rule matches, if on another device; else NULL. */
	const char *earlier_rule = NULL;
	struct layer_pattern pattern = {.location = r->location,
					.error_code = r->error_code,
					.text = rule->pattern,
					.matches_name = rule->matches_name};
	if (layer_pattern_open(&pattern, err))
		return err->code;
	for (int i = 0; i < r->graph->n_nodes; i++) {
		const struct npl_node *node = &r->graph->node[i];
		npl_progress_step("placing node", i + 1, r->graph->n_nodes, node->name);
		if (!layer_pattern_matches(&pattern, node))
			continue;
		const char *node_rule = placement->rule[i];
		if (n_matched++ == 0)
			earlier_rule = placement->device[i] == device ? NULL : node_rule;
		earlier_rule = earlier_rule == node_rule ? earlier_rule : NULL;
		if (node_rule)
			continue;
		n_placed++;
		placement->rule[i] = rule->text;
		placement->device[i] = device;
	}
	layer_pattern_close(&pattern);
	if (!n_matched)
		return layer_pattern_no_match(&pattern, r->graph, err);
	if (n_placed || !earlier_rule || (count_of(r, earlier_rule) <= n_matched && !same_pattern(earlier_rule, rule)))
		return 0;
	return warn_unused(r, rule, earlier_rule, err);
}

/* Makes room for at most this many rules, and places every node on the host. */
static int open_placement(const struct reader *r, size_t max_rules, struct npl_err *err)
{
	struct npl_placement *placement = r->placement;
	size_t n = (size_t)r->graph->n_nodes;
	placement->device = npl_arena_array(r->arena, n + 1, sizeof *placement->device);
	placement->rule = npl_arena_array(r->arena, n + 1, sizeof *placement->rule);
	placement->names = npl_arena_array(r->arena, max_rules, sizeof *placement->names);
	placement->named_at = npl_arena_array(r->arena, max_rules, sizeof *placement->named_at);
	placement->warning = npl_arena_array(r->arena, max_rules, sizeof *placement->warning);
	placement->n_names = placement->n_warnings = 0;
	if (!placement->device || !placement->rule || !placement->names || !placement->named_at || !placement->warning)
		return npl_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		placement->device[i] = NPL_ON_HOST;
		placement->rule[i] = NULL;
	}
	return 0;
}

int npl_placement_parse(const struct npl_graph *graph, const char *rules, struct npl_arena *arena,
			struct npl_placement *placement, struct npl_err *err)
{
	const struct reader r = {graph, arena, placement, "--place", NPL_EUSAGE};
	size_t max_rules = 1;
	for (const char *c = rules; *c; c++)
		max_rules += *c == ',';
	if (open_placement(&r, max_rules, err))
		return err->code;
	if (!*rules)
		return BAD(&r, "%s", "no rules, expected PATTERN=DEVICE,...");
	for (const char *cursor = rules; *cursor;) {
		struct rule rule = {0};
		if (cut_rule(&r, &cursor, &rule, err) || apply(&r, &rule, err))
			return err->code;
	}
	return 0;
}

static char *trim(char *text)
{
	text += strspn(text, " \t\r");
	size_t length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Ends the line where a comment begins. A '#' inside an expression begins none, because names may hold it. */
static void cut_comment(char *line)
{
	const char *closing = *line == '/' ? closing_slash(line) : NULL;
	for (char *c = line + (closing ? closing - line : 0); *c; c++)
		if (*c == '#' && (c == line || c[-1] == ' ' || c[-1] == '\t'))
			*c = '\0';
}

/* Reads one line of a file, which has one rule or none; counts it in *rules. */
static int read_line(const struct reader *r, char *line, int *rules, struct npl_err *err)
{
	for (const char *c = line; *c; c++)
		if (iscntrl((unsigned char)*c) && *c != '\t' && *c != '\r')
			return BAD(r, "%s", "a control character, expected text");
	line = trim(line);
	cut_comment(line);
	line = trim(line);
	if (!*line)
		return 0;
	const char *text = line;
	struct rule rule = {0};
	if (cut_rule(r, &text, &rule, err))
		return err->code;
	if (*text)
		return BAD(r, "'%s' after the rule, expected one rule a line", text);
	++*rules;
	return apply(r, &rule, err);
}

/* Reads the lines of a text, which it changes. */
static int read_lines(struct reader *r, char *text, struct npl_err *err)
{
	const char *name = r->location;
	size_t max_rules = 2;
	int rules = 0, number = 0;
	for (const char *c = text; *c; c++)
		max_rules += *c == '\n';
	if (open_placement(r, max_rules, err))
		return err->code;
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		r->location = npl_arena_printf(r->arena, "%s:%d", name, ++number);
		if (!r->location)
			return npl_no_memory(err);
		if (read_line(r, line, &rules, err))
			return err->code;
	}
	r->location = name;
	return rules ? 0 : BAD(r, "%s", "no rules, expected PATTERN=DEVICE on a line");
}

int npl_placement_read(const struct npl_graph *graph, const char *text, const char *name, struct npl_arena *arena,
		       struct npl_placement *placement, struct npl_err *err)
{
	struct reader r = {graph, arena, placement, name, NPL_EINPUT};
	char *lines = npl_arena_strdup(arena, text);
	return lines ? read_lines(&r, lines, err) : npl_no_memory(err);
}

int npl_placement_load(const struct npl_graph *graph, const char *path, struct npl_arena *arena,
		       struct npl_placement *placement, struct npl_err *err)
{
	struct reader r = {graph, arena, placement, path, NPL_EINPUT};
	struct npl_file file;
	if (npl_file_map(path, MAX_FILE_BYTES, &file, err))
		return err->code;
	const size_t mark = npl_byte_order_mark(file.data, file.bytes);
	char *text = npl_arena_strndup(arena, (const char *)file.data + mark, file.bytes - mark);
	bool holds_nul = file.bytes && memchr(file.data, 0, file.bytes);
	npl_file_unmap(&file);
	if (!text)
		return npl_no_memory(err);
	if (holds_nul)
		return BAD(&r, "%s", "a zero byte, expected text");
	return read_lines(&r, text, err);
}
