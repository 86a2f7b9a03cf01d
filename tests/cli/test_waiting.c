/* SPDX-License-Identifier: MIT
 *
 * Promises of the line that says what is being done: nothing before two seconds; then on a terminal one line that is
 * written anew each second and never wraps, elsewhere one at each doubling of the time; nothing with --quiet, nothing
 * on standard output. The clock is the test's, except runs of the program that wait for a trace which comes late. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "cli/waiting.h"
#include "core/base/printable.h"
#include "npulab/layer_group.h"
#include "npulab/progress.h"
#include "tests/kit/cli_run.h"

/* How many lines come in so many seconds, looked at every tenth of one; the last one in text. */
static int lines_until(struct cli_waiting *w, int seconds, const char *part, char *text, size_t bytes)
{
	struct npl_progress progress = {.share = NAN};
	int lines = 0;
	snprintf(progress.part, sizeof progress.part, "%s", part ? part : "");
	for (int tenths = 0; tenths <= 10 * seconds; tenths++) {
		char now[400];
		if (!cli_waiting_line(w, tenths / 10.0, part ? &progress : NULL, now, sizeof now))
			continue;
		snprintf(text, bytes, "%s", now);
		lines++;
	}
	return lines;
}

Test(waiting, lines_to_a_file_come_ever_more_rarely)
{
	char text[400] = "";
	struct cli_waiting w = cli_waiting_open(false, 0);
	cr_assert_eq(lines_until(&w, 1, "tpu_v1", text, sizeof text), 0);
	const struct npl_progress layer = {.part = "tpu_v1", .details = ": layer 3 of 120, conv1", .share = NAN};
	const struct npl_progress cpu = {.part = "cpu", .share = NAN};
	cr_assert_eq(cli_waiting_line(&w, 1.99, &layer, text, sizeof text), 0);
	cr_assert_gt(cli_waiting_line(&w, 2, &layer, text, sizeof text), 0);
	cr_assert_str_eq(text, "npulab: tpu_v1: layer 3 of 120, conv1, 00:02\n");
	w = cli_waiting_open(false, 0);
	cr_assert_eq(lines_until(&w, 100, NULL, text, sizeof text), 6, "at 2, 4, 8, 16, 32 and 64 seconds");
	cr_assert_str_eq(text, "npulab: at work, 01:04\n");
	cr_assert_gt(cli_waiting_line(&w, 3723, &cpu, text, sizeof text), 0);
	cr_assert_str_eq(text, "npulab: cpu, 1:02:03\n");
	cr_assert_eq(cli_waiting_line(&w, 4000, &cpu, text, sizeof text), 0, "the next is due at 4096 seconds");
	cr_assert_not(w.line_shown, "there is nothing to clear");
}

Test(waiting, a_terminal_has_one_line_that_does_not_wrap)
{
	char text[400] = "";
	struct cli_waiting w = cli_waiting_open(true, 40);
	cr_assert_eq(lines_until(&w, 1, "tpu_v1", text, sizeof text), 0);
	cr_assert_eq(lines_until(&w, 10, "tpu_v1", text, sizeof text), 9, "at 2, 3, ... 10 seconds");
	cr_assert_str_eq(text, "\r\033[Knpulab: tpu_v1, 00:10");
	cr_assert(w.line_shown);
	for (int columns = 12; columns < 90; columns++) {
		w = cli_waiting_open(true, columns);
		const struct npl_progress long_name = {
			.part = "r\u00e9seau",
			.details = ": layer 12 of 99, \u7cbe\u7cbe\u7cbe\u7cbe/conv2d/a/b/c/d",
			.share = NAN};
		cr_assert_gt(cli_waiting_line(&w, 5, &long_name, text, sizeof text), 0);
		char *line = text + strlen("\r\033[K");
		cr_assert_lt(npl_text_width(line), columns, "%d columns: %s", columns, line);
		cr_assert(strstr(line, ", 00:05"), "%s", line);
		char copy[400];
		snprintf(copy, sizeof copy, "%s", line);
		cr_assert_str_eq(npl_make_printable(copy), line, "cut within a character");
	}
}

Test(waiting, stages_are_noted_where_somebody_watches)
{
	char text[NPL_PROGRESS_TEXT];
	npl_progress_part("reference", "batch", 1, 3);
	cr_assert_not(npl_progress_text(text, sizeof text), "nobody observes");
	npl_progress_observe(true);
	cr_assert_not(npl_progress_text(text, sizeof text));
	npl_progress_part("tpu_v1", "batch", 2, 3);
	npl_progress_step("layer", 3, 120, "conv1");
	cr_assert(npl_progress_text(text, sizeof text));
	cr_assert_str_eq(text, "tpu_v1: batch 2 of 3, layer 3 of 120, conv1");
	npl_progress_part("tpu_v1", "batch", 1, 1);
	npl_progress_step("layer", 1, 1, "a\033[31mb");
	cr_assert(npl_progress_text(text, sizeof text));
	cr_assert_str_eq(text, "tpu_v1: a?[31mb", "one of one is not counted, and nothing steers the terminal");
	npl_progress_part("hbm2", NULL, 0, 0);
	npl_progress_step("request", 257, 0, NULL);
	cr_assert(npl_progress_text(text, sizeof text));
	cr_assert_str_eq(text, "hbm2: request 257");
	npl_progress_observe(false);
	cr_assert_not(npl_progress_text(text, sizeof text));
}

/* The time left stands behind the device whose work it is, and else behind what is counted. What has no room gives way
 * to it. */
Test(waiting, the_time_left_stands_in_the_line)
{
	char text[400] = "";
	struct npl_progress p = {.part = "tpu_v1",
				 .details = ": batch 2 of 3, layer 3 of 120, conv1",
				 .share = 0.25,
				 .is_of_part = true,
				 .work = 7,
				 .seconds = 4,
				 .advances = 9};
	struct cli_waiting w = cli_waiting_open(false, 0);
	cr_assert_gt(cli_waiting_line(&w, 4, &p, text, sizeof text), 0);
	cr_assert_str_eq(text, "npulab: tpu_v1 (about 10 s left): batch 2 of 3, layer 3 of 120, conv1, 00:04\n");
	p = (struct npl_progress){
		.part = "test_relu", .details = ": case 40 of 400", .share = 0.1, .seconds = 20, .advances = 39};
	w = cli_waiting_open(false, 0);
	cr_assert_gt(cli_waiting_line(&w, 20, &p, text, sizeof text), 0);
	cr_assert_str_eq(text, "npulab: test_relu: case 40 of 400, about 3 min left, 00:20\n");
	w = cli_waiting_open(true, 50);
	cr_assert_gt(cli_waiting_line(&w, 20, &p, text, sizeof text), 0);
	cr_assert_str_eq(text, "\r\033[Knpulab: test_relu: case , about 3 min left, 00:20");
	cr_assert_lt(npl_text_width(text + strlen("\r\033[K")), 50);
}

/* The share that is noted when a layer begins. */
static double share_of(int64_t layer)
{
	struct npl_progress p;
	npl_progress_step("layer", layer, 3, "conv");
	cr_assert(npl_progress_get(&p));
	cr_assert(p.is_of_part);
	return p.share;
}

Test(waiting, the_share_of_work_is_noted_by_weight)
{
	struct npl_progress p;
	npl_progress_observe(true);
	cr_assert_not(npl_progress_get(&p));
	/* parts that are counted: the share is that of all parts, whatever they are called */
	for (int i = 1; i <= 4; i++) {
		npl_progress_part(i == 1 ? "a" : "b", "case", i, 4);
		npl_progress_step("reading node", 9, 10, NULL);
		cr_assert(npl_progress_get(&p) && !p.is_of_part);
		cr_assert_float_eq(p.share, 0.25 * (i - 1), 1e-12);
		cr_assert_eq(p.advances, i - 1);
	}
	const uint64_t cases = p.work;
	npl_progress_part("b", NULL, 0, 0);
	npl_progress_step("reading node", 9, 10, NULL);
	cr_assert(npl_progress_get(&p) && isnan(p.share) && p.work != cases, "preparations are no share of anything");
	cr_assert_str_eq(p.details, ": reading node 9 of 10");
	/* batches of weighed layers */
	npl_progress_weigh("layer", 3, (const double[]){1, 8, 1});
	npl_progress_part("tpu_v1", "batch", 1, 2);
	cr_assert_float_eq(share_of(1), 0, 1e-12);
	npl_progress_get(&p);
	const uint64_t batches = p.work;
	cr_assert_float_eq(share_of(2), 0.05, 1e-12);
	cr_assert_float_eq(share_of(3), 0.45, 1e-12);
	npl_progress_part("tpu_v1", "batch", 2, 2);
	cr_assert_float_eq(share_of(3), 0.95, 1e-12);
	cr_assert_float_eq(share_of(2), 0.95, 1e-12, "a share never falls");
	npl_progress_get(&p);
	cr_assert_eq(p.work, batches);
	cr_assert_str_eq(p.part, "tpu_v1");
	cr_assert_str_eq(p.details, ": batch 2 of 2, layer 2 of 3, conv");
	/* the next run of the same device is other work */
	npl_progress_part("tpu_v1", "batch", 1, 2);
	cr_assert_float_eq(share_of(2), 0.05, 1e-12);
	npl_progress_get(&p);
	cr_assert_neq(p.work, batches);
	/* equal steps of a part that is not counted */
	npl_progress_weigh("request", 1000, NULL);
	npl_progress_part("hbm2", NULL, 0, 0);
	npl_progress_step("request", 251, 1000, NULL);
	cr_assert(npl_progress_get(&p) && p.is_of_part);
	cr_assert_float_eq(p.share, 0.25, 1e-12);
	npl_progress_step("request", 257, 0, NULL);
	cr_assert(npl_progress_get(&p) && fabs(p.share - 0.25) < 1e-12, "another count is no share");
	npl_progress_observe(false);
	npl_progress_weigh("layer", 3, NULL);
	cr_assert_not(npl_progress_get(&p));
}

/* A trace that comes after three seconds. */
static void *write_late(void *path)
{
	FILE *fifo = fopen(path, "w");
	sleep(3);
	if (fifo) {
		fputs("0x0 READ 0\n0x40 READ 1\n", fifo);
		fclose(fifo);
	}
	return NULL;
}

static struct cli_result run_late(const char *folder, const char *quiet)
{
	char path[CLI_PATH + 260];
	pthread_t writer;
	snprintf(path, sizeof path, "%s", cli_path(folder, "late"));
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(pthread_create(&writer, NULL, write_late, path), 0);
	const struct cli_run_options options = {.folder = folder, .waits = true};
	struct cli_result r = cli_run(&options, "dram", "@/late", "--json", "-", quiet);
	pthread_join(writer, NULL);
	cr_assert_eq(remove(path), 0);
	cr_assert_eq(r.status, 0, "%s", r.err);
	return r;
}

/* Who reads an output when five seconds have passed. */
static void *read_late(void *path)
{
	char text[256];
	sleep(5);
	FILE *fifo = fopen(path, "r");
	while (fifo && fread(text, 1, sizeof text, fifo))
		;
	return fifo ? (void *)(intptr_t)fclose(fifo) : NULL;
}

Test(waiting, the_line_goes_on_while_an_output_waits_for_a_reader)
{
	char folder[CLI_PATH], path[CLI_PATH + 260];
	pthread_t reader;
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder, .waits = true};
	snprintf(path, sizeof path, "%s", cli_path(folder, "late"));
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(pthread_create(&reader, NULL, read_late, path), 0);
	struct cli_result r = cli_run(&options, "dram", "--pattern", "stream_rd", "-n", "100", "--json", "@/late");
	pthread_join(reader, NULL);
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.err, "late: waiting for a reader, 00:02"), "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Layers of a layer group are counted in their network, where the layer group says which they are. */
Test(waiting, layers_of_a_layer_group_are_counted_in_the_network)
{
	const struct npl_layer named = {.name = "conv1"}, *const layers[] = {&named, &named};
	struct npl_layer_group group = {.n = 2, .layer = layers};
	char text[NPL_PROGRESS_TEXT];
	npl_progress_observe(true);
	npl_progress_part("cpu, run 3", NULL, 0, 0);
	npl_layer_group_progress(&group, 1);
	cr_assert(npl_progress_text(text, sizeof text));
	cr_assert_str_eq(text, "cpu, run 3: layer 2 of 2, conv1");
	group.node = (const int[]){4, 9};
	group.n_nodes = 20;
	npl_layer_group_progress(&group, 1);
	cr_assert(npl_progress_text(text, sizeof text));
	cr_assert_str_eq(text, "cpu, run 3: layer 10 of 20, conv1");
	npl_progress_observe(false);
}

Test(waiting, the_program_tells_while_it_waits_for_its_input)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	struct cli_result told = run_late(folder, NULL), silent = run_late(folder, "--quiet");
	cr_assert(!strncmp(told.err, "npulab: ddr3-2133", 17), "%s", told.err);
	cr_assert(strstr(told.err, ", 00:0"), "%s", told.err);
	cli_drop_waiting(told.err, &told.err_bytes);
	cr_assert_str_eq(told.err, "", "more than lines of that kind");
	cr_assert_str_eq(silent.err, "");
	cr_assert_str_eq(told.out, silent.out, "what is printed does not change");
	cli_free(&told);
	cli_free(&silent);
	cli_remove_folder(folder);
}
