# {rows} rows of 4 inputs times a tile of 4 x 4 weights, on an array of 4 x 4 cells:
#
#     npulab exec wave.s --set systolic_16x16.array.rows=4 --set systolic_16x16.array.columns=4 \
#         --host-memory inputs.txt --weights weights.txt --output - --output-as int32:{rows}x4
.machine systolic_16x16
read_weights first=0 count=1
read_host_memory ub=0 rows={rows}
sync host_in
matrix_multiply.switch ub=0 acc=0 rows={rows}

set_config result_type i32
set_config result_plane_rows {rows}
activate ub=16 acc=0 rows={rows}
sync activate
write_host_memory ub=16 rows={result_rows}
halt
