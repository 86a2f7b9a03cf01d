/* SPDX-License-Identifier: MIT
 *
 * A layer's point below the roofs (roofline_point.h). */
#include "roofline_point.h"

#include <math.h>

#include "core/base/dtype.h"
#include "core/device_access.h"
#include "frontend/quantise/quantise.h"
#include "npulab/causes.h"

#define NEAR_ROOF                                                                                                      \
	0.5 /* a layer of a real device below this share of its roof is held up by something that has no counter */

/* How a layer's values are kept in the device's memory. */
struct storage {
	enum npl_format format;
	size_t element_bytes;
};

/* Returns how a layer's values are kept: a device of integers that also computes in float32 runs some layers so. */
static struct storage storage_of(const struct npl_device_info *info, const struct npl_layer_run *row)
{
	const bool bytes = npl_is_byte(row->output_dtype);
	const bool sums = row->output_dtype == NPL_I32 && row->result.macs > 0; /* sums of integers, kept as they are */
	if ((info->capabilities & NPL_ALSO_FLOAT32) && !bytes && !sums)
		return (struct storage){NPL_FORMAT_F32, sizeof(float)};
	return (struct storage){info->format, info->element_bytes ? info->element_bytes
								  : npl_dtype_size(npl_format_dtype(info->format))};
}

/* Returns the bytes of a value as the device keeps it: floats in the layer's format, integers as they are. */
static uint64_t value_bytes(const struct npl_value *value, const struct storage *storage, bool bias)
{
	int64_t count = npl_shape_count(&value->shape);
	size_t bytes = npl_dtype_size(value->dtype);
	if (value->dtype == NPL_F32)
		bytes = bias && storage->format != NPL_FORMAT_F32 ? sizeof(int32_t) : storage->element_bytes;
	return count > 0 ? (uint64_t)count * bytes : 0;
}

static void count_bytes(const struct npl_graph *graph, const struct npl_node *node, const struct storage *storage,
			struct npl_roofline_point *point)
{
	const bool is_gemm = npl_op_defs[node->op].flags & NPL_OP_IS_GEMM;
	for (int k = 0; k < node->n_out; k++)
		if (node->out[k] >= 0 && (!k || graph->value[node->out[k]].uses))
			point->output_bytes += value_bytes(&graph->value[node->out[k]], storage, false);
	for (int k = 0; k < node->n_in; k++) {
		const struct npl_value *value = node->in[k] < 0 ? NULL : &graph->value[node->in[k]];
		if (!value)
			continue;
		uint64_t bytes = value_bytes(value, storage, is_gemm && k == 2);
		if (!k && (npl_op_defs[node->op].flags & NPL_OP_READS_PART) && bytes > point->output_bytes)
			bytes = point->output_bytes;
		if (value->constant)
			point->weight_bytes += bytes;
		else
			point->input_bytes += bytes;
	}
}

void npl_roofline_fill(const struct npl_roofs *roofs, double peak, struct npl_roofline_point *point)
{
	const double macs = (double)point->macs;
	const double rate = roofs->memory_bytes_per_second, memory_seconds = point->bytes > 0 ? point->bytes / rate : 0;
	/* fmax leaves out what is not known */
	const double least_seconds = roofs->n ? fmax(macs / peak, memory_seconds) : NAN;
	const bool has_macs = macs > 0; /* a layer without any has no place under a roof */
	point->macs_per_byte = !has_macs ? NAN : point->bytes > 0 ? macs / point->bytes : INFINITY;
	point->ops_per_second = has_macs && point->seconds > 0 ? 2 * macs / point->seconds : NAN;
	point->roof_ops_per_second = !has_macs ? NAN : least_seconds == 0 ? 2 * peak : 2 * macs / least_seconds;
	point->share = least_seconds > 0 && point->seconds > 0 ? least_seconds / point->seconds : NAN;
	point->memory_bound = memory_seconds > macs / peak;
	if (roofs->origin == NPL_TIME_MEASURED && isfinite(point->share))
		point->bound = point->share < NEAR_ROOF ? "neither roof" : point->memory_bound ? "memory" : "peak";
}

/* Returns the index of the roof of a row's number format; 0 if the format has none of its own. */
static int roof_of(const struct npl_device_info *info, const struct npl_roofs *roofs, const struct npl_layer_run *row)
{
	const bool integers = npl_is_byte(row->output_dtype);
	const enum npl_format format = integers ? NPL_FORMAT_INT8 : storage_of(info, row).format;
	for (int i = 1; i < roofs->n; i++)
		if (roofs->roof[i].format == format)
			return i;
	return 0;
}

static double counted_bytes(enum npl_intensity intensity, bool modelled, const struct npl_result *result,
			    const struct npl_roofline_point *point)
{
	if (intensity == NPL_INTENSITY_WEIGHTS) /* a table that is added is no weight: nothing is multiplied by it */
		return point->macs ? (double)point->weight_bytes : 0;
	if (modelled)
		return (double)result->bytes_at_least[NPL_MEM_DRAM];
	return (double)(point->weight_bytes + point->input_bytes + point->output_bytes);
}

void npl_roofline_point_of(const struct npl_graph *graph, const struct npl_device_info *info,
			   const struct npl_roofs *roofs, const struct npl_layer_run *row, int64_t batches,
			   enum npl_intensity intensity, struct npl_roofline_point *point)
{
	const bool modelled = npl_device_kind_is_modelled(info->kind);
	const struct storage storage = storage_of(info, row);
	*point = (struct npl_roofline_point){.node = row->node,
					     .roof = roof_of(info, roofs, row),
					     .macs = row->result.macs,
					     .seconds = row->result.seconds,
					     .crossed_bytes = NAN};
	count_bytes(graph, &graph->node[row->node], &storage, point);
	point->weight_bytes *= (uint64_t)batches;
	point->input_bytes *= (uint64_t)batches;
	point->output_bytes *= (uint64_t)batches;
	point->bytes = counted_bytes(intensity, modelled, &row->result, point);
	if (modelled) {
		point->crossed_bytes = (double)row->result.bytes[NPL_MEM_DRAM];
		point->bound = npl_bound_of(info, &row->result);
	}
	npl_roofline_fill(roofs, roofs->n ? roofs->roof[point->roof].macs_per_second : NAN, point);
}
