/* SPDX-License-Identifier: MIT
 *
 * Promises of the GPU's energy without a GPU: the library is looked for in three places and only when asked; the
 * counter is read from step to step; without one the power is integrated, the instantaneous before the averaged;
 * without either, or when any call fails, there is a reason and never a 0; all that is opened is closed. The library is
 * a fake behind struct cu_loader whose counter steps every few calls. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/load/nvml.h"
#include "core/computer/clock.h"

#define BUS     "0000:65:00.0"
#define STEP_MJ 700
#define CALLS   4 /* polls between two steps */

static struct {
	const char *soname;  /* where it is */
	const char *missing; /* symbols, each between spaces */
	bool counter_works, counter_is_zero, instant_works, goes_back;
	int fail_at, fail_code;
	atomic_int calls, polls;
	int opened, closed, inits, shutdowns;
	char tried[200];
	unsigned watts;
} fake;

static int next_call(void)
{
	return atomic_fetch_add(&fake.calls, 1) + 1 == fake.fail_at ? fake.fail_code : 0;
}

static int fake_init(void)
{
	fake.inits++;
	int code = next_call();
	fake.inits -= code != 0;
	return code;
}

static int fake_shutdown(void)
{
	fake.shutdowns++;
	return 0;
}

static const char *fake_error_string(int code)
{
	return code == CU_NVML_NOT_SUPPORTED ? "Not Supported" : code == 999 ? "Unknown Error" : NULL;
}

static int fake_by_bus_id(const char *bus_id, void **gpu)
{
	*gpu = &fake;
	int code = next_call();
	return code ? code : strcmp(bus_id, BUS) ? 6 : 0;
}

static int fake_energy(void *gpu, unsigned long long *mj)
{
	cr_assert_eq(gpu, (void *)&fake);
	int polls = atomic_fetch_add(&fake.polls, 1);
	*mj = fake.counter_is_zero ? 0 : 123456789ull + (unsigned long long)(polls / CALLS) * STEP_MJ;
	if (fake.goes_back && polls >= 4 * CALLS)
		*mj = 5 + (unsigned long long)polls / CALLS;
	int code = next_call();
	return code ? code : fake.counter_works ? 0 : CU_NVML_NOT_SUPPORTED;
}

static int fake_power(void *gpu, unsigned *mw)
{
	cr_assert_eq(gpu, (void *)&fake);
	*mw = 1000 * fake.watts;
	return next_call();
}

static int fake_fields(void *gpu, int n, struct cu_nvml_field *fields)
{
	cr_assert_eq(gpu, (void *)&fake);
	cr_assert_eq(n, 1);
	cr_assert_eq(fields->id, 186);
	fields->code = fake.instant_works ? 0 : CU_NVML_NOT_SUPPORTED;
	fields->type = CU_NVML_VALUE_UNSIGNED;
	fields->value.small = 1000 * (fake.watts + 1); /* to tell it from the average */
	return next_call();
}

static int fake_version(char *text, unsigned n)
{
	snprintf(text, n, "580.65.06");
	return next_call();
}

static int fake_clock(void *gpu, int type, unsigned *mhz)
{
	(void)gpu;
	*mhz = type == CU_NVML_CLOCK_SM ? 345 : 2619;
	return next_call();
}

static int fake_max_clock(void *gpu, int type, unsigned *mhz)
{
	(void)gpu;
	*mhz = type == CU_NVML_CLOCK_SM ? 1980 : 2619;
	return next_call();
}

static int fake_memory(void *gpu, struct cu_nvml_memory *memory)
{
	(void)gpu;
	*memory = (struct cu_nvml_memory){.total = 80ull << 30, .free = 79ull << 30, .used = 1ull << 30};
	return next_call();
}

static void *fake_open(const char *soname)
{
	snprintf(fake.tried + strlen(fake.tried), sizeof fake.tried - strlen(fake.tried), "%s ", soname);
	if (!fake.soname || strcmp(soname, fake.soname))
		return NULL;
	fake.opened++;
	return &fake;
}

static void *fake_symbol(void *library, const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} symbols[] = {
		{"nvmlInit_v2", (void (*)(void))fake_init},
		{"nvmlShutdown", (void (*)(void))fake_shutdown},
		{"nvmlErrorString", (void (*)(void))fake_error_string},
		{"nvmlDeviceGetHandleByPciBusId_v2", (void (*)(void))fake_by_bus_id},
		{"nvmlDeviceGetTotalEnergyConsumption", (void (*)(void))fake_energy},
		{"nvmlDeviceGetPowerUsage", (void (*)(void))fake_power},
		{"nvmlDeviceGetFieldValues", (void (*)(void))fake_fields},
		{"nvmlSystemGetDriverVersion", (void (*)(void))fake_version},
		{"nvmlDeviceGetClockInfo", (void (*)(void))fake_clock},
		{"nvmlDeviceGetMaxClockInfo", (void (*)(void))fake_max_clock},
		{"nvmlDeviceGetMemoryInfo", (void (*)(void))fake_memory},
	};
	char spaced[80];
	cr_assert_eq(library, (void *)&fake);
	snprintf(spaced, sizeof spaced, " %s ", name);
	if (fake.missing && strstr(fake.missing, spaced))
		return NULL;
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!strcmp(symbols[i].name, name)) {
			void *pointer;
			memcpy(&pointer, &symbols[i].function, sizeof pointer);
			return pointer;
		}
	return NULL;
}

static void fake_close(void *library)
{
	cr_assert_eq(library, (void *)&fake);
	fake.closed++;
}

static const char *fake_last_error(void)
{
	return "libnvidia-ml.so.1: not in this test";
}

static const struct cu_loader loader = {
	.open = fake_open, .symbol = fake_symbol, .close = fake_close, .last_error = fake_last_error};

static void reset(void)
{
	memset(&fake, 0, sizeof fake);
	fake.soname = "libnvidia-ml.so.1";
	fake.counter_works = fake.instant_works = true;
	fake.watts = 250;
}

static void expect_all_closed(void)
{
	cr_assert_eq(fake.opened, fake.closed, "%d opened, %d closed", fake.opened, fake.closed);
	cr_assert_eq(fake.inits, fake.shutdowns, "%d starts, %d ends", fake.inits, fake.shutdowns);
}

/* Waits for polls, however long a busy computer takes to make them, then for as long again and more: most of the time
 * between start and stop has to lie between two steps of the counter. A call that fails ends the polling. */
static void let_it_poll(void)
{
	const double start = npl_clock_seconds();
	const int before = atomic_load(&fake.calls);
	while (atomic_load(&fake.calls) < before + 3 * CALLS && npl_clock_seconds() < start + 10 &&
	       (!fake.fail_at || atomic_load(&fake.calls) < fake.fail_at))
		usleep(1000);
	usleep(120000 + (useconds_t)(3e6 * fmin(npl_clock_seconds() - start, 3)));
}

/* Opens, runs for a moment and stops. */
static int measure(struct npl_energy_meter *meter, struct npl_energy_reading *reading, struct npl_err *err)
{
	if (cu_nvml_open_meter(&loader, BUS, meter, err))
		return err->code;
	struct cu_nvml_meter *m = meter->state;
	m->shortest_seconds = 0.05;
	m->poll_seconds = 0.001;
	int rc = npl_energy_meter_start(meter, err);
	if (!rc)
		let_it_poll();
	return rc ? rc : npl_energy_meter_stop(meter, reading, err);
}

Test(cuda_nvml, looks_in_three_places)
{
	static const char *const places[] = {"libnvidia-ml.so.1", "libnvidia-ml.so",
					     "/usr/local/nvidia/lib64/libnvidia-ml.so.1", NULL};
	for (int i = 0; i < 4; i++) {
		struct cu_nvml nvml;
		struct npl_err err = {0};
		reset();
		fake.soname = places[i];
		int rc = cu_nvml_open(&loader, BUS, &nvml, &err);
		cr_assert_eq(rc, places[i] ? 0 : NPL_EDEVICE);
		char tried[200] = "";
		for (int k = 0; k <= i && places[k]; k++)
			snprintf(tried + strlen(tried), sizeof tried - strlen(tried), "%s ", places[k]);
		cr_assert_str_eq(fake.tried, tried);
		if (!places[i])
			cr_assert(strstr(err.msg, "cannot be loaded (libnvidia-ml.so.1: not in this test)"), "%s",
				  err.msg);
		cu_nvml_close(&nvml);
		expect_all_closed();
	}
}

Test(cuda_nvml, finds_the_gpu_by_its_bus)
{
	struct cu_nvml nvml;
	struct npl_err err = {0};
	reset();
	cr_assert_eq(cu_nvml_open(&loader, "0000:07:00.0", &nvml, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "nvmlDeviceGetHandleByPciBusId_v2 says: an unknown error (6)"), "%s", err.msg);
	expect_all_closed();
	reset();
	fake.missing = " nvmlErrorString ";
	cr_assert_eq(cu_nvml_open(&loader, BUS, &nvml, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "has no nvmlErrorString"), "%s", err.msg);
	expect_all_closed();
}

Test(cuda_nvml, counts_from_step_to_step)
{
	struct npl_energy_meter meter;
	struct npl_energy_reading reading = {0};
	struct npl_err err = {0};
	reset();
	cr_assert_eq(measure(&meter, &reading, &err), 0, "%s", err.msg);
	const struct cu_nvml_meter *m = meter.state;
	cr_assert_str_eq(reading.origin, "measured:nvml-energy");
	cr_assert(m->steps >= 2);
	cr_assert_float_eq(reading.joules, 1e-3 * STEP_MJ * (m->steps - 1), 1e-9, "%g J, %d steps", reading.joules,
			   m->steps);
	cr_assert(reading.seconds > 0 && reading.seconds <= m->last_seconds - m->start_seconds);
	/* again, from a new beginning */
	struct npl_energy_reading second = {0};
	cr_assert_eq(npl_energy_meter_start(&meter, &err), 0);
	let_it_poll();
	cr_assert_eq(npl_energy_meter_stop(&meter, &second, &err), 0, "%s", err.msg);
	cr_assert_float_eq(second.joules, 1e-3 * STEP_MJ * (m->steps - 1), 1e-9);
	cr_assert_eq(npl_energy_meter_stop(&meter, &second, &err), NPL_EDEVICE, "it is not running");
	npl_energy_meter_close(&meter);
	expect_all_closed();
}

Test(cuda_nvml, integrates_power_where_there_is_no_counter)
{
	for (int variant = 0; variant < 4; variant++) { /* not supported, or always 0; instantaneous, or averaged */
		struct npl_energy_meter meter;
		struct npl_energy_reading reading = {0};
		struct npl_err err = {0};
		reset();
		fake.counter_works = variant & 1;
		fake.counter_is_zero = variant & 1;
		fake.instant_works = variant & 2;
		cr_assert_eq(measure(&meter, &reading, &err), 0, "%s", err.msg);
		cr_assert_str_eq(reading.origin, "measured:nvml-power-integral");
		double watts = variant & 2 ? 251 : 250;
		cr_assert_float_eq(reading.joules, watts * reading.seconds, 1e-9 * reading.joules, "%g J in %g s",
				   reading.joules, reading.seconds);
		cr_assert(!strstr(meter.source, "average") == !!(variant & 2), "%s", meter.source);
		npl_energy_meter_close(&meter);
		expect_all_closed();
	}
}

Test(cuda_nvml, says_why_there_is_nothing)
{
	struct npl_energy_meter meter;
	struct npl_err err = {0};
	reset();
	fake.missing = " nvmlDeviceGetTotalEnergyConsumption nvmlDeviceGetPowerUsage  nvmlDeviceGetFieldValues ";
	cr_assert_eq(cu_nvml_open_meter(&loader, BUS, &meter, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "neither its energy nor its power: Not Supported"), "%s", err.msg);
	expect_all_closed();
	reset();
	fake.counter_is_zero = true;
	fake.instant_works = false;
	fake.watts = 0;
	cr_assert_eq(cu_nvml_open_meter(&loader, BUS, &meter, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "both read 0"), "%s", err.msg);
	expect_all_closed();
}

Test(cuda_nvml, refuses_what_is_no_reading)
{
	struct npl_energy_meter meter;
	struct npl_energy_reading reading = {.joules = 7};
	struct npl_err err = {0};
	reset();
	cr_assert_eq(cu_nvml_open_meter(&loader, BUS, &meter, &err), 0);
	cr_assert_eq(npl_energy_meter_stop(&meter, &reading, &err), NPL_EDEVICE);
	cr_assert_eq(npl_energy_meter_start(&meter, &err), 0);
	cr_assert_eq(npl_energy_meter_stop(&meter, &reading, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "too short for the GPU's energy: at least 2 s"), "%s", err.msg);
	npl_energy_meter_close(&meter);
	reset();
	fake.goes_back = true;
	cr_assert_eq(measure(&meter, &reading, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "went back from"), "%s", err.msg);
	npl_energy_meter_close(&meter);
	reset();
	fake.polls = -1000000; /* a counter that stands still: one quotient for a long time */
	fake.counter_is_zero = false;
	cr_assert_eq(cu_nvml_open_meter(&loader, BUS, &meter, &err), 0);
	struct cu_nvml_meter *m = meter.state;
	m->shortest_seconds = 0;
	m->poll_seconds = 1; /* one poll alone */
	cr_assert_eq(npl_energy_meter_start(&meter, &err), 0);
	cr_assert_eq(npl_energy_meter_stop(&meter, &reading, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "stepped 0 times in"), "%s", err.msg);
	npl_energy_meter_close(&meter);
	cr_assert_float_eq(reading.joules, 7, 0, "a refused reading gives no figure");
	expect_all_closed();
}

/* Any call may fail: then there is a reason, or another way of measuring, and nothing stays open. */
Test(cuda_nvml, survives_any_call_that_fails)
{
	bool reached_the_poll = false;
	for (int k = 1; k < 30; k++) {
		struct npl_energy_meter meter;
		struct npl_energy_reading reading = {0};
		struct npl_err err = {0};
		reset();
		fake.fail_at = k;
		fake.fail_code = 999;
		int rc = measure(&meter, &reading, &err);
		cr_assert(rc == 0 || rc == NPL_EDEVICE);
		cr_assert(rc == 0 || strstr(err.msg, "Unknown Error (999)") || strstr(err.msg, "Unknown Error"),
			  "call %d: %s", k, err.msg);
		reached_the_poll |= rc && strstr(err.msg, "could not be read");
		npl_energy_meter_close(&meter);
		expect_all_closed();
	}
	cr_assert(reached_the_poll);
}

static const char *fact(const struct npl_facts *facts, const char *key)
{
	for (int i = 0; i < facts->n; i++)
		if (!strcmp(facts->fact[i].key, key))
			return facts->fact[i].value;
	return NULL;
}

Test(cuda_nvml, tells_what_the_driver_knows)
{
	struct npl_arena arena = {0};
	struct npl_facts facts = {.arena = &arena};
	struct npl_err err = {0};
	reset();
	cr_assert_eq(cu_nvml_facts(&loader, BUS, &facts, &err), 0, "%s", err.msg);
	cr_assert_str_eq(fact(&facts, "driver_version"), "580.65.06");
	cr_assert_str_eq(fact(&facts, "clock"), "345 MHz now, 1980 MHz at most");
	cr_assert_str_eq(fact(&facts, "memory_clock"), "2619 MHz now, 2619 MHz at most");
	cr_assert_str_eq(fact(&facts, "memory"), "80.0 GiB, 79.0 GiB free");
	cr_assert_str_eq(fact(&facts, "energy"), "measured by NVML: the board's energy counter");
	cr_assert_null(fact(&facts, "temperature"), "a function that the driver does not have");
	expect_all_closed();
	reset();
	facts.n = 0;
	fake.soname = NULL;
	cr_assert_eq(cu_nvml_facts(&loader, BUS, &facts, &err), 0);
	cr_assert_eq(facts.n, 1);
	cr_assert(strstr(fact(&facts, "energy"), "not measured: NVML cannot be loaded"));
	npl_arena_free(&arena);
}

/* Our declarations beside the toolkit's, where its headers are. */
#if __has_include("/usr/local/cuda/include/nvml.h")
#include "/usr/local/cuda/include/nvml.h"
Test(cuda_nvml, declares_what_the_toolkit_declares)
{
	cr_assert_eq(sizeof(struct cu_nvml_field), sizeof(nvmlFieldValue_t));
	cr_assert_eq(offsetof(struct cu_nvml_field, code), offsetof(nvmlFieldValue_t, nvmlReturn));
	cr_assert_eq(offsetof(struct cu_nvml_field, value), offsetof(nvmlFieldValue_t, value));
	cr_assert_eq(sizeof(struct cu_nvml_memory), sizeof(nvmlMemory_t));
	cr_assert_eq(CU_NVML_POWER_INSTANT, NVML_FI_DEV_POWER_INSTANT);
	cr_assert_eq(CU_NVML_NOT_SUPPORTED, (int)NVML_ERROR_NOT_SUPPORTED);
	cr_assert_eq(CU_NVML_CLOCK_SM, (int)NVML_CLOCK_SM);
	cr_assert_eq(CU_NVML_CLOCK_MEMORY, (int)NVML_CLOCK_MEM);
	cr_assert_eq(CU_NVML_VALUE_UNSIGNED, (int)NVML_VALUE_TYPE_UNSIGNED_INT);
	cr_assert_eq(CU_NVML_TEMPERATURE_GPU, (int)NVML_TEMPERATURE_GPU);
}
#else
Test(cuda_nvml, declares_what_the_toolkit_declares)
{
	cr_skip("there is no nvml.h in /usr/local/cuda/include");
}
#endif
