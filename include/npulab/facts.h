/* SPDX-License-Identifier: MIT
 *
 * What a real device found out about itself, as keys and values for `npulab devices --verbose` and its JSON. A key is a
 * few words joined by "_" ("core_type"); its value is text with units. A fact that a user should act upon has the key
 * "warning". A fact that is not known is left out, or its value says why.
 */
#ifndef NPULAB_FACTS_H
#define NPULAB_FACTS_H

#include "npulab/arena.h"
#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_FACTS 40

struct npl_fact {
	const char *key, *value;
};

struct npl_facts {
	struct npl_arena *arena; /* the caller's; it holds keys and values */
	int n;
	struct npl_fact fact[NPL_FACTS];
};

/* Adds a fact; an empty value adds none. Fails with NPL_ENOMEM, and with NPL_EINTERNAL when there are too many
 * facts. */
int npl_fact(struct npl_facts *facts, struct npl_err *err, const char *key, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#ifdef __cplusplus
}
#endif

#endif
