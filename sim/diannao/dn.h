/* SPDX-License-Identifier: MIT
 *
 * DianNao: Chen et al., "DianNao: A Small-Footprint High-Throughput Accelerator for Ubiquitous Machine-Learning",
 * ASPLOS 2014. Any Tn, buffer sizes and arithmetic by parameters.
 *
 *     memory --> NBin (rows of Tn inputs) --\
 *     memory --> SB (rows of Tn x Tn) --> NFU-1 multiply --> NFU-2 add, max --> NFU-3 segments --> NBout --> memory
 *                                                             ^------- partial sums ----------------/
 *
 * One step of the NFU is one NBin row and one SB row. A layer is cut into tiles so that it fits the buffers (traffic.c
 * chooses, schedule.c walks them); three DMAs load ahead and store behind as far as the buffers have room, over the
 * memory port, and the NFU waits for them (timing.c). Steps are counted, not executed; there are no instructions.
 */
#ifndef DIANNAO_DN_H
#define DIANNAO_DN_H

#include "npulab/device.h"
#include "npulab/dma.h"
#include "segments.h"

/* What a machine file describes (config.c has ranges, defaults and help). */
struct dn_config {
	int64_t clock_hz;
	int64_t tn; /* inputs and outputs of one step */
	int64_t nfu1_stages, nfu2_stages, nfu3_stages;
	int product; /* enum npl_q16_product */
	int64_t sum_bits;
	int64_t nbin_rows, nbout_rows, sb_rows;
	const char *memory_preset;   /* a file of memories/ */
	int64_t memory_channels;     /* 0: the preset's */
	double host_latency_seconds; /* before a transfer of the host's data */
	int64_t dma_queue, dma_burst_bytes;
	int64_t dma_request_cycles; /* that a request keeps the memory port at least; 0: the DMAs share it */
	double sb_pj_per_byte, nbin_pj_per_byte, nbout_pj_per_byte; /* nbout: per byte of its width and step */
	double nfu_pj_per_lane;                                     /* per multiplier and step */
	double control_pj_per_cycle, interface_pj_per_cycle, other_pj_per_cycle;
	const char *chip_origin;
};

extern const struct npl_param dn_params[];
int64_t dn_row_bytes(const struct dn_config *config);            /* of NBin and NBout: Tn 16-bit values */
int64_t dn_sb_row_bytes(const struct dn_config *config);         /* Tn x Tn 16-bit synapses */
int64_t dn_sum_rows(const struct dn_config *config);             /* NBout rows that Tn partial sums take */
int64_t dn_operations_per_cycle(const struct dn_config *config); /* Tn multipliers and Tn - 1 adders, Tn times */

/* What NFU-2 makes of the values of a window. */
enum dn_kind { DN_SUM, DN_MAX, DN_AVERAGE };

/* A layer as the machine sees it: per image, group and output position, a window of taps times ni input maps that
 * gives no outputs. A Gemm is a convolution with a 1x1 window over one line of `rows` positions; a function
 * alone is that of the maximum of one value. */
struct dn_work {
	enum dn_kind kind;
	int64_t images, groups;
	int64_t ni, no; /* maps of one group; equal but for DN_SUM */
	int64_t in[NPL_SPATIAL], out[NPL_SPATIAL];
	struct npl_window window;
	bool bias;
	bool activates; /* NFU-3 applies `function`, else the identity */
	bool raw;       /* the 32-bit sums leave as they are */
	int shift;      /* right shift from the scale of NFU-2's result to that at which NFU-3 works */
	struct dn_function function;
	int result_shift; /* right shift from there to the output's scale */
	struct dn_layout {
		int64_t image, map, y, x; /* elements from one to the next */
	} from, to;
};

/* False with the reason when the machine cannot do the layer; `why` as in npl_driver.supports. */
bool dn_work_of(const struct dn_config *config, const struct npl_layer *layer, struct dn_work *work, char *why,
		size_t n);
int64_t dn_taps(const struct dn_work *work);      /* positions of the window */
int64_t dn_positions(const struct dn_work *work); /* output positions of one map */
/* ceil(maps / Tn) */
int64_t dn_in_rows(const struct dn_config *config, const struct dn_work *work);
int64_t dn_out_rows(const struct dn_config *config, const struct dn_work *work);

/* Counters of one layer, in the order of dn_stats. */
struct dn_counters {
	uint64_t nfu_active, nfu_fill, wait_sb, wait_nbin, wait_nbout; /* sum to the cycles */
	uint64_t useful_macs, idle_lanes;                              /* sum to nfu_active * Tn * Tn */
	uint64_t nbin_rows, sb_rows, nbout_rows;
	uint64_t nfu3_operations;
	uint64_t product_saturations, sum_wraps, sum_saturations; /* of the values: 0 when timing only */
	/* Those of sum_saturations that the function let through, and its results that left 16 bits at the output's scale. */
	uint64_t output_saturations;
	uint64_t input_bytes, synapse_bytes, output_bytes; /* from and to memory */
	uint64_t dram_reads, dram_writes, dram_row_hits, dram_activates, dram_refreshes;
};
#define DN_STATS 22
extern const struct npl_stat dn_stats[DN_STATS];

/* How a layer is cut so that it fits the buffers, and what then crosses the memory port. */
struct dn_traffic {
	uint64_t input_bytes, synapse_bytes, output_bytes;
	uint64_t at_least;     /* every tensor once; inputs that no window reads do not count */
	uint64_t partial_rows; /* NBout rows written and read again as partial sums */
	/* The tile sizes chosen. */
	bool resident;             /* windows slide in NBin and kernels stay in SB; otherwise streamed */
	int64_t tile_width;        /* resident: output columns per tile (Tx) */
	int64_t groups_at_once;    /* groups of Tn outputs per pass over the inputs (Tnn / Tn) */
	int64_t positions_at_once; /* streamed: positions that share a loading of synapses */
	int64_t chunk_rows;        /* streamed: rows of a window per pass over those positions */
};

/* In memory: SB rows of a group of Tn outputs, and their biases. */
uint64_t dn_kernel_bytes(const struct dn_config *config, const struct dn_work *work);
/* Inputs, synapses and results of the layer, as they lie in memory. */
uint64_t dn_memory_bytes(const struct dn_config *config, const struct dn_work *work);
void dn_traffic_of(const struct dn_config *config, const struct dn_work *work, struct dn_traffic *traffic);
/* Fills all counters but those of the values, of waiting and of the memory. */
void dn_count(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *traffic,
	      struct dn_counters *counters);
/* Fills layer->out and the counters of the values. */
int dn_values(const struct dn_config *config, const struct dn_work *work, const struct npl_layer *layer,
	      struct dn_counters *counters, struct npl_err *err);
/* Fills those of waiting and of the memory, after dn_count: what the tiles of `traffic` take behind this memory.
 * `dma` has DN_ENGINES of them, on that memory, as after npl_dma_reset. */
enum { DN_NBIN, DN_SB, DN_NBOUT, DN_ENGINES };
int dn_time(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *traffic,
	    struct npl_memory *memory, struct npl_dma *dma, struct dn_counters *counters, struct npl_err *err);
uint64_t dn_cycles(const struct dn_counters *counters);
int dn_energy_of(const struct dn_config *config, const struct dn_counters *counters, const struct npl_memory *memory,
		 struct npl_result *result, struct npl_err *err);

/* nfu.c, the arithmetic of single values. */
int64_t dn_wrap(int64_t sum, int64_t bits); /* two's complement of that many bits */
/* value / 2^shift, ties towards plus infinity; a shift below 0 multiplies. Far outside 16 bits only the sign holds. */
int64_t dn_rescale(int64_t value, int shift);
int64_t dn_average(int64_t sum, int64_t count, int shift); /* sum / count / 2^shift by a 15-bit reciprocal */
/* A value at NFU-3's scale leaves NFU-2 and passes NFU-3. */
int16_t dn_leave(const struct dn_work *work, int64_t value, struct dn_counters *counters);

#endif
