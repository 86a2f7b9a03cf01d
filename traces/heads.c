/* SPDX-License-Identifier: MIT
 *
 * Compares the heads of two traces (heads.h). */
#include "heads.h"

#include <limits.h>
#include <stdlib.h>

#include "core/base/refuse.h"
#include "header.h"

/* ---- Machines that belong together. */

static const char *name_of(const struct npl_trace_header *header, int machine)
{
	return header->machine[machine].name;
}

static int find_machine(const struct npl_trace_header *header, const char *name)
{
	int i = 0;
	while (i < header->n_machines && strcmp(name_of(header, i), name) != 0)
		i++;
	return i < header->n_machines ? i : -1;
}

/* Returns the next machine from i on that the other head lacks and that is not the host; n_machines: there is none. */
static int next_alone(const struct npl_trace_header *header, const struct npl_trace_header *other, int i)
{
	while (i < header->n_machines &&
	       (find_machine(other, name_of(header, i)) >= 0 || !strcmp(name_of(header, i), NPL_HOST_NAME)))
		i++;
	return i;
}

static int count_alone(const struct npl_trace_header *header, const struct npl_trace_header *other)
{
	int n = 0;
	for (int i = next_alone(header, other, 0); i < header->n_machines; i = next_alone(header, other, i + 1))
		n++;
	return n;
}

/* Returns a name as a line has it; NULL: out of memory. */
static const char *word_of(struct npl_arena *arena, const char *name)
{
	struct trace_line *line = calloc(1, sizeof *line);
	if (!line)
		return NULL;
	trace_line_put_word(line, name);
	const char *word = npl_arena_strndup(arena, line->text, line->n);
	free(line);
	return word;
}

int trace_pair_machines(const struct npl_trace_header *a, const struct npl_trace_header *b, struct npl_arena *arena,
			struct trace_names *names, struct npl_err *err)
{
	const int n = count_alone(b, a);
	*names = (struct trace_names){0};
	if (!n || n != count_alone(a, b))
		return 0;
	names->name = npl_arena_array(arena, (size_t)n, sizeof *names->name);
	if (!names->name)
		return npl_no_memory(err);
	for (int i = next_alone(a, b, 0), j = next_alone(b, a, 0); names->n < n;
	     i = next_alone(a, b, i + 1), j = next_alone(b, a, j + 1)) {
		struct trace_name *name = &names->name[names->n++];
		*name = (struct trace_name){npl_arena_strdup(arena, name_of(b, j)),
					    npl_arena_strdup(arena, name_of(a, i)), word_of(arena, name_of(a, i))};
		if (!name->name || !name->other || !name->word)
			return npl_no_memory(err);
	}
	return 0;
}

/* ---- Differences. */

enum { HASH_SHOWN = 12 };

/* Returns what is said of a value: an option without one is given. */
static const char *value_text(const char *value)
{
	return !value ? "none" : *value ? value : "given";
}

/* of NULL: the name stands alone. Of hashes the first digits are enough. */
static int add_head(struct npl_trace_diff *d, const char *of, const char *name, const char *a, const char *b,
		    struct npl_err *err)
{
	const char **head = trace_grown(&d->arena, (void *)d->head, d->n_heads, &d->head_capacity, sizeof *d->head);
	if (!head)
		return npl_no_memory(err);
	d->head = head;
	const int most = of && !strcmp(of, "file") ? HASH_SHOWN : INT_MAX;
	head[d->n_heads] = npl_arena_printf(&d->arena, "%s%s%s %.*s -> %.*s", of ? of : "", of ? ": " : "", name, most,
					    value_text(a), most, value_text(b));
	return head[d->n_heads] && ++d->n_heads ? 0 : npl_no_memory(err);
}

/* Returns how many bytes of a pair's value belong to its name: those of the key, where several values are settings of
 * one name, as in `set tpu_v1.weight_fifo.tiles=1`. */
static size_t key_bytes(const struct npl_trace_pair *pair)
{
	const bool has_key = !strcmp(pair->name, "set") || !strcmp(pair->name, "dim");
	return has_key ? strcspn(pair->value, "=") + 1 : 0;
}

static bool same_name(const struct npl_trace_pair *a, const struct npl_trace_pair *b)
{
	const size_t key = key_bytes(a);
	return !strcmp(a->name, b->name) && key == key_bytes(b) && !strncmp(a->value, b->value, key);
}

int npl_trace_partner(const struct npl_trace_pair *pairs, int i, const struct npl_trace_pairs *other)
{
	int before = 0;
	for (int k = 0; k < i; k++)
		before += same_name(&pairs[k], &pairs[i]);
	for (int k = 0; k < other->n; k++)
		if (same_name(&other->pair[k], &pairs[i]) && !before--)
			return k;
	return -1;
}

/* Compares lists whose order decides nothing but for pairs of the same name. */
static int compare_pairs(struct npl_trace_diff *d, const char *of, const struct npl_trace_pairs *a,
			 const struct npl_trace_pairs *b, struct npl_err *err)
{
	int rc = 0;
	for (int i = 0; i < a->n && !rc; i++) {
		const struct npl_trace_pair *pair = &a->pair[i];
		const int k = npl_trace_partner(a->pair, i, b);
		if (k < 0 || strcmp(pair->value, b->pair[k].value) != 0)
			rc = add_head(d, of, pair->name, pair->value, k < 0 ? NULL : b->pair[k].value, err);
	}
	for (int i = 0; i < b->n && !rc; i++) {
		const struct npl_trace_pair *pair = &b->pair[i];
		if (npl_trace_partner(b->pair, i, a) < 0)
			rc = add_head(d, of, pair->name, NULL, pair->value, err);
	}
	return rc;
}

/* Compares two machines that belong together. Parameters of other kinds of machines have nothing in common. */
static int compare_machines(struct npl_trace_diff *d, const struct npl_trace_machine *a,
			    const struct npl_trace_machine *b, struct npl_err *err)
{
	if (strcmp(a->name, b->name) != 0 && add_head(d, NULL, "machine", a->name, b->name, err))
		return err->code;
	if (strcmp(a->driver, b->driver) != 0)
		return add_head(d, a->name, "driver", a->driver, b->driver, err);
	if (strcmp(a->format, b->format) != 0 && add_head(d, a->name, "number format", a->format, b->format, err))
		return err->code;
	return compare_pairs(d, a->name, &a->parameter, &b->parameter, err);
}

/* Compares all machines, those of a first. */
static int compare_all_machines(struct npl_trace_diff *d, const struct npl_trace_header *a,
				const struct npl_trace_header *b, const struct trace_names *names, struct npl_err *err)
{
	bool found;
	int rc = 0;
	for (int i = 0; i < a->n_machines && !rc; i++) {
		found = false;
		for (int j = 0; j < b->n_machines && !rc; j++) {
			const struct trace_name *name = trace_find_name(names, name_of(b, j));
			if (strcmp(name_of(a, i), name ? name->other : name_of(b, j)) != 0)
				continue;
			found = true;
			rc = compare_machines(d, &a->machine[i], &b->machine[j], err);
		}
		if (!found && !rc)
			rc = add_head(d, NULL, "machine", name_of(a, i), NULL, err);
	}
	for (int j = 0; j < b->n_machines && !rc; j++)
		if (!trace_find_name(names, name_of(b, j)) && find_machine(a, name_of(b, j)) < 0)
			rc = add_head(d, NULL, "machine", NULL, name_of(b, j), err);
	return rc;
}

int trace_compare_heads(const struct npl_trace_header *a, const struct npl_trace_header *b,
			const struct trace_names *names, struct npl_trace_diff *diff, struct npl_err *err)
{
	int rc = 0;
	if (strcmp(a->argument, b->argument) != 0)
		rc = add_head(diff, "run", a->command, a->argument, b->argument, err);
	if (!rc && a->detail != b->detail)
		rc = add_head(diff, NULL, "detail", npl_trace_detail_name(a->detail), npl_trace_detail_name(b->detail),
			      err);
	if (!rc)
		rc = compare_pairs(diff, "option", &a->option, &b->option, err);
	if (!rc)
		rc = compare_pairs(diff, "file", &a->file, &b->file, err);
	if (!rc)
		rc = compare_pairs(diff, "environment", &a->environment, &b->environment, err);
	return rc ? rc : compare_all_machines(diff, a, b, names, err);
}
