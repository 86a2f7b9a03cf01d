/* SPDX-License-Identifier: MIT
 *
 * Whole files, for the readers of models, tensors and machine descriptions: a regular file mapped read-only,
 * refused with one clear line when it is missing, a directory, a device, empty or larger than the caller allows.
 *
 *     struct npl_file file;
 *     if (npl_file_map("net.onnx", 2u << 30, &file, &err)) ...
 *     parse(file.data, file.bytes);
 *     npl_file_unmap(&file);
 *
 * The mapping is private, but a file that another program shortens meanwhile faults on access (SIGBUS), as with any
 * mapping; copies of it would cost a large model its load time. A graph keeps its model and the files of its weights
 * mapped until npl_graph_free. The library installs no signal handler: a program that wants to end with a message
 * instead installs one for SIGBUS and asks there, with npl_file_at, which file it was (cli/signals.c is an example).
 */
#ifndef NPULAB_CORE_FILES_FILE_H
#define NPULAB_CORE_FILES_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_mapping;

struct npl_file {
	const void *data;            /* page-aligned, read-only */
	size_t bytes;                /* > 0 */
	struct npl_mapping *mapping; /* the library's own note of it */
};

/* Maps a file. Returns NPL_EINPUT, with the path in the message, when it cannot be opened, is not a regular file, is
 * empty or has more than max_bytes; NPL_EUSAGE when it is a declared output. */
int npl_file_map(const char *path, size_t max_bytes, struct npl_file *file, struct npl_err *err);
/* Maps a file that another file names. `location` is relative to the folder and must stay inside it, also through links
 * (a link to a file of the folder is followed); otherwise it returns NPL_EINPUT. */
int npl_file_map_beneath(const char *folder, const char *location, size_t max_bytes, struct npl_file *file,
			 struct npl_err *err);
void npl_file_unmap(struct npl_file *file); /* accepts a zeroed one; leaves it zeroed */
/* Returns NPL_EINPUT, with the path, when the mapped file was written or cut meanwhile, so that the bytes read may
 * belong to two versions. A file cut within its last page reads as zeros there, without a fault. The mapping of a file
 * that was removed, or replaced by another, is unchanged. */
int npl_file_unchanged(const struct npl_file *file, struct npl_err *err);
/* For readers that do not map: notes that the open file fd, which messages call path, is read. Returns NPL_EUSAGE when
 * it is a declared output, and NPL_EINPUT when it cannot be examined. */
int npl_file_reads(int fd, const char *path, struct npl_err *err);
/* Returns the path, as printable text, of the mapped file that contains the address; NULL: none does. May be called in
 * a signal handler. The text is valid until the file is unmapped. */
const char *npl_file_at(const void *address);

/* Writes a whole document over path, the pieces one after the other. Returns NPL_EOUTPUT when it cannot be written.
 *
 * A regular file is replaced whole or not at all where possible: the document goes to a temporary in the same folder,
 * which is then renamed. The file that was there keeps its permissions, except the bits setuid and setgid, and its
 * owner and group where that is permitted. Its other names (hard links) keep the old document. Where the folder takes
 * no new file or the file cannot be replaced (one that is mounted by itself), and for FIFOs and character devices, the
 * document is written in place. Room for it is reserved first where the file system can do that, so that a full disk
 * leaves the file as it was; elsewhere a part of the document may be left in it. Links are followed; the target of a
 * link is made where it does not exist. */
struct npl_file_piece {
	const void *data;
	size_t bytes;
};
int npl_file_write(const char *path, const struct npl_file_piece *piece, int n_pieces, struct npl_err *err);

/* Tells the library, before anything is read, that npl_file_write will write path (as it is spelled here). From then on
 * reading the file that path leads to, under whatever name, is refused with NPL_EUSAGE, so that no run overwrites what
 * it reads; npl_file_write after such a refusal is refused too. npl_file_write writes where path leads now, even if
 * links change meanwhile. NPL_EUSAGE: another declared output is the same file. NPL_EOUTPUT: path cannot be written (no
 * such folder, a directory, no permission). At most 16 at a time. Threads may declare, read and write at the same
 * time. */
int npl_file_declare_output(const char *path, struct npl_err *err);
/* Refuses, like npl_file_declare_output, an output whose name is known only after the run. Files that were read since
 * an output was declared, or npl_file_note_reads was called, are refused too. Declares nothing. */
int npl_file_check_output(const char *path, struct npl_err *err);
/* Notes from now on which files are read, until the outputs are forgotten. */
void npl_file_note_reads(void);
/* Says whether a declared output was to be read, which was refused with NPL_EUSAGE. */
bool npl_file_output_was_read(void);
void npl_file_forget_outputs(void);

/* Removes the temporaries of documents that are being written, in all threads. May be called in a signal handler, and
 * is meant for one that ends the program. */
void npl_file_remove_temporaries(void);

#ifdef __cplusplus
}
#endif

#endif
