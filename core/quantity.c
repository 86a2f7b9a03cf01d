/* SPDX-License-Identifier: MIT
 *
 * Numbers with units (quantity.h): prefixes of the SI, and powers of 1024 for bytes. */
#include "quantity.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"

enum { SMALL = 1, LARGE = 2, BINARY = 4 };

/* A kind of unit. The schema's unit is 10^-exponent * 2^-shift times the symbol's. */
static const struct kind {
	const char *unit, *symbol;
	int exponent, shift, prefixes;
} kinds[] = {
	{"bytes", "B", 0, 0, LARGE | BINARY},
	{"bytes/s", "B/s", 0, 0, LARGE | BINARY},
	{"MiB", "B", 0, -20, LARGE | BINARY},
	{"Hz", "Hz", 0, 0, LARGE},
	{"s", "s", 0, 0, SMALL},
	{"W", "W", 0, 0, SMALL | LARGE},
	{"pJ", "J", 12, 0, SMALL},
	{"mA", "A", 3, 0, SMALL},
	{"V", "V", 0, 0, SMALL},
	{"MAC/s", "MAC/s", 0, 0, LARGE},
};

static const struct prefix {
	const char *text;
	int exponent, shift;
	int class;        /* SMALL, LARGE or BINARY; 0: of every kind */
	bool in_messages; /* written in messages; the others are only read */
} prefixes[] = {
	{"f", -15, 0, SMALL, true},  {"p", -12, 0, SMALL, true},  {"n", -9, 0, SMALL, true},
	{"u", -6, 0, SMALL, true},   {"µ", -6, 0, SMALL, false},  {"m", -3, 0, SMALL, true},
	{"", 0, 0, 0, true},         {"k", 3, 0, LARGE, true},    {"K", 3, 0, LARGE, false},
	{"M", 6, 0, LARGE, true},    {"G", 9, 0, LARGE, true},    {"T", 12, 0, LARGE, true},
	{"P", 15, 0, LARGE, false},  {"Ki", 0, 10, BINARY, true}, {"Mi", 0, 20, BINARY, true},
	{"Gi", 0, 30, BINARY, true}, {"Ti", 0, 40, BINARY, true},
};
#define PREFIXES (sizeof prefixes / sizeof *prefixes)

static const struct kind *kind_of(const char *unit)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].unit, unit))
			return &kinds[i];
	return NULL;
}

static bool allows(const struct kind *kind, const struct prefix *prefix)
{
	return !prefix->class || kind->prefixes & prefix->class;
}

/* Finds the prefix of a unit, such as "MHz" of the kind with the symbol Hz. */
static const struct prefix *prefix_of(const char *text, const struct kind *kind)
{
	for (size_t i = 0; i < PREFIXES; i++) {
		const size_t length = strlen(prefixes[i].text);
		if (allows(kind, &prefixes[i]) && !strncmp(text, prefixes[i].text, length) &&
		    !strcmp(text + length, kind->symbol))
			return &prefixes[i];
	}
	return NULL;
}

/* Says whether the text is the unit: "cycles" or "cycle" for a unit that the schema calls "cycles". */
static bool is_unit(const char *text, const char *unit)
{
	const size_t length = strlen(text);
	return *unit && !strncmp(text, unit, length) && (!unit[length] || !strcmp(unit + length, "s"));
}

/* Returns the length of the decimal number that the text begins with; *exponent_at: that of its part before an
 * exponent. */
static size_t number_length(const char *text, size_t *exponent_at)
{
	size_t offset = strspn(text, "+-");
	offset += strspn(text + offset, ".0123456789");
	*exponent_at = offset;
	if (text[offset] != 'e' && text[offset] != 'E')
		return offset;
	const size_t sign = offset + 1 + (text[offset + 1] == '-' || text[offset + 1] == '+');
	const size_t digits = strspn(text + sign, "0123456789");
	return digits && digits < 6 ? sign + digits : offset;
}

const char *npl_quantity_in(const char *text, const char *unit, char *buf, size_t n)
{
	size_t mantissa;
	const size_t length = number_length(text, &mantissa);
	const char *text_unit = text + length + strspn(text + length, " ");
	const struct kind *kind = kind_of(unit);
	const struct prefix *prefix = kind ? prefix_of(text_unit, kind) : NULL;
	if (!length || !*text_unit || length + 16 > n || (!prefix && !is_unit(text_unit, unit)))
		return text;
	const int exponent = length > mantissa ? atoi(text + mantissa + 1) : 0;
	if (!prefix || is_unit(text_unit, unit)) {
		snprintf(buf, n, "%.*s", (int)length, text);
		return buf;
	}
	snprintf(buf, n, "%.*se%d", (int)mantissa, text, exponent + prefix->exponent + kind->exponent);
	if (prefix->shift + kind->shift)
		snprintf(buf, n, "%.17g", ldexp(strtod(buf, NULL), prefix->shift + kind->shift));
	return buf;
}

const char *npl_quantity_units(const char *unit, char *buf, size_t n)
{
	const struct kind *kind = kind_of(unit);
	*buf = '\0';
	for (size_t i = 0; kind && i < PREFIXES; i++)
		if (prefixes[i].in_messages && allows(kind, &prefixes[i]))
			npl_append(buf, n, ", ", "%s%s", prefixes[i].text, kind->symbol);
	return buf;
}
