/* SPDX-License-Identifier: MIT
 *
 * Text of DianNao's programs (docs/diannao-isa.md, Text) to instructions. A line is at most one instruction or directive; blanks part
 * words, commas the values of a slot, bars the slots. Takes any bytes: nothing is copied but words of bounded length. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "core/files/words.h"
#include "npulab/text.h"
#include "syntax.h"

struct assembler {
	struct npl_words words;
	bool host, weights; /* addresses given */
	struct dn_program *program;
};

#define MARKS ",|="

#define complain(a, ...) npl_words_complain(&(a)->words, __VA_ARGS__)

static bool is_word(const struct assembler *a)
{
	return *a->words.word && !strchr(MARKS, *a->words.word);
}

/* The word as a number; slot NULL: a directive. */
static int parse_number(const struct assembler *a, const char *slot, const char *what, int64_t low, int64_t high,
			int64_t *value)
{
	if (npl_parse_integer(a->words.word, value) && *value >= low && *value <= high)
		return 0;
	return complain(a, "%s%s%s is '%s', expected a whole number from %lld to %lld", slot ? slot : "",
			slot ? ": " : "", what, a->words.word, (long long)low, (long long)high);
}

static int add_function(struct assembler *a, const char *name, const struct dn_function *function)
{
	struct dn_program *program = a->program;
	if (program->n_functions == DN_MAX_FUNCTIONS)
		return complain(a, "%s is function %d, expected at most %d in a program", name, DN_MAX_FUNCTIONS + 1,
				DN_MAX_FUNCTIONS);
	program->function[program->n_functions] = *function;
	snprintf(program->function_name[program->n_functions], sizeof *program->function_name, "%.*s",
		 (int)sizeof *program->function_name - 1, name);
	program->n_functions++;
	return 0;
}

static int take_function(struct assembler *a, const struct dn_field *field, int64_t *number)
{
	const char *names[DN_MAX_FUNCTIONS + DN_KNOWN_FUNCTIONS + 1] = {DN_IDENTITY};
	int n = 1;
	struct dn_function room;
	*number = dn_function_number(a->program, a->words.word);
	if (*number || !strcmp(a->words.word, DN_IDENTITY))
		return 0;
	const struct dn_function *known = dn_known_function(a->words.word, &room);
	if (known) {
		*number = a->program->n_functions + 1;
		return add_function(a, a->words.word, known);
	}
	for (int i = 0; i < DN_KNOWN_FUNCTIONS; i++)
		names[n++] = dn_known_functions[i];
	for (int i = 0; i < a->program->n_functions; i++)
		names[n++] = a->program->function_name[i];
	return complain(a, "NFU: there is no %s '%s'%s (.function makes others)", field->name, a->words.word,
			NPL_NEAREST(a->words.word, names, n));
}

static int take_named(struct assembler *a, const struct dn_slot *slot, const struct dn_field *field, int64_t *value)
{
	const char *names[8];
	int n = 0;
	for (*value = 0; *value <= field->high; ++*value) {
		if (!field->names[*value])
			continue;
		if (!strcmp(field->names[*value], a->words.word))
			return 0;
		names[n++] = field->names[*value];
	}
	return complain(a, "%s: there is no %s '%s'%s", slot->name, field->name, a->words.word,
			NPL_NEAREST(a->words.word, names, n));
}

static int take_value(struct assembler *a, const struct dn_slot *slot, const struct dn_field *field,
		      struct dn_instruction *out)
{
	int64_t value = 0;
	int rc;
	switch (field->kind) {
	case DN_FIELD_NAMED:
		rc = take_named(a, slot, field, &value);
		break;
	case DN_FIELD_FUNCTION:
		rc = take_function(a, field, &value);
		break;
	default:
		rc = parse_number(a, slot->name, field->name, field->low, field->high, &value);
	}
	if (!rc)
		dn_field_set(out, field, value);
	return rc;
}

/* "READ OP,REUSE,ADDRESS,SIZE": a slot's values. */
static const char *list_values(const struct dn_slot *slot, char *list, size_t n)
{
	size_t used = 0;
	for (int i = 0; i < slot->n_fields && !slot->field[i].keyed && used < n; i++)
		used += (size_t)snprintf(list + used, n - used, "%s%s", i ? "," : "", slot->field[i].name);
	return list;
}

static int take_values(struct assembler *a, const struct dn_slot *slot, struct dn_instruction *out)
{
	char list[120];
	for (int i = 0; i < slot->n_fields && !slot->field[i].keyed; i++) {
		if (i && *a->words.word != ',')
			return complain(a, "%s: %d value%s, expected %s", slot->name, i, i > 1 ? "s" : "",
					list_values(slot, list, sizeof list));
		if (npl_words_next(&a->words))
			return a->words.err->code;
		if (!is_word(a))
			return complain(a, "%s: no %s, expected %s", slot->name, slot->field[i].name,
					list_values(slot, list, sizeof list));
		if (take_value(a, slot, &slot->field[i], out) || npl_words_next(&a->words))
			return a->words.err->code;
	}
	if (*a->words.word == ',')
		return complain(a, "%s: one value too many, expected %s", slot->name,
				list_values(slot, list, sizeof list));
	return 0;
}

/* What stands behind the values: NAME=VALUE, in any order. */
static int take_keyed(struct assembler *a, const struct dn_slot *slot, struct dn_instruction *out)
{
	bool taken[DN_MOST_FIELDS] = {false};
	while (is_word(a)) {
		int i = 0;
		while (i < slot->n_fields && (!slot->field[i].keyed || strcmp(slot->field[i].name, a->words.word)))
			i++;
		if (i == slot->n_fields)
			return complain(a, "%s: '%s', expected %s", slot->name, a->words.word,
					slot->field[slot->n_fields - 1].keyed ? "shift=, result_shift= or divisor="
									      : "'|' or the end of the line");
		if (taken[i])
			return complain(a, "%s: %s= is there twice, expected it once", slot->name, slot->field[i].name);
		taken[i] = true;
		if (npl_words_next(&a->words))
			return a->words.err->code;
		if (*a->words.word != '=')
			return complain(a, "%s: %s without a value, expected %s=NUMBER", slot->name,
					slot->field[i].name, slot->field[i].name);
		if (npl_words_next(&a->words) || take_value(a, slot, &slot->field[i], out) || npl_words_next(&a->words))
			return a->words.err->code;
	}
	return 0;
}

/* From its name on; the word behind it is the next. */
static int take_slot(struct assembler *a, bool taken[DN_SLOTS], struct dn_instruction *out)
{
	const char *names[DN_SLOTS];
	int s = 0;
	for (int i = 0; i < DN_SLOTS; i++)
		names[i] = dn_slots[i].name;
	while (s < DN_SLOTS && strcmp(names[s], a->words.word))
		s++;
	if (!is_word(a))
		return complain(a, "no slot %s, expected CP, SB, NBIN, NBOUT or NFU",
				*a->words.word ? "here" : "at the end of the line");
	if (s == DN_SLOTS)
		return complain(a, "there is no slot '%s'%s", a->words.word,
				NPL_NEAREST(a->words.word, names, DN_SLOTS));
	if (taken[s])
		return complain(a, "%s: a second one in this line, expected each slot once", names[s]);
	taken[s] = true;
	return take_values(a, &dn_slots[s], out) ? a->words.err->code : take_keyed(a, &dn_slots[s], out);
}

static int take_instruction(struct assembler *a)
{
	struct dn_instruction out = {0};
	bool taken[DN_SLOTS] = {false};
	char why[200];
	for (;;) {
		if (take_slot(a, taken, &out))
			return a->words.err->code;
		if (*a->words.word != '|')
			break;
		if (npl_words_next(&a->words))
			return a->words.err->code;
	}
	if (*a->words.word)
		return complain(a, "'%s', expected '|' or the end of the line", a->words.word);
	if (!dn_instruction_ok(&out, a->program->n_functions, why, sizeof why))
		return complain(a, "%s", why);
	return dn_program_add(a->program, &out, a->words.line, a->words.err);
}

static int take_coefficient(struct assembler *a, const char *name, const char *what, int16_t *coefficient)
{
	int64_t value = 0;
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (!is_word(a))
		return complain(a, "%s: %s is not there, expected %d pairs a,b", name, what, DN_SEGMENTS);
	int rc = parse_number(a, name, what, INT16_MIN, INT16_MAX, &value);
	*coefficient = (int16_t)value;
	return rc;
}

/* .function NAME a0,b0 a1,b1 ... */
static int take_function_table(struct assembler *a)
{
	struct dn_function function;
	char name[NPL_LONGEST_WORD + 1], a_name[16], b_name[16];
	memcpy(name, a->words.word, sizeof name);
	if (!dn_function_name_ok(name) || strlen(name) >= sizeof *a->program->function_name)
		return complain(a,
				".function '%s', expected a name of at most %zu letters, digits and '_', other than "
				"%s",
				name, sizeof *a->program->function_name - 1, DN_IDENTITY);
	if (dn_function_number(a->program, name))
		return complain(a, "the program has a function %s already, expected another name", name);
	for (int i = 0; i < DN_SEGMENTS; i++) {
		snprintf(a_name, sizeof a_name, "a%d", i);
		snprintf(b_name, sizeof b_name, "b%d", i);
		if (take_coefficient(a, name, a_name, &function.a[i]) || npl_words_next(&a->words))
			return a->words.err->code;
		if (*a->words.word != ',')
			return complain(a, "%s: %s without %s, expected %d pairs a,b", name, a_name, b_name,
					DN_SEGMENTS);
		if (take_coefficient(a, name, b_name, &function.b[i]))
			return a->words.err->code;
	}
	return add_function(a, name, &function);
}

static int take_address(struct assembler *a, const char *name, bool *given, uint64_t *address)
{
	int64_t value = 0;
	if (*given)
		return complain(a, "a second %s, expected one", name);
	*given = true;
	int rc = parse_number(a, NULL, name, 0, ((int64_t)1 << DN_ADDRESS_BITS) - 1, &value);
	*address = (uint64_t)value;
	return rc;
}

static int take_directive(struct assembler *a)
{
	static const char *const names[] = {".function", ".host", ".weights"};
	enum { FUNCTION, HOST, WEIGHTS, DIRECTIVES };
	int i = 0, rc;
	while (i < DIRECTIVES && strcmp(names[i], a->words.word))
		i++;
	if (i == DIRECTIVES)
		return complain(a, "there is no directive '%s'%s", a->words.word,
				NPL_NEAREST(a->words.word, names, DIRECTIVES));
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (!is_word(a))
		return complain(a, "%s without %s", names[i],
				i == FUNCTION ? "a name, expected NAME and 16 pairs a,b" : "an address, expected one");
	if (i == FUNCTION)
		rc = take_function_table(a);
	else if (i == HOST)
		rc = take_address(a, ".host", &a->host, &a->program->host_address);
	else
		rc = take_address(a, ".weights", &a->weights, &a->program->weight_address);
	return rc ? rc : npl_words_end(&a->words);
}

int dn_assemble(const char *source, const char *text, size_t n, struct dn_program *program, struct npl_err *err)
{
	struct assembler a = {.program = program};
	*program = (struct dn_program){0};
	int rc = npl_words_open(&a.words, source, text, n, err);
	a.words.comments = "#;";
	a.words.marks = MARKS;
	while (!rc && npl_words_line(&a.words, &rc))
		rc = *a.words.word == '.' ? take_directive(&a) : take_instruction(&a);
	if (rc)
		dn_program_free(program);
	return rc;
}
