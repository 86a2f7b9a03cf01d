/* SPDX-License-Identifier: MIT
 *
 * Names cut in the middle (cut_names.h). */
#include "cut_names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"

/* Returns the bytes of the text's first characters that fit in so many columns. */
static size_t head_bytes(const char *text, int columns)
{
	size_t offset = 0;
	for (int width = 0; text[offset]; offset += npl_utf8_length(text + offset)) {
		width += npl_character_width(npl_utf8_code(text + offset));
		if (width > columns)
			break;
	}
	return offset;
}

/* Returns the beginning of the text's last characters that fit in so many columns. */
static const char *tail_of(const char *text, int columns)
{
	int width = npl_text_width(text);
	for (; width > columns; text += npl_utf8_length(text))
		width -= npl_character_width(npl_utf8_code(text));
	return text;
}

/* Stands for the characters that are left out; it is one column wide. "~" would not do: it marks modelled figures. */
#define ELLIPSIS "\u2026"

/* Returns the cut name, allocated; NULL: out of memory. */
static char *cut_middle(const char *text, int width, int head)
{
	const size_t bytes = head_bytes(text, head);
	const char *tail = tail_of(text, width - 1 - head);
	const size_t mark_bytes = strlen(ELLIPSIS), tail_bytes = strlen(tail) + 1;
	char *cut_name = malloc(bytes + mark_bytes + tail_bytes);
	if (cut_name) {
		memcpy(cut_name, text, bytes);
		memcpy(cut_name + bytes, ELLIPSIS, mark_bytes);
		memcpy(cut_name + bytes + mark_bytes, tail, tail_bytes);
	}
	return cut_name;
}

/* Returns the FNV-1a hash of a text. */
static uint64_t hash(const char *text)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	for (; *text; text++)
		sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return sum;
}

static int compare_hashes(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static int count_different(uint64_t *sums, int n)
{
	int different = n > 0;
	if (n)
		qsort(sums, (size_t)n, sizeof *sums, compare_hashes);
	for (int i = 1; i < n; i++)
		different += sums[i] != sums[i - 1];
	return different;
}

/* Returns how many of the names differ when they are cut after `head` columns; head below 0: uncut. */
static int count_differing(char *const *name, int n, int width, int head, uint64_t *sums)
{
	for (int i = 0; i < n; i++) {
		char *cut_name = head < 0 ? NULL : cut_middle(name[i], width, head);
		sums[i] = hash(cut_name ? cut_name : name[i]);
		free(cut_name);
	}
	return count_different(sums, n);
}

/* Returns the head at which most names differ; of several, the one nearest to the middle. */
static int best_head(char *const *name, int n, int width, uint64_t *sums)
{
	const int middle = (width - 1) / 2, differing_uncut = count_differing(name, n, width, -1, sums);
	int best = middle, most_differing = 0;
	for (int distance = 0; distance <= width && most_differing < differing_uncut; distance++)
		for (int side = -1; side <= 1; side += 2) {
			const int head = middle + side * distance;
			const int differing = head < 1 || head > width - 2
						      ? 0
						      : count_differing(name, n, width, head, sums);
			if (differing > most_differing) {
				most_differing = differing;
				best = head;
			}
		}
	return best;
}

/* The cuts in use, each with the name that it stands for: a hash table with free slots. */
struct cut_table {
	size_t slots;
	struct {
		const char *cut_name, *name;
	} * slot;
};

/* Claims a cut for a name; false: it stands for another name already. */
static bool claim_cut(struct cut_table *table, const char *cut_name, const char *name)
{
	size_t index = hash(cut_name) % table->slots;
	for (; table->slot[index].cut_name; index = (index + 1) % table->slots)
		if (!strcmp(table->slot[index].cut_name, cut_name))
			return !strcmp(table->slot[index].name, name);
	table->slot[index].cut_name = cut_name;
	table->slot[index].name = name;
	return true;
}

/* Sets cut_name[i] to name i cut after head columns, or elsewhere where another name would have the same cut. */
static bool cut_distinctly(char *const *name, int n, int width, int head, char **cut_name)
{
	struct cut_table table = {.slots = 2 * (size_t)n + 1};
	table.slot = calloc(table.slots, sizeof *table.slot);
	bool ok = table.slot != NULL;
	for (int i = 0; i < n && ok; i++) {
		cut_name[i] = cut_middle(name[i], width, head);
		ok = cut_name[i] != NULL;
		for (int other_head = ok && claim_cut(&table, cut_name[i], name[i]) ? width : 1;
		     other_head < width - 1 && ok; other_head++) {
			char *other_cut = cut_middle(name[i], width, other_head);
			ok = other_cut != NULL;
			if (ok && claim_cut(&table, other_cut, name[i])) {
				free(cut_name[i]);
				cut_name[i] = other_cut;
				break;
			}
			free(other_cut);
		}
	}
	free(table.slot);
	return ok;
}

void npl_cut_names(char **text, int n, int width)
{
	char **name = calloc((size_t)n + 1, sizeof *name), **cut_name = calloc((size_t)n + 1, sizeof *cut_name);
	uint64_t *sums = calloc((size_t)n + 1, sizeof *sums);
	int *text_index = calloc((size_t)n + 1, sizeof *text_index), n_wide = 0;
	for (int i = 0; i < n && name && text_index; i++)
		if (text[i] && npl_text_width(text[i]) > width) {
			text_index[n_wide] = i;
			name[n_wide++] = text[i];
		}
	const bool all_cut = name && cut_name && sums && text_index && n_wide &&
			     cut_distinctly(name, n_wide, width, best_head(name, n_wide, width, sums), cut_name);
	for (int i = 0; i < n_wide && cut_name; i++) {
		if (all_cut) {
			free(name[i]);
			text[text_index[i]] = cut_name[i];
		} else {
			free(cut_name[i]);
		}
	}
	free(name);
	free(cut_name);
	free(sums);
	free(text_index);
}
