/* SPDX-License-Identifier: MIT
 *
 * oneDNN 2's primitives, as far as the cpu device uses them: its convolutions, poolings and LRN. Declarations are our
 * own, so that npulab builds without its headers; names and numbers are those of dnnl_types.h.
 */
#ifndef NPULAB_BACKENDS_CPU_DNN_API_H
#define NPULAB_BACKENDS_CPU_DNN_API_H

#include <stddef.h>
#include <stdint.h>

#include "core/computer/onednn.h"

enum { DNN_MAX_RANK = 12 };
enum { DNN_CPU = 1, DNN_IN_ORDER = 1, DNN_INFERENCE = 96, DNN_UNIMPLEMENTED = 3 };
enum { DNN_F32 = 3, DNN_S32 = 4, DNN_S8 = 5, DNN_U8 = 6 }; /* dnnl_data_type_t */
enum { DNN_ANY = 1 };                                      /* dnnl_format_tag_t */
enum {                                                     /* dnnl_alg_kind_t */
       DNN_CONV_DIRECT = 1,
       DNN_DECONV_DIRECT = 10,
       DNN_RELU = 31,
       DNN_CLIP = 255,
       DNN_POOL_MAX = 511,
       DNN_POOL_AVERAGE_ALL = 767, /* padding counts in the divisor */
       DNN_POOL_AVERAGE = 1023,
       DNN_LRN_ACROSS = 2815,
       DNN_ADD = 131056,
};
enum { DNN_QUERY_NAME = 8, DNN_QUERY_X = 129, DNN_QUERY_W = 131, DNN_QUERY_Y = 133 };
enum { DNN_ARG_X = 1, DNN_ARG_Y = 17, DNN_ARG_W = 33, DNN_ARG_BIAS = 41 }; /* a reorder has X and Y */
enum { DNN_ARG_FIRST_ADDEND = 16384 | 2 }; /* the addend of an addition directly after the operator */

/* Descriptors that the library fills, passed by value; the sizes here exceed those of every oneDNN 2. */
struct dnn_md {
	_Alignas(8) unsigned char opaque[1024];
};
struct dnn_op_desc {
	_Alignas(8) unsigned char opaque[8192];
};
struct dnn_argument {
	int kind;
	void *memory;
};

#define DNN_ENGINE               void *
#define DNN_ENGINE_KIND          int
#define DNN_STREAM               void *
#define DNN_MD                   struct dnn_md
#define DNN_DIM                  int64_t
#define DNN_DIMS                 int64_t *
#define DNN_TYPE                 int
#define DNN_TAG                  int
#define DNN_MEMORY               void *
#define DNN_POST_OPS             void *
#define DNN_CONST_POST_OPS       const void *
#define DNN_ALGORITHM            int
#define DNN_ATTR                 void *
#define DNN_CONST_ATTR           const void *
#define DNN_PROP_KIND            int
#define DNN_CONV_DESC            struct dnn_op_desc
#define DNN_POOL_DESC            struct dnn_op_desc
#define DNN_LRN_DESC             struct dnn_op_desc
#define DNN_CONST_OP_DESC        const void *
#define DNN_PRIMITIVE_DESC       void *
#define DNN_CONST_PRIMITIVE_DESC const void *
#define DNN_PRIMITIVE            void *
#define DNN_CONST_PRIMITIVE      const void *
#define DNN_QUERY                int
#define DNN_ARGUMENT             struct dnn_argument

struct dnn_api {
	struct npl_onednn library;
#define DNN_FUNCTION(name, arguments) int(*name) arguments;
#include "dnn_functions.def"
#undef DNN_FUNCTION
	size_t (*memory_desc_get_size)(const DNN_MD *md); /* the only function without a status */
};

/* Loads the functions. NPL_EDEVICE with the reason. */
int dnn_api_load(const char *soname, struct dnn_api *api, struct npl_err *err);

#endif
