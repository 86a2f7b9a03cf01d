/* SPDX-License-Identifier: MIT
 *
 * Promises of NPULAB_MAX_ISA: it takes instructions away and adds none, the suites of all kernels pass under each word,
 * what the processor computes in 8 bits and what machines compute stays the same to the bit, reports say that it is in
 * force, the page has its words, and another word is refused. A word that takes nothing away here is skipped: the
 * suites have run so already. */
#include "core/base/message.h"
#include "npulab/cpu_features.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/page.h"

/* WORD(suffix of a test's name, word of the variable): each has a test of the suites under it. */
#define ISA_WORDS(WORD)                                                                                                \
	WORD(sse2, "sse2")                                                                                             \
	WORD(avx, "avx")                                                                                               \
	WORD(avx2, "avx2")                                                                                             \
	WORD(avx_vnni, "avx-vnni")                                                                                     \
	WORD(avx512, "avx512")                                                                                         \
	WORD(avx512_vnni, "avx512-vnni")
#define WORD_TEXT(suffix, word) word,
static const char *const words[] = {ISA_WORDS(WORD_TEXT)};
#define WORDS ((int)(sizeof words / sizeof *words))

/* Reads the patterns of the suites whose code chooses its kernels at run time, as one filter. */
static void read_suites(char filter[1000])
{
	FILE *file = fopen("tests/processor_suites.txt", "r");
	char pattern[80];
	snprintf(filter, 1000, "@(");
	cr_assert(file);
	while (fscanf(file, "%79s", pattern) == 1) {
		char command[200];
		const size_t length = strlen(pattern);
		const bool whole = pattern[length - 1] != '*';
		snprintf(command, sizeof command, "grep -rqE '^Test\\(%.*s%s,' tests",
			 (int)(whole ? length : length - 1), pattern, whole ? "" : "[a-z0-9_]*");
		cr_assert_eq(system(command), 0, "no suite is called %s", pattern); /* NOLINT(cert-env33-c) */
		npl_append(filter, 1000, filter[2] ? "|" : "", "%s", pattern);
	}
	fclose(file);
	npl_append(filter, 1000, "", ")/*");
}

/* Says whether a source, which is given without its end `.c`, asks npl_cpu_has what it may do. */
static bool chooses(const char *path)
{
	static const char *const ends[] = {".c", ".h"};
	bool asks = false;
	for (int i = 0; i < 2; i++) {
		char source[CLI_PATH];
		snprintf(source, sizeof source, "%s%s", path, ends[i]);
		if (access(source, R_OK))
			continue;
		char *text = cli_read(source, NULL);
		asks = asks || strstr(text, "npl_cpu_has(");
		free(text);
	}
	return asks;
}

/* Says whether a test, tests/FOLDER/NAME, includes the header of a source of FOLDER that chooses by npl_cpu_has. */
static bool includes_choice(const char *test, const char *text)
{
	const char *folder = test + strlen("tests/");
	const size_t n = (size_t)(strrchr(folder, '/') + 1 - folder);
	for (const char *at = strstr(text, "#include \""); at; at = strstr(at + 1, "#include \"")) {
		const char *header = at + strlen("#include \"");
		char path[CLI_PATH];
		if (strncmp(header, folder, n) != 0)
			continue;
		snprintf(path, sizeof path, "%.*s", (int)(strcspn(header, "\"") - 2), header);
		if (chooses(path))
			return true;
	}
	return false;
}

/* Says whether a filter of read_suites, `@(a|b*)` and so on, has the suite. */
static bool has_suite(const char *filter, const char *suite, size_t n)
{
	for (const char *at = filter + 2; *at != ')';) {
		const size_t length = strcspn(at, "|)");
		const bool prefix = at[length - 1] == '*';
		if (prefix ? n + 1 >= length && !strncmp(at, suite, length - 1) : n == length && !strncmp(at, suite, n))
			return true;
		at += length + (at[length] == '|');
	}
	return false;
}

/* The suites of a test that includes the header of such a source are listed. A test that reaches one another way, as
 * through a device, is not found: list its suite by hand. */
Test(isa, suites_of_sources_that_choose_are_listed)
{
	char filter[1000], path[CLI_PATH];
	int n = 0;
	read_suites(filter);
	FILE *list = popen("grep -rlE '^Test\\(' tests --include='*.c'", "r"); /* NOLINT(cert-env33-c) */
	cr_assert(list);
	while (fscanf(list, "%511s", path) == 1) {
		char *text = cli_read(path, NULL);
		if (strchr(path + strlen("tests/"), '/') && includes_choice(path, text))
			for (const char *at = strstr(text, "\nTest("); at; at = strstr(at + 1, "\nTest("), n++)
				cr_expect(has_suite(filter, at + 6, strcspn(at + 6, ",")),
					  "tests/processor_suites.txt lacks %.*s of %s", (int)strcspn(at + 6, ","),
					  at + 6, path);
		free(text);
	}
	cr_assert_eq(pclose(list), 0);
	cr_assert_gt(n, 20);
}

static bool takes_away(const char *word)
{
	bool known;
	const unsigned allowed = npl_cpu_cap_allows(word, &known);
	cr_assert(known, "%s", word);
	for (unsigned bit = 1; bit < NPL_CPU_END; bit <<= 1)
		if (!(allowed & bit) && npl_cpu_has_uncapped(bit))
			return true;
	return false;
}

/* Whether the processor has all that the word allows: what is tested under it is what a processor with that and no more
 * does. */
static bool runs(const char *word)
{
	bool known;
	return npl_cpu_has_uncapped(npl_cpu_cap_allows(word, &known) & ~(unsigned)NPL_CPU_SHA);
}

static void check_suites(const char *word)
{
	if (TEST_SANITIZED)
		cr_skip("%s: the sanitizers see these suites without a limit", word);
	if (!runs(word) || !takes_away(word))
		cr_skip("%s: this processor %s", word, runs(word) ? "has no more" : "does not have all of it");
	char command[2 * CLI_PATH + 1400], program[CLI_PATH] = "", filter[1000], *out = NULL;
	size_t bytes;
	read_suites(filter);
	cr_assert(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
	snprintf(command, sizeof command, "env -u BXFI_MAP NPULAB_MAX_ISA=%s %s '%s' --jobs 1 --filter '%s' 2>&1", word,
		 cli_runner(), program, filter);
	FILE *pipe = popen(command, "r"), *into = open_memstream(&out, &bytes);
	cr_assert(pipe && into);
	for (int c; (c = fgetc(pipe)) != EOF;)
		fputc(c, into);
	fclose(into);
	cr_assert_eq(pclose(pipe), 0, "under %s: %s", word, out);
	const char *tested = strstr(out, "Tested: ");
	cr_assert(tested && strtol(tested + 8, NULL, 10) > 50 && strstr(out, "Failing: 0 | Crashing: 0"), "%s", out);
	free(out);
}

#define TEST_SUITES(suffix, word)                                                                                      \
	Test(isa, suites_under_##suffix)                                                                               \
	{                                                                                                              \
		check_suites(word);                                                                                    \
	}
ISA_WORDS(TEST_SUITES)

Test(isa, caps_are_the_words_that_the_message_lists)
{
	bool known;
	for (int i = 0; i < WORDS; i++) {
		npl_cpu_cap_allows(words[i], &known);
		cr_assert(known && strstr(NPL_MAX_ISA_WORDS, words[i]), "%s", words[i]);
	}
	npl_cpu_cap_allows("SSE2", &known);
	cr_assert(!known);
	cr_assert_eq(npl_cpu_cap_allows("sse2", &known), 0);
	cr_assert_eq(npl_cpu_cap_allows("avx2", &known) & ~npl_cpu_cap_allows("avx512", &known), 0);
	cr_assert_eq(npl_cpu_cap_allows("avx-vnni", &known) & ~npl_cpu_cap_allows("avx512-vnni", &known), 0);
	cr_assert(!(npl_cpu_cap_allows("avx512", &known) & (NPL_CPU_AVX512VNNI | NPL_CPU_AVXVNNI)));
}

/* Returns the next word between two marks, and goes behind it; NULL: there is none before `end`. */
static char *next_marked(const char **text, const char *end, char mark)
{
	const char *from = memchr(*text, mark, (size_t)(end - *text));
	const char *to = from ? memchr(from + 1, mark, (size_t)(end - from - 1)) : NULL;
	*text = to ? to + 1 : end;
	return to ? strndup(from + 1, (size_t)(to - from - 1)) : NULL;
}

/* The words of the code's table are those of the page, of the message and of these tests, in one order. */
Test(isa, words_are_those_of_the_page)
{
	char *code = cli_read("core/base/cpu_features.c", NULL), message[200] = "";
	char *page = page_section("docs/environment.md", "## The variables");
	const char *in_code = strstr(code, "} words[] = {"), *in_page = page_row(page, NPL_MAX_ISA);
	cr_assert(in_code && in_page);
	const char *code_end = strstr(in_code, "};");
	in_page = strchr(in_page + 1, '|') + 1;
	const char *page_end = strchr(in_page, '|');
	for (int i = 0; i <= WORDS; i++) {
		char *of_code = next_marked(&in_code, code_end, '"'), *of_page = next_marked(&in_page, page_end, '`');
		const char *expected = i < WORDS ? words[i] : "(none)";
		cr_expect_str_eq(of_code ? of_code : "(none)", expected);
		cr_expect_str_eq(of_page ? of_page : "(none)", expected, "docs/environment.md");
		if (i < WORDS)
			npl_append(message, sizeof message, !i ? "" : i < WORDS - 1 ? ", " : " or ", "%s", words[i]);
		free(of_code);
		free(of_page);
	}
	cr_expect_str_eq(message, NPL_MAX_ISA_WORDS);
	free(code);
	free(page);
}

Test(isa, cap_of_this_process)
{
	setenv(NPL_MAX_ISA, "sse2", 1);
	cr_assert(!npl_cpu_has(NPL_CPU_AVX) && !npl_cpu_has(NPL_CPU_AVX2) && !npl_cpu_has(NPL_CPU_SHA));
	cr_assert(npl_cpu_has(0));
	cr_assert_eq(!npl_cpu_cap(), !takes_away("sse2"));
}

Test(isa, empty_is_no_cap)
{
	setenv(NPL_MAX_ISA, "", 1);
	cr_assert_eq(npl_cpu_has(NPL_CPU_AVX), npl_cpu_has_uncapped(NPL_CPU_AVX));
	cr_assert_null(npl_cpu_cap());
}

Test(isa, another_word_is_refused)
{
	static const char *const bad[] = {"AVX2", "avx3", "sse", "avx2,avx512", " avx2"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		setenv(NPL_MAX_ISA, bad[i], 1);
		struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits");
		cli_check_refusal(&r, 2, "', expected sse2, avx, avx2, avx-vnni, avx512 or avx512-vnni", bad[i]);
		cli_free(&r);
	}
}

/* Values, layer by layer, of the processor in 8 bits and of two machines; the cap in what was told. */
static void layers_under(const char *word, char *hashes, size_t size)
{
	setenv(NPL_MAX_ISA, word, 1);
	json_t *root = cli_json(&(struct cli_run_options){0}, "compare", "digits", "--devices", "tpu_v1,diannao,cpu",
				"--set", "cpu.precision=int8", "--json", "-");
	json_t *limit = cli_at(root, "npulab.max_isa"), *device, *layer;
	size_t d, i, used = 0;
	if (*word && takes_away(word))
		cr_assert_str_eq(cli_text(limit), word);
	else
		cr_assert(json_is_null(limit));
	json_array_foreach (cli_at(root, "devices"), d, device)
		json_array_foreach (cli_at(device, "layers"), i, layer) {
			const char *hash = json_string_value(json_object_get(layer, "output_sha256"));
			cr_assert(used < size - 100);
			used += (size_t)snprintf(hashes + used, size - used, "%zu/%zu %s\n", d, i, hash ? hash : "-");
		}
	cr_assert(used > 1000);
	json_decref(root);
}

Test(isa, same_values_under_each)
{
	static char all[8000], capped[8000];
	layers_under("", all, sizeof all);
	for (int i = 0; i < WORDS; i += TEST_SANITIZED ? 3 : 1) {
		layers_under(words[i], capped, sizeof capped);
		cr_assert_str_eq(capped, all, "%s", words[i]);
	}
}

Test(isa, libraries_are_told)
{
	if (!takes_away("sse2"))
		cr_skip("this processor has nothing beyond SSE2");
	unsetenv("OPENBLAS_CORETYPE");
	unsetenv("DNNL_MAX_CPU_ISA");
	unsetenv("ONEDNN_MAX_CPU_ISA");
	setenv(NPL_MAX_ISA, "sse2", 1);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "cpu", "--verbose");
	if (strstr(r.out, "unavailable")) {
		cli_free(&r);
		cr_skip("there is no OpenBLAS");
	}
	cr_assert(cli_says(r.out, "instruction set SSE, as NPULAB_MAX_ISA=sse2 allows"), "%s", r.out);
	cr_assert(cli_says(r.out, "core type Prescott, of kernels for SSE") && !strstr(r.out, "warning"), "%s", r.out);
	cr_assert(cli_says(r.out, "int8 kernels sse2"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8", "--devices", "cpu");
	cr_assert(cli_says(r.out, "limited kernels for sse2 and no further: NPULAB_MAX_ISA is set"), "%s", r.out);
	cli_free(&r);
}
