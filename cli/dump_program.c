/* SPDX-License-Identifier: MIT
 *
 * --dump-program (dump_program.h). */
#include "dump_program.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "core/files/file.h"

#define MAX_PROGRAMS 1000

static int keep_program(void *context, struct npl_program_dump *program, struct npl_err *err)
{
	struct cli_dump *dump = context;
	if (dump->n == MAX_PROGRAMS)
		return npl_fail(err, NPL_EUSAGE, "--dump-program: more than %d programs", MAX_PROGRAMS);
	struct npl_program_dump *grown = npl_grow(dump->program, dump->n, &dump->capacity, sizeof *grown);
	if (!grown)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld programs", (long long)dump->n + 1);
	dump->program = grown;
	grown[dump->n++] = *program;
	*program = (struct npl_program_dump){0};
	return 0;
}

/* Returns FILE without ".s", the program's number unless it is the first, and the ending; allocated, NULL: out of
 * memory. */
static char *file_name(const char *path, int64_t number, const char *ending)
{
	char *name = NULL;
	size_t bytes;
	FILE *out = open_memstream(&name, &bytes);
	if (!out)
		return NULL;
	fprintf(out, "%.*s", (int)strlen(path) - 2, path);
	if (number)
		fprintf(out, ".%lld", (long long)number + 1);
	fputs(ending, out);
	return fclose(out) ? NULL : name;
}

static const char *const memories[] = {".host.npy", ".weights.npy", ".buffer.npy"};
enum { MEMORIES = 3 };

static const struct npl_memory_image *image_of(const struct npl_program_dump *program, int memory)
{
	const struct npl_memory_image *const image[MEMORIES] = {&program->host, &program->weights, &program->buffer};
	return image[memory];
}

int cli_dump_open(struct cli_dump *dump, const char *path, const char *devices, struct npl_err *err)
{
	*dump = (struct cli_dump){.path = path, .sink = {keep_program, dump}};
	if (!path)
		return 0;
	const size_t length = strlen(path);
	if (length < 3 || strcmp(path + length - 2, ".s") != 0)
		return npl_fail(err, NPL_EUSAGE,
				"--dump-program %s: expected a name that ends in .s, as that of a program's text",
				path);
	if (strchr(devices, ','))
		return npl_fail(err, NPL_EUSAGE,
				"--dump-program: the devices are %s, expected one, whose program it is", devices);
	for (int m = 0; m < MEMORIES; m++) {
		char *name = file_name(path, 0, memories[m]);
		const int rc = name ? npl_file_declare_output(name, err) : npl_no_memory(err);
		free(name);
		if (rc)
			return rc;
	}
	return 0;
}

/* Writes a word of a command line, quoted for a shell, in one line. */
static void put_word(FILE *out, const char *word, size_t length)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@=:+,-%";
	bool controls = false, quoted = !length;
	for (size_t i = 0; i < length; i++) {
		controls |= (unsigned char)word[i] < ' ' || word[i] == 127;
		quoted |= !strchr(plain, word[i]);
	}
	if (!quoted) {
		fprintf(out, "%.*s", (int)length, word);
		return;
	}
	fputs(controls ? "$'" : "'", out);
	for (size_t i = 0; i < length; i++)
		if (controls && ((unsigned char)word[i] < ' ' || word[i] == 127))
			fprintf(out, "\\%03o", (unsigned)word[i]);
		else if (word[i] == '\'')
			fputs(controls ? "\\'" : "'\\''", out);
		else if (controls && word[i] == '\\')
			fputs("\\\\", out);
		else
			fputc(word[i], out);
	fputc('\'', out);
}

/* Writes a file's name so that it is not taken for an option. */
static void put_file(FILE *out, const char *name)
{
	fputs(name && *name == '-' ? "./" : "", out);
	put_word(out, name ? name : "?", name ? strlen(name) : 1);
}

static void put_setting(FILE *out, const char *setting)
{
	fputs(" --set ", out);
	put_word(out, setting, strlen(setting));
}

/* Writes the settings of "NAME@KEY=VALUE@KEY=VALUE" as options --set. */
static void put_settings(FILE *out, const char *device, const char *name, const struct cli_common *common)
{
	for (int i = 0; i < common->set.n; i++)
		put_setting(out, common->set.item[i]);
	for (const char *cursor = strchr(device, '@'); cursor; cursor = strchr(cursor + 1, '@')) {
		char *setting = NULL;
		if (asprintf(&setting, "%s.%.*s", name, (int)strcspn(cursor + 1, "@"), cursor + 1) < 0)
			continue;
		put_setting(out, setting);
		free(setting);
	}
}

/* Writes, as a comment, the command that runs the program. */
static void put_command(FILE *out, const struct cli_dump *dump, int64_t number, const char *device, const char *name,
			const struct cli_common *common)
{
	static const char *const options[MEMORIES] = {"--host-memory", "--weights", "--buffer"};
	const struct npl_program_dump *program = &dump->program[number];
	char *text = file_name(dump->path, number, ".s");
	fputs("# npulab exec ", out);
	put_file(out, text);
	fputs(" --machine ", out);
	put_word(out, device, strcspn(device, "@"));
	put_settings(out, device, name, common);
	if (common->engine)
		fprintf(out, " --engine %s", common->engine);
	for (int m = 0; m < MEMORIES; m++) {
		char *memory = file_name(dump->path, number, memories[m]);
		if (image_of(program, m)->data) {
			fprintf(out, " %s ", options[m]);
			put_file(out, memory);
		}
		free(memory);
	}
	fputs(program->timing_only ? " --timing-only" : program->writes_host ? " --output RESULT.npy" : "", out);
	fputs(!program->timing_only && program->writes_buffer ? " --buffer-output RESULT.npy\n" : "\n", out);
	free(text);
}

static int write_text(const struct cli_dump *dump, int64_t number, const char *device, const char *name,
		      const struct cli_common *common, struct npl_err *err)
{
	char *path = file_name(dump->path, number, ".s"), *text = NULL;
	size_t bytes = 0;
	FILE *out = path ? open_memstream(&text, &bytes) : NULL;
	if (out) {
		fprintf(out, "# Program %lld of %lld that npulab made for %s, of the first batch.\n",
			(long long)number + 1, (long long)dump->n, name);
		put_command(out, dump, number, device, name, common);
		fputs(dump->program[number].text, out);
	}
	int rc = out && !fclose(out) ? cli_write(path, text, bytes, err) : npl_no_memory(err);
	free(path);
	free(text);
	return rc;
}

static int write_memory(const struct cli_dump *dump, int64_t number, int m, struct npl_err *err)
{
	const struct npl_memory_image *image = image_of(&dump->program[number], m);
	char *path = file_name(dump->path, number, memories[m]);
	struct npl_tensor bytes = {
		.dtype = NPL_U8, .shape = npl_shape_of(1, (int64_t)image->bytes), .data = image->data};
	int rc = path ? cli_write_tensor(path, &bytes, err) : npl_no_memory(err);
	free(path);
	return rc;
}

/* Checks the further files, which are written beside the declared files of the first program: none may be a file that
 * the run has read or writes elsewhere. */
static int check_files(const struct cli_dump *dump, struct npl_err *err)
{
	for (int64_t i = 1; i < dump->n; i++)
		for (int m = -1; m < MEMORIES; m++) { /* the text first */
			if (m >= 0 && !image_of(&dump->program[i], m)->data)
				continue;
			char *path = file_name(dump->path, i, m < 0 ? ".s" : memories[m]);
			const int rc = path ? npl_file_check_output(path, err) : npl_no_memory(err);
			free(path);
			if (rc)
				return rc;
		}
	return 0;
}

int cli_dump_write(const struct cli_dump *dump, const char *device, const char *name, const struct cli_common *common,
		   struct npl_err *err)
{
	if (!dump->path)
		return 0;
	if (!dump->n)
		return npl_fail(err, NPL_EINPUT, "--dump-program: %s ran no layer, so there is no program", name);
	if (check_files(dump, err))
		return err->code;
	for (int64_t i = 0; i < dump->n; i++) {
		for (int m = 0; m < MEMORIES; m++)
			if (image_of(&dump->program[i], m)->data && write_memory(dump, i, m, err))
				return err->code;
		if (write_text(dump, i, device, name, common, err))
			return err->code;
	}
	return 0;
}

void cli_dump_close(struct cli_dump *dump)
{
	for (int64_t i = 0; i < dump->n; i++)
		npl_program_dump_free(&dump->program[i]);
	free(dump->program);
	*dump = (struct cli_dump){0};
}
