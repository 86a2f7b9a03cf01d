/* SPDX-License-Identifier: MIT
 *
 * Checks the fields of one instruction of DianNao against each other, whatever the machine and the instructions before
 * it (docs/diannao-isa.md, Slots). Their ranges are those of the table in syntax.c. A field that has no meaning is 0,
 * so that each instruction can be written in one way only. */
#include "core/base/refuse.h"
#include "isa.h"

struct fields {
	const struct dn_instruction *at;
	char *why;
	size_t n;
};

#define refuse(f, ...) npl_refuse((f)->why, (f)->n, __VA_ARGS__)

/* Says whether fields first to last of a slot are 0. */
static bool are_zero(const struct fields *f, enum dn_slot_at slot, int first, int last, const char *reason)
{
	for (int i = first; i <= last; i++) {
		const struct sim_field *field = &dn_slots[slot].field[i];
		int64_t value = sim_field_get(f->at, field);
		if (value && field->names)
			return refuse(f, "%s: %s is %s, expected %s: %s", dn_slots[slot].name, field->name,
				      field->names[value], field->names[0], reason);
		if (value)
			return refuse(f, "%s: %s is %lld, expected 0: %s", dn_slots[slot].name, field->name,
				      (long long)value, reason);
	}
	return true;
}

/* Says whether all bytes that a slot moves have addresses of DN_ADDRESS_BITS bits. */
static bool bytes_ok(const struct fields *f, const char *slot, uint64_t address, uint32_t size)
{
	if (address + size <= (uint64_t)1 << DN_ADDRESS_BITS)
		return true;
	return refuse(f, "%s: bytes %llu to %llu, expected less than 2^%d", slot, (unsigned long long)address,
		      (unsigned long long)(address + size - 1), DN_ADDRESS_BITS);
}

/* Says whether an instruction without steps does with rows what it must: keep those that it loads and free those that
 * it reads. */
static bool reuse_ok(const struct fields *f, const char *slot, uint8_t op, uint8_t reuse)
{
	if (dn_uses_nfu(f->at) || op == DN_NOP || (op == DN_LOAD) == reuse)
		return true;
	return refuse(f, "%s: REUSE is %d, expected %d: without steps a %s", slot, reuse, !reuse,
		      op == DN_LOAD ? "LOAD keeps its rows for others" : "READ only frees rows");
}

static bool sb_ok(const struct fields *f)
{
	const struct dn_instruction *at = f->at;
	if (at->sb.op == DN_NOP)
		return are_zero(f, DN_SLOT_SB, 1, 3, "READ OP is NOP");
	if (!at->sb.size)
		return refuse(f, "SB: SIZE is 0, expected the bytes of one row at least");
	return bytes_ok(f, "SB", at->sb.address, at->sb.size) && reuse_ok(f, "SB", at->sb.op, at->sb.reuse);
}

static bool nbin_ok(const struct fields *f)
{
	const struct dn_instruction *at = f->at;
	uint32_t stride = at->nbin.stride;
	if (at->nbin.op == DN_NOP)
		return are_zero(f, DN_SLOT_NBIN, 1, 6, "READ OP is NOP");
	if (!dn_uses_nfu(at) && at->nbin.op == DN_LOAD && !are_zero(f, DN_SLOT_NBIN, 2, 4, "the NFU reads no rows"))
		return false;
	if (!stride && !are_zero(f, DN_SLOT_NBIN, 3, 4, "with STRIDE 0 these are all rows held"))
		return false;
	if (stride && (at->nbin.end < at->nbin.begin || (at->nbin.end - at->nbin.begin) % stride))
		return refuse(f, "NBIN: STRIDE END is %u, expected STRIDE BEGIN, %u, and a multiple of STRIDE, %u",
			      at->nbin.end, at->nbin.begin, stride);
	if (at->nbin.op == DN_READ && !are_zero(f, DN_SLOT_NBIN, 5, 6, "READ OP is READ"))
		return false;
	if (at->nbin.op == DN_LOAD && (!at->nbin.size || at->nbin.size % 2))
		return refuse(f, "NBIN: SIZE is %u, expected a multiple of 2: values of 16 bits", at->nbin.size);
	return bytes_ok(f, "NBIN", at->nbin.address, at->nbin.size) && reuse_ok(f, "NBIN", at->nbin.op, at->nbin.reuse);
}

static bool nbout_ok(const struct fields *f)
{
	const struct dn_instruction *at = f->at;
	const char *to = dn_slots[DN_SLOT_NFU].field[3].names[at->nfu.out];
	bool reads = at->nfu.in == DN_FROM_NBOUT, stores = at->nbout.write == DN_STORE;
	if (reads != (at->nbout.read == DN_READ))
		return refuse(f, "NBOUT: READ OP is %s, expected %s: NFU-2 IN is %s", reads ? "NOP" : "READ",
			      reads ? "READ" : "NOP", reads ? "NBOUT" : "not NBOUT");
	if (at->nfu.out == DN_TO_KEEP && !are_zero(f, DN_SLOT_NBOUT, 1, 1, "NFU-2 OUT is KEEP"))
		return false;
	if (at->nfu.out != DN_TO_KEEP && !stores && (at->nfu.out == DN_TO_NFU3 || at->nbout.write != DN_WRITE))
		return refuse(f, "NBOUT: WRITE OP is %s, expected %s: NFU-2 OUT is %s",
			      at->nbout.write == DN_WRITE ? "WRITE" : "NOP",
			      at->nfu.out == DN_TO_NFU3 ? "STORE" : "WRITE or STORE", to);
	if (!stores)
		return are_zero(f, DN_SLOT_NBOUT, 2, 3, "WRITE OP is not STORE");
	if (!at->nbout.size)
		return are_zero(f, DN_SLOT_NBOUT, 2, 2, "with SIZE 0 the open store goes on");
	if (at->nbout.size % 2)
		return refuse(f, "NBOUT: SIZE is %u, expected a multiple of 2: results of 16 bits", at->nbout.size);
	return bytes_ok(f, "NBOUT", at->nbout.address, at->nbout.size);
}

/* Says whether the operands of the NFU's steps are valid. */
static bool steps_ok(const struct fields *f)
{
	const struct dn_instruction *at = f->at;
	const char *nfu1 = dn_slots[DN_SLOT_NFU].field[0].names[at->nfu.nfu1];
	if (at->nfu.nfu1 != DN_NFU1_NOP && at->nfu.nfu2 != DN_ADD)
		return refuse(f, "NFU: NFU-2 OP is MAX, expected ADD: NFU-1 OP is %s", nfu1);
	if (at->nfu.nfu1 != DN_NFU1_NOP && at->sb.op == DN_NOP)
		return refuse(f, "SB: READ OP is NOP, expected LOAD or READ: NFU-1 OP is %s", nfu1);
	if (at->nfu.nfu1 == DN_BIAS)
		return are_zero(f, DN_SLOT_NBIN, 0, 0, "NFU-1 OP is BIAS");
	if (at->nfu.nfu1 == DN_MULT)
		return true;
	if (at->nbin.op == DN_NOP)
		return refuse(f, "NBIN: READ OP is NOP, expected LOAD or READ: NFU-1 OP is NOP and NFU-2 takes rows");
	return are_zero(f, DN_SLOT_SB, 0, 0, "NFU-1 OP is NOP and nothing takes synapses");
}

static bool nfu_ok(const struct fields *f)
{
	enum { NFU1, NFU2, INPUT, SHIFT = 7, RESULT_SHIFT, DIVISOR };
	const struct dn_instruction *at = f->at;
	bool maximum = at->nfu.nfu2 == DN_MAXIMUM, to_nfu3 = at->nfu.out == DN_TO_NFU3;
	bool as_it_is = at->nfu.out == DN_TO_NBOUT && at->nbout.write == DN_STORE;
	if (!dn_uses_nfu(at))
		return are_zero(f, DN_SLOT_NFU, NFU1, NFU1, "NFU-2 OP is NOP") &&
		       are_zero(f, DN_SLOT_NFU, INPUT, DIVISOR, "NFU-2 OP is NOP") &&
		       are_zero(f, DN_SLOT_NBOUT, 0, 3, "NFU-2 OP is NOP");
	if (!steps_ok(f))
		return false;
	if (!to_nfu3 && !(as_it_is && maximum) &&
	    !are_zero(f, DN_SLOT_NFU, SHIFT, SHIFT, "only what NFU-3 or the store of a maximum takes is shifted"))
		return false;
	if ((!to_nfu3 || !at->nfu.nfu3) &&
	    !are_zero(f, DN_SLOT_NFU, RESULT_SHIFT, RESULT_SHIFT, "no function of NFU-3 has a result"))
		return false;
	if ((!to_nfu3 || maximum) &&
	    !are_zero(f, DN_SLOT_NFU, DIVISOR, DIVISOR, "only sums that go to NFU-3 are divided"))
		return false;
	return true;
}

bool dn_slots_ok(const void *instruction, char *why, size_t n)
{
	const struct fields f = {instruction, why, n};
	return nfu_ok(&f) && sb_ok(&f) && nbin_ok(&f) && nbout_ok(&f);
}
