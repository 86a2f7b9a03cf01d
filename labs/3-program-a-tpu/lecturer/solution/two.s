.machine systolic_16x16
define LEFT   0
define RIGHT  {rows}
define RESULT 32

read_weights first=0 count=2
read_host_memory ub=LEFT rows={both}
sync host_in
matrix_multiply.switch ub=LEFT acc=0 rows={rows}
matrix_multiply.switch.accumulate ub=RIGHT acc=0 rows={rows}

set_config result_type i32
set_config result_plane_rows {rows}
activate ub=RESULT acc=0 rows={rows}
sync activate
write_host_memory ub=RESULT rows={result_rows}
halt
