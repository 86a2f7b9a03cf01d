/* SPDX-License-Identifier: MIT
 *
 * The check of a program before it runs on DianNao. What the program promises: each rule of docs/diannao-isa.md refuses
 * the first program beyond it, naming the instruction, what is wrong and what was expected, and takes the last one
 * within it; hostile numbers overflow nothing; and of two instructions that touch the same bytes of memory just those
 * are refused that nothing orders. */
#include "tests/kit/sim/diannao/code.h"
#include "tests/kit/sim/diannao/isa_support.h"

/* The machine has rows of 8 bytes, SB rows of 32, 8 of each, two indices of sums and four rows for results. */
#define END       "CP END\n"
#define SB8       "SB LOAD,1,0,256\n"           /* 8 rows of synapses */
#define IN8       "NBIN LOAD,1,0,0,0,1024,64\n" /* 8 rows of inputs */
#define ALL       "NBIN READ,1,0,0,0,0,0 | "    /* reads all inputs */
#define SYN8      "SB READ,1,0,256 | "          /* and all synapses */
#define STEPS     ALL SYN8
#define POOL      IN8 ALL
#define KEEPS     "NFU MULT,ADD,RESET,KEEP,NONE,0,0\n"
#define STORE(b)  "NBOUT NOP,STORE,4096," b " | "
#define RESULT    "NFU NOP,ADD,RESET,NFU3,NONE,0,0\n"
#define MAXIMUM   "NFU NOP,MAX,RESET,NBOUT,NONE,0,0\n" /* stored as it is */
#define SUMS      "NFU NOP,ADD,RESET,NBOUT,NONE,0,0\n" /* likewise, of 32 bits */
#define GO_ON     ALL "NBOUT NOP,STORE,0,0 | "
#define WRITE     ALL "NBOUT NOP,WRITE,0,0 | NFU NOP,ADD,RESET,NBOUT,NONE,"
#define READ_SUMS ALL "NBOUT READ,WRITE,0,0 | NFU NOP,ADD,NBOUT,NBOUT,NONE,"

struct rule {
	const char *valid_text, *wrong_text; /* except the end */
	const char *expected, *expects;
};

static void check_rules(const struct dn_config *config, uint64_t memory, const struct rule *rule, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char text[4096];
		struct npl_err err;
		snprintf(text, sizeof text, "%s" END, rule[i].valid_text);
		cr_assert_str_eq(dn_isa_verdict(config, memory, text, &err), "", "%s\n%s", err.msg, text);
		snprintf(text, sizeof text, "%s" END, rule[i].wrong_text);
		const char *verdict = dn_isa_verdict(config, memory, text, &err);
		cr_assert(!strncmp(verdict, "test.s:", 7) && strstr(verdict, rule[i].expected) &&
				  strstr(verdict, rule[i].expects),
			  "expected '%s' and '%s' in: %s\n%s", rule[i].expected, rule[i].expects, verdict, text);
	}
}

static void check_on_small(const struct rule *rule, size_t n)
{
	const struct dn_config config = dn_isa_machine();
	check_rules(&config, UINT64_MAX, rule, n);
}
#define CHECK(rules) check_on_small((rules), sizeof(rules) / sizeof *(rules))

Test(diannao_isa_check, instructions_after_the_end_are_refused)
{
	static const struct rule rules[] = {
		{"CP NOP\n", "CP END\nCP NOP\n", "test.s:2: an instruction after CP END",
		 "expected that one as the last"},
		{"SB LOAD,1,0,32\n", "CP END\n", "test.s:2: an instruction after CP END", "as the last"},
	};
	const struct dn_config config = dn_isa_machine();
	struct npl_err err;
	CHECK(rules);
	cr_assert(strstr(dn_isa_verdict(&config, UINT64_MAX, "# nothing", &err),
			 "test.s: no instructions, expected a program that ends with CP END"),
		  "%s", err.msg);
	cr_assert(strstr(dn_isa_verdict(&config, UINT64_MAX, "CP NOP\n\nCP SYNC\n", &err),
			 "test.s:3: the last instruction, expected CP END in it"),
		  "%s", err.msg);
	/* It may do what others do, and leave rows and sums behind. */
	cr_assert_str_eq(dn_isa_verdict(&config, UINT64_MAX, SB8 IN8 "CP END | " STEPS KEEPS, &err), "");
}

/* Fields of one instruction: what they may be beside each other. */
Test(diannao_isa_check, wrong_fields_of_memory_slots_are_refused)
{
	static const struct rule rules[] = {
		{"SB LOAD,1,0,32\n", "SB NOP,1,0,0\n", "test.s:1: SB: REUSE is 1, expected 0", "READ OP is NOP"},
		{"SB LOAD,1,32,32\n", "SB NOP,0,32,0\n", "SB: ADDRESS is 32, expected 0", "READ OP is NOP"},
		{"SB LOAD,1,0,32\n", "SB NOP,0,0,32\n", "SB: SIZE is 32, expected 0", "READ OP is NOP"},
		{"SB LOAD,1,0,32\n", "SB LOAD,1,0,0\n", "SB: SIZE is 0", "expected the bytes of one row at least"},
		{"SB LOAD,1,281474976710624,32\n", "SB LOAD,1,281474976710625,32\n",
		 "SB: bytes 281474976710625 to 281474976710656", "less than 2^48"},
		{"SB LOAD,1,0,32\n", "SB LOAD,0,0,32\n", "SB: REUSE is 0, expected 1",
		 "without steps a LOAD keeps its rows for others"},
		{SB8 "SB READ,0,0,32\n", SB8 "SB READ,1,0,32\n", "test.s:2: SB: REUSE is 1, expected 0",
		 "without steps a READ only frees rows"},
		{"NBIN LOAD,1,0,0,0,0,8\n", "NBIN NOP,1,0,0,0,0,0\n", "NBIN: REUSE is 1, expected 0", "READ OP is NOP"},
		{"NBIN LOAD,1,0,0,0,0,8\n", "NBIN NOP,0,0,0,0,0,8\n", "NBIN: SIZE is 8, expected 0", "READ OP is NOP"},
		{"NBIN LOAD,1,0,0,0,0,2\n", "NBIN LOAD,1,0,0,0,0,0\n", "NBIN: SIZE is 0", "expected a multiple of 2"},
		{"NBIN LOAD,1,0,0,0,1,6\n", "NBIN LOAD,1,0,0,0,1,7\n", "NBIN: SIZE is 7", "values of 16 bits"},
		{"NBIN LOAD,1,0,0,0,281474976710654,2\n", "NBIN LOAD,1,0,0,0,281474976710655,2\n",
		 "NBIN: bytes 281474976710655 to 281474976710656", "less than 2^48"},
		{"NBIN LOAD,1,0,0,0,0,8\n", "NBIN LOAD,1,1,0,0,0,8\n", "NBIN: STRIDE is 1, expected 0",
		 "reads no rows"},
		{"NBIN LOAD,1,0,0,0,0,8\n", "NBIN LOAD,0,0,0,0,0,8\n", "NBIN: REUSE is 0, expected 1", "without steps"},
		{IN8 "NBIN READ,0,1,2,3,0,0\n", IN8 "NBIN READ,1,1,2,3,0,0\n", "NBIN: REUSE is 1, expected 0",
		 "without steps"},
		{IN8 "NBIN READ,0,0,0,0,0,0\n", IN8 "NBIN READ,0,0,1,0,0,0\n", "NBIN: STRIDE BEGIN is 1, expected 0",
		 "with STRIDE 0 these are all rows held"},
		{IN8 "NBIN READ,0,1,0,3,0,0\n", IN8 "NBIN READ,0,0,0,3,0,0\n", "NBIN: STRIDE END is 3, expected 0",
		 "all rows held"},
		{IN8 "NBIN READ,0,2,1,5,0,0\n", IN8 "NBIN READ,0,2,1,6,0,0\n",
		 "NBIN: STRIDE END is 6, expected STRIDE BEGIN, 1, and a multiple of STRIDE, 2", ""},
		{IN8 "NBIN READ,0,5,3,3,0,0\n", IN8 "NBIN READ,0,1,3,2,0,0\n", "NBIN: STRIDE END is 2, expected",
		 "BEGIN, 3"},
		{IN8 "NBIN READ,0,0,0,0,0,0\n", IN8 "NBIN READ,0,0,0,0,8,0\n", "NBIN: ADDRESS is 8, expected 0",
		 "READ OP is READ"},
		{IN8 "NBIN READ,0,0,0,0,0,0\n", IN8 "NBIN READ,0,0,0,0,0,8\n", "NBIN: SIZE is 8, expected 0",
		 "READ OP is READ"},
		{POOL STORE("8") RESULT, POOL "NBOUT NOP,STORE,4096,0 | " RESULT, "NBOUT: ADDRESS is 4096, expected 0",
		 "with SIZE 0 the open store goes on"},
		{POOL STORE("6") RESULT, POOL STORE("7") RESULT, "NBOUT: SIZE is 7, expected a multiple of 2",
		 "16 bits"},
		{POOL "NBOUT NOP,STORE,281474976710648,8 | " RESULT, POOL "NBOUT NOP,STORE,281474976710649,8 | " RESULT,
		 "NBOUT: bytes 281474976710649 to 281474976710656", "less than 2^48"},
		{POOL "NBOUT NOP,WRITE,0,0 | " SUMS, POOL "NBOUT NOP,WRITE,8,0 | " SUMS,
		 "NBOUT: ADDRESS is 8, expected 0", "WRITE OP is not STORE"},
		{POOL "NBOUT NOP,WRITE,0,0 | " SUMS, POOL "NBOUT NOP,WRITE,0,8 | " SUMS, "NBOUT: SIZE is 8, expected 0",
		 "WRITE OP is not STORE"},
	};
	CHECK(rules);
}

/* What the fields of the NFU slot may be, and what the NFU needs from the other slots. */
static const struct rule nfu_rules[] = {
	{POOL STORE("8") RESULT, "NBOUT NOP,STORE,0,8\n", "NBOUT: WRITE OP is STORE, expected NOP", "NFU-2 OP is NOP"},
	{"CP NOP\n", "NFU MULT,NOP,RESET,KEEP,NONE,0,0\n", "NFU: NFU-1 OP is MULT, expected NOP", "NFU-2 OP is NOP"},
	{"CP NOP\n", "NFU NOP,NOP,NBOUT,KEEP,NONE,0,0\n", "NFU: NFU-2 IN is NBOUT, expected RESET", "NFU-2 OP is NOP"},
	{"CP NOP\n", "NFU NOP,NOP,RESET,NFU3,NONE,0,0\n", "NFU: NFU-2 OUT is NFU3, expected KEEP", "NFU-2 OP is NOP"},
	{"CP NOP\n", "NFU NOP,NOP,RESET,KEEP,TANH,0,0\n", "NFU: NFU-3 OP is 1, expected 0", "NFU-2 OP is NOP"},
	{"CP NOP\n", "NFU NOP,NOP,RESET,KEEP,NONE,1,0\n", "NFU: OUTPUT BEGIN is 1, expected 0", "NFU-2 OP is NOP"},
	{"CP NOP\n", "NFU NOP,NOP,RESET,KEEP,NONE,0,0 shift=1\n", "NFU: shift is 1, expected 0", "NFU-2 OP is NOP"},
	{SB8 IN8 STEPS KEEPS, SB8 IN8 STEPS "NFU MULT,MAX,RESET,KEEP,NONE,0,0\n", "NFU-2 OP is MAX, expected ADD",
	 "NFU-1 OP is MULT"},
	{SB8 "SB READ,1,0,32 | NFU BIAS,ADD,RESET,KEEP,NONE,0,0\n",
	 SB8 "SB READ,1,0,32 | NFU BIAS,MAX,RESET,KEEP,NONE,0,0\n", "NFU-2 OP is MAX, expected ADD",
	 "NFU-1 OP is BIAS"},
	{SB8 IN8 STEPS KEEPS, SB8 IN8 ALL KEEPS, "SB: READ OP is NOP, expected LOAD or READ", "NFU-1 OP is MULT"},
	{SB8 "SB READ,1,0,32 | NFU BIAS,ADD,RESET,KEEP,NONE,0,0\n", "NFU BIAS,ADD,RESET,KEEP,NONE,0,0\n",
	 "SB: READ OP is NOP, expected LOAD or READ", "NFU-1 OP is BIAS"},
	{SB8 IN8 "SB READ,1,0,32 | NFU BIAS,ADD,RESET,KEEP,NONE,0,0\n",
	 SB8 IN8 ALL "SB READ,1,0,32 | NFU BIAS,ADD,RESET,KEEP,NONE,0,0\n", "NBIN: READ OP is READ, expected NOP",
	 "NFU-1 OP is BIAS"},
	{POOL "NFU NOP,ADD,RESET,KEEP,NONE,0,0\n", "NFU NOP,ADD,RESET,KEEP,NONE,0,0\n",
	 "NBIN: READ OP is NOP, expected LOAD or READ", "NFU-1 OP is NOP"},
	{SB8 POOL "NFU NOP,ADD,RESET,KEEP,NONE,0,0\n", SB8 POOL SYN8 "NFU NOP,ADD,RESET,KEEP,NONE,0,0\n",
	 "SB: READ OP is READ, expected NOP", "nothing takes synapses"},
	/* zeros where there are no rows */
	{SB8 SYN8 KEEPS, SB8 SYN8 "NFU MULT,ADD,KEEP,KEEP,NONE,0,0\n", "NFU-2 IN is KEEP", "expected RESET or NBOUT"},
	{IN8 WRITE "0,0\n" READ_SUMS "1,0\n", POOL "NBOUT NOP,NOP,0,0 | NFU NOP,ADD,NBOUT,KEEP,NONE,0,0\n",
	 "NBOUT: READ OP is NOP, expected READ", "NFU-2 IN is NBOUT"},
	{POOL "NFU NOP,ADD,RESET,KEEP,NONE,0,0\n", POOL "NBOUT READ,NOP,0,0 | NFU NOP,ADD,RESET,KEEP,NONE,0,0\n",
	 "NBOUT: READ OP is READ, expected NOP", "NFU-2 IN is not NBOUT"},
	{POOL "NFU NOP,ADD,RESET,KEEP,NONE,0,0\n", POOL "NBOUT NOP,WRITE,0,0 | NFU NOP,ADD,RESET,KEEP,NONE,0,0\n",
	 "NBOUT: WRITE OP is WRITE, expected NOP", "NFU-2 OUT is KEEP"},
	{POOL "NBOUT NOP,WRITE,0,0 | " SUMS, POOL SUMS, "NBOUT: WRITE OP is NOP, expected WRITE or STORE",
	 "NFU-2 OUT is NBOUT"},
	{POOL STORE("8") RESULT, POOL RESULT, "NBOUT: WRITE OP is NOP, expected STORE", "NFU-2 OUT is NFU3"},
	{POOL STORE("8") RESULT, POOL "NBOUT NOP,WRITE,0,0 | " RESULT, "NBOUT: WRITE OP is WRITE, expected STORE",
	 "NFU-2 OUT is NFU3"},
	{POOL STORE("8") "NFU NOP,ADD,RESET,NFU3,NONE,0,0 shift=-32768\n",
	 POOL STORE("16") "NFU NOP,ADD,RESET,NBOUT,NONE,0,0 shift=1\n", "NFU: shift is 1, expected 0", "is shifted"},
	{POOL STORE("8") "NFU NOP,MAX,RESET,NBOUT,NONE,0,0 shift=32767\n",
	 POOL "NBOUT NOP,WRITE,0,0 | NFU NOP,MAX,RESET,NBOUT,NONE,0,0 shift=1\n", "NFU: shift is 1, expected 0",
	 "the store of a maximum"},
	{POOL STORE("8") "NFU NOP,ADD,RESET,NFU3,TANH,0,0 result_shift=1\n",
	 POOL STORE("8") "NFU NOP,ADD,RESET,NFU3,NONE,0,0 result_shift=1\n", "NFU: result_shift is 1, expected 0",
	 "no function"},
	{POOL "NFU NOP,ADD,RESET,KEEP,TANH,0,0\n", POOL "NFU NOP,ADD,RESET,KEEP,TANH,0,0 result_shift=1\n",
	 "NFU: result_shift is 1, expected 0", "no function"},
	{POOL STORE("8") "NFU NOP,ADD,RESET,NFU3,NONE,0,0 divisor=65536\n",
	 POOL STORE("8") "NFU NOP,MAX,RESET,NFU3,NONE,0,0 divisor=9\n", "NFU: divisor is 9, expected 0",
	 "only sums that go to NFU-3 are divided"},
	{POOL STORE("8") "NFU NOP,ADD,RESET,NFU3,NONE,0,0 divisor=1\n",
	 POOL STORE("16") "NFU NOP,ADD,RESET,NBOUT,NONE,0,0 divisor=1\n", "NFU: divisor is 1, expected 0",
	 "go to NFU-3"},
};

Test(diannao_isa_check, wrong_fields_of_the_nfu_slot_are_refused)
{
	CHECK(nfu_rules);
}

/* What the loads and reads of a buffer's rows may be. */
static const struct rule buffer_rules[] = {
	{"SB LOAD,1,0,64\n", "SB LOAD,1,0,48\n", "SB: SIZE is 48, expected a multiple of 32", "Tn x Tn"},
	{SB8, "SB LOAD,1,0,288\n", "SB: loads 9 rows while 0 are held", "expected at most the buffer's 8"},
	{"SB LOAD,1,0,160\nSB LOAD,1,0,96\n", "SB LOAD,1,0,160\nSB LOAD,1,0,128\n",
	 "test.s:2: SB: loads 4 rows while 5 are held", "at most the buffer's 8"},
	{SB8 "SB READ,0,0,128\nSB LOAD,1,0,128\n", SB8 "SB READ,0,0,128\nSB LOAD,1,0,160\n",
	 "test.s:3: SB: loads 5 rows while 4 are held", "at most the buffer's 8"},
	/* what steps free, and what they keep */
	{SB8 IN8 ALL "SB READ,0,0,256 | " KEEPS SB8, SB8 IN8 STEPS KEEPS SB8,
	 "test.s:4: SB: loads 8 rows while 8 are held", "at most"},
	{IN8 "SB LOAD,0,0,256 | " ALL KEEPS SB8, IN8 "SB LOAD,1,0,256 | " ALL KEEPS SB8,
	 "test.s:3: SB: loads 8 rows while 8 are held", "at most"},
	{SB8 "SB READ,0,192,32\nSB LOAD,1,0,224\n", SB8 "SB READ,0,192,32\nSB LOAD,1,0,256\n",
	 "test.s:3: SB: loads 8 rows while 1 are held", "at most"},
	{SB8 "SB READ,0,192,64\n", SB8 "SB READ,0,224,64\n", "SB: reads rows 7 to 8", "expected less than the 8 held"},
	{SB8 "SB READ,0,32,32\n", SB8 "SB READ,0,16,32\n", "SB: ADDRESS is 16, expected a multiple of 32",
	 "begins at a row"},
	{SB8 "SB READ,0,0,32\n", "SB READ,0,0,32\n", "SB: reads rows 0 to 0", "less than the 0 held"},
	{SB8 "SB READ,0,0,32\nSB READ,0,0,224\n", SB8 "SB READ,0,0,32\nSB READ,0,0,256\n", "SB: reads rows 0 to 7",
	 "less than the 7 held"},
	{SB8 "SB READ,0,0,32\n", SB8 "SB READ,0,281474976710624,4294967264\n", "SB: bytes 281474976710624 to",
	 "less than 2^48"},
	{SB8 "SB READ,0,0,32\n", SB8 "SB READ,0,281470681743360,4294967264\n",
	 "SB: reads rows 8795958804480 to 8796093022206", "less than the 8 held"},
	{IN8, "NBIN LOAD,1,0,0,0,0,66\n", "NBIN: loads 9 rows while 0 are held", "expected at most the buffer's 8"},
	{"NBIN LOAD,1,0,0,0,0,58\n", "NBIN LOAD,1,0,0,0,0,4294967294\n", "NBIN: loads 536870912 rows",
	 "at most the buffer's 8"},
	{"NBIN LOAD,1,0,0,0,0,10\nNBIN LOAD,1,0,0,0,0,48\n", "NBIN LOAD,1,0,0,0,0,18\nNBIN LOAD,1,0,0,0,0,48\n",
	 "test.s:2: NBIN: loads 6 rows while 3 are held", "at most the buffer's 8"},
	{IN8 "NBIN READ,0,7,0,7,0,0\n", IN8 "NBIN READ,0,8,0,8,0,0\n", "NBIN: reads rows 0 to 8",
	 "less than the 8 held"},
	{IN8 "NBIN READ,0,1,7,7,0,0\nNBIN LOAD,1,0,0,0,0,64\n", IN8 "NBIN READ,0,1,6,6,0,0\nNBIN LOAD,1,0,0,0,0,64\n",
	 "test.s:3: NBIN: loads 8 rows while 1 are held", "at most"},
	{IN8 "NBIN READ,0,0,0,0,0,0\nNBIN LOAD,1,0,0,0,0,64\n", "NBIN READ,0,0,0,0,0,0\n",
	 "NBIN: reads rows, expected a LOAD before", "none is held"},
	{IN8 "NBIN READ,0,1,0,7,0,0\nNBIN LOAD,0,0,0,0,0,8 | NFU NOP,MAX,RESET,KEEP,NONE,0,0\n",
	 IN8 "NBIN READ,0,1,0,7,0,0\nNBIN LOAD,0,1,0,1,0,8 | NFU NOP,MAX,RESET,KEEP,NONE,0,0\n",
	 "test.s:3: NBIN: reads rows 0 to 1", "less than the 1 held"},
	/* a step takes a row of each */
	{SB8 IN8 "NBIN READ,1,2,1,7,0,0 | SB READ,1,0,128 | " KEEPS,
	 SB8 IN8 "NBIN READ,1,2,1,7,0,0 | SB READ,1,0,160 | " KEEPS, "NFU: 4 rows of NBin and 5 of SB",
	 "expected as many"},
	{SB8 IN8 STEPS KEEPS, SB8 IN8 ALL "SB READ,1,0,32 | " KEEPS, "NFU: 8 rows of NBin and 1 of SB",
	 "expected as many"},
	{SB8 "SB READ,1,32,32 | NFU BIAS,ADD,RESET,KEEP,NONE,0,0\n",
	 SB8 "SB READ,1,32,64 | NFU BIAS,ADD,RESET,KEEP,NONE,0,0\n", "SB: 2 rows for NFU-1 OP BIAS, expected 1",
	 "words of 32 bits"},
};

Test(diannao_isa_check, rows_beyond_a_buffer_are_refused)
{
	CHECK(buffer_rules);
	/* 4 bytes are two rows of one synapse */
	static const struct rule narrow[] = {
		{"SB LOAD,0,0,4 | NFU BIAS,ADD,RESET,KEEP,NONE,0,0\n",
		 "SB LOAD,0,0,2 | NFU BIAS,ADD,RESET,KEEP,NONE,0,0\n", "SB: 1 rows for NFU-1 OP BIAS, expected 2",
		 "Tn words"},
	};
	struct dn_config config = dn_isa_machine();
	config.tn = 1;
	check_rules(&config, UINT64_MAX, narrow, 1);
}

Test(diannao_isa_check, sums_that_are_not_there_are_refused)
{
	static const struct rule rules[] = {
		{POOL "NFU NOP,ADD,RESET,KEEP,NONE,0,0\n" ALL STORE("8") "NFU NOP,ADD,KEEP,NFU3,NONE,0,0\n",
		 POOL STORE("16") RESULT ALL "NBOUT NOP,STORE,0,0 | NFU NOP,ADD,KEEP,NFU3,NONE,0,0\n",
		 "test.s:3: NFU: NFU-2 IN is KEEP", "NFU-2 OUT was not KEEP before"},
		/* also after an instruction without steps */
		{POOL "NFU NOP,ADD,RESET,KEEP,NONE,0,0\nSB LOAD,1,0,32\n" ALL "NFU NOP,ADD,KEEP,KEEP,NONE,0,0\n",
		 POOL "NFU NOP,ADD,KEEP,KEEP,NONE,0,0\n", "NFU-2 IN is KEEP", "expected RESET or NBOUT"},
		{IN8 WRITE "0,0\n" WRITE "0,0\n", IN8 WRITE "0,0\n" WRITE "0,0\n" WRITE "0,0\n",
		 "test.s:4: NBOUT: sums at index 2, expected less than 2", "nbout.sum_rows is 4 and Tn sums take 2"},
		{IN8 WRITE "0,0\n" WRITE "0,1\n" WRITE "0,0\n",
		 IN8 WRITE "0,1\n" WRITE "0,0\n" WRITE "0,0\n" WRITE "0,0\n", "test.s:5: NBOUT: sums at index 2",
		 "less than 2"},
		{IN8 WRITE "0,0\n" WRITE "0,0\n" WRITE "1,0\n" WRITE "0,0\n",
		 IN8 WRITE "0,0\n" WRITE "0,0\n" WRITE "1,0\n" WRITE "0,0\n" READ_SUMS "0,0\n",
		 "test.s:6: NBOUT: sums at index 2", "less than 2"},
		{IN8 WRITE "0,0\n" READ_SUMS "1,0\n", IN8 WRITE "0,0\n" READ_SUMS "0,0\n",
		 "test.s:3: NBOUT: reads the sums at index 1", "expected a WRITE there before"},
		{IN8 WRITE "0,0\n" WRITE "0,1\n" READ_SUMS "0,0\n" READ_SUMS "0,0\n",
		 IN8 WRITE "0,1\n" READ_SUMS "0,0\n" READ_SUMS "0,0\n", "test.s:4: NBOUT: reads the sums at index 1",
		 "expected a WRITE"},
		/* results count as sums do, what NFU-2 keeps does not */
		{IN8 WRITE "0,0\n" WRITE "0,1\n" ALL STORE("8") RESULT READ_SUMS "0,0\n",
		 IN8 WRITE "0,1\n" ALL STORE("8") RESULT READ_SUMS "0,0\n",
		 "test.s:4: NBOUT: reads the sums at index 1", "expected a WRITE"},
		{IN8 WRITE "0,1\n" ALL "NFU NOP,ADD,RESET,KEEP,NONE,0,0\n" READ_SUMS "0,0\n",
		 IN8 WRITE "0,0\n" ALL "NFU NOP,ADD,RESET,KEEP,NONE,0,0\n" READ_SUMS "0,0\n",
		 "test.s:4: NBOUT: reads the sums at index 1", "expected a WRITE"},
		{IN8 WRITE "0,0\n" ALL "NFU NOP,ADD,RESET,KEEP,NONE,1,0\n" READ_SUMS "0,0\n",
		 IN8 WRITE "0,0\n" ALL "NFU NOP,ADD,RESET,KEEP,NONE,1,0\n" READ_SUMS "0,0\n" READ_SUMS "0,0\n",
		 "test.s:5: NBOUT: reads the sums at index 1", "expected a WRITE"},
	};
	CHECK(rules);
}

Test(diannao_isa_check, stores_that_do_not_fit_are_refused)
{
	static const struct rule rules[] = {
		{POOL STORE("32") RESULT GO_ON RESULT GO_ON RESULT GO_ON RESULT, POOL STORE("34") RESULT,
		 "test.s:2: NBOUT: a store of 34 bytes takes 5 rows",
		 "expected at most 4: nbout.rows less nbout.sum_rows"},
		{POOL STORE("32") SUMS GO_ON SUMS, POOL STORE("36") SUMS, "a store of 36 bytes takes 6 rows",
		 "at most 4"},
		{POOL STORE("16") SUMS, POOL STORE("18") SUMS, "NBOUT: SIZE is 18, expected a multiple of 4",
		 "32 bits"},
		{POOL STORE("8") RESULT ALL "NBOUT NOP,STORE,8192,8 | " RESULT,
		 POOL STORE("10") RESULT ALL "NBOUT NOP,STORE,8192,8 | " RESULT,
		 "test.s:3: NBOUT: opens a store while that of line 2 waits for 2 bytes", "expected SIZE 0 to go on"},
		{POOL STORE("10") RESULT GO_ON RESULT, POOL STORE("8") RESULT GO_ON RESULT,
		 "test.s:3: NBOUT: SIZE is 0, expected that of a store", "none is open"},
		{POOL STORE("16") RESULT GO_ON MAXIMUM, POOL STORE("16") RESULT GO_ON SUMS,
		 "test.s:3: NBOUT: results of 4 bytes, expected 2 as those before them in the store of line 2", ""},
		{POOL STORE("32") SUMS GO_ON SUMS, POOL STORE("32") SUMS GO_ON RESULT,
		 "test.s:3: NBOUT: results of 2 bytes, expected 4", "the store of line 2"},
		{POOL STORE("16") RESULT GO_ON RESULT, POOL STORE("16") RESULT,
		 "test.s:3: CP: END while the store of line 2 waits for 8 bytes", "expected it full"},
		/* a SYNC need not wait for it */
		{POOL STORE("16") RESULT "CP SYNC\n" GO_ON RESULT, POOL STORE("16") RESULT "CP SYNC\n",
		 "CP: END while the store of line 2", "full"},
	};
	CHECK(rules);
	static const struct rule wide[] = {
		{POOL STORE("8") RESULT, POOL STORE("16") SUMS,
		 "NBOUT: stores sums as they are, expected NFU-2 OUT NFU3", "nfu.sum_bits is 33"},
		{POOL STORE("8") MAXIMUM, IN8 WRITE "0,0\n" WRITE "0,0\n",
		 "NBOUT: sums at index 1, expected less than 1", "Tn sums take 3"},
	};
	struct dn_config config = dn_isa_machine();
	config.sum_bits = 33;
	check_rules(&config, UINT64_MAX, wide, 2);
	/* Where all of NBout holds sums there are no results. */
	static const struct rule none[] = {
		{IN8 WRITE "0,0\n", POOL STORE("2") RESULT, "a store of 2 bytes takes 1 rows", "expected at most 0"}};
	config = dn_isa_machine();
	config.nbout_sum_rows = 9;
	check_rules(&config, UINT64_MAX, none, 1);
}

Test(diannao_isa_check, addresses_beyond_the_memory_are_refused)
{
	static const struct rule rules[] = {
		{"SB LOAD,1,3936,64\n", "SB LOAD,1,3937,64\n", "SB: loads bytes 3937 to 4000 of memory",
		 "which has 4000"},
		{"NBIN LOAD,1,0,0,0,3998,2\n", "NBIN LOAD,1,0,0,0,3999,2\n", "NBIN: loads bytes 3999 to 4000 of memory",
		 "which has 4000"},
		{POOL "NBOUT NOP,STORE,3992,8 | " RESULT, POOL "NBOUT NOP,STORE,3993,8 | " RESULT,
		 "NBOUT: stores bytes 3993 to 4000 of memory", "which has 4000"},
	};
	const struct dn_config config = dn_isa_machine();
	check_rules(&config, 4000, rules, 3);
}

/* What only a SYNC orders. STORE is of bytes 4096 on, IN8 loads 1024 to 1087, SB8 0 to 255. */
Test(diannao_isa_check, accesses_that_need_a_sync_are_refused_without)
{
	static const struct rule rules[] = {
		{POOL STORE("8") RESULT "NBIN READ,0,0,0,0,0,0\nNBIN LOAD,1,0,0,0,4104,2\n",
		 POOL STORE("8") RESULT "NBIN READ,0,0,0,0,0,0\nNBIN LOAD,1,0,0,0,4102,8\n",
		 "test.s:4: NBIN: loads byte 4102 of memory, which line 2 stores", "expected a CP SYNC after that"},
		{POOL STORE("8") RESULT "CP SYNC | SB LOAD,1,4096,32\n", POOL STORE("8") RESULT "SB LOAD,1,4070,32\n",
		 "test.s:3: SB: loads byte 4096 of memory, which line 2 stores", "a CP SYNC after that"},
		{POOL STORE("8") RESULT ALL "NBOUT NOP,STORE,4104,8 | " RESULT,
		 POOL STORE("8") RESULT ALL "NBOUT NOP,STORE,4102,8 | " RESULT,
		 "test.s:3: NBOUT: stores byte 4102 of memory, which line 2 stores", "a CP SYNC after that"},
		{POOL STORE("8") RESULT "CP SYNC\n" ALL "NBOUT NOP,STORE,4102,8 | " RESULT,
		 "CP SYNC\n" POOL STORE("8") RESULT ALL "NBOUT NOP,STORE,4090,8 | " RESULT,
		 "test.s:4: NBOUT: stores byte 4096 of memory, which line 3 stores", "a CP SYNC after that"},
		/* of a store that is open at the SYNC, later results may come */
		{POOL STORE("16") RESULT GO_ON RESULT "CP SYNC | SB LOAD,1,4096,32\n",
		 POOL STORE("16") RESULT "CP SYNC\n" GO_ON RESULT "SB LOAD,1,4111,32\n",
		 "test.s:5: SB: loads byte 4111 of memory, which line 2 stores", "a CP SYNC after that"},
		{POOL STORE("16") RESULT "CP SYNC\n" GO_ON RESULT "CP SYNC\nSB LOAD,1,4111,32\n",
		 POOL STORE("16") RESULT "CP SYNC\n" GO_ON RESULT "SB LOAD,1,4080,32\n", "which line 2 stores",
		 "a CP SYNC"},
		/* results over inputs that a step has read, or that may come later */
		{IN8 ALL "NBOUT NOP,STORE,1080,8 | " RESULT,
		 IN8 "NBIN READ,1,1,0,6,0,0 | NBOUT NOP,STORE,1080,8 | " RESULT,
		 "test.s:2: NBOUT: stores byte 1080 of memory, which line 1 loads, maybe later",
		 "a CP SYNC after that"},
		{SB8 POOL "NBOUT NOP,STORE,256,8 | " RESULT, SB8 POOL "NBOUT NOP,STORE,248,16 | " RESULT GO_ON RESULT,
		 "test.s:3: NBOUT: stores byte 248 of memory, which line 1 loads, maybe later", "a CP SYNC after that"},
		{SB8 POOL "NBOUT NOP,STORE,1056,8 | " RESULT,
		 SB8 IN8 "SB READ,0,0,256\n" ALL "NBOUT NOP,STORE,248,8 | " RESULT,
		 "test.s:4: NBOUT: stores byte 248 of memory, which line 1 loads, maybe later", "a CP SYNC"},
		{SB8 IN8 "CP SYNC | " ALL "NBOUT NOP,STORE,248,8 | " RESULT,
		 SB8 "CP SYNC | " IN8 ALL "NBOUT NOP,STORE,1024,8 | " RESULT "SB READ,0,0,32\nSB LOAD,1,1024,32\n",
		 "test.s:5: SB: loads byte 1024 of memory, which line 3 stores", "a CP SYNC"},
	};
	CHECK(rules);
}

/* Programs without lines name instructions by their number; all of an instruction's parts are looked at. */
Test(diannao_isa_check, instructions_without_lines_go_by_number)
{
	static const struct {
		struct dn_instruction instruction;
		const char *expected;
	} cases[] = {
		{{.cp.op = 3}, "CP: OP is 3, expected 0 (NOP), 1 (SYNC), 2 (END)"},
		{{.sb = {.op = 3}}, "SB: READ OP is 3"},
		{{.sb = {DN_LOAD, 1, (uint64_t)1 << 48, 32}}, "SB: ADDRESS is 281474976710656, expected 0 to"},
		{{.sb = {DN_LOAD, 1, UINT64_MAX, 32}}, "SB: ADDRESS is -1, expected 0 to"},
		{{.nbin = {.op = 9}}, "NBIN: READ OP is 9"},
		{{.nbout = {.read = DN_LOAD}}, "NBOUT: READ OP is 1, expected 0 (NOP), 2 (READ)"},
		{{.nbout = {.write = 3}}, "NBOUT: WRITE OP is 3, expected 0 (NOP), 1 (WRITE), 2 (STORE)"},
		{{.nfu = {.nfu1 = 3}}, "NFU: NFU-1 OP is 3, expected 0 (NOP), 1 (MULT), 2 (BIAS)"},
		{{.nfu = {.nfu2 = 3}}, "NFU: NFU-2 OP is 3, expected 0 (NOP), 1 (ADD), 2 (MAX)"},
		{{.nfu = {.in = 3}}, "NFU: NFU-2 IN is 3, expected 0 (RESET), 1 (NBOUT), 2 (KEEP)"},
		{{.nfu = {.out = 3}}, "NFU: NFU-2 OUT is 3, expected 0 (KEEP), 1 (NBOUT), 2 (NFU3)"},
		{{.nfu = {.nfu3 = 1}}, "NFU: NFU-3 OP is number 1, expected one of the program's 0"},
		{{.nfu = {.begin = 2}}, "NFU: OUTPUT BEGIN is 2, expected 0 to 1"},
		{{.nfu = {.divisor = 65537}}, "NFU: divisor is 65537, expected 0 to 65536"},
	};
	const struct dn_config config = dn_isa_machine();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sim_program program = {0};
		const struct dn_instruction nothing = {0}, end = {.cp.op = DN_CP_END};
		struct npl_err err = {0};
		dn_program_add(&program, &nothing, 0, &err);
		dn_program_add(&program, &cases[i].instruction, 0, &err);
		dn_program_add(&program, &end, 0, &err);
		cr_assert_eq(dn_program_check(&config, UINT64_MAX, &program, "f.bin", &err), NPL_EINPUT, "case %zu", i);
		cr_assert(!strncmp(err.msg, "f.bin: instruction 1: ", 22) && strstr(err.msg, cases[i].expected),
			  "expected '%s' in: %s", cases[i].expected, err.msg);
		sim_program_free(&program);
	}
}

/* ---- Order of memory against a comparison of all pairs ---- */

struct moved {
	uint64_t first, end;
	bool stores;
	int64_t rows_end; /* a load's, in its buffer */
	bool sb;
};

/* The small machine doing `steps` random things in a few bytes of memory; the first that nothing orders after another
 * is in *refused, or -1. */
static struct sim_program random_order(uint64_t *rng, int steps, int64_t *refused)
{
	struct sim_program program = {0};
	struct npl_err err;
	struct moved moved[64];
	int n = 0;
	int64_t rows[2] = {0, 0}, read[2] = {0, 0}; /* of NBin and SB: loaded, needed by a step */
	*refused = -1;
	for (int i = 0; i < steps; i++) {
		struct dn_instruction instruction = {.cp.op = test_range(rng, 0, 7) == 0};
		struct moved now[2];
		int moves = 0;
		bool sb = test_range(rng, 0, 1), works = test_range(rng, 0, 1);
		n = instruction.cp.op ? 0 : n;
		uint64_t address = (uint64_t)test_range(rng, 0, 400);
		if (!works && sb) {
			instruction.sb.op = DN_LOAD, instruction.sb.reuse = 1, instruction.sb.size = 32,
			instruction.sb.address = address;
			now[moves++] = (struct moved){address, address + 32, false, ++rows[1], true};
		} else if (!works) {
			instruction.nbin.op = DN_LOAD, instruction.nbin.reuse = 1, instruction.nbin.size = 6,
			instruction.nbin.address = address;
			now[moves++] = (struct moved){address, address + 6, false, ++rows[0], false};
		} else {
			/* a step: reads some row held, loads one before it, stores its result */
			int64_t held = rows[0] + 1 > 5 ? 5 : rows[0] + 1;
			instruction.nbin.op = DN_LOAD, instruction.nbin.reuse = 1, instruction.nbin.size = 8,
			instruction.nbin.address = address;
			now[moves++] = (struct moved){address, address + 8, false, ++rows[0], false};
			instruction.nbin.stride = 1;
			instruction.nbin.begin = instruction.nbin.end = (uint32_t)(rows[0] - 1 -
										   test_range(rng, 0, held - 1));
			read[0] = instruction.nbin.end + 1 > read[0] ? instruction.nbin.end + 1 : read[0];
			instruction.nfu.nfu2 = DN_ADD;
			instruction.nfu.out = DN_TO_NFU3;
			instruction.nbout.write = DN_STORE;
			instruction.nbout.size = 8;
			instruction.nbout.address = (uint64_t)test_range(rng, 0, 400);
			now[moves++] = (struct moved){instruction.nbout.address, instruction.nbout.address + 8, true, 0,
						      false};
		}
		for (int k = 0; k < moves; k++) {
			for (int j = 0; j < n; j++) {
				bool common = moved[j].first < now[k].end && now[k].first < moved[j].end;
				bool later = moved[j].stores ||
					     (now[k].stores && moved[j].rows_end > read[moved[j].sb]);
				if (common && later && *refused < 0)
					*refused = i;
			}
			moved[n++] = now[k];
		}
		cr_assert_eq(dn_program_add(&program, &instruction, 0, &err), 0);
	}
	const struct dn_instruction end = {.cp.op = DN_CP_END};
	cr_assert_eq(dn_program_add(&program, &end, 0, &err), 0);
	return program;
}

Test(diannao_isa_check, a_sync_is_required_where_the_definition_says)
{
	struct dn_config config = dn_isa_machine();
	int good = 0, bad = 0;
	config.nbin_rows = config.sb_rows = 1000;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		uint64_t rng = seed;
		int64_t refused;
		char where[40];
		struct npl_err err = {0};
		struct sim_program program = random_order(&rng, (int)test_range(&rng, 1, 25), &refused);
		int rc = dn_program_check(&config, UINT64_MAX, &program, "p", &err);
		snprintf(where, sizeof where, "p: instruction %lld: ", (long long)refused);
		if (refused < 0)
			cr_assert_eq(rc, 0, "seed %llu: %s", (unsigned long long)seed, err.msg);
		else
			cr_assert(rc == NPL_EINPUT && !strncmp(err.msg, where, strlen(where)) &&
					  strstr(err.msg, "CP SYNC"),
				  "seed %llu: expected %s in: %s", (unsigned long long)seed, where, err.msg);
		good += refused < 0;
		bad += refused >= 0;
		sim_program_free(&program);
	}
	cr_assert(good > 3000 && bad > 3000, "%d good, %d bad", good, bad);
}

/* ---- Streams ---- */

/* A stream of a million instructions, as a layer's, takes the memory of one; without memory_order nothing is kept of
 * it. */
Test(diannao_isa_check, a_long_stream_takes_the_memory_of_one_instruction)
{
	const struct dn_config config = dn_isa_machine();
	for (int with = 0; with < 2; with++) {
		struct npl_err err = {0};
		struct dn_check checker = {
			.config = &config, .memory_bytes = UINT64_MAX, .memory_order = with, .source = "layer"};
		struct dn_instruction instruction = {.nbin = {.op = DN_LOAD, .size = 16},
						     .nfu = {.nfu2 = DN_MAXIMUM, .out = DN_TO_NBOUT},
						     .nbout = {.write = DN_STORE, .size = 8}};
		cr_assert_eq(dn_check_begin(&checker, &err), 0);
		for (uint64_t i = 0; i < 100000; i++) {
			instruction.nbin.address = 16 * i;
			instruction.nbout.address = ((uint64_t)1 << 40) + 8 * i;
			instruction.nbin.reuse = i % 2 == 0; /* two of them fill half the buffer, then go */
			cr_assert_eq(dn_check_one(&checker, &instruction, 0, &err), 0, "%s", err.msg);
		}
		cr_assert_leq(checker.order.capacity, 64);
		cr_assert_eq(dn_check_end(&checker, &err), NPL_EINPUT);
		cr_assert(strstr(err.msg, "layer: instruction 99999: the last instruction, expected CP END"), "%s",
			  err.msg);
		instruction.nbout.address -= 8;
		instruction.cp.op = DN_CP_END;
		cr_assert_eq(dn_check_one(&checker, &instruction, 0, &err), with ? NPL_EINPUT : 0);
		cr_assert(!with || strstr(err.msg, "which instruction 99998 stores"), "%s", err.msg);
		dn_check_close(&checker);
	}
}

Test(diannao_isa_check, the_bytes_that_a_program_writes_are_known)
{
	uint64_t first, end;
	struct sim_program program = dn_isa_program(SB8 IN8 "SB READ,0,0,256\n" END);
	dn_program_written(&program, &first, &end);
	cr_assert(first == end && dn_program_memory(&program) == 1088);
	sim_program_free(&program);
	program = dn_isa_program(POOL "NBOUT NOP,STORE,900,16 | " RESULT GO_ON RESULT ALL
				      "NBOUT NOP,STORE,0,8 | " RESULT ALL "NBOUT NOP,STORE,500,8 | " RESULT END);
	dn_program_written(&program, &first, &end);
	cr_assert(first == 0 && end == 916 && dn_program_memory(&program) == 1088);
	sim_program_free(&program);
}
