/* SPDX-License-Identifier: MIT
 *
 * What a real device found of itself, as keys and values for people and programs: `npulab devices --verbose` and its
 * JSON. A key is a few words joined by "_" ("core_type"); its value says it in words, units included. A fact that a
 * user should act upon has the key "warning". What is not known is left out, or says why.
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
	struct npl_arena *arena; /* of the caller, which holds keys and values */
	int n;
	struct npl_fact fact[NPL_FACTS];
};

/* Adds a fact; an empty value is none. NPL_ENOMEM; NPL_EINTERNAL: there are too many. */
int npl_fact(struct npl_facts *facts, struct npl_err *err, const char *key, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#ifdef __cplusplus
}
#endif

#endif
