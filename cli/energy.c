/* SPDX-License-Identifier: MIT
 *
 * npulab energy: what a machine costs by its components, and what operations and memories cost by the tables of
 * energies/, at any node and voltage. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/message.h"
#include "core/device_access.h"
#include "core/files/data_names.h"
#include "core/files/words.h"
#include "npulab/arena.h"
#include "npulab/energy_model.h"
#include "npulab/report.h"
#include "reports/format/table.h"
#include "sim/energy/tables.h"

#define MAX_COMPONENTS 64

/* What the user asks for. */
struct request {
	const char *component[MAX_COMPONENTS];
	int n_components; /* 0: all */
	const char *node, *volts, *table;
	int64_t sram_bytes, width_bits, macro_bits, ports; /* 0: not given */
	bool check;
	struct sim_process process;
	struct cli_common common; /* --set and --json, of a machine */
};

struct answer {
	const struct request *request;
	const struct sim_energy_tables *tables;
	struct sim_sram_figures sram;
};

/* Says whether a row is the first of its component and action, and is asked for. */
static bool is_shown(const struct answer *answer, int row)
{
	const struct sim_operation *all = answer->tables->operation, *o = &all[row];
	const struct request *request = answer->request;
	bool wanted = !request->n_components && !request->sram_bytes;
	for (int i = 0; i < request->n_components; i++)
		wanted |= !strcmp(request->component[i], o->component);
	for (int i = 0; i < row; i++)
		wanted &= strcmp(all[i].component, o->component) != 0 || strcmp(all[i].action, o->action) != 0;
	return wanted;
}

/* "45 nm, 0.9 V, scaled", "between 45 and 7 nm", "65 nm, 1 V; 1309.32 um2 there" */
static const char *explain(const struct sim_estimate *e, const struct sim_process *process, char *text, size_t n)
{
	const struct sim_operation *nearest = e->below ? e->below : e->above;
	if (e->below && e->above && e->below != e->above)
		snprintf(text, n, "between %g and %g nm", e->above->process.node_nm, e->below->process.node_nm);
	else
		snprintf(text, n, "%g nm, %g V%s", nearest->process.node_nm, nearest->process.volts,
			 nearest->process.node_nm == process->node_nm && nearest->process.volts == process->volts
				 ? ""
				 : ", scaled");
	if (!isnan(nearest->area_um2))
		npl_append(text, n, "; ", "%g um2 there", nearest->area_um2);
	return text;
}

static void number_cell(double value, char *cell, size_t n)
{
	snprintf(cell, n, "%.3g", value);
}

static void put_range(struct npl_table *table, const char *name, const char *what, const struct npl_estimates *range,
		      const char *note)
{
	char low[32], middle[32], high[32];
	number_cell(range->low, low, sizeof low);
	number_cell(range->middle, middle, sizeof middle);
	number_cell(range->high, high, sizeof high);
	npl_table_row(table, (const char *const[]){name, what, low, middle, high, note});
}

/* Puts the range of an action, and below it what each source says if the component was named. */
static int put_operation(struct npl_table *table, const struct answer *answer, const struct sim_operation *o,
			 struct npl_err *err)
{
	const struct request *request = answer->request;
	struct sim_estimate estimates[SIM_MAX_SOURCES];
	struct npl_estimates pj;
	char sources[200] = "";
	int n;
	if (sim_operation_estimates(answer->tables, o->component, o->action, &request->process, estimates, &n, err) ||
	    sim_operation_pj(answer->tables, o->component, o->action, &request->process, &pj, err))
		return err->code;
	for (int i = 0; i < n; i++)
		npl_append(sources, sizeof sources, ", ", "%s",
			   (estimates[i].below ? estimates[i].below : estimates[i].above)->source);
	put_range(table, o->component, o->action, &pj, sources);
	for (int i = 0; i < n && request->n_components; i++) {
		char how[80], source[80];
		snprintf(source, sizeof source, "  %s",
			 (estimates[i].below ? estimates[i].below : estimates[i].above)->source);
		put_range(table, source, "", &estimates[i].pj,
			  explain(&estimates[i], &request->process, how, sizeof how));
	}
	return 0;
}

static int print_operations(const struct answer *answer, struct npl_err *err)
{
	static const char *const header[] = {"COMPONENT", "ACTION", "PJ LOW", "MIDDLE", "HIGH", "SOURCES"};
	const struct sim_energy_tables *tables = answer->tables;
	struct npl_table table;
	int rc = 0, shown = 0;
	npl_table_open(&table, "wlrrrl", header);
	table.keys = 2; /* a component and what it does */
	for (int i = 0; i < tables->n_operations && !rc; i++)
		if (is_shown(answer, i)) {
			rc = put_operation(&table, answer, &tables->operation[i], err);
			shown++;
		}
	if (!rc && shown) {
		printf("at %g nm and %g V\n\n", answer->request->process.node_nm, answer->request->process.volts);
		npl_table_print(&table, stdout);
	}
	return cli_table_printed(npl_table_close(&table), rc, err);
}

static int print_sram(const struct answer *answer, struct npl_err *err)
{
	static const char *const header[] = {"MEMORY", "UNIT", "LOW", "MIDDLE", "HIGH", ""};
	const struct sim_sram_figures *f = &answer->sram;
	struct npl_table table;
	const struct request *request = answer->request;
	char macros[80];
	snprintf(macros, sizeof macros, "%lld macro%s side by side, %lld bank%s", (long long)f->columns,
		 npl_plural(f->columns), (long long)f->banks, npl_plural(f->banks));
	npl_table_open(&table, "wlrrrl", header);
	put_range(&table, "read", "pJ", &f->read_pj, macros);
	put_range(&table, "write", "pJ", &f->write_pj, "");
	put_range(&table, "leakage", "W", &f->leakage_w, "");
	put_range(&table, "area", "mm2", &f->area_mm2, "");
	printf("%lld bytes, %lld bits an access, %lld port%s, at %g nm\n\n", (long long)request->sram_bytes,
	       (long long)request->width_bits, (long long)request->ports, npl_plural(request->ports),
	       request->process.node_nm);
	npl_table_print(&table, stdout);
	return cli_table_printed(npl_table_close(&table), 0, err);
}

static int read_number(const char *option, const char *text, double *value, struct npl_err *err)
{
	if (!text || (npl_parse_number(text, value) && *value > 0))
		return 0;
	return npl_fail(err, NPL_EUSAGE, "--%s '%s', expected a number above 0", option, text);
}

static int check_components(const struct request *request, const struct sim_energy_tables *tables, struct npl_err *err)
{
	struct npl_estimates pj;
	for (int c = 0; c < request->n_components; c++) {
		bool known = false;
		for (int i = 0; i < tables->n_operations; i++)
			known |= !strcmp(request->component[c], tables->operation[i].component);
		if (!known)
			return sim_operation_pj(tables, request->component[c], "", &request->process, &pj, err);
	}
	return 0;
}

/* Checks that every action of the tables can be had at the process, and says how many there are. */
static int check_tables(const struct answer *answer, struct npl_err *err)
{
	int actions = 0;
	for (int i = 0; i < answer->tables->n_operations; i++) {
		const struct sim_operation *o = &answer->tables->operation[i];
		struct npl_estimates pj;
		if (sim_operation_pj(answer->tables, o->component, o->action, &answer->request->process, &pj, err))
			return npl_prefix(err, "%s:%d", o->path, o->line);
		actions += is_shown(answer, i);
	}
	char line[200];
	snprintf(line, sizeof line,
		 "%d rows of %d actions, %d macros of SRAM, %d nodes of processes: all as they should be",
		 answer->tables->n_operations, actions, answer->tables->n_srams, answer->tables->n_scalings);
	npl_table_text(line, stdout);
	return 0;
}

static int answer_request(struct request *request, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct sim_energy_tables tables;
	struct answer answer = {.request = request, .tables = &tables};
	const struct sim_sram sram = {request->sram_bytes, request->width_bits, request->macro_bits, request->ports};
	int rc = sim_energy_tables_load(&arena, request->table, &tables, err);
	if (!rc)
		rc = check_components(request, &tables, err);
	if (!rc && request->check)
		rc = check_tables(&answer, err);
	else if (!rc && request->sram_bytes)
		rc = sim_sram_figures_of(&tables, &sram, request->process.node_nm, &answer.sram, err);
	if (!rc && !request->check)
		rc = request->sram_bytes ? print_sram(&answer, err) : print_operations(&answer, err);
	npl_arena_free(&arena);
	return rc;
}

static void write_json(FILE *out, const void *device)
{
	npl_energy_model_json(out, npl_device_name(device), npl_device_energy_model(device));
}

/* Shows what a machine costs by its components. */
static int show_machine(const struct request *request, struct npl_err *err)
{
	const char *json = request->common.json;
	struct npl_device *device;
	struct npl_err failure;
	if (cli_open_machine(request->component[0], &request->common, &device, err))
		return err->code;
	const struct npl_energy_model *model = npl_device_energy_model(device);
	int rc = model ? 0
		       : npl_fail(err, NPL_EUSAGE, "%s has no energy model, expected a simulated machine",
				  npl_device_name(device));
	if (!rc && !(json && cli_is_stdout(json)))
		rc = cli_table_printed(npl_energy_model_table(stdout, npl_device_name(device), model), rc, err);
	if (model && json && cli_write_text(json, write_json, device, &failure))
		rc = cli_also_failed(rc, &failure, err);
	npl_device_close(device);
	return rc;
}

/* Says whether a word is the name of a device, or a machine file. */
static bool is_machine_name(const char *word)
{
	return npl_device_is_known(word) || npl_is_yaml_path(word);
}

/* Says whether the user asks for a machine instead of components. */
static bool is_machine(const struct request *request)
{
	return request->n_components == 1 && is_machine_name(request->component[0]);
}

/* Refuses options that have no effect beside the others. */
static int check_options(const struct request *request, struct npl_err *err)
{
	const char *of_memory = request->width_bits   ? "width"
				: request->macro_bits ? "macro"
				: request->ports      ? "ports"
						      : NULL;
	const char *of_tables = request->node    ? "node"
				: request->volts ? "volts"
				: request->table ? "table"
				: of_memory      ? of_memory
						 : NULL;
	if (is_machine(request) && of_tables)
		return npl_fail(err, NPL_EUSAGE,
				"--%s beside %s, expected --set %s.technology.node_nm=..., .volts=... or "
				".energy.table=... for a machine",
				of_tables, request->component[0], request->component[0]);
	if (!is_machine(request) && (request->common.set.n || request->common.json))
		return npl_fail(err, NPL_EUSAGE, "--%s without a machine, expected one: npulab energy tpu_v1",
				request->common.json ? "json" : "set");
	if (request->sram_bytes && request->n_components)
		return npl_fail(err, NPL_EUSAGE, "%s and --sram: expected components or a memory",
				request->component[0]);
	if (request->check && (request->sram_bytes || request->n_components))
		return npl_fail(err, NPL_EUSAGE, "%s beside --check, which looks at all tables: expected one of both",
				request->sram_bytes ? "--sram" : request->component[0]);
	if (request->sram_bytes && (request->volts || request->table))
		return npl_fail(err, NPL_EUSAGE,
				"--%s beside --sram, whose figures are at the supply that the tables have for the node",
				request->volts ? "volts" : "table");
	for (int i = 0; i < request->n_components && request->n_components > 1; i++)
		if (is_machine_name(request->component[i]))
			return npl_fail(err, NPL_EUSAGE, "%s beside %s: expected one machine, or components",
					request->component[i], request->component[!i]);
	if (of_memory && !request->sram_bytes)
		return npl_fail(err, NPL_EUSAGE, "--%s without --sram: expected a memory that it is of", of_memory);
	return 0;
}

static int energy_main(int argc, char **argv, struct npl_err *err)
{
	struct request request = {.process = {.node_nm = 45, .volts = 0.9}};
	const struct cli_option options[] = {
		{"node", CLI_TEXT, &request.node, 0, 0, "NM", "of the process, in nanometres (default 45)"},
		{"volts", CLI_TEXT, &request.volts, 0, 0, "V", "supply of logic (default 0.9)"},
		{"table", CLI_TEXT, &request.table, 0, 0, "FILE", "operations of your own, beside the shipped ones"},
		{"sram", CLI_BYTES, &request.sram_bytes, 1, INT64_MAX, "BYTES", "a memory on the chip instead"},
		{"width", CLI_INT, &request.width_bits, 1, 1 << 20, "BITS", "of an access to that memory (default 64)"},
		{"macro", CLI_INT, &request.macro_bits, 1, 512, "BITS", "widest macro it is made of (default 256)"},
		{"ports", CLI_INT, &request.ports, 1, 2, "N", "1 that reads or writes, or 2, one of each (default 1)"},
		{"set", CLI_SETTINGS, &request.common.set, 0, 0, "DEVICE.KEY=VALUE", "a parameter of the machine"},
		CLI_JSON_OPTION(&request.common.json),
		{"check", CLI_FLAG, &request.check, 0, 0, NULL, "only say whether the tables are as they should be"},
		{0}};
	bool help_printed;
	if (cli_parse(&cli_energy, options, argc, argv, request.component, MAX_COMPONENTS, &request.n_components,
		      &help_printed, err) ||
	    help_printed)
		return help_printed ? 0 : err->code;
	if (check_options(&request, err))
		return err->code;
	if (is_machine(&request))
		return show_machine(&request, err);
	if (request.sram_bytes) {
		request.width_bits = request.width_bits ? request.width_bits : 64;
		request.macro_bits = request.macro_bits ? request.macro_bits : 256;
		request.ports = request.ports ? request.ports : 1;
	}
	if (read_number("node", request.node, &request.process.node_nm, err) ||
	    read_number("volts", request.volts, &request.process.volts, err))
		return err->code;
	return answer_request(&request, err);
}

const struct cli_command cli_energy = {"energy",
				       "[MACHINE|COMPONENT...] [--node NM] [--volts V] [--sram BYTES --width BITS]",
				       "what a machine, an operation or a memory on a chip costs\n"
				       "A machine is shown by its components. A component of the tables is shown with "
				       "what each source says of it.",
				       energy_main};
