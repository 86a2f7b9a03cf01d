/* SPDX-License-Identifier: MIT
 *
 * The command that runs a point of a sweep again (recorded.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "recorded.h"

/* Options in the making. */
struct options {
	struct npl_arena *arena;
	const char **option;
	int n;
	bool failed;
};

static void add(struct options *options, const char *option, const char *value)
{
	if (!value)
		return;
	options->option[options->n++] = option;
	if (*value)
		options->option[options->n++] = value;
}

static void add_number(struct options *options, const char *option, uint64_t value)
{
	const char *text = npl_arena_printf(options->arena, "%" PRIu64, value);
	options->failed |= !text;
	add(options, option, text);
}

int sweep_recorded_options(const struct sweep_recorded *recorded, const char *option[SWEEP_RECORDED_OPTIONS], int *n,
			   struct npl_err *err)
{
	struct sweep_plan *plan = recorded->plan;
	struct options options = {&plan->arena, option, 0, false};
	for (int i = 0; i < plan->n_dims; i++) {
		const char *text = npl_arena_printf(&plan->arena, "%s=%" PRId64, plan->dim[i].name, plan->dim[i].value);
		options.failed |= !text;
		add(&options, "--dim", text);
	}
	for (int i = 0; i < plan->inputs.n; i++)
		add(&options, "--input", plan->inputs.text[i]);
	add(&options, "--labels", plan->labels);
	add(&options, "--host", plan->host && strcmp(plan->host, NPL_HOST_NAME) != 0 ? plan->host : NULL);
	add(&options, "--engine", plan->engine);
	if (plan->values)
		add_number(&options, "--seed", plan->seed);
	else
		add(&options, "--timing-only", "");
	*n = options.n;
	return options.failed ? npl_no_memory(err) : 0;
}

/* Writes a word so that a shell takes it as it is. */
static void put_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:,@%+-";
	fputc(' ', out);
	if (*word && !word[strspn(word, plain)]) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (const char *c = word; *c; c++)
		if (*c == '\'')
			fputs("'\\''", out);
		else
			fputc(*c, out);
	fputc('\'', out);
}

static void put_settings(FILE *out, const char *machine, const struct sweep_machine_settings *settings)
{
	for (int i = 0; i < settings->n; i++) {
		char *word = NULL;
		size_t bytes = 0;
		FILE *text = open_memstream(&word, &bytes);
		if (text && fprintf(text, "%s.%s", machine, settings->set[i]) > 0 && !fclose(text)) {
			fputs(" --set", out);
			put_word(out, word);
		}
		free(word);
	}
}

char *sweep_recorded_command(const struct sweep_recorded *recorded)
{
	const struct sweep_point_settings *settings = recorded->settings;
	const char *option[SWEEP_RECORDED_OPTIONS];
	char *text = NULL;
	size_t bytes = 0;
	int n;
	struct npl_err ignored;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	const int rc = sweep_recorded_options(recorded, option, &n, &ignored);
	fputs("npulab compare", out);
	put_word(out, settings->model);
	fputs(" --devices", out);
	put_word(out, settings->device);
	if (*settings->batch) {
		fputs(" --batch", out);
		put_word(out, settings->batch);
	}
	put_settings(out, sweep_recorded_machine(recorded, settings->device_level), &settings->of_device);
	put_settings(out, NPL_HOST_NAME, &settings->of_host);
	for (int i = 0; i < n && !rc; i++)
		put_word(out, option[i]);
	if (fclose(out) || rc) {
		free(text);
		return NULL;
	}
	return text;
}
