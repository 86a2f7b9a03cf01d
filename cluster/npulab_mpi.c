/* SPDX-License-Identifier: MIT
 *
 * npulab-mpi: the same program for a cluster, under `mpirun -n N npulab-mpi sweep ...`. All ranks read the same
 * command. Rank 0 has the plan and the results; the others run the points that it gives them. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/main.h"
#include "npulab/error.h"
#include "ranks.h"

/* What ranks other than 0 have to say, rank 0 says. */
static void be_silent(void)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
}

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	cluster_open();
	if (rank)
		be_silent();
	int status = npl_exit_status(NPL_EUSAGE);
	if (argc > 1 && (!strcmp(argv[1], "sweep") || !strncmp(argv[1], "--", 2)))
		status = cli_main(argc, argv);
	else if (!rank)
		fputs("npulab: npulab-mpi runs sweeps alone: mpirun -n N npulab-mpi sweep ...\n", stderr);
	cluster_close(status);
	MPI_Finalize();
	return rank ? 0 : status; /* mpirun reports the first status that is not 0 as that of the job */
}
