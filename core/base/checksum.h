/* SPDX-License-Identifier: MIT
 *
 * XXH64 with the seed 0: checksums that tell whether bytes have changed. Files and machines have SHA-256
 * (npulab/sha256.h) instead, as that cannot be forged. libxxhash computes it. */
#ifndef NPULAB_CORE_BASE_CHECKSUM_H
#define NPULAB_CORE_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct npl_checksum {
	XXH64_state_t state;
};

static inline uint64_t npl_checksum(const void *data, size_t bytes)
{
	return XXH64(data, bytes, 0);
}

static inline void npl_checksum_init(struct npl_checksum *sum)
{
	XXH64_reset(&sum->state, 0);
}
static inline void npl_checksum_add(struct npl_checksum *sum, const void *data, size_t bytes)
{
	XXH64_update(&sum->state, data, bytes);
}
static inline uint64_t npl_checksum_of(const struct npl_checksum *sum)
{
	return XXH64_digest(&sum->state);
}

#endif
