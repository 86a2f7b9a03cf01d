/* SPDX-License-Identifier: MIT
 *
 * Captures and launches CUDA graphs (replay.h). */
#include "replay.h"

bool cu_replay_is_current(const struct cu_layer_group *group)
{
	const struct cu_replay *replay = &group->replay;
	return replay->executable && replay->values_address == group->device->values.address &&
	       replay->workspace_address == group->device->workspace.address;
}

bool cu_replay_begin(struct cu_layer_group *group)
{
	const struct cu_device *d = group->device;
	cu_replay_close(group);
	if (!group->has_run || group->replay.refused)
		return false;
	group->replay.refused = d->driver.capture_begin(d->stream, CU_CAPTURE_OF_THREAD) != 0;
	group->replay.capturing = !group->replay.refused;
	return group->replay.capturing;
}

bool cu_replay_end(struct cu_layer_group *group, bool complete)
{
	const struct cu_device *d = group->device;
	struct cu_replay *replay = &group->replay;
	void *graph = NULL;
	replay->capturing = false;
	bool made = !d->driver.capture_end(d->stream, &graph) && complete && graph;
	made = made && !d->driver.graph_instantiate(&replay->executable, graph, 0);
	if (graph)
		d->driver.graph_destroy(graph);
	if (!made)
		replay->executable = NULL;
	replay->refused = !made;
	replay->values_address = d->values.address;
	replay->workspace_address = d->workspace.address;
	return made;
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
