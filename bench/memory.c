/* SPDX-License-Identifier: MIT
 *
 * How honest the estimate of memory is (frontend/session/footprint.c): what a comparison says that it needs, beside the
 * most that Linux counted while it ran (MiB). The table of docs/limits.md. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "build/npulab"
#define MIB     1048576.0

/* Runs a comparison; its standard error to `said`. The most memory that it had, in KiB; 0: it could not be run. */
static long most_kib(const char *network, const char *device, const char *limit, char *said, size_t n)
{
	int to[2], status;
	struct rusage usage;
	if (pipe(to))
		return 0;
	const pid_t child = fork();
	if (!child) {
		dup2(to[1], STDERR_FILENO);
		close(to[0]);
		execl(PROGRAM, PROGRAM, "compare", network, "--devices", device, "--quiet", "--no-accuracy", "--batch",
		      "1", limit ? "--max-memory" : NULL, limit, NULL);
		_exit(127);
	}
	close(to[1]);
	const ssize_t got = read(to[0], said, n - 1);
	said[got > 0 ? got : 0] = '\0';
	close(to[0]);
	return child < 0 || wait4(child, &status, 0, &usage) < 0 ? 0 : usage.ru_maxrss;
}

int main(void)
{
	static const char *const networks[] = {"alexnet", "resnet50",  "mobilenet_v2",
					       "lstm_lm", "bert_base", "gpt2_small_decode"};
	static const char *const devices[] = {"reference", "tpu_v1", "diannao", "cpu"};
	for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
		for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
			char said[400];
			uint64_t bytes = 0;
			most_kib(networks[i], devices[d], "1", said, sizeof said);
			const char *about = strstr(said, "about ");
			if (!about || sscanf(about, "about %" SCNu64, &bytes) != 1) {
				fprintf(stderr, "memory: %s on %s gives no estimate: %s\n", networks[i], devices[d],
					said);
				return 1;
			}
			const double peak = (double)most_kib(networks[i], devices[d], NULL, said, sizeof said) / 1024;
			printf("memory of %-17s on %-9s estimated %4.0f MiB, at most %4.0f MiB, ratio %.2f\n",
			       networks[i], devices[d], (double)bytes / MIB, peak, (double)bytes / MIB / peak);
		}
	return 0;
}
