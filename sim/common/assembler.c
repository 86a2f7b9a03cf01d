/* SPDX-License-Identifier: MIT
 *
 * Assembles the text of programs for every instruction set. A line has at most one instruction, definition or
 * directive; `#` and `;` begin a comment. The assembler takes any bytes: it copies only words of bounded length. */
#include <ctype.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/nearest.h"
#include "core/files/words.h"
#include "program.h"

struct definition {
	char name[NPL_LONGEST_WORD + 1], value[NPL_LONGEST_WORD + 1];
	int line;
};

struct assembler {
	struct npl_words words;
	const struct sim_instruction_set *set;
	struct sim_program *program;
	void *definitions;   /* tree by name */
	bool begun;          /* a statement comes before this line */
	unsigned given_mask; /* the directives of which there is only one, by number, that came before */
	/* The slot that is being taken, and the instruction that it is a part of. */
	const struct sim_slot *slot;
	_Alignas(8) char out[SIM_MAX_INSTRUCTION];
};

/* The words of a slot's fields, by the field's index; empty: not given. */
struct field_words {
	char word[SIM_MAX_FIELDS][NPL_LONGEST_WORD + 1];
	int by_position; /* the number of words given by position */
	bool by_key;     /* a field that could have been given by position was given by its key */
};

#define MARKS ",|="

/* The first refusal ends the text (core/files/words.h), so that what follows it is harmless. */
#define refuse_line(a, ...)         npl_words_complain(&(a)->words, __VA_ARGS__)
#define refuse_slot(a, format, ...) refuse_line(a, "%s: " format, (a)->slot->name, __VA_ARGS__)

static bool is_word(const struct assembler *a)
{
	return *a->words.word && !strchr(MARKS, *a->words.word);
}

/* Compares names, with which definitions begin. */
static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static const struct definition *find_definition(const struct assembler *a, const char *name)
{
	const struct definition *const *match = tfind(name, &a->definitions, compare_names);
	return match ? *match : NULL;
}

/* Returns what a word stands for: its definition, or itself. */
static const char *meaning(const struct assembler *a, const char *word)
{
	const struct definition *definition = find_definition(a, word);
	return definition ? definition->value : word;
}

/* Reads a float32, which is written in decimal or as its bits in hexadecimal. */
static bool parse_float(const char *text, int64_t *bits)
{
	double number;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return npl_parse_integer(text, bits) && *bits <= UINT32_MAX;
	if (!npl_parse_number(text, &number))
		return false;
	const float value = strtof(text, NULL);
	uint32_t word;
	memcpy(&word, &value, sizeof word);
	*bits = word;
	return isfinite(value);
}

/* Returns a number. The message names it and the part of the line that it is in; "": no part. */
static int64_t number_of(struct assembler *a, const char *part, const char *name, const char *word, int64_t low,
			 int64_t high)
{
	const char *text = meaning(a, word);
	const bool defined = text != word;
	int64_t value;
	if (npl_parse_integer(text, &value) && value >= low && value <= high)
		return value;
	refuse_line(a, "%s%s%s is '%s'%s%s%s, expected a whole number from %lld to %lld or a defined name", part,
		    *part ? ": " : "", name, word, defined ? " ('" : "", defined ? text : "", defined ? "')" : "",
		    (long long)low, (long long)high);
	return 0;
}

/* Takes the line "define NAME VALUE". */
static int take_definition(struct assembler *a)
{
	struct definition definition = {.line = a->words.line};
	int64_t number;
	npl_words_next(&a->words);
	if (!sim_is_name(a->words.word))
		return refuse_line(a, "define '%s', expected a name of letters, digits and '_'", a->words.word);
	const struct definition *earlier = find_definition(a, a->words.word);
	if (earlier)
		return refuse_line(a, "'%s' is defined already, on line %d; expected another name", a->words.word,
				   earlier->line);
	memcpy(definition.name, a->words.word, sizeof definition.name);
	npl_words_next(&a->words);
	snprintf(definition.value, sizeof definition.value, "%s", meaning(a, a->words.word));
	if (!npl_parse_integer(definition.value, &number) && !parse_float(definition.value, &number))
		return refuse_line(a, "define %s '%s', expected a number or a defined name", definition.name,
				   a->words.word);
	struct definition *copy = malloc(sizeof *copy);
	if (copy)
		*copy = definition;
	if (copy && tsearch(copy, &a->definitions, compare_names))
		return npl_words_end(&a->words);
	free(copy);
	return npl_words_fail(&a->words, npl_fail(a->words.err, NPL_ENOMEM, "%s: out of memory", a->words.source));
}

static int add_constant(struct assembler *a, const char *name, const int16_t *value)
{
	const struct sim_constants *constants = a->set->constants;
	struct sim_program *program = a->program;
	if (program->n_constants == SIM_MAX_CONSTANTS)
		return refuse_line(a, "%s is %s %d, expected at most %d in a program", name, constants->directive + 1,
				   SIM_MAX_CONSTANTS + 1, SIM_MAX_CONSTANTS);
	program->constant[program->n_constants++] = sim_constant_of(constants, name, value);
	return 0;
}

/* Returns the number of a constant by its name. One that every program knows is added at its first use. */
static int64_t constant_of(struct assembler *a, const struct sim_field *field, const char *word)
{
	const struct sim_constants *constants = a->set->constants;
	const char *names[SIM_MAX_NAMES] = {constants->identity};
	const int number = sim_constant_number(a->program, word);
	int n = 1;
	if (number || !strcmp(word, constants->identity))
		return number;
	for (const struct sim_known_constant *k = constants->known; k->name; k++) {
		names[n++] = k->name;
		if (!strcmp(k->name, word) && !add_constant(a, k->name, k->value))
			return a->program->n_constants;
	}
	for (int i = 0; i < a->program->n_constants; i++)
		names[n++] = a->program->constant[i].name;
	refuse_slot(a, "there is no %s '%s'%s (%s makes others)", field->name, word, NPL_NEAREST(word, names, n),
		    constants->directive);
	return 0;
}

static int64_t named_value(struct assembler *a, const struct sim_field *field, const char *word)
{
	const char *names[SIM_MAX_NAMES];
	int n = 0;
	for (int64_t value = 0; value <= field->high; value++)
		if (field->names[value] && !strcmp(names[n++] = field->names[value], word))
			return value;
	refuse_slot(a, "there is no %s '%s'%s", field->name, word, NPL_NEAREST(word, names, n));
	return 0;
}

/* Returns the value that a word gives a field of the slot. */
static int64_t value_of(struct assembler *a, const struct sim_field *field, const char *word)
{
	int64_t bits = 0;
	switch (field->kind) {
	case SIM_NAMED:
		return named_value(a, field, word);
	case SIM_CONSTANT:
		return constant_of(a, field, word);
	case SIM_FLOAT:
		if (!parse_float(meaning(a, word), &bits))
			refuse_slot(a,
				    "%s is '%s', expected a float32 number, its bits in hexadecimal or a defined name",
				    field->name, word);
		return bits;
	case SIM_NUMBER:
		break;
	}
	return number_of(a, a->slot->name, field->name, word, field->low, field->high);
}

/* Gets field i of the slot as it is in this instruction; false: the instruction has no such field. */
static bool field_of(const struct assembler *a, int i, struct sim_field *field)
{
	return sim_field_of(a->set, a->out, a->slot, i, field);
}

/* Lists the fields of the slot in this instruction: "READ OP,REUSE shift=". */
static const char *list_fields(const struct assembler *a, char *list, size_t n)
{
	struct sim_field field;
	for (int i = 0; i < a->slot->n_fields; i++)
		if (field_of(a, i, &field))
			npl_append(list, n, field.keyed ? " " : ",", "%s%s", a->slot->field[i].name,
				   field.keyed ? "=" : "");
	return *list ? list : "no more";
}
#define FIELDS(a) list_fields((a), (char[200]){0}, 200)

/* Takes a field that is written as KEY=VALUE. */
static int take_keyed(struct assembler *a, struct field_words *words)
{
	const struct sim_slot *slot = a->slot;
	char key[NPL_LONGEST_WORD + 1];
	struct sim_field field;
	int i = 0;
	for (; i < slot->n_fields; i++) {
		sim_field_key(&slot->field[i], key, sizeof key);
		if (!strcmp(key, a->words.word) && field_of(a, i, &field))
			break;
	}
	if (i == slot->n_fields)
		return refuse_slot(a, "'%s=', expected %s", a->words.word, FIELDS(a));
	if (*words->word[i])
		return refuse_slot(a, "%s= is given twice, expected %s", key, FIELDS(a));
	npl_words_next(&a->words); /* the '=' */
	npl_words_next(&a->words);
	if (!is_word(a) || npl_words_follows(&a->words, '='))
		return refuse_slot(a, "%s= without a value, expected %s=VALUE", key, key);
	memcpy(words->word[i], a->words.word, sizeof a->words.word);
	words->by_key |= !slot->field[i].keyed;
	return npl_words_next(&a->words);
}

/* Takes the next of the values that are given by position. */
static int take_positioned(struct assembler *a, struct field_words *words)
{
	const struct sim_slot *slot = a->slot;
	const int i = words->by_position++;
	if (i >= slot->n_fields || slot->field[i].keyed || *words->word[i])
		return refuse_slot(a, "'%s' is one value too many, expected %s", a->words.word, FIELDS(a));
	memcpy(words->word[i], a->words.word, sizeof a->words.word);
	npl_words_next(&a->words);
	if (*a->words.word != ',')
		return 0;
	npl_words_next(&a->words);
	if (is_word(a))
		return 0;
	return refuse_slot(a, "no %s after ',', expected %s",
			   i + 1 < slot->n_fields ? slot->field[i + 1].name : "value", FIELDS(a));
}

static int take_fields(struct assembler *a)
{
	struct field_words words = {0};
	struct sim_field field;
	while (is_word(a))
		if (npl_words_follows(&a->words, '='))
			take_keyed(a, &words);
		else
			take_positioned(a, &words);
	for (int i = 0; i < a->slot->n_fields; i++) {
		/* Where slots are side by side, a field that has a key is 0 when it is left out. */
		const bool required = a->set->opcode || (!a->slot->field[i].keyed && !words.by_key);
		if (!field_of(a, i, &field))
			continue;
		if (*words.word[i])
			sim_field_set(a->out, &field, value_of(a, &field, words.word[i]));
		else if (required)
			return refuse_slot(a, "no %s, expected %s", field.name, FIELDS(a));
	}
	return a->words.rc;
}

static int take_flag(struct assembler *a, const char *name, unsigned *taken_mask)
{
	const char *names[SIM_MAX_NAMES], *noun = a->slot->flag_noun;
	int n = 0;
	for (const struct sim_flag *f = a->slot->flag; f && f->name; f++) {
		names[n++] = f->name;
		if (strcmp(f->name, name))
			continue;
		if (*taken_mask & f->mask)
			return refuse_slot(a, "'%s' is one too many, expected each flag once and one of its kind",
					   name);
		*taken_mask |= f->mask;
		sim_field_set(a->out, a->set->flags, sim_flags_of(a->set, a->out) | f->bits);
		return 0;
	}
	return refuse_slot(a, "there is no %s '%s'%s", noun ? noun : "flag", name,
			   n ? NPL_NEAREST(name, names, n) : ", expected none");
}

/* Finds the slot that a word names; NULL: it is refused. */
static const struct sim_slot *find_slot(struct assembler *a, const char *name)
{
	const struct sim_instruction_set *set = a->set;
	const char *names[SIM_MAX_NAMES];
	for (int i = 0; i < set->n_slots; i++)
		if (!strcmp(names[i] = set->slot[i].name, name))
			return &set->slot[i];
	names[set->n_slots] = "define";
	refuse_line(a, "there is no %s '%s'%s", set->opcode ? "instruction" : "slot", name,
		    NPL_NEAREST(name, names, set->n_slots + (set->opcode != NULL)));
	return NULL;
}

/* Takes a slot from its name on; afterwards the next word is the one after the slot. */
static int take_slot(struct assembler *a, unsigned *taken_slots)
{
	char name[NPL_LONGEST_WORD + 1], *flags = name;
	unsigned taken_mask = 0;
	if (!is_word(a))
		return refuse_line(a, "no %s %s, expected a name", a->set->opcode ? "instruction" : "slot",
				   *a->words.word ? "here" : "at the end of the line");
	memcpy(name, a->words.word, sizeof name);
	const struct sim_slot *slot = a->slot = find_slot(a, strsep(&flags, a->set->flags ? "." : ""));
	if (!slot)
		return a->words.rc;
	const unsigned bit = 1U << (slot - a->set->slot);
	if (*taken_slots & bit)
		return refuse_line(a, "%s: a second one in this line, expected each slot once", name);
	*taken_slots |= bit;
	if (a->set->opcode)
		sim_field_set(a->out, a->set->opcode, slot->opcode);
	if (flags && slot->flag_noun)
		return refuse_line(a, "%s.%s: expected each %s as a word of its own: %s %s", name, flags,
				   slot->flag_noun, name, flags);
	for (const char *flag; (flag = strsep(&flags, "."));)
		take_flag(a, flag, &taken_mask);
	npl_words_next(&a->words);
	for (; slot->flag_noun && is_word(a); npl_words_next(&a->words)) /* flags that are words after the name */
		take_flag(a, a->words.word, &taken_mask);
	return take_fields(a);
}

static int take_instruction(struct assembler *a)
{
	unsigned taken_slots = 0;
	char reason[400];
	memset(a->out, 0, a->set->instruction_size);
	while (!take_slot(a, &taken_slots) && *a->words.word == '|' && !a->set->opcode)
		npl_words_next(&a->words);
	if (*a->words.word)
		return refuse_line(a, "'%s', expected %sthe end of the line", a->words.word,
				   a->set->opcode ? "" : "'|' or ");
	if (a->words.rc)
		return a->words.rc;
	if (!sim_instruction_ok(a->set, a->program->n_constants, a->out, reason, sizeof reason))
		return refuse_line(a, "%s%s%s", a->set->opcode ? a->slot->name : "", a->set->opcode ? ": " : "",
				   reason);
	if (sim_program_add(a->program, a->out, a->words.line, a->words.err))
		return npl_words_fail(&a->words, NPL_ENOMEM);
	return 0;
}

/* Takes a table of constants, "NAME a0,b0 a1,b1 ...", or the name alone of a table that every program knows. */
static int take_constant_table(struct assembler *a)
{
	const struct sim_constants *constants = a->set->constants;
	int16_t value[2 * SIM_MAX_PAIRS];
	char name[SIM_CONSTANT_NAME], part[16];
	if (!sim_is_name(a->words.word) || !strcmp(a->words.word, constants->identity) ||
	    strlen(a->words.word) >= sizeof name)
		return refuse_line(a, "%s '%s', expected a name of at most %zu letters, digits and '_', other than %s",
				   constants->directive, a->words.word, sizeof name - 1, constants->identity);
	snprintf(name, sizeof name, "%.*s", SIM_CONSTANT_NAME - 1, a->words.word);
	if (sim_constant_number(a->program, name))
		return refuse_line(a, "the program has a %s %s already, expected another name",
				   constants->directive + 1, name);
	const int16_t *known = sim_known_values(constants, name);
	if (npl_words_at_end(&a->words) && known)
		return add_constant(a, name, known);
	for (int i = 0; i < 2 * constants->pairs; i++) {
		const bool second = i % 2;
		snprintf(part, sizeof part, "%c%d", second ? 'b' : 'a', i / 2);
		npl_words_next(&a->words);
		const bool comma = *a->words.word == ',';
		if (second && comma)
			npl_words_next(&a->words);
		if (second != comma || !is_word(a))
			return refuse_line(a, "%s: no %s, expected %d pairs a,b", name, part, constants->pairs);
		value[i / 2 + i % 2 * constants->pairs] = (int16_t)number_of(a, name, part, a->words.word, INT16_MIN,
									     INT16_MAX);
	}
	return add_constant(a, name, value);
}

static int take_directive(struct assembler *a)
{
	enum { MACHINE, HOST, WEIGHTS, CONSTANT };
	const struct sim_constants *constants = a->set->constants;
	const char *names[] = {".machine", ".host", ".weights", constants ? constants->directive : NULL};
	static const char *const lacks[] = {"a name", "an address", "an address", "a name and pairs a,b"};
	const int n = constants ? 4 : a->set->address_bits ? 3 : 1;
	int i = 0;
	while (i < n && strcmp(names[i], a->words.word))
		i++;
	if (i == n)
		return refuse_line(a, "there is no directive '%s'%s", a->words.word,
				   NPL_NEAREST(a->words.word, names, n));
	npl_words_next(&a->words);
	if (!is_word(a))
		return refuse_line(a, "%s without %s, expected one", names[i], lacks[i]);
	if (i == MACHINE && a->begun) /* sim_text_machine has read the name before */
		refuse_line(a, ".machine, expected it before all else and once");
	else if (i == CONSTANT)
		take_constant_table(a);
	else if (i != MACHINE && a->given_mask & 1U << i)
		refuse_line(a, "a second %s, expected one", names[i]);
	else if (i != MACHINE)
		*(i == HOST ? &a->program->host_address : &a->program->weight_address) = (uint64_t)number_of(
			a, "", names[i], a->words.word, 0, ((int64_t)1 << a->set->address_bits) - 1);
	a->given_mask |= 1U << i;
	return npl_words_end(&a->words);
}

static void open_words(struct npl_words *words, const char *source, const char *text, size_t n, struct npl_err *err)
{
	npl_words_open(words, source, text, n, err);
	words->comments = "#;";
	words->marks = MARKS;
}

int sim_assemble(const struct sim_instruction_set *set, const char *source, const char *text, size_t n,
		 struct sim_program *program, struct npl_err *err)
{
	struct assembler a = {.set = set, .program = program};
	*program = (struct sim_program){.set = set};
	for (open_words(&a.words, source, text, n, err); npl_words_line(&a.words); a.begun = true)
		if (*a.words.word == '.')
			take_directive(&a);
		else if (!strcmp(a.words.word, "define"))
			take_definition(&a);
		else
			take_instruction(&a);
	tdestroy(a.definitions, free);
	if (a.words.rc)
		sim_program_free(program);
	return a.words.rc;
}

int sim_text_machine(const char *source, const char *text, size_t n, char machine[SIM_MACHINE_NAME], int *line,
		     struct npl_err *err)
{
	struct npl_words words;
	open_words(&words, source, text, n, err);
	*machine = '\0';
	if (!npl_words_line(&words) || strcmp(words.word, ".machine") || npl_words_next(&words))
		return words.rc;
	if (strlen(words.word) >= SIM_MACHINE_NAME)
		return npl_words_complain(&words, ".machine '%s', expected a name of at most %d characters", words.word,
					  SIM_MACHINE_NAME - 1);
	memcpy(machine, words.word, strlen(words.word) + 1);
	*line = words.line;
	return 0;
}
