/* SPDX-License-Identifier: MIT
 *
 * `npulab trace export --vcd`: the dump has the chosen signals and no others, its changes are those of the run, and
 * what cannot be exported is refused and leaves no file. */
#include "tests/kit/cli_run.h"
#include "tests/kit/vcd.h"

#define EXPORT(options, ...) cli_run(options, "trace", "export", "@/a.trace", __VA_ARGS__)

static struct cli_run_options record(char folder[CLI_PATH])
{
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "trace", "record", "layer", "gemm", "-m", "4", "-n", "16", "-k", "16",
				      "--device", "systolic_16x16", "-o", "@/a.trace");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	return options;
}

/* The matrix unit is busy for as many cycles as the instruction of the trace says. */
Test(vcd, the_dump_has_the_cycles_of_the_run)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = record(folder);
	struct vcd *vcd = malloc(sizeof *vcd);
	struct vcd_variable *changed;
	uint64_t busy = 0, since = 0;
	bool was_busy = false;
	struct cli_result r = EXPORT(&options, "--vcd", "@/a.vcd");
	cr_assert(vcd && r.status == 0, "%s", r.err);
	cli_free(&r);
	vcd_open(vcd, cli_read(cli_path(folder, "a.vcd"), NULL));
	cr_expect_str_eq(vcd->timescale, "1 fs");
	while (vcd_next(vcd, &changed)) {
		if (changed != vcd_named(vcd, "matrix.busy"))
			continue;
		busy += was_busy ? vcd->time - since : 0;
		since = vcd->time;
		was_busy = changed->value;
	}
	/* Four rows, at 700 MHz; each time is rounded down. */
	cr_expect_eq((busy * 7 + 5000000) / 10000000, 4, "%" PRIu64 " fs", busy);
	cr_expect_eq(vcd->time, 74ull * 10000000 / 7);
	free(vcd->text);
	free(vcd);
	cli_remove_folder(folder);
}

Test(vcd, what_cannot_be_exported_is_refused)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = record(folder);
	static const struct {
		const char *option, *value, *message;
		int status;
	} bad[] = {{"--signals", "matrx.busy", "no signal has the name 'matrx.busy'; the nearest is 'matrix.busy'", 2},
		   {"--signals", "cell[16][0].sum", "no signal has the name 'cell[16][0].sum'", 2},
		   {"--layer", "conv", "no program with a layer like conv has run", 2},
		   {"--machine", "tpu_v1", "no program of tpu_v1 has run", 2}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct cli_result r = EXPORT(&options, "--vcd", "@/a.vcd", bad[i].option, bad[i].value);
		cr_expect(r.status == bad[i].status && strstr(r.err, bad[i].message), "status %d: %s", r.status, r.err);
		cr_expect(access(cli_path(folder, "a.vcd"), F_OK) != 0);
		cli_free(&r);
	}
	struct cli_result r = EXPORT(&options, "--vcd", "@/a.vcd", "--from", "9", "--until", "9");
	cr_expect_eq(r.status, 2, "%s", r.err);
	cli_free(&r);
	r = EXPORT(&options, "--quiet");
	cr_expect_eq(r.status, 2, "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}
