# Task 5: 8 rows of 4 inputs times a matrix of 4 x 8: two tiles, each of which makes 4 columns of the result. It works, and
# the array waits for the second tile. Change the order of instructions so that it does not, and take away this line: YOUR PART
#
#     npulab exec hidden.s --host-memory hidden.inputs.txt --weights hidden.weights.txt --instructions \
#         --set systolic_16x16.array.rows=4 --set systolic_16x16.array.columns=4 --set systolic_16x16.accumulators.rows=8
.machine systolic_16x16
define INPUT 0
define FIRST 16                     # results of columns 0 to 3: 8 rows of each of the 4 planes
define LAST  24                     # results of columns 4 to 7

read_weights first=0 count=1
read_host_memory ub=INPUT rows=8
sync host_in
matrix_multiply.switch ub=INPUT acc=0 rows=8
set_config result_type i32
set_config result_plane_rows 16
activate ub=FIRST acc=0 rows=8
sync activate
read_weights first=4 count=1
matrix_multiply.switch ub=INPUT acc=0 rows=8
activate ub=LAST acc=0 rows=8
sync activate
write_host_memory ub=FIRST rows=64
halt
