.machine systolic_16x16
read_weights first=0 count=2
read_host_memory ub=0 rows=8
sync host_in
matrix_multiply.switch ub=0 acc=0 rows=8
set_config result_type i32
set_config result_plane_rows 16
activate ub=16 acc=0 rows=8
matrix_multiply.switch ub=0 acc=0 rows=8
activate ub=24 acc=0 rows=8
sync activate
write_host_memory ub=16 rows=64
halt
