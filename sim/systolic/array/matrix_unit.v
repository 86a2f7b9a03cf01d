// SPDX-License-Identifier: MIT
//
// The matrix unit of the TPU v1 for any number of rows and columns: rows of cells with two weight planes, triangles of
// registers that skew what enters, accumulators below. `make cosim` runs it beside sim/systolic/array/matrix_unit.c; it is
// written from the rules of timing (matrix_unit.h), not from that code.
//
// One clock; all registers begin at 0. The outputs write_* say what the accumulators take at the end of the running
// cycle; with one row of cells, and no REGISTERS, they depend on the inputs of the same cycle.
//
// MUTATE_* are deliberate faults, one each, that the co-simulation has to find.

`default_nettype none

// STAGES registers in a row; none is a wire.
module delay #(
	parameter WIDTH = 1,
	parameter STAGES = 1
) (
	input wire clk,
	input wire [WIDTH-1:0] in,
	output wire [WIDTH-1:0] out
);
	generate
		if (STAGES == 0) begin : g_wire
			assign out = in;
		end else begin : g_chain
			localparam BITS = STAGES * WIDTH;
			reg [BITS-1:0] stages = 0;
			wire [BITS+WIDTH-1:0] shifted = {stages, in};
			always @(posedge clk) stages <= shifted[BITS-1:0];
			assign out = shifted[BITS+WIDTH-1:BITS];
		end
	endgenerate
endmodule

// An 8-bit operand, signed or not, minus its zero point: 9 bits.
module operand (
	input wire [7:0] value,
	input wire is_signed,
	input wire signed [8:0] zero_point,
	output wire signed [8:0] out
);
	assign out = $signed({is_signed & value[7], value}) - zero_point;
endmodule

// A row of cells; cell c has field c of each vector. Activations go from cell to cell within it, and with them how to read
// the weights and the switch bit; sums and weights come from the row above and go to the row below.
module matrix_row #(
	parameter COLUMNS = 4,
	parameter HOP_BITS = 2
) (
	input wire clk,
	input wire [8:0] activation,
	input wire [9:0] format, // of the weights: signed, and their zero point
	input wire switch_weight,
	input wire [32*COLUMNS-1:0] sum_above,
	input wire [COLUMNS-1:0] valid_above, // a weight comes
	input wire [HOP_BITS*COLUMNS-1:0] hops_above, // and has so many cells to go on
	input wire [8*COLUMNS-1:0] weight_above,
	output reg [32*COLUMNS-1:0] sum_now, // what the adders give
	output reg [32*COLUMNS-1:0] sum_below,
	output reg [COLUMNS-1:0] valid_below,
	output reg [HOP_BITS*COLUMNS-1:0] hops_below,
	output reg [8*COLUMNS-1:0] weight_below
);
	/*verilator no_inline_module*/
	localparam A = 9 * COLUMNS, F = 10 * COLUMNS, B = 8 * COLUMNS;
	reg [A-1:0] activations = 0; // the registers, and what is at the inputs of the cells
	reg [F-1:0] formats = 0;
	reg [COLUMNS-1:0] switches = 0;
	wire [A+8:0] activations_in = {activations, activation};
	wire [F+9:0] formats_in = {formats, format};
	wire [COLUMNS:0] switches_in = {switches, switch_weight};
	reg [B-1:0] active = 0, shadow = 0;
	reg [B-1:0] used; // the weights that multiply
	reg [A-1:0] numbers; // what they are
	reg [COLUMNS-1:0] stays;
	integer c;

	function [8:0] number;
		input [7:0] value;
		input [9:0] as;
		number = {as[9] & value[7], value} - as[8:0];
	endfunction

	initial begin
		sum_below = 0;
		valid_below = 0;
		hops_below = 0;
		weight_below = 0;
	end

	always @* begin
		for (c = 0; c < COLUMNS; c = c + 1) begin
			used[8*c+:8] = switches_in[c] ? shadow[8*c+:8] : active[8*c+:8];
`ifdef MUTATE_SWITCH
			numbers[9*c+:9] = number(active[8*c+:8], formats_in[10*c+:10]);
`elsif MUTATE_FORMAT
			numbers[9*c+:9] = number(used[8*c+:8], format); // that of the row at the edge
`else
			numbers[9*c+:9] = number(used[8*c+:8], formats_in[10*c+:10]);
`endif
			sum_now[32*c+:32] = $signed(sum_above[32*c+:32])
				+ 32'($signed(activations_in[9*c+:9])) * 32'($signed(numbers[9*c+:9]));
			stays[c] = valid_above[c] && hops_above[HOP_BITS*c+:HOP_BITS] == 0;
		end
	end

	always @(posedge clk) begin
		activations <= activations_in[A-1:0];
		formats <= formats_in[F-1:0];
		switches <= switches_in[COLUMNS-1:0];
		active <= used;
		sum_below <= sum_now;
		valid_below <= valid_above & ~stays;
		weight_below <= weight_above;
		for (c = 0; c < COLUMNS; c = c + 1) begin
			if (stays[c]) shadow[8*c+:8] <= weight_above[8*c+:8];
			hops_below[HOP_BITS*c+:HOP_BITS] <= hops_above[HOP_BITS*c+:HOP_BITS] - 1'b1;
		end
	end
endmodule

// The accumulators of one column: a memory that is read, added to and written within a cycle.
module accumulator_bank #(
	parameter ADDRESS_BITS = 4
) (
	input wire clk,
	input wire valid,
	input wire accumulate,
	input wire [1:0] shift_bytes,
	input wire [ADDRESS_BITS-1:0] address,
	input wire [31:0] sum,
	output wire [31:0] value,
	output wire overflow,
	input wire [ADDRESS_BITS-1:0] read_address,
	output wire [31:0] read_value
);
	/*verilator no_inline_module*/
	reg [31:0] bank[0:2**ADDRESS_BITS-1];
	integer i;
	initial for (i = 0; i < 2 ** ADDRESS_BITS; i = i + 1) bank[i] = 0;

	wire [31:0] held = bank[address];
	// 50 bits hold any sum shifted by 16 plus any accumulator.
	wire signed [49:0] wide = {{18{sum[31]}}, sum};
	wire signed [49:0] exact = (wide <<< {shift_bytes, 3'b000}) + (accumulate ? {{18{held[31]}}, held} : 50'd0);
	assign overflow = exact[49:31] != {19{exact[31]}};
`ifdef MUTATE_WRAP
	assign value = overflow ? {exact[49], {31{~exact[49]}}} : exact[31:0];
`else
	assign value = exact[31:0];
`endif
	assign read_value = bank[read_address];
	always @(posedge clk) if (valid) bank[address] <= value;
endmodule

module matrix_unit #(
	parameter ROWS = 4,
	parameter COLUMNS = 4,
	parameter ADDRESS_BITS = 4, // 2^ADDRESS_BITS accumulator rows
	parameter REGISTERS = 0 // between the last row of cells and the accumulators
) (
	input wire clk,
	// an input row
	input wire row_valid,
	input wire [8*ROWS-1:0] row,
	input wire row_signed,
	input wire signed [8:0] row_zero_point,
	input wire weights_signed, // how it reads the weights
	input wire signed [8:0] weights_zero_point,
	input wire switch_weights,
	input wire accumulate,
	input wire [1:0] shift_bytes,
	input wire [ADDRESS_BITS-1:0] address,
	// a row of a weight tile, the last row first
	input wire weights_valid,
	input wire [8*COLUMNS-1:0] weights,
	// what the accumulators take, by column
	output wire [COLUMNS-1:0] write_valid,
	output wire [COLUMNS-1:0] write_overflow,
	output wire [32*COLUMNS-1:0] write_address,
	output wire [32*COLUMNS-1:0] write_sum,
	output wire [32*COLUMNS-1:0] write_value,
	// any accumulator row
	input wire [ADDRESS_BITS-1:0] read_address,
	output wire [32*COLUMNS-1:0] read_values
);
	localparam HOP_BITS = ROWS > 1 ? $clog2(ROWS) : 1;
	localparam CONTROL_BITS = ADDRESS_BITS + 4;
`ifdef MUTATE_LATENCY
	localparam LATENCY = ROWS + REGISTERS;
`else
	localparam LATENCY = ROWS - 1 + REGISTERS; // of column 0
`endif
	genvar r, c;

	// Weight rows are numbered as they come: a tile's first one has ROWS - 1 cells to pass.
	localparam [HOP_BITS-1:0] MAX_HOPS = ROWS[HOP_BITS-1:0] - 1'b1;
	reg [HOP_BITS-1:0] hops = MAX_HOPS;
	always @(posedge clk) if (weights_valid) hops <= hops == 0 ? MAX_HOPS : hops - 1'b1;

	// Between rows: index r enters row r from above.
	wire [32*COLUMNS-1:0] sum[0:ROWS];
	wire [32*COLUMNS-1:0] sum_now[0:ROWS-1];
	wire [COLUMNS-1:0] path_valid[0:ROWS];
	wire [HOP_BITS*COLUMNS-1:0] path_hops[0:ROWS];
	wire [8*COLUMNS-1:0] path[0:ROWS];
	wire [CONTROL_BITS-1:0] control[0:COLUMNS];
	assign sum[0] = 0;

	generate
		for (c = 0; c < COLUMNS; c = c + 1) begin : g_top
`ifdef MUTATE_REFILL
			localparam SKEW = c > 0 ? c - 1 : 0;
`else
			localparam SKEW = c;
`endif
			delay #(.WIDTH(9 + HOP_BITS), .STAGES(SKEW)) skew (
				.clk(clk),
				.in({weights_valid, hops, weights[8*c+:8]}),
				.out({path_valid[0][c], path_hops[0][HOP_BITS*c+:HOP_BITS], path[0][8*c+:8]})
			);
		end

		for (r = 0; r < ROWS; r = r + 1) begin : g_row
`ifdef MUTATE_SKEW
			localparam SKEW = r == ROWS - 1 && r > 0 ? r - 1 : r;
`else
			localparam SKEW = r;
`endif
			wire signed [8:0] value, activation;
			wire [9:0] format;
			wire switching;
			operand convert (
				.value(row[8*r+:8]),
				.is_signed(row_signed),
				.zero_point(row_zero_point),
				.out(value)
			);
			delay #(.WIDTH(20), .STAGES(SKEW)) skew (
				.clk(clk),
				.in({row_valid & switch_weights, weights_signed, weights_zero_point, row_valid ? value : 9'sd0}),
				.out({switching, format, activation})
			);
			matrix_row #(.COLUMNS(COLUMNS), .HOP_BITS(HOP_BITS)) cells (
				.clk(clk),
				.activation(activation),
				.format(format),
				.switch_weight(switching),
				.sum_above(sum[r]),
				.valid_above(path_valid[r]),
				.hops_above(path_hops[r]),
				.weight_above(path[r]),
				.sum_now(sum_now[r]),
				.sum_below(sum[r+1]),
				.valid_below(path_valid[r+1]),
				.hops_below(path_hops[r+1]),
				.weight_below(path[r+1])
			);
		end

		// Where sums go: as late as they are, one column after the other.
		delay #(.WIDTH(CONTROL_BITS), .STAGES(LATENCY)) with_sums (
			.clk(clk),
			.in({row_valid, accumulate, shift_bytes, address}),
			.out(control[0])
		);
		for (c = 0; c < COLUMNS; c = c + 1) begin : g_bank
			wire [ADDRESS_BITS-1:0] bank_address;
			wire bank_accumulate;
			wire [1:0] bank_shift;
			wire [31:0] arriving;
			delay #(.WIDTH(CONTROL_BITS), .STAGES(1)) to_next (
				.clk(clk),
				.in(control[c]),
				.out(control[c+1])
			);
			delay #(.WIDTH(32), .STAGES(REGISTERS)) pipeline (
				.clk(clk),
				.in(sum_now[ROWS-1][32*c+:32]),
				.out(arriving)
			);
			assign {write_valid[c], bank_accumulate, bank_shift, bank_address} = control[c];
			assign write_address[32*c+:32] = {{(32 - ADDRESS_BITS) {1'b0}}, bank_address};
			assign write_sum[32*c+:32] = arriving;
			accumulator_bank #(.ADDRESS_BITS(ADDRESS_BITS)) below (
				.clk(clk),
				.valid(write_valid[c]),
				.accumulate(bank_accumulate),
				.shift_bytes(bank_shift),
				.address(bank_address),
				.sum(arriving),
				.value(write_value[32*c+:32]),
				.overflow(write_overflow[c]),
				.read_address(read_address),
				.read_value(read_values[32*c+:32])
			);
		end
	endgenerate
endmodule

`default_nettype wire
