/* SPDX-License-Identifier: MIT
 *
 * Names of processes (owner.h), from what Linux says of them below /proc. */
#include "owner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the first line of a file; an empty text where there is none. */
static void read_line(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "re");
	*text = '\0';
	if (file && fgets(text, (int)bytes, file))
		text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* Writes the computer since its last start, and the space of its process numbers. */
static void write_space(char *text, size_t bytes)
{
	char boot[40], space[40];
	read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	const ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);
	space[n > 0 ? n : 0] = '\0';
	snprintf(text, bytes, "%s/%s", boot, space);
}

/* Returns when a process began, in ticks since the computer started; 0: there is no such process, or it has ended and
 * only its parent does not know yet. */
static unsigned long long start_of(long process)
{
	char path[40], line[1024];
	unsigned long long ticks = 0;
	snprintf(path, sizeof path, "/proc/%ld/stat", process);
	read_line(path, line, sizeof line);
	/* The name of the program, in brackets, may hold anything. Field 22 is the 20th behind it. */
	const char *c = strrchr(line, ')');
	if (c && c[1] == ' ' && c[2] == 'Z')
		return 0;
	for (int field = 2; c && field < 22; field++)
		c = strchr(c + 1, ' ');
	if (c)
		ticks = strtoull(c + 1, NULL, 10);
	return ticks;
}

void sweep_owner_of_this(char name[SWEEP_OWNER_TEXT])
{
	char space[100];
	write_space(space, sizeof space);
	snprintf(name, SWEEP_OWNER_TEXT, "%s/%ld/%llu", space, (long)getpid(), start_of(getpid()));
}

bool sweep_owner_has_ended(const char *name, double seconds)
{
	char space[100], *end;
	write_space(space, sizeof space);
	const size_t length = strlen(space);
	if (strncmp(name, space, length) != 0 || name[length] != '/')
		return fabs(seconds) > SWEEP_OWNER_SECONDS; /* before or, by a wrong clock, after now */
	const long process = strtol(name + length + 1, &end, 10);
	return *end != '/' || start_of(process) != strtoull(end + 1, NULL, 10);
}
