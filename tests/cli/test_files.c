/* SPDX-License-Identifier: MIT
 *
 * What the program promises of the files that it reads and writes: nothing that a run reads is overwritten by it,
 * whatever led to it; an output that fails keeps no other back; a signal leaves no temporary behind; a file that is cut
 * off while it is read is told. */
#include <pthread.h>
#include <sys/inotify.h>

#include "cli/signals.h"
#include "core/files/file.h"
#include "npulab/graph.h"
#include "npulab/graph_run.h"
#include "tests/kit/cli_run.h"

#define NET "@/net.onnx"

/* y = x w, whose 16 x n weights are in w.bin; the file takes no room on the disk. */
static void write_external(const char *folder, int64_t columns)
{
	struct onnx_writer graph = {0}, tensor = {0}, entry = {0};
	onnx_put_input(&graph, "x", ONNX_FLOAT, 2, (int64_t[]){1, 16});
	onnx_put_int(&tensor, 1, 16);
	onnx_put_int(&tensor, 1, columns);
	onnx_put_int(&tensor, 2, ONNX_FLOAT);
	onnx_put_string(&tensor, 8, "w");
	onnx_put_string(&entry, 1, "location");
	onnx_put_string(&entry, 2, "w.bin");
	onnx_put_message(&tensor, 13, &entry);
	onnx_put_int(&tensor, 14, 1);
	onnx_put_message(&graph, 5, &tensor);
	onnx_put_node(&graph, "MatMul", "fc", "x w", "y", NULL);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, "net.onnx", &graph);
	cli_write_sparse(folder, "w.bin", (off_t)(16 * columns * 4));
}

/* A copy of the data folder's smaller part, since what these runs would overwrite if they did is lost. */
static void copy_data(const char *folder)
{
	static const char *const copied[] = {"energies/operations.csv",
					     "energies/scaling.csv",
					     "energies/sram.csv",
					     "energies/tpu_v1.csv",
					     "machines/tpu_v1.yaml",
					     "machines/host.yaml",
					     "memories/ddr3-2133.yaml",
					     "published/tdp.csv",
					     "published/dram.csv",
					     "models/digits.onnx",
					     "models/digits.yaml",
					     "models/digits_test_images.npy",
					     "models/digits_test_labels.npy",
					     "models/digits_calibration.npy"};
	static const char *const made[] = {"energies", "machines", "memories", "published", "models"};
	for (int i = 0; i < 5; i++)
		cr_assert_eq(mkdir(cli_path(folder, made[i]), 0777), 0);
	for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
		size_t bytes;
		char *data = cli_read(copied[i], &bytes);
		cli_write(folder, copied[i], data, bytes);
		free(data);
	}
	cr_assert_eq(setenv("NPULAB_DATA", folder, 1), 0);
}

#define TPU "--devices", "tpu_v1", "--timing-only", "--quiet"

Test(cli_files, what_is_read_is_not_overwritten)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	copy_data(folder);
	write_external(folder, 8);
	cr_assert_eq(link(cli_path(folder, "w.bin"), cli_path(folder, "hard")), 0);
	cr_assert_eq(symlink("hard", cli_path(folder, "soft")), 0);
	const char *const expected = "is read by this run and would be overwritten";
	const struct cli_refusal cases[] = {
		{2, expected, {"compare", NET, TPU, "--json", "@/w.bin"}},
		{2, expected, {"compare", NET, TPU, "--json", "@/hard"}},
		{2, expected, {"compare", NET, TPU, "--csv", "@/soft"}},
		{2, expected, {"roofline", NET, "--devices", "tpu_v1", "--json", "@/soft"}},
		{2, expected, {"compare", NET, TPU, "--csv", "@/machines/tpu_v1.yaml"}},
		{2, expected, {"compare", NET, TPU, "--csv", "@/machines/host.yaml"}},
		{3, expected, {"compare", NET, TPU, "--csv", "@/energies/tpu_v1.csv"}},
		{3, expected, {"compare", NET, TPU, "--csv", "@/energies/sram.csv"}},
		{2,
		 expected,
		 {"compare", NET, TPU, "--set", "tpu_v1.weight_memory.preset=ddr3-2133", "--json",
		  "@/memories/ddr3-2133.yaml"}},
		{2,
		 expected,
		 {"compare", NET, TPU, "--set", "tpu_v1.weight_memory.preset=@/memories/ddr3-2133.yaml", "--json",
		  "@/memories/ddr3-2133.yaml"}},
		{2, expected, {"compare", "digits", TPU, "--json", "@/models/digits.yaml"}},
		{2, expected, {"compare", "@/models/digits.onnx", TPU, "--json", "@/models/digits.yaml"}},
		{2, expected, {"compare", "digits", TPU, "--json", "@/models/digits_test_images.npy"}},
		{2, expected, {"compare", "digits", TPU, "--json", "@/models/digits_test_labels.npy"}},
		{2, expected, {"compare", "digits", TPU, "--json", "@/models/digits_calibration.npy"}},
		{2, expected, {"validate", "dram", "--json", "@/published/dram.csv"}},
		{2, expected, {"dram", "--pattern", "copy", "-n", "9", "--json", "@/memories/ddr3-2133.yaml"}},
	};
	CLI_CHECK(folder, cases);
	char *weights = cli_read(cli_path(folder, "w.bin"), NULL);
	cr_assert_eq(weights[0], 8, "the weights are gone");
	free(weights);
	unsetenv("NPULAB_DATA");
	cli_remove_folder(folder);
}

/* One that fails keeps neither the table nor the others back; all that failed stand in the one line. */
Test(cli_files, outputs_are_independent)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "run", "digits", "--device", "tpu_v1", "--json", "/dev/full", "--csv",
				      "@/r.csv", "--timeline", "/dev/full", "--output", "@/y.npy");
	cr_assert_eq(r.status, 5, "%s", r.err);
	cr_assert_str_eq(r.err, "npulab: /dev/full: cannot be written: No space left on device; /dev/full: cannot be "
				"written: No space left on device\n");
	cr_assert(cli_says(r.out, "BATCH TIME"), "%s", r.out);
	cr_assert_eq(cli_count_files(folder), 2);
	cli_free(&r);
	static const char *const others[][9] = {
		{"run", "digits", "--device", "tpu_v1", "--output", "/dev/full", "--json", "-"},
		{"roofline", "digits", "--devices", "tpu_v1", "--json", "/dev/full", "--csv", "-"},
		{"validate", "diannao", "--json", "/dev/full"},
		{"dram", "--pattern", "copy", "-n", "9", "--json", "/dev/full"},
	};
	for (size_t i = 0; i < 4; i++) {
		r = cli_run_list(&options, others[i]);
		cr_assert(r.status == 5 && strstr(r.err, "npulab: /dev/full: cannot be written"), "%s", r.err);
		cr_assert(r.out_bytes > 200, "%s printed %s", others[i][0], r.out);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* Starts the program and does not wait for it. */
static pid_t start(const char *folder, int err, const char *const *args)
{
	char program[4096], *argv[CLI_ARGUMENTS] = {0};
	const char *program_path = getenv("NPULAB_BIN");
	cr_assert(realpath(program_path && *program_path ? program_path : "build/npulab", program));
	argv[0] = program;
	for (int n = 0; args[n]; n++)
		argv[n + 1] = cli_expand(args[n], folder);
	fflush(NULL);
	pid_t child = fork();
	cr_assert(child >= 0);
	if (!child) {
		signal(SIGUSR1, SIG_IGN);
		cli_start(program, argv, &(struct cli_run_options){0}, err, err);
	}
	for (int n = 1; argv[n]; n++)
		free(argv[n]);
	return child;
}

/* Waits for a file whose name begins so to appear. */
static bool see_made(int watch, const char *begin, int milliseconds)
{
	char events[4096] __attribute__((aligned(8)));
	for (int waited = 0; waited < milliseconds; waited++) {
		const ssize_t n = read(watch, events, sizeof events);
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const void *)(events + at);
			if (event->len && !strncmp(event->name, begin, strlen(begin)))
				return true;
			at += (ssize_t)(sizeof *event + event->len);
		}
		usleep(1000);
	}
	return false;
}

/* A signal that comes while an output is written: the temporary goes, the output is not there or whole, and the parent
 * sees the signal. One that was ignored stays ignored. */
Test(cli_files, signals_leave_no_temporary)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
	static const char *const args[] = {
		"layer", "gemm",     "-m",      "2048",          "-n",      "2048", "-k", "1", "--devices",
		"null",  "--output", "@/y.npy", "--no-accuracy", "--quiet", NULL};
	char folder[CLI_PATH];
	struct stat status;
	cli_folder(folder);
	for (size_t i = 0; i < 4; i++) {
		int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), ended;
		cr_assert(watch >= 0 && inotify_add_watch(watch, folder, IN_CREATE) >= 0);
		FILE *said = tmpfile();
		pid_t child = start(folder, fileno(said), args);
		const bool seen = see_made(watch, "y.npy.", 60000);
		kill(child, numbers[i]);
		cr_assert_eq(waitpid(child, &ended, 0), child);
		size_t bytes;
		char *text = cli_take(said, &bytes);
		cr_assert(seen, "no temporary was made: %s", text);
		const bool whole = !stat(cli_path(folder, "y.npy"), &status);
		cr_assert_eq(cli_count_files(folder), whole, "%s left a temporary", strsignal(numbers[i]));
		if (WIFSIGNALED(ended))
			cr_assert(WTERMSIG(ended) == numbers[i] && numbers[i] != SIGUSR1);
		else
			cr_assert(WEXITSTATUS(ended) == 0 && whole, "%s", text);
		free(text);
		unlink(cli_path(folder, "y.npy"));
		close(watch);
	}
	cli_remove_folder(folder);
}

/* Says whether the process has mapped the file. */
static bool has_mapped(pid_t child, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
	if (access(path, R_OK))
		return false;
	char *maps = cli_read(path, NULL);
	const bool found = strstr(maps, name);
	free(maps);
	return found;
}

/* Runs the program, cuts or touches the file as soon as it is mapped, and looks for one line that names it and 3. A
 * fast computer may be through before that: false. */
static bool told_of_change(const char *folder, const char *file, bool cut, const char *const *args)
{
	int ended = 0;
	char named[64];
	snprintf(named, sizeof named, "/%s: it was ", file);
	FILE *said = tmpfile();
	pid_t child = start(folder, fileno(said), args), gone = 0;
	while (!has_mapped(child, file) && !(gone = waitpid(child, &ended, WNOHANG)))
		usleep(500);
	if (cut)
		cr_assert_eq(truncate(cli_path(folder, file), 0), 0);
	else
		cr_assert_eq(utimensat(AT_FDCWD, cli_path(folder, file), NULL, 0), 0);
	if (!gone)
		cr_assert_eq(waitpid(child, &ended, 0), child);
	size_t bytes;
	char *text = cli_take(said, &bytes);
	cr_assert(WIFEXITED(ended), "ended by %s: %s", strsignal(WTERMSIG(ended)), text);
	const bool told = WEXITSTATUS(ended) == 3;
	cr_assert(told || !WEXITSTATUS(ended), "%s", text);
	if (told) {
		cr_assert(!strncmp(text, "npulab: ", 8), "%s", text);
		cr_assert(strstr(text, named), "%s", text);
		cr_assert_eq(strchr(text, '\n'), text + strlen(text) - 1, "%s", text);
	}
	free(text);
	return told;
}

Test(cli_files, a_file_cut_off_while_it_is_read)
{
	static const char *const compare[] = {"compare", NET, TPU, NULL}, *const inspect[] = {"inspect", NET, NULL};
	static const char *const *const commands[] = {compare, inspect};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (int i = 0; i < 2; i++) {
		bool told = false;
		for (int attempt = 0; attempt < 5 && !told; attempt++) {
			write_external(folder, 1 << 23);
			told = told_of_change(folder, "w.bin", true, commands[i]);
		}
		cr_assert(told, "no attempt cut the file off in time for %s", commands[i][0]);
	}
	cli_remove_folder(folder);
}

#define ROWS      4194304 /* of 16 floats: 256 MiB, which take no room on the disk */
#define TEXT(x)   #x
#define NUMBER(x) TEXT(x)

/* Writes a .npy or a TensorProto of zeros with the shape ROWS x 16. */
static void write_rows(const char *folder, const char *name, bool npy)
{
	static const char expected[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (" NUMBER(ROWS) ", 16), }";
	const uint64_t elements = (uint64_t)ROWS * 16 * sizeof(float);
	char header[128] = "\x93NUMPY\x01";
	size_t bytes = sizeof header;
	memset(header + 8, ' ', sizeof header - 8);
	header[8] = (char)(sizeof header - 10);
	header[9] = 0;
	memcpy(header + 10, expected, sizeof expected - 1);
	header[sizeof header - 1] = '\n';
	if (!npy) {
		struct onnx_writer t = {0};
		onnx_put_int(&t, 1, ROWS);
		onnx_put_int(&t, 1, 16);
		onnx_put_int(&t, 2, ONNX_FLOAT);
		onnx_put_key(&t, 9, 2); /* raw data: its length and what follows */
		onnx_put_number(&t, elements);
		bytes = t.bytes;
		cr_assert(bytes <= sizeof header);
		memcpy(header, t.data, bytes);
		onnx_writer_free(&t);
	}
	cli_write(folder, name, header, bytes);
	cr_assert_eq(truncate(cli_path(folder, name), (off_t)(bytes + elements)), 0);
}

/* Inputs are copied from their files: one that is cut or written meanwhile is told as a model is. */
Test(cli_files, an_input_changed_while_it_is_read)
{
	static const char *const names[] = {"rows.npy", "rows.pb"};
	char folder[CLI_PATH];
	struct onnx_writer graph = {0};
	cli_folder(folder);
	onnx_put_input(&graph, "x", ONNX_FLOAT, 2, (int64_t[]){ROWS, 16});
	onnx_put_node(&graph, "Relu", "act", "x", "y", NULL);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, "net.onnx", &graph);
	for (int i = 0; i < 4; i++) {
		const char *name = names[i % 2];
		char input[32];
		bool told = false;
		snprintf(input, sizeof input, "@/%s", name);
		const char *const args[] = {"run", NET, "--device", "null", "--input", input, "--quiet", NULL};
		for (int attempt = 0; attempt < 5 && !told; attempt++) {
			write_rows(folder, name, i % 2 == 0);
			told = told_of_change(folder, name, i < 2, args);
		}
		cr_assert(told, "no attempt %s %s in time", i < 2 ? "cut" : "changed", name);
	}
	cli_remove_folder(folder);
}

static pthread_barrier_t together;

static void *read_last(void *file)
{
	const struct npl_file *mapped = file;
	pthread_barrier_wait(&together);
	const volatile char *data = mapped->data;
	return data[mapped->bytes - 1] ? file : NULL;
}

/* Threads that work on a mapped file meet its end, all at once: one line and 3, from whichever. */
Test(cli_files, a_file_cut_off_under_threads)
{
	enum { THREADS = 4 };
	char folder[CLI_PATH], path[CLI_PATH];
	cli_folder(folder);
	cli_write_sparse(folder, "w.bin", 1 << 20);
	snprintf(path, sizeof path, "%s", cli_path(folder, "w.bin"));
	for (int attempt = 0; attempt < 20; attempt++) {
		FILE *said = tmpfile();
		int ended;
		cr_assert_eq(truncate(path, 1 << 20), 0);
		fflush(NULL);
		const pid_t child = fork();
		cr_assert(child >= 0);
		if (!child) {
			pthread_t thread[THREADS];
			struct npl_file file;
			struct npl_err err;
			cli_handle_signals();
			if (dup2(fileno(said), STDERR_FILENO) < 0 || npl_file_map(path, SIZE_MAX, &file, &err) ||
			    truncate(path, 4096) || pthread_barrier_init(&together, NULL, THREADS))
				_exit(100);
			for (int i = 0; i < THREADS; i++)
				if (pthread_create(&thread[i], NULL, read_last, &file))
					_exit(101);
			for (int i = 0; i < THREADS; i++)
				pthread_join(thread[i], NULL);
			_exit(102);
		}
		cr_assert_eq(waitpid(child, &ended, 0), child);
		size_t bytes;
		char *text = cli_take(said, &bytes);
		cr_assert(WIFEXITED(ended) && WEXITSTATUS(ended) == 3, "%d: %s", ended, text);
		cr_assert(!strncmp(text, "npulab: ", 8) && strstr(text, "/w.bin: it was shortened"), "%s", text);
		cr_assert_eq(strchr(text, '\n'), text + strlen(text) - 1, "%s", text);
		free(text);
	}
	cli_remove_folder(folder);
}

/* What is cut off within the last page reads as zeros, and no signal tells. */
Test(cli_files, a_graph_whose_weights_were_cut_within_a_page)
{
	char folder[CLI_PATH], model[CLI_PATH];
	struct npl_graph *graph = NULL;
	struct npl_err err = {0};
	cli_folder(folder);
	write_external(folder, 1 << 10);
	snprintf(model, sizeof model, "%s", cli_path(folder, "net.onnx"));
	cr_assert_eq(npl_graph_load(model, NULL, &graph, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_graph_files_unchanged(graph, &err), 0, "%s", err.msg);
	struct stat status;
	cr_assert_eq(stat(cli_path(folder, "w.bin"), &status), 0);
	cr_assert_eq(truncate(cli_path(folder, "w.bin"), status.st_size - 4), 0);
	const struct npl_value *x = &graph->value[graph->input[0]];
	struct npl_tensor in = {.dtype = x->dtype, .shape = x->shape}, out[8];
	cr_assert_eq(npl_tensor_alloc(&in, &err), 0);
	struct npl_device *device = NULL;
	cr_assert_eq(npl_device_open("reference", NULL, &device, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_graph_run(graph, device, &in, NULL, out, NULL, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "/w.bin: it was changed"), "%s", err.msg);
	npl_device_close(device);
	npl_tensor_free(&in);
	npl_graph_free(graph);
	cli_remove_folder(folder);
}

/* A file that is removed, or another put into its place, leaves what is mapped as it was. */
Test(cli_files, a_graph_whose_weights_were_replaced)
{
	char folder[CLI_PATH], model[CLI_PATH], old[CLI_PATH], new[CLI_PATH];
	struct npl_graph *graph = NULL;
	struct npl_err err = {0};
	cli_folder(folder);
	write_external(folder, 1 << 10);
	snprintf(model, sizeof model, "%s", cli_path(folder, "net.onnx"));
	snprintf(old, sizeof old, "%s", cli_path(folder, "w.bin"));
	snprintf(new, sizeof new, "%s", cli_path(folder, "new.bin"));
	cr_assert_eq(npl_graph_load(model, NULL, &graph, &err), 0, "%s", err.msg);
	FILE *other = fopen(new, "wb");
	cr_assert(other && fputs("other", other) > 0 && !fclose(other));
	cr_assert_eq(rename(new, old), 0);
	cr_assert_eq(npl_graph_files_unchanged(graph, &err), 0, "%s", err.msg);
	cr_assert_eq(unlink(old), 0);
	cr_assert_eq(npl_graph_files_unchanged(graph, &err), 0, "%s", err.msg);
	npl_graph_free(graph);
	cli_remove_folder(folder);
}
