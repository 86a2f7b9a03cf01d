/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4) as lower-case hexadecimal text: the identity of model files, machines and outputs. libmd
 * computes it, except whole blocks where the processor has instructions for them. The rest of the library does not see
 * libmd's types. Allocates nothing.
 *
 *     struct npl_sha256 state;
 *     npl_sha256_init(&state);
 *     npl_sha256_update(&state, data, bytes);
 *     npl_sha256_final(&state, hex);
 */
#ifndef NPULAB_SHA256_H
#define NPULAB_SHA256_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_SHA256_HEX 65 /* 64 digits and the NUL */

struct npl_sha256 {
	uint64_t opaque[32]; /* libmd's context; sha256.c asserts that it fits */
};

void npl_sha256_init(struct npl_sha256 *state);
void npl_sha256_update(struct npl_sha256 *state, const void *data, size_t bytes);
void npl_sha256_final(struct npl_sha256 *state, char hex[NPL_SHA256_HEX]);

/* Hashes all data in one call. */
void npl_sha256_hex(const void *data, size_t bytes, char hex[NPL_SHA256_HEX]);

#ifdef __cplusplus
}
#endif

#endif
