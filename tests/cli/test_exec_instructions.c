/* SPDX-License-Identifier: MIT
 *
 * npulab exec --instructions and --events (docs/exec.md). What the program promises, of the worked examples of both
 * instruction sets: JSON has each instruction with its line, name and unit; cycle classes sum to the instruction's
 * cycles and, over all, to the counters of their name; both engines give the same; events name the line; a binary has
 * no lines; a sync has the time that it takes. */
#include "tests/kit/cli_example.h"
#include "tests/kit/cli_json.h"

struct example {
	const char *document, *machine;
	int instructions;
	const char *event; /* a line of the events */
	const char *row;   /* of the table */
};

static const struct example examples[] = {
	{"docs/tpu-isa.md", "systolic_16x16", 49, "\n7,tile_shifted,0,0,7,read_weights,weights\r\n", "raw_stall"},
	{"docs/diannao-isa.md", "diannao", 7, ",started,1,1,6,SB LOAD|NBIN LOAD|NBOUT STORE|NFU MULT,nfu\r\n",
	 "SB LOAD|NBIN LOAD|NBOUT STORE|NFU MULT"},
};

static void check_sums(json_t *root, const struct example *example)
{
	json_t *instructions = cli_at(root, "instructions"), *instruction, *value;
	const char *name;
	size_t i;
	int counters = 0;
	cr_assert_eq(json_array_size(instructions), (size_t)example->instructions);
	json_array_foreach (instructions, i, instruction) {
		long long all = 0;
		json_object_foreach (cli_at(instruction, "cycles"), name, value)
			all += cli_integer(value);
		cr_assert_eq(all, cli_integer(cli_at(instruction, "end")) - cli_integer(cli_at(instruction, "begin")));
		cr_assert_leq(cli_integer(cli_at(instruction, "worked")) + cli_integer(cli_at(instruction, "waited")),
			      all);
	}
	json_object_foreach (cli_at(json_array_get(instructions, 0), "cycles"), name, value) {
		json_t *counter = json_object_get(cli_at(root, "counters"), name);
		long long all = 0;
		json_array_foreach (instructions, i, instruction)
			all += cli_integer(json_object_get(cli_at(instruction, "cycles"), name));
		counters += counter != NULL;
		if (counter)
			cr_assert_eq(all, cli_integer(counter), "%s", name);
	}
	cr_assert_geq(counters, 5, "%d classes are counters too", counters);
}

static json_t *run(const struct cli_run_options *options, const struct example *example, const char *program,
		   const char *engine)
{
	return cli_json(options, "exec", program, "--machine", example->machine, "--timing-only", "--engine", engine,
			"--instructions", "--json", "-");
}

Test(cli_exec_instructions, both_machines_time_each_instruction)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	for (size_t e = 0; e < sizeof examples / sizeof *examples; e++) {
		const struct example *example = &examples[e];
		char *text = cli_block(example->document, "asm");
		cli_write_text(folder, "p.s", text);
		free(text);
		struct cli_result r = cli_run(&options, "asm", "@/p.s", "-o", "@/p.bin", "--machine", example->machine);
		cr_assert_eq(r.status, 0, "%s", r.err);
		cli_free(&r);
		json_t *fast = run(&options, example, "@/p.s", "fast"), *rtl = run(&options, example, "@/p.s", "rtl"),
		       *binary = run(&options, example, "@/p.bin", "fast");
		check_sums(fast, example);
		cr_assert(json_equal(cli_at(fast, "instructions"), cli_at(rtl, "instructions")));
		cr_assert(json_is_null(cli_at(json_array_get(cli_at(binary, "instructions"), 0), "line")));
		cr_assert_str_eq(cli_text(cli_at(json_array_get(cli_at(binary, "instructions"), 0), "name")),
				 cli_text(cli_at(json_array_get(cli_at(fast, "instructions"), 0), "name")));
		json_decref(fast);
		json_decref(rtl);
		json_decref(binary);
		r = cli_run(&options, "exec", "@/p.s", "--machine", example->machine, "--timing-only", "--events", "-");
		cr_assert(r.status == 0 && !strncmp(r.out, "cycle,event,index,instruction,line,name,unit\r\n", 46));
		cr_assert(strstr(r.out, example->event), "%s", r.out);
		cli_free(&r);
		r = cli_run(&options, "exec", "@/p.bin", "--machine", example->machine, "--timing-only", "--events",
			    "-");
		cr_assert(strstr(r.out, e ? ",decoded,0,0,,SB LOAD|NFU BIAS,nfu\r\n"
					  : "\n0,issued,0,0,,read_weights,weights\r\n"),
			  "%s", r.out);
		cli_free(&r);
		r = cli_run(&options, "exec", "@/p.s", "--machine", example->machine, "--timing-only",
			    "--instructions");
		cr_assert(r.status == 0 && strstr(r.out, "LINE  INSTRUCTION") && strstr(r.out, example->row), "%s",
			  r.out);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* Three cycles an instruction, and 40 more a sync: those are its own, and after them issue comes to the next as after
 * any other. */
Test(cli_exec_instructions, a_sync_has_its_time)
{
	static const char *const engines[] = {"fast", "rtl"};
	char folder[CLI_PATH];
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	char *text = cli_block(examples[0].document, "asm");
	cli_write_text(folder, "p.s", text);
	free(text);
	for (int e = 0; e < 2; e++) {
		json_t *root = cli_json(&options, "exec", "@/p.s", "--machine", examples[0].machine, "--timing-only",
					"--engine", engines[e], "--instructions", "--json", "-", "--set",
					"systolic_16x16.issue.cycles_per_instruction=3", "--set",
					"systolic_16x16.issue.sync_cycles=40");
		json_t *instructions = cli_at(root, "instructions");
		long long syncs = 0, beside = 0;
		check_sums(root, &examples[0]);
		for (size_t i = 0; i + 1 < json_array_size(instructions); i++) {
			json_t *at = json_array_get(instructions, i), *cycles = cli_at(at, "cycles");
			if (strcmp(cli_text(cli_at(at, "name")), "sync") != 0)
				continue;
			cr_assert_eq(cli_integer(cli_at(json_array_get(instructions, i + 1), "begin")),
				     cli_integer(cli_at(at, "end")) + 2);
			cr_assert_leq(cli_integer(cli_at(cycles, "sync_pause")), 40);
			beside += 40 - cli_integer(cli_at(cycles, "sync_pause"));
			syncs++;
		}
		cr_assert_eq(syncs, 3);
		cr_assert_eq(cli_integer(cli_at(root, "counters.sync_pause")), 3 * 40 - beside);
		json_decref(root);
	}
	cli_remove_folder(folder);
}
