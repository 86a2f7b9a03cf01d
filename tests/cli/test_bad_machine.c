/* SPDX-License-Identifier: MIT
 *
 * Bad input about devices: unknown names, machine files and parameters that are wrong, placement rules that say
 * nothing. As everywhere: the exit status of its kind, one line that names the place and the nearest, and nothing left
 * behind. */
#include "tests/kit/cli_run.h"

#define SET(text)                                                                                                      \
	{                                                                                                              \
		"compare", "digits", "--devices", "tpu_v1,cpu", "--set", text                                          \
	}
#define MACHINE(file)                                                                                                  \
	{                                                                                                              \
		"compare", "digits", "--devices", file                                                                 \
	}

/* Names of devices that are wrong, wherever a command takes one. */
static const struct cli_refusal wrong_devices[] = {
	{2, "there is no device 'tpu_v2'; the nearest is 'tpu_v1'", {"compare", "digits", "--devices", "tpu_v2"}},
	{2, "host cannot be a device", {"compare", "digits", "--devices", "host"}},
	{2, "there is no device 'systolic'", {"compare", "digits", "--devices", "systolic"}},
	{2, "there is no device 'gpu'", {"run", "digits", "--device", "gpu"}},
	{2, "there is no device 'x'", {"run", "digits", "--place", "*=x"}},
	{2, "there is no device 'x'", {"layer", "gemm", "-m", "1", "-n", "1", "-k", "1", "--devices", "x"}},
	{2, "there is no device 'x'", {"devices", "x"}},
	{2, "there is no device 'x'", {"devices", "x", "--yaml"}},
	{2, "there is no device 'x'", {"inspect", "digits", "--devices", "x"}},
	{2, "the name of a device is empty, expected a name such as tpu_v1", {"run", "digits", "--device", ""}},
};

Test(cli_bad_machine, unknown_devices_are_refused_with_the_nearest)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	CLI_CHECK(folder, wrong_devices);
	cli_remove_folder(folder);
}

/* Settings of parameters that are wrong by themselves, or name no machine of the run. */
static const struct cli_refusal wrong_settings[] = {
	{2, "the nearest is 'array.rows'", SET("tpu_v1.array.row=16")},
	{2, "array.rows must be a whole number from 1", SET("tpu_v1.array.rows=0")},
	{2, "array.rows must be a whole number", SET("tpu_v1.array.rows=1.5")},
	{2, "array.rows must be a whole number", SET("tpu_v1.array.rows=")},
	{2, "array.rows must be a whole number", SET("tpu_v1.array.rows=99999999999999999999")},
	{2, "host_link.bytes_per_second must be a whole number", SET("tpu_v1.host_link.bytes_per_second=nan")},
	{2, "host_link.bytes_per_second must be a whole number", SET("tpu_v1.host_link.bytes_per_second=inf")},
	{2, "must say where the energy comes from", SET("tpu_v1.energy.static.origin=guess")},
	{2, "expected tpu_v1.KEY=VALUE", SET("tpu_v1.array.rows")},
	{2, "no device here has this name, 'tpuv1'; the nearest is 'tpu_v1'", SET("tpuv1.array.rows=16")},
	{2, "no device here has this name, 'array'; expected tpu_v1", SET("array.rows=16")},
	{2, "no device here has this name, 'diannao'; expected tpu_v1", SET("diannao.nfu.tn=8")},
	{2, "--set : expected DEVICE.KEY=VALUE, as tpu_v1.KEY=VALUE", SET("")},
	{2, "--set rows=0.5: expected DEVICE.KEY=VALUE, as tpu_v1.KEY=VALUE", SET("rows=0.5")},
	{2,
	 "--set tpuv1.array.rows=8: none of the machines validated has this name, 'tpuv1'; the nearest is "
	 "'tpu_v1'",
	 {"validate", "--set", "tpu_v1.array.rows=16", "--set", "tpuv1.array.rows=8"}},
	{2,
	 "--set clock_hz=1 GHz: expected DEVICE.KEY=VALUE, as tpu_v1.KEY=VALUE",
	 {"validate", "tpu_v1", "--set", "clock_hz=1 GHz"}},
	{2,
	 "this name, 'array'; expected tpu_v1, diannao, dram, cpu_haswell_e5_2699v3 or gpu_k80\n",
	 {"validate", "--set", "array.rows=8"}},
	{2,
	 "--set diannao.nfu.tn=8: expected tpu_v1.KEY=VALUE",
	 {"asm", "@/none.s", "-o", "@/none.bin", "--machine", "tpu_v1", "--set", "tpu_v1.array.rows=16", "--set",
	  "diannao.nfu.tn=8"}},
	{2,
	 "compare: --set tpu_v1.array.rows is given twice, as '16' and as '8'",
	 {"compare", "digits", "--set", "tpu_v1.array.rows=16", "--set", "host.cores=1", "--set",
	  "tpu_v1.array.rows=8"}},
	{2,
	 "devices: --set array.rows is given twice, as '16' and as '8'",
	 {"devices", "tpu_v1", "--set", "array.rows=16", "--set", "tpu_v1.array.rows=8"}},
	{2, "cannot be set", SET("tpu_v1.name=mine")},
	{2, "there is no parameter ''", SET("tpu_v1.=3")},
	{2, "the nearest is 'threads'", SET("cpu.thread=1")},
	{2, "powercap is empty, expected a folder, as /sys/class/powercap", SET("cpu.powercap=")},
};

Test(cli_bad_machine, wrong_settings_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	CLI_CHECK(folder, wrong_settings);
	cli_remove_folder(folder);
}

/* Machine files with one mistake, and what is said of each. */
static const struct {
	const char *file, *text, *said;
} wrong_files[] = {
	{"unknown.yaml", "driver: systolic\n\n# a comment\narray:\n  row: 8\n",
	 "unknown.yaml:5: there is no parameter 'array.row'; the nearest is 'array.rows'"},
	{"range.yaml", "driver: systolic\narray:\n  rows: 0\n", "range.yaml:3: array.rows must be"},
	{"word.yaml", "driver: systolic\narray:\n  rows: many\n", "word.yaml:3: array.rows must be"},
	{"list.yaml", "driver: systolic\narray: [1, 2]\n", "list.yaml:2: lists are not used"},
	{"twice.yaml", "driver: systolic\nclock_hz: 1000000\nclock_hz: 2000000\n",
	 "twice.yaml:3: 'clock_hz' is set twice (first in line 2)"},
	{"twice_open.yaml", "driver: systolic\narray: {rows: 8}\n\narray:\n  columns: 8\n",
	 "twice_open.yaml:4: 'array' is set twice (first in line 2)"},
	{"braces.yaml", "driver: systolic\nclock_hz: {}\n",
	 "braces.yaml:2: 'clock_hz' is an empty mapping, expected a value or keys"},
	{"yamltag.yaml", "driver: systolic\narray: {rows: !!foo 8}\n",
	 "yamltag.yaml:2: there is no tag 'tag:yaml.org,2002:foo'; expected published"},
	{"tag.yaml", "driver: systolic\narray: {rows: !guessed 8}\n",
	 "tag.yaml:2: there is no tag '!guessed'; expected published, modelled, fitted or assumed"},
	{"uri.yaml", "driver: systolic\narray: !<tag:me> {rows: 8}\n",
	 "uri.yaml:2: there is no tag 'tag:me'; expected published"},
	{"tagged.yaml", "driver: systolic\n!published clock_hz: 1 GHz\n",
	 "tagged.yaml:2: a tag before the key 'clock_hz', expected it before"},
	{"alias.yaml", "driver: &m systolic\nname: *m\n", "alias.yaml:2: aliases"},
	{"lone.yaml", "systolic\n", "lone.yaml:1:"},
	{"broken.yaml", "driver: systolic\narray: {rows: 8\n",
	 "broken.yaml:2: column 8: expected ',' between the entries of a mapping in braces and '}' at its end, "
	 "found '{rows: 8'"},
	{"tabs.yaml", "driver: systolic\narray:\n\trows: 8\n",
	 "tabs.yaml:3: column 1: expected blanks before a key, not tabs"},
	{"left.yaml", "driver: systolic\narray:\n  rows: 8\n columns: 3\n",
	 "left.yaml:4: column 2: expected a key in the same column as those beside it, found 'columns: 3'"},
	{"colon.yaml", "driver: systolic\nrows 8\nclock_hz: 1 GHz\n",
	 "colon.yaml:2: column 1: expected `key: value`, found 'rows 8'"},
	{"quote.yaml", "driver: systolic\nname: \"mine\nclock_hz: 1 GHz\n",
	 "quote.yaml:2: column 7: expected another quote at the end of this text, found '\"mine'"},
	{"colons.yaml",
	 "driver: systolic\ndescription: gr\xc3\xb6\xc3\x9f"
	 "er: it\n",
	 "colons.yaml:2: column 20: expected one `key: value` in a line"},
	{"escape.yaml", "driver: systolic\nname: \"a\\q\"\n",
	 "escape.yaml:2: column 9: expected YAML (found unknown escape character), found '\\q\"'"},
	{"mark.yaml",
	 "\xef\xbb\xbf"
	 "name: \"a\\q\"\n",
	 "mark.yaml:1: column 9: expected YAML (found unknown escape character), found '\\q\"'"},
	{"anchor.yaml", "driver: systolic\nname: &", "anchor.yaml:2: column 8: expected YAML ("},
	{"documents.yaml", "driver: systolic\n---\ndriver: systolic\n", "documents.yaml:2: a second document"},
	{"nomodel.yaml", "name: mine\n", "nomodel.yaml: no `driver:` line"},
	{"nosimulator.yaml", "driver: abacus\n", "there is no driver 'abacus'"},
	{"empty.yaml", "", "the file is empty"},
	{"copied.yaml", "driver: systolic\ncopied_from: tpu1\n",
	 "copied.yaml:2: copied_from is 'tpu1', and no machine that ships has this name; the nearest is "
	 "'tpu_v1'"},
	{"half.yaml", "driver: systolic\nname: \xc3\xb6\xc3\xb6 m\xc3",
	 "half.yaml:2: column 11: expected text in UTF-8"},
};

/* Files that are no machines, and files of whose mistakes other commands speak too; write_odd_files() makes them. */
static const struct cli_refusal odd_files[] = {
	{3,
	 "memory.yaml:3: copied_from is 'hbm3', and no memory that ships has this name; the nearest is 'hbm'",
	 {"dram", "--pattern", "stream_rd", "--preset", "@/memory.yaml"}},
	{2, "tpu_v1 and", MACHINE("tpu_v1,@/same.yaml")},
	{2, "are both called 'tpu_v1'", MACHINE("tpu_v1,@/same.yaml")},
	{3, "binary.yaml:1: column 1: expected text in UTF-8", MACHINE("@/binary.yaml")},
	{3, "deep.yaml:9: nested deeper than 8 levels", MACHINE("@/deep.yaml")},
	{3, "more than the 1048576 allowed", MACHINE("@/big.yaml")},
	{3, "many.yaml:4097: more than 4096 settings", MACHINE("@/many.yaml")},
	{3, "is not a regular file", MACHINE("@/fifo.yaml")},
	{3, "none.yaml: cannot be opened", MACHINE("@/none.yaml")},
	{3, "is a directory", MACHINE("@/")},
	{3, "unknown.yaml:5:", {"devices", "@/unknown.yaml"}},
	{3, "range.yaml:3:", {"compare", "digits", "--devices", "tpu_v1,@/range.yaml", "--json", "-"}},
};

/* A mapping of nine levels, one more than is allowed. */
static void write_deep(const char *folder)
{
	char text[64] = "";
	for (int i = 0; i < 9; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%*sa:\n", i, "");
	cli_write_text(folder, "deep.yaml", text);
}

/* 5000 settings, more than the 4096 allowed. */
static void write_many(const char *folder)
{
	char *text;
	size_t bytes;
	FILE *stream = open_memstream(&text, &bytes);
	cr_assert(stream);
	for (int i = 0; i < 5000; i++)
		fprintf(stream, "k%d: 1\n", i);
	fclose(stream);
	cli_write(folder, "many.yaml", text, bytes);
	free(text);
}

static void write_odd_files(const char *folder)
{
	cli_write_text(folder, "memory.yaml", "model: fixed\nbytes_per_second: 1e9\ncopied_from: hbm3\n");
	cli_write_text(folder, "same.yaml", "name: tpu_v1\ndriver: systolic\n");
	cli_write(folder, "binary.yaml", "\x89PNG\r\n\x1a\n\0\0\0\r", 12);
	cli_write_sparse(folder, "big.yaml", (1 << 20) + 1);
	write_deep(folder);
	write_many(folder);
	cr_assert_eq(mkfifo(cli_path(folder, "fifo.yaml"), 0666), 0);
}

/* Writes the text as a machine's file and compares on that machine, which is refused. */
static void refuse_machine(const char *folder, const char *file, const char *text, const char *said)
{
	char path[64];
	snprintf(path, sizeof path, "@/%s", file);
	cli_write_text(folder, file, text);
	const struct cli_refusal refusal = {3, said, MACHINE(path)};
	cli_check_refusals(folder, &refusal, 1);
}

Test(cli_bad_machine, wrong_machine_files_are_refused_by_line)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof wrong_files / sizeof *wrong_files; i++)
		refuse_machine(folder, wrong_files[i].file, wrong_files[i].text, wrong_files[i].said);
	write_odd_files(folder);
	CLI_CHECK(folder, odd_files);
	cli_remove_folder(folder);
}

/* Names that a machine may not have, as its file writes them, and what is said of each. */
static const struct {
	const char *name, *said;
} wrong_names[] = {
	{"host", "the name 'host' is taken"},
	{"placement", "the name 'placement' is taken"},
	{"cpu", "the name 'cpu' is taken"},
	{"null", "the name 'null' is taken"},
	{"two words", "the name 'two words' must be"},
	{"a,b", "the name 'a,b' must be"},
	{"a.b", "the name 'a.b' must be"},
	{"\\e[31m", "the name '?[31m' must be"},
	{"", "the name '' must be"},
};

Test(cli_bad_machine, names_that_a_machine_may_not_have_are_refused)
{
	char folder[CLI_PATH], text[80];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof wrong_names / sizeof *wrong_names; i++) {
		snprintf(text, sizeof text, "name: \"%s\"\ndriver: systolic\n", wrong_names[i].name);
		refuse_machine(folder, "name.yaml", text, wrong_names[i].said);
	}
	cli_remove_folder(folder);
}

/* Refused before a counter of cycles wraps, in milliseconds. */
Test(cli_bad_machine, a_layer_beyond_any_time_is_refused)
{
	char folder[CLI_PATH], text[2 * CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "trickle.yaml", "model: fixed\nbytes_per_second: 1000\n");
	cli_write_text(folder, "drop.yaml", "model: fixed\nbytes_per_second: 999\n");
	snprintf(text, sizeof text,
		 "driver: diannao\nmemory: {preset: %s/trickle.yaml}\ndma: {burst_bytes: 1048576}\n"
		 "nfu: {tn: 64}\nsb: {rows: 100000}\nnbin: {rows: 10000}\n",
		 folder);
	cli_write_text(folder, "slow.yaml", text);
	const struct cli_refusal cases[] = {
		{3,
		 "takes longer than 400000000 s at 980000000 Hz and 1000 bytes/s of memory trickle, expected less",
		 {"layer", "gemm", "-m", "1", "-n", "500000", "-k", "500000", "--timing-only", "--devices",
		  "@/slow.yaml"}},
		{3,
		 "bytes_per_second must be a whole number from 1000",
		 {"dram", "--preset", "@/drop.yaml", "--pattern", "stream_rd"}},
		{2,
		 "clock_hz must be a whole number from 1000 to 1e+10 Hz",
		 {"devices", "diannao", "--yaml", "--set", "clock_hz=1000000000000"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

#define PLACE(rules)                                                                                                   \
	{                                                                                                              \
		"run", "digits", "--place", rules                                                                      \
	}

Test(cli_bad_machine, wrong_placement_rules_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_refusal cases[] = {
		{2, "no rules", PLACE("")},
		{2, "expected PATTERN=DEVICE", PLACE("Conv")},
		{2, "expected PATTERN=DEVICE", PLACE("Conv=")},
		{2, "expected PATTERN=DEVICE", PLACE("=tpu_v1")},
		{2, "expected PATTERN=DEVICE", PLACE("Conv=tpu_v1,,*=cpu")},
		{2, "expected PATTERN=DEVICE", PLACE("Conv=tpu_v1,Gemm")},
		{2, "expected /EXPRESSION/=DEVICE", PLACE("/conv=tpu_v1")},
		{2, "expected /EXPRESSION/=DEVICE", PLACE("/conv/tpu_v1")},
		{2, "/(/ is not a regular expression", PLACE("/(/=tpu_v1")},
		{2, "'Softmax' matches no operator", PLACE("Softmax=host,*=tpu_v1")},
		{2, "the nearest is 'Conv'", PLACE("Conf=tpu_v1")},
		{2, "matches no node", PLACE("/^conv9$/=tpu_v1")},
		{2, "there is no device 'tpu_v9'", PLACE("Conv=tpu_v1,*=tpu_v9")},
		{2, "no device here has", {"run", "digits", "--place", "*=tpu_v1", "--set", "diannao.nfu.tn=8"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* Files and settings that contradict each other or the machine, and what is said of each. */
static const struct cli_refusal contradictions[] = {
	{3,
	 "both.yaml:2: `driver:` after `model:`, expected one of the two: they name the driver",
	 {"compare", "digits", "--devices", "@/both.yaml", "--timing-only"}},
	{3, "small.yaml:3: unified_buffer.bytes is 100, expected two rows of 256", MACHINE("@/small.yaml")},
	{3, "wide.yaml:3: unified_buffer.bytes is 1000, expected two rows of 600", {"devices", "@/wide.yaml"}},
	{2,
	 "--set fits.array.rows=700: unified_buffer.bytes is 1000, expected two rows of 700",
	 {"compare", "digits", "--devices", "@/fits.yaml", "--set", "fits.array.rows=700"}},
	/* a file that is wrong by itself, whatever is set beside */
	{3, "small.yaml:3: unified_buffer.bytes is 100,", {"devices", "@/small.yaml", "--set", "array.rows=16"}},
	{2, "npulab: --set host.host_link.name=x: host_link.bytes_per_second is 0", SET("host.host_link.name=x")},
	{2,
	 "roofline: --batch, --dim, --input, --host and --set host.KEY are of a model",
	 {"roofline", "--devices", "tpu_v1", "--host", "@/host.yaml"}},
	{2,
	 "roofline: --batch, --dim, --input, --host and --set host.KEY are of a model",
	 {"roofline", "--devices", "tpu_v1", "--set", "host.cores=2"}},
	{3, "rows.yaml:5: host_link.lanes is 3, expected 1, 2, 4, 8", MACHINE("@/rows.yaml")},
	{3, "sums.yaml:3: nbout.sum_rows is 64 of nbout.rows = 64", MACHINE("@/sums.yaml")},
	{3, "channels.yaml:3: memory.channels is 2, expected 0 with ideal", MACHINE("@/channels.yaml")},
	{3, "preset.yaml:4: memory.preset: ", MACHINE("@/preset.yaml")},
	{3, "clock.yaml: clock.hz_numerator is missing", MACHINE("@/preset.yaml")},
	{3,
	 "copied.yaml:3: copied_from is 'tpu_v1', a machine of the driver 'systolic', expected one of the "
	 "driver 'diannao'",
	 MACHINE("@/copied.yaml")},
	{3,
	 "memory.yaml:4: copied_from is 'ddr3-2133', a memory of the model 'dram', expected one of the model "
	 "'fixed'",
	 {"dram", "--pattern", "copy", "--preset", "@/memory.yaml"}},
	{3, "real.yaml:3: copied_from is 'host', a machine of the driver 'processor', expected one",
	 MACHINE("@/real.yaml")},
	{3, "name.yaml:3: the name 'two words' must be", MACHINE("@/name.yaml")},
	{3, "driver.yaml:2: there is no driver 'abacus'", MACHINE("@/driver.yaml")},
	{2, "--set tpu_v1.unified_buffer.bytes=100: unified_buffer.bytes is", SET("tpu_v1.unified_buffer.bytes=100")},
	{2,
	 "--set weight_memory.bytes=1 MB: weight_memory.bytes is",
	 {"devices", "tpu_v1", "--set", "tpu_v1.array.rows=4096", "--set", "weight_memory.bytes=1 MB"}},
	{2, "--set tpu_v1.host_link.kind=plain: host_link.bytes_per_second is 0", SET("tpu_v1.host_link.kind=plain")},
	{2, "--set tpu_v1.weight_memory.preset=hbm3: ", SET("tpu_v1.weight_memory.preset=hbm3")},
	{2,
	 "--set diannao.memory.channels=4: memory.channels is 4, expected 0 with diannao-250gbps, a memory of "
	 "the model 'fixed' without channels",
	 {"compare", "digits", "--devices", "diannao", "--set", "diannao.memory.channels=4"}},
	{2, "--set host.precision=f16: precision f16 needs", SET("host.precision=f16")},
	{2,
	 "--set tpu_v1.unified_buffer.bytes=100: unified_buffer.bytes is 100",
	 {"validate", "tpu_v1", "--set", "tpu_v1.unified_buffer.bytes=100"}},
	{2, "npulab: --set array.rows: expected KEY=VALUE", {"devices", "tpu_v1", "--set", "array.rows"}},
	{2, "npulab: --set clock_hz=1: clock_hz must be", {"devices", "tpu_v1", "--set", "clock_hz=1"}},
};

/* A message about parameters that contradict each other begins with what the user gave: a line of the file, or the
 * option as it was typed. The exit status follows: 3 for a file, 2 for the command line. */
Test(cli_bad_machine, contradictions_are_refused_where_the_user_made_them)
{
	char folder[CLI_PATH], text[2 * CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "small.yaml", "driver: systolic\n\nunified_buffer: {bytes: 100}\n");
	cli_write_text(folder, "wide.yaml",
		       "driver: systolic\nname: wide\nunified_buffer: {bytes: 1000}\narray: {rows: 600}\n");
	cli_write_text(folder, "fits.yaml",
		       "driver: systolic\nname: fits\nunified_buffer: {bytes: 1000}\narray: {columns: 8}\n");
	cli_write_text(folder, "rows.yaml",
		       "driver: systolic\nname: rows\narray:\n  rows: 4096\nhost_link: {lanes: 3}\n");
	cli_write_text(folder, "sums.yaml", "driver: diannao\nname: sums\nnbout: {sum_rows: 64}\n");
	cli_write_text(folder, "channels.yaml", "driver: diannao\nname: c\nmemory: {channels: 2}\n");
	cli_write_text(folder, "copied.yaml", "driver: diannao\nname: copied\ncopied_from: tpu_v1\n");
	cli_write_text(folder, "memory.yaml", "model: fixed\nbytes_per_second: 1e9\n\ncopied_from: ddr3-2133\n");
	cli_write_text(folder, "real.yaml", "driver: cpu\nname: cpu\ncopied_from: host\n");
	cli_write_text(folder, "name.yaml", "driver: systolic\n\nname: two words\n");
	cli_write_text(folder, "driver.yaml", "name: x\ndriver: abacus\n");
	cli_write_text(folder, "clock.yaml", "model: dram\n");
	cli_write_text(folder, "both.yaml", "model: systolic\ndriver: systolic\n");
	snprintf(text, sizeof text, "driver: diannao\nname: d\n\nmemory: {preset: %s/clock.yaml}\n", folder);
	cli_write_text(folder, "preset.yaml", text);
	CLI_CHECK(folder, contradictions);
	cli_remove_folder(folder);
}

/* A setting of one entry is quoted as it was typed there. */
Test(cli_bad_machine, settings_of_one_entry_are_quoted_as_typed)
{
	static const char *const cases[][2] = {
		{"tpu_v1@array.rows=0", "npulab: tpu_v1@array.rows=0: array.rows must be"},
		{"cpu,tpu_v1@clock_hz=1 GHz@array.row=8", "npulab: tpu_v1@array.row=8: there is no parameter"},
		{"tpu_v1,tpu_v1@unified_buffer.bytes=100",
		 "npulab: tpu_v1@unified_buffer.bytes=100: unified_buffer.bytes is"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices",
					      cases[i][0]);
		cli_check_refusal(&r, 2, cases[i][1], cases[i][0]);
		cli_free(&r);
	}
}

/* What a placement file names wrongly is bad input, with its line; what an option says beside it is not. */
Test(cli_bad_machine, faults_of_placement_files_are_named_by_line)
{
	char folder[CLI_PATH], long_path[600];
	snprintf(long_path, sizeof long_path, "*=./%0200d/%0200d/%0150d/none.yaml", 1, 2, 3);
	const char *const rules[] = {"*=nosuch",      "*=tpu_v1@array.rows=0",
				     "*=tpu_v1@rows", "*=./none.yaml",
				     "*=tpu_v1",      "*=tpu_v1@unified_buffer.bytes=100",
				     long_path};
	cli_folder(folder);
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		char name[16], text[700];
		snprintf(name, sizeof name, "%zu.txt", i);
		snprintf(text, sizeof text, "# rules\nConv=host\n%s\n", rules[i]);
		cli_write_text(folder, name, text);
	}
#define FILE_OF_RULES(...)                                                                                             \
	{                                                                                                              \
		"run", "digits", "--place-file", __VA_ARGS__                                                           \
	}
	const struct cli_refusal cases[] = {
		{3, "0.txt:3: there is no device 'nosuch'", FILE_OF_RULES("@/0.txt")},
		{3, "1.txt:3: tpu_v1@array.rows=0: array.rows must be", FILE_OF_RULES("@/1.txt")},
		{3, "2.txt:3: tpu_v1@rows: expected NAME@KEY=VALUE", FILE_OF_RULES("@/2.txt")},
		{3, "3.txt:3: ./none.yaml: cannot be opened", FILE_OF_RULES("@/3.txt")},
		{2, "npulab: --set tpu_v1.array.rows=0: ", FILE_OF_RULES("@/4.txt", "--set", "tpu_v1.array.rows=0")},
		{2, "npulab: --set cpu.threads=1: no device here", FILE_OF_RULES("@/4.txt", "--set", "cpu.threads=1")},
		{3, "5.txt:3: tpu_v1@unified_buffer.bytes=100: unified_buffer.bytes", FILE_OF_RULES("@/5.txt")},
		/* the message, which is cut, no longer has the whole path */
		{3, "6.txt:3: ./0000", FILE_OF_RULES("@/6.txt")},
		{2, "npulab: there is no device 'nosuch'", {"run", "digits", "--place", "*=nosuch"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
