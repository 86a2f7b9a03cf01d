/* SPDX-License-Identifier: MIT
 *
 * What it costs to bring a value into another number format or memory (place_impl.h), by the formulas of a session: a
 * conversion is work of the host, and a value goes from one device to another through the host's memory. In a list of
 * unconnected layers nothing is converted or moved. */
#include "core/base/refuse.h"
#include "frontend/quantise/quantise.h"
#include "place_impl.h"

int place_kept_format(const struct place_model *m, int value, int format)
{
	return m->graph->value[value].dtype == NPL_F32 ? format : NPL_FORMAT_F32;
}

/* Describes a copy of the value in a number format. */
static struct npl_tensor copy_in(const struct place_model *m, int value, int format)
{
	const struct npl_value *v = &m->graph->value[value];
	const bool plain = format == NPL_FORMAT_F32 || v->dtype != NPL_F32;
	return (struct npl_tensor){.name = v->name,
				   .dtype = plain ? v->dtype : npl_format_dtype((enum npl_format)format),
				   .shape = v->shape};
}

static struct place_cost convert(const struct place_model *m, const struct npl_tensor *from,
				 const struct npl_tensor *to)
{
	const struct npl_processor_counts counts = npl_processor_conversion(from, to);
	const struct npl_processor_time time = npl_processor_estimate(m->host, NPL_PROCESSOR_F32, &counts);
	return (struct place_cost){time.seconds, time.seconds * time.watts};
}

int place_conversions_open(struct place_model *m, struct npl_err *err)
{
	m->conversion = npl_arena_array(&m->arena, (size_t)m->graph->n_values + 1, sizeof *m->conversion);
	if (!m->conversion)
		return npl_no_memory(err);
	for (int v = 0; v < m->graph->n_values && !m->graph->layer_list; v++) {
		const struct npl_tensor plain = copy_in(m, v, NPL_FORMAT_F32);
		for (int f = 0; f < NPL_FORMATS && m->last_use[v] >= 0 && !m->graph->value[v].constant; f++) {
			const struct npl_tensor copy = copy_in(m, v, f);
			m->conversion[v].bytes[f] = (double)npl_tensor_bytes(&copy);
			if (f == NPL_FORMAT_F32 || m->graph->value[v].dtype != NPL_F32)
				continue;
			m->conversion[v].from_float[f] = convert(m, &plain, &copy);
			m->conversion[v].to_float[f] = convert(m, &copy, &plain);
		}
	}
	return 0;
}

struct place_cost place_conversion(const struct place_model *m, int value, int from_format, int to_format)
{
	return to_format == NPL_FORMAT_F32 ? m->conversion[value].to_float[from_format]
					   : m->conversion[value].from_float[to_format];
}

struct place_cost place_transfer(const struct place_model *m, int value, int format, int device)
{
	const struct place_device *d = &m->device[device];
	const double bytes = m->conversion[value].bytes[format];
	if (m->graph->layer_list || d->works_in_host_memory)
		return (struct place_cost){0};
	return (struct place_cost){d->link_seconds + bytes / d->link_bytes_per_second, bytes * d->link_joules_per_byte};
}

static void add(struct place_cost *sum, struct place_cost cost)
{
	sum->seconds += cost.seconds;
	sum->joules += cost.joules;
}

struct place_cost place_route(const struct place_model *m, int value, int from_format, int from_memory, int to_format,
			      int to_memory)
{
	struct place_cost sum = {0};
	from_format = place_kept_format(m, value, from_format);
	to_format = place_kept_format(m, value, to_format);
	if (from_format == to_format && from_memory == to_memory)
		return sum;
	if (from_memory)
		add(&sum, place_transfer(m, value, from_format, from_memory - 1));
	if (from_format != to_format && from_format != NPL_FORMAT_F32)
		add(&sum, place_conversion(m, value, from_format, NPL_FORMAT_F32));
	if (from_format != to_format && to_format != NPL_FORMAT_F32)
		add(&sum, place_conversion(m, value, NPL_FORMAT_F32, to_format));
	if (to_memory)
		add(&sum, place_transfer(m, value, to_format, to_memory - 1));
	return sum;
}
