/* SPDX-License-Identifier: MIT
 *
 * All of npulab's public headers, for programs that use the library. The groups are in the order in which a newcomer
 * needs them; a program that includes single headers compiles the same.
 *
 *     #include <npulab/npulab.h>
 */
#ifndef NPULAB_NPULAB_H
#define NPULAB_NPULAB_H

/* A network from a file or from calls, and a run of it on a device. */
#include "npulab/attributes.h"
#include "npulab/build.h"
#include "npulab/eager.h"
#include "npulab/error.h"
#include "npulab/graph.h"
#include "npulab/graph_run.h"
#include "npulab/model.h"
#include "npulab/recording.h"
#include "npulab/tensor.h"
#include "npulab/tensor_file.h"
#include "npulab/version.h"

/* Comparisons: several devices, placement, number formats, reports. */
#include "npulab/calibrate.h"
#include "npulab/compare.h"
#include "npulab/conformance.h"
#include "npulab/evaluate.h"
#include "npulab/layer_choice.h"
#include "npulab/place.h"
#include "npulab/placement.h"
#include "npulab/report.h"
#include "npulab/roofline.h"
#include "npulab/roofs.h"
#include "npulab/session.h"
#include "npulab/single_layer.h"
#include "npulab/timeline.h"
#include "npulab/validate.h"

/* Devices, and what they say of a layer. driver.h, and the tables of counters.h and params.h, serve to add a machine:
 * its driver is compiled into the library. */
#include "npulab/causes.h"
#include "npulab/counters.h"
#include "npulab/device.h"
#include "npulab/driver.h"
#include "npulab/energy_meter.h"
#include "npulab/energy_model.h"
#include "npulab/facts.h"
#include "npulab/instruction_sink.h"
#include "npulab/layer.h"
#include "npulab/layer_group.h"
#include "npulab/memory.h"
#include "npulab/op.h"
#include "npulab/op_attrs.h"
#include "npulab/params.h"
#include "npulab/program.h"
#include "npulab/program_dump.h"
#include "npulab/result.h"
#include "npulab/signal_sink.h"
#include "npulab/traffic.h"
#include "npulab/vcd.h"

/* The computer, the process, and small parts. */
#include "npulab/arena.h"
#include "npulab/budget.h"
#include "npulab/cpu_features.h"
#include "npulab/processor.h"
#include "npulab/progress.h"
#include "npulab/random.h"
#include "npulab/ratio.h"
#include "npulab/run_trace.h"
#include "npulab/sha256.h"
#include "npulab/system_load.h"
#include "npulab/tdp.h"
#include "npulab/thread.h"

#endif
