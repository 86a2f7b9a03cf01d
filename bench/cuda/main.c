/* SPDX-License-Identifier: MIT
 *
 * What a GPU does, for docs/gpu-results.md: the head says which GPU it is, then square products beside cuBLASLt called
 * directly, and whole networks. scripts/bench-cuda.sh runs it, each part in a process of its own, so that one that
 * fails takes no other with it.
 *
 *     build/bench/cuda [--precision f16,int8] [--size 1024,8192] [--network NAME,...] [--batch N] [--pytorch-ms T]
 *     [--smallest]
 *                      [head|products|networks]...
 */
#include <getopt.h>
#include <string.h>

#include "bench_cuda.h"
#include "core/device_access.h"
#include "npulab/version.h"

struct bench_repeats bench_repeats(const struct bench_options *options)
{
	return options->smallest ? (struct bench_repeats){2, 2, 0} : (struct bench_repeats){20, 200, 1};
}

int bench_open(const char *precision, struct npl_device **device, struct npl_err *err)
{
	char set[40];
	const char *sets[] = {set};
	snprintf(set, sizeof set, "precision=%.20s", precision);
	return npl_device_open("cuda", &(struct npl_device_options){.set = sets, .n_sets = 1}, device, err);
}

int bench_head(void)
{
	struct npl_arena arena = {0};
	struct npl_facts facts = {.arena = &arena};
	struct npl_device *device;
	struct npl_err err = {0};
	int rc = bench_open("f32", &device, &err);
	if (rc) {
		fprintf(stderr, "bench-cuda: %s\n", err.msg);
		return 1;
	}
	const struct cu_device *cuda = npl_device_state(device);
	const time_t now = time(NULL);
	char date[24] = "";
	strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
	printf("### %s, %s\n\n| | |\n|---|---|\n| npulab | %s, commit %s |\n", cuda->gpu.name, date, npl_version(),
	       npl_commit());
	rc = npl_device_facts(device, &facts, &err);
	for (int i = 0; i < facts.n; i++) {
		char key[64];
		snprintf(key, sizeof key, "%s", facts.fact[i].key);
		for (char *at = key; (at = strchr(at, '_'));)
			*at = ' ';
		printf("| %s | %s |\n", key, facts.fact[i].value);
	}
	if (rc)
		printf("| fails | %s |\n", err.msg);
	npl_device_close(device);
	npl_arena_free(&arena);
	fflush(stdout);
	return rc != 0;
}

/* Splits at commas, in place. */
static void read_list(char *text, struct bench_list *list)
{
	list->n = 0;
	for (char *save = NULL, *word = strtok_r(text, ",", &save); word && list->n < BENCH_LIST;
	     word = strtok_r(NULL, ",", &save))
		list->item[list->n++] = word;
}

static void use_smallest(struct bench_options *options)
{
	options->smallest = true;
	options->sizes = (struct bench_list){2, {"16", "48"}};
	options->networks = (struct bench_list){1, {"digits"}};
	options->batch = 2;
}

/* 0, or the exit status. */
static int read_options(int argc, char **argv, struct bench_options *options)
{
	static const struct option known[] = {{"precision", required_argument, NULL, 'p'},
					      {"size", required_argument, NULL, 's'},
					      {"network", required_argument, NULL, 'n'},
					      {"batch", required_argument, NULL, 'b'},
					      {"pytorch-ms", required_argument, NULL, 't'},
					      {"smallest", no_argument, NULL, 'm'},
					      {0}};
	for (int c; (c = getopt_long(argc, argv, "", known, NULL)) >= 0;) {
		switch (c) {
		case 'p':
			read_list(optarg, &options->precisions);
			break;
		case 's':
			read_list(optarg, &options->sizes);
			break;
		case 'n':
			read_list(optarg, &options->networks);
			break;
		case 'b':
			options->batch = strtoll(optarg, NULL, 10);
			break;
		case 't':
			options->pytorch_ms = strtod(optarg, NULL);
			break;
		case 'm':
			use_smallest(options);
			break;
		default:
			return 2;
		}
	}
	for (int i = 0; i < options->sizes.n; i++)
		if (strtoll(options->sizes.item[i], NULL, 10) < 1 ||
		    strtoll(options->sizes.item[i], NULL, 10) > 65536) {
			fprintf(stderr, "bench-cuda: a size is 1 to 65536, got '%s'\n", options->sizes.item[i]);
			return 2;
		}
	for (int i = optind; i < argc; i++)
		if (strcmp(argv[i], "head") != 0 && strcmp(argv[i], "products") != 0 &&
		    strcmp(argv[i], "networks") != 0) {
			fprintf(stderr, "bench-cuda: a part is head, products or networks, got '%s'\n", argv[i]);
			return 2;
		}
	if (options->batch < 1) {
		fprintf(stderr, "bench-cuda: a batch is at least 1\n");
		return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bench_options options = {.precisions = {5, {"f16", "int8", "bf16", "tf32", "f32"}},
					.sizes = {3, {"8192", "4096", "1024"}},
					.networks = {1, {"resnet50"}},
					.batch = 32,
					.pytorch_ms = NAN};
	struct npl_device *anchor;
	struct npl_err err = {0};
	int status = read_options(argc, argv, &options), failed = 0;
	if (status)
		return status;
	const bool all = optind >= argc;
	/* As long as one device is open the libraries stay loaded, which takes seconds. */
	if (bench_open("f32", &anchor, &err)) {
		fprintf(stderr, "bench-cuda: %s\n", err.msg);
		return 4;
	}
	if (all)
		failed = bench_head() + bench_products(&options) + bench_networks(&options);
	for (int i = optind; i < argc; i++)
		failed += !strcmp(argv[i], "head")       ? bench_head()
			  : !strcmp(argv[i], "products") ? bench_products(&options)
							 : bench_networks(&options);
	npl_device_close(anchor);
	return failed ? 1 : 0;
}
