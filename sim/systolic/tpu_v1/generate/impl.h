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

#define TPU_GEN_MAX_TILES 65535 /* the most that one read_weights fetches */
#define TPU_GEN_MAX_SIZE  65535 /* the most that a window register holds: sizes, strides, kernels */

enum tpu_gen_kind { TPU_GEN_MATRIX, TPU_GEN_SCALE, TPU_GEN_ADD, TPU_GEN_MULTIPLY, TPU_GEN_FUNCTION, TPU_GEN_POOL };

struct tpu_gen_piece {
	int store; /* the store that has the channels; -1: they are channels of `value`, which has many pieces */
	int value; /* that other value, where store is -1 */
	int64_t first_channel;   /* the piece's first channel in the value whose list it is in */
	int64_t first, channels; /* the channels of the store, or of the other value */
};

struct tpu_gen_value {
	const struct npl_tensor *tensor; /* NULL: the value passes between two nodes of one layer */
	enum tpu_type type;
	float scale;
	int32_t zero_point;
	struct npl_image image;         /* the image as it is kept */
	bool flat;                      /* nodes see it as (images, channels * height * width) */
	bool is_output, read, computed; /* computed: a layer makes it, it is not given */
	bool nested; /* some pieces are of other values: no node reads this value, and it is no output as a whole */
	int n_pieces;
	struct tpu_gen_piece *piece;
};

struct tpu_gen_store {
	enum tpu_type type;
	struct npl_image image;
	int uses;         /* the number of nodes' inputs that read it */
	int maker;        /* the group that writes it; -1: it is given */
	int first_reader; /* the first group that reads it; -1: none */
	bool absent;      /* it passes from node to node inside a group and has no allocation */
	bool is_output;
	int activation_operand; /* the value through which the activation unit reads it; -1: none, -2: several */
	bool resident;          /* it is given and is in the buffer before the program starts */
	/* The store's home is host memory, and the buffer holds the store for a part of the batch, or in strips. */
	bool staged_in_parts, staged_in_strips;
	int allocation;
	int64_t lane; /* the lane of its first channel in its allocation, counted over the allocation's blocks */
	int64_t host_address;
};

struct tpu_gen_allocation {
	int planes;
	int64_t images, height, width, lanes;         /* lanes: the channels of all its stores */
	int64_t first_image, first_row, first_column; /* the first of the image that is in it: more than 0 for strips */
	bool all_images;                              /* it holds all images, though groups do the batch in parts */
	int span; /* the first group of the only span in parts that uses it; -1: no span in parts does */
	int64_t pixel_lanes, row_pixels;
	int64_t plane_rows, rows;
	int64_t base;
	int held_from, held_to; /* the first and the last group at which it holds something */
};

struct tpu_gen_extent {
	int64_t first, channels; /* channels of the value */
	int store, allocation;
	int64_t block, lane;
};

struct tpu_gen_node {
	enum tpu_gen_kind kind;
	int layer;
	int in[2], out; /* values */
	bool copy;      /* the node multiplies by a unit matrix, which moves channels to other lanes */
	int64_t groups;
	struct npl_window window;
	enum tpu_function function;
	enum tpu_pooling pooling;
	float limit; /* the upper limit of relu6, in place of 6 */
};

/* A tile of K: input channels side by side in the array's rows, repeated for `taps` taps from tap `tap` on. */
struct tpu_gen_k_tile {
	int extent;
	int64_t first, channels; /* channels of the input value */
	int64_t tap, taps;
};

/* A block of N: output channels side by side in the array's columns. Its tiles of K are k_tile[k_first] and those that
 * follow; each becomes two tiles where weights have 16 bits. */
struct tpu_gen_n_block {
	int extent;
	int64_t first, channels; /* channels of the output value */
	int k_first, k_count;
	int64_t weight_row, table_row;
};

enum tpu_gen_role { TPU_GEN_SOURCE, TPU_GEN_SECOND, TPU_GEN_OUT };

/* A streamed store that a group reads or writes. */
struct tpu_gen_stage {
	enum tpu_gen_role role;
	int store, allocation[2];
	int64_t first_block; /* the first of the store's blocks that is in the allocation; -1: none yet */
};

struct tpu_gen_group {
	int matrix, operand, function, pool; /* nodes; -1: none */
	int source; /* the value that enters the array, or the activation unit where there is no matrix node */
	int second; /* the value of the second operand; -1: none */
	int out;    /* the value that it writes */
	int n_in_extents, n_second_extents, n_out_extents;
	struct tpu_gen_extent *in_extent, *second_extent, *out_extent;
	int n_blocks, n_k_tiles;
	struct tpu_gen_n_block *block;
	struct tpu_gen_k_tile *k_tile;
	bool wide_inputs, wide_weights; /* 16 bits */
	int64_t parts;                  /* the number of parts in which the groups of its span do the batch */
	int span_first, span_last;
	int64_t last_instruction; /* counted as emit.c adds them; in the end its index in the program */
	/* For a group that reads or writes streamed stores: what it does at once, and the allocations through which
	 * these stores pass. */
	int n_stages, n_sets; /* with two sets of allocations transfers overlap with work */
	struct tpu_gen_stage *stage;
	int64_t at_once[3]; /* images, rows, columns */
	bool block_at_once; /* it does one block of N at once, and reads at most one row's width of channels */
	int set;            /* the set in use */
};

/* What a group does at once: blocks of N, and positions as images, rows and columns of the array's output, or of the
 * result where the group has no matrix node. Images count from the first one of the part. */
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
	int *value_of; /* a hash table from a tensor's address to the value that has the tensor; -1: a free slot */
	size_t value_of_slots;
	/* By lanes of a pixel: the greatest common divisor of the numbers of pixels of all allocations with so many
	 * lanes to a pixel. */
	int64_t *common_pixels;
	/* The stores that move out of host memory [1] or into it [0], as a list for each group at which they move; -1:
	 * the list's end. */
	int *stage_next[2], *stage_first[2];
	int n_values, n_stores, n_nodes, n_groups, n_allocations, allocations_capacity;
	bool streaming;     /* some store is streamed */
	bool out_of_memory; /* memory ran out while rows were looked for */
	int reuse_delay;    /* the number of groups for which rows that were given up are not taken again */
	int64_t images;     /* the images of every value, where the batch can be split; else 0 */
	bool split;         /* some group does the batch in parts */
	int64_t part_image; /* first image of the part that is emitted */
	int64_t host_bytes;
	/* Bytes over the link; of those, the bytes that only inputs_over_link and outputs_over_link move. */
	uint64_t transferred, link_bytes_requested;
	int64_t weight_rows; /* rows of the weight image */
	int64_t accumulator; /* the first accumulator row of the next block; blocks go round the accumulators */
	struct tpu_gen_emit *emit;
	struct tpu_registers registers; /* as the instructions emitted so far leave them */
	uint64_t format_registers;      /* a bit for each register of a number format that this group has set */
};

/* Functions of supports.c. */
bool tpu_gen_type(enum npl_dtype dtype, enum tpu_type *type);
/* Returns a tensor of any rank as (images, channels, height, width). */
struct npl_image tpu_gen_image(const struct npl_shape *shape);
/* Sets the function and limit that a Clip from 0 is to the activation unit. Returns false where a Clip has no such
 * function. */
bool tpu_gen_clip(const struct npl_layer *layer, enum tpu_function *function, float *limit);
/* Sets the function of the activation unit that a fused activation is: for Relu6 with the limit 6. Returns false where
 * the unit has none. */
bool tpu_gen_fused(enum npl_activation activation, enum tpu_function *function);
bool tpu_gen_pooling(const struct npl_layer *layer, enum tpu_pooling *pooling);

/* graph.c turns layers into nodes and values, group.c nodes into groups. */
int tpu_gen_nodes(struct tpu_gen *gen);
int tpu_gen_new_value(struct tpu_gen *gen, const struct npl_tensor *format, const struct npl_image *image);
int tpu_gen_groups(struct tpu_gen *gen);

/* views.c: sets *out to a new value, which sees `channels` channels of its one input from `first` on, or all of several
 * inputs side by side. */
int tpu_gen_view(struct tpu_gen *gen, const struct npl_tensor *format, const int *in, int n, int64_t first,
		 int64_t channels, int *out);
/* Replaces the pieces of a nested value by pieces of stores. */
int tpu_gen_resolve(struct tpu_gen *gen, int value);

/* layout.c makes groups, allocations that have no rows yet, extents and tiles. */
int tpu_gen_layout(struct tpu_gen *gen);
int tpu_gen_new_allocation(struct tpu_gen *gen, const struct npl_image *image, enum tpu_type type, int64_t lanes);
/* Sets gen->common_pixels. The sizes of allocations depend on it where gen->split says that the batch is done in
 * parts. */
void tpu_gen_common_pixels(struct tpu_gen *gen);
/* Sets the members that depend on the number of images in the allocation. */
void tpu_gen_size_allocation(const struct tpu_gen *gen, struct tpu_gen_allocation *allocation, int64_t images);
int tpu_gen_extents(struct tpu_gen *gen, int value, struct tpu_gen_extent **extent, int *n);

/* lifetimes.c: sets lifetimes and sizes of all allocations of stores, for the groups' parts. A staged store comes
 * before group tpu_gen_load_group() and leaves after group tpu_gen_store_group(); where its allocation holds all
 * images, it comes with the first part and leaves with the last. */
void tpu_gen_lifetimes(struct tpu_gen *gen);
int tpu_gen_load_group(const struct tpu_gen *gen, int store);
int tpu_gen_store_group(const struct tpu_gen *gen, int store);

/* allocation.c gives all allocations their rows and splits the batch as far as that takes. */
int tpu_gen_allocate(struct tpu_gen *gen);
/* Says whether the store's home is host memory because of inputs_over_link or outputs_over_link. */
bool tpu_gen_crosses_link(const struct tpu_gen *gen, const struct tpu_gen_store *store);

/* fit.c: gives allocations their rows in the order in which they begin to live, or the largest first. Returns -1, or
 * the group at which one does not fit. */
int tpu_gen_place_all(struct tpu_gen *gen, bool largest_first);
/* Returns the most rows that allocations occupy at one time. */
int64_t tpu_gen_peak_rows(struct tpu_gen *gen);
/* Returns the first row of a gap for an allocation beside those that have rows; -1: there is none. */
int64_t tpu_gen_first_fit(const struct tpu_gen *gen, const struct tpu_gen_allocation *allocation);

/* tiles.c makes the blocks of N and tiles of K of a group whose extents are known. */
int tpu_gen_tiles(struct tpu_gen *gen, struct tpu_gen_group *group);
/* Returns how many weights of the layer the tile holds. */
int64_t tpu_gen_tile_weights(const struct tpu_gen *gen, const struct tpu_gen_group *group,
			     const struct tpu_gen_n_block *block, const struct tpu_gen_k_tile *tile);

/* The function of weights.c. */
int tpu_gen_weights(struct tpu_gen *gen);

/* emit.c emits instructions, with the set_config, sync and read_weights that they need. */
struct tpu_gen_touch {
	bool in_host, writes;
	int64_t first, end;
};
int tpu_gen_emit_open(struct tpu_gen *gen);
void tpu_gen_emit_close(struct tpu_gen *gen);
void tpu_gen_layer(struct tpu_gen *gen, int layer);
/* Emits the set_config that gives a register these bits. */
void tpu_gen_change(struct tpu_gen *gen, enum tpu_register r, uint32_t bits);
static inline void tpu_gen_set(struct tpu_gen *gen, enum tpu_register r, int64_t value)
{
	if (gen->registers.value[r] != (uint32_t)value)
		tpu_gen_change(gen, r, (uint32_t)value);
}
/* Sets a register of a number format once per group, whatever it held. A program's instructions then do not depend on
 * the values of scales and zero points, which an execution with timing_only does not have. */
static inline void tpu_gen_set_format(struct tpu_gen *gen, enum tpu_register r, uint32_t bits)
{
	if (gen->registers.value[r] != bits || !(gen->format_registers >> r & 1))
		tpu_gen_change(gen, r, bits);
	gen->format_registers |= UINT64_C(1) << r;
}
/* tpu_gen_set_zero() sets a zero point or another integer of a number format, tpu_gen_set_scale() a ratio of scales. */
static inline void tpu_gen_set_zero(struct tpu_gen *gen, enum tpu_register r, int64_t zero_point)
{
	tpu_gen_set_format(gen, r, (uint32_t)zero_point);
}
void tpu_gen_set_scale(struct tpu_gen *gen, enum tpu_register r, float scale);
/* Notes rows or bytes that the next instruction reads or writes. */
void tpu_gen_touch(struct tpu_gen *gen, bool in_host, bool writes, int64_t first, int64_t end);
/* Notes that the next instruction needs these tiles, or this table. Says whether it must switch to the first of them;
 * false: that one is in use already. */
bool tpu_gen_need(struct tpu_gen *gen, bool table, int64_t row, int64_t count);
void tpu_gen_add(struct tpu_gen *gen, enum tpu_opcode opcode, unsigned flags, int64_t ub, int64_t operand,
		 int64_t length);
/* Returns the number of instructions added so far. */
int64_t tpu_gen_n_instructions(const struct tpu_gen *gen);
/* Ends the program. Returns 0 or the first error. */
int tpu_gen_emit_finish(struct tpu_gen *gen);

/* addressing.c: the address of a group's extent while the group does a tile. */
struct tpu_gen_address {
	const struct tpu_gen_allocation *allocation;
	int64_t row, lane;
};
/* Returns the address of an extent. The function may emit a transfer, so call it before noting the instruction's
 * touches. */
struct tpu_gen_address tpu_gen_address_of(struct tpu_gen *gen, struct tpu_gen_group *group, enum tpu_gen_role role,
					  int extent);
/* Returns the number of the allocation's vector for a position of an image of the part. */
int64_t tpu_gen_vector_at(const struct tpu_gen_allocation *allocation, int64_t image, int64_t row, int64_t column);
/* Notes that the next instruction reads or writes those vectors. */
void tpu_gen_touch_vectors(struct tpu_gen *gen, bool writes, const struct tpu_gen_address *address, int64_t first,
			   int64_t count);

/* activate.c: tpu_gen_activate() takes `count` vectors of a group's out_tile, from `first` on, from accumulator row
 * acc. tpu_gen_vector() does a group that has no matrix node. */
void tpu_gen_activate(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile,
		      const struct tpu_gen_n_block *block, int64_t acc, int64_t first, int64_t count);
void tpu_gen_vector(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile);

/* The function of locations.c. */
int tpu_gen_locations(struct tpu_gen *gen);

/* host.c: moves vectors of the store between the allocation and host memory, for the part of the image that the
 * allocation holds. It moves `blocks` blocks; the first one has block first_block of the store's channels. */
void tpu_gen_transfer(struct tpu_gen *gen, int store, const struct tpu_gen_allocation *allocation, int64_t first_block,
		      int64_t blocks, bool in);

/* stream.c makes allocations for strips when nothing else fits. */
int tpu_gen_stream(struct tpu_gen *gen);
/* strips.c does a group strip by strip. */
void tpu_gen_strips(struct tpu_gen *gen, struct tpu_gen_group *group);
/* Sets *low and *end so that output positions first to first + count - 1 of a group read input positions *low to *end -
 * 1 along dimension d; that is at least one position. */
void tpu_gen_input_range(const struct tpu_gen *gen, const struct tpu_gen_group *group, enum tpu_gen_role role, int d,
			 int64_t first, int64_t count, int64_t *low, int64_t *end);
/* Returns the image that the tiles of a group are cut from. */
const struct npl_image *tpu_gen_tiled_image(const struct tpu_gen *gen, const struct tpu_gen_group *group);
/* Brings a block of a streamed store into the buffer, for the strip that the set of allocations in use holds. */
void tpu_gen_stage_block(struct tpu_gen *gen, struct tpu_gen_group *group, struct tpu_gen_stage *stage, int64_t block);

/* The function of matrix.c. */
void tpu_gen_matrix(struct tpu_gen *gen, struct tpu_gen_group *group, const struct tpu_gen_out_tile *out_tile);

#endif
