/* SPDX-License-Identifier: MIT
 *
 * Assembles the text of programs for every instruction set. A line has at most one instruction, definition or
 * directive; `#` and `;` begin a comment. The assembler takes any bytes: it copies only words of bounded length. */
#include <ctype.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

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
	void *definitions;  /* tree by name */
	bool begun;         /* a statement comes before this line */
	bool host, weights; /* addresses given */
};

/* The words of a slot's fields, by the field's index; empty: not given. */
struct field_words {
	char word[SIM_MOST_FIELDS][NPL_LONGEST_WORD + 1];
	int by_position; /* the number of words given by position */
	bool by_key;     /* a field that could have been given by position was given by its key */
};

#define MARKS ",|="

#define refuse_line(a, ...) npl_words_complain(&(a)->words, __VA_ARGS__)

static bool is_word(const struct assembler *a)
{
	return *a->words.word && !strchr(MARKS, *a->words.word);
}

static int compare_names(const void *a, const void *b)
{
	const struct definition *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static const struct definition *find_definition(const struct assembler *a, const char *name)
{
	struct definition key;
	snprintf(key.name, sizeof key.name, "%s", name);
	const struct definition *const *match = tfind(&key, &a->definitions, compare_names);
	return match ? *match : NULL;
}

static bool is_name(const char *word)
{
	if (!isalpha((unsigned char)*word) && *word != '_')
		return false;
	while (isalnum((unsigned char)*word) || *word == '_')
		word++;
	return !*word;
}

/* Returns what a word stands for: its definition, or itself. */
static const char *meaning(const struct assembler *a, const char *word)
{
	const struct definition *definition = is_name(word) ? find_definition(a, word) : NULL;
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

/* Parses a number. `prefix` goes before the message: "SB: ", "". */
static int parse_number(const struct assembler *a, const char *prefix, const char *name, const char *word, int64_t low,
			int64_t high, int64_t *value)
{
	const char *text = meaning(a, word);
	const bool defined = text != word;
	if (npl_parse_integer(text, value) && *value >= low && *value <= high)
		return 0;
	return refuse_line(a, "%s%s is '%s'%s%s%s, expected a whole number from %lld to %lld or a defined name", prefix,
			   name, word, defined ? " ('" : "", defined ? text : "", defined ? "')" : "", (long long)low,
			   (long long)high);
}

/* Takes the line "define NAME VALUE". */
static int take_definition(struct assembler *a)
{
	struct definition definition = {.line = a->words.line};
	int64_t number;
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (!is_name(a->words.word))
		return refuse_line(a, "define '%s', expected a name of letters, digits and '_'", a->words.word);
	const struct definition *earlier = find_definition(a, a->words.word);
	if (earlier)
		return refuse_line(a, "'%s' is defined already, on line %d; expected another name", a->words.word,
				   earlier->line);
	snprintf(definition.name, sizeof definition.name, "%s", a->words.word);
	if (npl_words_next(&a->words))
		return a->words.err->code;
	snprintf(definition.value, sizeof definition.value, "%s", meaning(a, a->words.word));
	if (!npl_parse_integer(definition.value, &number) && !parse_float(definition.value, &number))
		return refuse_line(a, "define %s '%s', expected a number or a defined name", definition.name,
				   a->words.word);
	struct definition *copy = malloc(sizeof *copy);
	if (copy) {
		*copy = definition;
		if (tsearch(copy, &a->definitions, compare_names))
			return npl_words_end(&a->words);
	}
	free(copy);
	return npl_fail(a->words.err, NPL_ENOMEM, "%s: out of memory", a->words.source);
}

static int add_constant(struct assembler *a, const struct sim_constant *constant)
{
	struct sim_program *program = a->program;
	if (program->n_constants == SIM_MOST_CONSTANTS)
		return refuse_line(a, "%s is %s %d, expected at most %d in a program", constant->name,
				   a->set->constants->directive + 1, SIM_MOST_CONSTANTS + 1, SIM_MOST_CONSTANTS);
	program->constant[program->n_constants++] = *constant;
	return 0;
}

/* Gets the number of a constant. One that every program knows gets its number when it is first named. */
static int take_constant(struct assembler *a, const struct sim_slot *slot, const struct sim_field *field,
			 const char *word, int64_t *number)
{
	const struct sim_constants *constants = a->set->constants;
	const char *names[SIM_MOST_NAMES] = {constants->identity};
	int n = 1;
	struct sim_constant known = {0};
	*number = sim_constant_number(a->program, word);
	if (*number || !strcmp(word, constants->identity))
		return 0;
	if (constants->known_values(word, known.value)) {
		*number = a->program->n_constants + 1;
		snprintf(known.name, sizeof known.name, "%.*s", SIM_CONSTANT_NAME - 1, word);
		return add_constant(a, &known);
	}
	for (const char *const *k = constants->known; *k; k++)
		names[n++] = *k;
	for (int i = 0; i < a->program->n_constants; i++)
		names[n++] = a->program->constant[i].name;
	return refuse_line(a, "%s: there is no %s '%s'%s (%s makes others)", slot->name, field->name, word,
			   NPL_NEAREST(word, names, n), constants->directive);
}

static int take_named(const struct assembler *a, const struct sim_slot *slot, const struct sim_field *field,
		      const char *word, int64_t *value)
{
	const char *names[SIM_MOST_NAMES];
	int n = 0;
	for (*value = 0; *value <= field->high; ++*value) {
		if (!field->names[*value])
			continue;
		if (!strcmp(field->names[*value], word))
			return 0;
		names[n++] = field->names[*value];
	}
	return refuse_line(a, "%s: there is no %s '%s'%s", slot->name, field->name, word, NPL_NEAREST(word, names, n));
}

static int take_value(struct assembler *a, const struct sim_slot *slot, const struct sim_field *field, const char *word,
		      void *out)
{
	char prefix[64];
	int64_t value = 0;
	int rc = 0;
	snprintf(prefix, sizeof prefix, "%s: ", slot->name);
	switch (field->kind) {
	case SIM_NAMED:
		rc = take_named(a, slot, field, word, &value);
		break;
	case SIM_CONSTANT:
		rc = take_constant(a, slot, field, word, &value);
		break;
	case SIM_FLOAT:
		if (!parse_float(meaning(a, word), &value))
			rc = refuse_line(
				a, "%s%s is '%s', expected a float32 number, its bits in hexadecimal or a defined name",
				prefix, field->name, word);
		break;
	case SIM_NUMBER:
		rc = parse_number(a, prefix, field->name, word, field->low, field->high, &value);
		break;
	}
	if (!rc)
		sim_field_set(out, field, value);
	return rc;
}

/* Lists the fields of the slot in this instruction: "READ OP,REUSE shift=". */
static const char *list_fields(const struct assembler *a, const struct sim_slot *slot, const void *out, char *list,
			       size_t n)
{
	size_t used = 0;
	struct sim_field field;
	snprintf(list, n, "no more");
	for (int i = 0; i < slot->n_fields && used < n; i++)
		if (sim_field_of(a->set, out, slot, i, &field))
			used += (size_t)snprintf(list + used, n - used, "%s%s%s",
						 !used         ? ""
						 : field.keyed ? " "
							       : ",",
						 slot->field[i].name, field.keyed ? "=" : "");
	return list;
}

/* Takes a field that is written as KEY=VALUE. */
static int take_keyed(struct assembler *a, const struct sim_slot *slot, const void *out, struct field_words *words)
{
	char list[200], key[NPL_LONGEST_WORD + 1];
	struct sim_field field;
	int i = 0;
	for (; i < slot->n_fields; i++) {
		sim_field_key(&slot->field[i], key, sizeof key);
		if (!strcmp(key, a->words.word) && sim_field_of(a->set, out, slot, i, &field))
			break;
	}
	if (i == slot->n_fields)
		return refuse_line(a, "%s: '%s=', expected %s", slot->name, a->words.word,
				   list_fields(a, slot, out, list, sizeof list));
	if (*words->word[i])
		return refuse_line(a, "%s: %s= is given twice, expected %s", slot->name, key,
				   list_fields(a, slot, out, list, sizeof list));
	int rc = npl_words_next(&a->words); /* the '=' */
	if (!rc)
		rc = npl_words_next(&a->words);
	if (rc)
		return rc;
	if (!is_word(a) || npl_words_follows(&a->words, '='))
		return refuse_line(a, "%s: %s= without a value, expected %s=VALUE", slot->name, key, key);
	memcpy(words->word[i], a->words.word, sizeof a->words.word);
	words->by_key |= !slot->field[i].keyed;
	return npl_words_next(&a->words);
}

/* Takes the next of the values that are given by position. */
static int take_positioned(struct assembler *a, const struct sim_slot *slot, const void *out, struct field_words *words)
{
	char list[200];
	int i = words->by_position++;
	if (i >= slot->n_fields || slot->field[i].keyed || *words->word[i])
		return refuse_line(a, "%s: '%s' is one value too many, expected %s", slot->name, a->words.word,
				   list_fields(a, slot, out, list, sizeof list));
	memcpy(words->word[i], a->words.word, sizeof a->words.word);
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (*a->words.word != ',')
		return 0;
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (is_word(a))
		return 0;
	return refuse_line(a, "%s: no %s after ',', expected %s", slot->name,
			   i + 1 < slot->n_fields ? slot->field[i + 1].name : "value",
			   list_fields(a, slot, out, list, sizeof list));
}

static int take_fields(struct assembler *a, const struct sim_slot *slot, void *out)
{
	struct field_words words = {0};
	struct sim_field field;
	char list[200];
	while (is_word(a)) {
		const bool keyed = npl_words_follows(&a->words, '=');
		if (keyed ? take_keyed(a, slot, out, &words) : take_positioned(a, slot, out, &words))
			return a->words.err->code;
	}
	for (int i = 0; i < slot->n_fields; i++) {
		/* Where slots are side by side, a field that has a key is 0 when it is left out. */
		const bool required = a->set->opcode || (!slot->field[i].keyed && !words.by_key);
		if (!sim_field_of(a->set, out, slot, i, &field))
			continue;
		if (!*words.word[i] && required)
			return refuse_line(a, "%s: no %s, expected %s", slot->name, field.name,
					   list_fields(a, slot, out, list, sizeof list));
		if (*words.word[i] && take_value(a, slot, &field, words.word[i], out))
			return a->words.err->code;
	}
	return 0;
}

static int take_flag(struct assembler *a, const struct sim_slot *slot, const char *name, unsigned *taken_mask,
		     void *out)
{
	const char *names[SIM_MOST_NAMES];
	int n = 0;
	for (const struct sim_flag *f = slot->flag; f && f->name; f++) {
		names[n++] = f->name;
		if (strcmp(f->name, name))
			continue;
		if (*taken_mask & f->mask)
			return refuse_line(a, "%s: '%s' is one too many, expected each flag once and one of its kind",
					   slot->name, name);
		*taken_mask |= f->mask;
		sim_field_set(out, a->set->flags, sim_flags_of(a->set, out) | f->bits);
		return 0;
	}
	return refuse_line(a, "%s: there is no %s '%s'%s", slot->name, slot->flag_noun ? slot->flag_noun : "flag", name,
			   n ? NPL_NEAREST(name, names, n) : ", expected none");
}

/* Takes the flags that are words after the name. */
static int take_flag_words(struct assembler *a, const struct sim_slot *slot, void *out)
{
	unsigned taken_mask = 0;
	char list[200];
	size_t used = 0;
	while (is_word(a))
		if (take_flag(a, slot, a->words.word, &taken_mask, out) || npl_words_next(&a->words))
			return a->words.err->code;
	if (taken_mask)
		return 0;
	for (const struct sim_flag *f = slot->flag; f->name && used < sizeof list; f++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", f->name);
	return refuse_line(a, "%s without a %s, expected one at least: %s", slot->name, slot->flag_noun, list);
}

/* Finds the slot that a word names. */
static int find_slot(struct assembler *a, const char *name, int *slot)
{
	const struct sim_instruction_set *set = a->set;
	const char *names[SIM_MOST_NAMES];
	for (*slot = 0; *slot < set->n_slots; ++*slot) {
		names[*slot] = set->slot[*slot].name;
		if (!strcmp(names[*slot], name))
			return 0;
	}
	names[set->n_slots] = "define";
	return refuse_line(a, "there is no %s '%s'%s", set->opcode ? "instruction" : "slot", name,
			   NPL_NEAREST(name, names, set->n_slots + (set->opcode != NULL)));
}

/* Takes a slot from its name on; afterwards the next word is the one after the slot. */
static int take_slot(struct assembler *a, unsigned *taken_slots, void *out)
{
	char name[NPL_LONGEST_WORD + 1], *flag_text = name;
	unsigned flags = 0;
	int i;
	if (!is_word(a))
		return refuse_line(a, "no %s %s, expected a name", a->set->opcode ? "instruction" : "slot",
				   *a->words.word ? "here" : "at the end of the line");
	memcpy(name, a->words.word, sizeof name);
	const char *first = a->set->flags ? strsep(&flag_text, ".") : name;
	flag_text = a->set->flags ? flag_text : NULL;
	if (find_slot(a, first, &i))
		return a->words.err->code;
	const struct sim_slot *slot = &a->set->slot[i];
	if (*taken_slots & 1U << i)
		return refuse_line(a, "%s: a second one in this line, expected each slot once", slot->name);
	*taken_slots |= 1U << i;
	if (a->set->opcode)
		sim_field_set(out, a->set->opcode, slot->opcode);
	if (flag_text && slot->flag_noun)
		return refuse_line(a, "%s.%s: expected each %s as a word of its own: %s %s", slot->name, flag_text,
				   slot->flag_noun, slot->name, flag_text);
	for (const char *flag; (flag = strsep(&flag_text, "."));)
		if (take_flag(a, slot, flag, &flags, out))
			return a->words.err->code;
	if (npl_words_next(&a->words))
		return a->words.err->code;
	return slot->flag_noun ? take_flag_words(a, slot, out) : take_fields(a, slot, out);
}

static int take_instruction(struct assembler *a)
{
	_Alignas(8) char out[SIM_MOST_INSTRUCTION] = {0};
	unsigned taken_slots = 0;
	char reason[400];
	for (;;) {
		if (take_slot(a, &taken_slots, out))
			return a->words.err->code;
		if (*a->words.word != '|' || a->set->opcode)
			break;
		if (npl_words_next(&a->words))
			return a->words.err->code;
	}
	if (*a->words.word)
		return refuse_line(a, "'%s', expected %sthe end of the line", a->words.word,
				   a->set->opcode ? "" : "'|' or ");
	if (!sim_instruction_ok(a->set, a->program->n_constants, out, reason, sizeof reason))
		return refuse_line(a, "%s", reason);
	return sim_program_add(a->program, out, a->words.line, a->words.err);
}

static int take_pair_value(struct assembler *a, const char *name, const char *part, int16_t *value)
{
	char prefix[SIM_CONSTANT_NAME + 2];
	int64_t number = 0;
	snprintf(prefix, sizeof prefix, "%s: ", name);
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (!is_word(a))
		return refuse_line(a, "%s: %s is not there, expected %d pairs a,b", name, part,
				   a->set->constants->pairs);
	int rc = parse_number(a, prefix, part, a->words.word, INT16_MIN, INT16_MAX, &number);
	*value = (int16_t)number;
	return rc;
}

/* Takes a table of constants, "NAME a0,b0 a1,b1 ...", or the name alone of a table that every program knows. */
static int take_constant_table(struct assembler *a)
{
	const struct sim_constants *constants = a->set->constants;
	struct sim_constant constant = {0};
	char a_name[16], b_name[16];
	if (!sim_constant_name_ok(constants, a->words.word) || strlen(a->words.word) >= sizeof constant.name)
		return refuse_line(a, "%s '%s', expected a name of at most %zu letters, digits and '_', other than %s",
				   constants->directive, a->words.word, sizeof constant.name - 1, constants->identity);
	snprintf(constant.name, sizeof constant.name, "%.*s", SIM_CONSTANT_NAME - 1, a->words.word);
	if (sim_constant_number(a->program, constant.name))
		return refuse_line(a, "the program has a %s %s already, expected another name",
				   constants->directive + 1, constant.name);
	if (npl_words_at_end(&a->words) && constants->known_values(constant.name, constant.value))
		return add_constant(a, &constant);
	for (int i = 0; i < constants->pairs; i++) {
		snprintf(a_name, sizeof a_name, "a%d", i);
		snprintf(b_name, sizeof b_name, "b%d", i);
		if (take_pair_value(a, constant.name, a_name, &constant.value[i]) || npl_words_next(&a->words))
			return a->words.err->code;
		if (*a->words.word != ',')
			return refuse_line(a, "%s: %s without %s, expected %d pairs a,b", constant.name, a_name, b_name,
					   constants->pairs);
		if (take_pair_value(a, constant.name, b_name, &constant.value[constants->pairs + i]))
			return a->words.err->code;
	}
	return add_constant(a, &constant);
}

static int take_address(struct assembler *a, const char *directive, bool *is_set, uint64_t *address)
{
	int64_t value = 0;
	if (*is_set)
		return refuse_line(a, "a second %s, expected one", directive);
	*is_set = true;
	int rc = parse_number(a, "", directive, a->words.word, 0, ((int64_t)1 << a->set->address_bits) - 1, &value);
	*address = (uint64_t)value;
	return rc;
}

static int take_directive(struct assembler *a)
{
	enum { MACHINE, HOST, WEIGHTS, CONSTANT };
	const struct sim_constants *constants = a->set->constants;
	const char *names[] = {".machine", ".host", ".weights", constants ? constants->directive : NULL};
	static const char *const lacks[] = {"a name", "an address", "an address", "a name and pairs a,b"};
	const int n = constants ? 4 : a->set->has_addresses ? 3 : 1;
	int i = 0, rc = 0;
	while (i < n && strcmp(names[i], a->words.word))
		i++;
	if (i == n)
		return refuse_line(a, "there is no directive '%s'%s", a->words.word,
				   NPL_NEAREST(a->words.word, names, n));
	if (npl_words_next(&a->words))
		return a->words.err->code;
	if (!is_word(a))
		return refuse_line(a, "%s without %s, expected one", names[i], lacks[i]);
	switch (i) {
	case MACHINE: /* sim_text_machine has read the name before */
		rc = a->begun ? refuse_line(a, ".machine, expected it before all else and once") : 0;
		break;
	case HOST:
		rc = take_address(a, names[i], &a->host, &a->program->host_address);
		break;
	case WEIGHTS:
		rc = take_address(a, names[i], &a->weights, &a->program->weight_address);
		break;
	default:
		rc = take_constant_table(a);
	}
	return rc ? rc : npl_words_end(&a->words);
}

static int open_words(struct npl_words *words, const char *source, const char *text, size_t n, struct npl_err *err)
{
	int rc = npl_words_open(words, source, text, n, err);
	words->comments = "#;";
	words->marks = MARKS;
	return rc;
}

int sim_assemble(const struct sim_instruction_set *set, const char *source, const char *text, size_t n,
		 struct sim_program *program, struct npl_err *err)
{
	struct assembler a = {.set = set, .program = program};
	*program = (struct sim_program){.set = set};
	int rc = open_words(&a.words, source, text, n, err);
	while (!rc && npl_words_line(&a.words, &rc)) {
		rc = *a.words.word == '.'              ? take_directive(&a)
		     : !strcmp(a.words.word, "define") ? take_definition(&a)
						       : take_instruction(&a);
		a.begun = true;
	}
	tdestroy(a.definitions, free);
	if (rc)
		sim_program_free(program);
	return rc;
}

int sim_text_machine(const char *source, const char *text, size_t n, char *machine, size_t capacity, int *line,
		     struct npl_err *err)
{
	struct npl_words words;
	int rc = open_words(&words, source, text, n, err);
	*machine = '\0';
	if (rc || !npl_words_line(&words, &rc) || strcmp(words.word, ".machine"))
		return rc;
	if (npl_words_next(&words))
		return err->code;
	if (strlen(words.word) >= capacity)
		return npl_words_complain(&words, ".machine '%s', expected a name of at most %zu characters",
					  words.word, capacity - 1);
	snprintf(machine, capacity, "%s", words.word);
	*line = words.line;
	return 0;
}
