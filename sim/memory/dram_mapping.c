/* SPDX-License-Identifier: MIT
 *
 * Finds the location of an address. The number of an access is written in digits, one for each field of the mapping;
 * the last field named is the lowest digit. `row:bank:column:channel` sends consecutive accesses to the channels in
 * turn, then along a row. Fields with a single choice may be left out. Without `bankgroup`, `bank` counts through the
 * groups: the banks of a group come one after the other. */
#include <string.h>

#include "dram.h"

static const char *const field_names[] = {
	[DRAM_ROW] = "row",   [DRAM_RANK] = "rank",     [DRAM_GROUP] = "bankgroup",
	[DRAM_BANK] = "bank", [DRAM_COLUMN] = "column", [DRAM_CHANNEL] = "channel",
};
_Static_assert(sizeof field_names / sizeof *field_names == DRAM_FIELDS, "each field has a name");

static int field_of(const char *word, size_t length)
{
	for (int f = 0; f < DRAM_FIELDS; f++)
		if (strlen(field_names[f]) == length && !strncmp(field_names[f], word, length))
			return f;
	return -1;
}

static int refuse(const struct dram_config *config, const char *reason, const char *field, size_t length,
		  struct npl_err *err)
{
	return npl_fail_settings(
		err, NULL, "mapping",
		"the mapping '%s' %s '%.*s', expected row, rank, bankgroup, bank, column and channel in some order, "
		"joined by colons",
		config->mapping, reason, (int)length, field);
}

/* Reads the fields in the order of the text; `field_mask` has a bit for each. */
static int read_fields(const struct dram_config *config, enum dram_field order[DRAM_FIELDS], unsigned *field_mask,
		       struct npl_err *err)
{
	int n = 0;
	*field_mask = 0;
	for (const char *cursor = config->mapping;; cursor++) {
		size_t length = strcspn(cursor, ":");
		int field = field_of(cursor, length);
		if (field < 0)
			return refuse(config, "has the unknown field", cursor, length, err);
		if (*field_mask & 1u << field)
			return refuse(config, "names twice", cursor, length, err);
		*field_mask |= 1u << field;
		order[n++] = (enum dram_field)field;
		cursor += length;
		if (!*cursor)
			return n;
	}
}

/* Returns the exponent of the least power of two that is not less than count. */
static int bits_for(uint64_t count)
{
	int bits = 0;
	while (UINT64_C(1) << bits < count)
		bits++;
	return bits;
}

static uint64_t field_bits(const struct dram_mapping *mapping, enum dram_field field)
{
	return (uint64_t)mapping->bits[field].mask << mapping->bits[field].shift;
}

int dram_mapping_of(const struct dram_config *config, struct dram_mapping *mapping, struct npl_err *err)
{
	uint64_t count[DRAM_FIELDS] = {
		[DRAM_ROW] = (uint64_t)config->rows,
		[DRAM_RANK] = (uint64_t)config->ranks,
		[DRAM_GROUP] = (uint64_t)config->bank_groups,
		[DRAM_BANK] = (uint64_t)config->banks,
		[DRAM_COLUMN] = (uint64_t)(config->columns / config->burst_length),
		[DRAM_CHANNEL] = (uint64_t)config->channels,
	};
	enum dram_field order[DRAM_FIELDS];
	unsigned field_mask;
	int n = read_fields(config, order, &field_mask, err);
	if (n < 0)
		return err->code;
	if (!(field_mask & 1u << DRAM_GROUP)) {
		count[DRAM_BANK] *= count[DRAM_GROUP];
		count[DRAM_GROUP] = 1;
	}
	for (int f = 0; f < DRAM_FIELDS; f++)
		if (count[f] > 1 && !(field_mask & 1u << f))
			return refuse(config, "leaves out", field_names[f], strlen(field_names[f]), err);
	*mapping = (struct dram_mapping){.n = n,
					 .banks = (uint32_t)config->banks,
					 .rank_banks = (uint32_t)(config->bank_groups * config->banks),
					 .access_shift = bits_for(dram_access_bytes(config)),
					 .powers_of_two = true};
	for (int f = 0; f < DRAM_FIELDS; f++)
		mapping->count[f] = field_mask & 1u << f ? (uint32_t)count[f] : 1;
	uint32_t shift = (uint32_t)mapping->access_shift;
	for (int i = 0; i < n; i++) {
		enum dram_field field = order[n - 1 - i];
		mapping->order[i] = field;
		mapping->bits[field].shift = shift;
		mapping->bits[field].mask = mapping->count[field] - 1;
		mapping->powers_of_two &= !(mapping->count[field] & (mapping->count[field] - 1));
		shift += (uint32_t)bits_for(mapping->count[field]);
	}
	mapping->powers_of_two &= !(mapping->rank_banks & (mapping->rank_banks - 1)) && shift < 64;
	mapping->row_bits = UINT64_MAX;
	if (mapping->powers_of_two)
		mapping->row_bits = ~(dram_access_bytes(config) - 1) & ~field_bits(mapping, DRAM_COLUMN) &
				    ~field_bits(mapping, DRAM_CHANNEL);
	mapping->group_shift = bits_for(mapping->banks);
	mapping->rank_shift = bits_for(mapping->rank_banks);
	return 0;
}

struct dram_address dram_locate_any(const struct dram_mapping *mapping, uint64_t address)
{
	uint64_t access = address >> mapping->access_shift;
	uint32_t digit[DRAM_FIELDS] = {0};
	for (int i = 0; i < mapping->n; i++) {
		digit[mapping->order[i]] = (uint32_t)(access % mapping->count[mapping->order[i]]);
		access /= mapping->count[mapping->order[i]];
	}
	const uint32_t in_rank = digit[DRAM_GROUP] * mapping->banks + digit[DRAM_BANK];
	return (struct dram_address){.channel = digit[DRAM_CHANNEL],
				     .rank = digit[DRAM_RANK],
				     .group = in_rank / mapping->banks,
				     .bank = digit[DRAM_RANK] * mapping->rank_banks + in_rank,
				     .row = digit[DRAM_ROW],
				     .column = digit[DRAM_COLUMN]};
}
