/* SPDX-License-Identifier: MIT
 *
 * Private: SHA-256's compression by the processor's own instructions, where it has them. */
#ifndef NPULAB_CORE_FILES_SHA256_INSTRUCTIONS_H
#define NPULAB_CORE_FILES_SHA256_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool npl_sha256_has_instructions(void);
/* Hashes `blocks` blocks of 64 bytes into the state. Call it only where npl_sha256_has_instructions(). */
void npl_sha256_blocks(uint32_t state[8], const unsigned char *data, size_t blocks);

#endif
