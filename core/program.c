/* SPDX-License-Identifier: MIT
 *
 * Programs of any machine (program.h): files in and out, and the instruction set that the device's driver offers. */
#include "npulab/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files/file.h"
#include "npulab/driver.h"
#include "npulab/program_dump.h"
#include "npulab/text.h"
#include "program.h"

#define MOST_BYTES ((size_t)1 << 30) /* of a program's file: tens of millions of instructions */

struct npl_program {
	const struct npl_isa *isa;
	char *path;
	void *code;
};

/* Drivers with an instruction set, for messages. */
static const char *models(char *list, size_t n)
{
	size_t used = 0;
	list[0] = '\0';
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		if ((*d)->isa && used < n)
			used += (size_t)snprintf(list + used, n - used, "%s%s", used ? ", " : "", (*d)->name);
	return list;
}

static bool is_text(const char *path)
{
	size_t length = strlen(path);
	return length > 2 && !strcmp(path + length - 2, ".s");
}

/* The first driver whose instruction set knows the file as its own; NULL: none does. */
static const struct npl_driver *recognised(const char *path, const struct npl_file *file)
{
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		if ((*d)->isa && (*d)->isa->recognises && (*d)->isa->recognises(file->data, file->bytes, is_text(path)))
			return *d;
	return NULL;
}

/* The first whose instruction set knows how some line of a text begins. */
static const struct npl_driver *resembles(const struct npl_file *file)
{
	const char *line = file->data, *end = line + file->bytes;
	while (line < end) {
		while (line < end && (*line == ' ' || *line == '\t'))
			line++;
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const size_t n = (size_t)((newline ? newline : end) - line);
		for (const struct npl_driver *const *d = npl_drivers; *d && n; d++)
			if ((*d)->isa && (*d)->isa->recognises && (*d)->isa->recognises(line, n, true))
				return *d;
		line = newline ? newline + 1 : end;
	}
	return NULL;
}

/* Of a file that nobody recognises and no device claims. */
static const struct npl_isa *default_isa(void)
{
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		if ((*d)->isa && !(*d)->isa->recognises)
			return (*d)->isa;
	return NULL;
}

int npl_program_no_isa(const char *name, struct npl_err *err)
{
	char list[100];
	return npl_fail(err, NPL_EUSAGE, "%s has no instruction set, expected a machine of one of these models: %s",
			name, models(list, sizeof list));
}

static int find_isa(const char *path, const struct npl_file *file, const struct npl_device *device,
		    const struct npl_isa **isa, struct npl_err *err)
{
	const struct npl_driver *of = recognised(path, file);
	*isa = device ? npl_device_driver(device)->isa : of ? of->isa : default_isa();
	if (!*isa)
		return npl_program_no_isa("npulab", err);
	if (of && of->isa != *isa)
		return npl_fail(err, NPL_EUSAGE, "%s: a program for the model %s, expected one for %s, the model of %s",
				path, of->name, npl_device_driver(device)->name, npl_device_name(device));
	return 0;
}

/* What a text lacks as a program of the default set it may well have as one of the set that it resembles. */
static int hint(const struct npl_file *file, struct npl_err *err)
{
	const struct npl_driver *of = resembles(file);
	const struct npl_err first = *err;
	if (!of)
		return err->code;
	return npl_fail(err, first.code, "%s (read as a program for the default model; one for %s needs --machine %s)",
			first.msg, of->name, of->name);
}

int npl_program_load(const char *path, const struct npl_device *device, struct npl_program **program,
		     struct npl_err *err)
{
	const struct npl_isa *isa = NULL;
	struct npl_file file;
	*program = NULL;
	if (device && !npl_device_driver(device)->isa)
		return npl_program_no_isa(npl_device_name(device), err);
	if (npl_file_map(path, MOST_BYTES, &file, err))
		return err->code;
	struct npl_program *new = NULL;
	int rc = find_isa(path, &file, device, &isa, err);
	if (!rc) {
		new = calloc(1, sizeof *new);
		rc = new && (new->path = strdup(path)) ? 0 : npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	}
	if (!rc) {
		new->isa = isa;
		new->code = calloc(1, isa->code_bytes);
		rc = !new->code      ? npl_fail(err, NPL_ENOMEM, "%s: out of memory", path)
		     : is_text(path) ? isa->assemble(path, file.data, file.bytes, new->code, err)
				     : isa->decode(path, file.data, file.bytes, new->code, err);
		if (rc == NPL_EINPUT && is_text(path) && !device && isa == default_isa())
			rc = hint(&file, err);
	}
	npl_file_unmap(&file);
	if (rc)
		npl_program_free(new);
	else
		*program = new;
	return rc;
}

void npl_program_free(struct npl_program *program)
{
	if (!program)
		return;
	if (program->code)
		program->isa->free(program->code);
	free(program->code);
	free(program->path);
	free(program);
}

int npl_program_binary(const struct npl_program *program, uint8_t **bytes, size_t *n, struct npl_err *err)
{
	return program->isa->encode(program->code, bytes, n, err);
}

int npl_program_text(const struct npl_program *program, char **text, struct npl_err *err)
{
	return program->isa->disassemble(program->path, program->code, text, err);
}

static int check_isa(const struct npl_program *program, const struct npl_device *device, struct npl_err *err)
{
	if (npl_device_driver(device)->isa == program->isa)
		return 0;
	return npl_fail(err, NPL_EUSAGE, "%s: not a program of %s", program->path, npl_device_name(device));
}

int npl_program_check(const struct npl_program *program, const struct npl_device *device, struct npl_err *err)
{
	if (check_isa(program, device, err))
		return err->code;
	return program->isa->check(npl_device_state(device), program->path, program->code, err);
}

/* The instruction set's name for this engine, or its first. */
static int find_engine(const struct npl_isa *isa, const char **engine, struct npl_err *err)
{
	int n = 0;
	for (; isa->engines[n]; n++)
		if (*engine && !strcmp(*engine, isa->engines[n]))
			return 0;
	if (*engine)
		return npl_fail(err, NPL_EUSAGE, "there is no engine '%s'%s", *engine,
				NPL_NEAREST(*engine, isa->engines, n));
	*engine = isa->engines[0];
	return 0;
}

int npl_program_run(const struct npl_program *program, const struct npl_device *device, struct npl_execution *execution,
		    struct npl_err *err)
{
	if (check_isa(program, device, err) || find_engine(program->isa, &execution->engine, err))
		return err->code;
	if (execution->buffer && !program->isa->has_buffer)
		return npl_fail(err, NPL_EUSAGE, "%s has no buffer that programs could find operands in",
				npl_device_name(device));
	return program->isa->execute(npl_device_state(device), program->path, program->code, execution, err);
}

void npl_execution_free(struct npl_execution *execution)
{
	free(execution->output);
	free(execution->buffer_output);
	free(execution->time);
	execution->output = execution->buffer_output = NULL;
	execution->time = NULL;
}

int64_t npl_program_count(const struct npl_program *program)
{
	return program->isa->count(program->code);
}

void npl_program_instruction(const struct npl_program *program, int64_t index, struct npl_instruction *instruction)
{
	*instruction = (struct npl_instruction){0};
	program->isa->describe(program->code, index, instruction);
}

const struct npl_spending *npl_program_spendings(const struct npl_program *program, int *n)
{
	*n = program->isa->n_spendings;
	return program->isa->spending;
}

void npl_program_dump_free(struct npl_program_dump *dump)
{
	free(dump->text);
	free(dump->host.data);
	free(dump->weights.data);
	free(dump->buffer.data);
	*dump = (struct npl_program_dump){0};
}
