/* SPDX-License-Identifier: MIT
 *
 * Text of the systolic machines' programs (docs/tpu-isa.md, Text) to instructions. A line is at most one instruction or
 * definition; words are parted by blanks. Takes any bytes: nothing is copied but words of bounded length. */
#include <ctype.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files/words.h"
#include "npulab/text.h"
#include "syntax.h"

struct definition {
	char name[NPL_LONGEST_WORD + 1], value[NPL_LONGEST_WORD + 1];
	int line;
};

struct assembler {
	struct npl_words words;
	void *definitions; /* tree by name */
};

#define complain(a, ...) npl_words_complain(&(a)->words, __VA_ARGS__)

static int compare_names(const void *a, const void *b)
{
	const struct definition *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static const struct definition *find_definition(const struct assembler *a, const char *name)
{
	struct definition key;
	snprintf(key.name, sizeof key.name, "%s", name);
	const struct definition *const *found = tfind(&key, &a->definitions, compare_names);
	return found ? *found : NULL;
}

static bool is_name(const char *word)
{
	if (!isalpha((unsigned char)*word) && *word != '_')
		return false;
	while (isalnum((unsigned char)*word) || *word == '_')
		word++;
	return !*word;
}

/* What a word stands for: its definition, or itself. */
static const char *meaning(const struct assembler *a, const char *word)
{
	const struct definition *definition = is_name(word) ? find_definition(a, word) : NULL;
	return definition ? definition->value : word;
}

/* A float32: decimal, or in hexadecimal its bits. */
static bool parse_float(const char *text, uint32_t *bits)
{
	int64_t whole;
	char *end;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		bool good = npl_parse_integer(text, &whole) && whole <= UINT32_MAX;
		*bits = good ? (uint32_t)whole : 0;
		return good;
	}
	if (!*text || text[strspn(text, "+-.0123456789eE")])
		return false;
	float value = strtof(text, &end);
	memcpy(bits, &value, sizeof value);
	return !*end && isfinite(value);
}

static int parse_number(const struct assembler *a, const char *what, const char *word, int64_t low, int64_t high,
			int64_t *value)
{
	const char *text = meaning(a, word);
	if (!npl_parse_integer(text, value) || *value < low || *value > high)
		return complain(a, "%s is '%s'%s%s%s, expected a whole number from %lld to %lld or a defined name",
				what, word, text == word ? "" : " ('", text == word ? "" : text,
				text == word ? "" : "')", (long long)low, (long long)high);
	return 0;
}

static int take_definition(struct assembler *a)
{
	struct definition new = {.line = a->words.line};
	int64_t whole;
	uint32_t bits;
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (!is_name(a->words.word))
		return complain(a, "define '%s', expected a name of letters, digits and '_'", a->words.word);
	const struct definition *old = find_definition(a, a->words.word);
	if (old)
		return complain(a, "'%s' is defined already, on line %d; expected another name", a->words.word,
				old->line);
	snprintf(new.name, sizeof new.name, "%s", a->words.word);
	if (npl_words_next(&a->words))
		return a->words.err->code;
	snprintf(new.value, sizeof new.value, "%s", meaning(a, a->words.word));
	if (!npl_parse_integer(new.value, &whole) && !parse_float(new.value, &bits))
		return complain(a, "define %s '%s', expected a number or a defined name", new.name, a->words.word);
	struct definition *copy = malloc(sizeof *copy);
	if (copy) {
		*copy = new;
		if (tsearch(copy, &a->definitions, compare_names))
			return 0;
	}
	free(copy);
	return npl_fail(a->words.err, NPL_ENOMEM, "%s: out of memory", a->words.source);
}

static int take_flag(struct assembler *a, const struct tpu_syntax *syntax, const char *name, unsigned *taken,
		     struct tpu_instruction *out)
{
	const char *names[16];
	int n = 0;
	for (const struct tpu_flag *f = syntax->flags; f->name; f++) {
		names[n++] = f->name;
		if (strcmp(f->name, name))
			continue;
		if (*taken & f->mask)
			return complain(a, "%s: '%s' is one too many, expected each flag once and one of its kind",
					syntax->name, name);
		*taken |= f->mask;
		out->flags |= f->bits;
		return 0;
	}
	const char *kind = syntax->opcode == TPU_SYNC ? "unit" : "flag";
	if (!n)
		return complain(a, "%s: there is no flag '%s', expected none", syntax->name, name);
	return complain(a, "%s: there is no %s '%s'%s", syntax->name, kind, name, NPL_NEAREST(name, names, n));
}

/* "NAME.FLAG.FLAG": *syntax becomes the instruction's. */
static int take_mnemonic(struct assembler *a, const struct tpu_syntax **syntax, struct tpu_instruction *out)
{
	const char *names[TPU_OPCODES + 1] = {"define"};
	char *rest = a->words.word, *name = strsep(&rest, ".");
	unsigned taken = 0;
	*syntax = NULL;
	for (int i = 0; i < TPU_OPCODES; i++) {
		names[i + 1] = tpu_syntax_table[i].name;
		if (!strcmp(names[i + 1], name))
			*syntax = &tpu_syntax_table[i];
	}
	if (!*syntax)
		return complain(a, "there is no instruction '%s'%s", name, NPL_NEAREST(name, names, TPU_OPCODES + 1));
	out->opcode = (*syntax)->opcode;
	if (rest && (*syntax)->opcode == TPU_SYNC)
		return complain(a, "sync.%s: expected its units as words of their own: sync %s", rest, rest);
	for (char *flag; (flag = strsep(&rest, "."));)
		if (take_flag(a, *syntax, flag, &taken, out))
			return a->words.err->code;
	return 0;
}

static int take_units(struct assembler *a, const struct tpu_syntax *syntax, struct tpu_instruction *out)
{
	unsigned taken = 0;
	for (;;) {
		if (npl_words_next(&a->words))
			return a->words.err->code;
		if (!*a->words.word)
			break;
		if (take_flag(a, syntax, a->words.word, &taken, out))
			return a->words.err->code;
	}
	if (!taken)
		return complain(
			a, "sync without a unit, expected one at least: host_in, host_out, weights, matrix, activate");
	return 0;
}

static int take_type(const struct assembler *a, enum tpu_register r, uint32_t *bits)
{
	for (uint32_t type = 0; type < TPU_TYPES; type++)
		if (!strcmp(a->words.word, tpu_type_name((enum tpu_type)type))) {
			*bits = type;
			return 0;
		}
	return complain(a, "%s is '%s', expected i8, u8, i16 or i32", tpu_register_name(r), a->words.word);
}

static int take_value(const struct assembler *a, enum tpu_register r, uint32_t *bits)
{
	const char *name = tpu_register_name(r);
	int64_t value = 0;
	switch (tpu_register_kind_of(r)) {
	case TPU_TYPE:
		return take_type(a, r, bits);
	case TPU_FLOAT:
		if (!parse_float(meaning(a, a->words.word), bits))
			return complain(
				a, "%s is '%s', expected a float32 number, its bits in hexadecimal or a defined name",
				name, a->words.word);
		return 0;
	case TPU_SIGNED:
		if (parse_number(a, name, a->words.word, INT32_MIN, INT32_MAX, &value))
			return a->words.err->code;
		break;
	case TPU_UNSIGNED:
		if (parse_number(a, name, a->words.word, 0, UINT32_MAX, &value))
			return a->words.err->code;
		break;
	}
	*bits = (uint32_t)value;
	return 0;
}

static int take_register(struct assembler *a, struct tpu_instruction *out)
{
	const char *names[TPU_REGISTERS];
	enum tpu_register r = 0;
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (!*a->words.word)
		return complain(a, "set_config without a register, expected its name and value");
	for (enum tpu_register i = 0; i < TPU_REGISTERS; i++)
		names[i] = tpu_register_name(i);
	while (r < TPU_REGISTERS && strcmp(names[r], a->words.word))
		r++;
	if (r == TPU_REGISTERS)
		return complain(a, "there is no register '%s'%s", a->words.word,
				NPL_NEAREST(a->words.word, names, TPU_REGISTERS));
	out->acc = (uint16_t)r;
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (!*a->words.word)
		return complain(a, "set_config %s without a value", names[r]);
	return take_value(a, r, &out->length);
}

/* The fields that this instruction has, as "ub= acc= rows=". */
static const char *list_fields(const struct tpu_syntax *syntax, unsigned flags, char *list, size_t n)
{
	snprintf(list, n, "no more");
	size_t used = 0;
	for (enum tpu_field_at i = 0; i < TPU_FIELDS; i++)
		if (!tpu_field_absent(syntax, flags, i))
			used += (size_t)snprintf(list + used, n - used, "%s%s=", used ? " " : "",
						 syntax->field[i].name);
	return list;
}

static int take_fields(struct assembler *a, const struct tpu_syntax *syntax, struct tpu_instruction *out)
{
	bool taken[TPU_FIELDS] = {false};
	char expected[64];
	list_fields(syntax, out->flags, expected, sizeof expected);
	for (;;) {
		if (npl_words_next(&a->words))
			return a->words.err->code;
		if (!*a->words.word)
			break;
		char *value = a->words.word, *name = strsep(&value, "=");
		enum tpu_field_at i = 0;
		while (i < TPU_FIELDS &&
		       (tpu_field_absent(syntax, out->flags, i) || strcmp(syntax->field[i].name, name)))
			i++;
		if (i == TPU_FIELDS || !value)
			return complain(a, "%s: '%s%s', expected %s", syntax->name, name, value ? "=" : "", expected);
		if (taken[i])
			return complain(a, "%s: %s= is there twice, expected %s", syntax->name, name, expected);
		taken[i] = true;
		int64_t number = 0;
		if (parse_number(a, name, value, syntax->field[i].low, syntax->field[i].high, &number))
			return a->words.err->code;
		tpu_field_set(out, i, (uint32_t)number);
	}
	for (enum tpu_field_at i = 0; i < TPU_FIELDS; i++)
		if (!taken[i] && !tpu_field_absent(syntax, out->flags, i))
			return complain(a, "%s without %s=, expected %s", syntax->name, syntax->field[i].name,
					expected);
	return 0;
}

static int take_line(struct assembler *a, struct tpu_program *program)
{
	struct tpu_instruction out = {0};
	const struct tpu_syntax *syntax;
	int rc;
	bool defines = !strcmp(a->words.word, "define");
	if (defines) {
		rc = take_definition(a);
	} else {
		rc = take_mnemonic(a, &syntax, &out);
		if (!rc)
			rc = out.opcode == TPU_SYNC         ? take_units(a, syntax, &out)
			     : out.opcode == TPU_SET_CONFIG ? take_register(a, &out)
							    : take_fields(a, syntax, &out);
	}
	if (!rc)
		rc = npl_words_end(&a->words);
	return rc || defines ? rc : tpu_program_add(program, out, a->words.line, a->words.err);
}

int tpu_assemble(const char *source, const char *text, size_t n, struct tpu_program *program, struct npl_err *err)
{
	struct assembler a = {0};
	*program = (struct tpu_program){0};
	int rc = npl_words_open(&a.words, source, text, n, err);
	while (!rc && npl_words_line(&a.words, &rc))
		rc = take_line(&a, program);
	tdestroy(a.definitions, free);
	if (rc)
		tpu_program_free(program);
	return rc;
}
