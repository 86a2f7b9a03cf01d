/* SPDX-License-Identifier: MIT
 *
 * Where a layer lies in memory, and the descriptors of what each of its tiles loads and stores (schedule.h). One
 * after the other from address 0, each at a page of 4096 bytes: inputs, kernels, results. */
#include "schedule.h"

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static uint64_t page(uint64_t bytes)
{
	return (bytes + 4095) / 4096 * 4096;
}

void dn_place(struct dn_schedule *schedule)
{
	struct dn_schedule *s = schedule;
	const struct dn_work *w = s->work;
	s->channels = s->sums ? w->groups * w->ni : w->ni;
	s->out_channels = s->sums ? w->groups * w->no : w->no;
	s->out_bytes = w->raw ? 4 : 2;
	s->bias_bytes = w->bias ? (uint64_t)(4 * s->config->tn) : 0;
	s->record_bytes = s->sums ? dn_kernel_bytes(s->config, w) : 0;
	s->synapse_base = page(2 * (uint64_t)(w->images * w->in[0] * w->in[1] * s->channels));
	s->out_base = s->synapse_base + page((uint64_t)(w->groups * s->groups) * s->record_bytes);
	s->memory_bytes = s->out_base + (uint64_t)(w->images * dn_positions(w) * s->out_channels * s->out_bytes);
}

uint64_t dn_memory_bytes(const struct dn_config *config, const struct dn_work *work)
{
	struct dn_schedule s;
	const struct dn_traffic none = {0};
	dn_schedule_of(config, work, &none, &s);
	return s.memory_bytes;
}

static uint64_t input_at(const struct dn_schedule *s, const struct dn_cursor *c, int64_t y, int64_t x, int64_t map)
{
	const struct dn_work *w = s->work;
	int64_t group = c->group * w->ni + c->maps * s->config->tn;
	return 2 * (uint64_t)(((c->image * w->in[0] + y) * w->in[1] + x) * s->channels + group + map);
}

/* Bytes of the maps of a tile at one input position. */
static int64_t pixel_bytes(const struct dn_schedule *s, const struct dn_cursor *c)
{
	int64_t maps = s->work->ni;
	return 2 * (s->sums ? maps : min(s->config->tn, maps - c->maps * s->config->tn));
}

/* Lines by columns. Windows that meet have their new columns side by side; else each window is for itself, *at
 * counts them. */
static bool resident_input(const struct dn_schedule *s, const struct dn_cursor *c, int64_t *at,
			   struct npl_dma_descriptor *d)
{
	const struct dn_work *w = s->work;
	const struct npl_window *v = &w->window;
	struct dn_range down = dn_lines(s, c, false), across = {0, 0};
	bool meet = v->dilation[1] == 1 && v->stride[1] <= v->kernel[1];
	int64_t o = c->x + *at, left = 0, count = 0;
	for (; o < c->x_end && !count; o++) {
		across = dn_new_taps(&s->axis[1], o, c->first);
		count = across.end - across.first;
		left = dn_tap_at(&s->axis[1], o, across.first);
	}
	if (!count || down.end == down.first)
		return false;
	if (meet) {
		int64_t last = c->x_end - 1;
		for (across.end = across.first; last >= o - 1 && across.end == across.first; last--)
			across = dn_new_taps(&s->axis[1], last, c->first);
		count = dn_tap_at(&s->axis[1], last + 1, across.end - 1) + 1 - left;
		o = c->x_end;
	}
	*at = o - c->x;
	*d = (struct npl_dma_descriptor){
		.address = input_at(s, c, dn_tap_at(&s->axis[0], c->y, down.first), left, 0),
		.row_bytes = (uint64_t)pixel_bytes(s, c),
		.count = {(uint64_t)count, (uint64_t)(down.end - down.first)},
		.stride = {2 * s->channels * v->dilation[1], 2 * s->channels * w->in[1] * v->dilation[0]},
		.apart = true};
	return true;
}

/* Rows of one window: part of a tap, or neighbouring taps of one line. *at counts the rows. */
static bool streamed_input(const struct dn_schedule *s, const struct dn_cursor *c, int64_t *at,
			   struct npl_dma_descriptor *d)
{
	const struct dn_work *w = s->work;
	const struct npl_window *v = &w->window;
	int64_t oy = c->position / w->out[1], ox = c->position % w->out[1], tn = s->config->tn;
	for (int64_t row = c->row + *at; row < c->row_end; row = c->row + *at) {
		int64_t tap = row / s->in_rows, part = row % s->in_rows, left = c->row_end - row;
		int64_t ky = tap / v->kernel[1], kx = tap % v->kernel[1], taps = 1, rows = s->in_rows;
		if (part || left < s->in_rows)
			rows = min(s->in_rows - part, left);
		else
			taps = min(left / s->in_rows, v->kernel[1] - kx);
		*at += taps * rows;
		struct dn_range down = dn_taps_inside(&s->axis[0], oy, ky, ky + 1);
		struct dn_range across = dn_taps_inside(&s->axis[1], ox, kx, kx + taps);
		if (down.end == down.first || across.end == across.first)
			continue;
		int64_t bytes = pixel_bytes(s, c);
		if (rows < s->in_rows)
			bytes = min(bytes - 2 * part * tn, 2 * rows * tn);
		*d = (struct npl_dma_descriptor){.address = input_at(s, c, dn_tap_at(&s->axis[0], oy, ky),
								     dn_tap_at(&s->axis[1], ox, across.first),
								     part * tn),
						 .row_bytes = (uint64_t)bytes,
						 .count = {(uint64_t)(across.end - across.first), 1},
						 .stride = {2 * s->channels * v->dilation[1], 0},
						 .apart = true};
		return true;
	}
	return false;
}

bool dn_next_input(const struct dn_schedule *schedule, const struct dn_cursor *cursor, int64_t *at,
		   struct npl_dma_descriptor *descriptor)
{
	return (schedule->tiles->resident ? resident_input : streamed_input)(schedule, cursor, at, descriptor);
}

/* Of the row in a sequence of kernels; biases are before the first row of each. */
static uint64_t row_at(const struct dn_schedule *s, int64_t row)
{
	uint64_t record = (uint64_t)(row / s->window_rows) * s->record_bytes, in = (uint64_t)(row % s->window_rows);
	return record + (in ? s->bias_bytes + in * (uint64_t)dn_sb_row_bytes(s->config) : 0);
}

void dn_synapses(const struct dn_schedule *schedule, const struct dn_cursor *cursor, int64_t from, int64_t end,
		 struct npl_dma_descriptor *descriptor)
{
	const struct dn_schedule *s = schedule;
	int64_t row = s->tiles->resident ? 0 : cursor->row;
	uint64_t kernel = (uint64_t)(cursor->group * s->groups + cursor->sub) * s->record_bytes;
	uint64_t begin = row_at(s, row + from);
	*descriptor = (struct npl_dma_descriptor){.address = s->synapse_base + kernel + begin,
						  .row_bytes = row_at(s, row + end) - begin};
}

void dn_results(const struct dn_schedule *schedule, const struct dn_cursor *cursor,
		struct npl_dma_descriptor *descriptor)
{
	const struct dn_schedule *s = schedule;
	const struct dn_cursor *c = cursor;
	const struct dn_work *w = s->work;
	int64_t position = s->tiles->resident ? c->y * w->out[1] + c->x : c->position;
	int64_t maps = s->sums ? w->no : s->out_channels, map = (s->sums ? c->sub : c->maps) * s->config->tn;
	int64_t end = min(s->sums ? c->sub_end * s->config->tn : map + s->config->tn, maps);
	uint64_t at = (uint64_t)((c->image * dn_positions(w) + position) * s->out_channels + c->group * w->no + map);
	*descriptor = (struct npl_dma_descriptor){.address = s->out_base + at * (uint64_t)s->out_bytes,
						  .row_bytes = (uint64_t)((end - map) * s->out_bytes),
						  .count = {(uint64_t)(s->tiles->resident ? c->x_end - c->x : 1), 1},
						  .stride = {s->out_channels * s->out_bytes, 0},
						  .is_write = true,
						  .apart = true};
}
