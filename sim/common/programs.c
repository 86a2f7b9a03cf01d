/* SPDX-License-Identifier: MIT
 *
 * Programs of any machine (npulab/program.h): finds the machine of a file's program, and does its text, binary and
 * run. */
#include "npulab/program.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/device_access.h"
#include "core/files/file.h"
#include "core/files/path.h"
#include "isa.h"
#include "npulab/driver.h"
#include "program.h"

#define MAX_BYTES ((size_t)1 << 30) /* the most bytes of a program's file: tens of millions of instructions */

struct npl_program {
	const struct npl_isa *isa;
	char *path;
	char *machine; /* the machine that the file names; if it names none, the device's */
	struct sim_program code;
};

static bool is_text(const char *path)
{
	return npl_path_ends_in(path, ".s");
}

/* Finds the driver of the machine that a text names in a line. */
static int driver_of_machine(const char *path, int line, const char *machine, const struct npl_driver **driver,
			     struct npl_err *err)
{
	struct npl_device *device = NULL;
	if (npl_device_open(machine, &(struct npl_device_options){0}, &device, err)) {
		npl_prefix(err, "%s:%d: .machine %s", path, line, machine);
		/* The file is at fault for a machine that is not known or cannot start, and for nothing else. */
		if (err->code == NPL_EUSAGE || err->code == NPL_EDEVICE)
			err->code = NPL_EINPUT;
		return err->code;
	}
	*driver = npl_device_driver(device);
	npl_device_close(device);
	if ((*driver)->isa)
		return 0;
	npl_device_no_isa(machine, err);
	npl_prefix(err, "%s:%d", path, line);
	return err->code = NPL_EINPUT;
}

/* Finds whose program it is: the machine's that the file names, and the device's where one is given. The owner must
 * have an instruction set. */
static int find_owner(const char *path, const struct npl_file *file, const struct npl_device *device,
		      struct npl_program *program, struct npl_err *err)
{
	const struct npl_driver *named = NULL; /* the driver that the file itself names */
	char set[SIM_SET_NAME], machine[SIM_MACHINE_NAME] = "";
	int line = 0, rc = 0;
	if (is_text(path)) {
		rc = sim_text_machine(path, file->data, file->bytes, machine, &line, err);
		/* A dump names the machine of a file by the file's `name:`, which need not be known here. */
		if (!rc && *machine && (!device || npl_device_is_known(machine)))
			rc = driver_of_machine(path, line, machine, &named, err);
	} else if (sim_has_header(file->data, file->bytes)) {
		rc = sim_header_names(path, file->data, file->bytes, set, machine, err);
		named = rc ? NULL : npl_driver_named(set);
		if (!rc && (!named || !named->isa))
			rc = npl_fail(err, NPL_EINPUT,
				      "%s: a program for the driver '%s', expected one that has an instruction set",
				      path, npl_make_printable(set));
	}
	if (rc)
		return rc;
	const struct npl_driver *driver = device ? npl_device_driver(device) : named;
	if (!driver)
		return npl_fail(err, NPL_EINPUT,
				is_text(path) ? "%s: does not say whose program it is, expected `.machine NAME` before "
						"all else, or --machine NAME"
					      : "%s: no header of a binary program, which says whose it is; "
						"instructions alone are read with --machine NAME",
				path);
	program->isa = driver->isa;
	if (named && named->isa != program->isa)
		return npl_fail(err, NPL_EUSAGE,
				"%s: a program for the driver %s, expected one for %s, the driver of %s", path,
				named->name, driver->name, npl_device_name(device));
	program->machine = strdup(*machine ? machine : npl_device_name(device));
	return program->machine ? 0 : npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
}

int npl_program_load(const char *path, const struct npl_device *device, struct npl_program **program,
		     struct npl_err *err)
{
	struct npl_file file;
	*program = NULL;
	if (device && !npl_device_driver(device)->isa)
		return npl_device_no_isa(npl_device_name(device), err);
	if (npl_file_map(path, MAX_BYTES, &file, err))
		return err->code;
	struct npl_program *loaded = calloc(1, sizeof *loaded);
	int rc = loaded && (loaded->path = strdup(path)) ? 0 : npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	if (!rc)
		rc = find_owner(path, &file, device, loaded, err);
	if (!rc)
		rc = is_text(path) ? sim_assemble(loaded->isa->set, path, file.data, file.bytes, &loaded->code, err)
				   : sim_from_binary(loaded->isa->set, path, file.data, file.bytes, &loaded->code, err);
	if (!rc && !loaded->code.count) /* no machine runs it: every program ends with an instruction for that */
		rc = npl_fail(err, NPL_EINPUT, "%s: no instructions, expected one at least, which ends the program",
			      path);
	npl_file_unmap(&file);
	if (rc)
		npl_program_free(loaded);
	else
		*program = loaded;
	return rc;
}

void npl_program_free(struct npl_program *program)
{
	if (!program)
		return;
	sim_program_free(&program->code);
	free(program->machine);
	free(program->path);
	free(program);
}

const char *npl_program_machine(const struct npl_program *program)
{
	return program->machine;
}

int npl_program_binary(const struct npl_program *program, uint8_t **bytes, size_t *n, struct npl_err *err)
{
	return sim_to_binary(&program->code, program->machine, bytes, n, err);
}

int npl_program_text(const struct npl_program *program, char **text, struct npl_err *err)
{
	return sim_disassemble(program->path, &program->code, program->machine, NULL, text, err);
}

static int check_isa(const struct npl_program *program, const struct npl_device *device, struct npl_err *err)
{
	const struct npl_driver *driver = npl_device_driver(device);
	const char *name = npl_device_name(device);
	if (driver->isa == program->isa)
		return 0;
	/* A file that names this machine itself is wrong, whatever the user asks for. */
	return npl_fail(err, strcmp(program->machine, name) ? NPL_EUSAGE : NPL_EINPUT,
			"%s: a program for the driver %s, expected one for %s, the driver of %s", program->path,
			program->isa->set->name, driver->name, name);
}

int npl_program_check(const struct npl_program *program, const struct npl_device *device, struct npl_err *err)
{
	if (check_isa(program, device, err))
		return err->code;
	return program->isa->check(npl_device_state(device), program->path, &program->code, err);
}

int npl_program_run(const struct npl_program *program, const struct npl_device *device,
		    const struct npl_execution_request *request, struct npl_execution *execution, struct npl_err *err)
{
	const struct npl_driver *driver = npl_device_driver(device);
	*execution = (struct npl_execution){.request = *request};
	if (check_isa(program, device, err))
		return err->code;
	if (!execution->request.engine)
		execution->request.engine = driver->engines[0];
	if (npl_driver_find_engine(driver, execution->request.engine, err))
		return err->code;
	if (execution->request.buffer && !program->isa->has_buffer)
		return npl_fail(err, NPL_EUSAGE, "%s has no buffer that programs could find operands in",
				npl_device_name(device));
	if (request->sink && request->sink->signals && npl_device_check_signals(device, execution->request.engine, err))
		return err->code;
	return program->isa->execute(npl_device_state(device), program->path, &program->code, execution, err);
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
	return program->code.count;
}

void npl_program_instruction(const struct npl_program *program, int64_t index, struct npl_instruction *instruction)
{
	*instruction = (struct npl_instruction){.line = program->code.line[index]};
	program->isa->describe(sim_program_at(&program->code, index), instruction);
}

const struct npl_cycle_class *npl_program_cycle_classes(const struct npl_program *program, int *n)
{
	*n = program->isa->n_time_classes;
	return program->isa->time_class;
}
