/* SPDX-License-Identifier: MIT
 *
 * Runs layer groups (npulab/layer_group.h) on the GPU: copies given tensors to the GPU, runs all layers and copies
 * outputs back, in one stream. Times are the differences between events recorded in it. Copying between tensors
 * and pinned memory on the host happens before the first event and after the last, so a transfer's time is that of the
 * bytes on the link and of the GPU's conversions of type (float32 and 16 bits) and of order (layout.h). With an
 * observer each result is fetched after its layer; the layers' times leave that out. */
#include "layer_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/kernels/kernel_args.h"
#include "backends/cuda/load/graph.h"
#include "backends/cuda/products/channels_last.h"
#include "core/base/half.h"
#include "core/base/memory_plan.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "layout.h"
#include "replay.h"

/* Pinned memory is taken from the whole computer; above this limit transfers use the tensors' own memory. */
#define MAX_STAGING ((size_t)512 << 20)

static const struct npl_tensor **copy_list(const struct npl_tensor *const *list, int n)
{
	const struct npl_tensor **copy = calloc((size_t)n + 1, sizeof(const struct npl_tensor *));
	if (copy && n)
		memcpy(copy, list, (size_t)n * sizeof *copy);
	return copy;
}

int cu_layer_group_open(void *state, const struct npl_layer_group *request, void **handle,
			struct npl_layer_group_info *info, struct npl_err *err)
{
	struct cu_device *device = state;
	struct cu_layer_group *group = calloc(1, sizeof *group);
	if (!group)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a layer group");
	group->device = device;
	group->request = *request;
	group->request.output = copy_list(request->output, request->n_outputs);
	group->request.constant = copy_list(request->constant, request->n_constant);
	group->request.resident = NULL;
	group->request.n_resident = 0;
	group->pass = calloc((size_t)request->n + 1, sizeof *group->pass);
	int rc = group->pass && group->request.output && group->request.constant ? cu_device_enter(device, err)
										 : npl_no_memory(err);
	for (int l = 0; l < request->n && !rc; l++)
		group->pass[l] = request->layer[l]->op == NPL_OP_RESHAPE ? -1 : l;
	if (!rc && !request->timing_only)
		rc = cu_layer_group_prepare(group, err);
	if (rc) {
		cu_layer_group_close(group);
		return rc;
	}
	*info = (struct npl_layer_group_info){.pass = group->pass};
	*handle = group;
	return 0;
}

void cu_layer_group_close(void *handle)
{
	struct cu_layer_group *group = handle;
	struct npl_err ignored;
	if (!group)
		return;
	cu_device_enter(group->device, &ignored);
	cu_layer_group_release(group);
	free((void *)group->request.output);
	free((void *)group->request.constant);
	free(group->pass);
	free(group);
}

static uint64_t address_of(const struct cu_layer_group *group, int h)
{
	const struct cu_tensor *root = &group->tensor[group->tensor[h].root];
	if (root->piece >= 0)
		return group->device->values.address + group->piece[root->piece].offset;
	return root->constant && root->read ? group->resident.address + group->constants_at + root->offset : 0;
}

static uint64_t second_layout_address(const struct cu_layer_group *group, int h)
{
	const struct cu_tensor *tensor = &group->tensor[h];
	return tensor->second_layout_piece >= 0
		       ? group->device->values.address + group->piece[tensor->second_layout_piece].offset
		       : group->resident.address + group->constants_at + tensor->second_layout_offset;
}

/* Returns tensor h in the type and order in which it is stored. */
static struct cu_value value_of(const struct cu_layer_group *group, int h)
{
	return (struct cu_value){.address = address_of(group, h),
				 .dtype = group->tensor[h].dtype,
				 .shape = group->tensor[h].host->shape,
				 .channels_last = group->tensor[h].channels_last};
}

/* Returns the value of h. A view of another shape than its root's needs ONNX's order, so it gets the address of the
 * root's copy in that order if the root has channels last. */
static struct cu_value reshaped_value(const struct cu_layer_group *group, int h)
{
	struct cu_value value = value_of(group, h);
	if (group->tensor[h].root != h && cu_layout_differs_from_onnx(group, h) &&
	    group->tensor[group->tensor[h].root].second_layout_first >= 0)
		value.address = second_layout_address(group, group->tensor[h].root);
	return value;
}

/* Returns tensor h in the order in which a layer reads it; address 0 for h < 0. */
static struct cu_value value_for(const struct cu_layer_group *group, int h, bool channels_last)
{
	if (h < 0)
		return (struct cu_value){0};
	h = cu_layout_owner(group, h);
	struct cu_value value = reshaped_value(group, h);
	if (value.channels_last != channels_last && group->tensor[h].second_layout_first >= 0)
		value.address = second_layout_address(group, h);
	value.channels_last = channels_last;
	return value;
}

/* Returns the GPU's copy of a tensor in the host's type and order, with its root's shape. */
static struct cu_value landing_of(const struct cu_layer_group *group, const struct cu_tensor *tensor)
{
	return (struct cu_value){.address = group->device->values.address +
					    group->piece[tensor->host_copy_piece].offset,
				 .dtype = tensor->host->dtype,
				 .shape = group->tensor[tensor->root].host->shape};
}

static bool is_copied_to_device(const struct cu_tensor *tensor)
{
	return tensor->result < 0 && tensor->read && !tensor->constant;
}

static size_t bytes_of(const struct cu_tensor *tensor)
{
	return npl_tensor_bytes(tensor->host);
}

/* Returns the host's memory from or to which a tensor is transferred: its part of the staging memory, or the tensor's
 * own data if that memory is absent or too small. */
static void *host_memory(const struct cu_layer_group *group, const struct cu_tensor *tensor)
{
	const struct cu_pinned *staging = &group->device->staging;
	return staging->bytes >= group->staging_bytes && staging->memory ? (char *)staging->memory + tensor->offset
									 : tensor->host->data;
}

static int record(const struct cu_layer_group *group, int event, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	return cu_record(&d->driver, group->event[event], d->stream, group->replay.capturing, err);
}

static int wait(const struct cu_layer_group *group, struct npl_err *err)
{
	return cu_try(&group->device->driver, err, cuStreamSynchronize, stream_wait, (group->device->stream));
}

/* Copies a constant to address `to` in its stored type and one order. `scratch` has room for two copies of it. */
static int fill_constant(struct cu_layer_group *group, int h, bool channels_last, uint64_t to, char *scratch,
			 struct npl_err *err)
{
	const struct cu_device *d = group->device;
	const struct cu_tensor *tensor = &group->tensor[h];
	const int64_t count = npl_tensor_count(tensor->host);
	const size_t element = npl_dtype_size(tensor->dtype), bytes = (size_t)count * element;
	const void *from = tensor->host->data;
	if (tensor->dtype != tensor->host->dtype) {
		npl_half_narrow(tensor->dtype, from, count, scratch);
		from = scratch;
	}
	if (channels_last) {
		cu_layout_turn(&tensor->host->shape, element, true, from, scratch + bytes);
		from = scratch + bytes;
	}
	return cu_try(&d->driver, err, cuMemcpyHtoDAsync, to_device, (to, from, bytes, d->stream)) || wait(group, err)
		       ? err->code
		       : 0;
}

/* Copies all constants to the GPU, once per layer group; no time counts it. */
static int fill_constants(struct cu_layer_group *group, struct npl_err *err)
{
	for (int h = 0; h < group->n_tensors; h++) {
		const struct cu_tensor *tensor = &group->tensor[h];
		const size_t bytes = (size_t)npl_tensor_count(tensor->host) * npl_dtype_size(tensor->dtype);
		if (tensor->result >= 0 || !tensor->constant || !tensor->read || !bytes)
			continue;
		char *scratch = malloc(2 * bytes);
		if (!scratch)
			return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes", 2 * bytes);
		int rc = fill_constant(group, h, tensor->channels_last, address_of(group, h), scratch, err);
		if (!rc && tensor->second_layout_first >= 0)
			rc = fill_constant(group, h, !tensor->channels_last, second_layout_address(group, h), scratch,
					   err);
		free(scratch);
		if (rc)
			return err->code;
	}
	group->filled = true;
	return 0;
}

static int check_data(const struct cu_layer_group *group, struct npl_err *err)
{
	for (int h = 0; h < group->n_tensors; h++) {
		const struct cu_tensor *tensor = &group->tensor[h];
		bool needed = tensor->result < 0 ? tensor->read : tensor->is_output && !group->request.timing_only;
		if (needed && !tensor->host->data && npl_tensor_count(tensor->host) > 0)
			return npl_fail(err, NPL_EINTERNAL,
					"tensor '%s' has no data; a measured device runs on real ones",
					tensor->host->name ? tensor->host->name : "");
	}
	return 0;
}

/* Enlarges the memory that layer groups share if it is too small for this one. */
static int reserve(struct cu_layer_group *group, struct npl_err *err)
{
	struct cu_device *d = group->device;
	char purpose[100];
	snprintf(purpose, sizeof purpose, "the values of %d layer%s", group->request.n, npl_plural(group->request.n));
	if (cu_block_reserve(&d->driver, group->values_bytes, purpose, &d->values, err) ||
	    cu_block_reserve(&d->driver, group->workspace_bytes, "the workspace of the libraries", &d->workspace, err))
		return err->code;
	return group->staging_bytes <= MAX_STAGING
		       ? cu_pinned_reserve(&d->driver, group->staging_bytes, &d->staging, err)
		       : 0;
}

/* Converts a given tensor from the host's type and order to the stored ones, or an output back. */
static int cast_for_transfer(struct cu_layer_group *group, int h, bool to_device, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	if (group->tensor[h].host_copy_piece < 0 || !npl_tensor_count(group->tensor[h].host))
		return 0;
	const struct cu_value stored = value_of(group, group->tensor[h].root),
			      landing = landing_of(group, &group->tensor[h]);
	return cu_kernel_cast(d->kernels, to_device ? &landing : &stored, to_device ? &stored : &landing, d->stream,
			      err);
}

static int copy_inputs_to_device(struct cu_layer_group *group, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	for (int h = 0; h < group->n_tensors; h++)
		if (is_copied_to_device(&group->tensor[h]) &&
		    host_memory(group, &group->tensor[h]) != group->tensor[h].host->data && bytes_of(&group->tensor[h]))
			memcpy(host_memory(group, &group->tensor[h]), group->tensor[h].host->data,
			       bytes_of(&group->tensor[h]));
	if (record(group, 0, err))
		return err->code;
	for (int h = 0; h < group->n_tensors; h++) {
		const struct cu_tensor *tensor = &group->tensor[h];
		if (!is_copied_to_device(tensor))
			continue;
		uint64_t to = tensor->host_copy_piece >= 0 ? landing_of(group, tensor).address : address_of(group, h);
		if ((bytes_of(tensor) && cu_try(&d->driver, err, cuMemcpyHtoDAsync, to_device,
						(to, host_memory(group, tensor), bytes_of(tensor), d->stream))) ||
		    cast_for_transfer(group, h, true, err) || record(group, tensor->event, err))
			return err->code;
	}
	return 0;
}

/* Makes the copy of a tensor in the other order, unless this run has made it already. */
static int make_second_layout(struct cu_layer_group *group, int h, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	struct cu_tensor *tensor = &group->tensor[h];
	const struct cu_value from = reshaped_value(group, h);
	struct cu_value to = from;
	if (tensor->has_second_layout || tensor->second_layout_piece < 0)
		return 0;
	tensor->has_second_layout = true;
	to.address = second_layout_address(group, h);
	to.channels_last = !from.channels_last;
	return cu_kernel_cast(d->kernels, &from, &to, d->stream, err);
}

/* Makes input k of layer l available in the order that the layer reads. */
static int make_input_layout(struct cu_layer_group *group, int l, int k, struct npl_err *err)
{
	if (group->in[l][k] < 0 || !cu_layer_reads(&group->layer[l], k))
		return 0;
	const int h = cu_layout_owner(group, group->in[l][k]), root = group->tensor[h].root;
	if (h != root && cu_layout_differs_from_onnx(group, h) && group->tensor[root].second_layout_first <= l + 1 &&
	    group->tensor[root].second_layout_last >= l + 1 && make_second_layout(group, root, err))
		return err->code;
	const bool other_layout = group->read_last[l][k] != group->tensor[h].channels_last;
	return other_layout && !cu_layout_is_free(&group->tensor[h].host->shape) ? make_second_layout(group, h, err)
										 : 0;
}

static int run_layer(struct cu_layer_group *group, int l, struct npl_err *err)
{
	const struct npl_layer *layer = group->request.layer[l];
	struct cu_value *in = group->value, *out = group->value + NPL_LAYER_INPUTS;
	if (group->layer[l].method == CU_METHOD_NONE)
		return 0;
	for (int k = 0; k < layer->n_in; k++) {
		if (make_input_layout(group, l, k, err))
			return npl_prefix(err, "layer '%s'", layer->name);
		in[k] = value_for(group, group->in[l][k], group->read_last[l][k]);
	}
	for (int k = 0; k < npl_layer_outputs(layer); k++)
		out[k] = value_of(group, group->out[l] + k);
	const uint64_t scratch = group->scratch[l] < 0
					 ? 0
					 : group->device->values.address + group->piece[group->scratch[l]].offset;
	if (group->counters.bytes)
		cu_kernels_count_at(group->device->kernels,
				    group->counters.address + (uint64_t)l * sizeof *group->saturations);
	if (cu_layer_run(&group->layer[l], in, out, scratch, err))
		return npl_prefix(err, "layer '%s'", layer->name);
	return 0;
}

/* Gives an observer a result in the session's type and in ONNX's order. */
static int observe_result(struct cu_layer_group *group, int h, const struct npl_layer_group_observer *observer,
			  struct npl_err *err)
{
	const struct cu_device *d = group->device;
	const struct cu_tensor *tensor = &group->tensor[h];
	const int64_t count = npl_tensor_count(tensor->host);
	const size_t bytes = (size_t)count * npl_dtype_size(tensor->dtype);
	struct npl_tensor copy = *tensor->host;
	copy.data = NULL;
	copy.owned = false;
	char *raw = malloc(2 * bytes + 1);
	int rc = raw ? npl_tensor_alloc(&copy, err) : npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes", bytes);
	if (!rc && bytes)
		rc = cu_try(&d->driver, err, cuMemcpyDtoHAsync, to_host, (raw, address_of(group, h), bytes, d->stream));
	if (!rc)
		rc = wait(group, err);
	const char *plain = raw;
	if (!rc && cu_layout_differs_from_onnx(group, h)) {
		cu_layout_turn(&copy.shape, npl_dtype_size(tensor->dtype), false, raw, raw + bytes);
		plain = raw + bytes;
	}
	if (!rc && tensor->dtype != copy.dtype)
		npl_half_widen(tensor->dtype, plain, count, copy.data);
	else if (!rc && bytes)
		memcpy(copy.data, plain, bytes);
	if (!rc)
		rc = observer->on_result(observer->context, tensor->layer, tensor->result, &copy, err);
	npl_tensor_free(&copy);
	free(raw);
	return rc;
}

static int observe_layer(struct cu_layer_group *group, int l, const struct npl_layer_group_observer *observer,
			 struct npl_err *err)
{
	for (int k = 0; k < npl_layer_outputs(group->request.layer[l]); k++)
		if (!group->tensor[group->out[l] + k].is_output && group->pass[l] >= 0 &&
		    observe_result(group, group->out[l] + k, observer, err))
			return err->code;
	return 0;
}

/* Puts all layers into the stream one by one. observer: NULL, or it gets their results. */
static int launch_layers(struct cu_layer_group *group, const struct npl_layer_group_observer *observer,
			 struct npl_err *err)
{
	for (int h = 0; h < group->n_tensors; h++)
		group->tensor[h].has_second_layout = false;
	for (int l = 0; l < group->request.n; l++) {
		if (((!l || observer) && record(group, group->begin[l], err)) || run_layer(group, l, err) ||
		    record(group, group->end[l], err) || (observer && observe_layer(group, l, observer, err)))
			return err->code;
	}
	return 0;
}

static int run_layers(struct cu_layer_group *group, const struct npl_layer_group_observer *observer,
		      struct npl_err *err)
{
	struct npl_err ignored;
	group->interleaved = observer && observer->on_result && !group->request.timing_only;
	if (group->interleaved)
		return launch_layers(group, observer, err);
	if (!cu_replay_is_current(group) &&
	    !(cu_replay_begin(group) && cu_replay_end(group, !launch_layers(group, NULL, &ignored))))
		return launch_layers(group, NULL, err);
	return cu_replay_launch(group, err);
}

static int copy_results_to_host(struct cu_layer_group *group, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	if (record(group, group->first_to_host_event, err))
		return err->code;
	for (int h = 0; h < group->n_tensors && !group->request.timing_only; h++) {
		const struct cu_tensor *tensor = &group->tensor[h];
		if (!tensor->is_output)
			continue;
		uint64_t from = tensor->host_copy_piece >= 0 ? landing_of(group, tensor).address : address_of(group, h);
		if (cast_for_transfer(group, h, false, err) ||
		    (bytes_of(tensor) && cu_try(&d->driver, err, cuMemcpyDtoHAsync, to_host,
						(host_memory(group, tensor), from, bytes_of(tensor), d->stream))) ||
		    record(group, tensor->event, err))
			return err->code;
	}
	if (wait(group, err))
		return err->code;
	for (int h = 0; h < group->n_tensors && !group->request.timing_only; h++)
		if (group->tensor[h].is_output && bytes_of(&group->tensor[h]) &&
		    host_memory(group, &group->tensor[h]) != group->tensor[h].host->data)
			memcpy(group->tensor[h].host->data, host_memory(group, &group->tensor[h]),
			       bytes_of(&group->tensor[h]));
	return 0;
}

/* Clears the fault word and the counters of saturated values before a run. */
static int clear_fault_and_counters(const struct cu_layer_group *group, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	if (cu_try(&d->driver, err, cuMemsetD8Async, set, (d->fault.address, 0, sizeof(int32_t), d->stream)))
		return err->code;
	return group->counters.bytes ? cu_try(&d->driver, err, cuMemsetD8Async, set,
					      (group->counters.address, 0, group->counters.bytes, d->stream))
				     : 0;
}

static int copy_counters_to_host(struct cu_layer_group *group, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	cu_kernels_count_at(d->kernels, 0);
	if (!group->counters.bytes)
		return 0;
	return cu_try(&d->driver, err, cuMemcpyDtoHAsync, to_host,
		      (group->saturations, group->counters.address, group->counters.bytes, d->stream));
}

/* Refuses a run in which a kernel has set the fault word: a kernel cannot stop at an index outside its tensor, a NaN
 * that should become an integer, or an invalid sequence length. */
static int check_fault(const struct cu_layer_group *group, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	int32_t fault = 0;
	if (cu_try(&d->driver, err, cuMemcpyDtoHAsync, to_host, (&fault, d->fault.address, sizeof fault, d->stream)) ||
	    wait(group, err))
		return err->code;
	switch (fault) {
	case 0:
		return 0;
	case CU_FAULT_NAN:
		return npl_fail(err, NPL_EINPUT,
				"a value that is to be quantised holds a NaN, which integers cannot hold");
	case CU_FAULT_LENGTH:
		return npl_fail(err, NPL_EINPUT,
				"sequence_lens holds a length that is negative or more than all steps");
	default:
		return npl_fail(err, NPL_EINPUT, "an index is outside of the tensor that it picks from");
	}
}

static int elapsed(const struct cu_layer_group *group, int from, int to, double *seconds, struct npl_err *err)
{
	float milliseconds = 0;
	if (cu_try(&group->device->driver, err, cuEventElapsedTime, event_elapsed,
		   (&milliseconds, group->event[from], group->event[to])))
		return err->code;
	*seconds = (double)milliseconds * 1e-3;
	return 0;
}

static int add_transfer(const struct cu_layer_group *group, const struct cu_tensor *tensor, int begin_event,
			struct npl_transfers *sum, struct npl_err *err)
{
	double seconds = 0;
	if (elapsed(group, begin_event, tensor->event, &seconds, err))
		return err->code;
	sum->n++;
	sum->bytes += bytes_of(tensor);
	sum->seconds += seconds;
	return 0;
}

static int fill_results(const struct cu_layer_group *group, struct npl_result *results, struct npl_err *err)
{
	int previous_event = 0;
	for (int h = 0; h < group->n_tensors; h++) { /* all given tensors are transferred before any output */
		const struct cu_tensor *tensor = &group->tensor[h];
		if (!is_copied_to_device(tensor))
			continue;
		if (add_transfer(group, tensor, previous_event, &results[tensor->layer].to_device, err))
			return err->code;
		previous_event = tensor->event;
	}
	previous_event = group->first_to_host_event;
	for (int h = 0; h < group->n_tensors && !group->request.timing_only; h++) {
		const struct cu_tensor *tensor = &group->tensor[h];
		if (!tensor->is_output)
			continue;
		if (add_transfer(group, tensor, previous_event, &results[tensor->layer].to_host, err))
			return err->code;
		previous_event = tensor->event;
	}
	for (int l = 0; l < group->request.n; l++) {
		const int begin = l && !group->interleaved ? group->end[l - 1] : group->begin[l];
		results[l].macs = group->request.layer[l]->macs;
		results[l].seconds_origin = NPL_TIME_MEASURED;
		results[l].saturations = group->saturations ? group->saturations[l] : 0;
		if (group->pass[l] < 0)
			continue;
		if (elapsed(group, begin, group->end[l], &results[l].seconds, err) ||
		    npl_result_energy(&results[l], "GPU", 0, 0, "absent", err))
			return err->code;
	}
	return 0;
}

int cu_layer_group_run(void *state, void *handle, const struct npl_layer_group_observer *observer,
		       struct npl_result *results, struct npl_err *err)
{
	const struct cu_device *d = state;
	struct cu_layer_group *group = handle;
	int rc = cu_device_enter(d, err);
	if (!rc && !group->ready)
		rc = cu_layer_group_prepare(group, err);
	if (!rc)
		rc = check_data(group, err);
	if (!rc)
		rc = reserve(group, err);
	if (!rc && !group->filled)
		rc = fill_constants(group, err);
	if (!rc)
		rc = clear_fault_and_counters(group, err);
	if (!rc)
		rc = copy_inputs_to_device(group, err);
	if (!rc)
		rc = run_layers(group, observer, err);
	if (!rc)
		rc = copy_results_to_host(group, err);
	if (!rc)
		rc = copy_counters_to_host(group, err);
	if (!rc)
		rc = check_fault(group, err);
	if (!rc) {
		group->has_run = true;
		return fill_results(group, results, err);
	}
	cu_kernels_count_at(d->kernels, 0);
	if (group->ready)
		/* Work that is still running must not write memory that other layer groups use next. */
		d->driver.stream_wait(d->stream);
	return rc;
}
