/* SPDX-License-Identifier: MIT
 *
 * What the build promises of folders: an include or a call that points up, a folder that is not in the table of
 * ARCHITECTURE.md and files of two folders that need each other fail `make lint`. So do a private symbol that does not
 * begin as the table of CONTRIBUTING.md says, and a document that names a file which does not exist. A source that was
 * moved leaves nothing in the library. Each in a tiny project. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/kit/cli_run.h"

#ifndef TEST_CC
#define TEST_CC "cc"
#endif

enum { OUTPUT = 8192 };

static void put(const char *folder, const char *path, const char *text)
{
	char command[2 * CLI_PATH];
	snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", cli_path(folder, path));
	cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c) */
	cli_write_text(folder, path, text);
}

/* The exit status of a command in the folder, and what it prints. */
static int shell(const char *folder, const char *command, char output[OUTPUT])
{
	char line[4 * CLI_PATH];
	snprintf(line, sizeof line, "{ cd '%s' && %s; } 2>&1", folder, command);
	FILE *pipe = popen(line, "r"); /* NOLINT(cert-env33-c) */
	cr_assert(pipe);
	output[fread(output, 1, OUTPUT - 1, pipe)] = '\0';
	return pclose(pipe);
}

static int check(const char *folder, const char *subject, char output[OUTPUT])
{
	char command[2 * CLI_PATH], here[CLI_PATH];
	cr_assert(getcwd(here, sizeof here));
	snprintf(command, sizeof command, "ROOT=. /usr/bin/python3 '%s'/scripts/%s", here, subject);
	return shell(folder, command, output);
}

static const char table[] = "| rank | folder | seen by | holds |\n"
			    "|---|---|---|---|\n"
			    "| 0 | `include/npulab/` | all higher ranks | the API |\n"
			    "| 1 | `core/` | all higher ranks | low |\n"
			    "| 2 | `sim/one/` | `sim/one/` | a machine |\n"
			    "| 2 | `sim/two/` | `sim/two/` | another |\n"
			    "| 3 | `cli/` | all higher ranks | high |\n"
			    "| 4 | `examples/` | all higher ranks | from outside |\n";

static void tiny(const char *folder)
{
	put(folder, "ARCHITECTURE.md", table);
	put(folder, "include/npulab/api.h", "int npl_low(void);\n");
	put(folder, "core/low.h", "#include \"npulab/api.h\"\n");
	put(folder, "core/low.c", "#include \"low.h\"\nint npl_low(void)\n{\n\treturn 1;\n}\n");
	put(folder, "sim/one/one.h", "#include \"core/low.h\"\n");
	put(folder, "sim/two/two.h", "#include \"core/low.h\"\n");
	put(folder, "core/said.c", "/* \n#include \"sim/one/one.h\"\n*/\n// #include \"sim/one/one.h\"\n");
	put(folder, "cli/main.c",
	    "#include <stdio.h>\n#include \"core/low.h\"\nint main(void)\n{\n\treturn npl_low();\n}\n");
}

Test(rooms, includes_point_down)
{
	static const struct {
		const char *path, *text, *expected;
	} wrong[] = {
		{"core/up.c", "#include \"sim/one/one.h\"\n",
		 "core/up.c:1: #include \"sim/one/one.h\": sim/one/ has rank 2, core/ 1"},
		{"sim/one/other.c", "#include \"sim/two/two.h\"\n", "sim/two/ has rank 2, sim/one/ 2"},
		{"cli/inside.c", "\n#include \"sim/one/one.h\"\n",
		 "cli/inside.c:2: #include \"sim/one/one.h\": sim/one/ is seen by sim/one/ alone"},
		{"include/npulab/private.h", "#include \"core/low.h\"\n",
		 "a public header includes public headers only"},
		{"frontend/new/new.c", "int x;\n", "frontend/new/ is not in the table of ARCHITECTURE.md"},
		{"core/gone.c", "#include \"npulab/gone.h\"\n", "there is no such file"},
		{"core/up.c", "%:include \"sim/one/one.h\"\n", "core/up.c:1: #include \"sim/one/one.h\": sim"},
		{"core/deep/up.c", "#include \"npulab/../../sim/one/one.h\"\n", "core/deep/ is not in the table"},
		{"sim/one/up.c", "#include \"npulab/../../sim/two/two.h\"\n", "sim/two/ has rank 2, sim/one/ 2"},
		{"core/up.def", "#include \"sim/one/one.h\"\n", "core/up.def:1: #include \"sim/one/one.h\": sim"},
		{"include/npulab/up.def", "#include \"core/low.h\"\n", "a public header includes public headers only"},
		{"examples/in.c", "#include \"core/low.h\"\n", "a program from outside includes public headers only"},
		{"lab/new.c", "int x;\n", "lab/new.c: lab/ is not in the table"},
		/* However it is written. */
		{"core/up.c", "#include <sim/one/one.h>\n",
		 "core/up.c:1: #include \"sim/one/one.h\": sim/one/ has rank 2"},
		{"core/up.c", "#include \"../sim/one/one.h\" // up\n",
		 "core/up.c:1: #include \"../sim/one/one.h\": sim"},
		{"core/up.c", "/* \n */ # /**/ include /**/\"sim/one/one.h\"\n",
		 "core/up.c:2: #include \"sim/one/one.h\""},
		{"core/up.c", "\n#inc\\\nlude \"sim/one/one.h\"\n", "core/up.c:3: #include \"sim/one/one.h\""},
		{"core/up.c", "#define ONE \"sim/one/one.h\"\n#include ONE\n",
		 "core/up.c:2: #include ONE: expected the name of a file"},
	};
	char folder[CLI_PATH], output[OUTPUT];
	cli_folder(folder);
	tiny(folder);
	cr_assert_eq(check(folder, "check_rooms.py includes", output), 0, "%s", output);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		put(folder, wrong[i].path, wrong[i].text);
		cr_assert_neq(check(folder, "check_rooms.py includes", output), 0, "%s", wrong[i].path);
		cr_assert(strstr(output, wrong[i].expected), "%s", output);
		cr_assert_eq(unlink(cli_path(folder, wrong[i].path)), 0);
	}
	cli_remove_folder(folder);
}

static const char compile[] = "for f in core/*.c sim/*/*.c cli/*.c; do mkdir -p \"o/$(dirname $f)\" && " TEST_CC
			      " -Iinclude -I. -c -o \"o/${f%.c}.o\" \"$f\" || exit 1; done";

Test(rooms, calls_point_down)
{
	char folder[CLI_PATH], output[OUTPUT];
	cli_folder(folder);
	tiny(folder);
	put(folder, "sim/one/one.c", "#include \"one.h\"\nint one(void);\nint one(void)\n{\n\treturn npl_low();\n}\n");
	cr_assert_eq(shell(folder, compile, output), 0, "%s", output);
	cr_assert_eq(check(folder, "check_rooms.py symbols o", output), 0, "%s", output);
	/* No include tells of it. */
	put(folder, "core/low.c", "int one(void);\nint npl_low(void);\nint npl_low(void)\n{\n\treturn one();\n}\n");
	cr_assert_eq(shell(folder, compile, output), 0, "%s", output);
	cr_assert_neq(check(folder, "check_rooms.py symbols o", output), 0);
	cr_assert(strstr(output, "core/low.c uses one of sim/one/one.c: sim/one/ has rank 2, core/ 1"), "%s", output);
	cr_assert(strstr(output, "files of several folders need each other: core/low.o sim/one/one.o"), "%s", output);
	/* Upwards, but into a machine that only its own folders see. */
	put(folder, "core/low.c", "#include \"low.h\"\nint npl_low(void)\n{\n\treturn 1;\n}\n");
	put(folder, "cli/main.c", "int one(void);\nint main(void)\n{\n\treturn one();\n}\n");
	cr_assert_eq(shell(folder, compile, output), 0, "%s", output);
	cr_assert_neq(check(folder, "check_rooms.py symbols o", output), 0);
	cr_assert(strstr(output, "cli/main.c uses one of sim/one/one.c: sim/one/ is seen by sim/one/ alone"), "%s",
		  output);
	cr_assert_neq(check(folder, "check_rooms.py symbols no_such", output), 0);
	cr_assert(strstr(output, "there are no objects below no_such"), "%s", output);
	cli_remove_folder(folder);
}

Test(rooms, private_symbols_begin_as_the_table_says)
{
	static const struct {
		const char *table, *expected;
	} wrong[] = {
		{"| `core/` | `npl_` | |\n| `sim/` | `one_` | |\n| `cli/` | `cli_` | |\n",
		 "core/own.c: the table of CONTRIBUTING.md has no prefix of this folder that own_x begins with\n"},
		{"| `core/` | `own_` | |\n| `sim/` | `one_` | |\n| `cli/` | `cli_` | |\n",
		 "sim/one/one.c uses own_x of core/, which the table of CONTRIBUTING.md gives to no other folder\n"},
		{"| `core/` | `own_`, `old_` | `own_` |\n| `sim/` | `one_` | |\n| `cli/` | `cli_` | |\n",
		 "CONTRIBUTING.md: no private symbol of core/ begins with old_\n"},
	};
	char folder[CLI_PATH], output[OUTPUT];
	cli_folder(folder);
	tiny(folder);
	put(folder, "core/own.c", "int own_x;\n");
	put(folder, "sim/one/one.c", "extern int own_x;\nint one_y(void);\nint one_y(void)\n{\n\treturn own_x;\n}\n");
	put(folder, "cli/other.c", "int cli_z;\n");
	cr_assert_eq(shell(folder, compile, output), 0, "%s", output);
	put(folder, "CONTRIBUTING.md", "| `core/` | `own_` | `own_` |\n| `sim/` | `one_` | |\n| `cli/` | `cli_` | |\n");
	cr_assert_eq(check(folder, "check_rooms.py prefixes o", output), 0, "%s", output);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		put(folder, "CONTRIBUTING.md", wrong[i].table);
		cr_assert_neq(check(folder, "check_rooms.py prefixes o", output), 0, "%s", wrong[i].table);
		cr_assert(strstr(output, wrong[i].expected), "%s", output);
	}
	cli_remove_folder(folder);
}

Test(rooms, documents_name_files_that_there_are)
{
	static const struct {
		const char *text, *expected;
	} wrong[] = {
		{"A call: `core/high.c`.\n", "CONTRIBUTING.md:1: `core/high.c`: there is no such file or folder"},
		{"\n* `core/`, `gone.c`\n", "CONTRIBUTING.md:2: `gone.c`: there is no such file"},
		{"In `one.h` of `sim/one/`.\n\nIn `same.h`.\n",
		 "CONTRIBUTING.md:3: `same.h`: several files have this name: sim/"},
		{"| x | `npulab/gone.h` |\n", "`npulab/gone.h`: there is no such"},
		{"`core/*_low.c`\n", "`core/*_low.c`: there is no such"},
	};
	char folder[CLI_PATH], output[OUTPUT];
	cli_folder(folder);
	tiny(folder);
	put(folder, "examples/first.c", "");
	put(folder, "sim/one/same.h", "");
	put(folder, "sim/two/same.h", "");
	put(folder, "CONTRIBUTING.md",
	    "`low.h`, `npulab/api.h`, `core/`, `core/*.c`, `machines/NAME.yaml`, `b/s`\n\n`same.h` of `sim/one/`\n\n"
	    "```\ncore/high.c `core/high.c`\n```\n");
	cr_assert_eq(check(folder, "check_paths.py", output), 0, "%s", output);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		put(folder, "CONTRIBUTING.md", wrong[i].text);
		cr_assert_neq(check(folder, "check_paths.py", output), 0, "%s", wrong[i].text);
		cr_assert(strstr(output, wrong[i].expected), "%s", output);
	}
	cli_remove_folder(folder);
}

Test(rooms, moved_sources_leave_no_objects)
{
	char folder[CLI_PATH], output[OUTPUT], here[CLI_PATH], command[4 * CLI_PATH];
	cli_folder(folder);
	cr_assert(getcwd(here, sizeof here));
	snprintf(command, sizeof command,
		 "cp '%s/Makefile' . && mkdir scripts && cp '%s/scripts/embed.sh' '%s/scripts/'*-folders.txt scripts/",
		 here, here, here);
	cr_assert_eq(shell(folder, command, output), 0, "%s", output);
	put(folder, "core/base/version.c", "int npl_version(void);\nint npl_version(void)\n{\n\treturn 1;\n}\n");
	put(folder, "core/old.c", "int npl_old(void);\nint npl_old(void)\n{\n\treturn 1;\n}\n");
	put(folder, "include/npulab/version.h", "int npl_version(void), npl_old(void), npl_new(void);\n");
	put(folder, "cli/main.c", "int main(void)\n{\n\treturn 0;\n}\n");
	put(folder, "backends/cuda/load/nvrtc.h",
	    "struct cu_text {\n\tconst char *name, *text;\n};\nextern const struct cu_text cu_texts[];\n");
	put(folder, "backends/cuda/kernels/a.cu", "nothing\n");
	static const char build[] = "mkdir -p $(cat scripts/code-folders.txt) tests/kit bench examples && "
				    "env -u MAKEFLAGS -u MAKELEVEL make -s BUILD=release CC=" TEST_CC
				    " build/libnpulab.a && nm build/libnpulab.a";
	cr_assert_eq(shell(folder, build, output), 0, "%s", output);
	cr_assert(strstr(output, " T npl_old\n"), "%s", output);
	cr_assert_eq(shell(folder,
			   "mkdir core/files && mv core/old.c core/files/new.c && sed -i s/npl_old/npl_new/ "
			   "core/files/new.c",
			   output),
		     0);
	cr_assert_eq(shell(folder, build, output), 0, "%s", output);
	cr_assert(strstr(output, " T npl_new\n") && !strstr(output, "npl_old"), "%s", output);
	/* A public header that comes with an old date, and one that goes; a name in a comment is none. */
	cr_assert_eq(
		shell(folder,
		      "printf '/* npl_new2 */ int npl_new1(void);\\n' > include/npulab/more.h && printf 'int "
		      "npl_new1(void), npl_new2(void);int npl_new1(void){return 1;}int npl_new2(void){return 2;}\\n' "
		      ">> core/files/new.c && touch -d 2001-01-01 include/npulab/more.h",
		      output),
		0);
	cr_assert_eq(shell(folder, build, output), 0, "%s", output);
	cr_assert(strstr(output, " T npl_new1\n") && strstr(output, " t npl_new2\n"), "%s", output);
	cr_assert_eq(shell(folder, "rm include/npulab/more.h", output), 0);
	cr_assert_eq(shell(folder, build, output), 0, "%s", output);
	cr_assert(strstr(output, " t npl_new1\n"), "%s", output);
	/* Removed, and nothing else is changed. */
	cr_assert_eq(shell(folder, "rm core/files/new.c", output), 0);
	cr_assert_eq(shell(folder, build, output), 0, "%s", output);
	cr_assert(!strstr(output, "npl_new") && strstr(output, " T npl_version\n"), "%s", output);
	cli_remove_folder(folder);
}
