/* SPDX-License-Identifier: MIT
 *
 * DianNao: Chen et al., "DianNao: A Small-Footprint High-Throughput Accelerator for Ubiquitous Machine-Learning",
 * ASPLOS 2014. Any Tn, buffer sizes and arithmetic by parameters.
 *
 *     memory --> NBin (rows of Tn inputs) --\
 *     memory --> SB (rows of Tn x Tn) --> NFU-1 multiply --> NFU-2 add, max --> NFU-3 segments --> NBout --> memory
 *                                                             ^------- partial sums ----------------/
 *
 * One step of the NFU is one NBin row and one SB row. A layer becomes a stream of instructions (isa.h) by the code generator of one of the
 * paper's loop nests (generate.h) in tiles that fit the buffers (tiles.h), and that runs on one of two engines (engine.h):
 *
 *     layer -- work.c --> dn_work -- tiles.c, generate/ --> instructions --> rtl/: every cycle, every value
 *                            |                                            \-> fast/: from event to event
 *                            \-- values.c: values of a layer as matrix products, beside the fast engine
 */
#ifndef DIANNAO_DN_H
#define DIANNAO_DN_H

#include "npulab/device.h"
#include "sim/diannao/nfu/segments.h"
#include "sim/memory/dma.h"

/* Who makes LRN's factor where the machine can. */
enum dn_lrn_by { DN_LRN_MACHINE, DN_LRN_HOST };

/* What a machine file describes (config.c has ranges, defaults and help). */
struct dn_config {
	int64_t clock_hz;
	int64_t tn; /* inputs and outputs of one step */
	int64_t nfu1_stages, nfu2_stages, nfu3_stages;
	int product; /* enum npl_q16_product */
	int64_t sum_bits;
	int64_t nbin_rows, nbout_rows, sb_rows;
	int64_t nbout_sum_rows;      /* of nbout_rows, those that partial sums have; results have the others */
	const char *memory_preset;   /* a file of memories/ */
	int64_t memory_channels;     /* 0: the preset's */
	double host_latency_seconds; /* before a transfer of the host's data */
	int64_t dma_queue, dma_burst_bytes;
	int64_t dma_request_cycles; /* that a request keeps the memory port at least; 0: the DMAs share it */
	int lrn;                    /* enum dn_lrn_by */
	/* Tiles asked for; 0: chosen (tiles.h). */
	int nest; /* of enum dn_nest, one higher; 0: chosen */
	int64_t tile_columns, tile_positions, tile_groups, tile_lines;
	double sb_pj_per_byte, nbin_pj_per_byte, nbout_pj_per_byte; /* nbout: per byte of its width and step */
	double nfu_pj_per_lane;                                     /* per multiplier and step */
	double control_pj_per_cycle, interface_pj_per_cycle, other_pj_per_cycle;
	const char *chip_origin;
};

extern const struct npl_param dn_params[];
extern const struct npl_former_default dn_former_defaults[];
int64_t dn_row_bytes(const struct dn_config *config);            /* of NBin and NBout: Tn 16-bit values */
int64_t dn_sb_row_bytes(const struct dn_config *config);         /* Tn x Tn 16-bit synapses */
int64_t dn_sum_rows(const struct dn_config *config);             /* NBout rows that Tn partial sums take */
int64_t dn_operations_per_cycle(const struct dn_config *config); /* Tn multipliers and Tn - 1 adders, Tn times */

/* What NFU-2 makes of the values of a window. */
enum dn_kind { DN_SUM, DN_MAX, DN_AVERAGE };

/* The factor of LRN (lrn.c) is a 1x1 convolution whose kernels and biases the driver makes: this synapse for each of `below` maps
 * below the output's, its own and `above` above it, 0 for the others, and the same bias for all. */
struct dn_lrn {
	bool made;
	int64_t below, above;
	int16_t synapse;
	int32_t bias;
	int raised; /* NFU-3's function is 2^raised times the factor */
};

/* A layer as the machine sees it: per image, group and output position, a window of taps times ni input maps that
 * gives no outputs. A Gemm is a convolution with a 1x1 window over one line of `rows` positions; a function
 * alone is that of the maximum of one value. */
struct dn_work {
	enum dn_kind kind;
	int64_t images, groups;
	int64_t ni, no; /* maps of one group; equal but for DN_SUM */
	int64_t in[NPL_SPATIAL], out[NPL_SPATIAL];
	struct npl_window window;
	bool private_kernels; /* every position has a kernel of its own */
	bool bias;
	bool activates; /* NFU-3 applies `function`, else the identity */
	bool raw;       /* the 32-bit sums leave as they are */
	int shift;      /* right shift from the scale of NFU-2's result to that at which NFU-3 works */
	struct dn_function function;
	int result_shift; /* right shift from there to the output's scale */
	struct dn_lrn lrn;
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

/* lrn.c: the work of LRN's factor but what depends on the output's scale; x and w: log2 of the scales of its input and of the
 * synapses that are made. */
bool dn_lrn_of(const struct dn_config *config, const struct npl_layer *layer, int x, struct dn_work *work, int *w,
	       char *why, size_t n);
uint64_t dn_lrn_pairs(const struct dn_work *work); /* maps in the windows of all maps */
/* Kernels (no, ni) and biases (no), allocated. */
int dn_lrn_operands(const struct dn_work *work, struct npl_tensor *kernels, struct npl_tensor *biases,
		    struct npl_err *err);

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

/* Inputs, synapses and results of the layer, as they lie in memory. */
uint64_t dn_memory_bytes(const struct dn_config *config, const struct dn_work *work);
/* Fills layer->out and the counters of the values. */
int dn_values(const struct dn_config *config, const struct dn_work *work, const struct npl_layer *layer,
	      struct dn_counters *counters, struct npl_err *err);
enum { DN_NBIN, DN_SB, DN_NBOUT, DN_ENGINES }; /* the DMAs, in the order of their turns */
/* moved: what memory did; cycles: of the whole. */
int dn_energy_of(const struct dn_config *config, const struct dn_counters *counters, uint64_t cycles,
		 const struct npl_memory *memory, const struct npl_memory_counters *moved, struct npl_result *result,
		 struct npl_err *err);

/* nfu.c, the arithmetic of single values. */
int64_t dn_wrap(int64_t sum, int64_t bits); /* two's complement of that many bits */
/* value / 2^shift, ties towards plus infinity; a shift below 0 multiplies. Far outside 16 bits only the sign holds. */
int64_t dn_rescale(int64_t value, int shift);
int64_t dn_average(int64_t sum, int64_t count, int shift); /* sum / count / 2^shift by a 15-bit reciprocal */
/* A value at NFU-3's scale leaves NFU-2 and passes NFU-3. */
int16_t dn_leave(const struct dn_work *work, int64_t value, struct dn_counters *counters);

/* The machine's memory, as the engine wants it: rtl's goes through every cycle. */
int dn_open_memory(const struct dn_config *config, bool rtl, struct npl_memory **memory, struct npl_err *err);

#endif
