/* SPDX-License-Identifier: MIT
 *
 * The machines that can be validated, and the functions that do it (validate.h). */
#include "npulab/validate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/files/words.h"
#include "frontend/compare/devices_open.h"
#include "npulab/arena.h"
#include "npulab/compare.h"
#include "validation.h"

#define MAX_NAMES 16 /* more than the table of validators has words */

static const struct {
	const char *machine, *sets; /* sets: the machines whose settings it takes, as words */
	npl_validator *run;
} validators[] = {
#define NPL_VALIDATOR(machine, sets) {#machine, sets, npl_validate_##machine},
#include "validators.def"
#undef NPL_VALIDATOR
};
#define VALIDATORS ((int)(sizeof validators / sizeof *validators))

static bool is_listed(const char *const *names, int n, const char *name)
{
	while (n > 0 && strcmp(names[n - 1], name) != 0)
		n--;
	return n > 0;
}

/* Lists the machines whose settings are taken when `machine`, or every one for NULL, is validated. */
static int machines_with_sets(const char *machine, struct npl_arena *arena, const char *names[MAX_NAMES])
{
	int n = 0;
	for (int i = 0; i < VALIDATORS; i++) {
		const char *words = validators[i].sets, *word;
		size_t length;
		while ((!machine || !strcmp(machine, validators[i].machine)) && n < MAX_NAMES &&
		       (word = npl_next_word(&words, &length)) && (names[n] = npl_arena_strndup(arena, word, length)))
			n += !is_listed(names, n, names[n]);
	}
	return n;
}

/* Checks that every setting is of a machine that is validated. */
static int check_sets(const char *machine, const struct npl_validate_options *options, struct npl_err *err)
{
	struct npl_arena arena = {0};
	const char *names[MAX_NAMES];
	const int n = machines_with_sets(machine, &arena, names);
	int rc = 0;
	for (int s = 0; s < options->n_sets && !rc; s++) {
		const char *set = options->set[s];
		bool known = false;
		for (int i = 0; i < n; i++)
			known |= npl_device_sets(names[i], &set, 1, &(const char *){NULL});
		if (!known)
			rc = npl_refuse_set(set, names, n, "none of the machines validated has this name", err);
	}
	npl_arena_free(&arena);
	return rc;
}

static int refuse_unpublished(const char *machine, struct npl_err *err)
{
	char names[200] = "";
	for (int i = 0; i < VALIDATORS; i++)
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
			 validators[i].machine);
	return npl_fail(err, NPL_EUSAGE, "%s has no published figures to validate, expected one of: %s", machine,
			names);
}

int npl_validate(const char *machine, const struct npl_validate_options *options, struct npl_validation *validation,
		 struct npl_err *err)
{
	int n_chosen = 0, rc = 0;
	*validation = (struct npl_validation){0};
	for (int i = 0; i < VALIDATORS; i++)
		n_chosen += !machine || !strcmp(machine, validators[i].machine);
	if (!n_chosen)
		return refuse_unpublished(machine, err);
	rc = check_sets(machine, options, err);
	for (int i = 0; i < VALIDATORS && !rc; i++) {
		if (machine && strcmp(machine, validators[i].machine))
			continue;
		rc = validators[i].run(validation, options, err);
	}
	for (int i = 0; i < validation->n; i++)
		if (isnan(validation->row[i].model) && !*validation->row[i].reason)
			validation->row[i].reason = "no model works it out";
	if (rc)
		npl_validation_free(validation);
	return rc;
}
