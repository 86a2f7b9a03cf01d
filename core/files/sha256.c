/* SPDX-License-Identifier: MIT
 *
 * The SHA-256 of sha256.h, computed by libmd (linked statically: -l:libmd.a), whole blocks by the processor's
 * instructions where it has them. */
#include "npulab/sha256.h"

#include <sys/types.h>

#include <sha256.h>

#include "sha256_instructions.h"

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct npl_sha256), "struct npl_sha256 must hold libmd's context");
_Static_assert(_Alignof(SHA256_CTX) <= _Alignof(struct npl_sha256), "and be aligned for it");

#define BLOCK     64
#define FEW_BYTES 512 /* too few bytes to check for the processor's instructions */

void npl_sha256_init(struct npl_sha256 *state)
{
	SHA256_Init((SHA256_CTX *)state);
}

void npl_sha256_update(struct npl_sha256 *state, const void *data, size_t bytes)
{
	SHA256_CTX *context = (SHA256_CTX *)state;
	const unsigned char *cursor = data;
	if (bytes >= FEW_BYTES && npl_sha256_has_instructions()) {
		const size_t buffered = (size_t)(context->bitcount[0] / 8 % BLOCK), fill = (BLOCK - buffered) % BLOCK;
		const size_t blocks = (bytes - fill) / BLOCK;
		SHA256_Update(context, cursor, fill); /* now libmd holds no part of a block */
		npl_sha256_blocks(context->state.st32, cursor + fill, blocks);
		context->bitcount[0] += (uint64_t)blocks * BLOCK * 8;
		cursor += fill + blocks * BLOCK;
		bytes -= fill + blocks * BLOCK;
	}
	if (bytes) /* an empty tensor may have no data at all */
		SHA256_Update(context, cursor, bytes);
}

void npl_sha256_final(struct npl_sha256 *state, char hex[NPL_SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char digest[SHA256_DIGEST_LENGTH];
	SHA256_Final(digest, (SHA256_CTX *)state);
	for (size_t i = 0; i < sizeof digest; i++) {
		hex[2 * i] = digits[digest[i] >> 4];
		hex[2 * i + 1] = digits[digest[i] & 15];
	}
	hex[NPL_SHA256_HEX - 1] = '\0';
}

void npl_sha256_hex(const void *data, size_t bytes, char hex[NPL_SHA256_HEX])
{
	struct npl_sha256 state;
	npl_sha256_init(&state);
	npl_sha256_update(&state, data, bytes);
	npl_sha256_final(&state, hex);
}
