/* SPDX-License-Identifier: MIT
 *
 * npulab, the program for one computer. */
#include "main.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
