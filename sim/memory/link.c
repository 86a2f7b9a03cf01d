/* SPDX-License-Identifier: MIT
 *
 * Links (sim/memory/link_model.h): payload rates of PCI Express and of clocked parallel links.
 *
 * PCI Express Base Specification, what a lane carries and what surrounds a packet of header and data:
 *
 *     generation  transfers/s  code       around a packet
 *     1, 2        2.5, 5 G     8b/10b     8 bytes: STP, sequence number (2), LCRC (4), END
 *     3, 4, 5     8, 16, 32 G  128b/130b  8 bytes: the STP token with the sequence number (4), LCRC (4)
 *     6           64 G         flits      none: 236 of the 256 bytes of a flit are packets, 20 are DLP, CRC and FEC
 *
 * A header is 12 bytes, 16 with a 64-bit address. HyperTransport I/O Link Specification: data packets of up to 64
 * bytes after a control packet of 4 or 8 bytes, 2 to 32 wires a direction, two bits per clock on each, no line
 * code. */
#include "core/base/arith.h"
#include "link_model.h"

#include <inttypes.h>

#define WORD 4 /* bytes; payloads are whole words */

static struct npl_ratio ratio(int64_t numerator, int64_t denominator)
{
	int64_t common = npl_gcd(numerator, denominator);
	return (struct npl_ratio){numerator / common, denominator / common};
}

/* Multiplies in lowest terms and crosswise, so that the product fits: line rates are below 2^51 and packets below
 * 2^17. */
static struct npl_ratio times(struct npl_ratio a, struct npl_ratio b)
{
	struct npl_ratio x = ratio(a.numerator, b.denominator), y = ratio(b.numerator, a.denominator);
	return (struct npl_ratio){x.numerator * y.numerator, x.denominator * y.denominator};
}

static const struct generation {
	int64_t line_numerator, line_denominator; /* bytes per second and lane */
	int64_t framing_bytes;
} generations[] = {
	{2500000000 / 10, 1, 8},         {5000000000 / 10, 1, 8},         {8000000000 / 8 * 128, 130, 8},
	{16000000000 / 8 * 128, 130, 8}, {32000000000 / 8 * 128, 130, 8}, {64000000000 / 8 * 236, 256, 0},
};
#define GENERATIONS ((int64_t)(sizeof generations / sizeof *generations))

static bool is_power_of_two(int64_t n)
{
	return n > 0 && !(n & (n - 1));
}

static int pcie(const struct npl_link_config *c, const char *prefix, struct npl_link_model *model, struct npl_err *err)
{
	if (c->generation < 1 || c->generation > GENERATIONS)
		return npl_fail_settings(err, prefix, "generation",
					 "%s.generation is %" PRId64 ", expected 1 to %" PRId64 " for PCI Express",
					 prefix, c->generation, GENERATIONS);
	if (c->lanes > 32 || (!is_power_of_two(c->lanes) && c->lanes != 12))
		return npl_fail_settings(err, prefix, "lanes",
					 "%s.lanes is %" PRId64 ", expected 1, 2, 4, 8, 12, 16 or 32 for PCI Express",
					 prefix, c->lanes);
	if (c->generation == 6 && c->lanes > 16)
		return npl_fail_settings(err, prefix, "lanes generation",
					 "%s.lanes is %" PRId64 ", expected at most 16 lanes while %s.generation is 6",
					 prefix, c->lanes, prefix);
	if (!is_power_of_two(c->payload_bytes) || c->payload_bytes < 128 || c->payload_bytes > 4096)
		return npl_fail_settings(err, prefix, "payload_bytes",
					 "%s.payload_bytes is %" PRId64
					 ", expected 128, 256, 512, 1024, 2048 or 4096 for a packet "
					 "of PCI Express",
					 prefix, c->payload_bytes);
	if (c->header_bytes < 12 || c->header_bytes > 256 || c->header_bytes % WORD)
		return npl_fail_settings(err, prefix, "header_bytes",
					 "%s.header_bytes is %" PRId64
					 ", expected 12 to 256 in words of 4 for PCI Express",
					 prefix, c->header_bytes);
	const struct generation *g = &generations[c->generation - 1];
	model->line = ratio(g->line_numerator * c->lanes, g->line_denominator);
	model->payload_bytes = c->payload_bytes;
	model->overhead_bytes = c->header_bytes + g->framing_bytes;
	return 0;
}

static int hypertransport(const struct npl_link_config *c, const char *prefix, struct npl_link_model *model,
			  struct npl_err *err)
{
	if (c->clock_hz < NPL_LINK_MIN_CLOCK || c->clock_hz > NPL_LINK_MAX_CLOCK || c->width_bits < 1 ||
	    c->width_bits > 1024 || c->transfers_per_clock < 1 || c->transfers_per_clock > 16)
		return npl_fail_settings(err, prefix, "clock_hz width_bits transfers_per_clock",
					 "%s.clock_hz is %" PRId64 ", %s.width_bits %" PRId64
					 " and %s.transfers_per_clock %" PRId64
					 ", expected a clock of 1000 to 1e11 Hz, 1 to 1024 bits and 1 to 16 transfers",
					 prefix, c->clock_hz, prefix, c->width_bits, prefix, c->transfers_per_clock);
	if (c->payload_bytes < WORD || c->payload_bytes > 65536 || c->payload_bytes % WORD)
		return npl_fail_settings(err, prefix, "payload_bytes",
					 "%s.payload_bytes is %" PRId64 ", expected up to 65536 bytes in words of 4",
					 prefix, c->payload_bytes);
	if (c->header_bytes < 0 || c->header_bytes > 256 || c->header_bytes % WORD)
		return npl_fail_settings(err, prefix, "header_bytes",
					 "%s.header_bytes is %" PRId64 ", expected up to 256 bytes in words of 4",
					 prefix, c->header_bytes);
	model->line = ratio(c->clock_hz * c->width_bits * c->transfers_per_clock, 8);
	model->payload_bytes = c->payload_bytes;
	model->overhead_bytes = c->header_bytes;
	return 0;
}

static int plain(const struct npl_link_config *c, const char *prefix, struct npl_link_model *model, struct npl_err *err)
{
	if (c->bytes_per_second < 1)
		return npl_fail_settings(err, prefix, "bytes_per_second kind name",
					 "%s.bytes_per_second is %" PRId64
					 ", expected a bandwidth for a plain link (%s.kind, %s.name)",
					 prefix, c->bytes_per_second, prefix, prefix);
	model->line = (struct npl_ratio){c->bytes_per_second, 1};
	return 0;
}

int npl_link_model_of(const struct npl_link_config *config, const char *prefix, struct npl_link_model *model,
		      struct npl_err *err)
{
	static int (*const kinds[])(const struct npl_link_config *, const char *, struct npl_link_model *,
				    struct npl_err *) = {plain, pcie, hypertransport};
	*model = (struct npl_link_model){.latency_seconds = config->latency_seconds};
	if (config->kind < 0 || config->kind >= (int)(sizeof kinds / sizeof *kinds))
		return npl_fail_settings(err, prefix, "kind", "%s.kind is %d, which is not a kind of link", prefix,
					 config->kind);
	if (config->limit_bytes_per_second < 0 || !(config->latency_seconds >= 0))
		return npl_fail_settings(err, prefix, "limit_bytes_per_second latency_seconds",
					 "%s.limit_bytes_per_second is %" PRId64
					 " and %s.latency_seconds %g, expected 0 at least",
					 prefix, config->limit_bytes_per_second, prefix, config->latency_seconds);
	if (config->kind != NPL_LINK_PLAIN && config->bytes_per_second > 0)
		return npl_fail_settings(err, prefix, "bytes_per_second kind",
					 "%s.bytes_per_second is %" PRId64
					 ", expected 0 for a link whose %s.kind is not plain",
					 prefix, config->bytes_per_second, prefix);
	if (kinds[config->kind](config, prefix, model, err))
		return err->code;
	model->rate = model->line;
	if (model->payload_bytes)
		model->rate = times(model->line,
				    ratio(model->payload_bytes, model->payload_bytes + model->overhead_bytes));
	/* A plain link's only bandwidth is all there is to it. */
	const int64_t limit = config->kind == NPL_LINK_PLAIN ? 0 : config->limit_bytes_per_second;
	if (limit && (npl_u128)limit * (npl_u128)model->rate.denominator < (npl_u128)model->rate.numerator)
		model->rate = (struct npl_ratio){limit, 1};
	return 0;
}

double npl_link_bytes_per_second(const struct npl_link_model *model)
{
	return (double)model->rate.numerator / (double)model->rate.denominator;
}

struct npl_link npl_link_of(const struct npl_link_config *config, double bytes_per_second)
{
	return (struct npl_link){.name = config->name,
				 .bytes_per_second = bytes_per_second,
				 .latency_seconds = config->latency_seconds,
				 .pj_per_byte = config->pj_per_byte,
				 .energy_origin = config->energy_origin};
}
