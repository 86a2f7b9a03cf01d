/* SPDX-License-Identifier: MIT
 *
 * What every device of npl_device_list promises, whatever machine it is: a new one has these tests by being listed.
 * Random small layers, each that the device takes, give the values of its number format, the same cycles without values
 * and on every engine, and books that balance (npl_device_run counts them). What it does not take is refused in words.
 * Its parameters read back to the same machine, and machine files that are wrong are refused by key and place. A device
 * that cannot start here is skipped; a case is told by the device, its settings and its seed. */
#include <ctype.h>

#include "core/device_access.h"
#include "core/integer.h"
#include "npulab/driver.h"
#include "npulab/memory.h"
#include "npulab/sha256.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/device_cases.h"

enum { SEEDS = 120, MAX_ENGINES = 4 };

/* A device under one of its precisions, on each of its engines; the first is the one that npulab chooses. */
struct subject {
	char name[160];
	struct npl_device *engine[MAX_ENGINES];
	int n;
};

/* All devices there are. */
struct every {
	struct npl_arena arena;
	const char *const *name;
	int n, skipped;
};

static struct every list_devices(void)
{
	struct every every = {0};
	struct npl_err err = {0};
	cr_assert_eq(npl_device_list(&every.arena, &every.name, &every.n, &err), 0, "%s", err.msg);
	return every;
}

/* NULL: it cannot start here, which is counted. */
static struct npl_device *opened(struct every *every, const char *name, const struct npl_device_options *options)
{
	struct npl_device *device;
	struct npl_err err = {0};
	if (!npl_device_open(name, options, &device, &err))
		return device;
	/* A machine may be unable to have one of the precisions of its driver. */
	cr_assert(err.code == NPL_EDEVICE || (err.code == NPL_EUSAGE && options && options->n_sets), "%s: %s", name,
		  err.msg);
	every->skipped++;
	return NULL;
}

static bool has_parameter(const char *device_name, const char *key)
{
	struct npl_device *device;
	struct npl_err err = {0};
	if (npl_device_open(device_name, NULL, &device, &err))
		return false;
	const struct npl_param *p = npl_device_driver(device)->params;
	while (p && p->key && strcmp(p->key, key))
		p++;
	const bool has = p && p->key;
	npl_device_close(device);
	return has;
}

/* Opens the device with the activity of operands counted, where it has that. False: it cannot start here. */
static bool open_subject(struct every *every, const char *name, const char *precision, struct subject *s)
{
	char set[80];
	const char *const sets[] = {"activity=counted", set};
	const bool counts = has_parameter(name, "activity");
	struct npl_device_options options = {.set = sets + !counts, .n_sets = counts + (precision != NULL)};
	snprintf(set, sizeof set, "precision=%s", precision ? precision : "");
	*s = (struct subject){0};
	snprintf(s->name, sizeof s->name, "%s%s%s", name, precision ? "@" : "", precision ? set : "");
	if (!(s->engine[0] = opened(every, name, &options)))
		return false;
	s->n = 1;
	const char *const *engine = npl_device_driver(s->engine[0])->engines;
	for (; engine && *engine && *++engine && s->n < MAX_ENGINES; s->n++) {
		options.engine = *engine;
		if (!(s->engine[s->n] = opened(every, name, &options)))
			break;
		cr_assert_str_eq(npl_device_get_info(s->engine[s->n])->engine, *engine, "%s", s->name);
	}
	return true;
}

static void close_subject(struct subject *s)
{
	for (int e = 0; e < s->n; e++)
		npl_device_close(s->engine[e]);
}

/* The words of the parameter `precision`, one after the other; false: there is no i-th. */
static bool precision_of(const struct npl_driver *driver, int i, char *word, size_t n)
{
	const struct npl_param *p = driver->params;
	while (p && p->key && strcmp(p->key, "precision"))
		p++;
	const char *at = p && p->key && p->type == NPL_PARAM_CHOICE ? p->words : "";
	for (; *at && i > 0; i--)
		at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ');
	snprintf(word, n, "%.*s", (int)strcspn(at, " /"), at);
	return *word;
}

static void same_counts(const struct subject *s, const char *subject, uint64_t seed, const struct npl_result *a,
			const struct npl_result *b, bool values)
{
	const struct npl_device_info *info = npl_device_get_info(s->engine[0]);
	const unsigned long long told = seed;
	cr_assert_eq(a->cycles, b->cycles, "%s, seed %llu: %s", s->name, told, subject);
	cr_assert_eq(a->seconds, b->seconds, "%s, seed %llu: %s", s->name, told, subject);
	cr_assert_eq(a->macs, b->macs, "%s, seed %llu: %s", s->name, told, subject);
	for (size_t i = 0; i < info->n_counters; i++)
		cr_assert(a->counter[i] == b->counter[i] ||
				  (!values && info->counter_def[i].partition == NPL_COUNTER_OF_VALUES),
			  "%s, seed %llu: %s: %s", s->name, told, subject, info->counter_def[i].name);
	for (int i = 0; i < NPL_MEM_LEVELS; i++)
		cr_assert_eq(a->bytes[i], b->bytes[i], "%s, seed %llu: %s: bytes", s->name, told, subject);
	cr_assert_eq(a->n_energy, b->n_energy, "%s, seed %llu: %s", s->name, told, subject);
	for (int i = 0; i < a->n_energy; i++)
		cr_assert(a->energy[i].joules == b->energy[i].joules || isnan(a->energy[i].joules),
			  "%s, seed %llu: %s: joules of %s", s->name, told, subject, a->energy[i].component);
	for (int i = 0; i < a->n_energy && values; i++)
		cr_assert(a->energy[i].has_activity == b->energy[i].has_activity &&
				  a->energy[i].joules_by_activity == b->energy[i].joules_by_activity,
			  "%s, seed %llu: %s: joules by activity of %s", s->name, told, subject,
			  a->energy[i].component);
	cr_assert(!values || (a->saturations == b->saturations && a->overflows == b->overflows),
		  "%s, seed %llu: %s: saturations", s->name, told, subject);
}

/* How far values may be off, as a share of the largest; less than 0: they are all 0. */
static double accuracy_of(const struct npl_device_info *info)
{
	if (info->kind == NPL_KIND_NULL || info->kind == NPL_KIND_REFERENCE)
		return info->kind == NPL_KIND_NULL ? -1 : 0;
	return !info->element ? 2e-5 : strcmp(info->element, "bfloat16") ? 4e-3 : 8e-3; /* bfloat16 has 8 bits */
}

static void check_values(const struct subject *s, int engine, uint64_t seed, const struct device_case *c)
{
	const struct npl_device_info *info = npl_device_get_info(s->engine[engine]);
	const double accuracy = accuracy_of(info);
	/* A real processor takes these functions from float32, not from the table of 257 points. */
	const bool function = c->layer.op == NPL_OP_SIGMOID || c->layer.op == NPL_OP_TANH,
		   real = info->kind == NPL_KIND_CPU || info->kind == NPL_KIND_GPU;
	int64_t wrong = -1;
	if (accuracy >= 0)
		wrong = device_case_wrong(c, accuracy, function && real);
	for (size_t i = 0; accuracy < 0 && i < npl_tensor_bytes(&c->y); i++)
		wrong = ((const char *)c->y.data)[i] ? (int64_t)i : wrong;
	cr_assert_eq(wrong, -1, "%s, engine %d, seed %llu: %s to %s: element %lld is not as the rule has it", s->name,
		     engine, (unsigned long long)seed, npl_op_defs[c->layer.op].name, npl_dtype_name(c->y.dtype),
		     (long long)wrong);
}

/* A simulated machine of integers counts the saturations and overflows that the integer rule has. */
static void check_counts(const struct subject *s, uint64_t seed, const struct device_case *c,
			 const struct npl_result *result)
{
	const struct npl_device_info *info = npl_device_get_info(s->engine[0]);
	struct npl_integer_counts expected = {0};
	struct npl_tensor out = c->y;
	struct npl_err err = {0};
	if (info->kind != NPL_KIND_SIMULATED ||
	    (info->format != NPL_FORMAT_INT8 && info->format != NPL_FORMAT_INT8X16) ||
	    !npl_integer_layer_ok(&c->layer, NULL, 0))
		return;
	cr_assert_eq(npl_tensor_alloc(&out, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_run_integer(&c->layer, &out, &expected, &err), 0, "%s", err.msg);
	cr_assert(result->saturations == expected.saturations && result->overflows == expected.overflows,
		  "%s, seed %llu: %s: %llu saturations and %llu overflows, by the rule %llu and %llu", s->name,
		  (unsigned long long)seed, npl_op_defs[c->layer.op].name, (unsigned long long)result->saturations,
		  (unsigned long long)result->overflows, (unsigned long long)expected.saturations,
		  (unsigned long long)expected.overflows);
	npl_tensor_free(&out);
}

/* A layer that the device takes: on each engine, with values and without. */
static void run_case(struct subject *s, struct device_case *c, uint64_t seed)
{
	struct npl_result first = {0};
	struct npl_err err = {0};
	const bool modelled = npl_device_kind_is_modelled(npl_device_get_info(s->engine[0])->kind);
	for (int e = 0; e < s->n; e++) {
		struct npl_result result = {0}, timed = {0};
		memset(c->y.data, 0x5a, npl_tensor_bytes(&c->y));
		c->layer.timing_only = true;
		cr_assert_eq(npl_device_run(s->engine[e], &c->layer, &timed, &err), 0, "%s, seed %llu: %s", s->name,
			     (unsigned long long)seed, err.msg);
		for (size_t i = 0; i < npl_tensor_bytes(&c->y); i++)
			cr_assert_eq(((char *)c->y.data)[i], 0x5a, "%s, seed %llu: timing_only wrote the output",
				     s->name, (unsigned long long)seed);
		c->layer.timing_only = false;
		cr_assert_eq(npl_device_run(s->engine[e], &c->layer, &result, &err), 0, "%s, seed %llu: %s", s->name,
			     (unsigned long long)seed, err.msg);
		check_values(s, e, seed, c);
		check_counts(s, seed, c, &result);
		if (modelled)
			same_counts(s, "without values", seed, &result, &timed, false);
		if (modelled && e)
			same_counts(s, "another engine", seed, &first, &result, true);
		first = e ? first : result;
	}
}

/* A reason is a text of its own: printable, more than a word, not cut off, and the same in less room. A caller that
 * gives no room for one is refused too. */
static void check_reason(const struct subject *s, const struct npl_layer *layer, const char *reason,
			 size_t reason_bytes)
{
	char little[12 + 1];
	little[12] = '#';
	cr_assert(strlen(reason) > 8 && strchr(reason, ' ') && strlen(reason) < reason_bytes - 1, "%s: '%s'", s->name,
		  reason);
	cr_assert(!isspace((unsigned char)reason[strlen(reason) - 1]) && !isspace((unsigned char)*reason), "%s: '%s'",
		  s->name, reason);
	for (const char *at = reason; *at; at++)
		cr_assert(isprint((unsigned char)*at), "%s: '%s'", s->name, reason);
	cr_assert_not(npl_device_supports(s->engine[0], layer, little, 12), "%s", s->name);
	cr_assert(little[12] == '#' && !strncmp(little, reason, 10), "%s: '%s', '%s'", s->name, reason, little);
	cr_assert_not(npl_device_supports(s->engine[0], layer, NULL, 0), "%s, asked without a reason", s->name);
}

/* Returns whether the device takes the case. It may be asked before there are values. */
static bool ask(const struct subject *s, struct device_case *c, uint64_t seed)
{
	char reason[400], before[400];
	struct npl_layer empty = c->layer;
	struct npl_tensor in[3], out = c->y;
	const bool takes = npl_device_supports(s->engine[0], &c->layer, reason, sizeof reason);
	for (int k = 0; k < empty.n_in && k < 3; k++) {
		in[k] = *empty.in[k];
		in[k].data = NULL;
		empty.in[k] = &in[k];
	}
	out.data = NULL;
	empty.out = &out;
	if (empty.n_in <= 3)
		cr_assert_eq(npl_device_supports(s->engine[0], &empty, before, sizeof before), takes,
			     "%s, seed %llu: asked without values: '%s', with: '%s'", s->name, (unsigned long long)seed,
			     before, reason);
	if (!takes)
		check_reason(s, &c->layer, reason, sizeof reason);
	return takes;
}

/* A scale that no network has makes values that no rule promises. */
static bool has_real_scale(const struct npl_tensor *t)
{
	return t->dtype == NPL_F32 || t->dtype == NPL_I32 || (t->quant.scale > 1e-9f && t->quant.scale < 1e9f);
}

static bool is_asked(const struct subject *s, const struct device_case *c)
{
	const bool factor = c->layer.op == NPL_OP_LRN && c->y.dtype == NPL_I16;
	return has_real_scale(&c->y) && (!factor || npl_device_get_info(s->engine[0])->capabilities & NPL_LRN_FACTOR);
}

static void try_layers(struct subject *s)
{
	bool ops[NPL_OPS] = {false};
	static struct device_case c;
	int n_taken = 0, refused = 0, kinds = 0;
	for (int numbers = 0; numbers < DEVICE_NUMBERS; numbers++)
		for (uint64_t seed = 1; seed <= TEST_TIMES(SEEDS); seed++) {
			device_case_make(&c, (enum device_numbers)numbers, seed);
			if (is_asked(s, &c)) {
				const bool takes = ask(s, &c, seed);
				n_taken += takes;
				refused += !takes;
				kinds += takes && !ops[c.layer.op];
				ops[c.layer.op] |= takes;
				if (takes)
					run_case(s, &c, seed);
			}
			device_case_free(&c);
		}
	cr_log_info("%s: %d layers of %d operators on %d engines, %d refused", s->name, n_taken, kinds, s->n, refused);
	cr_assert_gt(n_taken, 0, "%s takes none of the layers", s->name);
}

Test(every_device, layers_values_cycles_engines_refusals)
{
	struct every every = list_devices();
	char word[40];
	for (int i = 0; i < every.n; i++) {
		struct subject s;
		if (!open_subject(&every, every.name[i], NULL, &s))
			continue;
		const struct npl_driver *driver = npl_device_driver(s.engine[0]);
		const char *own = npl_device_setting(s.engine[0], "precision");
		char precision[40];
		snprintf(precision, sizeof precision, "%s", own ? own : "");
		try_layers(&s);
		close_subject(&s);
		for (int k = 0; precision_of(driver, k, word, sizeof word); k++) {
			if (!strcmp(word, precision) || !open_subject(&every, every.name[i], word, &s))
				continue;
			try_layers(&s);
			close_subject(&s);
		}
	}
	cr_log_info("%d devices, %d could not start", every.n, every.skipped);
	npl_arena_free(&every.arena);
}

/* Layers that go to a device together give what they give by themselves. */
static int try_group(struct npl_device *device, const char *name, struct group *group, uint64_t seed)
{
	struct npl_tensor actual = *group->list[group->n_layers - 1]->out;
	struct npl_layer last = *group->list[group->n_layers - 1];
	const struct npl_tensor *output = &actual, *expected = last.out;
	const struct npl_layer *list[LAYER_GROUP_MAX];
	const struct npl_layer_group asked = {.n = group->n_layers, .layer = list, .n_outputs = 1, .output = &output};
	struct npl_result results[LAYER_GROUP_MAX] = {{0}};
	struct npl_layer_group_handle *handle;
	struct npl_err err = {0};
	memcpy(list, group->list, (size_t)group->n_layers * sizeof *list);
	list[group->n_layers - 1] = &last;
	last.out = &actual;
	for (int i = 0; i < group->n_layers; i++)
		if (!has_real_scale(list[i]->out) || !npl_device_supports(device, list[i], NULL, 0))
			return 0;
	cr_assert_eq(npl_tensor_alloc(&actual, &err), 0, "%s", err.msg);
	int rc = npl_device_open_layer_group(device, &asked, &handle, &err);
	cr_assert(!rc || rc == NPL_EDEVICE, "%s, seed %llu: %s", name, (unsigned long long)seed, err.msg);
	if (!rc) {
		cr_assert_eq(npl_device_run_layer_group(handle, NULL, results, &err), 0, "%s, seed %llu: %s", name,
			     (unsigned long long)seed, err.msg);
		for (int64_t e = 0; e < npl_tensor_count(expected); e++)
			cr_assert_eq(rule_get(&actual, e), rule_get(expected, e), "%s, seed %llu: element %lld", name,
				     (unsigned long long)seed, (long long)e);
		npl_device_close_layer_group(handle);
	}
	npl_tensor_free(&actual);
	return !rc;
}

Test(every_device, layer_groups_equal_single_layers)
{
	struct every every = list_devices();
	for (int i = 0; i < every.n; i++) {
		static struct group group;
		struct npl_device *device = opened(&every, every.name[i], NULL);
		int n_taken = 0;
		for (uint64_t seed = 1; device && npl_device_has_layer_groups(device) && seed <= TEST_TIMES(150);
		     seed++) {
			layer_group_random(&group, seed + 5000, 6);
			n_taken += try_group(device, every.name[i], &group, seed);
			layer_group_end(&group);
		}
		if (device && npl_device_has_layer_groups(device))
			cr_log_info("%s: %d layer groups", every.name[i], n_taken);
		npl_device_close(device);
	}
	npl_arena_free(&every.arena);
}

Test(every_device, unknown_engines_are_refused_with_the_names)
{
	struct every every = list_devices();
	for (int i = 0; i < every.n; i++) {
		struct npl_device *device = opened(&every, every.name[i], NULL), *none;
		const struct npl_device_options options = {.engine = "steam"};
		struct npl_err err = {0};
		const char *const *engine = device ? npl_device_driver(device)->engines : NULL;
		if (engine) {
			cr_assert_eq(npl_device_open(every.name[i], &options, &none, &err), NPL_EUSAGE);
			cr_assert(strstr(err.msg, "'steam'"), "%s", err.msg);
			cr_assert_str_eq(npl_device_get_info(device)->engine, *engine);
			for (; *engine; engine++)
				cr_assert(strstr(err.msg, *engine), "%s lacks %s", err.msg, *engine);
		}
		npl_device_close(device);
	}
	npl_arena_free(&every.arena);
}

/* The first case that the device takes. */
static bool find_case(const struct npl_device *device, struct device_case *c)
{
	for (int numbers = 0; numbers < DEVICE_NUMBERS; numbers++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			device_case_make(c, (enum device_numbers)numbers, seed);
			if (c->layer.op != NPL_OP_FLATTEN && npl_device_supports(device, &c->layer, NULL, 0))
				return true;
			device_case_free(c);
		}
	return false;
}

/* Parameters as YAML, read again: the same text and hash, and the same result. */
static void check_round_trip(const char *folder, const char *name, struct npl_device *device)
{
	static struct device_case c;
	char hex[NPL_SHA256_HEX];
	struct npl_err err = {0};
	struct npl_device *copy;
	struct npl_result result = {0}, repeated = {0};
	int values;
	struct subject s = {.engine = {device}, .n = 1};
	snprintf(s.name, sizeof s.name, "%s, read back", name);
	cli_write_text(folder, "m.yaml", npl_device_yaml(device));
	cr_assert_eq(npl_device_open(cli_path(folder, "m.yaml"), NULL, &copy, &err), 0, "%s: %s", name, err.msg);
	cr_assert_str_eq(npl_device_name(copy), name);
	cr_assert_str_eq(npl_device_yaml(copy), npl_device_yaml(device));
	cr_assert_str_eq(npl_device_sha256(copy), npl_device_sha256(device));
	if (!npl_device_get_info(device)->memory_yaml) {
		npl_sha256_hex(npl_device_yaml(device), strlen(npl_device_yaml(device)), hex);
		cr_assert_str_eq(npl_device_sha256(device), hex);
	}
	npl_device_settings(device, &values);
	cr_assert_gt(values, 0);
	cr_assert(find_case(device, &c), "%s takes nothing", name);
	cr_assert_eq(npl_device_run(device, &c.layer, &result, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_device_run(copy, &c.layer, &repeated, &err), 0, "%s", err.msg);
	if (npl_device_kind_is_modelled(npl_device_get_info(device)->kind))
		same_counts(&s, "its copy", 0, &result, &repeated, true);
	check_values(&s, 0, 0, &c);
	device_case_free(&c);
	npl_device_close(copy);
}

/* A memory that a parameter names is part of the machine, so that its text is part of the hash: two memory files of one
 * name are two machines. */
static void check_memory_in_hash(const char *name, const struct npl_device *device)
{
	struct npl_arena arena = {0};
	struct npl_err err = {0};
	const char *const *memory;
	int n_values, n_memories, named = 0;
	const struct npl_param_value *value = npl_device_settings(device, &n_values);
	cr_assert_eq(npl_memory_list(&arena, &memory, &n_memories, &err), 0, "%s", err.msg);
	for (int v = 0; v < n_values; v++)
		for (int m = 0; m < n_memories; m++) {
			if (strcmp(value[v].value, memory[m]))
				continue;
			cr_assert(npl_device_get_info(device)->memory_yaml,
				  "%s: %s is %s, whose parameters are not in the hash", name, value[v].key, memory[m]);
			named++;
		}
	cr_assert(named > 0 || !npl_device_get_info(device)->memory_yaml, "%s: no parameter names its memory", name);
	npl_arena_free(&arena);
}

Test(every_device, parameters_read_back_to_the_same_machine)
{
	struct every every = list_devices();
	char folder[CLI_PATH];
	int tried = 0;
	cli_folder(folder);
	for (int i = 0; i < every.n; i++) {
		struct npl_device *device = opened(&every, every.name[i], NULL);
		cr_assert(!device || !strcmp(npl_device_name(device), every.name[i]));
		if (device && npl_device_yaml(device)) {
			check_round_trip(folder, every.name[i], device);
			check_memory_in_hash(every.name[i], device);
			tried++;
		} else if (device) {
			cr_assert_null(npl_device_sha256(device));
		}
		npl_device_close(device);
	}
	cr_assert_geq(tried, 3, "%d devices with parameters", tried);
	npl_arena_free(&every.arena);
	cli_remove_folder(folder);
}

/* A machine's file, flat: its settings with one of them changed, in the last line. */
static int write_changed(const char *folder, const struct npl_description *machine, const char *without,
			 const char *line)
{
	char *text;
	size_t bytes;
	int lines = 3;
	FILE *file = open_memstream(&text, &bytes);
	cr_assert(file);
	fprintf(file, "name: hostile\ndriver: %s\n", machine->driver_or_model);
	for (int i = 0; i < machine->n_settings; i++)
		if (strcmp(machine->setting[i].key, without)) {
			fprintf(file, "%s: '%s'\n", machine->setting[i].key, machine->setting[i].value);
			lines++;
		}
	fprintf(file, "%s\n", line);
	fclose(file);
	cli_write_text(folder, "hostile.yaml", text);
	free(text);
	return lines;
}

/* The file is refused, and the message names its place and the key. */
static void check_refused(const char *folder, const struct npl_description *machine, const char *without,
			  const char *line, const char *named)
{
	struct npl_err err = {0};
	struct npl_device *device = NULL;
	char place[40];
	snprintf(place, sizeof place, "hostile.yaml:%d: ", write_changed(folder, machine, without, line));
	const int rc = npl_device_open(cli_path(folder, "hostile.yaml"), NULL, &device, &err);
	cr_assert_eq(rc, NPL_EINPUT, "%s: '%s' is taken: %s", machine->driver_or_model, line, err.msg);
	cr_assert(strstr(err.msg, place) && strstr(err.msg, named), "%s: '%s': '%s' lacks %s or %s",
		  machine->driver_or_model, line, err.msg, place, named);
}

/* Values that no parameter of the type takes, and out of its range; a key that is almost its own. */
static int refuse_parameter(const char *folder, const struct npl_description *machine, const struct npl_param *p)
{
	char line[200], near[100], number[40];
	int tried = 0;
	const bool is_number = p->type == NPL_PARAM_INT || p->type == NPL_PARAM_DOUBLE;
	const double beyond[] = {p->min - fmax(1, fabs(p->min)), p->max + fmax(1, fabs(p->max))};
	for (int i = 0; is_number && i < 2; i++) {
		if (!isfinite(beyond[i]))
			continue;
		snprintf(number, sizeof number, "%.17g", beyond[i]);
		snprintf(line, sizeof line, "%s: %s", p->key, number);
		check_refused(folder, machine, p->key, line, p->key);
		tried++;
	}
	for (int i = 0; p->type != NPL_PARAM_STRING && i < 3; i++, tried++) {
		static const char *const wrong[] = {"nonsense", "nan x", "''"};
		snprintf(line, sizeof line, "%s: %s", p->key, wrong[i]);
		check_refused(folder, machine, p->key, line, p->key);
	}
	snprintf(line, sizeof line, "%s: [1, 2]", p->key);
	check_refused(folder, machine, p->key, line, "list");
	snprintf(line, sizeof line, "%s: {one: 1}", p->key);
	check_refused(folder, machine, p->key, line, p->key);
	snprintf(near, sizeof near, "%sx", p->key);
	snprintf(line, sizeof line, "%s: 1", near);
	check_refused(folder, machine, "", line, near);
	snprintf(number, sizeof number, "the nearest is '");
	check_refused(folder, machine, "", line, number);
	return tried + 4;
}

/* A file that ends within a line is refused, or is one that leaves out its last parameters. */
static int cut_short(const char *folder, const char *name, const char *yaml)
{
	const size_t bytes = strlen(yaml);
	int refused = 0;
	for (int i = 0; i < 20; i++) {
		struct npl_device *device = NULL;
		struct npl_err err = {0};
		cli_write(folder, "cut.yaml", yaml, bytes * (size_t)i / 20);
		const int rc = npl_device_open(cli_path(folder, "cut.yaml"), NULL, &device, &err);
		const bool started = rc != NPL_EINPUT && rc != NPL_EUSAGE;
		cr_assert(started || strstr(err.msg, "cut.yaml") || strstr(err.msg, name), "%s: '%s'", name, err.msg);
		refused += !started;
		npl_device_close(device);
	}
	return refused;
}

static const struct npl_driver *driver_of(const struct npl_description *machine)
{
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		if (!strcmp((*d)->name, machine->driver_or_model))
			return *d;
	cr_assert_fail("no driver %s", machine->driver_or_model);
	return NULL;
}

/* Parameters are read before a device starts, so those of absent hardware are tried too. */
Test(every_device, wrong_machine_files_are_refused_by_key_and_place)
{
	struct every every = list_devices();
	char folder[CLI_PATH];
	const struct npl_driver *last = NULL;
	cli_folder(folder);
	for (int i = 0; i < every.n; i++) {
		const char *yaml;
		struct npl_description machine;
		struct npl_err err = {0};
		int tried = 0;
		cr_assert_eq(npl_device_parameters(every.name[i], NULL, &every.arena, &yaml, &err), 0, "%s", err.msg);
		if (!yaml)
			continue;
		cli_write_text(folder, "own.yaml", yaml);
		cr_assert_eq(npl_description_load(cli_path(folder, "own.yaml"), "driver", &every.arena, &machine, &err),
			     0, "%s", err.msg);
		for (const struct npl_param *p = driver_of(&machine)->params; p->key && driver_of(&machine) != last;
		     p++)
			tried += refuse_parameter(folder, &machine, p);
		last = driver_of(&machine); /* machines of one driver have one schema */
		cr_assert_gt(cut_short(folder, every.name[i], yaml), 0, "%s", every.name[i]);
		cr_log_info("%s: %d wrong files", every.name[i], tried);
	}
	npl_arena_free(&every.arena);
	cli_remove_folder(folder);
}
