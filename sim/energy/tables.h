/* SPDX-License-Identifier: MIT
 *
 * Tables of energy, area and leakage by technology: energies/operations.csv, sram.csv and scaling.csv, and tables of
 * the user. From them follow the figures of an operation or a memory at any node and voltage that the tables cover.
 *
 * A figure is a range, as published tables for the same thing differ by 2 to 10 times: the least and the greatest of
 * the estimates of all sources, and their geometric mean. It is rounded to 9 digits, so that it does not depend on the
 * last bit of a computer's logarithms.
 *
 *     struct sim_energy_tables tables;
 *     struct npl_estimates pj;
 *     if (sim_energy_tables_load(&arena, NULL, &tables, &err) ||
 *         sim_operation_pj(&tables, "int8_multiplier", "multiply", &(struct sim_process){28, 0.9}, &pj, &err)) ...
 */
#ifndef NPULAB_SIM_ENERGY_TABLES_H
#define NPULAB_SIM_ENERGY_TABLES_H

#include <stdint.h>

#include "npulab/arena.h"
#include "npulab/energy_model.h"
#include "npulab/error.h"

/* A process: its node in nanometres and its supply. */
struct sim_process {
	double node_nm, volts;
};

/* An energy of an operation, as one source has it. */
struct sim_operation {
	const char *component, *action; /* "int8_multiplier", "multiply" */
	struct sim_process process;
	double pj, area_um2; /* area_um2 NAN: the source does not say */
	const char *source;  /* "horowitz2014" */
	const char *path;    /* of the table's file */
	int line;
};

/* A macro of SRAM, as CACTI models it. */
struct sim_sram_macro {
	int64_t ports; /* 1: one that reads or writes; 2: one that reads and one that writes */
	int64_t width_bits, bytes;
	double node_nm;
	const char *cells; /* "hp", "lop" */
	double read_pj, write_pj, leakage_mw, area_mm2;
};

/* Energy and area of logic at a node: E = a2 V^2 + a1 V + a0 between two voltages (Stillmaker and Baas, Integration
 * 58, 2017). */
struct sim_scaling {
	double node_nm;
	const char *transistors; /* "hp" for high performance, "lp" for low power */
	double a2, a1, a0, area, least_volts, most_volts;
};

struct sim_energy_tables { /* everything lives in the arena */
	struct sim_operation *operation;
	struct sim_sram_macro *sram;
	struct sim_scaling *scaling;
	int n_operations, n_srams, n_scalings;
	/* The kinds of cells and the nodes of the macros, each once, in the order in which they come first. */
	const char **sram_cells;
	double *sram_node_nm;
	int n_sram_cells, n_sram_nodes;
};

/* Loads the tables that ship, and after the shipped operations those of a user's file (NULL: none). NPL_EINPUT names
 * file and line of a missing or negative figure, or of one without its node. */
int sim_energy_tables_load(struct npl_arena *arena, const char *operations_path, struct sim_energy_tables *tables,
			   struct npl_err *err);

/* Returns the shipped tables, which are read once and live as long as the process; NULL: an error. */
const struct sim_energy_tables *sim_shipped_tables(struct npl_err *err);

/* A figure that was calibrated to a chip (model.h has the table's form). */
struct sim_calibration {
	const char *component, *quantity;
	double value;
	const char *unit;
	struct sim_process process; /* of an absolute figure */
	const char *origin;
	const char *path;
	int line;
};
/* Says whether a table's name is a path: it has a '/' or ends in ".csv". */
bool sim_table_is_path(const char *name);
/* Loads the table energies/NAME.csv, or that of a path. NPL_EINPUT as above. */
int sim_calibrations_load(const char *name, struct npl_arena *arena, struct sim_calibration **rows, int *n,
			  struct npl_err *err);

/* Compute the factor by which the energy, or the area, of logic changes from one process to another. The range is that
 * of high-performance and low-power processes. NPL_EUSAGE: a node or a voltage is outside the fitted range. */
int sim_scale_energy(const struct sim_energy_tables *tables, const struct sim_process *from,
		     const struct sim_process *to, struct npl_estimates *factor, struct npl_err *err);
int sim_scale_area(const struct sim_energy_tables *tables, double from_nm, double to_nm, double *factor,
		   struct npl_err *err);

/* What one source says of an action: if it has the action at nodes on both sides, by log-log interpolation between
 * the nearest two, otherwise scaled from its nearest node, for which the range is that of sim_scale_energy. */
#define SIM_MAX_SOURCES 16 /* the most sources of one action */
struct sim_estimate {
	const struct sim_operation *below, *above; /* the rows that were used; NULL, or both the same: there is one */
	struct npl_estimates pj;
};

/* Makes the estimates of an action. NPL_EUSAGE: no table has the component or the action, more than SIM_MAX_SOURCES
 * have it, or the process is outside the fitted range. */
int sim_operation_estimates(const struct sim_energy_tables *tables, const char *component, const char *action,
			    const struct sim_process *process, struct sim_estimate estimates[SIM_MAX_SOURCES], int *n,
			    struct npl_err *err);
/* Computes the energy of an action: the range of its estimates. Errors are those of sim_operation_estimates. */
int sim_operation_pj(const struct sim_energy_tables *tables, const char *component, const char *action,
		     const struct sim_process *process, struct npl_estimates *pj, struct npl_err *err);

/* Computes the area in square micrometres of an operation's circuit at a node, from all sources that have it. Returns
 * NPL_EUSAGE as sim_operation_pj does; the range is NAN where no source has an area. */
int sim_operation_area(const struct sim_energy_tables *tables, const char *component, const char *action,
		       double node_nm, struct npl_estimates *um2, struct npl_err *err);

/* A memory on the chip. Wide memories are macros side by side, of at most `macro_bits` each, as a single wide and
 * shallow array costs much more (energies/sram.csv has a case). An access uses one macro of each column. */
struct sim_sram {
	int64_t bytes, width_bits, macro_bits, ports;
};

struct sim_sram_figures {
	int64_t columns, banks; /* macros side by side, and behind each other where one holds too little */
	struct npl_estimates read_pj, write_pj, leakage_w, area_mm2;
};

/* Computes the figures of a memory, at the supply that CACTI has for the node. Between the sizes and the nodes of
 * the table figures follow in log-log. At another node they are those of the nearest one, scaled as logic at 0.9
 * V. A memory of two ports costs what one of one port does, times the ratio of both in the table's pair that is
 * nearest in width, then in size. NPL_EUSAGE: a macro is smaller than those of the table, or the node is outside
 * the fitted range. */
int sim_sram_figures_of(const struct sim_energy_tables *tables, const struct sim_sram *sram, double node_nm,
			struct sim_sram_figures *figures, struct npl_err *err);

#endif
