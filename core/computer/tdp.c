/* SPDX-License-Identifier: MIT
 *
 * Thermal design powers by model (tdp.h). */
#include "npulab/tdp.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/message.h"
#include "core/files/csv.h"
#include "core/files/data_names.h"
#include "npulab/device.h"

#define NAME 160

/* Says whether a word does not identify the model: "cpu", "processor", "16-core", "12th", "gen". */
static bool is_filler(const char *word)
{
	size_t digits = strspn(word, "0123456789");
	const char *tail = word + digits;
	if (!strcmp(word, "cpu") || !strcmp(word, "processor") || !strcmp(word, "gen"))
		return true;
	return digits && (!strcmp(tail, "-core") || !strcmp(tail, "th") || !strcmp(tail, "nd") || !strcmp(tail, "rd") ||
			  !strcmp(tail, "st"));
}

/* Writes the name in lower case, without trade marks, fillers, the clock and a built-in graphics unit. */
static void plain_name(const char *model, char plain[NAME])
{
	char text[NAME];
	size_t n = 0;
	for (const char *cursor = model; *cursor && *cursor != '@' && n + 2 < NAME; cursor++) {
		if (!strncasecmp(cursor, "(r)", 3) || !strncasecmp(cursor, "(c)", 3)) {
			cursor += 2;
			text[n++] = ' ';
		} else if (!strncasecmp(cursor, "(tm)", 4)) {
			cursor += 3;
			text[n++] = ' ';
		} else {
			text[n++] = (char)tolower((unsigned char)*cursor);
		}
	}
	text[n] = '\0';
	plain[0] = '\0';
	char *tail = NULL;
	for (char *word = strtok_r(text, " \t", &tail); word; word = strtok_r(NULL, " \t", &tail)) {
		if (!strcmp(word, "with") || !strcmp(word, "w/"))
			break;
		if (!is_filler(word))
			npl_append(plain, NAME, " ", "%s", word);
	}
}

static int read_row(const struct npl_csv *csv, int row, struct npl_tdp *tdp, struct npl_err *err)
{
	int watts = npl_csv_column(csv, "tdp_watts", err), cores = npl_csv_column(csv, "cores", err),
	    source = npl_csv_column(csv, "source", err);
	double n;
	if (watts < 0 || cores < 0 || source < 0 || npl_csv_number(csv, row, watts, &tdp->watts, err) ||
	    npl_csv_number(csv, row, cores, &n, err))
		return err->code;
	if (!(tdp->watts > 0 && tdp->watts < 1e5) || (isfinite(n) && !(n >= 1 && n <= 1e5)))
		return npl_fail(err, NPL_EINPUT, "%s:%d: expected watts above 0 and a number of cores, or none of them",
				csv->path, csv->row[row].line);
	tdp->cores = isfinite(n) ? (int)n : 0;
	snprintf(tdp->source, sizeof tdp->source, "%s", csv->row[row].field[source]);
	return 0;
}

int npl_tdp_find(enum npl_tdp_kind kind, const char *model, struct npl_tdp *tdp, struct npl_err *err)
{
	char plain_model[NAME], plain_row[NAME];
	const char *kind_name = kind == NPL_TDP_CPU ? "cpu" : "gpu";
	struct npl_arena arena = {0};
	struct npl_csv csv;
	*tdp = (struct npl_tdp){0};
	plain_name(model, plain_model);
	int rc = npl_data_csv("published", "tdp.csv", &arena, &csv, err), row = -1;
	int kinds = rc ? -1 : npl_csv_column(&csv, "kind", err), models = rc ? -1 : npl_csv_column(&csv, "model", err);
	if (!rc && (kinds < 0 || models < 0))
		rc = err->code;
	for (int i = 0; !rc && *plain_model && i < csv.n_rows && row < 0; i++) {
		plain_name(csv.row[i].field[models], plain_row);
		if (!strcmp(csv.row[i].field[kinds], kind_name) && !strcmp(plain_row, plain_model))
			row = i;
	}
	if (!rc && row < 0)
		rc = npl_fail(err, NPL_EDEVICE, "no TDP is known of '%s'", *model ? model : "a model without a name");
	if (!rc)
		rc = read_row(&csv, row, tdp, err);
	npl_arena_free(&arena);
	return rc;
}

void npl_assume_package(const struct npl_processor *p, int threads, double watts, int cores,
			struct npl_assumed_power *power)
{
	struct npl_tdp tdp = {0};
	struct npl_err error = {0};
	int not_listed = npl_tdp_find(NPL_TDP_CPU, p->model, &tdp, &error);
	const char *source = tdp.source;
	*power = (struct npl_assumed_power){.watts = NAN};
	if (not_listed && !(watts > 0)) {
		snprintf(power->note, sizeof power->note, "%.240s; --set cpu.tdp_watts=W and cpu.tdp_cores=N tell it",
			 error.msg);
		return;
	}
	if (watts > 0) {
		tdp.watts = watts;
		source = "as given";
	}
	if (cores > 0)
		tdp.cores = cores;
	if (tdp.cores < 1 && p->packages > 0)
		tdp.cores = p->cores / p->packages;
	tdp.cores = tdp.cores < 1 ? 1 : tdp.cores;
	int present_cores = tdp.cores * (p->packages > 1 ? p->packages : 1);
	int used_cores = threads < 1 ? 1 : threads < present_cores ? threads : present_cores;
	power->watts = tdp.watts * used_cores / tdp.cores;
	snprintf(power->note, sizeof power->note, "TDP %g W (%s) x %d core%s of %d%s: a guess, and an upper bound%s",
		 tdp.watts, source, used_cores, npl_plural(used_cores), tdp.cores, p->packages > 1 ? " a package" : "",
		 p->is_virtual
			 ? "; this is a virtual machine, whose share of a package is not known: each of its processors "
			   "counts as a core"
			 : "");
}

void npl_assume_board(const char *name, double watts, struct npl_assumed_power *power)
{
	struct npl_tdp tdp = {0};
	struct npl_err error = {0};
	int not_listed = npl_tdp_find(NPL_TDP_GPU, name, &tdp, &error);
	*power = (struct npl_assumed_power){.watts = watts > 0 ? watts : not_listed ? NAN : tdp.watts};
	if (not_listed && !(watts > 0))
		snprintf(power->note, sizeof power->note, "%.240s; --set cuda.tdp_watts=W tells it", error.msg);
	else
		snprintf(power->note, sizeof power->note,
			 "TDP %g W (%s) of the whole board: a guess, and an upper bound", power->watts,
			 watts > 0 ? "as given" : tdp.source);
}
