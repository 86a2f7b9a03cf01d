/* SPDX-License-Identifier: MIT
 *
 * Lists of parameters in tests. */
#ifndef NPULAB_TESTS_KIT_SIM_KEYS_H
#define NPULAB_TESTS_KIT_SIM_KEYS_H

#include <stdbool.h>
#include <string.h>

#include "core/files/words.h"

/* Says whether the key is among the words, of which one with a "*" at its end is the beginning of keys. */
static inline bool test_key_is_among(const char *key, const char *words)
{
	const char *word;
	size_t length;
	while ((word = npl_next_word(&words, &length)))
		if (word[length - 1] == '*' ? !strncmp(word, key, length - 1)
					    : strlen(key) == length && !memcmp(word, key, length))
			return true;
	return false;
}

#endif
