; A classifier layer of 64 inputs and 16 outputs with Relu, as DianNao computes it: a row of biases, then four steps of
; 16 inputs. The synapses are fetched while the biases are added.
;
;     npulab exec classifier.s --host-memory classifier.inputs.txt --weights classifier.weights.txt --output - \
;         --output-as int16
.machine diannao
.weights 4096    ; the weights lie from byte 4096 on, the inputs at 0

SB read_op=LOAD address=4096 size=512 | NFU nfu_1_op=BIAS nfu_2_op=ADD
SB read_op=LOAD address=4608 size=2048 | NBIN read_op=LOAD size=128 | NBOUT write_op=STORE address=256 size=32 | NFU nfu_1_op=MULT nfu_2_op=ADD nfu_2_in=KEEP nfu_2_out=NFU3 nfu_3_op=RELU
CP op=END
