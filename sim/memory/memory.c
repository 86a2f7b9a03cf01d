/* SPDX-License-Identifier: MIT
 *
 * The memory port (npulab/memory.h): opens memories by name into one kind of handle, whatever their model is. */
#include "memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "core/files/data_names.h"
#include "core/params_impl.h"
#include "core/setting_location.h"
#include "npulab/device.h"

struct npl_memory {
	const struct memory_model *model;
	struct npl_description description;
	struct npl_memory_info info;
	struct npl_arena arena;
	void *config, *state;
};

static const struct memory_model *find_model(const char *name, bool every_cycle)
{
	if (!strcmp(name, "dram"))
		return every_cycle ? &memory_dram_stepped : &memory_dram;
	if (!strcmp(name, "fixed"))
		return &memory_fixed;
	return strcmp(name, "ideal") ? NULL : &memory_ideal;
}

const struct npl_param *npl_memory_parameter(const char *model, const char *key)
{
	const struct memory_model *found = find_model(model, false);
	return found ? npl_param_find(found->params, key) : NULL;
}

int npl_memory_list(struct npl_arena *arena, const char *const **names, int *n, struct npl_err *err)
{
	return npl_data_names("memories", NULL, 0, arena, names, n, err);
}

static int find_file(const char *name, struct npl_arena *arena, const char **path, struct npl_err *err)
{
	char shipped[PATH_MAX + 300];
	bool ships;
	const char *const *names = NULL;
	int n = 0;
	*path = name;
	if (npl_is_yaml_path(name))
		return 0;
	if (npl_data_path("memories", name, shipped, sizeof shipped, &ships, err))
		return err->code;
	if (ships) {
		*path = npl_arena_strdup(arena, shipped);
		return *path ? 0 : npl_fail(err, NPL_ENOMEM, "%s: out of memory", name);
	}
	if (npl_memory_list(arena, &names, &n, err))
		return err->code;
	const char *nearest = NPL_NEAREST_ONLY(name, names, *name ? n : 0);
	return npl_fail(err, NPL_EUSAGE, "there is no memory '%s'%s", name,
			*nearest ? nearest : " (`npulab dram --list` has them)");
}

/* Finds the sources of a memory's parameters. `ships`: the memory is a file of memories/. */
static int find_sources(struct npl_memory *memory, const char *name, bool ships, struct npl_err *err)
{
	static const struct npl_shipped_files memories = {"memories", "memory", "model"};
	struct npl_description *description = &memory->description, shipped = *description;
	if (!ships && npl_description_find_shipped(description, &memories, &memory->arena, &shipped, err))
		return err->code;
	if (ships)
		description->copied_from = npl_arena_strdup(&memory->arena, name);
	if (ships && !description->copied_from)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", name);
	return npl_description_sources(description, memory->model->params, memory->config,
				       shipped.name ? &shipped : NULL, &memory->arena, err);
}

/* Adds the options that the memory's file has too to its settings, so that a message about them names the option. */
static int apply_options(struct npl_memory *memory, const struct npl_memory_options *options, struct npl_err *err)
{
	char channels[24], typed[300];
	struct npl_setting setting = {.key = "organisation.channels", .value = channels, .typed = typed};
	if (strcmp(memory->model->name, "dram") && (options->channels || options->mapping))
		return npl_fail(err, NPL_EUSAGE, "%s: the model '%s' has no channels and no mapping",
				memory->description.name, memory->model->name);
	snprintf(channels, sizeof channels, "%" PRId64, options->channels);
	snprintf(typed, sizeof typed, "--channels %s", channels);
	if (options->channels && npl_params_set(&memory->description, &memory->arena, &setting, err))
		return err->code;
	snprintf(typed, sizeof typed, "--mapping %s", options->mapping ? options->mapping : "");
	setting.key = "mapping";
	setting.value = options->mapping;
	return options->mapping ? npl_params_set(&memory->description, &memory->arena, &setting, err) : 0;
}

/* Finds the model that the memory's file names, and checks the memory's name. */
static int read_headings(struct npl_memory *memory, bool every_cycle, struct npl_err *err)
{
	const struct npl_description *description = &memory->description;
	char location[NPL_SETTING_LOCATION];
	memory->model = *description->name ? find_model(description->driver_or_model, every_cycle) : NULL;
	if (memory->model)
		return 0;
	if (!*description->name)
		npl_fail(err, NPL_EINPUT, "%s: the name is empty, expected a word",
			 npl_setting_heading_location(description, description->line.name, location));
	else
		npl_fail(err, NPL_EINPUT, "%s: the model is '%s', expected ideal, fixed or dram",
			 npl_setting_heading_location(description, description->line.driver_or_model, location),
			 description->driver_or_model);
	err->in_file = true;
	return NPL_EINPUT;
}

/* Adds the settings behind a name, "@KEY=VALUE@KEY=VALUE". */
static int apply_settings(struct npl_memory *memory, const char *settings, struct npl_err *err)
{
	while (*settings) {
		const size_t length = 1 + npl_data_name_length(settings + 1), key = strcspn(settings, "=");
		const char *typed = npl_arena_strndup(&memory->arena, settings, length);
		const struct npl_setting setting = {
			.key = npl_arena_strndup(&memory->arena, settings + 1, key - 1),
			.value = npl_arena_strndup(&memory->arena, settings + key + 1, length - key - 1),
			.typed = npl_arena_printf(&memory->arena, "%s%s", memory->description.name,
						  typed ? typed : "")};
		if (!typed || !setting.key || !setting.value || !setting.typed)
			return npl_no_memory(err);
		if (npl_params_set(&memory->description, &memory->arena, &setting, err))
			return err->code;
		settings += length;
	}
	return 0;
}

static int open_memory(struct npl_memory *memory, const char *text, const struct npl_memory_options *options,
		       struct npl_err *err)
{
	const size_t length = npl_data_name_length(text);
	const char *path, *name = npl_arena_strndup(&memory->arena, text, length);
	if (!name)
		return npl_no_memory(err);
	if (find_file(name, &memory->arena, &path, err) ||
	    npl_description_load(path, "model", &memory->arena, &memory->description, err) ||
	    read_headings(memory, options->every_cycle, err) || apply_settings(memory, text + length, err))
		return err->code;
	memory->config = npl_arena_alloc(&memory->arena, memory->model->config_bytes);
	if (!memory->config)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", name);
	if (apply_options(memory, options, err) ||
	    npl_params_read(memory->model->params, &memory->description, &memory->arena, memory->config, err))
		return err->code;
	const char *shown = npl_arena_printf(&memory->arena, "%s%s", memory->description.name, text + length);
	if (!shown)
		return npl_no_memory(err);
	memory->info = (struct npl_memory_info){.name = shown,
						.model = memory->model->name,
						.description = memory->description.description,
						.channels = 1,
						.mapping = ""};
	if (memory->model->open(memory->config, options, &memory->info, &memory->state, err))
		return err->code == NPL_ENOMEM ? npl_prefix(err, "%s", memory->description.name)
					       : npl_setting_locate_fault(&memory->description, err);
	return find_sources(memory, name, path != name, err);
}

int npl_memory_open(const char *name, const struct npl_memory_options *options, struct npl_memory **memory,
		    struct npl_err *err)
{
	static const struct npl_memory_options no_options;
	*memory = calloc(1, sizeof **memory);
	if (!*memory)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", name);
	if (open_memory(*memory, name, options ? options : &no_options, err)) {
		npl_memory_close(*memory);
		*memory = NULL;
		return err->code;
	}
	return 0;
}

void npl_memory_close(struct npl_memory *memory)
{
	if (!memory)
		return;
	if (memory->model)
		memory->model->close(memory->state);
	npl_arena_free(&memory->arena);
	free(memory);
}

void npl_memory_reset(struct npl_memory *memory)
{
	memory->model->reset(memory->state);
}

const struct npl_memory_info *npl_memory_info(const struct npl_memory *memory)
{
	return &memory->info;
}

bool npl_memory_can_accept(const struct npl_memory *memory, const struct npl_memory_request *request)
{
	return memory->model->can_accept(memory->state, request);
}

void npl_memory_push(struct npl_memory *memory, const struct npl_memory_request *request)
{
	memory->model->push(memory->state, request);
}

void npl_memory_step(struct npl_memory *memory)
{
	memory->model->advance(memory->state, memory->model->now(memory->state) + 1, 0);
}

uint64_t npl_memory_now(const struct npl_memory *memory)
{
	return memory->model->now(memory->state);
}

bool npl_memory_completed(struct npl_memory *memory, struct npl_memory_completion *completion)
{
	return memory->model->take(memory->state, completion, 1);
}

uint64_t npl_memory_take(struct npl_memory *memory, struct npl_memory_completion *completions, uint64_t capacity)
{
	return memory->model->take(memory->state, completions, capacity);
}

void npl_memory_advance(struct npl_memory *memory, uint64_t until, unsigned stop)
{
	memory->model->advance(memory->state, until, stop);
}

/* Pushes requests until one is refused. */
static void push_until_refused(struct npl_memory *memory, struct npl_memory_feed *feed)
{
	const uint64_t max_per_cycle = feed->per_cycle ? feed->per_cycle : UINT64_MAX;
	while (feed->n_pushed < feed->n && feed->n_pushed_now < max_per_cycle) {
		struct npl_memory_request request = feed->requests[feed->n_pushed];
		if (!npl_memory_can_accept(memory, &request))
			return;
		request.tag += feed->tag_per_cycle * npl_memory_now(memory);
		npl_memory_push(memory, &request);
		feed->n_pushed++;
		feed->n_pushed_now++;
	}
}

void npl_memory_feed(struct npl_memory *memory, struct npl_memory_feed *feed)
{
	if (memory->model->feed) {
		memory->model->feed(memory->state, feed);
		return;
	}
	for (;; feed->n_pushed_now = 0) {
		push_until_refused(memory, feed);
		if (feed->n_pushed == feed->n)
			return;
		if (feed->per_cycle && feed->n_pushed_now == feed->per_cycle)
			npl_memory_step(memory);
		else if (npl_memory_pending(memory) >= NPL_MEMORY_MAX_PENDING)
			return;
		else
			npl_memory_advance(memory, UINT64_MAX, NPL_MEMORY_ROOM);
	}
}

uint64_t npl_memory_pending(const struct npl_memory *memory)
{
	return memory->model->pending(memory->state);
}

bool npl_memory_relative_state(const struct npl_memory *memory, struct npl_memory_words *words,
			       uint64_t (*tag_of)(const void *asker, uint64_t tag), const void *asker)
{
	if (!memory->model->relative)
		return false;
	memory->model->relative(memory->state, words, tag_of, asker);
	return true;
}

void npl_memory_counters(const struct npl_memory *memory, struct npl_memory_counters *counters)
{
	memory->model->count(memory->state, counters);
}

int npl_memory_energy_of(const struct npl_memory *memory, const struct npl_memory_counters *counters,
			 struct npl_memory_energy energy[NPL_MEMORY_ENERGIES])
{
	return memory->model->energy(memory->config, counters, energy);
}

char *npl_memory_yaml(const struct npl_memory *memory, struct npl_arena *arena)
{
	return npl_params_dump(memory->model->params, &memory->description, memory->config, arena);
}

int npl_memory_settings(const struct npl_memory *memory, struct npl_arena *arena, const struct npl_param_value **values,
			int *n)
{
	return npl_params_values(memory->model->params, &memory->description, memory->config, arena, values, n);
}
