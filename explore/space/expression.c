/* SPDX-License-Identifier: MIT
 *
 * Expressions (expression.h): a parser by recursive descent, with a level for each strength of operators. */
#include "expression.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"

#define MAX_DEPTH 100  /* brackets within brackets, and signs before signs */
#define MAX_NODES 1000 /* a longer expression could be nested deeper than a stack */

enum operation {
	NUMBER,
	TEXT,
	NAME,
	OR,
	AND,
	NOT,
	LESS,
	LESS_OR_EQUAL,
	GREATER,
	GREATER_OR_EQUAL,
	EQUAL,
	NOT_EQUAL,
	ADD,
	SUBTRACT,
	MULTIPLY,
	DIVIDE,
	NEGATE,
	POWER,
	ABS,
	CEIL,
	FLOOR,
	LOG2,
	MAX,
	MIN,
	ROUND,
	SQRT,
};

struct sweep_node {
	enum operation operation;
	double number;
	const char *text;
	int name; /* NAME: its index in the expression */
	const struct sweep_node *left, *right;
};

static const struct {
	const char *name;
	enum operation operation;
	bool of_several; /* two arguments or more */
} functions[] = {{"abs", ABS, false}, {"ceil", CEIL, false}, {"floor", FLOOR, false}, {"log2", LOG2, false},
		 {"max", MAX, true},  {"min", MIN, true},    {"round", ROUND, false}, {"sqrt", SQRT, false}};
#define N_FUNCTIONS ((int)(sizeof functions / sizeof *functions))

struct parser {
	const char *at; /* what has not been read yet, without blanks before it */
	struct npl_arena *arena;
	struct sweep_expression *expression;
	int depth, n_nodes;
	struct npl_err *err; /* has the first failure */
	bool failed;
};

static const struct sweep_node *parse_or(struct parser *p);
static const struct sweep_node *parse_negation(struct parser *p);

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

/* Fails at the place that has been reached; returns NULL. */
static const struct sweep_node *refuse(struct parser *p, const char *expected)
{
	if (!p->failed)
		npl_fail(p->err, NPL_EUSAGE, "'%s': expected %s, found %s%.20s%s", p->expression->text, expected,
			 *p->at ? "'" : "the end", p->at, *p->at ? "'" : "");
	p->failed = true;
	return NULL;
}

static const struct sweep_node *make(struct parser *p, struct sweep_node node)
{
	if (!p->failed && p->n_nodes++ == MAX_NODES)
		return refuse(p, "an expression of at most 1000 parts");
	struct sweep_node *made = p->failed ? NULL : npl_arena_alloc(p->arena, sizeof *made);
	if (made)
		*made = node;
	else if (!p->failed) {
		npl_no_memory(p->err);
		p->failed = true;
	}
	return made;
}

/* Takes an operator that stands next, if it does. A word may not be the beginning of a longer one. */
static bool take(struct parser *p, const char *symbol)
{
	const size_t length = strlen(symbol);
	if (p->failed || strncmp(p->at, symbol, length) != 0)
		return false;
	if (isalpha((unsigned char)*symbol) &&
	    (isalnum((unsigned char)p->at[length]) || p->at[length] == '_' || p->at[length] == '.'))
		return false;
	p->at += length;
	skip_blanks(p);
	return true;
}

static const struct sweep_node *parse_number(struct parser *p)
{
	static const char suffix[] = "KMGT";
	char *end;
	double number = strtod(p->at, &end);
	const char *power = *end ? strchr(suffix, *end) : NULL;
	if (power) {
		const bool binary = end[1] == 'i';
		number *= pow(binary ? 1024 : 1000, (double)(power - suffix + 1));
		end += 1 + binary;
	}
	p->at = end;
	if (isalnum((unsigned char)*p->at) || *p->at == '_')
		return refuse(p, "an operator after the number");
	if (!isfinite(number))
		return refuse(p, "a number that is not too large");
	skip_blanks(p);
	return make(p, (struct sweep_node){.operation = NUMBER, .number = number});
}

static const struct sweep_node *parse_text(struct parser *p)
{
	const char quote = *p->at++;
	const char *end = strchr(p->at, quote);
	if (!end)
		return refuse(p, "a quote at the end of the text");
	const char *text = npl_arena_strndup(p->arena, p->at, (size_t)(end - p->at));
	p->at = end + 1;
	skip_blanks(p);
	return make(p, (struct sweep_node){.operation = TEXT, .number = NAN, .text = text ? text : ""});
}

/* Parses the arguments of a function, of which the bracket has been read. */
static const struct sweep_node *parse_arguments(struct parser *p, int f)
{
	const struct sweep_node *node = parse_or(p);
	if (!functions[f].of_several)
		node = make(p, (struct sweep_node){.operation = functions[f].operation, .left = node});
	else if (*p->at != ',')
		return refuse(p, "',' and another argument");
	while (functions[f].of_several && take(p, ",")) {
		const struct sweep_node *right = parse_or(p);
		node = make(p, (struct sweep_node){.operation = functions[f].operation, .left = node, .right = right});
	}
	return take(p, ")") ? node : refuse(p, "')' after the arguments");
}

/* Parses a name: of a function if a bracket follows, else of a parameter or a result. */
static const struct sweep_node *parse_name(struct parser *p)
{
	struct sweep_expression *e = p->expression;
	size_t length = 0;
	while (isalnum((unsigned char)p->at[length]) || p->at[length] == '_' || p->at[length] == '.')
		length++;
	const char *name = npl_arena_strndup(p->arena, p->at, length);
	const char *candidates[N_FUNCTIONS];
	if (!name)
		return make(p, (struct sweep_node){0});
	p->at += length;
	skip_blanks(p);
	if (*p->at == '(') {
		for (int f = 0; f < N_FUNCTIONS; f++) {
			candidates[f] = functions[f].name;
			if (!strcmp(name, functions[f].name) && take(p, "("))
				return parse_arguments(p, f);
		}
		npl_fail(p->err, NPL_EUSAGE, "'%s': there is no function '%s'%s", e->text, name,
			 NPL_NEAREST(name, candidates, N_FUNCTIONS));
		p->failed = true;
		return NULL;
	}
	int i = 0;
	while (i < e->n_names && strcmp(e->name[i], name) != 0)
		i++;
	if (i == SWEEP_EXPRESSION_NAMES) {
		npl_fail(p->err, NPL_EUSAGE, "'%s': expected at most %d different names", e->text,
			 SWEEP_EXPRESSION_NAMES);
		p->failed = true;
		return NULL;
	}
	if (i == e->n_names)
		e->name[e->n_names++] = name;
	return make(p, (struct sweep_node){.operation = NAME, .name = i});
}

static const struct sweep_node *parse_operand(struct parser *p)
{
	if (p->failed)
		return NULL;
	if (isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1])))
		return parse_number(p);
	if (*p->at == '\'' || *p->at == '"')
		return parse_text(p);
	if (isalpha((unsigned char)*p->at) || *p->at == '_')
		return parse_name(p);
	if (!take(p, "("))
		return refuse(p, "a number, a name or '('");
	const struct sweep_node *node = parse_or(p);
	return take(p, ")") ? node : refuse(p, "')'");
}

static const struct sweep_node *parse_power(struct parser *p)
{
	const struct sweep_node *node = parse_operand(p);
	if (!take(p, "^"))
		return node;
	const struct sweep_node *right = parse_negation(p); /* 2^-3^2 is 2^(-(3^2)) */
	return make(p, (struct sweep_node){.operation = POWER, .left = node, .right = right});
}

static const struct sweep_node *parse_negation(struct parser *p)
{
	if (++p->depth > MAX_DEPTH)
		return refuse(p, "fewer brackets and signs within each other");
	const struct sweep_node *node;
	if (take(p, "-"))
		node = make(p, (struct sweep_node){.operation = NEGATE, .left = parse_negation(p)});
	else
		node = parse_power(p);
	p->depth--;
	return node;
}

/* The operators of two operands, from weak to strong, with blanks between them. "not" is between levels 1 and 2. A
 * longer operator stands before its beginning. */
static const struct {
	const char *symbol;
	enum operation operation;
	int level;
} operators[] = {
	{"or", OR, 0},      {"and", AND, 1},  {"<=", LESS_OR_EQUAL, 2}, {"<", LESS, 2}, {">=", GREATER_OR_EQUAL, 2},
	{">", GREATER, 2},  {"==", EQUAL, 2}, {"!=", NOT_EQUAL, 2},     {"+", ADD, 3},  {"-", SUBTRACT, 3},
	{"*", MULTIPLY, 4}, {"/", DIVIDE, 4}};
#define COMPARISON 2 /* the level of comparisons, of which one cannot follow another */
#define STRONGEST  4

static const struct sweep_node *parse_level(struct parser *p, int level);

static const struct sweep_node *parse_operands(struct parser *p, int level)
{
	if (level == STRONGEST)
		return parse_negation(p);
	if (level != COMPARISON - 1 || !take(p, "not"))
		return parse_level(p, level + 1);
	if (++p->depth > MAX_DEPTH)
		return refuse(p, "fewer brackets and signs within each other");
	const struct sweep_node *node = make(p,
					     (struct sweep_node){.operation = NOT, .left = parse_operands(p, level)});
	p->depth--;
	return node;
}

static const struct sweep_node *parse_level(struct parser *p, int level)
{
	const struct sweep_node *node = parse_operands(p, level);
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
		if (operators[i].level != level || !take(p, operators[i].symbol))
			continue;
		const struct sweep_node *right = parse_operands(p, level);
		node = make(p, (struct sweep_node){.operation = operators[i].operation, .left = node, .right = right});
		if (level == COMPARISON)
			return node;
		i = (size_t)-1; /* look at all operators again, behind this one */
	}
	return node;
}

static const struct sweep_node *parse_or(struct parser *p)
{
	return parse_level(p, 0);
}

int sweep_expression_parse(const char *text, struct npl_arena *arena, struct sweep_expression *expression,
			   struct npl_err *err)
{
	*expression = (struct sweep_expression){.text = text};
	struct parser p = {.at = text, .arena = arena, .expression = expression, .err = err};
	skip_blanks(&p);
	const struct sweep_node *root = parse_or(&p);
	if (!p.failed && *p.at)
		refuse(&p, "an operator or the end");
	expression->root = root;
	return p.failed ? err->code : 0;
}

const char *sweep_expression_cut(const char **list, struct npl_arena *arena)
{
	const char *begin = *list, *end = begin;
	int depth = 0;
	for (char quote = '\0'; *end && (quote || depth > 0 || *end != ',') && *end != '\n'; end++) {
		depth += quote ? 0 : (*end == '(') - (*end == ')');
		if (*end == quote)
			quote = '\0';
		else if (!quote && (*end == '\'' || *end == '"'))
			quote = *end;
	}
	*list = *end ? end + 1 : NULL;
	while (isspace((unsigned char)*begin) && begin < end)
		begin++;
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	return npl_arena_strndup(arena, begin, (size_t)(end - begin));
}

static struct sweep_operand value_of(const struct sweep_node *node, const struct sweep_operand *operand);

static bool is_unknown(struct sweep_operand value)
{
	return !value.text && isnan(value.number);
}

/* Compares two operands: as texts where one is a text that is no number, which is different from every number. */
static double compare(enum operation operation, struct sweep_operand a, struct sweep_operand b)
{
	if (is_unknown(a) || is_unknown(b))
		return NAN;
	if (a.text && b.text && (isnan(a.number) || isnan(b.number)))
		return (operation == EQUAL && !strcmp(a.text, b.text)) ||
		       (operation == NOT_EQUAL && strcmp(a.text, b.text) != 0);
	switch ((int)operation) {
	case LESS:
		return a.number < b.number;
	case LESS_OR_EQUAL:
		return a.number <= b.number;
	case GREATER:
		return a.number > b.number;
	case GREATER_OR_EQUAL:
		return a.number >= b.number;
	case EQUAL:
		return a.number == b.number;
	default:
		return !(a.number == b.number);
	}
}

/* Arithmetic of unknown figures is unknown: fmax and fmin would give the other one, and pow(x, 0) is 1 for any x. */
static double calculate(enum operation operation, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	switch ((int)operation) {
	case ADD:
		return a + b;
	case SUBTRACT:
		return a - b;
	case MULTIPLY:
		return a * b;
	case DIVIDE:
		return a / b;
	case POWER:
		return pow(a, b);
	case MAX:
		return fmax(a, b);
	default:
		return fmin(a, b);
	}
}

static double apply(enum operation operation, double a)
{
	switch ((int)operation) {
	case NOT:
		return isnan(a) ? NAN : (double)(a == 0);
	case NEGATE:
		return -a;
	case ABS:
		return fabs(a);
	case CEIL:
		return ceil(a);
	case FLOOR:
		return floor(a);
	case LOG2:
		return log2(a);
	case ROUND:
		return round(a);
	default:
		return sqrt(a);
	}
}

/* Joins two conditions. One that is not known leaves the result open, unless the other decides it. */
static double join(enum operation operation, double a, double b)
{
	const double deciding = operation == OR; /* true or x; false and x */
	if ((!isnan(a) && (a != 0) == deciding) || (!isnan(b) && (b != 0) == deciding))
		return deciding;
	return isnan(a) || isnan(b) ? NAN : 1 - deciding;
}

static struct sweep_operand value_of(const struct sweep_node *node, const struct sweep_operand *operand)
{
	if (node->operation == NAME)
		return operand[node->name];
	if (node->operation == NUMBER || node->operation == TEXT)
		return (struct sweep_operand){node->number, node->text};
	const struct sweep_operand a = value_of(node->left, operand);
	if (!node->right)
		return (struct sweep_operand){.number = apply(node->operation, a.number)};
	const struct sweep_operand b = value_of(node->right, operand);
	if (node->operation == OR || node->operation == AND)
		return (struct sweep_operand){.number = join(node->operation, a.number, b.number)};
	if (node->operation >= LESS && node->operation <= NOT_EQUAL)
		return (struct sweep_operand){.number = compare(node->operation, a, b)};
	return (struct sweep_operand){.number = calculate(node->operation, a.number, b.number)};
}

double sweep_expression_value(const struct sweep_expression *expression, const struct sweep_operand *operand)
{
	return value_of(expression->root, operand).number;
}

static double violation_of(const struct sweep_node *node, const struct sweep_operand *operand)
{
	const double value = value_of(node, operand).number;
	if (!isnan(value) && value != 0)
		return 0;
	if (node->operation == AND)
		return violation_of(node->left, operand) + violation_of(node->right, operand);
	if (node->operation == OR)
		return fmin(violation_of(node->left, operand), violation_of(node->right, operand));
	if (node->operation < LESS || node->operation > NOT_EQUAL)
		return 1;
	const double a = value_of(node->left, operand).number, b = value_of(node->right, operand).number;
	const double greater = fmax(fabs(a), fabs(b)), share = fabs(a - b) / greater;
	/* A strict comparison of equal numbers does not hold either. */
	return isnan(share) ? 1 : fmax(fmin(share, 1), 1e-9);
}

double sweep_expression_violation(const struct sweep_expression *expression, const struct sweep_operand *operand)
{
	return violation_of(expression->root, operand);
}
