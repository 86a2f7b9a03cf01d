/* SPDX-License-Identifier: MIT
 *
 * Pages as a browser draws them. What the program promises: a page fetches nothing and says nothing on the console,
 * what it draws are the figures of its documents, everybody can read and use it, and it is whole on a small screen, on
 * paper and without JavaScript; drawings in files of their own can be seen whole. The checks are in
 * tests/pages/browser/. Debian's Chromium starts once and runs them on all pages. Another page is another row of
 * pages[].
 *
 * Skipped where Chromium or what drives it is missing (`scripts/install-deps.sh browser`). With NPULAB_BROWSER_REQUIRED
 * that is a failure.
 */
#include <glob.h>
#include <sys/stat.h>

#include "tests/kit/saved_pages.h"

/* The browser takes half a minute on two processors. It is told to give up after the first time, and killed after the
 * second. */
#define CHECK      "tests/pages/browser/check.mjs"
#define FAULTY     "tests/pages/browser/faulty.html"
#define FAULTY_SVG "tests/pages/browser/faulty.svg"
#define SECONDS    300
#define SECONDS_TO "330"

enum { CHECKS = 3, MEGABYTE = 1000000, KILOBYTE = 1000 };

/* A page is made by a command, behind a sweep if it has one, or, if `of` names a page, of that page's document, or of
 * what `edit` makes of it. With `later` it is of two documents, one over the other. */
struct page {
	const char *name;
	const char *sweep[24];
	const char *make[20];
	const char *of;
	json_t *(*edit)(json_t *root);
	const char *later[20];
	const char *checks[CHECKS]; /* beside those of every page */
	size_t most_bytes;
	bool has_drawings; /* these are looked at as files of their own, too */
};

static json_t *make_hostile(json_t *root);
static json_t *make_hostile_sweep(json_t *root);

/* ResNet-50 runs with values: `cpu` is measured, which needs them. */
static const struct page pages[] = {
	{.name = "resnet50",
	 .make = {"compare", "resnet50", "--devices", "tpu_v1,diannao,cpu,gpu_k80", "--quiet"},
	 .checks = {"comparison"},
	 .most_bytes = MEGABYTE},
	{.name = "lenet5",
	 .make = {"compare", "lenet5", "--devices", "tpu_v1,reference,tpu_v1@clock_hz=600000000", "--quiet"},
	 .checks = {"comparison"},
	 .most_bytes = MEGABYTE / 2},
	{.name = "placement",
	 .make = {"run", "lenet5", "--place", "Conv*=tpu_v1,*=diannao", "--batch", "2", "--quiet"},
	 .checks = {"comparison"},
	 .most_bytes = MEGABYTE / 2,
	 .has_drawings = true},
	{.name = "one layer",
	 .make = {"layer", "gemm", "-m", "4", "-n", "8", "-k", "8", "--devices", "diannao", "--quiet"},
	 .checks = {"comparison"},
	 .most_bytes = MEGABYTE / 2},
	{.name = "hostile names",
	 .of = "lenet5",
	 .edit = make_hostile,
	 .checks = {"comparison"},
	 .most_bytes = MEGABYTE / 2},
	{.name = "a device that could not start",
	 .of = "lenet5",
	 .edit = saved_without_first_device,
	 .checks = {"comparison"},
	 .most_bytes = MEGABYTE / 2},
	{.name = "changes of a comparison",
	 .make = {"compare", "lenet5", "--devices", "tpu_v1,diannao", "--quiet"},
	 .later = {"compare", "lenet5", "--devices", "tpu_v1,diannao,gpu_k80", "--set", "tpu_v1.array.columns=64",
		   "--quiet"},
	 .checks = {"overlay"},
	 .most_bytes = MEGABYTE / 2},
	{.name = "validation",
	 .make = {"validate", "tpu_v1"},
	 .checks = {"validation"},
	 .most_bytes = 150 * KILOBYTE,
	 .has_drawings = true},
	{.name = "memory", .make = {"dram", "--pattern", "stream_rd"}, .checks = {"dram"}, .most_bytes = 50 * KILOBYTE},
	{.name = "changes of a memory",
	 .of = "memory",
	 .later = {"dram", "--pattern", "copy", "-n", "1000", "--preset", "diannao-250gbps"},
	 .checks = {"dram"},
	 .most_bytes = 50 * KILOBYTE,
	 .has_drawings = true},
	{.name = "roofline",
	 .make = {"roofline", "lenet5", "--devices", "tpu_v1,diannao"},
	 .checks = {"roofline"},
	 .most_bytes = MEGABYTE / 2},
	{.name = "changes of a roofline",
	 .of = "roofline",
	 .later = {"roofline", "lenet5", "--devices", "tpu_v1,gpu_k80", "--set", "tpu_v1.array.columns=64"},
	 .checks = {"roofline"},
	 .most_bytes = MEGABYTE / 2},
	{.name = "sweep",
	 .sweep = {"sweep",        "digits",
		   "--device",     "tpu_v1",
		   "--vary",       "array.rows=array.columns=32..256+32",
		   "--vary",       "clock_hz=400e6..1000e6+300e6",
		   "--vary",       "weight_memory.preset=fixed,hbm2",
		   "--vary",       "accumulators.rows=100,1024,2048",
		   "--constraint", "power_w < 35",
		   "--constraint", "area_mm2 < 320",
		   "--minimise",   "seconds,area_mm2",
		   "-o",           "sweep.sqlite",
		   "--quiet"},
	 .make = {"pareto", "sweep.sqlite", "--quiet"},
	 .checks = {"pareto"},
	 .most_bytes = 200 * KILOBYTE,
	 .has_drawings = true},
	{.name = "sweep with three objectives",
	 .make = {"pareto", "sweep.sqlite", "--minimise", "energy_j*seconds,area_mm2", "--maximise", "utilization",
		  "--quiet"},
	 .checks = {"pareto"},
	 .most_bytes = 200 * KILOBYTE},
	{.name = "two sweeps",
	 .of = "sweep",
	 .later = {"pareto", "sweep.sqlite", "--minimise", "energy_j,area_mm2", "--quiet"},
	 .most_bytes = 250 * KILOBYTE},
	{.name = "hostile names of a sweep", .of = "sweep", .edit = make_hostile_sweep, .most_bytes = 250 * KILOBYTE},
};
enum { PAGES = sizeof pages / sizeof *pages };

/* ---- Documents. */

/* Returns the text with each `from` replaced, to be freed. */
static char *replaced(const char *text, const char *from, const char *to)
{
	char *out = NULL;
	size_t bytes = 0;
	FILE *stream = open_memstream(&out, &bytes);
	cr_assert(stream && strstr(text, from), "there is no %s", from);
	for (const char *at; (at = strstr(text, from)); text = at + strlen(from))
		fprintf(stream, "%.*s%s", (int)(at - text), text, to);
	fputs(text, stream);
	fclose(stream);
	return out;
}

/* Names of networks, layers, devices and components that would be markup, break out of an attribute, turn the direction
 * of writing, or need more room than there is. */
static json_t *make_hostile(json_t *root)
{
	static char longest[900] = "\"a/very/long/path";
	static const char *const names[][2] = {
		{"\"lenet5\"", "\"</title></h1><script>alert(1)</script><img src=x onerror=alert(2)>\""},
		{"\"conv1\"", "\"</text></svg></table><script>alert(3)</script> & &#60;b>\\u001b[2J\""},
		{"\"tanh1\"", "\"\\\" onload=\\\"alert(4)\\\" x='\""},
		{"\"pool1\"", "\"invoice\\u202egnp.exe \\u2066\\u05d0\\u05d1\\u200f\\ufeff\""},
		{"\"conv2\"", longest},
		{"\"Tanh\"", "\"<b>Tanh\\nin two lines\""},
		{"\"instance\":\"reference\"", "\"instance\":\"<i onclick='alert(5)'>\\\"reference\\\"\""},
		{"\"matrix unit\"", "\"</title></rect><script>alert(6)</script>\""},
	};
	char *text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	while (strlen(longest) + 20 < sizeof longest)
		strcat(longest, "/to_a_module");
	strcat(longest, "\"");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *next = replaced(text, names[i][0], names[i][1]);
		free(text);
		text = next;
	}
	root = cli_parse_json(text);
	free(text);
	return root;
}

/* Names and values of parameters that would end the element with the data, or be markup. */
static json_t *make_hostile_sweep(json_t *root)
{
	static const char *const names[][2] = {
		{"\"weight_memory.preset\"", "\"</script><img src=x onerror=alert(1)>\\u202e<!--\""},
		{"\"hbm2\"", "\"</script><script>alert(2)</script>'\\n\""},
		{"\"accumulators.rows\"", "\"__proto__\""},
		{"\"power_w < 35\"", "\"<b onclick=alert(3)>&lt;\""},
	};
	char *text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *next = replaced(text, names[i][0], names[i][1]);
		free(text);
		text = next;
	}
	root = cli_parse_json(text);
	free(text);
	return root;
}

/* ---- What shows that the checks find a fault: other documents than the page's, and a faulty page and drawing. */

static void increase(json_t *object, const char *key)
{
	json_object_set_new(object, key, json_real(1.02 * cli_number(cli_at(object, key))));
}

static json_t *increase_energy(json_t *root)
{
	increase(cli_at(root, "devices.0.layers.3"), "energy_j");
	return root;
}

static json_t *increase_time(json_t *root)
{
	increase(cli_at(root, "devices.0.totals"), "latency_s");
	return root;
}

static json_t *increase_published(json_t *root)
{
	json_t *row;
	size_t i;
	json_array_foreach (cli_at(root, "rows"), i, row)
		if (!strcmp(cli_text(cli_at(row, "metric")), "array_active") &&
		    !strcmp(cli_text(cli_at(row, "case")), "MLP0"))
			increase(row, "published");
	return root;
}

static json_t *increase_activates(json_t *root)
{
	json_t *counters = cli_at(root, "counters");
	json_object_set_new(counters, "activates", json_integer(1 + cli_integer(cli_at(counters, "activates"))));
	return root;
}

static json_t *increase_latency(json_t *root)
{
	increase(cli_at(root, "latency_cycles"), "mean");
	return root;
}

static json_t *increase_rate(json_t *root)
{
	increase(cli_at(root, "devices.0.layers.2"), "ops_per_second");
	return root;
}

static json_t *increase_best(json_t *root)
{
	json_t *objectives = cli_at(root, "front.0.objectives");
	json_array_set_new(objectives, 0, json_real(1.02 * cli_number(json_array_get(objectives, 0))));
	return root;
}

/* The first document is another than the page's in one figure. The check finds that, mostly in several places, and
 * nothing else. */
static const struct wrong {
	const char *name, *of;
	json_t *(*edit)(json_t *root);
	const char *says[2]; /* each finding has one of these */
	int least_findings;
} wrongs[] = {
	{"another energy", "lenet5", increase_energy, {"layer conv2: tpu_v1: energy: "}, 2},
	{"another time before", "changes of a comparison", increase_time, {"tpu_v1 ("}, 3},
	{"another published figure", "validation", increase_published, {"MLP0 array_active"}, 4},
	{"another count", "memory", increase_activates, {"activates: "}, 2},
	{"another latency before", "changes of a memory", increase_latency, {"latency, mean", "mean: "}, 5},
	{"another rate", "roofline", increase_rate, {"tpu_v1, conv2: "}, 5},
	{"another best point", "sweep", increase_best, {"front, point ", "the drawing: seconds "}, 2},
};
enum { WRONGS = sizeof wrongs / sizeof *wrongs };
enum { FAULTS_OF_DRAWING = 5 };
static const char faulty[] = "faulty", faulty_drawing[] = "faulty drawing";

/* ---- The pages and the job. */

enum kind { HTML, JSON, LATER, WRONG };

/* Documents have names that pages of several show. */
static const char *file_of(const char *folder, int page, enum kind kind)
{
	static const char *const names[] = {"%d.html", "before_%d.json", "after_%d.json", "before_%d.json"};
	char name[40] = "wrong/";
	const size_t length = kind == WRONG ? strlen(name) : 0;
	snprintf(name + length, sizeof name - length, names[kind], page);
	return cli_path(folder, name);
}

static int index_of(const char *name)
{
	int i = 0;
	while (i < PAGES && strcmp(pages[i].name, name) != 0)
		i++;
	cr_assert(i < PAGES, "%s", name);
	return i;
}

/* Writes what `edit` makes of one document as another one. */
static void write_edited(const char *from, json_t *(*edit)(json_t *root), const char *to)
{
	char *text = cli_read(from, NULL);
	json_t *root = cli_parse_json(text);
	if (edit)
		root = edit(root);
	cr_assert_eq(json_dump_file(root, to, JSON_COMPACT), 0, "%s", to);
	json_decref(root);
	free(text);
}

static void make_page(const char *folder, int i)
{
	const struct page *page = &pages[i];
	const char *const report[] = {"report",
				      "--html",
				      file_of(folder, i, HTML),
				      file_of(folder, i, JSON),
				      *page->later ? file_of(folder, i, LATER) : NULL,
				      NULL};
	size_t bytes = 0;
	if (*page->sweep)
		cli_expect_list(&(struct cli_run_options){.enter = folder}, 0, page->sweep);
	if (page->of)
		write_edited(file_of(folder, index_of(page->of), JSON), page->edit, file_of(folder, i, JSON));
	else
		saved_document(folder, page->make, file_of(folder, i, JSON));
	if (*page->later)
		saved_document(folder, page->later, file_of(folder, i, LATER));
	cli_expect_list(&(struct cli_run_options){0}, 0, report);
	free(cli_read(file_of(folder, i, HTML), &bytes));
	cr_expect_lt(bytes, page->most_bytes, "%s: %zu bytes", page->name, bytes);
}

/* Adds a page to the job. second: NULL where it has no second document; first: NULL where it has none at all. */
static void add_to_job(json_t *list, const char *name, const char *html, const char *first, const char *second,
		       const char *const *checks, bool general)
{
	json_t *names = json_array(), *documents = json_array();
	for (int i = 0; i < CHECKS && checks[i]; i++)
		json_array_append_new(names, json_string(checks[i]));
	if (first)
		json_array_append_new(documents, json_string(first));
	if (second)
		json_array_append_new(documents, json_string(second));
	json_t *one = json_pack("{s:s, s:s, s:o, s:o, s:b}", "name", name, "html", html, "json", documents, "checks",
				names, "general", general);
	cr_assert(one && json_array_append_new(list, one) == 0);
}

static void add_page(json_t *list, const char *folder, int i, const struct wrong *wrong)
{
	const struct page *page = &pages[i];
	add_to_job(list, wrong ? wrong->name : page->name, file_of(folder, i, HTML),
		   file_of(folder, i, wrong ? WRONG : JSON), *page->later ? file_of(folder, i, LATER) : NULL,
		   page->checks, !wrong);
}

/* Makes the drawings of a page as files and adds them. Returns how many there are. */
static int add_drawings(json_t *list, const char *folder, int i)
{
	char pattern[CLI_PATH + 20];
	glob_t found;
	char name[20];
	snprintf(name, sizeof name, "drawings_%d", i);
	const char *const report[] = {"report",
				      "--svg",
				      cli_path(folder, name),
				      file_of(folder, i, JSON),
				      *pages[i].later ? file_of(folder, i, LATER) : NULL,
				      NULL};
	cli_expect_list(&(struct cli_run_options){0}, 0, report);
	snprintf(pattern, sizeof pattern, "%s/*.svg", cli_path(folder, name));
	cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "%s", pattern);
	const int n = (int)found.gl_pathc;
	for (int k = 0; k < n; k++)
		add_to_job(list, strrchr(found.gl_pathv[k], '/') + 1, found.gl_pathv[k], NULL, NULL,
			   (const char *const[]){"drawing", NULL}, false);
	globfree(&found);
	return n;
}

static void add_faults(json_t *list, const char *folder)
{
	char html[4096], svg[4096];
	cr_assert(realpath(FAULTY, html) && realpath(FAULTY_SVG, svg));
	add_to_job(list, faulty, html, NULL, NULL, (const char *const[]){NULL}, true);
	add_to_job(list, faulty_drawing, svg, NULL, NULL, (const char *const[]){"drawing", NULL}, false);
	cr_assert_eq(mkdir(cli_path(folder, "wrong"), 0777), 0);
	for (int i = 0; i < WRONGS; i++) {
		const int of = index_of(wrongs[i].of);
		write_edited(file_of(folder, of, JSON), wrongs[i].edit, file_of(folder, of, WRONG));
		add_page(list, folder, of, &wrongs[i]);
	}
}

/* Returns how many drawings are in the job. */
static int write_job(const char *folder)
{
	json_t *list = json_array();
	int drawings = 0;
	for (int i = 0; i < PAGES; i++) {
		make_page(folder, i);
		add_page(list, folder, i, NULL);
		if (pages[i].has_drawings)
			drawings += add_drawings(list, folder, i);
	}
	add_faults(list, folder);
	json_t *job = json_pack("{s:i, s:o}", "seconds", SECONDS, "pages", list);
	cr_assert_eq(json_dump_file(job, cli_path(folder, "job.json"), 0), 0);
	json_decref(job);
	return drawings;
}

/* ---- What the browser found. */

struct tally {
	int checks;       /* of pages that are as they should be */
	int found;        /* checks of the faulty page, all of which find something */
	int wrongs;       /* documents that are not the page's, and are found to be others */
	bool has_drawing; /* the faulty drawing was found to be one */
	bool ended;
};

/* Where the figure is another, each finding is about it. */
static void take_wrong(struct tally *tally, const struct wrong *wrong, json_t *problems)
{
	json_t *problem;
	size_t i;
	json_array_foreach (problems, i, problem) {
		const char *text = cli_text(problem);
		cr_expect(strstr(text, wrong->says[0]) || (wrong->says[1] && strstr(text, wrong->says[1])), "%s: %s",
			  wrong->name, text);
	}
	cr_expect_geq(json_array_size(problems), (size_t)wrong->least_findings, "%s: found %zu times", wrong->name,
		      json_array_size(problems));
	tally->wrongs++;
}

static void take_check(struct tally *tally, json_t *line, const char *page)
{
	const char *check = cli_text(cli_at(line, "check"));
	json_t *problems = cli_at(line, "problems"), *problem;
	size_t i;
	for (i = 0; i < WRONGS; i++)
		if (!strcmp(page, wrongs[i].name)) {
			take_wrong(tally, &wrongs[i], problems);
			return;
		}
	if (!strcmp(page, faulty)) {
		cr_expect_gt(json_array_size(problems), 0, "%s finds nothing wrong with %s", check, FAULTY);
		tally->found++;
		return;
	}
	if (!strcmp(page, faulty_drawing)) {
		tally->has_drawing = json_array_size(problems) == FAULTS_OF_DRAWING;
		return;
	}
	json_array_foreach (problems, i, problem)
		cr_expect(false, "%s, %s: %s", page, check, cli_text(problem));
	tally->checks++;
}

static void take_line(struct tally *tally, const char *text)
{
	json_t *line = cli_parse_json(text), *page = json_object_get(line, "page");
	if (!page)
		tally->ended = json_is_true(cli_at(line, "end"));
	else if (json_object_get(line, "check"))
		take_check(tally, line, cli_text(page));
	else if (!strcmp(cli_text(page), pages[0].name))
		fprintf(stderr, "page_browser: %s is painted after %.0f ms and drawn after %.0f ms\n", cli_text(page),
			cli_number(cli_at(line, "painted_ms")), cli_number(cli_at(line, "drawn_ms")));
	json_decref(line);
}

/* Says why there is no test; one that has to run fails. */
static void skip(const char *why)
{
	const char *required = getenv("NPULAB_BROWSER_REQUIRED");
	cr_assert(!required || !*required, "%s", why);
	cr_skip_test("%s", why);
}

static void skip_without_browser(void)
{
	char why[300] = "";
	if (cli_no_limits()) /* a sanitizer or an emulator makes the same pages, slowly */
		skip("the program runs under a sanitizer or an emulator, and makes the same pages without");
	FILE *pipe = popen("if type node; then node " CHECK "; else echo there is no node; fi 2>&1 | tail -n 1", "r");
	cr_assert(pipe);
	const size_t n = fread(why, 1, sizeof why - 1, pipe);
	pclose(pipe);
	if (!strstr(why, "there is no") && !strstr(why, "older"))
		return;
	why[n ? n - 1 : 0] = '\0';
	snprintf(why + strlen(why), sizeof why - strlen(why), " (scripts/install-deps.sh browser)");
	skip(why);
}

static int own_checks(void)
{
	int n = 0;
	for (int i = 0; i < PAGES; i++)
		for (int k = 0; k < CHECKS && pages[i].checks[k]; k++)
			n++;
	return n;
}

Test(page_browser, draws_what_the_documents_say)
{
	char folder[CLI_PATH];
	struct tally tally = {0};
	skip_without_browser();
	cli_folder(folder);
	const int drawings = write_job(folder);
	char *out = shell("timeout --kill-after=10 " SECONDS_TO " node " CHECK " '%s/job.json' 2>&1", folder);
	for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
		take_line(&tally, line);
	cr_expect(tally.ended && tally.has_drawing && drawings > 0);
	cr_expect_eq(tally.wrongs, WRONGS);
	cr_expect_eq(tally.checks, PAGES * tally.found + own_checks() + drawings,
		     "each page has all checks, and its own");
	free(out);
	cli_remove_folder(folder);
}
