/* SPDX-License-Identifier: MIT
 *
 * Promises of the assumed power: a model is found by its name whatever Linux puts around it, and only by the whole of
 * it; the power is TDP x cores used / cores; what the user gives goes first; what nobody knows is absent, with the
 * reason; a virtual machine is said to be one. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files/csv.h"
#include "core/files/data_names.h"
#include "npulab/device.h"

static void expect_found(enum npl_tdp_kind kind, const char *name, double watts, int cores)
{
	struct npl_tdp tdp;
	struct npl_err err = {0};
	cr_assert_eq(npl_tdp_find(kind, name, &tdp, &err), 0, "%s: %s", name, err.msg);
	cr_assert_float_eq(tdp.watts, watts, 0, "%s: %g W", name, tdp.watts);
	cr_assert_eq(tdp.cores, cores, "%s: %d cores", name, tdp.cores);
	cr_assert(*tdp.source, "%s has no source", name);
}

static void expect_unknown(enum npl_tdp_kind kind, const char *name)
{
	struct npl_tdp tdp;
	struct npl_err err = {0};
	cr_assert_eq(npl_tdp_find(kind, name, &tdp, &err), NPL_EDEVICE, "'%s' was found", name);
	cr_assert(strstr(err.msg, "no TDP is known of"), "%s", err.msg);
}

Test(tdp, finds_models_as_linux_names_them)
{
	expect_found(NPL_TDP_CPU, "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", 150, 20);
	expect_found(NPL_TDP_CPU, "Intel(R) Xeon(R) CPU E5-2699 v3 @ 2.30GHz", 145, 18);
	expect_found(NPL_TDP_CPU, "Intel(R) Xeon(R) Platinum 8480+", 350, 56);
	expect_found(NPL_TDP_CPU, "12th Gen Intel(R) Core(TM) i7-12700K", 125, 12);
	expect_found(NPL_TDP_CPU, "AMD EPYC 9654 96-Core Processor", 360, 96);
	expect_found(NPL_TDP_CPU, "AMD Ryzen 9 5950X 16-Core Processor            ", 105, 16);
	expect_found(NPL_TDP_GPU, "NVIDIA H200", 700, 0);
	expect_found(NPL_TDP_GPU, "Tesla V100-SXM2-16GB", 300, 0);
}

Test(tdp, takes_no_relative_for_the_model)
{
	expect_unknown(NPL_TDP_CPU, "AMD EPYC");
	expect_unknown(NPL_TDP_CPU, "AMD EPYC 965");
	expect_unknown(NPL_TDP_CPU, "AMD EPYC 9654X 96-Core Processor");
	expect_unknown(NPL_TDP_CPU, "Intel(R) Xeon(R) Processor @ 2.80GHz");
	expect_unknown(NPL_TDP_CPU, "");
	expect_unknown(NPL_TDP_CPU, "NVIDIA H200");
	expect_unknown(NPL_TDP_GPU, "AMD EPYC 9654");
	char longest[2000];
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	expect_unknown(NPL_TDP_CPU, longest);
}

/* Each row of the shipped table is found by its own name, so that none hides another. */
Test(tdp, every_row_of_the_table_counts)
{
	struct npl_arena arena = {0};
	struct npl_csv csv;
	struct npl_err err = {0};
	char folder[400], path[420];
	cr_assert_eq(npl_data_dir("published", folder, sizeof folder, &err), 0, "%s", err.msg);
	snprintf(path, sizeof path, "%s/tdp.csv", folder);
	cr_assert_eq(npl_csv_load(path, &arena, &csv, &err), 0, "%s", err.msg);
	cr_assert(csv.n_rows > 50);
	for (int i = 0; i < csv.n_rows; i++) {
		const char *const *field = csv.row[i].field; /* kind, model, tdp_watts, cores, source */
		bool gpu = !strcmp(field[0], "gpu");
		cr_assert(gpu || !strcmp(field[0], "cpu"), "line %d", csv.row[i].line);
		cr_assert(gpu == !*field[3], "line %d: cores are those of a processor", csv.row[i].line);
		expect_found(gpu ? NPL_TDP_GPU : NPL_TDP_CPU, field[1], atof(field[2]), atoi(field[3]));
		for (int k = 0; k < i; k++)
			cr_assert(strcmp(field[1], csv.row[k].field[1]), "%s is given twice", field[1]);
	}
	npl_arena_free(&arena);
}

static struct npl_assumed_power package(const char *model, int packages, int cores, bool is_virtual, int threads,
					double watts, int tdp_cores)
{
	struct npl_processor p = {
		.packages = packages, .cores = cores, .processors = 2 * cores, .is_virtual = is_virtual};
	struct npl_assumed_power power;
	snprintf(p.model, sizeof p.model, "%s", model);
	npl_assume_package(&p, threads, watts, tdp_cores, &power);
	return power;
}

Test(tdp, power_is_the_share_of_the_cores_used)
{
	static const char gold[] = "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz";
	for (int threads = 1; threads <= 100; threads++) {
		struct npl_assumed_power one = package(gold, 1, 20, false, threads, 0, 0);
		struct npl_assumed_power two = package(gold, 2, 40, false, threads, 0, 0);
		cr_assert_float_eq(one.watts, 150.0 / 20 * (threads < 20 ? threads : 20), 1e-9, "%d: %g", threads,
				   one.watts);
		cr_assert_float_eq(two.watts, 150.0 / 20 * (threads < 40 ? threads : 40), 1e-9, "%d: %g", threads,
				   two.watts);
	}
	/* what the user says goes first, and needs no table */
	cr_assert_float_eq(package(gold, 1, 20, false, 4, 100, 0).watts, 20, 1e-9);
	cr_assert_float_eq(package(gold, 1, 20, false, 4, 100, 8).watts, 50, 1e-9);
	cr_assert_float_eq(package(gold, 1, 20, false, 4, 0, 10).watts, 60, 1e-9);
	cr_assert_float_eq(package("", 1, 4, false, 2, 65, 0).watts, 32.5, 1e-9);
	cr_assert_float_eq(package("", 1, 0, false, 2, 65, 0).watts, 65, 1e-9);
}

Test(tdp, says_what_is_known_and_what_is_not)
{
	struct npl_assumed_power known = package("AMD EPYC 7763 64-Core Processor", 1, 2, true, 2, 0, 0);
	cr_assert_float_eq(known.watts, 280.0 / 64 * 2, 1e-9);
	cr_assert(strstr(known.note, "280 W (AMD specifications) x 2 cores of 64"), "%s", known.note);
	cr_assert(strstr(known.note, "virtual machine, whose share of a package is not known"), "%s", known.note);
	struct npl_assumed_power unknown = package("AMD EPYC", 1, 2, true, 2, 0, 0);
	cr_assert(isnan(unknown.watts), "an unknown power is no number");
	cr_assert(strstr(unknown.note, "no TDP is known of 'AMD EPYC'; --set cpu.tdp_watts="), "%s", unknown.note);
	struct npl_assumed_power board;
	npl_assume_board("NVIDIA H200", 0, &board);
	cr_assert_float_eq(board.watts, 700, 0);
	npl_assume_board("NVIDIA H200", 450, &board);
	cr_assert_float_eq(board.watts, 450, 0);
	npl_assume_board("a GPU of tomorrow", 0, &board);
	cr_assert(isnan(board.watts) && strstr(board.note, "cuda.tdp_watts"), "%s", board.note);
}
