/* SPDX-License-Identifier: MIT
 *
 * The machines that can be validated, and the functions that do it (validate.h). */
#include "npulab/validate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "npulab/device.h"

typedef int validator(struct npl_validation *validation, const struct npl_validate_options *options,
		      struct npl_err *err);

#define NPL_VALIDATOR(machine, sets) validator npl_validate_##machine;
#include "validators.def"
#undef NPL_VALIDATOR

static const struct {
	const char *machine, *sets; /* sets: the machines whose settings it takes, as words */
	validator *run;
} validators[] = {
#define NPL_VALIDATOR(machine, sets) {#machine, sets, npl_validate_##machine},
#include "validators.def"
#undef NPL_VALIDATOR
};
#define VALIDATORS ((int)(sizeof validators / sizeof *validators))

/* Says whether DEVICE of "DEVICE.KEY=VALUE" is one of the words. */
static bool takes_set(const char *words, const char *set)
{
	for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ') {
		const size_t length = strcspn(at, " ");
		if (!strncmp(set, at, length) && set[length] == '.')
			return true;
	}
	return false;
}

/* Checks that every setting is of a machine that is validated. */
static int check_sets(const char *machine, const struct npl_validate_options *options, struct npl_err *err)
{
	for (int s = 0; s < options->n_sets; s++) {
		bool known = false;
		for (int i = 0; i < VALIDATORS; i++)
			known |= (!machine || !strcmp(machine, validators[i].machine)) &&
				 takes_set(validators[i].sets, options->set[s]);
		if (!known)
			return npl_fail(err, NPL_EUSAGE, "--set %s: none of the machines validated has this name",
					options->set[s]);
	}
	return 0;
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
