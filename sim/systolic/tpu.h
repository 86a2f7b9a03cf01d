/* SPDX-License-Identifier: MIT
 *
 * The TPU v1 (Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017) as a
 * weight-stationary int8 array with exact tile timing; any array size, buffer and bandwidth by parameters.
 *
 *     weight memory --> weight FIFO --> shadow plane | active plane      rows x columns cells
 *                       (4 tiles)       (shift in)   | (multiply)             |
 *     unified buffer --> systolic setup --> one row per cycle -------------->|
 *           ^                                                          accumulators (two halves)
 *           +------------------------- activation unit <------------------+
 *
 * Who does what: config.c the parameters, tiling.c how a layer becomes passes, timing.c when each pass happens,
 * values.c and vector.c what comes out, energy.c what it costs, driver.c the device. All times are cycle
 * boundaries: an interval [start, end) holds end - start cycles, and an event at cycle t is visible to whatever
 * happens in cycle t. docs/machine-tpu_v1.md says what is modelled and what is not.
 */
#ifndef NPULAB_SYSTOLIC_TPU_H
#define NPULAB_SYSTOLIC_TPU_H

#include "npulab/device.h"
#include "npulab/int8_layer.h"
#include "npulab/window.h"

#define TPU_MAX_FIFO_TILES 64

/* One kind of energy event. */
struct tpu_energy {
	double pj;
	const char *origin; /* "absent": not known, whatever pj says */
};

enum tpu_precision { TPU_INT8, TPU_8X16 }; /* in the order of the parameter's choices */

/* What a machine file describes (config.c has ranges, defaults and help). */
struct tpu_config {
	int64_t clock_hz;
	int precision;            /* enum tpu_precision: the number format that layers come in */
	int64_t rows, columns;    /* cells: inputs enter at the rows, results leave at the columns */
	int64_t accumulator_rows; /* of `columns` 32-bit words; used as two halves */
	int64_t buffer_bytes;     /* unified buffer */
	int64_t weight_bytes;     /* weight memory */
	int64_t weight_bytes_per_second;
	int64_t fifo_tiles;
	int64_t activate_cycles_per_row;
	int64_t matrix_registers, activate_registers; /* extra pipeline registers of the two units */
	int64_t parameter_tables;                     /* that wait for the activation unit */
	int64_t queue_instructions;                   /* each unit's */
	int64_t issue_cycles, sync_cycles;            /* per instruction; more per sync */
	const char *link_name;
	double link_bytes_per_second, link_latency_seconds, link_pj_per_byte;
	const char *link_origin;
	/* Per cell and active cycle; per byte of a row of tpu_row_bytes; per word of a row of `columns`, read and written;
	 * per byte fetched. Rows are charged whole, and a narrower array has narrower ones. */
	struct tpu_energy cell, buffer_byte_read, buffer_byte_written, accumulator_word, weight_byte;
	double static_watts;
	const char *static_origin;
};

extern const struct npl_param tpu_params[];
/* What the ranges of single parameters cannot say. NPL_EINPUT. */
int tpu_config_check(const struct tpu_config *config, struct npl_err *err);

/* Counters of one layer, in the order of tpu_stats_table. */
struct tpu_stats {
	uint64_t array_active, weight_stall, weight_shift, non_matrix; /* sum to the cycles */
	uint64_t useful_macs, unused_macs;                             /* sum to array_active * rows * columns */
	uint64_t raw_stall, input_stall;                               /* reasons for parts of non_matrix */
	uint64_t tiles, weight_bytes;
	uint64_t ub_rows_read, ub_rows_written, accumulator_writes, activate_cycles;
};
#define TPU_STATS 14
extern const struct npl_stat tpu_stats_table[TPU_STATS];
/* total += count * part */
void tpu_stats_add(struct tpu_stats *total, const struct tpu_stats *part, uint64_t count);

/* A matrix layer as the array sees it: result rows (pixels of all images, or rows of a Gemm) times K times N, once per
 * group. K runs over kernel taps, then input channels, cut into segments of taps_per_pass taps; a segment is cut
 * into K tiles of at most `rows`, N into blocks of `columns`, result rows into blocks of half the accumulators. */
struct tpu_plan {
	bool is_conv;
	int64_t images;         /* batch of a convolution, rows of a Gemm: what a layer can be split over */
	int64_t rows_per_image; /* result rows each gives: output pixels, or 1 */
	int64_t groups, channels, taps, k, n; /* channels, k and n of one group */
	int64_t segment;                      /* taps_per_pass * channels */
	int64_t k_tiles, n_blocks;
	int64_t images_at_once; /* as many as the unified buffer takes with their results */
	bool raw;               /* 32-bit results leave as they are: four buffer rows per result row */
};

/* One pass of the array: `rows` result rows through one tile of weights. */
struct tpu_tile {
	int64_t group, n_block, row_block, k_tile; /* the innermost last */
	int64_t rows, k_used, n_used;
	bool fetch;       /* its weights are not those of the pass before */
	bool first, last; /* of the K tiles that make one block of results */
};

/* False with the reason when the array cannot do the layer. `why` as in npl_driver.supports. */
bool tpu_plan_layer(const struct tpu_config *config, const struct npl_layer *layer, struct tpu_plan *plan, char *why,
		    size_t n);
/* The pass after *tile for the given number of images; start from TPU_NO_TILE. False at the end. */
bool tpu_next_tile(const struct tpu_config *config, const struct tpu_plan *plan, int64_t images, struct tpu_tile *tile);
#define TPU_NO_TILE ((struct tpu_tile){.group = -1})
/* Rows of the unified buffer that the first `images` images of a tensor take. */
int64_t tpu_buffer_rows(const struct tpu_config *config, const struct npl_shape *shape, int64_t images,
			int64_t element_bytes);
/* The most images whose input and output fit in the unified buffer together; 0: not one does. */
int64_t tpu_images_at_once(const struct tpu_config *config, const struct npl_layer *layer);
/* Sizes for the reason when not one image fits. */
void tpu_say_too_large(const struct tpu_config *config, const struct npl_layer *layer, char *why, size_t n);
int64_t tpu_row_bytes(const struct tpu_config *config); /* width of the unified buffer */
int64_t tpu_buffer_size_rows(const struct tpu_config *config);
/* The host link in the integers that the cycle models use: its bandwidth and latency, rounded (the latency up). */
uint64_t tpu_link_bytes_per_second(const struct tpu_config *config);
uint64_t tpu_link_latency_cycles(const struct tpu_config *config);

/* What happens when, for whoever wants to watch (tests, traces). */
enum tpu_event_kind {
	TPU_FIFO_PUSH,      /* the tile is complete in the weight FIFO */
	TPU_SHIFT_START,    /* its first row enters the shadow plane */
	TPU_FIFO_POP,       /* its last row has left: the FIFO slot is free, the plane is full */
	TPU_TILE_START,     /* the first input row enters the array */
	TPU_LAST_WRITE,     /* the last accumulator has been written */
	TPU_ACTIVATE_START, /* the activation unit reads the block's first row */
	TPU_ACTIVATE_END,   /* its last row is in the unified buffer */
};
struct tpu_event {
	enum tpu_event_kind kind;
	uint64_t cycle;
	uint64_t pass; /* which tile, counted from 0 */
};
/* Events come in the order of passes, not of cycles. */
struct tpu_observer {
	void (*see)(void *context, const struct tpu_event *event);
	void *context;
};

/* The schedule of `images` images from a cold start (empty FIFO); adds to stats, returns the cycles. observer may be
 * NULL. */
uint64_t tpu_schedule(const struct tpu_config *config, const struct tpu_plan *plan, int64_t images,
		      const struct tpu_observer *observer, struct tpu_stats *stats);

/* Output of a matrix layer; counts into result->overflows and ->saturations. */
int tpu_matrix_values(const struct tpu_config *config, const struct tpu_plan *plan, const struct npl_layer *layer,
		      struct npl_int8_memory *memory, struct npl_result *result, struct npl_err *err);

/* Layers of the activation unit alone: Relu and pooling on quantised tensors. */
bool tpu_vector_supports(const struct tpu_config *config, const struct npl_layer *layer, char *why, size_t n);
uint64_t tpu_vector_cycles(const struct tpu_config *config, const struct npl_layer *layer, struct tpu_stats *stats);
int tpu_vector_values(const struct npl_layer *layer, struct npl_err *err);

/* A layer with a sliding window (Conv, pooling). */
struct tpu_windows {
	struct npl_image in, out;
	const struct npl_window *window;
};
struct tpu_windows tpu_windows_of(const struct npl_layer *layer);
/* Whether ranks and window are such that it makes sense. */
bool tpu_windows_ok(const struct npl_layer *layer);
/* Input positions that at least one window covers, of one channel of one image. */
int64_t tpu_touched_pixels(const struct tpu_windows *windows);

/* Fills result->energy from the counters. */
int tpu_energy_of(const struct tpu_config *config, const struct tpu_stats *stats, uint64_t cycles,
		  struct npl_result *result, struct npl_err *err);

#endif
