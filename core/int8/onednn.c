/* SPDX-License-Identifier: MIT
 *
 * Calls oneDNN's 8-bit products, and checks that they are exact before they are used (onednn.h). */
#include "onednn.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/random.h"

/* The layout of an operand: rows `leading_dimension` values apart, with k along the rows or across them. */
struct layout {
	char trans;
	int64_t leading_dimension;
};

/* Finds an operand's layout; returns false where it has none. `plain` is the flag for k along the rows. */
static bool layout_of(const struct npl_int8_matrix *x, int64_t vectors, int64_t k, char plain, char transposed,
		      struct layout *layout)
{
	bool is_k_contiguous = x->k_stride == 1 && (x->stride >= k || vectors == 1);
	bool is_vector_contiguous = x->stride == 1 && (x->k_stride >= vectors || k == 1);
	*layout = is_k_contiguous ? (struct layout){plain, vectors == 1 ? k : x->stride}
				  : (struct layout){transposed, k == 1 ? vectors : x->k_stride};
	return is_k_contiguous || is_vector_contiguous;
}

bool npl_int8_onednn_supports(const struct npl_int8_product *p)
{
	struct layout layout;
	return p->b.dtype == NPL_I8 && p->c_stride >= p->n && !npl_int8_may_wrap(p) &&
	       layout_of(&p->a, p->m, p->k, 'N', 'T', &layout) && layout_of(&p->b, p->n, p->k, 'T', 'N', &layout);
}

bool npl_int8_onednn_run(const struct npl_onednn *onednn, const struct npl_int8_product *p)
{
	const int32_t no_offset = 0;
	struct layout a, b;
	int threads = onednn->set_num_threads ? onednn->get_max_threads() : 1, status;
	layout_of(&p->a, p->m, p->k, 'N', 'T', &a);
	layout_of(&p->b, p->n, p->k, 'T', 'N', &b);
	if (threads != 1)
		onednn->set_num_threads(1);
	if (p->a.dtype == NPL_U8)
		status = onednn->gemm_u8s8s32(a.trans, b.trans, 'F', p->m, p->n, p->k, 1, p->a.data,
					      a.leading_dimension, (uint8_t)p->a.zero_point, p->b.data,
					      b.leading_dimension, (int8_t)p->b.zero_point, 0, p->c, p->c_stride,
					      &no_offset);
	else
		status = onednn->gemm_s8s8s32(a.trans, b.trans, 'F', p->m, p->n, p->k, 1, p->a.data,
					      a.leading_dimension, (int8_t)p->a.zero_point, p->b.data,
					      b.leading_dimension, (int8_t)p->b.zero_point, 0, p->c, p->c_stride,
					      &no_offset);
	if (threads != 1)
		onednn->set_num_threads(threads);
	return !status;
}

/* Shapes of the check: smaller and larger than the library's vectors and blocks, odd and even. */
enum { CHECK_M = 33, CHECK_N = 65, CHECK_K = 1101 };
static const int64_t check_shapes[][3] = {
	{1, 1, 4}, {3, 17, 64}, {1, 65, 130}, {CHECK_M, CHECK_N, CHECK_K}, {32, 48, 256}};

struct check {
	uint8_t a[CHECK_M * CHECK_K], b[CHECK_N * CHECK_K];
	int32_t expected[CHECK_M * CHECK_N], c[CHECK_M * CHECK_N];
};

/* Fills an operand. Round 0 has the values whose pairs of products exceed 16 bits first (an i8 in the place of the
 * unsigned operand gets 128 added), round 1 all values of the types. Later rounds have random ones. */
static void fill(uint8_t *bytes, size_t n, uint8_t extreme, int round, struct npl_random *random)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = round == 0   ? extreme
			   : round == 1 ? (uint8_t)(i * 7)
					: (uint8_t)(npl_random_u64(random) >> 56);
}

/* Checks products of one shape. With these zero points the greatest sums are odd and beyond 2^24 (129 * 123 * 1101 =
 * 17,469,567), so that a conversion through float32 gives a wrong result. */
static int check_shape(const struct npl_onednn *onednn, struct check *check, const int64_t *shape, enum npl_dtype dtype,
		       int variant, struct npl_err *err)
{
	uint64_t overflows = 0;
	int32_t za = variant & 1 ? (dtype == NPL_U8 ? 2 : -2) : 0, zb = variant & 1 ? -5 : 0;
	int64_t m = shape[0], n = shape[1], k = shape[2];
	struct npl_int8_product p = {.m = m, .n = n, .k = k, .c = check->expected, .c_stride = n, .kernel = 1};
	p.a = (struct npl_int8_matrix){check->a, dtype, za, variant & 2 ? 1 : k, variant & 2 ? m : 1};
	p.b = (struct npl_int8_matrix){check->b, NPL_I8, zb, variant & 2 ? 1 : k, variant & 2 ? n : 1};
	if (npl_int8_gemm(&p, &overflows, err))
		return err->code;
	p.c = check->c;
	memset(check->c, 0x55, sizeof check->c);
	if (!npl_int8_onednn_run(onednn, &p))
		return npl_fail(err, NPL_EDEVICE, "oneDNN refuses an 8-bit product");
	if (memcmp(check->c, check->expected, (size_t)(m * n) * sizeof *check->c))
		return npl_fail(err, NPL_EDEVICE, "oneDNN's product of %s by int8, %lldx%lldx%lld, is not exact",
				npl_dtype_name(dtype), (long long)m, (long long)n, (long long)k);
	return 0;
}

int npl_int8_onednn_check(const struct npl_onednn *onednn, struct npl_err *err)
{
	const size_t n_shapes = sizeof check_shapes / sizeof *check_shapes;
	int isa = onednn->effective_isa(), rc = 0;
	struct npl_onednn_limit limit;
	npl_onednn_limit(&limit);
	if (!npl_onednn_isa_name(isa))
		return npl_fail(err, NPL_EDEVICE,
				"oneDNN uses %s without VNNI%s%s%s, and its 8-bit products saturate there",
				npl_onednn_vectors(isa), limit.known ? ", as " : "", limit.known ? limit.variable : "",
				limit.known ? " says" : "");
	struct check *check = malloc(sizeof *check);
	if (!check)
		return npl_no_memory(err);
	struct npl_random random = {.state = 1};
	for (int round = 0; round < 3 && !rc; round++)
		for (int dtype = 0; dtype < 2 && !rc; dtype++) {
			enum npl_dtype a = dtype ? NPL_U8 : NPL_I8;
			fill(check->a, sizeof check->a, dtype ? 255 : 127, round, &random);
			fill(check->b, sizeof check->b, 128, round, &random);
			for (size_t s = 0; s < n_shapes && !rc; s++)
				for (int variant = 0; variant < 4 && !rc; variant++)
					rc = check_shape(onednn, check, check_shapes[s], a, variant, err);
		}
	free(check);
	return rc;
}

/* The library that this process has loaded. */
static struct {
	pthread_once_t once;
	atomic_bool usable;
	struct npl_onednn onednn;
	char text[80];
	struct npl_err err;
} loaded = {.once = PTHREAD_ONCE_INIT};

static void load_and_check(void)
{
	if (npl_onednn_load(NPL_ONEDNN_SONAME, &loaded.onednn, &loaded.err) ||
	    npl_int8_onednn_check(&loaded.onednn, &loaded.err))
		return;
	const struct npl_onednn_version *version = loaded.onednn.version();
	snprintf(loaded.text, sizeof loaded.text, "oneDNN %d.%d.%d, %s", version->major, version->minor, version->patch,
		 npl_onednn_isa_name(loaded.onednn.effective_isa()));
	atomic_store_explicit(&loaded.usable, true, memory_order_release);
}

const struct npl_onednn *npl_int8_onednn(const char **reason)
{
	pthread_once(&loaded.once, load_and_check);
	if (reason)
		*reason = loaded.err.msg;
	return npl_int8_onednn_is_loaded() ? &loaded.onednn : NULL;
}

bool npl_int8_onednn_is_loaded(void)
{
	return atomic_load_explicit(&loaded.usable, memory_order_acquire);
}

const char *npl_int8_onednn_text(void)
{
	return loaded.text;
}
