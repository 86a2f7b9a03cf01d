/* SPDX-License-Identifier: MIT
 *
 * What an older program wrote (tests/compatibility/README.md) is still good: its machine files are read and give the
 * same cycles and values, its binaries run as before, and every key of its JSON is there and means the same. */
#include "tests/kit/cli_json.h"

#define OLD "tests/compatibility/"

/* Keys that have another name today: {old, new}. None has. */
static const char *const renamed[][2] = {{NULL, NULL}};

static const char *name_now(const char *key)
{
	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (renamed[i][0] && !strcmp(renamed[i][0], key))
			return renamed[i][1];
	return key;
}

static json_t *old_json(const char *path)
{
	char *text = cli_read(path, NULL);
	json_t *root = cli_parse_json(text);
	free(text);
	return root;
}

static bool is_one_of(const char *key, const char *const *list)
{
	while (*list && strcmp(*list, key) != 0)
		list++;
	return *list != NULL;
}

/* What of a simulated run depends on neither the computer, the modelled host nor a table of energies. */
static const char *const exact[] = {"cycles",
				    "macs",
				    "parameters",
				    "layers",
				    "samples",
				    "batches",
				    "batch",
				    "clock_hz",
				    "index",
				    "name",
				    "op",
				    "role",
				    "kind",
				    "precision",
				    "output_sha256",
				    "top1_accuracy",
				    "top1_agreement",
				    "saturations",
				    "overflows",
				    "max_abs_error",
				    "sqnr_db",
				    "not_finite",
				    "zero_point",
				    "scale",
				    "type",
				    "file_sha256",
				    "dram",
				    "buffer",
				    "peak_buffer_bytes",
				    "utilization",
				    "address",
				    "bytes",
				    "sha256",
				    "machine",
				    "engine",
				    NULL};

/* The entry of a component in a list of energies; there must be one. */
static json_t *energy_of(json_t *list, const char *component)
{
	json_t *entry;
	size_t i;
	json_array_foreach (list, i, entry)
		if (!strcmp(cli_text(cli_at(entry, "component")), component))
			return entry;
	cr_assert_fail("there is no energy of %s", component);
	return NULL;
}

/* Every key of old is in now, of the same type unless either is null, and where values say the same things, the
 * same. */
static void check_keys(json_t *old, json_t *now, const char *path, bool values)
{
	const char *key;
	json_t *was;
	size_t i;
	if (json_is_array(old)) {
		/* A machine's energies have become more: its static power stands apart. */
		const bool energies = strlen(path) > 7 && !strcmp(path + strlen(path) - 7, ".energy");
		if (energies) {
			json_array_foreach (old, i, was)
				check_keys(was, energy_of(now, cli_text(cli_at(was, "component"))), path, false);
			return;
		}
		cr_assert_eq(json_array_size(old), json_array_size(now), "%s", path);
		json_array_foreach (old, i, was)
			check_keys(was, json_array_get(now, i), path, values);
		return;
	}
	const bool counters = strlen(path) > 8 && !strcmp(path + strlen(path) - 9, ".counters");
	json_object_foreach (old, key, was) {
		char here[400];
		json_t *is = json_object_get(now, name_now(key));
		snprintf(here, sizeof here, "%s.%s", path, key);
		cr_assert(is, "%s: the key is no longer there", here);
		cr_assert(json_is_null(was) || json_is_null(is) || json_typeof(was) == json_typeof(is) ||
				  (json_is_number(was) && json_is_number(is)) ||
				  (json_is_boolean(was) && json_is_boolean(is)), /* such as that the machine was busy */
			  "%s: another type", here);
		if (json_is_object(was) || json_is_array(was))
			check_keys(was, is, here, values);
		else if (values && (counters || is_one_of(key, exact)))
			cr_assert(json_equal(was, is) ||
					  (json_is_number(was) && json_is_number(is) &&
					   cli_near(json_number_value(was), json_number_value(is), 1e-12)),
				  "%s: %s, was %s", here, json_dumps(is, JSON_ENCODE_ANY),
				  json_dumps(was, JSON_ENCODE_ANY));
	}
}

/* Of a measured device only keys and types: its values are the libraries' of the computer. So of the machine
 * `may_differ`. */
static void check_comparison(json_t *old, json_t *now, const char *may_differ)
{
	size_t i;
	json_t *was;
	check_keys(cli_at(old, "model"), cli_at(now, "model"), "model", true);
	json_array_foreach (cli_at(old, "devices"), i, was) {
		const char *name = cli_text(cli_at(was, "name"));
		check_keys(was, cli_device(now, name), name, strcmp(name, "cpu") != 0 && strcmp(name, may_differ) != 0);
	}
}

/* What the keys mean: sums, shares and rates are those of the schema's page. */
static void check_meaning(json_t *device, double batches)
{
	json_t *totals = cli_at(device, "totals"), *layer, *part;
	double seconds = cli_number(cli_at(totals, "seconds")), joules = 0, layers = 0, cycles = 0;
	size_t i;
	cr_assert(cli_near(cli_number(cli_at(totals, "latency_s")) * batches, seconds, 1e-9));
	cr_assert(cli_near(cli_number(cli_at(totals, "inferences_per_second")) * seconds, 360, 1e-9));
	json_array_foreach (cli_at(device, "layers"), i, layer) {
		layers += cli_number(cli_at(layer, "seconds"));
		cycles += json_number_value(cli_at(layer, "cycles"));
	}
	cr_assert(cli_near(layers - cli_number(cli_at(totals, "overlap_seconds")), seconds, 1e-6), "%g, %g", layers,
		  seconds);
	if (!json_is_null(cli_at(totals, "cycles")))
		cr_assert_eq(cycles, cli_number(cli_at(totals, "cycles")));
	if (json_is_null(cli_at(totals, "energy_j")))
		return;
	json_array_foreach (cli_at(totals, "energy"), i, part)
		joules += json_number_value(cli_at(part, "joules"));
	cr_assert(cli_near(joules, cli_number(cli_at(totals, "energy_j")), 1e-9));
	cr_assert(cli_near(joules / seconds, cli_number(cli_at(totals, "power_w")), 1e-9));
}

Test(compatibility, json_of_an_older_program_has_no_key_that_is_gone)
{
	json_t *old = old_json(OLD "compare.json"), *device;
	json_t *now = cli_json(&(struct cli_run_options){0}, "compare", "digits", "--devices",
			       "reference,tpu_v1,diannao,systolic_128x128,systolic_16x16,cpu", "--json", "-");
	size_t i;
	check_comparison(old, now, "systolic_128x128"); /* no published machine: its shipped figures may change */
	json_array_foreach (cli_at(now, "devices"), i, device)
		check_meaning(device, cli_number(cli_at(now, "model.batches")));
	json_decref(old);
	json_decref(now);
}

Test(compatibility, machine_files_of_an_older_program_give_the_same)
{
	json_t *old = old_json(OLD "compare.json");
	json_t *now = cli_json(&(struct cli_run_options){0}, "compare", "digits", "--devices",
			       OLD "tpu_v1.yaml," OLD "diannao.yaml," OLD "systolic_128x128.yaml," OLD
				   "systolic_16x16.yaml," OLD "cpu.yaml",
			       "--json", "-");
	json_t *devices = cli_at(old, "devices");
	cr_assert_eq(json_array_remove(devices, 0), 0); /* the reference, which has no file */
	check_comparison(old, now, "");
	json_decref(old);
	json_decref(now);
}

Test(compatibility, binaries_of_an_older_program_run_as_before)
{
	static const char *const isas[][2] = {{"tpu", "systolic_16x16"}, {"diannao", "diannao"}};
	for (size_t i = 0; i < 2; i++)
		for (int engine = 0; engine < 2; engine++) {
			char path[4][CLI_PATH];
			static const char *const ends[] = {"exec.json", "example.bin", "host.npy", "weights.npy"};
			for (int k = 0; k < 4; k++)
				snprintf(path[k], CLI_PATH, OLD "%s-%s", isas[i][0], ends[k]);
			json_t *old = old_json(path[0]);
			json_t *now = cli_json(&(struct cli_run_options){0}, "exec", path[1], "--machine", isas[i][1],
					       "--host-memory", path[2], "--weights", path[3], "--engine",
					       engine ? "rtl" : "fast", "--json", "-");
			if (engine)
				cr_assert_eq(json_object_del(old, "engine"), 0);
			check_keys(old, now, isas[i][0], true);
			json_decref(old);
			json_decref(now);
		}
}
