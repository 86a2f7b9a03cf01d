/* SPDX-License-Identifier: MIT
 *
 * Captures and launches CUDA graphs (replay.h). */
#include "replay.h"

#include "backends/cuda/load/graph.h"

bool cu_replay_is_current(const struct cu_layer_group *group)
{
	const struct cu_replay *replay = &group->replay;
	return replay->executable && replay->values_address == group->device->values.address &&
	       replay->workspace_address == group->device->workspace.address;
}

bool cu_replay_begin(struct cu_layer_group *group)
{
	struct cu_replay *replay = &group->replay;
	cu_replay_close(group);
	if (group->has_run && !replay->refused)
		replay->capturing = cu_capture_begin(&group->device->driver, group->device->stream);
	return replay->capturing;
}

bool cu_replay_end(struct cu_layer_group *group, bool complete)
{
	const struct cu_device *d = group->device;
	struct cu_replay *replay = &group->replay;
	replay->capturing = false;
	replay->executable = cu_capture_end(&d->driver, d->stream, complete);
	replay->refused = !replay->executable;
	replay->values_address = d->values.address;
	replay->workspace_address = d->workspace.address;
	return !replay->refused;
}

int cu_replay_launch(const struct cu_layer_group *group, struct npl_err *err)
{
	const struct cu_device *d = group->device;
	return cu_try(&d->driver, err, cuGraphLaunch, graph_launch, (group->replay.executable, d->stream));
}

void cu_replay_close(struct cu_layer_group *group)
{
	if (group->replay.executable)
		group->device->driver.graph_exec_destroy(group->replay.executable);
	group->replay.executable = NULL;
}
