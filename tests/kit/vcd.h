/* SPDX-License-Identifier: MIT
 *
 * A reader of value change dumps, for the tests: it knows what npulab and fst2vcd write, and fails for anything else.
 * It is written from IEEE 1364-2005, section 18.
 */
#ifndef NPULAB_TESTS_KIT_VCD_H
#define NPULAB_TESTS_KIT_VCD_H

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VCD_VARIABLES = 2048, VCD_NAME = 128 };

struct vcd_variable {
	char id[8], name[VCD_NAME]; /* the name with its scopes: "tpu_v1.matrix.busy" */
	int width;
	bool is_known;
	uint64_t value; /* the last one that was read */
};

struct vcd {
	char *text, *at;    /* the text is cut while it is read */
	char timescale[20]; /* without blanks: "1fs" */
	struct vcd_variable variable[VCD_VARIABLES];
	int n;
	uint64_t time;
	int64_t changes;
};

static inline char *vcd_word(struct vcd *vcd)
{
	char *word;
	do
		word = strsep(&vcd->at, " \t\n");
	while (word && !*word);
	return word;
}

static inline void vcd_expect(struct vcd *vcd, const char *expected)
{
	const char *word = vcd_word(vcd);
	cr_assert(word && !strcmp(word, expected), "'%s', expected %s", word ? word : "the end", expected);
}

static inline void vcd_read_variable(struct vcd *vcd, const char *scope)
{
	struct vcd_variable *v = &vcd->variable[vcd->n++];
	cr_assert_leq(vcd->n, VCD_VARIABLES);
	vcd_expect(vcd, "wire");
	v->width = atoi(vcd_word(vcd));
	cr_assert(v->width >= 1 && v->width <= 64);
	snprintf(v->id, sizeof v->id, "%s", vcd_word(vcd));
	snprintf(v->name, sizeof v->name, "%s%s", scope, vcd_word(vcd));
	for (int i = 0; i < vcd->n - 1; i++)
		cr_assert(strcmp(vcd->variable[i].id, v->id) && strcmp(vcd->variable[i].name, v->name), "%s", v->name);
	if (v->width > 1) {
		char range[20];
		snprintf(range, sizeof range, "[%d:0]", v->width - 1);
		vcd_expect(vcd, range);
	}
	vcd_expect(vcd, "$end");
}

/* Reads the head of a dump. The text, which the dump takes, ends in NUL. */
static inline void vcd_open(struct vcd *vcd, char *text)
{
	char scope[VCD_NAME] = "";
	*vcd = (struct vcd){.text = text, .at = text};
	for (const char *word; (word = vcd_word(vcd)) && strcmp(word, "$enddefinitions") != 0;) {
		const size_t n = strlen(scope);
		if (!strcmp(word, "$scope")) {
			vcd_expect(vcd, "module");
			snprintf(scope + n, sizeof scope - n, "%s.", vcd_word(vcd));
			vcd_expect(vcd, "$end");
		} else if (!strcmp(word, "$upscope")) {
			cr_assert_gt(n, 0);
			scope[n - 1] = '\0';
			char *dot = strrchr(scope, '.');
			*(dot ? dot + 1 : scope) = '\0';
			vcd_expect(vcd, "$end");
		} else if (!strcmp(word, "$var")) {
			vcd_read_variable(vcd, scope);
		} else if (!strcmp(word, "$timescale")) {
			while ((word = vcd_word(vcd)) && strcmp(word, "$end") != 0)
				strncat(vcd->timescale, word, sizeof vcd->timescale - strlen(vcd->timescale) - 1);
		} else {
			cr_assert(!strcmp(word, "$version") || !strcmp(word, "$comment") || !strcmp(word, "$date"),
				  "%s", word);
			while (strcmp(word, "$end") != 0)
				cr_assert((word = vcd_word(vcd)) != NULL);
		}
	}
	cr_assert(!*scope, "the scope %s does not end", scope);
	vcd_expect(vcd, "$end");
}

static inline struct vcd_variable *vcd_with_id(struct vcd *vcd, const char *id)
{
	for (int i = 0; i < vcd->n; i++)
		if (!strcmp(vcd->variable[i].id, id))
			return &vcd->variable[i];
	cr_assert_fail("no variable has the identifier %s", id);
	abort(); /* cr_assert_fail does not return */
}

/* Returns the variable whose name ends in this one, after a dot. */
static inline struct vcd_variable *vcd_named(struct vcd *vcd, const char *name)
{
	for (int i = 0; i < vcd->n; i++) {
		const size_t n = strlen(vcd->variable[i].name), m = strlen(name);
		if (n > m && vcd->variable[i].name[n - m - 1] == '.' && !strcmp(vcd->variable[i].name + n - m, name))
			return &vcd->variable[i];
	}
	cr_assert_fail("no variable has the name %s", name);
	abort(); /* cr_assert_fail does not return */
}

/* Reads a value of the width, "x" or bits that the dump may have left out at their begin. */
static inline void vcd_take_value(struct vcd *vcd, struct vcd_variable *v, const char *bits, size_t n)
{
	cr_assert(n >= 1 && n <= (size_t)v->width, "%s: %zu bits", v->name, n);
	v->is_known = *bits != 'x';
	v->value = 0;
	for (size_t i = 0; i < n && !v->is_known; i++)
		cr_assert_eq(bits[i], 'x', "%s: %s", v->name, bits);
	for (size_t i = 0; i < n && v->is_known; i++) {
		cr_assert(bits[i] == '0' || bits[i] == '1', "%s: %s", v->name, bits);
		v->value = v->value << 1 | (uint64_t)(bits[i] - '0');
	}
	vcd->changes++;
}

/* Reads up to the next change, which *changed has, and whose time vcd->time is. Returns false at the end, and before a
 * time that is later than `last`. */
static inline bool vcd_next_of(struct vcd *vcd, struct vcd_variable **changed, uint64_t last)
{
	while (vcd->at) {
		vcd->at += strspn(vcd->at, " \t\n");
		if (*vcd->at == '#' && strtoull(vcd->at + 1, NULL, 10) > last)
			return false;
		const char *word = vcd_word(vcd);
		if (!word)
			return false;
		if (*word == '#') {
			const uint64_t time = strtoull(word + 1, NULL, 10);
			cr_assert(!vcd->changes || time > vcd->time, "time %s after %" PRIu64, word, vcd->time);
			vcd->time = time;
		} else if (*word == 'b') {
			*changed = vcd_with_id(vcd, vcd_word(vcd));
			cr_assert_gt((*changed)->width, 1);
			vcd_take_value(vcd, *changed, word + 1, strlen(word + 1));
			return true;
		} else if (*word != '$') {
			*changed = vcd_with_id(vcd, word + 1);
			cr_assert_eq((*changed)->width, 1);
			vcd_take_value(vcd, *changed, word, 1);
			return true;
		} else {
			cr_assert(!strcmp(word, "$dumpvars") || !strcmp(word, "$end"), "%s", word);
		}
	}
	return false;
}

static inline bool vcd_next(struct vcd *vcd, struct vcd_variable **changed)
{
	return vcd_next_of(vcd, changed, UINT64_MAX);
}

/* Reads all changes up to this time. */
static inline void vcd_until(struct vcd *vcd, uint64_t time)
{
	struct vcd_variable *changed;
	while (vcd_next_of(vcd, &changed, time))
		;
}

#endif
