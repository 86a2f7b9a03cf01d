.machine systolic_16x16
define INPUT  0
define RESULT 32

read_weights first=0 count=1
read_host_memory ub=INPUT rows={many}
sync host_in
set_config result_type i32
set_config result_plane_rows {many}
matrix_multiply.switch ub=INPUT acc=0 rows=8
activate ub=RESULT acc=0 rows=8
matrix_multiply ub=8 acc=0 rows=8
activate ub=40 acc=0 rows=8
matrix_multiply ub=16 acc=0 rows={third}
activate ub=48 acc=0 rows={third}
sync activate
write_host_memory ub=RESULT rows={all_planes}
halt
