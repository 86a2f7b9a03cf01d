# Eight rows of 32 inputs times a matrix of 32 x 16, with Relu, on an array of 16 x 16. The matrix takes two tiles. The
# second one is fetched and shifted into the array's shadow plane while the first one works.
#
#     npulab exec two_tiles.s --host-memory two_tiles.inputs.txt --weights two_tiles.weights.txt \
#         --output - --output-as int8:8x16
.machine systolic_16x16
define LEFT    0                   # rows of the unified buffer: inputs 0 to 15 of each row
define RIGHT   8                   # inputs 16 to 31
define RESULT  16

read_weights first=0 count=2
read_weights.parameters first=32 count=1
read_host_memory ub=LEFT rows=16
sync host_in
matrix_multiply.switch ub=LEFT acc=0 rows=8
matrix_multiply.switch.accumulate ub=RIGHT acc=0 rows=8
activate.switch.relu ub=RESULT acc=0 rows=8
sync activate
write_host_memory ub=RESULT rows=8
halt
