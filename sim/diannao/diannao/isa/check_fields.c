/* SPDX-License-Identifier: MIT
 *
 * Checks the fields of one instruction of DianNao against each other, whatever the machine and the instructions before
 * it (docs/diannao-isa.md, Slots). Their ranges are those of fields.def. A field that has no meaning is 0,
 * so that each instruction can be written in one way only. */
#include "core/base/refuse.h"
#include "isa.h"

struct fields {
	const struct dn_instruction *instruction;
	char *reason;
	size_t n;
};

#define refuse(f, ...) npl_refuse((f)->reason, (f)->n, __VA_ARGS__)

/* Says whether fields first to last of a slot are 0. */
static bool are_zero(const struct fields *f, enum dn_slot_at slot, int first, int last, const char *reason)
{
	for (int i = first; i <= last; i++) {
		const struct sim_field *field = &dn_slots[slot].field[i];
		int64_t value = sim_field_get(f->instruction, field);
		if (value && field->names)
			return refuse(f, "%s: %s is %s, expected %s: %s", dn_slots[slot].name, field->name,
				      field->names[value], field->names[0], reason);
		if (value)
			return refuse(f, "%s: %s is %lld, expected 0: %s", dn_slots[slot].name, field->name,
				      (long long)value, reason);
	}
	return true;
}

/* Says whether the fields of a slot from one on are 0. */
static bool rest_is_zero(const struct fields *f, enum dn_slot_at slot, int first, const char *reason)
{
	return are_zero(f, slot, first, dn_slots[slot].n_fields - 1, reason);
}

static bool is_zero(const struct fields *f, enum dn_slot_at slot, int field, const char *reason)
{
	return are_zero(f, slot, field, field, reason);
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
	if (dn_uses_nfu(f->instruction) || op == DN_READ_NOP || (op == DN_LOAD) == reuse)
		return true;
	return refuse(f, "%s: REUSE is %d, expected %d: without steps a %s", slot, reuse, !reuse,
		      op == DN_LOAD ? "LOAD keeps its rows for others" : "READ only frees rows");
}

static bool sb_ok(const struct fields *f)
{
	const struct dn_instruction *instruction = f->instruction;
	if (instruction->sb.op == DN_READ_NOP)
		return rest_is_zero(f, DN_SLOT_SB, DN_SB_REUSE, "READ OP is NOP");
	if (!instruction->sb.size)
		return refuse(f, "SB: SIZE is 0, expected the bytes of one row at least");
	return bytes_ok(f, "SB", instruction->sb.address, instruction->sb.size) &&
	       reuse_ok(f, "SB", instruction->sb.op, instruction->sb.reuse);
}

static bool nbin_ok(const struct fields *f)
{
	const struct dn_instruction *instruction = f->instruction;
	uint32_t stride = instruction->nbin.stride;
	if (instruction->nbin.op == DN_READ_NOP)
		return rest_is_zero(f, DN_SLOT_NBIN, DN_NBIN_REUSE, "READ OP is NOP");
	if (!dn_uses_nfu(instruction) && instruction->nbin.op == DN_LOAD &&
	    !are_zero(f, DN_SLOT_NBIN, DN_NBIN_STRIDE, DN_NBIN_STRIDE_END, "the NFU reads no rows"))
		return false;
	if (!stride && !are_zero(f, DN_SLOT_NBIN, DN_NBIN_STRIDE_BEGIN, DN_NBIN_STRIDE_END,
				 "with STRIDE 0 these are all rows held"))
		return false;
	if (stride && (instruction->nbin.end < instruction->nbin.begin ||
		       (instruction->nbin.end - instruction->nbin.begin) % stride))
		return refuse(f, "NBIN: STRIDE END is %u, expected STRIDE BEGIN, %u, and a multiple of STRIDE, %u",
			      instruction->nbin.end, instruction->nbin.begin, stride);
	if (instruction->nbin.op == DN_READ &&
	    !are_zero(f, DN_SLOT_NBIN, DN_NBIN_ADDRESS, DN_NBIN_SIZE, "READ OP is READ"))
		return false;
	if (instruction->nbin.op == DN_LOAD && (!instruction->nbin.size || instruction->nbin.size % 2))
		return refuse(f, "NBIN: SIZE is %u, expected a multiple of 2: values of 16 bits",
			      instruction->nbin.size);
	return bytes_ok(f, "NBIN", instruction->nbin.address, instruction->nbin.size) &&
	       reuse_ok(f, "NBIN", instruction->nbin.op, instruction->nbin.reuse);
}

static bool nbout_ok(const struct fields *f)
{
	const struct dn_instruction *instruction = f->instruction;
	const char *to = dn_slots[DN_SLOT_NFU].field[DN_NFU_NFU2_OUT].names[instruction->nfu.out];
	bool reads = instruction->nfu.in == DN_FROM_NBOUT, stores = instruction->nbout.write == DN_STORE;
	if (reads != (instruction->nbout.read == DN_READ))
		return refuse(f, "NBOUT: READ OP is %s, expected %s: NFU-2 IN is %s", reads ? "NOP" : "READ",
			      reads ? "READ" : "NOP", reads ? "NBOUT" : "not NBOUT");
	if (instruction->nfu.out == DN_TO_KEEP && !is_zero(f, DN_SLOT_NBOUT, DN_NBOUT_WRITE_OP, "NFU-2 OUT is KEEP"))
		return false;
	if (instruction->nfu.out != DN_TO_KEEP && !stores &&
	    (instruction->nfu.out == DN_TO_NFU3 || instruction->nbout.write != DN_WRITE))
		return refuse(f, "NBOUT: WRITE OP is %s, expected %s: NFU-2 OUT is %s",
			      instruction->nbout.write == DN_WRITE ? "WRITE" : "NOP",
			      instruction->nfu.out == DN_TO_NFU3 ? "STORE" : "WRITE or STORE", to);
	if (!stores)
		return are_zero(f, DN_SLOT_NBOUT, DN_NBOUT_ADDRESS, DN_NBOUT_SIZE, "WRITE OP is not STORE");
	if (!instruction->nbout.size)
		return is_zero(f, DN_SLOT_NBOUT, DN_NBOUT_ADDRESS, "with SIZE 0 the open store goes on");
	if (instruction->nbout.size % 2)
		return refuse(f, "NBOUT: SIZE is %u, expected a multiple of 2: results of 16 bits",
			      instruction->nbout.size);
	return bytes_ok(f, "NBOUT", instruction->nbout.address, instruction->nbout.size);
}

/* Says whether the operands of the NFU's steps are valid. */
static bool steps_ok(const struct fields *f)
{
	const struct dn_instruction *instruction = f->instruction;
	const char *nfu1 = dn_slots[DN_SLOT_NFU].field[DN_NFU_NFU1_OP].names[instruction->nfu.nfu1];
	if (instruction->nfu.nfu1 != DN_NFU1_NOP && instruction->nfu.nfu2 != DN_ADD)
		return refuse(f, "NFU: NFU-2 OP is MAX, expected ADD: NFU-1 OP is %s", nfu1);
	if (instruction->nfu.nfu1 != DN_NFU1_NOP && instruction->sb.op == DN_READ_NOP)
		return refuse(f, "SB: READ OP is NOP, expected LOAD or READ: NFU-1 OP is %s", nfu1);
	if (instruction->nfu.nfu1 == DN_BIAS)
		return is_zero(f, DN_SLOT_NBIN, DN_NBIN_READ_OP, "NFU-1 OP is BIAS");
	if (instruction->nfu.nfu1 == DN_MULT)
		return true;
	if (instruction->nbin.op == DN_READ_NOP)
		return refuse(f, "NBIN: READ OP is NOP, expected LOAD or READ: NFU-1 OP is NOP and NFU-2 takes rows");
	return is_zero(f, DN_SLOT_SB, DN_SB_READ_OP, "NFU-1 OP is NOP and nothing takes synapses");
}

static bool nfu_ok(const struct fields *f)
{
	const struct dn_instruction *instruction = f->instruction;
	bool maximum = instruction->nfu.nfu2 == DN_MAXIMUM, to_nfu3 = instruction->nfu.out == DN_TO_NFU3;
	bool as_it_is = instruction->nfu.out == DN_TO_NBOUT && instruction->nbout.write == DN_STORE;
	if (!dn_uses_nfu(instruction))
		return is_zero(f, DN_SLOT_NFU, DN_NFU_NFU1_OP, "NFU-2 OP is NOP") &&
		       rest_is_zero(f, DN_SLOT_NFU, DN_NFU_NFU2_IN, "NFU-2 OP is NOP") &&
		       rest_is_zero(f, DN_SLOT_NBOUT, DN_NBOUT_READ_OP, "NFU-2 OP is NOP");
	if (!steps_ok(f))
		return false;
	if (!to_nfu3 && !(as_it_is && maximum) &&
	    !is_zero(f, DN_SLOT_NFU, DN_NFU_SHIFT, "only what NFU-3 or the store of a maximum takes is shifted"))
		return false;
	if ((!to_nfu3 || !instruction->nfu.nfu3) &&
	    !is_zero(f, DN_SLOT_NFU, DN_NFU_RESULT_SHIFT, "no function of NFU-3 has a result"))
		return false;
	if ((!to_nfu3 || maximum) && !is_zero(f, DN_SLOT_NFU, DN_NFU_DIVISOR, "only sums that go to NFU-3 are divided"))
		return false;
	return true;
}

bool dn_slots_ok(const void *instruction, char *reason, size_t reason_bytes)
{
	const struct fields f = {instruction, reason, reason_bytes};
	return nfu_ok(&f) && sb_ok(&f) && nbin_ok(&f) && nbout_ok(&f);
}
