/* SPDX-License-Identifier: MIT
 *
 * How the program ends by a signal (signals.h). Handlers run in any thread, and call only functions that POSIX allows
 * there. */
#include "signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "core/files/file.h"

/* Ends the program by the signal. The handler was reset when it was entered: the signal that is raised here arrives
 * when it returns, with its default action, so that the parent process sees which signal ended the program. */
static void end_by(int number)
{
	npl_file_remove_temporaries();
	raise(number);
}

static void write_stderr(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* there is no standard error to write to */
}

/* Handles SIGBUS. A missing page of a mapped file means that the file was shortened, or that its disk has failed. Any
 * other bad access is a fault of npulab and ends as without a handler: it happens again when this one returns. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	static atomic_flag already_ending = ATOMIC_FLAG_INIT;
	const char *path = info->si_code > 0 ? npl_file_at(info->si_addr) : NULL;
	(void)context;
	if (!path) {
		npl_file_remove_temporaries();
		signal(number, SIG_DFL);
		if (info->si_code <= 0) /* a process sent it: the access will not happen again */
			raise(number);
		return;
	}
	while (atomic_flag_test_and_set(&already_ending))
		pause(); /* another thread with the same signal is ending the program */
	npl_file_remove_temporaries();
	write_stderr("npulab: ");
	write_stderr(path);
	write_stderr(
		": it was shortened, or could not be read any more, while it was in use; expected a file that stays "
		"as it is\n");
	_exit(npl_exit_status(NPL_EINPUT));
}

void cli_handle_signals(void)
{
	static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
	struct sigaction action = {.sa_handler = end_by, .sa_flags = (int)SA_RESETHAND}, previous;
	struct sigaction bus = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
	sigemptyset(&action.sa_mask);
	sigemptyset(&bus.sa_mask);
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
		if (!sigaction(ending[i], NULL, &previous) && previous.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
	sigaction(SIGBUS, &bus, NULL);
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is then an output that could not be written */
}
