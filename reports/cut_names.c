/* SPDX-License-Identifier: MIT
 *
 * Names cut in the middle (cut_names.h). */
#include "cut_names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/text.h"

/* Returns the bytes of the text's first characters that fit in so many columns. */
static size_t head_bytes(const char *text, int columns)
{
	size_t at = 0;
	for (int have = 0; text[at]; at += npl_utf8_length(text + at)) {
		have += npl_character_width(npl_utf8_code(text + at));
		if (have > columns)
			break;
	}
	return at;
}

/* Returns the beginning of the text's last characters that fit in so many columns. */
static const char *tail_of(const char *text, int columns)
{
	int have = npl_text_width(text);
	for (; have > columns; text += npl_utf8_length(text))
		have -= npl_character_width(npl_utf8_code(text));
	return text;
}

/* Returns the cut name, allocated; NULL: out of memory. */
static char *cut(const char *text, int width, int head)
{
	const size_t bytes = head_bytes(text, head);
	const char *tail = tail_of(text, width - 1 - head);
	const size_t rest = strlen(tail) + 1;
	char *made = malloc(bytes + 1 + rest);
	if (made) {
		memcpy(made, text, bytes);
		made[bytes] = '~';
		memcpy(made + bytes + 1, tail, rest);
	}
	return made;
}

/* FNV-1a. */
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
static int differ(char *const *name, int n, int width, int head, uint64_t *sums)
{
	for (int i = 0; i < n; i++) {
		char *made = head < 0 ? NULL : cut(name[i], width, head);
		sums[i] = hash(made ? made : name[i]);
		free(made);
	}
	return count_different(sums, n);
}

/* Returns the head at which most names differ; of several, the one nearest to the middle. */
static int best_head(char *const *name, int n, int width, uint64_t *sums)
{
	const int middle = (width - 1) / 2, all = differ(name, n, width, -1, sums);
	int best = middle, most = 0;
	for (int away = 0; away <= width && most < all; away++)
		for (int side = -1; side <= 1; side += 2) {
			const int head = middle + side * away;
			const int found = head < 1 || head > width - 2 ? 0 : differ(name, n, width, head, sums);
			if (found > most) {
				most = found;
				best = head;
			}
		}
	return best;
}

/* The cuts in use, each with the name that it stands for: a hash table with free slots. */
struct taken {
	size_t slots;
	struct {
		const char *cut, *name;
	} * slot;
};

/* Says whether the cut stands for no other name; it then stands for this one. */
static bool take(struct taken *taken, const char *made, const char *name)
{
	size_t at = hash(made) % taken->slots;
	for (; taken->slot[at].cut; at = (at + 1) % taken->slots)
		if (!strcmp(taken->slot[at].cut, made))
			return !strcmp(taken->slot[at].name, name);
	taken->slot[at].cut = made;
	taken->slot[at].name = name;
	return true;
}

/* Sets made[i] to name i cut after head columns, or elsewhere where another name would have the same cut. */
static bool cut_apart(char *const *name, int n, int width, int head, char **made)
{
	struct taken taken = {.slots = 2 * (size_t)n + 1};
	taken.slot = calloc(taken.slots, sizeof *taken.slot);
	bool whole = taken.slot != NULL;
	for (int i = 0; i < n && whole; i++) {
		made[i] = cut(name[i], width, head);
		whole = made[i] != NULL;
		for (int other = whole && take(&taken, made[i], name[i]) ? width : 1; other < width - 1 && whole;
		     other++) {
			char *again = cut(name[i], width, other);
			whole = again != NULL;
			if (whole && take(&taken, again, name[i])) {
				free(made[i]);
				made[i] = again;
				break;
			}
			free(again);
		}
	}
	free(taken.slot);
	return whole;
}

void npl_cut_names(char **text, int n, int width)
{
	char **name = calloc((size_t)n + 1, sizeof *name), **made = calloc((size_t)n + 1, sizeof *made);
	uint64_t *sums = calloc((size_t)n + 1, sizeof *sums);
	int *at = calloc((size_t)n + 1, sizeof *at), wide = 0;
	for (int i = 0; i < n && name && at; i++)
		if (text[i] && npl_text_width(text[i]) > width) {
			at[wide] = i;
			name[wide++] = text[i];
		}
	const bool whole = name && made && sums && at && wide &&
			   cut_apart(name, wide, width, best_head(name, wide, width, sums), made);
	for (int i = 0; i < wide && made; i++) {
		if (whole) {
			free(name[i]);
			text[at[i]] = made[i];
		} else {
			free(made[i]);
		}
	}
	free(name);
	free(made);
	free(sums);
	free(at);
}
