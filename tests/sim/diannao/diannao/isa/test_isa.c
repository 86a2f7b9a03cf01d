/* SPDX-License-Identifier: MIT
 *
 * The instruction set of DianNao as text. What the program promises: every program goes to text and to binary and back
 * without a bit changed; the sequence of the paper assembles and can run on its machine; and of any text the assembler
 * makes a program or says in one line what is wrong and what was expected. */
#include "tests/kit/sim/diannao/isa_support.h"

#include "tests/kit/sim/diannao/code.h"
#include "tests/kit/sim/diannao/fixture.h"

Test(diannao_isa, programs_survive_text_and_binary)
{
	int instructions = 0;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		uint64_t rng = seed;
		struct sim_program program = dn_isa_random_program(&rng);
		dn_isa_round_trip(&program, seed);
		instructions += (int)program.count;
		sim_program_free(&program);
	}
	cr_assert(instructions > 50000, "%d", instructions);
}

/* The least text: what is absent is NOP; functions that every program knows stand by their name alone. */
Test(diannao_isa, the_shortest_program_assembles)
{
	static const char *const texts[] = {
		"CP END\n",
		"CP NOP\nCP SYNC | SB READ,0,0,512\nCP END\n",
		".host 4194304\n.weights 1\nNBIN LOAD,1,0,0,0,4194304,2048\n",
		".function TANH\n.function SIGMOID\n"
		"SB READ,0,64,32 | NBIN READ,0,2,1,7,0,0 | NBOUT NOP,STORE,96,8 | NFU MULT,ADD,RESET,NFU3,TANH,0,1 "
		"shift=-3 result_shift=5 divisor=65536\n"
		"NBIN READ,1,0,0,0,0,0 | NBOUT READ,STORE,0,0 | NFU NOP,MAX,NBOUT,NBOUT,SIGMOID,1,0 shift=1\n"
		"NBIN READ,1,0,0,0,0,0 | NBOUT READ,WRITE,0,0 | NFU NOP,MAX,NBOUT,NBOUT,TANH,0,0\n",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct sim_program program = dn_isa_program(texts[i]);
		struct npl_err err = {0};
		char *text;
		cr_assert_eq(dn_disassemble("a", &program, &text, &err), 0, "%s", err.msg);
		cr_assert_str_eq(text, texts[i]);
		free(text);
		sim_program_free(&program);
	}
	/* A known name needs no directive, and gets its number by its first use; with other values it has them in the
	 * text. */
	struct sim_program program = dn_isa_program(texts[3] + strlen(".function TANH\n.function SIGMOID\n"));
	struct npl_err err = {0};
	char *text;
	cr_assert(program.n_constants == 2 && !strcmp(program.constant[0].name, "TANH") &&
		  !memcmp(program.constant[1].value, &dn_sigmoid, sizeof dn_sigmoid));
	cr_assert_eq(dn_disassemble("a", &program, &text, &err), 0, "%s", err.msg);
	cr_assert_str_eq(text, texts[3]);
	free(text);
	program.constant[0].value[0] = 1;
	cr_assert_eq(dn_disassemble("a", &program, &text, &err), 0, "%s", err.msg);
	cr_assert(!strncmp(text, ".function TANH 1,-1024 5,-1003 ", 31) && strstr(text, "\n.function SIGMOID\n"), "%s",
		  text);
	free(text);
	sim_program_free(&program);
}

/* The same program in another notation gives the same instructions. */
Test(diannao_isa, every_notation_gives_the_same_program)
{
	static const char plain[] =
		".host 4096\n.weights 65536\n"
		".function HALF 512,0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 "
		"512,0 512,-1\n"
		"SB LOAD,1,65536,1024\n"
		"SB READ,0,0,64 | NBIN LOAD,0,0,0,0,4096,16 | NBOUT NOP,STORE,8192,8 | NFU "
		"MULT,ADD,RESET,NFU3,HALF,0,0 shift=-2 divisor=3\n"
		"CP END\n";
	static const char other[] =
		"; a comment\r\n\r\n.function\tHALF 0x200 , 0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 512,0 "
		"512,0 512,0 512,0 512,0 512,0 512,-1 # why\r\nSB LOAD , 0x1,0x10000,\t1024\r\n"
		"NFU MULT,ADD,RESET,NFU3,HALF,0,0 divisor = 3 shift=-2|NBOUT NOP,STORE,8192,8|CP NOP|NBIN "
		"LOAD,0,0,0,0,4096,16|SB READ,0,0,64;no blank\n.weights 0x10000\n.host 4096#\nCP END";
	struct sim_program expected = dn_isa_program(plain), program = dn_isa_program(other);
	size_t n, n_other;
	uint8_t *a = dn_isa_encoded(&expected, &n), *b = dn_isa_encoded(&program, &n_other);
	cr_assert_eq(n, n_other);
	cr_assert_arr_eq(a, b, n);
	cr_assert_eq(expected.count, 3);
	const struct dn_instruction *instruction = &dn_code(&expected)[1];
	cr_assert(instruction->nfu.nfu1 == DN_MULT && instruction->nfu.nfu3 == 1 && instruction->nfu.shift == -2 &&
		  instruction->nfu.divisor == 3);
	cr_assert(instruction->nbout.write == DN_STORE && instruction->nbout.address == 8192 &&
		  instruction->nbin.size == 16 && instruction->sb.op == DN_READ);
	cr_assert(expected.line[0] == 4 && expected.line[2] == 6 && program.line[2] == 8);
	cr_assert(expected.constant[0].value[31] == -1 && expected.host_address == 4096 &&
		  expected.weight_address == 65536);
	free(a);
	free(b);
	sim_program_free(&expected);
	sim_program_free(&program);
	/* By name, in any order; what is left out is 0, and what stands by its place comes first. */
	expected = dn_isa_program("SB READ,0,0,64 | NBIN LOAD,0,2,0,6,4096,16 | NBOUT NOP,STORE,8192,8 | "
				  "NFU MULT,ADD,RESET,NFU3,NONE,0,1 shift=-2\nCP END\n");
	program = dn_isa_program(".machine diannao\ndefine ROW 16 ; bytes\n"
				 "SB size=0x40 read_op=READ | NBIN LOAD stride=2 stride_end=6 size=ROW address = 4096 |"
				 "NBOUT write_op=STORE size=8 address=8192 | NFU shift=-2 nfu_1_op=MULT nfu_2_op=ADD "
				 "nfu_2_out=NFU3 output_end=1\nCP op=END\n");
	a = dn_isa_encoded(&expected, &n);
	b = dn_isa_encoded(&program, &n_other);
	cr_assert_eq(n, n_other);
	cr_assert_arr_eq(a, b, n);
	free(a);
	free(b);
	sim_program_free(&expected);
	sim_program_free(&program);
	program = dn_isa_program("# nothing\n\n");
	cr_assert_eq(program.count, 0);
	sim_program_free(&program);
	struct dn_function relu;
	program = dn_isa_program("NBIN READ,1,0,0,0,0,0|NBOUT NOP,STORE,0,8|NFU NOP,ADD,RESET,NFU3,RELU,0,0");
	cr_assert(dn_clip(0, INT16_MAX, &relu));
	cr_assert(!memcmp(program.constant[0].value, &relu, sizeof relu) && !strcmp(program.constant[0].name, "RELU"));
	sim_program_free(&program);
}

#define WORD_100 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggghhhhhhhhhhiiiiiiiiiijjjjjjjjjj"
#define PAIRS_15 "1,0 1,0 1,0 1,0 1,0 1,0 1,0 1,0 1,0 1,0 1,0 1,0 1,0 1,0 1,0 "

/* Programs with one mistake, in the last line of each: two parts of what the message says. */
static const struct {
	const char *text, *expected, *expects;
} wrong_texts[] = {
	{"CP END\nSBB LOAD,0,0,32", "there is no slot 'SBB'", "nearest is 'SB'"},
	{"sb LOAD,0,0,32", "there is no slot 'sb'", "nearest is 'SB'"},
	{"CP END | CP NOP", "CP: a second one", "each slot once"},
	{"CP END |", "no slot at the end of the line", "expected a name"},
	{"CP END || CP NOP", "no slot here", "expected a name"},
	{"| CP END", "no slot here", "expected a name"},
	{", CP END", "no slot here", "expected a name"},
	{"CP", "CP: no OP", "expected OP"},
	{"CP STOP", "CP: there is no OP 'STOP'; expected NOP", "or END"},
	{"CP END END", "CP: 'END' is one value too many", "expected OP"},
	{"CP END,1", "CP: '1' is one value too many", "expected OP"},
	{"CP END = 1", "CP: 'END='", "expected OP"},
	{"CP = END", "CP: no OP", "expected OP"},
	{"SB", "SB: no READ OP", "expected READ OP,REUSE,ADDRESS,SIZE"},
	{"SB LAOD,0,0,32", "SB: there is no READ OP 'LAOD'", "expected NOP, LOAD or READ"},
	{"SB LOAD,0,0", "SB: no SIZE", "expected READ OP,REUSE,ADDRESS,SIZE"},
	{"SB LOAD", "SB: no REUSE", "expected READ OP,REUSE,ADDRESS,SIZE"},
	{"SB LOAD,0,0,32,1", "SB: '1' is one value too many", "expected READ OP,REUSE,ADDRESS,SIZE"},
	{"SB LOAD,,0,32", "SB: no REUSE after ','", "expected READ OP,REUSE,ADDRESS,SIZE"},
	{"SB LOAD,0,0,|CP END", "SB: no SIZE after ','", "expected READ OP,REUSE,ADDRESS,SIZE"},
	{"SB LOAD,2,0,32", "SB: REUSE is '2'", "whole number from 0 to 1"},
	{"SB LOAD,0,-1,32", "SB: ADDRESS is '-1'", "from 0 to 281474976710655"},
	{"SB LOAD,0,281474976710656,32", "SB: ADDRESS is '281474976710656'", "from 0 to 281474976710655"},
	{"SB LOAD,0,0,4294967296", "SB: SIZE is '4294967296'", "from 0 to 4294967295"},
	{"SB LOAD,0,0,99999999999999999999", "SB: SIZE is '99999999999999999999'", "whole number"},
	{"SB LOAD,0,0,1.5", "SB: SIZE is '1.5'", "whole number"},
	{"SB LOAD,0,0,0x", "SB: SIZE is '0x'", "whole number"},
	{"SB LOAD,0,0,ROWS", "SB: SIZE is 'ROWS'", "whole number"},
	{"SB LOAD,0,0,32 shift=1", "SB: 'shift='", "expected READ OP,REUSE,ADDRESS,SIZE"},
	{"NBIN READ,1,0,0,0,0", "NBIN: no SIZE", "expected READ OP,REUSE,STRIDE,STRIDE BEGIN,STRIDE END,ADDRESS,SIZE"},
	{"NBOUT LOAD,WRITE,0,0", "NBOUT: there is no READ OP 'LOAD'", "expected NOP or READ"},
	{"NBOUT READ,READ,0,0", "NBOUT: there is no WRITE OP 'READ'", "expected NOP"},
	{"NFU MULT,ADD,RESET,NFU3,NONE,0", "NFU: no OUTPUT END",
	 "expected NFU-1 OP,NFU-2 OP,NFU-2 IN,NFU-2 OUT,NFU-3 OP,OUTPUT BEGIN,OUTPUT END"},
	{"NFU MUL,ADD,RESET,NFU3,NONE,0,0", "there is no NFU-1 OP 'MUL'", "nearest is 'MULT'"},
	{"NFU MULT,MUX,RESET,NFU3,NONE,0,0", "there is no NFU-2 OP 'MUX'", "nearest is 'MAX'"},
	{"NFU MULT,ADD,NFU3,NFU3,NONE,0,0", "there is no NFU-2 IN 'NFU3'", "expected RESET"},
	{"NFU MULT,ADD,RESET,RESET,NONE,0,0", "there is no NFU-2 OUT 'RESET'", "expected "},
	{"NFU MULT,ADD,RESET,NFU3,SIGMOD,0,0", "there is no NFU-3 OP 'SIGMOD'",
	 "nearest is 'SIGMOID' (.function makes others)"},
	{".function FUN " PAIRS_15 "1,0\nNFU MULT,ADD,RESET,NFU3,FUNN,0,0", "no NFU-3 OP 'FUNN'", "nearest is 'FUN'"},
	{"SB read_op=LOAD reuse=1 size=32 size=32", "SB: size= is given twice", "expected READ OP"},
	{"SB LOAD read_op=LOAD", "SB: read_op= is given twice", "expected READ OP"},
	{"SB size=32 LOAD size=32", "SB: size= is given twice", "expected READ OP"},
	{"SB read_op=LOAD READ", "SB: 'READ' is one value too many", "expected READ OP"},
	{"SB read_op=LAOD", "SB: there is no READ OP 'LAOD'", "expected NOP, LOAD or READ"},
	{"SB READ_OP=LOAD", "SB: 'READ_OP='", "expected READ OP"},
	{"SB read_op=LOAD size=", "SB: size= without a value", "expected size=VALUE"},
	{"SB read_op=LOAD size= reuse=1", "SB: size= without a value", "expected size=VALUE"},
	{"define X 1\ndefine X 2", "'X' is defined already, on line 1", "another name"},
	{"define BIG 4294967296\nSB LOAD,0,0,BIG", "SB: SIZE is 'BIG' ('4294967296')", "whole number"},
	{"CP END\n.machine diannao", ".machine", "expected it before all else and once"},
	{".machine", ".machine without a name", "expected one"},
	{"NFU NOP,NOP,RESET,KEEP,NONE,0,2", "NFU: OUTPUT END is '2'", "from 0 to 1"},
	{"NFU NOP,NOP,RESET,KEEP,NONE,0,0 shift", "NFU: 'shift' is one value too many",
	 "shift= result_shift= divisor="},
	{"NFU NOP,NOP,RESET,KEEP,NONE,0,0 shift=", "NFU: shift= without a value", "expected shift=VALUE"},
	{"NFU NOP,NOP,RESET,KEEP,NONE,0,0 shift=40000", "NFU: shift is '40000'", "from -32768 to 32767"},
	{"NFU NOP,NOP,RESET,KEEP,NONE,0,0 shift=0 shift=0", "NFU: shift= is given twice", "expected NFU-1 OP,"},
	{"NFU NOP,NOP,RESET,KEEP,NONE,0,0 divisor=65537", "NFU: divisor is '65537'", "from 0 to 65536"},
	{"NFU NOP,NOP,RESET,KEEP,NONE,0,0 left=1", "NFU: 'left='", "shift= result_shift= divisor="},
	/* what one instruction says by itself (test_check.c) */
	{"SB LOAD,0,0,32", "SB: REUSE is 0", "expected 1"},
	{".hots 1", "no directive '.hots'", "expected .machine, .host, .weights or .function"},
	{".host", ".host without an address", "expected one"},
	{".host -1", ".host is '-1'", "from 0 to 281474976710655"},
	{".weights 281474976710656", ".weights is '281474976710656'", "from 0 to 281474976710655"},
	{".host 1\n.host 1", "a second .host", "expected one"},
	{".weights 1 2", "'2' is one too many", "end of the line"},
	{".function", ".function without a name and pairs a,b", "expected one"},
	{".function 1F " PAIRS_15 "1,0", ".function '1F'", "expected a name"},
	{".function NONE " PAIRS_15 "1,0", ".function 'NONE'", "other than NONE"},
	{".function a_name_of_thirty_two__characters " PAIRS_15 "1,0", "'a_name_of_thirty_two__characters'",
	 "at most 31 letters"},
	{".function F " PAIRS_15 "1,0\n.function F " PAIRS_15 "1,0", "has a function F already", "another name"},
	{"NBIN READ,1,0,0,0,0,0|NBOUT NOP,STORE,0,8|NFU NOP,ADD,RESET,NFU3,TANH,0,0\n.function TANH " PAIRS_15 "1,0",
	 "has a function TANH already", "another name"},
	{".function F " PAIRS_15, "F: no a15", "expected 16 pairs a,b"},
	{".function F " PAIRS_15 "1", "F: no b15", "expected 16 pairs a,b"},
	{".function F " PAIRS_15 "1,", "F: no b15", "expected 16 pairs a,b"},
	{".function F " PAIRS_15 "1 0", "F: no b15", "expected 16 pairs a,b"},
	{".function F " PAIRS_15 "1,0 1,0", "'1' is one too many", "end of the line"},
	{".function F 32768,0", "F: a0 is '32768'", "from -32768 to 32767"},
	{".function F 1,-32769", "F: b0 is '-32769'", "from -32768 to 32767"},
	{WORD_100, "no slot 'aaaaaaaaaa", "expected CP, SB, NBIN, NBOUT or NFU"},
	{WORD_100 "k", "a word of 101 characters", "at most 100"},
	{"\x01\xff",
	 "no slot '?"
	 "?'",
	 "expected CP, SB"},
};

/* Each message begins with the file and the number of its last line, and leaves no program. */
Test(diannao_isa, wrong_texts_are_refused_with_their_line)
{
	for (size_t i = 0; i < sizeof wrong_texts / sizeof *wrong_texts; i++) {
		struct sim_program program;
		struct npl_err err = {0};
		char place[32];
		int line = 1;
		for (const char *c = wrong_texts[i].text; *c; c++)
			line += *c == '\n';
		snprintf(place, sizeof place, "bad.s:%d: ", line);
		cr_assert_eq(dn_assemble("bad.s", wrong_texts[i].text, strlen(wrong_texts[i].text), &program, &err),
			     NPL_EINPUT, "%s", wrong_texts[i].text);
		cr_assert(!strncmp(err.msg, place, strlen(place)) && strstr(err.msg, wrong_texts[i].expected) &&
				  strstr(err.msg, wrong_texts[i].expects),
			  "%s: expected '%s' and '%s' in: %s", wrong_texts[i].text, wrong_texts[i].expected,
			  wrong_texts[i].expects, err.msg);
		cr_assert(program.count == 0 && !program.instruction);
	}
	struct sim_program program;
	struct npl_err err = {0};
	cr_assert_eq(dn_assemble("bad.s", "CP END\0\n", 8, &program, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "bad.s:1: a NUL byte"), "%s", err.msg);
}

/* Room for so many functions, and no more, whether declared or known. */
Test(diannao_isa, a_program_has_at_most_16_functions)
{
	char text[SIM_MAX_CONSTANTS * 100 + 200];
	size_t used = 0;
	struct sim_program program;
	struct npl_err err = {0};
	for (int i = 0; i < SIM_MAX_CONSTANTS; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, ".function F%d " PAIRS_15 "1,%d\n", i, i);
	program = dn_isa_program(text);
	cr_assert(program.n_constants == SIM_MAX_CONSTANTS && program.constant[15].value[31] == 15);
	dn_isa_round_trip(&program, 0);
	sim_program_free(&program);
	snprintf(text + used, sizeof text - used, ".function F16 " PAIRS_15 "1,0");
	cr_assert_eq(dn_assemble("f.s", text, strlen(text), &program, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "f.s:17: F16 is function 17, expected at most 16"), "%s", err.msg);
	snprintf(text + used, sizeof text - used,
		 "NBIN READ,1,0,0,0,0,0|NBOUT NOP,STORE,0,8|NFU NOP,ADD,RESET,NFU3,TANH,0,0");
	cr_assert_eq(dn_assemble("f.s", text, strlen(text), &program, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "f.s:17: TANH is function 17, expected at most 16"), "%s", err.msg);
}

/* A damaged text is refused, or gives a program that reads back. */
Test(diannao_isa, random_bytes_never_crash_the_assembler)
{
	static const char seed_text[] =
		".host 4096\n.function F " PAIRS_15 "1,-7\nSB LOAD,1,64,0x400 ; rows\r\n"
		"SB READ,0,0,64 | NBIN LOAD,0,2,0,6,4096,16 | NBOUT NOP,STORE,8192,8 | "
		"NFU MULT,ADD,RESET,NFU3,F,0,0 shift=-2 divisor=3\nNBIN READ,1,0,0,0,0,0 | NBOUT "
		"READ,WRITE,0,0 | NFU NOP,MAX,NBOUT,NBOUT,TANH,0,1 # end\nCP END\n";
	int accepted = 0;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		uint64_t rng = seed;
		char text[sizeof seed_text];
		struct sim_program program;
		struct npl_err err = {0};
		memcpy(text, seed_text, sizeof text);
		for (int64_t k = test_range(&rng, 1, 3); k > 0; k--)
			text[test_range(&rng, 0, sizeof text - 1)] = (char)test_range(&rng, -128, 127);
		size_t n = (size_t)test_range(&rng, 0, sizeof text);
		int rc = dn_assemble("x", text, n, &program, &err);
		if (rc) {
			cr_assert(rc == NPL_EINPUT && !strncmp(err.msg, "x:", 2), "seed %llu: %s",
				  (unsigned long long)seed, err.msg);
			continue;
		}
		accepted++;
		dn_isa_round_trip(&program, seed);
		sim_program_free(&program);
	}
	cr_assert(accepted > 500, "%d", accepted);
}

Test(diannao_isa, long_texts_are_assembled)
{
	size_t n = 3 << 20;
	char *text = malloc(n);
	struct sim_program program;
	struct npl_err err = {0};
	cr_assert(text);
	memset(text, ' ', n);
	memcpy(text, "CP END", 6);
	cr_assert_eq(dn_assemble("x", text, n, &program, &err), 0, "%s", err.msg); /* one line */
	cr_assert_eq(program.count, 1);
	sim_program_free(&program);
	memset(text, 'a', n);
	cr_assert_eq(dn_assemble("x", text, n, &program, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "x:1: a word of 3145728 characters"), "%s", err.msg);
	memset(text, '\n', n);
	memcpy(text + n - 6, "CP END", 6);
	cr_assert_eq(dn_assemble("x", text, n, &program, &err), 0, "%s", err.msg);
	cr_assert_eq(program.line[0], (int)n - 5);
	sim_program_free(&program);
	free(text);
}

/* ---- The sequence of the paper (section 5.3.3, table 4): a classifier layer with sigmoid on the machine of the paper
 * ---- */

#define ROWS_OF_SB 32768 /* bytes of 64 rows: the synapses of 16 outputs and 1024 inputs */

/* Ni inputs from `from`, No outputs to `to`, synapses at 0; as text, with the order of the paper: for each 1024 inputs,
 * for each 16 outputs. */
static char *classifier(int64_t ni, int64_t no, int64_t from, int64_t to)
{
	char *text = NULL;
	size_t bytes;
	int64_t chunks = ni / 1024, groups = no / 16;
	FILE *out = open_memstream(&text, &bytes);
	cr_assert(out);
	for (int64_t chunk = 0; chunk < chunks; chunk++)
		for (int64_t group = 0; group < groups; group++) {
			bool first = chunk == 0, last = chunk + 1 == chunks, begins = group == 0,
			     ends = group + 1 == groups;
			fprintf(out, "SB LOAD,0,%lld,%d | ", (long long)((chunk * groups + group) * ROWS_OF_SB),
				ROWS_OF_SB);
			if (begins)
				fprintf(out, "NBIN LOAD,%d,0,0,0,%lld,2048 | ", !ends,
					(long long)(from + chunk * 2048));
			else
				fprintf(out, "NBIN READ,%d,0,0,0,0,0 | ", !ends);
			fprintf(out, "NBOUT %s,%s,%lld,%lld | ", first ? "NOP" : "READ", last ? "STORE" : "WRITE",
				last && begins ? (long long)to : 0, last && begins ? (long long)no * 2 : 0);
			fprintf(out, "NFU MULT,ADD,%s,%s,SIGMOID,%d,0", first ? "RESET" : "NBOUT",
				last ? "NFU3" : "NBOUT", begins);
			fputs(last ? " shift=0\n" : "\n", out);
		}
	fputs("CP END\n", out);
	fclose(out);
	return text;
}

Test(diannao_isa, sequence_of_the_paper)
{
	const struct dn_config config = dn_default();
	/* Ni 8192 and No 256, which the paper's table says. */
	char *text = classifier(8192, 256, 4194304, 8388608);
	struct npl_err err = {0};
	struct sim_program program = dn_isa_program(text);
	uint64_t first, end;
	cr_assert_eq(program.count, 8 * 16 + 1);
	cr_assert_eq(dn_program_check(&config, UINT64_MAX, &program, "paper.s", &err), 0, "%s", err.msg);
	dn_program_written(&program, &first, &end);
	cr_assert(first == 8388608 && end == 8388608 + 512 && dn_program_memory(&program) == end);
	dn_isa_round_trip(&program, 0);
	/* Its first two rows, word by word. */
	static const char rows[] = "SB LOAD,0,0,32768 | NBIN LOAD,1,0,0,0,4194304,2048 | NBOUT NOP,WRITE,0,0 | "
				   "NFU MULT,ADD,RESET,NBOUT,SIGMOID,1,0\n"
				   "SB LOAD,0,32768,32768 | NBIN READ,1,0,0,0,0,0 | NBOUT NOP,WRITE,0,0 | "
				   "NFU MULT,ADD,RESET,NBOUT,SIGMOID,0,0\n";
	cr_assert(!strncmp(text, rows, strlen(rows)), "%.300s", text);
	const struct dn_instruction last_chunk = dn_code(&program)[7 * 16];
	cr_assert_eq(last_chunk.sb.address, 7 * 16 * ROWS_OF_SB);
	sim_program_free(&program);
	free(text);
	/* The third row is that of twice the inputs: the 241st instruction, and its inputs are the 16th chunk's. The
	 * results then lie after 8 MB of synapses, among which the inputs are. */
	text = classifier(16384, 256, 4194304, 8388608);
	cr_assert(strstr(text,
			 "SB LOAD,0,7864320,32768 | NBIN LOAD,1,0,0,0,4225024,2048 | NBOUT READ,STORE,8388608,512 | "
			 "NFU MULT,ADD,NBOUT,NFU3,SIGMOID,1,0"));
	program = dn_isa_program(text);
	cr_assert_eq(program.count, 16 * 16 + 1);
	cr_assert(dn_code(&program)[240].sb.address == 7864320 && dn_code(&program)[240].nbin.address == 4225024);
	cr_assert_eq(dn_code(&program)[255].sb.address + ROWS_OF_SB, 8388608);
	cr_assert_eq(dn_program_check(&config, UINT64_MAX, &program, "paper.s", &err), 0, "%s", err.msg);
	cr_assert(dn_code(&program)[240].nbin.address < dn_code(&program)[255].sb.address);
	sim_program_free(&program);
	free(text);
	/* Behind the last sums of 16 groups, 32 rows, there is no more room. */
	text = classifier(8192, 272, 16777216, 8388608);
	cr_assert(strstr(dn_isa_verdict(&config, UINT64_MAX, text, &err),
			 "test.s:17: NBOUT: sums at index 16, expected less than 16: nbout.sum_rows is 32 and Tn sums "
			 "take 2"),
		  "%s", err.msg);
	free(text);
}
