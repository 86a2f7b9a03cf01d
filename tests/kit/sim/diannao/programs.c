/* SPDX-License-Identifier: MIT
 *
 * Random programs for DianNao machines (programs.h). The maker knows what the check knows: rows held, sums in NBout and
 * in the registers, the open store. Memory is four blocks; between two SYNCs one of them is stored to, from its
 * beginning on, and the others are loaded from, so that no order of memory shows. */
#include "programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/q16/q16.h"
#include "tests/kit/sim/diannao/code.h"
#include "tests/kit/support.h"

#define BLOCKS      4
#define BLOCK_BYTES 32768

struct maker {
	struct diannao_case *c;
	uint64_t rng;
	bool failed;
	int64_t nbin, sb; /* rows held */
	int64_t indices, index;
	uint8_t sums[64]; /* by index: the NFU-2 OP that made them */
	uint8_t kept;
	bool pools; /* NFU-1 is not used */
	bool begin; /* the next instruction that works begins at index 0 */
	bool sync;  /* the next instruction is one */
	int64_t block, stored;
	int64_t store_left, store_width;
};

static int64_t draw(struct maker *m, int64_t low, int64_t high)
{
	return test_range(&m->rng, low, high);
}

static bool one_in(struct maker *m, int64_t n)
{
	return draw(m, 1, n) == 1;
}

/* ---- Machine and memory ---- */

static int64_t pick(struct maker *m, const int64_t *choices, size_t n)
{
	return choices[draw(m, 0, (int64_t)n - 1)];
}
#define PICK(m, ...) pick(m, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void make_config(struct maker *m)
{
	struct dn_config *c = &m->c->config;
	*c = (struct dn_config){.clock_hz = PICK(m, 980000000, 980000000, 1000000000, 100000000, 333333333, 3300000000),
				.tn = PICK(m, 1, 2, 4, 4, 8, 8, 16, 16, 5),
				.nfu1_stages = draw(m, 1, 5),
				.nfu2_stages = draw(m, 1, 4),
				.nfu3_stages = draw(m, 1, 5),
				.product = (int)draw(m, NPL_Q16_ROUNDED, NPL_Q16_FULL),
				.sum_bits = PICK(m, 32, 32, 32, 16, 24, 33, 48),
				.dma_queue = PICK(m, 1, 2, 3, 5, 8, 64),
				.dma_burst_bytes = PICK(m, 512, 64, 100, 7, 4096),
				.dma_request_cycles = PICK(m, 0, 0, 1, 13)};
	c->nbin_rows = one_in(m, 3) ? 64 : draw(m, 1, 12);
	c->sb_rows = one_in(m, 3) ? 64 : draw(m, 2, 12);
	m->indices = draw(m, 0, 4);
	c->nbout_sum_rows = m->indices * dn_sum_rows(c);
	c->nbout_sum_rows += c->nbout_sum_rows ? 0 : 1;
	m->indices = c->nbout_sum_rows / dn_sum_rows(c);
	c->nbout_rows = c->nbout_sum_rows + draw(m, 1, one_in(m, 3) ? 32 : 4);
}

static void make_memory(struct maker *m, const struct diannao_request *wish)
{
	static const char *const presets[] = {"ddr3-1600", "ddr3-2133", "ddr4-3200", "hbm", "gddr5"};
	struct diannao_case *c = m->c;
	enum diannao_memory kind = wish->this_memory ? wish->memory
						     : (enum diannao_memory)draw(m, 0, DIANNAO_MEMORIES - 1);
	c->memory_clock = (struct npl_hz){c->config.clock_hz, 1};
	if (kind == DIANNAO_DRAM) {
		snprintf(c->memory_name, sizeof c->memory_name, "%s", presets[draw(m, 0, 4)]);
		return;
	}
	if (kind == DIANNAO_OTHER_CLOCK) {
		c->memory_clock = (struct npl_hz){draw(m, 1, 400) * 10000019, draw(m, 1, 3)};
		kind = (enum diannao_memory)draw(m, DIANNAO_IDEAL, DIANNAO_ACCESSES);
	}
	if (kind == DIANNAO_IDEAL) {
		snprintf(c->memory_text, sizeof c->memory_text, "model: ideal\n");
		return;
	}
	const int64_t tenths = one_in(m, 2) ? draw(m, 3, 300) : draw(m, 300, 8000); /* of a byte a cycle */
	snprintf(c->memory_text, sizeof c->memory_text,
		 "model: fixed\nbytes_per_second: %lld\nwhole_cycles: %s\nlatency_seconds: %g\naccess_bytes: %lld\n",
		 (long long)(c->config.clock_hz / 10 * tenths), kind == DIANNAO_WHOLE || one_in(m, 6) ? "yes" : "no",
		 kind == DIANNAO_LATE || one_in(m, 5) ? (double)draw(m, 1, 60) / (double)c->config.clock_hz : 0.0,
		 kind == DIANNAO_ACCESSES ? (long long)PICK(m, 64, 32, 16, 24, 256) : 0LL);
}

struct npl_memory *diannao_case_memory(const struct diannao_case *c, struct npl_err *err)
{
	const struct npl_memory_options options = {.clock = c->memory_clock};
	char path[] = "/tmp/npulab-diannao-XXXXXX.yaml";
	struct npl_memory *memory = NULL;
	if (*c->memory_name) {
		npl_memory_open(c->memory_name, &options, &memory, err);
		return memory;
	}
	int fd = mkstemps(path, 5);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		npl_fail(err, NPL_EINPUT, "%s cannot be written", path);
		return NULL;
	}
	fputs(c->memory_text, file);
	fclose(file);
	npl_memory_open(path, &options, &memory, err);
	remove(path);
	return memory;
}

/* Values of all magnitudes, so that some saturate and most do not. */
static bool make_values(struct maker *m)
{
	struct diannao_case *c = m->c;
	const int64_t bits = draw(m, 4, 16);
	c->size = (uint64_t)BLOCKS * BLOCK_BYTES;
	c->bytes = malloc(c->size);
	if (!c->bytes)
		return false;
	for (uint64_t i = 0; i < c->size; i += 2) {
		const int16_t value = (int16_t)((int16_t)(uint16_t)test_rng(&m->rng) >> (16 - bits));
		memcpy(c->bytes + i, &value, sizeof value);
	}
	char name[SIM_CONSTANT_NAME];
	c->program.n_constants = (int)draw(m, 0, 3);
	for (int i = 0; i < c->program.n_constants; i++) {
		struct dn_function *f = &c->function[i];
		*f = one_in(m, 2) ? dn_sigmoid : dn_tanh;
		for (int s = 0; s < DN_SEGMENTS && one_in(m, 2); s++) {
			f->a[s] = (int16_t)draw(m, -4000, 4000);
			f->b[s] = (int16_t)draw(m, -30000, 30000);
		}
		snprintf(name, sizeof name, "f%d", i);
		c->program.constant[i] = sim_constant_of(dn_instruction_set.constants, name, f);
	}
	return true;
}

/* ---- Instructions ---- */

static void emit(struct maker *m, struct dn_instruction *instruction)
{
	struct npl_err err;
	struct sim_program *program = &m->c->program;
	if (program->count == DIANNAO_MAX)
		m->failed = true;
	if (m->failed)
		return;
	instruction->cp.op = m->sync ? DN_CP_SYNC : DN_CP_NOP;
	m->sync = false;
	m->c->move[program->count] = (uint64_t)(one_in(m, 3) ? 0 : draw(m, 1, 5000));
	m->failed = dn_program_add(program, instruction, 0, &err);
}

static uint64_t load_address(struct maker *m, int64_t bytes)
{
	const int64_t block = (m->block + draw(m, 1, BLOCKS - 1)) % BLOCKS;
	int64_t offset = draw(m, 0, BLOCK_BYTES - bytes);
	if (one_in(m, 2))
		offset -= offset % 64;
	return (uint64_t)(block * BLOCK_BYTES + offset);
}

/* Makes the load of so many rows. The last one of NBin need not be whole. */
static void load_nbin(struct maker *m, struct dn_instruction *instruction, int64_t rows)
{
	const int64_t tn = m->c->config.tn, values = (rows - 1) * tn + (one_in(m, 3) ? draw(m, 1, tn) : tn);
	instruction->nbin.op = DN_LOAD;
	instruction->nbin.reuse = 1;
	instruction->nbin.size = (uint32_t)(2 * values);
	instruction->nbin.address = load_address(m, 2 * values);
	m->nbin += rows;
}

static void load_sb(struct maker *m, struct dn_instruction *instruction, int64_t rows)
{
	const int64_t bytes = rows * dn_sb_row_bytes(&m->c->config);
	instruction->sb.op = DN_LOAD;
	instruction->sb.reuse = 1;
	instruction->sb.size = (uint32_t)bytes;
	instruction->sb.address = load_address(m, bytes);
	m->sb += rows;
}

static void read_nbin(struct dn_instruction *instruction, int64_t begin, int64_t end, int64_t stride)
{
	instruction->nbin.op = instruction->nbin.op == DN_READ_NOP ? DN_READ : instruction->nbin.op;
	instruction->nbin.begin = (uint32_t)begin;
	instruction->nbin.end = (uint32_t)end;
	instruction->nbin.stride = (uint32_t)stride;
}

static void read_sb(const struct maker *m, struct dn_instruction *instruction, int64_t first, int64_t rows)
{
	const int64_t bytes = dn_sb_row_bytes(&m->c->config);
	instruction->sb.op = DN_READ;
	instruction->sb.address = (uint64_t)(first * bytes);
	instruction->sb.size = (uint32_t)(rows * bytes);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t nbin_room(const struct maker *m)
{
	return least(m->c->config.nbin_rows - m->nbin, 24);
}

static int64_t sb_room(const struct maker *m)
{
	return least(least(m->c->config.sb_rows - m->sb, 24), BLOCK_BYTES / dn_sb_row_bytes(&m->c->config));
}

/* So many of the rows held go without being read. */
static void free_rows(struct maker *m, int64_t nbin, int64_t sb)
{
	struct dn_instruction instruction = {0};
	if (nbin == m->nbin && nbin && one_in(m, 2))
		read_nbin(&instruction, 0, 0, 0);
	else if (nbin)
		read_nbin(&instruction, draw(m, 0, 1) * (nbin - 1), nbin - 1, 1);
	if (sb) {
		const int64_t first = draw(m, 0, sb - 1);
		read_sb(m, &instruction, first, sb - first);
	}
	m->nbin -= nbin;
	m->sb -= sb;
	if (nbin || sb)
		emit(m, &instruction);
}

static void load_rows(struct maker *m, int64_t nbin, int64_t sb)
{
	struct dn_instruction instruction = {0};
	if (nbin)
		load_nbin(m, &instruction, nbin);
	if (sb)
		load_sb(m, &instruction, sb);
	if (nbin || sb)
		emit(m, &instruction);
}

/* There is room for a row of NBin and two of SB. */
static void make_room(struct maker *m)
{
	const int64_t nbin = nbin_room(m) ? 0 : draw(m, 1, m->nbin),
		      sb = sb_room(m) > 1 ? 0 : draw(m, least(2, m->sb), m->sb);
	free_rows(m, nbin, sb);
}

/* A range of `steps` rows of NBin of those that are held at the end of its loads. */
static void choose_range(struct maker *m, struct dn_instruction *instruction, int64_t steps)
{
	const int64_t rows_held = m->nbin,
		      stride = steps > 1 ? draw(m, 1, (rows_held - 1) / (steps - 1)) : draw(m, 1, 3);
	const int64_t begin = draw(m, 0, rows_held - 1 - (steps - 1) * stride), end = begin + (steps - 1) * stride;
	instruction->nbin.reuse = (uint8_t)draw(m, 0, 1);
	if (steps == rows_held && one_in(m, 2))
		read_nbin(instruction, 0, 0, 0);
	else
		read_nbin(instruction, begin, end, stride);
	if (!instruction->nbin.reuse)
		m->nbin -= end + 1;
}

static int64_t draw_steps(struct maker *m, int64_t limit)
{
	return one_in(m, 3) ? draw(m, 1, limit) : draw(m, 1, least(limit, 3));
}

static void make_operands(struct maker *m, struct dn_instruction *instruction)
{
	const struct dn_config *c = &m->c->config;
	const bool bias = instruction->nfu.nfu1 == DN_BIAS, zeros = instruction->nfu.nfu1 == DN_MULT && one_in(m, 6);
	int64_t loaded = 0, steps;
	if (!bias && !zeros && (!m->nbin || (nbin_room(m) && one_in(m, 2))))
		load_nbin(m, instruction, draw_steps(m, nbin_room(m)));
	if (instruction->nfu.nfu1 == DN_NFU1_NOP) {
		choose_range(m, instruction, draw_steps(m, m->nbin));
		return;
	}
	steps = bias ? (c->tn == 1 ? 2 : 1) : zeros ? draw_steps(m, c->sb_rows) : draw_steps(m, m->nbin);
	if (m->sb < steps || (sb_room(m) >= steps && one_in(m, 2))) {
		steps = bias ? steps : least(steps, sb_room(m));
		load_sb(m, instruction, loaded = steps);
	} else {
		read_sb(m, instruction, draw(m, 0, m->sb - steps), steps);
	}
	instruction->sb.reuse = (uint8_t)draw(m, 0, 1);
	if (!instruction->sb.reuse)
		m->sb = loaded ? 0
			       : m->sb - (int64_t)(instruction->sb.address + instruction->sb.size) / dn_sb_row_bytes(c);
	if (!bias && !zeros)
		choose_range(m, instruction, steps);
}

/* ---- Groups of outputs ---- */

static void store(struct maker *m, struct dn_instruction *instruction, int64_t width)
{
	const struct dn_config *c = &m->c->config;
	const int64_t results = c->tn * width;
	instruction->nbout.write = DN_STORE;
	if (!m->store_left) {
		const int64_t maximum = (c->nbout_rows - c->nbout_sum_rows) / (width / 2),
			      n = draw(m, 1, least(maximum, 5));
		m->store_width = width;
		m->store_left = (n - 1) * results + width * draw(m, 1, c->tn);
		instruction->nbout.size = (uint32_t)m->store_left;
		instruction->nbout.address = (uint64_t)(m->block * BLOCK_BYTES + m->stored);
		m->stored += m->store_left + draw(m, 0, 3) * 2;
	}
	m->store_left -= least(results, m->store_left);
}

/* The last instruction of a group: what becomes of the sums. */
static void leave(struct maker *m, struct dn_instruction *instruction, bool must_store)
{
	const struct dn_config *c = &m->c->config;
	const bool add = instruction->nfu.nfu2 == DN_ADD;
	const int64_t index = instruction->nfu.begin ? 0 : m->index;
	const bool may_wide = add && c->sum_bits <= 32 && c->nbout_rows - c->nbout_sum_rows > 1;
	bool wide = may_wide && one_in(m, 3);
	if (m->store_left)
		wide = m->store_width == 4;
	if (wide && !add) /* nothing that goes into the open store */
		must_store = false;
	if (!must_store && index < m->indices && (one_in(m, 3) || (wide && !add))) {
		instruction->nfu.out = DN_TO_NBOUT;
		instruction->nbout.write = DN_WRITE;
		m->sums[index] = instruction->nfu.nfu2;
		return;
	}
	if ((!must_store && one_in(m, 12)) || (wide && !add)) {
		instruction->nfu.out = DN_TO_KEEP;
		return;
	}
	instruction->nfu.out = wide || (!add && one_in(m, 3)) ? DN_TO_NBOUT : DN_TO_NFU3;
	if (!wide)
		instruction->nfu.shift = (int16_t)draw(m, -3, 14);
	if (instruction->nfu.out == DN_TO_NFU3) {
		instruction->nfu.nfu3 = (uint8_t)draw(m, 0, m->c->program.n_constants);
		instruction->nfu.result_shift = instruction->nfu.nfu3 ? (int16_t)draw(m, -4, 6) : 0;
		instruction->nfu.divisor = add && one_in(m, 3) ? (uint32_t)draw(m, 1, 300) : 0;
	}
	store(m, instruction, wide ? 4 : 2);
}

/* From sums that this OP made; now and then from another's, as maxima of sums that may have wrapped. */
static bool continues_sums(struct maker *m, uint8_t sums, uint8_t nfu2)
{
	return sums != DN_NFU2_NOP && one_in(m, sums == nfu2 ? 2 : 5);
}

static void begin(struct maker *m, struct dn_instruction *instruction, uint8_t nfu2)
{
	instruction->nfu.begin = m->begin || one_in(m, 5);
	m->begin = false;
	const int64_t index = instruction->nfu.begin ? 0 : m->index;
	instruction->nfu.in = DN_FROM_RESET;
	if (index < m->indices && continues_sums(m, m->sums[index], nfu2)) {
		instruction->nfu.in = DN_FROM_NBOUT;
		instruction->nbout.read = DN_READ;
	} else if (continues_sums(m, m->kept, nfu2)) {
		instruction->nfu.in = DN_FROM_KEEP;
	}
}

static void group(struct maker *m, bool must_store)
{
	const int64_t n = draw(m, 1, 3);
	m->pools ^= one_in(m, 4);
	uint8_t nfu2 = m->pools && one_in(m, 2) ? DN_MAXIMUM : DN_ADD;
	if (must_store && m->store_width == 4)
		nfu2 = DN_ADD;
	for (int64_t i = 0; i < n; i++) {
		struct dn_instruction instruction = {0};
		make_room(m);
		instruction.nfu.nfu2 = nfu2;
		instruction.nfu.nfu1 = m->pools ? DN_NFU1_NOP : one_in(m, 6) ? DN_BIAS : DN_MULT;
		make_operands(m, &instruction);
		if (i)
			instruction.nfu.in = DN_FROM_KEEP;
		else
			begin(m, &instruction, nfu2);
		if (i == n - 1)
			leave(m, &instruction, must_store);
		instruction.nfu.end = one_in(m, 8);
		m->index = (instruction.nfu.begin ? 0 : m->index) + (instruction.nfu.out != DN_TO_KEEP);
		m->index = instruction.nfu.end ? 0 : m->index;
		m->kept = instruction.nfu.out == DN_TO_KEEP ? nfu2 : DN_NFU2_NOP;
		emit(m, &instruction);
	}
}

/* What follows is decoded when all before has ended, except an open store. */
static void synchronise(struct maker *m)
{
	m->sync = true;
	if (m->store_left)
		return;
	m->block = draw(m, 0, BLOCKS - 1);
	m->stored = draw(m, 0, 60);
}

static void finish_store(struct maker *m)
{
	while (m->store_left && !m->failed)
		group(m, true);
}

static void act(struct maker *m)
{
	if (m->stored > BLOCK_BYTES / 2) {
		finish_store(m);
		synchronise(m);
	}
	switch (draw(m, 0, 11)) {
	case 0:
	case 1:
		load_rows(m, nbin_room(m) ? draw(m, 0, nbin_room(m)) : 0, sb_room(m) ? draw(m, 0, sb_room(m)) : 0);
		return;
	case 2:
		free_rows(m, draw(m, 0, m->nbin), draw(m, 0, m->sb));
		return;
	case 3:
		if (one_in(m, 2))
			synchronise(m);
		return;
	default:
		group(m, false);
	}
}

/* ---- Programs ---- */

static void make_part(struct maker *m, int64_t instructions, int64_t times)
{
	struct diannao_case *c = m->c;
	const int64_t first = c->program.count;
	while (c->program.count < first + instructions && !m->failed)
		act(m);
	finish_store(m);
	c->part[c->parts++] = (struct diannao_part){first, c->program.count - first, times};
}

/* It leaves what it found: as many rows, and nothing that the next one would look at. */
static void make_body(struct maker *m, int64_t instructions, int64_t times, bool synchronised)
{
	struct diannao_case *c = m->c;
	m->begin = true;
	const int64_t nbin = m->nbin, sb = m->sb;
	memset(m->sums, DN_NFU2_NOP, sizeof m->sums);
	m->index = 0;
	m->kept = DN_NFU2_NOP;
	m->sync = synchronised;
	make_part(m, instructions, times);
	struct diannao_part *part = &c->part[c->parts - 1];
	m->sync = false;
	free_rows(m, m->nbin > nbin ? m->nbin - nbin : 0, m->sb > sb ? m->sb - sb : 0);
	while ((m->nbin < nbin || m->sb < sb) && !m->failed)
		load_rows(m, m->nbin < nbin ? least(nbin - m->nbin, nbin_room(m)) : 0,
			  m->sb < sb ? least(sb - m->sb, sb_room(m)) : 0);
	part->count = c->program.count - part->first;
	m->begin = true;
	memset(m->sums, DN_NFU2_NOP, sizeof m->sums);
	m->kept = DN_NFU2_NOP;
}

static void make_program(struct maker *m, const struct diannao_request *wish)
{
	struct diannao_case *c = m->c;
	const int64_t n = wish->instructions ? wish->instructions : draw(m, 1, 60);
	m->pools = one_in(m, 3);
	make_part(m, n, 1);
	c->round_first = c->parts;
	for (int i = 0; wish->repeats && i < 2; i++) {
		make_body(m, draw(m, 1, n), wish->times ? draw(m, wish->times / 2, wish->times * 2) : draw(m, 2, 60),
			  wish->synchronised);
		if (i == 0 && !wish->rounds)
			make_part(m, one_in(m, 2) ? 0 : draw(m, 1, n), 1);
	}
	if (wish->rounds) {
		c->round_end = c->parts;
		c->rounds = draw(m, wish->rounds / 2 + 1, wish->rounds * 2);
	}
	make_part(m, 0, 1);
	struct dn_instruction end = {0};
	emit(m, &end);
	c->part[c->parts - 1].count++;
	if (!m->failed)
		dn_code(&c->program)[c->program.count - 1].cp.op = DN_CP_END;
}

bool diannao_case_make(struct diannao_case *c, uint64_t seed, const struct diannao_request *wish)
{
	struct maker m = {.c = c, .rng = seed * 0x9e3779b97f4a7c15ull};
	*c = (struct diannao_case){.seed = seed};
	test_rng(&m.rng);
	make_config(&m);
	c->config.technology.activity = seed % 2 ? SIM_COUNTED : SIM_NOT_COUNTED;
	make_memory(&m, wish);
	if (!make_values(&m)) {
		diannao_case_free(c);
		return false;
	}
	make_program(&m, wish);
	if (m.failed)
		diannao_case_free(c);
	return !m.failed;
}

void diannao_case_free(struct diannao_case *c)
{
	sim_program_free(&c->program);
	free(c->bytes);
	c->bytes = NULL;
}

/* ---- Streams ---- */

/* Behind a part that has ended. */
static void begin_part(struct diannao_stream *s)
{
	const struct diannao_case *c = s->c;
	while (s->time == c->part[s->part].times || !c->part[s->part].count) {
		s->time = s->at = 0;
		if (++s->part == c->round_end && ++s->round < c->rounds)
			s->part = c->round_first;
	}
}

static void next(void *state, struct dn_instruction *instruction)
{
	struct diannao_stream *s = state;
	begin_part(s);
	const struct diannao_part *part = &s->c->part[s->part];
	const int64_t i = part->first + s->at;
	const uint64_t moved = (uint64_t)(s->time + s->round) * s->c->move[i];
	*instruction = dn_code(&s->c->program)[i];
	if (instruction->sb.op == DN_LOAD)
		instruction->sb.address += moved;
	if (instruction->nbin.op == DN_LOAD)
		instruction->nbin.address += moved;
	if (instruction->nbout.size)
		instruction->nbout.address += moved;
	if (++s->at == part->count) {
		s->at = 0;
		s->time++;
	}
}

static void count_repeats(void *state, int64_t units[DN_REPEAT_LEVELS])
{
	struct diannao_stream *s = state;
	const struct diannao_case *c = s->c;
	memset(units, 0, DN_REPEAT_LEVELS * sizeof *units);
	if (s->at)
		return;
	begin_part(s);
	if (c->part[s->part].times > 1)
		units[1] = c->part[s->part].times - s->time;
	if (c->rounds && s->part == c->round_first && !s->time)
		units[0] = c->rounds - s->round;
}

static void skip(void *state, int level, int64_t units)
{
	struct diannao_stream *s = state;
	s->skips[level]++;
	if (level)
		s->time += units;
	else if ((s->round += units) == s->c->rounds)
		s->part = s->c->round_end;
}

struct dn_stream diannao_source(struct diannao_stream *stream, const struct diannao_case *c, bool units)
{
	*stream = (struct diannao_stream){.c = c};
	if (units)
		return (struct dn_stream){stream, next, count_repeats, skip};
	return (struct dn_stream){.state = stream, .next = next};
}
