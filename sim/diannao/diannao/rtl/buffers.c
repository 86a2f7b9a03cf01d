/* SPDX-License-Identifier: MIT
 *
 * The rows of NBin, SB and NBout (Chen et al., ASPLOS 2014, section 5.2). The paper's NBin is circular: an index moves,
 * rows do not. Here SB and the results in NBout are circular too. The place of a row is taken before the row is
 * written, so no row is overwritten that is still to be read. */
#include "rtl.h"

#include <stdlib.h>
#include <string.h>

static bool open_rows(struct dn_rtl_buffer *buffer, int64_t rows, int64_t row_values, bool values)
{
	*buffer = (struct dn_rtl_buffer){.rows = rows, .row_values = row_values};
	if (values)
		buffer->value = calloc((size_t)rows, (size_t)row_values * sizeof *buffer->value);
	return !values || buffer->value;
}

int dn_rtl_buffers_open(struct dn_rtl *rtl)
{
	const struct dn_config *config = rtl->config;
	const bool values = rtl->engine_input->memory.bytes != NULL;
	struct dn_rtl_nbout *nbout = &rtl->nbout;
	nbout->tn = rtl->tn;
	nbout->sum_rows = dn_sum_rows(config);
	nbout->slots = config->nbout_sum_rows / nbout->sum_rows;
	nbout->first_result = config->nbout_sum_rows;
	nbout->result_rows = config->nbout_rows - config->nbout_sum_rows;
	if (values) {
		nbout->value = calloc((size_t)config->nbout_rows, (size_t)rtl->row_bytes);
		nbout->exact = calloc((size_t)nbout->slots + 1, (size_t)rtl->tn * sizeof *nbout->exact);
	}
	if (!open_rows(&rtl->nbin, config->nbin_rows, rtl->tn, values) ||
	    !open_rows(&rtl->sb, config->sb_rows, rtl->tn * rtl->tn, values) ||
	    (values && (!nbout->value || !nbout->exact)))
		return npl_fail(rtl->err, NPL_ENOMEM, "out of memory for the buffers of the rtl engine");
	return 0;
}

void dn_rtl_buffers_close(struct dn_rtl *rtl)
{
	free(rtl->nbin.value);
	free(rtl->sb.value);
	free(rtl->nbout.value);
	free(rtl->nbout.exact);
}

void dn_rtl_row_arrives(struct dn_rtl_buffer *buffer, const uint8_t *bytes, size_t size)
{
	const int64_t row = buffer->rows_arrived++ % buffer->rows;
	if (!buffer->value)
		return;
	int16_t *values = buffer->value + row * buffer->row_values;
	memcpy(values, bytes, size);
	memset((char *)values + size, 0, (size_t)buffer->row_values * sizeof *values - size);
}

const int16_t *dn_rtl_row(const struct dn_rtl_buffer *buffer, int64_t row)
{
	return buffer->value + row % buffer->rows * buffer->row_values;
}

/* Reads the sums in a place of NBout, whose row p has their bits from 16 p on. The sign of the highest row is the
 * sum's. */
void dn_rtl_sums_read(const struct dn_rtl_nbout *nbout, int64_t index, int64_t *sum, int64_t *exact)
{
	const int64_t tn = nbout->tn, top = nbout->sum_rows - 1;
	const int16_t *slot = nbout->value + index * nbout->sum_rows * tn;
	for (int64_t i = 0; i < tn; i++) {
		sum[i] = slot[top * tn + i];
		for (int64_t p = top - 1; p >= 0; p--)
			sum[i] = sum[i] * 65536 + (uint16_t)slot[p * tn + i];
		exact[i] = nbout->exact[index * tn + i];
	}
}

void dn_rtl_sums_write(struct dn_rtl_nbout *nbout, int64_t index, const int64_t *sum, const int64_t *exact)
{
	const int64_t tn = nbout->tn;
	int16_t *slot = nbout->value + index * nbout->sum_rows * tn;
	for (int64_t p = 0; p < nbout->sum_rows; p++)
		for (int64_t i = 0; i < tn; i++)
			slot[p * tn + i] = (int16_t)(sum[i] >> (16 * p));
	memcpy(nbout->exact + index * tn, exact, (size_t)tn * sizeof *exact);
}

/* Returns the 16-bit place that is `offset` places after the start of a result row. */
static int16_t *result_at(const struct dn_rtl_nbout *nbout, int64_t row, int64_t offset)
{
	const int64_t index = (row + offset / nbout->tn) % nbout->result_rows;
	return nbout->value + (nbout->first_result + index) * nbout->tn + offset % nbout->tn;
}

void dn_rtl_results_write(struct dn_rtl_nbout *nbout, int64_t row, const int64_t *result, int64_t lanes, bool wide)
{
	for (int64_t i = 0; i < lanes; i++) {
		if (!wide) {
			*result_at(nbout, row, i) = (int16_t)result[i];
			continue;
		}
		*result_at(nbout, row, 2 * i) = (int16_t)result[i];
		*result_at(nbout, row, 2 * i + 1) = (int16_t)(result[i] >> 16);
	}
}

void dn_rtl_results_read(const struct dn_rtl_nbout *nbout, int64_t row, uint8_t *bytes, uint64_t size)
{
	for (uint64_t i = 0; i < size; i += 2)
		memcpy(bytes + i, result_at(nbout, row, (int64_t)i / 2), 2);
}
