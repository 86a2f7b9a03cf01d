/* SPDX-License-Identifier: MIT
 *
 * Tensor files: what is written is read back bit for bit in every type and rank, the bytes are those NumPy writes,
 * and files that are not exactly what their header says are refused with one line; a failed write leaves nothing. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/file.h"
#include "frontend/import/tensor_file.h"
#include "npulab/graph.h"
#include "npulab/sha256.h"
#include "npulab/tensor_file.h"
#include "tests/kit/onnx_writer.h"
#include "tests/kit/support.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static void make_dir(char *dir, size_t n)
{
	snprintf(dir, n, "/tmp/npl_tensor_XXXXXX");
	cr_assert(mkdtemp(dir));
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = -2; /* "." and ".." */
	cr_assert(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static struct npl_tensor random_tensor(uint64_t *rng)
{
	struct npl_tensor t = {.dtype = (enum npl_dtype)(test_rng(rng) % NPL_DTYPES)};
	struct npl_err err;
	t.shape.rank = (int)(test_rng(rng) % (NPL_MAX_RANK + 1));
	for (int i = 0; i < t.shape.rank; i++)
		t.shape.dim[i] = (int64_t)(test_rng(rng) % 20 ? 1 + test_rng(rng) % 4 : 0);
	cr_assert_eq(npl_tensor_alloc(&t, &err), 0);
	for (size_t i = 0; i < npl_tensor_bytes(&t); i++)
		((unsigned char *)t.data)[i] = (unsigned char)(test_rng(rng) >> 40 & (t.dtype == NPL_BOOL ? 1 : 255));
	return t;
}

/* Both formats give back type, shape and bits. */
Test(tensor_file, both_formats_give_back_type_shape_and_bits)
{
	static const int onnx_type[NPL_DTYPES] = {ONNX_FLOAT,  ONNX_DOUBLE,  ONNX_INT8,    ONNX_UINT8,  ONNX_INT16,
						  ONNX_INT32,  ONNX_INT64,   ONNX_BOOL,    ONNX_UINT16, ONNX_UINT32,
						  ONNX_UINT64, ONNX_FLOAT16, ONNX_BFLOAT16};
	char dir[64], npy[96], pb[96];
	uint64_t rng = 99;
	make_dir(dir, sizeof dir);
	snprintf(npy, sizeof npy, "%s/t.npy", dir);
	snprintf(pb, sizeof pb, "%s/t.pb", dir);
	for (int i = 0; i < 300; i++) {
		struct npl_tensor t = random_tensor(&rng), restored;
		struct npl_err err;
		struct onnx_writer proto = onnx_tensor_of("t", onnx_type[t.dtype], t.shape.rank, t.shape.dim, t.data,
							  npl_tensor_bytes(&t));
		cr_assert_eq(npl_file_write(pb, &(struct npl_file_piece){proto.data, proto.bytes}, 1, &err), 0, "%s",
			     err.msg);
		const bool in_npy = t.dtype != NPL_BF16;
		cr_assert_eq(npl_tensor_save_npy(npy, &t, &err), in_npy ? 0 : NPL_EINPUT, "%s", err.msg);
		for (int k = in_npy ? 0 : 1; k < 2; k++) {
			cr_assert_eq(npl_tensor_load(k ? pb : npy, &restored, &err), 0, "case %d: %s", i, err.msg);
			cr_assert_eq(restored.dtype, t.dtype);
			cr_assert(npl_shape_equal(&restored.shape, &t.shape));
			cr_assert_eq(memcmp(restored.data, t.data, npl_tensor_bytes(&t)), 0);
			cr_assert((uintptr_t)restored.data % 64 == 0 && restored.owned && !restored.name &&
				  restored.quant.scale == 0);
			npl_tensor_free(&restored);
		}
		npl_tensor_free(&t);
		onnx_writer_free(&proto);
	}
	cr_assert_eq(entries(dir), 2); /* no temporary is left */
	unlink(npy);
	unlink(pb);
	rmdir(dir);
}

/* The bytes of numpy.save of array([[1.5, -2], [0, 3]], float32), NumPy 1.24. */
static const char numpy_header[] = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
				   "                                                          \n";

Test(tensor_file, the_bytes_written_are_numpy_s)
{
	static const float values[4] = {1.5f, -2, 0, 3};
	char dir[64], path[96], bytes[512];
	struct npl_tensor t = {.dtype = NPL_F32, .shape = npl_shape_of(2, 2, 2), .data = (void *)values}, restored;
	struct npl_err err;
	struct npl_file file;
	cr_assert_eq(sizeof numpy_header - 1, 128);
	make_dir(dir, sizeof dir);
	snprintf(path, sizeof path, "%s/t.npy", dir);
	cr_assert_eq(npl_tensor_save_npy(path, &t, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_file_map(path, 4096, &file, &err), 0);
	cr_assert_eq(file.bytes, 128 + sizeof values);
	cr_assert_eq(memcmp(file.data, numpy_header, 128), 0);
	cr_assert_eq(memcmp((const char *)file.data + 128, values, sizeof values), 0);
	npl_file_unmap(&file);
	/* version 2.0: a longer length field, keys in another order, double quotes */
	int n = snprintf(bytes + 12, sizeof bytes - 12, "{\"shape\":(4,),\"fortran_order\":True,\"descr\":\"<f4\"}\n");
	memcpy(bytes, numpy_header, 8);
	bytes[6] = 2;
	memcpy(bytes + 8, &(uint32_t){(uint32_t)n}, 4);
	memcpy(bytes + 12 + n, values, sizeof values);
	cr_assert_eq(npl_tensor_load_npy_memory(bytes, 12 + (size_t)n + sizeof values, &restored, &err), 0, "%s",
		     err.msg);
	cr_assert(restored.shape.rank == 1 && !memcmp(restored.data, values, sizeof values));
	npl_tensor_free(&restored);
	unlink(path);
	rmdir(dir);
}

/* A .npy in memory with this header text and so many bytes of data. */
static int load_text(const char *text, size_t data, struct npl_err *err)
{
	struct onnx_writer w = {0};
	struct npl_tensor t;
	char zero[64] = {0};
	uint16_t length = (uint16_t)strlen(text);
	onnx_put_raw(&w, "\x93NUMPY\x01\x00", 8);
	onnx_put_raw(&w, &length, 2);
	onnx_put_raw(&w, text, length);
	onnx_put_raw(&w, zero, data);
	*err = (struct npl_err){0};
	int rc = npl_tensor_load_npy_memory(w.data, w.bytes, &t, err);
	if (!rc)
		npl_tensor_free(&t);
	onnx_writer_free(&w);
	return rc;
}

Test(tensor_file, headers_are_read_as_numpy_reads_them)
{
	static const struct {
		const char *text;
		size_t data;
		const char *expected; /* NULL: accepted */
	} cases[] = {
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4, NULL},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 12, NULL},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 1,), }   \n", 12, NULL},
		{"{'descr': '|b1', 'fortran_order': False, 'shape': (0, 7), }", 0, NULL},
		{"{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }", 12, NULL},
		{"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 1), }", 12, "Fortran order"},
		{"{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }", 12, "'>f4' is not supported"},
		{"{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }", 6, NULL},
		{"{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }", 48, "'<f16' is not supported"},
		{"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", 24, "'|O' is not supported"},
		{"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", 12, "plain element type"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 11,
		 "needs 12 bytes after the header, the file has 11"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 13, "needs 12 bytes"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3), }", 12, "malformed"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", 12, "malformed"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }", 12, "malformed"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (,), }", 12, "malformed"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,", 12, "malformed"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4,
		 "more than 8 dimensions"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 2), }", 4, "is not possible"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 4, "more than 2^63"},
		{"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }", 12, "True or False"},
		{"{'descr': '<f4', 'fortran_order': False}", 12, "malformed"},
		{"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 12, "twice"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", 12, "unknown key 'more'"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x", 12, "malformed"},
		{"{'descr': '<f4' 'fortran_order': False, 'shape': (3,), }", 12, "malformed"},
		{"{'descr': '<f4\\'', 'fortran_order': False, 'shape': (3,), }", 12, "malformed"},
		{"", 12, "malformed"},
		{"{", 12, "malformed"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct npl_err err;
		int rc = load_text(cases[i].text, cases[i].data, &err);
		cr_assert_eq(rc, cases[i].expected ? NPL_EINPUT : 0, "%s: %d %s", cases[i].text, rc, err.msg);
		cr_assert(!rc || strstr(err.msg, cases[i].expected), "%s: %s", cases[i].text, err.msg);
	}
	char bytes[] = "\x93NUMPY\x02\x00\xff\xff\xff\x7f{'descr': ";
	struct npl_tensor t;
	struct npl_err err;
	cr_assert_eq(npl_tensor_load_npy_memory(bytes, sizeof bytes, &t, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "more than the 65536 allowed"), "%s", err.msg);
	bytes[6] = 3;
	cr_assert_eq(npl_tensor_load_npy_memory(bytes, sizeof bytes, &t, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "version 3.0"), "%s", err.msg);
	cr_assert_eq(load_text("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", 1, &err), 0);
}

/* Every proper prefix of either format is refused, read from a copy of exactly that size. */
Test(tensor_file, every_prefix_is_refused)
{
	struct onnx_writer npy = {0}, pb = onnx_tensor_of("t", ONNX_INT16, 2, DIMS(2, 3), "0123456789ab", 12);
	onnx_put_raw(&npy, numpy_header, 128);
	onnx_put_raw(&npy, "0123456789abcdef", 16);
	for (int k = 0; k < 2; k++) {
		const struct onnx_writer *whole = k ? &pb : &npy;
		for (size_t n = 0; n <= whole->bytes; n++) {
			struct npl_tensor t = {0};
			struct npl_err err;
			unsigned char *part = malloc(n ? n : 1);
			cr_assert(part);
			memcpy(part, whole->data, n);
			int rc = k ? npl_tensor_load_pb_memory(part, n, &t, &err)
				   : npl_tensor_load_npy_memory(part, n, &t, &err);
			cr_assert_eq(rc, n == whole->bytes ? 0 : NPL_EINPUT, "prefix %zu: %d", n, rc);
			npl_tensor_free(&t);
			free(part);
		}
	}
	onnx_writer_free(&npy);
	onnx_writer_free(&pb);
}

static void expect_failure(const char *path, const char *expected)
{
	struct npl_tensor t;
	struct npl_err err;
	cr_assert_eq(npl_tensor_load(path, &t, &err), NPL_EINPUT);
	cr_assert(!strncmp(err.msg, path, strlen(path)) && strstr(err.msg, expected), "%s", err.msg);
	cr_assert(!t.data && !t.owned);
}

/* Files that cannot be read or written: one line with the path, the right code, nothing left behind. */
Test(tensor_file, files_that_cannot_be_opened_are_named)
{
	char dir[64], path[96], other[96];
	struct npl_tensor t = {.dtype = NPL_U8, .shape = npl_shape_of(1, 4), .data = (void *)"abcd"};
	struct npl_err err;
	make_dir(dir, sizeof dir);
	snprintf(path, sizeof path, "%s/t.npy", dir);
	expect_failure(path, "No such file");
	expect_failure(dir, "must end in .npy or .pb");
	cr_assert_eq(npl_file_write(path, NULL, 0, &err), 0);
	expect_failure(path, "empty");
	cr_assert_eq(npl_file_write(path, &(struct npl_file_piece){"hello", 5}, 1, &err), 0);
	expect_failure(path, "not a .npy file");
	unlink(path);
	cr_assert_eq(mkdir(path, 0700), 0);
	expect_failure(path, "is a directory");
	cr_assert_eq(npl_tensor_save_npy(path, &t, &err), NPL_EOUTPUT);
	cr_assert(!strncmp(err.msg, path, strlen(path)), "%s", err.msg);
	cr_assert_eq(npl_tensor_save_npy("/dev/full", &t, &err), NPL_EOUTPUT);
	snprintf(other, sizeof other, "%s/none/t.npy", dir);
	cr_assert_eq(npl_tensor_save_npy(other, &t, &err), NPL_EOUTPUT);
	cr_assert_eq(entries(dir), 1);
	rmdir(path);
	rmdir(dir);
}

/* The disk is full half-way (a limit on file sizes stands for it): the old file stays as it was, no temporary is
 * left. */
Test(tensor_file, a_full_disk_leaves_the_old_file)
{
	char dir[64], path[96];
	struct npl_tensor small = {.dtype = NPL_U8, .shape = npl_shape_of(1, 4), .data = (void *)"abcd"}, restored;
	struct npl_tensor large = {.dtype = NPL_F64, .shape = npl_shape_of(1, 100000)};
	struct npl_err err;
	struct rlimit limit = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
	make_dir(dir, sizeof dir);
	snprintf(path, sizeof path, "%s/t.npy", dir);
	cr_assert_eq(npl_tensor_save_npy(path, &small, &err), 0);
	cr_assert_eq(npl_tensor_alloc(&large, &err), 0);
	struct rlimit old;
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	int rc = npl_tensor_save_npy(path, &large, &err);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
	cr_assert_eq(rc, NPL_EOUTPUT);
	cr_assert(strstr(err.msg, strerror(EFBIG)), "%s", err.msg);
	cr_assert_eq(entries(dir), 1);
	cr_assert_eq(npl_tensor_load(path, &restored, &err), 0, "%s", err.msg);
	cr_assert_eq(memcmp(restored.data, "abcd", 4), 0);
	npl_tensor_free(&restored);
	npl_tensor_free(&large);
	unlink(path);
	rmdir(dir);
}

/* FIPS 180-4's examples, in one piece and in many. */
Test(tensor_file, hashes_are_those_of_fips_180_4)
{
	static const char *const cases[][2] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[NPL_SHA256_HEX];
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct npl_sha256 state;
		npl_sha256_hex(cases[i][0], strlen(cases[i][0]), hex);
		cr_assert_str_eq(hex, cases[i][1]);
		npl_sha256_init(&state);
		for (const char *c = cases[i][0]; *c; c++)
			npl_sha256_update(&state, c, 1);
		npl_sha256_final(&state, hex);
		cr_assert_str_eq(hex, cases[i][1]);
	}
}

/* Long texts in pieces of any size give what libmd gives for the whole, whichever instructions did it; a million times
 * "a" is FIPS 180-4's third example. */
Test(tensor_file, sha256_of_pieces_is_that_of_the_whole)
{
	enum { N = 1000000 };
	uint64_t seed = 5;
	char hex[NPL_SHA256_HEX], *text = malloc(N);
	struct npl_sha256 state;
	cr_assert(text);
	memset(text, 'a', N);
	for (int round = 0; round < 20; round++) {
		npl_sha256_init(&state);
		for (size_t at = 0; at < N;) {
			size_t part = (size_t)test_range(&seed, 0, round < 10 ? 2000 : 200000);
			part = part < N - at ? part : N - at;
			npl_sha256_update(&state, text + at, part);
			at += part;
		}
		npl_sha256_final(&state, hex);
		cr_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	}
	for (int i = 0; i < N; i++)
		text[i] = (char)test_rng(&seed);
	for (size_t n = 0; n < 3000; n += 7) { /* one byte at a time never reaches the instructions */
		char whole[NPL_SHA256_HEX];
		npl_sha256_init(&state);
		for (size_t i = 0; i < n; i++)
			npl_sha256_update(&state, text + i, 1);
		npl_sha256_final(&state, hex);
		npl_sha256_hex(text, n, whole);
		cr_assert_str_eq(whole, hex, "%zu bytes", n);
	}
	free(text);
}
