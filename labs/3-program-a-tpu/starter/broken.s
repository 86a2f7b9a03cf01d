# Tasks 3 and 4: {rows} rows of 4 inputs times one tile. A sync is missing.
#
#     npulab exec broken.s --host-memory broken.inputs.txt --weights broken.weights.txt --output - \
#         --output-as int32:{rows}x4 \
#         --set systolic_16x16.array.rows=4 --set systolic_16x16.array.columns=4 --set systolic_16x16.accumulators.rows=8
.machine systolic_16x16
define INPUT  0
define RESULT 16

read_weights first=0 count=1
read_host_memory ub=INPUT rows={rows}
sync host_in
matrix_multiply.switch ub=INPUT acc=0 rows={rows}
set_config result_type i32
set_config result_plane_rows {rows}
activate ub=RESULT acc=0 rows={rows}
sync activate
write_host_memory ub=RESULT rows={result_rows}
halt
