/* SPDX-License-Identifier: MIT
 *
 * DianNao's instruction set (docs/diannao-isa.md, Slots): the rules between the fields of one instruction, whatever the
 * machine and the instructions before it. syntax.c has its slots, fields.def the ranges of their fields. A field that
 * has no meaning is 0, so that each instruction can be written in one way only. The constants of its programs are
 * functions of NFU-3. */
#include "isa.h"
#include "core/base/refuse.h"

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

/* Says whether the fields that have no meaning here are 0. */
static bool absent_ok(const struct fields *f)
{
	const struct dn_instruction *in = f->instruction;
	const bool steps = dn_uses_nfu(in), maximum = in->nfu.nfu2 == DN_MAXIMUM, stores = in->nbout.write == DN_STORE;
	const bool to_nfu3 = in->nfu.out == DN_TO_NFU3,
		   stores_maximum = maximum && in->nfu.out == DN_TO_NBOUT && stores;
	const struct {
		bool applies;
		enum dn_slot_at slot;
		int first, last; /* fields */
		const char *reason;
	} rule[] = {
		{!steps, DN_SLOT_NFU, DN_NFU_NFU1_OP, DN_NFU_NFU1_OP, "NFU-2 OP is NOP"},
		{!steps, DN_SLOT_NFU, DN_NFU_NFU2_IN, DN_NFU_DIVISOR, "NFU-2 OP is NOP"},
		{!steps, DN_SLOT_NBOUT, DN_NBOUT_READ_OP, DN_NBOUT_SIZE, "NFU-2 OP is NOP"},
		{!to_nfu3 && !stores_maximum, DN_SLOT_NFU, DN_NFU_SHIFT, DN_NFU_SHIFT,
		 "only what NFU-3 or the store of a maximum takes is shifted"},
		{!to_nfu3 || !in->nfu.nfu3, DN_SLOT_NFU, DN_NFU_RESULT_SHIFT, DN_NFU_RESULT_SHIFT,
		 "no function of NFU-3 has a result"},
		{!to_nfu3 || maximum, DN_SLOT_NFU, DN_NFU_DIVISOR, DN_NFU_DIVISOR,
		 "only sums that go to NFU-3 are divided"},
		{steps && in->nfu.nfu1 == DN_NFU1_NOP, DN_SLOT_SB, DN_SB_READ_OP, DN_SB_READ_OP,
		 "NFU-1 OP is NOP and nothing takes synapses"},
		{in->sb.op == DN_READ_NOP, DN_SLOT_SB, DN_SB_REUSE, DN_SB_SIZE, "READ OP is NOP"},
		{in->nfu.nfu1 == DN_BIAS, DN_SLOT_NBIN, DN_NBIN_READ_OP, DN_NBIN_READ_OP, "NFU-1 OP is BIAS"},
		{in->nbin.op == DN_READ_NOP, DN_SLOT_NBIN, DN_NBIN_REUSE, DN_NBIN_SIZE, "READ OP is NOP"},
		{!steps && in->nbin.op == DN_LOAD, DN_SLOT_NBIN, DN_NBIN_STRIDE, DN_NBIN_STRIDE_END,
		 "the NFU reads no rows"},
		{!in->nbin.stride, DN_SLOT_NBIN, DN_NBIN_STRIDE_BEGIN, DN_NBIN_STRIDE_END,
		 "with STRIDE 0 these are all rows held"},
		{in->nbin.op == DN_READ, DN_SLOT_NBIN, DN_NBIN_ADDRESS, DN_NBIN_SIZE, "READ OP is READ"},
		{in->nfu.out == DN_TO_KEEP, DN_SLOT_NBOUT, DN_NBOUT_WRITE_OP, DN_NBOUT_WRITE_OP, "NFU-2 OUT is KEEP"},
		{!stores, DN_SLOT_NBOUT, DN_NBOUT_ADDRESS, DN_NBOUT_SIZE, "WRITE OP is not STORE"},
		{!in->nbout.size, DN_SLOT_NBOUT, DN_NBOUT_ADDRESS, DN_NBOUT_ADDRESS,
		 "with SIZE 0 the open store goes on"},
	};
	for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
		if (rule[i].applies && !are_zero(f, rule[i].slot, rule[i].first, rule[i].last, rule[i].reason))
			return false;
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
	if (dn_uses_nfu(f->instruction) || op == DN_READ_NOP || (op == DN_LOAD) == reuse)
		return true;
	return refuse(f, "%s: REUSE is %d, expected %d: without steps a %s", slot, reuse, !reuse,
		      op == DN_LOAD ? "LOAD keeps its rows for others" : "READ only frees rows");
}

static bool sb_ok(const struct fields *f)
{
	const struct dn_instruction *in = f->instruction;
	if (in->sb.op != DN_READ_NOP && !in->sb.size)
		return refuse(f, "SB: SIZE is 0, expected the bytes of one row at least");
	return bytes_ok(f, "SB", in->sb.address, in->sb.size) && reuse_ok(f, "SB", in->sb.op, in->sb.reuse);
}

static bool nbin_ok(const struct fields *f)
{
	const struct dn_instruction *in = f->instruction;
	const uint32_t stride = in->nbin.stride;
	if (stride && (in->nbin.end < in->nbin.begin || (in->nbin.end - in->nbin.begin) % stride))
		return refuse(f, "NBIN: STRIDE END is %u, expected STRIDE BEGIN, %u, and a multiple of STRIDE, %u",
			      in->nbin.end, in->nbin.begin, stride);
	if (in->nbin.op == DN_LOAD && (!in->nbin.size || in->nbin.size % 2))
		return refuse(f, "NBIN: SIZE is %u, expected a multiple of 2: values of 16 bits", in->nbin.size);
	return bytes_ok(f, "NBIN", in->nbin.address, in->nbin.size) && reuse_ok(f, "NBIN", in->nbin.op, in->nbin.reuse);
}

static bool nbout_ok(const struct fields *f)
{
	const struct dn_instruction *in = f->instruction;
	const bool reads = in->nfu.in == DN_FROM_NBOUT, to_nfu3 = in->nfu.out == DN_TO_NFU3;
	if (reads != (in->nbout.read == DN_READ))
		return refuse(f, "NBOUT: READ OP is %s, expected %s: NFU-2 IN is %s", reads ? "NOP" : "READ",
			      reads ? "READ" : "NOP", reads ? "NBOUT" : "not NBOUT");
	if (in->nfu.out != DN_TO_KEEP && in->nbout.write != DN_STORE && (to_nfu3 || in->nbout.write != DN_WRITE))
		return refuse(f, "NBOUT: WRITE OP is %s, expected %s: NFU-2 OUT is %s",
			      in->nbout.write == DN_WRITE ? "WRITE" : "NOP", to_nfu3 ? "STORE" : "WRITE or STORE",
			      dn_slots[DN_SLOT_NFU].field[DN_NFU_NFU2_OUT].names[in->nfu.out]);
	if (in->nbout.size % 2)
		return refuse(f, "NBOUT: SIZE is %u, expected a multiple of 2: results of 16 bits", in->nbout.size);
	return bytes_ok(f, "NBOUT", in->nbout.address, in->nbout.size);
}

static bool nfu_ok(const struct fields *f)
{
	const struct dn_instruction *in = f->instruction;
	const char *nfu1 = dn_slots[DN_SLOT_NFU].field[DN_NFU_NFU1_OP].names[in->nfu.nfu1];
	if (in->nfu.nfu1 != DN_NFU1_NOP && in->nfu.nfu2 != DN_ADD)
		return refuse(f, "NFU: NFU-2 OP is MAX, expected ADD: NFU-1 OP is %s", nfu1);
	if (in->nfu.nfu1 != DN_NFU1_NOP && in->sb.op == DN_READ_NOP)
		return refuse(f, "SB: READ OP is NOP, expected LOAD or READ: NFU-1 OP is %s", nfu1);
	if (dn_uses_nfu(in) && in->nfu.nfu1 == DN_NFU1_NOP && in->nbin.op == DN_READ_NOP)
		return refuse(f, "NBIN: READ OP is NOP, expected LOAD or READ: NFU-1 OP is NOP and NFU-2 takes rows");
	return true;
}

/* Checks the fields of an instruction against each other; all are in their ranges. */
static bool slots_ok(const void *instruction, char *reason, size_t reason_bytes)
{
	const struct fields f = {instruction, reason, reason_bytes};
	return absent_ok(&f) && nfu_ok(&f) && sb_ok(&f) && nbin_ok(&f) && nbout_ok(&f);
}

const struct sim_known_constant dn_known_functions[] = {
	{"SIGMOID", &dn_sigmoid}, {"TANH", &dn_tanh}, {"RELU", &dn_relu}, {0}};
static const struct sim_constants functions = {
	.directive = ".function",
	.identity = "NONE",
	.pairs = DN_SEGMENTS,
	.known = dn_known_functions,
};
_Static_assert(DN_SEGMENTS <= SIM_MAX_PAIRS, "a constant holds the segments of a function");

const struct sim_instruction_set dn_instruction_set = {
	.name = "diannao",
	.page = "docs/diannao-isa.md",
	.former_magic = "DIANNAO",
	.n_slots = DN_SLOTS,
	.slot = dn_slots,
	.instruction_size = sizeof(struct dn_instruction),
	.layout = dn_slots,
	.n_layout = DN_SLOTS,
	.accepts = slots_ok,
	.constants = &functions,
	.address_bits = DN_ADDRESS_BITS,
};
