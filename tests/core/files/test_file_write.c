/* SPDX-License-Identifier: MIT
 *
 * What core/files/file.h promises of files that are written: whole or not at all, what is kept of the old one, what is
 * written in place, which outputs are refused, and that the library knows its temporaries and what it has mapped. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>

#include "core/files/file_impl.h"
#include "tests/kit/cli_run.h"

#define NOBODY 65534

static struct npl_err err;
static char folder[CLI_PATH];

static void open_folder(void)
{
	cli_folder(folder);
}

static void close_folder(void)
{
	npl_file_forget_outputs();
	cli_remove_folder(folder);
}

TestSuite(file_write, .init = open_folder, .fini = close_folder);

static int put(const char *path, const char *text)
{
	const struct npl_file_piece piece[] = {{text, strlen(text) / 2},
					       {text + strlen(text) / 2, strlen(text) - strlen(text) / 2}};
	err = (struct npl_err){0};
	return npl_file_write(path, piece, 2, &err);
}

static bool has_text(const char *path, const char *text)
{
	char *contents = cli_read(path, NULL);
	const bool same = !strcmp(contents, text);
	free(contents);
	return same;
}

static void expect_text(const char *path, const char *text)
{
	cr_assert(has_text(path, text), "%s is not '%s'", path, text);
}

/* Runs in a child, as nobody where the tests run as root, whom no permission stops. */
static void as_nobody(void (*body)(void))
{
	int status;
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		if (!geteuid() && (setgid(NOBODY) || setuid(NOBODY)))
			_exit(1);
		body();
		_exit(0);
	}
	cr_assert(child > 0 && waitpid(child, &status, 0) == child);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "%s", err.msg);
}

/* In a child the assertions of Criterion are not heard. */
#define MUST(what)                                                                                                     \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, err.msg);                        \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

Test(file_write, keeps_permissions)
{
	static const struct {
		mode_t before, after;
	} cases[] = {{0600, 0600}, {0640, 0640},  {0666, 0666}, {0755, 0755},
		     {0444, 0444}, {04755, 0755}, {02770, 0770}};
	const char *path = cli_path(folder, "kept");
	umask(022);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct stat status;
		unlink(path);
		cli_write_text(folder, "kept", "old");
		cr_assert_eq(chmod(path, cases[i].before), 0);
		if (geteuid() && !(cases[i].before & 0200)) {
			cr_assert_eq(put(path, "new"), NPL_EOUTPUT, "a file that may not be written is kept");
			expect_text(path, "old");
			continue;
		}
		if (!geteuid())
			cr_assert_eq(chown(path, 12, 34) || chmod(path, cases[i].before), 0);
		cr_assert_eq(put(path, "a new document"), 0, "%s", err.msg);
		expect_text(path, "a new document");
		cr_assert_eq(stat(path, &status), 0);
		cr_assert_eq(status.st_mode & 07777, cases[i].after, "%o became %o", cases[i].before,
			     status.st_mode & 07777);
		cr_assert(geteuid() || (status.st_uid == 12 && status.st_gid == 34), "the owner is another");
	}
	struct stat status;
	cr_assert_eq(put(cli_path(folder, "fresh"), "x"), 0);
	cr_assert(!stat(cli_path(folder, "fresh"), &status) && (status.st_mode & 07777) == 0644);
	cr_assert_eq(cli_count_files(folder), 2);
}

Test(file_write, links_stay_and_their_targets_are_written)
{
	cli_write_text(folder, "file", "old");
	cr_assert_eq(link(cli_path(folder, "file"), cli_path(folder, "other")), 0);
	cr_assert_eq(symlink("file", cli_path(folder, "to_file")), 0);
	cr_assert_eq(mkdir(cli_path(folder, "sub"), 0777), 0);
	cr_assert_eq(symlink("sub/made", cli_path(folder, "to_nothing")), 0);
	cr_assert_eq(symlink("to_nothing", cli_path(folder, "to_link")), 0);
	cr_assert_eq(symlink("round", cli_path(folder, "round")), 0);
	cr_assert_eq(symlink("none/x", cli_path(folder, "nowhere")), 0);
	cr_assert_eq(put(cli_path(folder, "to_file"), "new"), 0, "%s", err.msg);
	expect_text(cli_path(folder, "file"), "new");
	expect_text(cli_path(folder, "other"), "old");
	cr_assert_eq(put(cli_path(folder, "to_link"), "made"), 0, "%s", err.msg);
	expect_text(cli_path(folder, "sub/made"), "made");
	struct stat status;
	for (int i = 0; i < 3; i++)
		cr_assert(
			!lstat(cli_path(folder, ((const char *[]){"to_file", "to_nothing", "to_link"})[i]), &status) &&
			S_ISLNK(status.st_mode));
	cr_assert_eq(put(cli_path(folder, "round"), "x"), NPL_EOUTPUT);
	cr_assert_eq(put(cli_path(folder, "nowhere"), "x"), NPL_EOUTPUT);
	cr_assert_eq(put(folder, "x"), NPL_EOUTPUT);
	cr_assert(strstr(err.msg, "it is a directory"), "%s", err.msg);
	cr_assert(cli_count_files(folder) == 8 && cli_count_files(cli_path(folder, "sub")) == 1);
}

/* Names that a longer one for the temporary has no room beside. */
Test(file_write, the_longest_names_can_be_written)
{
	char name[257];
	for (int length = 200; length <= 255; length++) {
		memset(name, 'n', sizeof name);
		name[length] = '\0';
		const char *path = cli_path(folder, name);
		cr_assert_eq(put(path, "x") || put(path, "long"), 0, "%d: %s", length, err.msg);
		expect_text(path, "long");
		cr_assert(cli_count_files(folder) == 1 && !unlink(path));
	}
	memset(name, 'n', sizeof name);
	name[256] = '\0';
	cr_assert_eq(npl_file_declare_output(cli_path(folder, name), &err), NPL_EOUTPUT);
}

static void write_into_a_closed_folder(void)
{
	const char *path = cli_path(folder, "closed/open");
	MUST(!put(path, "longer than what was there"));
	MUST(has_text(path, "longer than what was there"));
	MUST(!put(path, "new"));
	MUST(has_text(path, "new"));
	MUST(put(cli_path(folder, "closed/none"), "x") == NPL_EOUTPUT);
	MUST(put(cli_path(folder, "closed/shut"), "x") == NPL_EOUTPUT && strstr(err.msg, "Permission denied"));
	/* a disk that is full is found before anything is lost */
	const struct rlimit limit = {.rlim_cur = 8, .rlim_max = 8};
	signal(SIGXFSZ, SIG_IGN);
	MUST(!setrlimit(RLIMIT_FSIZE, &limit));
	MUST(put(path, "longer than eight bytes") == NPL_EOUTPUT);
	MUST(has_text(path, "new"));
	MUST(!put(path, "eight..."));
	MUST(has_text(path, "eight..."));
}

/* A file that may be written in a folder that takes no other. */
Test(file_write, in_place_in_a_closed_folder)
{
	cr_assert_eq(mkdir(cli_path(folder, "closed"), 0777) || chmod(folder, 0755), 0);
	cli_write_text(folder, "closed/open", "old");
	cli_write_text(folder, "closed/shut", "old");
	cr_assert_eq(chmod(cli_path(folder, "closed/open"), 0666) || chmod(cli_path(folder, "closed/shut"), 0444) ||
			     chmod(cli_path(folder, "closed"), 0555),
		     0);
	as_nobody(write_into_a_closed_folder);
	cr_assert_eq(chmod(cli_path(folder, "closed"), 0755), 0);
	expect_text(cli_path(folder, "closed/shut"), "old");
	cr_assert_eq(cli_count_files(cli_path(folder, "closed")), 2);
}

/* A file that is mounted by itself, as containers do it, cannot be replaced. */
Test(file_write, in_place_when_mounted)
{
	cli_write_text(folder, "a", "old");
	cli_write_text(folder, "b", "");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(cli_path(folder, "a"), cli_path(folder, "b"), NULL, MS_BIND, NULL))
		cr_skip("may not mount");
	const int rc = npl_file_declare_output(cli_path(folder, "b"), &err) || put(cli_path(folder, "b"), "new");
	umount(cli_path(folder, "b"));
	cr_assert(!rc, "%s", err.msg);
	expect_text(cli_path(folder, "a"), "new");
	expect_text(cli_path(folder, "b"), "");
	cr_assert_eq(cli_count_files(folder), 2);
}

static void *read_fifo(void *path)
{
	return cli_read(path, NULL);
}

static void *read_a_little(void *path)
{
	char some[8];
	const int fd = open(path, O_RDONLY);
	const bool good = fd >= 0 && read(fd, some, sizeof some) > 0 && !close(fd);
	return good ? path : NULL;
}

Test(file_write, fifos_and_devices_are_written_in_place)
{
	char path[CLI_PATH + 8];
	void *text;
	pthread_t reader;
	snprintf(path, sizeof path, "%s/fifo", folder);
	cr_assert_eq(mkfifo(path, 0666), 0);
	cr_assert_eq(npl_file_declare_output(path, &err), 0, "%s", err.msg);
	cr_assert_eq(pthread_create(&reader, NULL, read_fifo, path), 0);
	cr_assert_eq(put(path, "through the pipe"), 0, "%s", err.msg);
	cr_assert_eq(pthread_join(reader, &text), 0);
	cr_assert_str_eq(text, "through the pipe");
	free(text);
	/* a reader that goes away is an error, and not the end of the program */
	char *much = malloc(1 << 20);
	cr_assert(much);
	memset(much, 'x', (1 << 20) - 1);
	much[(1 << 20) - 1] = '\0';
	cr_assert_eq(pthread_create(&reader, NULL, read_a_little, path), 0);
	cr_assert_eq(put(path, much), NPL_EOUTPUT);
	cr_assert(strstr(err.msg, "Broken pipe"), "%s", err.msg);
	cr_assert_eq(pthread_join(reader, &text), 0);
	cr_assert(text, "the FIFO was not read");
	free(much);
	cr_assert_eq(put("/dev/null", "x"), 0, "%s", err.msg);
	cr_assert_eq(put("/dev/full", "x"), NPL_EOUTPUT);
	cr_assert_eq(npl_file_declare_output("/dev/null", &err) || npl_file_declare_output("/dev/null", &err), 0);
	cr_assert_eq(cli_count_files(folder), 1);
}

/* A declared output cannot be read under any name, nor declared again, and what was asked for is not written. */
Test(file_write, declared_outputs_are_not_read)
{
	struct npl_file file;
	cli_write_text(folder, "out", "old");
	cli_write_text(folder, "in", "text");
	cr_assert_eq(link(cli_path(folder, "out"), cli_path(folder, "hard")), 0);
	cr_assert_eq(symlink("hard", cli_path(folder, "soft")), 0);
	const char *declared = cli_path(folder, "out");
	cr_assert_eq(npl_file_declare_output(declared, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_file_declare_output(cli_path(folder, "./new"), &err), 0, "%s", err.msg);
	static const char *const same[] = {"out", "hard", "soft", "./out", "new"};
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(npl_file_declare_output(cli_path(folder, same[i]), &err), NPL_EUSAGE);
		cr_assert(strstr(err.msg, "is named for two outputs"), "%s", err.msg);
	}
	cr_assert_eq(npl_file_map(cli_path(folder, "in"), 100, &file, &err), 0, "%s", err.msg);
	npl_file_unmap(&file);
	cr_assert_eq(put(declared, "before it is asked for"), 0, "%s", err.msg);
	npl_file_forget_outputs();
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(npl_file_declare_output(declared, &err), 0);
		cr_assert_eq(npl_file_map(declared, 100, &file, &err), NPL_EUSAGE);
		cr_assert(strstr(err.msg, "is read by this run and would be overwritten"), "%s", err.msg);
		if (i == 1)
			cr_assert_eq(npl_file_map_beneath(folder, "out", 100, &file, &err), NPL_EUSAGE);
		if (i == 2) {
			int fd = open(declared, O_RDONLY);
			cr_assert_eq(npl_file_reads(fd, "trace", &err), NPL_EUSAGE);
			close(fd);
		}
		cr_assert_eq(put(declared, "x"), NPL_EUSAGE, "what was asked for is written");
		npl_file_forget_outputs();
		expect_text(declared, "before it is asked for");
	}
	cr_assert_eq(npl_file_map(declared, 100, &file, &err), 0, "forgotten outputs may be read");
	npl_file_unmap(&file);
	for (int i = 0; i < 16; i++) {
		char name[16];
		snprintf(name, sizeof name, "many%d", i);
		cr_assert_eq(npl_file_declare_output(cli_path(folder, name), &err), 0);
	}
	cr_assert_eq(npl_file_declare_output(cli_path(folder, "many"), &err), NPL_EUSAGE);
}

/* Links that change while the program is at work lead no output over something else. */
Test(file_write, goes_where_it_led)
{
	cli_write_text(folder, "first", "1");
	cli_write_text(folder, "second", "2");
	cr_assert_eq(symlink("first", cli_path(folder, "link")), 0);
	const char *path = cli_path(folder, "link");
	cr_assert_eq(npl_file_declare_output(path, &err), 0);
	cr_assert_eq(unlink(path) || symlink("second", path), 0);
	cr_assert_eq(put(path, "new"), 0, "%s", err.msg);
	expect_text(cli_path(folder, "first"), "new");
	expect_text(cli_path(folder, "second"), "2");
}

static void standard_output_is_refused(void)
{
	MUST(freopen(cli_path(folder, "printed"), "w", stdout));
	MUST(npl_file_declare_output(cli_path(folder, "printed"), &err) == NPL_EUSAGE);
	MUST(npl_file_declare_output("/dev/stdout", &err) == NPL_EUSAGE);
	MUST(strstr(err.msg, "where standard output"));
}

Test(file_write, standard_output_by_its_name)
{
	cr_assert_eq(chmod(folder, 0777), 0);
	as_nobody(standard_output_is_refused);
}

Test(file_write, knows_what_is_mapped)
{
	enum { FILES = 50 };
	struct npl_file file[FILES];
	char name[32];
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < FILES; i++) {
			snprintf(name, sizeof name, "f%d\n", i);
			cli_write_text(folder, name, "0123456789");
			cr_assert_eq(npl_file_map(cli_path(folder, name), 100, &file[i], &err), 0, "%s", err.msg);
		}
		for (int i = 0; i < FILES; i++) {
			snprintf(name, sizeof name, "f%d?", i);
			cr_assert_str_eq(npl_file_at((const char *)file[i].data + round), cli_path(folder, name));
			cr_assert_str_eq(npl_file_at((const char *)file[i].data + 4095), cli_path(folder, name));
		}
		for (int i = round % 2; i < FILES; i += 2) {
			const void *data = file[i].data;
			npl_file_unmap(&file[i]);
			cr_assert(!npl_file_at(data));
		}
		for (int i = 0; i < FILES; i++)
			cr_assert(!file[i].data || npl_file_at(file[i].data));
		for (int i = 0; i < FILES; i++)
			npl_file_unmap(&file[i]);
	}
	cr_assert(!npl_file_at(&err) && !npl_file_at(NULL));
}

/* More at a time than the table of names holds: those beyond it are files like the others, which only nobody
 * removes. */
Test(file_write, removes_temporaries)
{
	struct npl_temporary temporary[20];
	for (int i = 0; i < 20; i++) {
		temporary[i] = npl_temporary_open(cli_path(folder, "y.npy"), 0600);
		cr_assert(temporary[i].fd >= 0);
	}
	cr_assert_eq(cli_count_files(folder), 20);
	npl_temporary_close(&temporary[3], false);
	cr_assert_eq(rename(temporary[4].path, cli_path(folder, "kept")), 0);
	npl_temporary_close(&temporary[4], true);
	cr_assert_eq(cli_count_files(folder), 19);
	npl_file_remove_temporaries();
	cr_assert_eq(cli_count_files(folder), 5);
	for (int i = 0; i < 20; i++)
		npl_temporary_close(&temporary[i], false);
	cr_assert_eq(cli_count_files(folder), 1);
	expect_text(cli_path(folder, "kept"), "");
}

static void *write_again_and_again(void *path)
{
	struct npl_err failure;
	const struct npl_file_piece piece = {"document", 8};
	for (int i = 0; i < 200; i++)
		if (npl_file_write(path, &piece, 1, &failure))
			return path;
	return NULL;
}

Test(file_write, threads_may_write_the_same_file)
{
	enum { THREADS = 24 };
	pthread_t thread[THREADS];
	char path[THREADS][CLI_PATH + 16];
	void *failed;
	for (int i = 0; i < THREADS; i++) {
		snprintf(path[i], sizeof path[i], "%s/%d", folder, i / 2);
		cr_assert_eq(pthread_create(&thread[i], NULL, write_again_and_again, path[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_join(thread[i], &failed), 0);
		cr_assert(!failed, "%s", (char *)failed);
	}
	cr_assert_eq(cli_count_files(folder), THREADS / 2);
	expect_text(path[0], "document");
}
