/* SPDX-License-Identifier: MIT
 *
 * Parameters of the systolic machines. A parameter that a machine file leaves out is as in the TPU v1
 * (machines/tpu_v1.yaml has the sources), with two exceptions. Figures that were fitted to the TPU v1 are 0. Energies
 * are absent until a file gives them with their origin. The ranges keep every product of two parameters within 64
 * bits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/param_rows.h"
#include "tpu.h"

#define PARAM_CONFIG struct tpu_config
#define LINK(...)    NPL_LINK_PARAMS(__VA_ARGS__)
#define TECHNOLOGY   SIM_TECHNOLOGY
/* Makes the rows of the energy of one kind of event, and of the figure's source. */
#define ENERGY(key, figure, member, help)                                                                              \
	NUMBER(key "." figure, DOUBLE, member.pj, "0", 0, 1e9, "pJ", help),                                            \
		ORIGIN(key ".origin", member.origin, "where that figure is from", key "." figure)
#define PARAM_SIZE_LINK(...)
#define PARAM_SIZE_TECHNOLOGY(...)
#define PARAM_SIZE_ENERGY(...)

const struct npl_param tpu_params[] = {
#define TPU_PARAMETER(form, ...) form(__VA_ARGS__),
#include "parameters.def"
#undef TPU_PARAMETER
	{0},
};

const char tpu_size_keys[] =
#define TPU_PARAMETER(form, ...) PARAM_SIZE_##form(__VA_ARGS__)
#include "parameters.def"
#undef TPU_PARAMETER
	;

const struct npl_former_default tpu_former_defaults[] = {
	{"activate.latency_cycles", "550"}, {"issue.sync_cycles", "2000"}, {"host_link.latency_seconds", "6e-6"}, {0}};

const struct npl_param_condition tpu_conditions[] = {
	{"weight_memory.bytes_per_second", "weight_memory.preset", "fixed", NULL},
	{"weight_memory.channels energy.weight_memory.standby", "weight_memory.preset", NULL, "fixed ideal"},
	NPL_LINK_CONDITIONS("host_link"),
	{0}};

int64_t tpu_row_bytes(const struct tpu_config *config)
{
	return config->rows > config->columns ? config->rows : config->columns;
}

int64_t tpu_buffer_size_rows(const struct tpu_config *config)
{
	return config->buffer_bytes / tpu_row_bytes(config);
}

uint64_t tpu_link_bytes_per_second(const struct tpu_config *config)
{
	return (uint64_t)llround(config->link_bytes_per_second);
}

uint64_t tpu_link_latency_cycles(const struct tpu_config *config)
{
	return (uint64_t)ceil(config->link_latency_seconds * (double)config->clock_hz);
}

static bool is_fixed(const struct tpu_config *config)
{
	return !config->weight_preset || !strcmp(config->weight_preset, "fixed");
}

double tpu_weight_rate(const struct tpu_config *config)
{
	return is_fixed(config) ? (double)config->weight_bytes_per_second : config->weight_peak_bytes_per_second;
}

int tpu_config_check(const struct tpu_config *config, struct npl_err *err)
{
	int64_t row_bytes = tpu_row_bytes(config);
	if (config->buffer_bytes < 2 * row_bytes)
		return npl_fail_settings(
			err, NULL, "unified_buffer.bytes array.rows array.columns",
			"unified_buffer.bytes is %lld, expected two rows of %lld bytes at least, the greater of "
			"array.rows and array.columns",
			(long long)config->buffer_bytes, (long long)row_bytes);
	if (config->weight_bytes < config->rows * config->columns)
		return npl_fail_settings(
			err, NULL, "weight_memory.bytes array.rows array.columns",
			"weight_memory.bytes is %lld, expected one tile of %lld bytes at least, array.rows times "
			"array.columns",
			(long long)config->weight_bytes, (long long)(config->rows * config->columns));
	return 0;
}

int tpu_config_derive(struct tpu_config *config, struct npl_err *err)
{
	struct npl_link_model link;
	if (npl_link_model_of(&config->link, "host_link", &link, err))
		return err->code;
	config->link_bytes_per_second = npl_link_bytes_per_second(&link);
	config->link_latency_seconds = link.latency_seconds;
	return 0;
}

static int open_preset(const struct tpu_config *config, int64_t channels, bool every_cycle, struct npl_memory **memory,
		       struct npl_err *err)
{
	const struct npl_memory_options options = {
		.dram_channels = channels, .every_cycle = every_cycle, .clock = {config->clock_hz, 1}};
	if (!npl_memory_open(config->weight_preset, &options, memory, err))
		return 0;
	npl_prefix(err, "weight_memory.preset, which may also be fixed");
	return npl_blame_settings(err, "weight_memory", "preset");
}

/* A preset of weight memory with a number of channels; 0: the preset's own number. */
struct preset {
	bool has_channels;
	int64_t channels;
	uint64_t bytes;
};

static bool read_preset(const struct tpu_config *config, int64_t channels, struct preset *preset)
{
	struct npl_memory *memory;
	if (open_preset(config, channels, false, &memory, &(struct npl_err){0}))
		return false;
	const struct npl_memory_info *info = npl_memory_info(memory);
	*preset = (struct preset){*info->mapping, info->channels, info->capacity_bytes};
	npl_memory_close(memory);
	return true;
}

/* Says whether the user chose the value: by --set, even to the value that the file has, or in a file whose value is not
 * the shipped one's. */
static bool is_users(const struct npl_description *machine, const char *key)
{
	const struct npl_setting *setting = npl_description_setting(machine, key);
	return setting && (!setting->line || npl_description_source(machine, tpu_params, key) == NPL_SOURCE_OWN);
}

/* Sets channels and size where the user chose another weight memory. A memory file of one channel describes a part of
 * which a machine has several. A memory file of more channels, such as a stack of HBM, describes the whole. */
int tpu_config_adapt(void *tpu_config, const struct npl_description *machine, struct npl_arena *arena,
		     const char **note, struct npl_err *err)
{
	struct tpu_config *config = tpu_config;
	const int64_t channels = config->weight_channels, bytes = config->weight_bytes;
	const bool free_channels = !is_users(machine, "weight_memory.channels");
	struct preset file_preset, adapted;
	if (is_fixed(config) || !is_users(machine, "weight_memory.preset") || !read_preset(config, 0, &file_preset))
		return 0;
	if (free_channels && file_preset.has_channels && file_preset.channels > 1)
		config->weight_channels = file_preset.channels;
	if (!read_preset(config, config->weight_channels, &adapted))
		return 0;
	if (!is_users(machine, "weight_memory.bytes") && adapted.bytes < (uint64_t)bytes)
		config->weight_bytes = (int64_t)adapted.bytes;
	const char *of_channels =
		config->weight_channels != channels
			? npl_arena_printf(arena, "; weight_memory.channels is %lld, its own, instead of %lld",
					   (long long)config->weight_channels, (long long)channels)
		: free_channels && file_preset.has_channels && adapted.channels != file_preset.channels
			? npl_arena_printf(
				  arena,
				  "; weight_memory.channels is %lld, as the machine has it; the memory's file has "
				  "%lld (0 takes that)",
				  (long long)adapted.channels, (long long)file_preset.channels)
		: !free_channels && channels && !file_preset.has_channels && strcmp(config->weight_preset, "ideal")
			? "; weight_memory.channels has no effect, as this memory has none"
			: ""; /* of the preset ideal a row of tpu_conditions says the same */
	const char *of_bytes = config->weight_bytes != bytes
				       ? npl_arena_printf(
						 arena,
						 "; weight_memory.bytes is %lld, all that it holds, instead of %lld",
						 (long long)config->weight_bytes, (long long)bytes)
				       : "";
	if (of_channels && of_bytes && !*of_channels && !*of_bytes)
		return 0;
	*note = of_channels && of_bytes ? npl_arena_printf(arena, "weight_memory.preset is %s%s%s",
							   config->weight_preset, of_channels, of_bytes)
					: NULL;
	return *note ? 0 : npl_no_memory(err);
}

static int refuse_size(const struct tpu_config *config, const struct npl_memory_info *info, struct npl_err *err)
{
	const uint64_t weight_bytes = (uint64_t)config->weight_bytes,
		       channel_bytes = info->capacity_bytes / (uint64_t)info->channels;
	const uint64_t channels = channel_bytes ? npl_div_up_u64(weight_bytes, channel_bytes) : UINT64_MAX;
	char channels_text[40] = "", remedy[80] = "";
	if (*info->mapping)
		snprintf(channels_text, sizeof channels_text, " with %lld channel%s", (long long)info->channels,
			 npl_plural(info->channels));
	if (*info->mapping && channels <= 64)
		snprintf(remedy, sizeof remedy, ", or weight_memory.channels to %llu or more",
			 (unsigned long long)channels);
	return npl_fail_settings(
		err, "weight_memory", *remedy ? "bytes preset channels" : "bytes preset",
		"weight_memory.bytes is %llu, and the weight_memory.preset %s%s holds %llu: set weight_memory.bytes "
		"to that or less%s",
		(unsigned long long)weight_bytes, info->name, channels_text, (unsigned long long)info->capacity_bytes,
		remedy);
}

int tpu_weight_memory_open(const struct tpu_config *config, bool every_cycle, struct npl_memory **memory,
			   struct npl_err *err)
{
	*memory = NULL;
	if (is_fixed(config))
		return 0;
	if (open_preset(config, config->weight_channels, every_cycle, memory, err))
		return err->code;
	const struct npl_memory_info *info = npl_memory_info(*memory);
	if (info->capacity_bytes >= (uint64_t)config->weight_bytes)
		return 0;
	refuse_size(config, info, err);
	npl_memory_close(*memory);
	*memory = NULL;
	return err->code;
}
