# Task 1: {rows} rows of 8 inputs times a matrix of 8 x 4, on an array of 4 x 4 cells.
# Host memory has inputs 0 to 3 of all rows, and then inputs 4 to 7 of all rows. Weight memory has two tiles: the weights
# of inputs 0 to 3, and those of inputs 4 to 7.
#
#     npulab exec two.s --host-memory two.inputs.txt --weights two.weights.txt --output - --output-as int32:{rows}x4 \
#         --set systolic_16x16.array.rows=4 --set systolic_16x16.array.columns=4 --set systolic_16x16.accumulators.rows=8
.machine systolic_16x16
define LEFT   0                     # rows of the unified buffer: inputs 0 to 3
define RIGHT  {rows}                     # inputs 4 to 7
define RESULT 32

read_weights first=0 count=2
# YOUR PART: bring both blocks of inputs into the buffer
sync host_in
matrix_multiply.switch ub=LEFT acc=0 rows={rows}
# YOUR PART: the second tile

set_config result_type i32          # sums as they are: four planes of bytes
set_config result_plane_rows {rows}
activate ub=RESULT acc=0 rows={rows}
sync activate
write_host_memory ub=RESULT rows={result_rows}
halt
