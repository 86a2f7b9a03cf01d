/* SPDX-License-Identifier: MIT
 *
 * What machines with programs tell of the instructions that they execute (npulab/instruction_sink.h). What the program
 * promises, for random layers on every such machine: both engines tell the same; instructions come in order; the
 * classes of an instruction's cycles sum to its cycles, and over the program to the counters of their names; what the
 * instructions count sums to the program's counters; without values only the checksums are missing; a sink changes no
 * result, and an error of it ends the run. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device_access.h"
#include "npulab/driver.h"
#include "npulab/instruction_sink.h"
#include "tests/kit/device_cases.h"

enum { SEEDS = 25 };

/* What one run told. */
struct told {
	FILE *text; /* a line for each instruction and for the program */
	char *data;
	size_t bytes;
	bool with_checksums;
	struct npl_executed_program program;
	int64_t count, checksums;
	uint64_t cycles[NPL_MAX_CYCLE_CLASSES], counter[NPL_MAX_COUNTERS];
	bool is_moved[NPL_MAX_COUNTERS];
	int ends, fail_after; /* fail_after: the instruction at which the sink fails; 0: at none */
};

static int on_program(void *context, const struct npl_executed_program *program, struct npl_err *err)
{
	struct told *told = context;
	(void)err;
	told->program = *program;
	cr_assert_eq(program->n_layers, 1);
	for (int k = 0; k < program->n_moved; k++) {
		const int counter = program->moved_counter[k];
		cr_assert((k ? program->moved_counter[k - 1] : -1) < counter && counter < (int)program->n_counters);
		told->is_moved[counter] = true;
	}
	fprintf(told->text, "%s: %s\n", program->machine, program->layer[0]);
	return 0;
}

static int on_instruction(void *context, const struct npl_executed_instruction *i, struct npl_err *err)
{
	struct told *told = context;
	uint64_t cycles = 0;
	if (told->fail_after && told->count == told->fail_after)
		return npl_fail(err, NPL_EINPUT, "the sink is full");
	cr_assert_eq(i->index, told->count++);
	fprintf(told->text, "%s %s %d %llu %llu", i->name, i->unit, i->layer, (unsigned long long)i->time->begin,
		(unsigned long long)i->time->end);
	for (int k = 0; k < told->program.n_fields; k++)
		fprintf(told->text, " %llx", (unsigned long long)i->field[k]);
	for (int k = 0; k < told->program.n_cycle_classes; k++) {
		fprintf(told->text, " %llu", (unsigned long long)i->time->cycles[k]);
		told->cycles[k] += i->time->cycles[k];
		cycles += i->time->cycles[k];
	}
	cr_assert_eq(cycles, i->time->end - i->time->begin, "instruction %lld", (long long)i->index);
	for (int k = 0; k < told->program.n_moved; k++) {
		fprintf(told->text, " %llu", (unsigned long long)i->moved[k]);
		told->counter[told->program.moved_counter[k]] += i->moved[k];
	}
	told->checksums += i->has_checksum;
	if (told->with_checksums)
		fprintf(told->text, " %d %016llx", i->has_checksum, (unsigned long long)i->checksum);
	fprintf(told->text, "\n");
	return 0;
}

static const struct npl_cycle_class *class_named(const struct npl_executed_program *program, const char *name)
{
	for (int k = 0; k < program->n_cycle_classes; k++)
		if (!strcmp(program->cycle_class[k].name, name))
			return &program->cycle_class[k];
	return NULL;
}

/* A counter of cycles has a class of its name, or comes from no instruction. */
static int on_end(void *context, const struct npl_executed_end *end, struct npl_err *err)
{
	struct told *told = context;
	(void)err;
	told->ends++;
	if (!end) {
		cr_assert(told->fail_after && told->count == told->fail_after);
		return NPL_EOUTPUT; /* of no use */
	}
	fprintf(told->text, "%llu", (unsigned long long)end->cycles);
	for (size_t k = 0; k < told->program.n_counters; k++) {
		const struct npl_counter_def *def = &told->program.counter_def[k];
		const struct npl_cycle_class *class = class_named(&told->program, def->name);
		const bool of_values = def->partition == NPL_COUNTER_OF_VALUES;
		if (told->with_checksums || !of_values)
			fprintf(told->text, " %llu", (unsigned long long)end->counter[k]);
		if (class)
			cr_assert_eq(told->cycles[class - told->program.cycle_class], end->counter[k], "%s", def->name);
		else if (told->is_moved[k])
			cr_assert_eq(told->counter[k], end->counter[k],
				     "%s: the instructions have %llu, the program %llu", def->name,
				     (unsigned long long)told->counter[k], (unsigned long long)end->counter[k]);
	}
	fprintf(told->text, "\n");
	return 0;
}

/* Runs the layer with a sink. The caller frees told.data. */
static struct told run_told(struct npl_device *device, struct npl_layer *layer, bool timing_only, bool with_checksums)
{
	struct told told = {.with_checksums = with_checksums};
	const struct npl_instruction_sink sink = {
		.on_program = on_program, .on_instruction = on_instruction, .on_end = on_end, .context = &told};
	struct npl_result result = {0};
	struct npl_err err = {0};
	told.text = open_memstream(&told.data, &told.bytes);
	cr_assert(told.text);
	cr_assert_eq(npl_device_tell_instructions(device, &sink, &err), 0, "%s", err.msg);
	layer->timing_only = timing_only;
	cr_assert_eq(npl_device_run(device, layer, &result, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_device_tell_instructions(device, NULL, &err), 0, "%s", err.msg);
	fclose(told.text);
	cr_assert(told.ends == 1 && told.count > 0);
	return told;
}

static void expect_same(const struct told *a, const struct told *b, const char *name, uint64_t seed)
{
	if (!strcmp(a->data, b->data))
		return;
	size_t at = 0;
	while (a->data[at] == b->data[at])
		at++;
	while (at && a->data[at - 1] != '\n')
		at--;
	cr_assert_fail("%s, seed %llu:\n%.*s\n%.*s", name, (unsigned long long)seed, (int)strcspn(a->data + at, "\n"),
		       a->data + at, (int)strcspn(b->data + at, "\n"), b->data + at);
}

/* A sink that fails ends the run with its error, and is told that there is no end. */
static void expect_error(struct npl_device *device, struct npl_layer *layer, int64_t count)
{
	struct told told = {.fail_after = (int)(count / 2)};
	const struct npl_instruction_sink sink = {
		.on_program = on_program, .on_instruction = on_instruction, .on_end = on_end, .context = &told};
	struct npl_result result = {0};
	struct npl_err err = {0};
	told.text = open_memstream(&told.data, &told.bytes);
	cr_assert_eq(npl_device_tell_instructions(device, &sink, &err), 0);
	cr_assert(npl_device_run(device, layer, &result, &err) == NPL_EINPUT && strstr(err.msg, "the sink is full"),
		  "%s", err.msg);
	cr_assert_eq(npl_device_tell_instructions(device, NULL, &err), 0);
	cr_assert_eq(told.ends, count >= 2);
	fclose(told.text);
	free(told.data);
}

static void try_layer(struct npl_device *const engine[2], const char *name, struct device_case *c, uint64_t seed)
{
	struct npl_result result = {0};
	struct npl_err err = {0};
	struct told told[4];
	c->layer.timing_only = false;
	cr_assert_eq(npl_device_run(engine[0], &c->layer, &result, &err), 0, "%s", err.msg);
	void *values = malloc(npl_tensor_bytes(&c->y) + 1);
	cr_assert(values);
	memcpy(values, c->y.data, npl_tensor_bytes(&c->y));
	for (int e = 0; e < 2; e++) {
		memset(c->y.data, 0x5a, npl_tensor_bytes(&c->y));
		told[e] = run_told(engine[e], &c->layer, false, true);
		cr_assert(!memcmp(values, c->y.data, npl_tensor_bytes(&c->y)), "%s, engine %d, seed %llu: %s", name, e,
			  (unsigned long long)seed, npl_op_defs[c->layer.op].name);
		cr_assert(told[e].checksums > 0 || told[e].count == 1, "%s, seed %llu: %s", name,
			  (unsigned long long)seed, npl_op_defs[c->layer.op].name); /* a Concat may move nothing */
	}
	expect_same(&told[0], &told[1], name, seed);
	told[2] = run_told(engine[0], &c->layer, true, false);
	cr_assert_eq(told[2].checksums, 0);
	told[3] = run_told(engine[0], &c->layer, false, false);
	expect_same(&told[2], &told[3], name, seed);
	if (told[0].count > 3)
		expect_error(engine[0], &c->layer, told[0].count);
	for (int i = 0; i < 4; i++)
		free(told[i].data);
	free(values);
}

static int try_device(const char *name, const char *const *engines)
{
	static struct device_case c;
	struct npl_device *engine[2];
	struct npl_err err = {0};
	int taken = 0;
	for (int e = 0; e < 2; e++) {
		const struct npl_device_options options = {.engine = engines[e]};
		cr_assert_eq(npl_device_open(name, &options, &engine[e], &err), 0, "%s", err.msg);
	}
	for (int numbers = DEVICE_INTEGERS; numbers < DEVICE_NUMBERS; numbers++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			device_case_make(&c, (enum device_numbers)numbers, seed);
			if (npl_device_supports(engine[0], &c.layer, NULL, 0)) {
				try_layer(engine, name, &c, seed);
				taken++;
			}
			device_case_free(&c);
		}
	npl_device_close(engine[0]);
	npl_device_close(engine[1]);
	return taken;
}

Test(instruction_sink, engines_tell_the_same_and_sums_agree)
{
	struct npl_arena arena = {0};
	struct npl_err err = {0};
	const char *const *name;
	int n, machines = 0;
	cr_assert_eq(npl_device_list(&arena, &name, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++) {
		struct npl_device *device;
		if (npl_device_open(name[i], NULL, &device, &err))
			continue;
		const struct npl_driver *driver = npl_device_driver(device);
		npl_device_close(device);
		if (!driver->tell_instructions) {
			cr_expect_not(driver->isa, "%s", driver->name);
			continue;
		}
		cr_assert_gt(try_device(name[i], driver->engines), 5, "%s", name[i]);
		machines++;
	}
	cr_assert_gt(machines, 2);
	npl_arena_free(&arena);
}

Test(instruction_sink, a_device_without_programs_is_refused)
{
	const struct npl_instruction_sink sink = {0};
	struct npl_device *device;
	struct npl_err err = {0};
	cr_assert_eq(npl_device_open("reference", NULL, &device, &err), 0);
	cr_assert_eq(npl_device_tell_instructions(device, &sink, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "diannao"), "%s", err.msg);
	cr_assert_eq(npl_device_tell_instructions(device, NULL, &err), 0);
	npl_device_close(device);
}
