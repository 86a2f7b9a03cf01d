# Task 2: {many} rows of 4 inputs times one tile of 4 x 4. The array has accumulators for 8 rows.
#
#     npulab exec strips.s --host-memory strips.inputs.txt --weights strips.weights.txt --output - \
#         --output-as int32:{many}x4 \
#         --set systolic_16x16.array.rows=4 --set systolic_16x16.array.columns=4 --set systolic_16x16.accumulators.rows=8
.machine systolic_16x16
define INPUT  0
define RESULT 32                    # plane 0; the next planes are {many} rows further each

read_weights first=0 count=1
read_host_memory ub=INPUT rows={many}
sync host_in
set_config result_type i32
set_config result_plane_rows {many}
matrix_multiply.switch ub=INPUT acc=0 rows=8
activate ub=RESULT acc=0 rows=8
# YOUR PART: the other rows
sync activate
write_host_memory ub=RESULT rows=8  # YOUR PART: all planes of all rows
halt
