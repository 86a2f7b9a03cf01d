/* SPDX-License-Identifier: MIT
 *
 * The inside of the code generator. Layers become nodes, each one step of a unit; nodes become groups, each one pass
 * from the buffer or the array through the activation unit; what groups read and write are values:
 *
 *     value       a tensor as a node sees it: format, image, and pieces of stores side by side (Concat and Slice move
 *                 nothing)
 *     store       what one group writes, or what is given
 *     allocation  rows of the unified buffer for one store, or for several that are read as one (inputs of a Concat)
 *     extent      channels of a value that lie side by side in rows of one allocation: at most a row wide
 *
 * Everything lives in an arena until the program is done. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_GENERATE_IMPL_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_GENERATE_IMPL_H

#include "generate.h"

#include "core/base/arith.h"

#define TPU_GEN_MOST_TILES 65535 /* of one read_weights */
#define TPU_GEN_MOST_SIZE  65535 /* of a window register: sizes, strides, kernels */

enum tpu_gen_kind { TPU_GEN_MATRIX, TPU_GEN_SCALE, TPU_GEN_ADD, TPU_GEN_MULTIPLY, TPU_GEN_FUNCTION, TPU_GEN_POOL };

struct tpu_gen_piece {
	int store;               /* -1: a piece of another value, one of many pieces */
	int value;               /* that value */
	int64_t at;              /* its first channel in the value that has the piece */
	int64_t first, channels; /* of the store, or the other value */
};

struct tpu_gen_value {
	const struct npl_tensor *tensor; /* NULL: between two nodes of one layer */
	enum tpu_type type;
	float scale;
	int32_t zero_point;
	struct npl_image image;      /* as it is kept */
	bool flat;                   /* seen as (images, channels * height * width) */
	bool wanted, read, computed; /* computed: by a layer, not given */
	bool nested; /* some pieces are of other values: no node reads it and nobody wants it as it is */
	int n_pieces;
	struct tpu_gen_piece *piece;
};

struct tpu_gen_store {
	enum tpu_type type;
	struct npl_image image;
	int uses;    /* inputs of nodes that read it */
	int maker;   /* group; -1: given */
	int first;   /* group that reads it first; -1: none */
	bool absent; /* passes from node to node inside a group */
	bool wanted;
	int activation_operand; /* the value by which the activation unit reads it; -1: none, -2: several */
	bool resident;          /* given, and in the buffer from before */
	bool staged_in_parts,
		staged_in_strips; /* at home in host memory: comes here for a part of the batch, or in strips */
	int allocation;
	int64_t lane; /* of its first channel in its allocation, counted over the allocation's blocks */
	int64_t host_address;
};

struct tpu_gen_allocation {
	int planes;
	int64_t images, height, width, lanes;         /* lanes: channels of all that lie in it */
	int64_t first_image, first_row, first_column; /* of the image that is in it: more than 0 for strips */
	bool all_images;                              /* holds all images, though groups do the batch in parts */
	int segment; /* first group of the only segment in parts that uses it; -1: none, or whole */
	int64_t pixel_lanes, row_pixels;
	int64_t plane_rows, rows;
	int64_t base;
	int first, last; /* groups */
};

struct tpu_gen_extent {
	int64_t first, channels; /* of the value */
	int store, allocation;
	int64_t block, lane;
};

struct tpu_gen_node {
	enum tpu_gen_kind kind;
	int layer;
	int in[2], out; /* values */
	bool copy;      /* matrix by a unit matrix: moves channels to other lanes */
	int64_t groups;
	struct npl_window window;
	enum tpu_function function;
	enum tpu_pooling pooling;
	float limit; /* relu6: in place of 6 */
};

/* Input channels side by side in the array's rows, `taps` times from tap `tap` on. */
struct tpu_gen_k_tile {
	int extent;
	int64_t first, channels; /* of the input value */
	int64_t tap, taps;
};

/* Output channels side by side in the array's columns. Its K tiles are k_tile[k_first] on; a weight of 16 bits makes
 * two tiles of each. */
struct tpu_gen_n_block {
	int extent;
	int64_t first, channels; /* of the output value */
	int k_first, k_count;
	int64_t weight_row, table_row;
};

enum tpu_gen_role { TPU_GEN_SOURCE, TPU_GEN_SECOND, TPU_GEN_OUT };

/* A streamed store that a group reads or writes. */
struct tpu_gen_stage {
	enum tpu_gen_role role;
	int store, allocation[2];
	int64_t first_block; /* of the store's, that is in the allocation; -1: none yet */
};

struct tpu_gen_group {
	int matrix, operand, function, pool; /* nodes; -1: none */
	int source;                          /* value: of the array, or of the activation unit without one */
	int second;                          /* value, of the operand; -1 */
	int out;                             /* value */
	int n_in_extents, n_second_extents, n_out_extents;
	struct tpu_gen_extent *in_extent, *second_extent, *out_extent;
	int n_blocks, n_k_tiles;
	struct tpu_gen_n_block *block;
	struct tpu_gen_k_tile *k_tile;
	bool wide_inputs, wide_weights; /* 16 bits */
	int64_t parts;                  /* in which it does the batch, with the groups of its segment */
	int segment_first, segment_last;
	int64_t last_item; /* that does it, as emit.c counts; afterwards the instruction that it became */
	/* of a group that reads or writes streamed stores: what it does at once, and the allocations through which they
	 * pass */
	int n_stages, n_sets; /* two sets of allocations: transfers overlap with work */
	struct tpu_gen_stage *stage;
	int64_t at_once[3]; /* images, rows, columns */
	bool block_at_once; /* one block of N, and of what is read one row's width of channels */
	int set;            /* in use */
};

/* What a group does at once: positions of images, rows and columns of what the array gives, or of the result where
 * there is none, and blocks of N. Images count from the first of the part. */
struct tpu_gen_out_tile {
	int64_t image, images, row, rows, column, columns;
	int block, blocks;
};

struct tpu_gen_emit; /* emit.c */

struct tpu_gen {
	const struct tpu_config *config;
	const struct npl_layer *const *layer;
	int n_layers;
	const struct npl_layer_group *request;
	struct tpu_generated *generated;
	struct npl_err *err;
	struct npl_arena arena;
	int64_t rows, columns, width, accumulators, buffer_rows;
	struct tpu_gen_value *value;
	struct tpu_gen_store *store;
	struct tpu_gen_node *node;
	struct tpu_gen_group *group;
	struct tpu_gen_allocation *allocation;
	int *value_of; /* a hash table of the values that have a tensor, by that; -1: free */
	size_t value_of_slots;
	/* By lanes of a pixel: the greatest common divisor of the numbers of pixels of the allocations that have as
	 * many lanes. */
	int64_t *common_pixels;
	int *stage_next[2],
		*stage_first
			[2]; /* out of, into host memory: stores by the group at which they are moved; -1: no more */
	int n_values, n_stores, n_nodes, n_groups, n_allocations, allocations_capacity;
	bool streaming;     /* some store is streamed */
	bool out_of_memory; /* while rows were looked for */
	int reuse_delay;    /* groups for which rows that were given up are not taken again */
	int64_t images;     /* of all values, when the batch can be split; else 0 */
	bool split;         /* some group does the batch in parts */
	int64_t part_image; /* first image of the part that is emitted */
	int64_t host_bytes;
	uint64_t transferred,
		link_bytes_requested; /* bytes over the link; of those, by inputs_over_link and outputs_over_link */
	int64_t weight_rows;          /* of the weight image */
	int64_t accumulator;          /* row from which on the next block takes its rows, going round */
	struct tpu_gen_emit *emit;
};

/* supports.c */
bool tpu_gen_type(enum npl_dtype dtype, enum tpu_type *type);
/* A tensor of any rank as (images, channels, height, width). */
struct npl_image tpu_gen_image(const struct npl_shape *shape);
/* Limits of a Clip that starts at 0 as the function that it is; false: it is none. */
bool tpu_gen_clip(const struct npl_layer *layer, enum tpu_function *function, float *limit);
bool tpu_gen_pooling(const struct npl_layer *layer, enum tpu_pooling *pooling);

/* graph.c: layers to nodes and values. group.c: nodes to groups. */
int tpu_gen_nodes(struct tpu_gen *gen);
int tpu_gen_new_value(struct tpu_gen *gen, const struct npl_tensor *format, const struct npl_image *image);
int tpu_gen_groups(struct tpu_gen *gen);

/* views.c: in *out a value that sees `channels` channels of the first from `first` on or, of several, all of them
 * side by side. */
int tpu_gen_view(struct tpu_gen *gen, const struct npl_tensor *format, const int *in, int n, int64_t first,
		 int64_t channels, int *out);
/* Brings a nested value to pieces of stores. */
int tpu_gen_resolve(struct tpu_gen *gen, int value);

/* layout.c: groups, allocations without rows yet, extents and tiles. */
int tpu_gen_layout(struct tpu_gen *gen);
int tpu_gen_new_allocation(struct tpu_gen *gen, const struct npl_image *image, enum tpu_type type, int64_t lanes);
/* Sets gen->common_pixels, which sizes of allocations depend on where gen->split says that the batch is done in
 * parts. */
void tpu_gen_common_pixels(struct tpu_gen *gen);
/* Sets what depends on how many images are in it. */
void tpu_gen_size_allocation(const struct tpu_gen *gen, struct tpu_gen_allocation *allocation, int64_t images);
int tpu_gen_extents(struct tpu_gen *gen, int value, struct tpu_gen_extent **extent, int *n);

/* lifetimes.c: lifetimes and sizes of all allocations of stores, for the groups' parts; the group before which a staged
 * store comes, and after which it leaves: with the first and last part if its allocation is for all images. */
void tpu_gen_lifetimes(struct tpu_gen *gen);
int tpu_gen_comes_at(const struct tpu_gen *gen, int store);
int tpu_gen_leaves_at(const struct tpu_gen *gen, int store);

/* allocation.c: rows for all allocations, splitting the batch as far as it takes. */
int tpu_gen_allocate(struct tpu_gen *gen);
/* Whether the store is at home in host memory because of inputs_over_link or outputs_over_link. */
bool tpu_gen_is_asked_for(const struct tpu_gen *gen, const struct tpu_gen_store *store);

/* fit.c: rows for all allocations in the order in which they begin to live, or the largest first, as far as they fit:
 * returns the group at which they do not; -1. */
int tpu_gen_place_all(struct tpu_gen *gen, bool largest_first);
/* Rows of all allocations that live at one time, at most. */
int64_t tpu_gen_peak_rows(struct tpu_gen *gen);
/* Where an allocation would fit beside those that have rows; -1: nowhere. */
int64_t tpu_gen_first_fit(const struct tpu_gen *gen, const struct tpu_gen_allocation *allocation);

/* tiles.c: blocks of N and tiles of K of a group whose extents are known. */
int tpu_gen_tiles(struct tpu_gen *gen, struct tpu_gen_group *group);
/* Weights of the layer in a tile. */
int64_t tpu_gen_useful(const struct tpu_gen *gen, const struct tpu_gen_group *group,
		       const struct tpu_gen_n_block *block, const struct tpu_gen_k_tile *tile);

/* weights.c */
int tpu_gen_weights(struct tpu_gen *gen);

/* emit.c: instructions with the configuration registers, sync and read_weights they need. */
struct tpu_gen_touch {
	bool in_host, writes;
	int64_t first, end;
};
int tpu_gen_emit_open(struct tpu_gen *gen);
void tpu_gen_emit_close(struct tpu_gen *gen);
void tpu_gen_layer(struct tpu_gen *gen, int layer);
void tpu_gen_set(struct tpu_gen *gen, enum tpu_register r, int64_t value);
/* A zero point, or another number of a format; a ratio of scales. */
void tpu_gen_set_zero(struct tpu_gen *gen, enum tpu_register r, int64_t zero_point);
void tpu_gen_set_scale(struct tpu_gen *gen, enum tpu_register r, float scale);
/* What the next instruction touches. */
void tpu_gen_touch(struct tpu_gen *gen, bool in_host, bool writes, int64_t first, int64_t end);
/* The next instruction needs these tiles, or this table: it switches to the first of them. False: it is in use
 * already. */
bool tpu_gen_need(struct tpu_gen *gen, bool table, int64_t row, int64_t count);
void tpu_gen_add(struct tpu_gen *gen, enum tpu_opcode opcode, unsigned flags, int64_t ub, int64_t acc, int64_t length);
/* Those added so far. */
int64_t tpu_gen_items(const struct tpu_gen *gen);
/* Ends the program; 0 or the first thing that went wrong. */
int tpu_gen_emit_finish(struct tpu_gen *gen);

/* addressing.c: where an extent of a group lies while a tile of it is done. */
struct tpu_gen_address {
	const struct tpu_gen_allocation *allocation;
	int64_t row, lane;
};
/* May emit a transfer: before the instruction's touches. */
struct tpu_gen_address tpu_gen_address_of(struct tpu_gen *gen, struct tpu_gen_group *group, enum tpu_gen_role role,
					  int extent);
/* The allocation's vector at a position of an image of the part. */
int64_t tpu_gen_vector_at(const struct tpu_gen_allocation *allocation, int64_t image, int64_t row, int64_t column);
/* The next instruction touches those vectors. */
void tpu_gen_touch_vectors(struct tpu_gen *gen, bool writes, const struct tpu_gen_address *at, int64_t first,
			   int64_t count);

/* activate.c: from the accumulators, `count` vectors of a group's work from `first` on, at accumulator row acc; and
 * a group without a matrix. */
void tpu_gen_activate(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile,
		      const struct tpu_gen_n_block *block, int64_t acc, int64_t first, int64_t count);
void tpu_gen_vector(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile);

/* locations.c */
int tpu_gen_locations(struct tpu_gen *gen);

/* host.c: moves vectors of the store, of the image that is in the allocation, between the allocation and host memory:
 * `blocks` blocks, the first of which is first_block of the allocation. */
void tpu_gen_transfer(struct tpu_gen *gen, int store, const struct tpu_gen_allocation *allocation, int64_t first_block,
		      int64_t blocks, bool in);

/* stream.c: allocations for strips, when nothing else fits. */
int tpu_gen_stream(struct tpu_gen *gen);
/* strips.c: a group strip by strip. */
void tpu_gen_strips(struct tpu_gen *gen, struct tpu_gen_group *group);
/* The input positions along dimension d, *low to *end - 1, that the output positions first to first + count - 1 of a
 * group read: at least one row. */
void tpu_gen_covered(const struct tpu_gen *gen, const struct tpu_gen_group *group, enum tpu_gen_role role, int d,
		     int64_t first, int64_t count, int64_t *low, int64_t *end);
/* Image that the tiles of a group are cut from. */
const struct npl_image *tpu_gen_tiled_image(const struct tpu_gen *gen, const struct tpu_gen_group *group);
/* Brings a block of a streamed store, for the strip that the allocations of the set are set for. */
void tpu_gen_stage_block(struct tpu_gen *gen, struct tpu_gen_group *group, struct tpu_gen_stage *stage, int64_t block);

/* matrix.c */
void tpu_gen_matrix(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile);

#endif
