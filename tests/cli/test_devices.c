/* SPDX-License-Identifier: MIT
 *
 * Promises of `npulab devices --verbose` and its JSON: what was found of each real device, the same in both; a warning
 * when BLAS runs kernels older than the processor; the reason where a device cannot be used; nothing of it unless
 * asked. */
#include "backends/cpu/blas.h"
#include "core/computer/onednn.h"
#include "tests/kit/cli_json.h"

static json_t *devices_json(void)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *json = cli_parse_json(r.out);
	cr_assert_str_eq(cli_text(cli_at(json, "schema")), "npulab.devices/1");
	cli_free(&r);
	return json;
}

static json_t *facts_of(json_t *json, const char *name)
{
	size_t i;
	json_t *device, *facts = NULL;
	json_array_foreach (cli_at(json, "devices"), i, device)
		if (!strcmp(cli_text(cli_at(device, "name")), name))
			facts = cli_at(device, "facts");
	cr_assert(facts, "there is no device %s", name);
	return facts;
}

Test(cli_devices, real_devices_tell_what_was_found)
{
	json_t *json = devices_json(), *facts = facts_of(json, "cpu"), *device, *value;
	const char *key;
	size_t i;
	cli_check_keys(facts,
		       "processor:s cores:s threads:s library:s library_version:s core_type:s int8_kernels:s energy:s",
		       "cpu");
	cr_assert_str_eq(cli_text(cli_at(facts, "library")), "OpenBLAS");
	cr_assert(!json_object_get(facts, "assumed_power") ==
			  !strncmp(cli_text(cli_at(facts, "energy")), "measured by ", 12),
		  "an assumption stands where nothing is measured");
	json_array_foreach (cli_at(json, "devices"), i, device) {
		const char *kind = json_string_value(cli_at(device, "kind"));
		if (!kind || (strcmp(kind, "cpu") && strcmp(kind, "gpu")))
			cr_assert_eq(json_object_size(cli_at(device, "facts")), 0, "%s",
				     cli_text(cli_at(device, "name")));
		cr_assert(kind || *cli_text(cli_at(device, "reason")), "%s has neither kind nor reason",
			  cli_text(cli_at(device, "name")));
	}
	/* The table says the same: the clock and the load aside, which go on changing. */
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "--verbose");
	cr_assert_eq(r.status, 0, "%s", r.err);
	const char *block = strstr(r.out, "FOUND");
	cr_assert(block, "%s", r.out);
	json_object_foreach (facts, key, value) {
		char words[64];
		snprintf(words, sizeof words, "\n%s  ", key);
		for (char *at = words; (at = strchr(at, '_'));)
			*at = ' ';
		const char *line = strstr(block, words);
		cr_assert(line, "no line for %s in %s", key, block);
		const char *value_text = line + strlen(words) + strspn(line + strlen(words), " ");
		size_t word = strcspn(json_string_value(value), " ");
		cr_assert(!strcmp(key, "clock") || !strncmp(value_text, json_string_value(value), word), "%s: %s", key,
			  value_text);
	}
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "devices");
	cr_assert(!strstr(r.out, "FOUND"), "%s", r.out);
	cli_free(&r);
	json_decref(json);
}

Test(cli_devices, old_kernels_are_warned_of)
{
	if (cpu_vectors_detect().level == CPU_SSE)
		cr_skip("this processor is as old as the kernels");
	setenv("OPENBLAS_CORETYPE", "Prescott", 1);
	json_t *json = devices_json();
	const char *warning = cli_text(cli_at(facts_of(json, "cpu"), "warning"));
	cr_assert(strstr(warning, "the Prescott kernels of OpenBLAS are older than this processor: SSE instead of ") &&
			  strstr(warning, "because OPENBLAS_CORETYPE is set"),
		  "%s", warning);
	json_decref(json);
	unsetenv("OPENBLAS_CORETYPE");
	json = devices_json();
	cr_assert_null(json_object_get(facts_of(json, "cpu"), "warning"),
		       "of its own accord it takes kernels that fit");
	json_decref(json);
}

/* A parameter may be tried where its effect is told, with the machine's name before it or not; parameters can be read
 * where the device cannot start. */
Test(cli_devices, parameters_may_be_changed_where_they_are_shown)
{
	static const char *const with[] = {"cpu.tdp_watts=77", "tdp_watts=77"};
	for (int i = 0; i < 2; i++) {
		struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "cpu", "--set", with[i], "--set",
					      "cpu.tdp_cores=1");
		cr_assert_eq(r.status, 0, "%s", r.err);
		cr_assert(strstr(r.out, "77"), "%s", r.out);
		cli_free(&r);
		r = cli_run(&(struct cli_run_options){0}, "devices", "cpu", "--yaml", "--set", with[i]);
		cr_assert(r.status == 0 && cli_says(r.out, "tdp_watts: 77"), "%s%s", r.out, r.err);
		cli_free(&r);
	}
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "cuda", "--yaml");
	cr_assert(r.status == 0 && strstr(r.out, "precision: "), "%s%s", r.out, r.err);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "devices", "cpu", "--set", "nonsense=1");
	cr_assert(r.status == 2 && strstr(r.err, "nonsense"), "%s", r.err);
	cli_free(&r);
}

/* An instruction set that oneDNN is kept from is told, where the processor has it. */
Test(cli_devices, older_instructions_of_onednn_are_warned_of)
{
	struct npl_onednn onednn;
	struct npl_err err;
	if (cpu_vectors_detect().level < CPU_AVX2 || npl_onednn_load(NPL_ONEDNN_SONAME, &onednn, &err))
		cr_skip("no oneDNN, or no newer instructions");
	setenv("DNNL_MAX_CPU_ISA", "SSE41", 1);
	json_t *json = devices_json();
	const char *warning = cli_text(cli_at(facts_of(json, "cpu"), "convolution_warning"));
	cr_assert(strstr(warning, "with SSE4.1 instead of AVX") && strstr(warning, "because DNNL_MAX_CPU_ISA is set"),
		  "%s", warning);
	json_decref(json);
	unsetenv("DNNL_MAX_CPU_ISA");
	json = devices_json();
	cr_assert_null(json_object_get(facts_of(json, "cpu"), "convolution_warning"));
	json_decref(json);
}

/* A word in their variables that the libraries do not know they ignore without a word of their own; in whichever case
 * it is one. */
Test(cli_devices, words_that_libraries_ignore_are_told)
{
	struct npl_onednn onednn;
	struct npl_err err;
	struct cpu_blas blas;
	if (cpu_vectors_detect().level < CPU_AVX2 || npl_onednn_load(NPL_ONEDNN_SONAME, &onednn, &err) ||
	    cpu_blas_load(CPU_BLAS_SONAME, 0, &blas, &err))
		cr_skip("no oneDNN, no OpenBLAS, or no newer instructions");
	static const char *const variables[] = {"DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA"};
	for (int i = 0; i < 2; i++) {
		setenv("OPENBLAS_CORETYPE", "Fastest", 1);
		setenv(variables[i], "fastest", 1);
		json_t *json = devices_json();
		json_t *facts = facts_of(json, "cpu");
		const char *core = cli_text(cli_at(facts, "warning")),
			   *isa = cli_text(cli_at(facts, "convolution_warning"));
		cr_assert(strstr(core, "OPENBLAS_CORETYPE is 'Fastest'"), "%s", core);
		cr_assert(strstr(isa, variables[i]) &&
				  strstr(isa, " is 'fastest', which oneDNN ignores: it knows SSE41 AVX AVX2 "),
			  "%s", isa);
		json_decref(json);
		setenv(variables[i], "avx2", 1);
		setenv("OPENBLAS_CORETYPE", "prescott", 1);
		json = devices_json();
		facts = facts_of(json, "cpu");
		core = cli_text(cli_at(facts, "warning"));
		cr_assert(strstr(core, "because OPENBLAS_CORETYPE is set"), "%s", core);
		isa = cpu_vectors_detect().level > CPU_AVX2 ? cli_text(cli_at(facts, "convolution_library"))
							    : variables[i];
		cr_assert(strstr(isa, variables[i]) && !strstr(isa, "ignores"), "%s", isa);
		json_decref(json);
		unsetenv(variables[i]);
		unsetenv("OPENBLAS_CORETYPE");
	}
	struct cli_result r;
	setenv("OPENBLAS_CORETYPE", "Fastest", 1);
	r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "4", "-n", "4", "-k", "4", "--devices", "cpu");
	cr_assert(strstr(r.out, "OPENBLAS_CORETYPE=Fastest"), "%s", r.out);
	cli_free(&r);
	unsetenv("OPENBLAS_CORETYPE");
	cpu_blas_unload(&blas);
}

/* A machine's file is told by the name that it gives its machine. */
Test(cli_devices, a_file_has_its_machines_name)
{
	char folder[CLI_PATH], path[CLI_PATH + 16];
	cli_folder(folder);
	snprintf(path, sizeof path, "%s/other.yaml", folder);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "null", "--json", "-");
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "devices", "tpu_v1", "--yaml");
	const char *line = strstr(r.out, "name: tpu_v1\n");
	cr_assert(line, "%s", r.out);
	FILE *file = fopen(path, "we");
	cr_assert_not_null(file);
	fprintf(file, "%.*sname: mine\n%s", (int)(line - r.out), r.out, line + strlen("name: tpu_v1\n"));
	cr_assert_eq(fclose(file), 0);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "devices", path, "--set", "mine.array.rows=128");
	cr_assert(!r.status && strstr(r.out, "\nmine ") && !strstr(r.out, "other.yaml") && cli_says(r.out, "128 x 256"),
		  "%s%s", r.out, r.err);
	cli_free(&r);
	json_t *json = cli_json(&(struct cli_run_options){0}, "devices", path, "--json", "-");
	cr_assert_str_eq(cli_text(cli_at(json, "devices.0.name")), "mine");
	json_decref(json);
	cli_remove_folder(folder);
}

/* An analytical device has a clock, although its times are not in cycles. */
Test(cli_devices, an_analytical_device_has_a_clock)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "gpu_k80 analytical float32 560 MHz 2.80 TOP/s"), "%s", r.out);
	cr_assert(cli_says(r.out, "diannao simulated Q6.10 980 MHz"), "%s", r.out);
	cr_assert(cli_says(r.out, "null null float32 - -"), "%s", r.out);
	cli_free(&r);
	json_t *root = cli_json(&(struct cli_run_options){0}, "devices", "gpu_k80", "--json", "-");
	cr_assert_eq(cli_number(cli_at(root, "devices.0.clock_hz")), 560e6);
	json_decref(root);
}
