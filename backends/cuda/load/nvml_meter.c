/* SPDX-License-Identifier: MIT
 *
 * The energy meter over NVML (nvml.h): a thread polls the counter, or the power, while the meter runs. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "npulab/thread.h"
#include "nvml.h"

#define SHORTEST_SECONDS 2.0   /* both ends are known within the time of a poll, which is 0.5 % of this */
#define POLL_SECONDS     0.005 /* a call takes tens of microseconds */
#define MIN_COVERED      0.5   /* least share of a run that must lie between the first and the last step */

static int read_power(const struct cu_nvml_meter *m, double *watts)
{
	unsigned mw = 0;
	if (m->instant) {
		struct cu_nvml_field field = {.id = CU_NVML_POWER_INSTANT};
		int code = m->nvml.fields(m->nvml.gpu, 1, &field);
		code = code ? code : field.code;
		if (!code && field.type != CU_NVML_VALUE_UNSIGNED)
			code = CU_NVML_NOT_SUPPORTED;
		*watts = 1e-3 * field.value.small;
		return code;
	}
	int code = m->nvml.power(m->nvml.gpu, &mw);
	*watts = 1e-3 * mw;
	return code;
}

static void note_count(struct cu_nvml_meter *m, unsigned long long count, double seconds)
{
	bool step = m->samples && count != m->count;
	m->count = count;
	if (!step)
		return;
	if (!m->steps++) {
		m->first_mj = count;
		m->first_seconds = seconds;
	}
	m->last_mj = count;
	m->last_seconds = seconds;
}

static void note_power(struct cu_nvml_meter *m, double watts, double seconds)
{
	if (m->samples)
		m->joules += 0.5 * (m->watts + watts) * (seconds - m->last_seconds);
	else
		m->first_seconds = seconds;
	m->watts = watts;
	m->last_seconds = seconds;
}

static int poll_once(struct cu_nvml_meter *m)
{
	unsigned long long count = 0;
	double watts = 0, begin = npl_clock_seconds();
	int code = m->has_counter ? m->nvml.energy(m->nvml.gpu, &count) : read_power(m, &watts);
	double seconds = 0.5 * (begin + npl_clock_seconds());
	if (code)
		return code;
	if (m->has_counter)
		note_count(m, count, seconds);
	else
		note_power(m, watts, seconds);
	m->samples++;
	return 0;
}

static void *poll_until_stopped(void *state)
{
	struct cu_nvml_meter *m = state;
	const struct timespec pause = {.tv_nsec = (long)(1e9 * m->poll_seconds)};
	do
		m->code = poll_once(m);
	while (!m->code && !atomic_load(&m->stop) && (nanosleep(&pause, NULL), true));
	return NULL;
}

static void stop_thread(struct cu_nvml_meter *m)
{
	if (!m->running)
		return;
	atomic_store(&m->stop, true);
	pthread_join(m->thread, NULL);
	m->running = false;
}

static int start_meter(void *state, struct npl_err *err)
{
	struct cu_nvml_meter *m = state;
	stop_thread(m);
	atomic_store(&m->stop, false);
	m->code = m->samples = m->steps = 0;
	m->joules = 0;
	m->start_seconds = npl_clock_seconds();
	if (npl_thread_start(&m->thread, poll_until_stopped, m))
		return npl_fail(err, NPL_EDEVICE, "there is no thread to poll the GPU's energy");
	m->running = true;
	return 0;
}

static int stop_meter(void *state, struct npl_energy_reading *reading, struct npl_err *err)
{
	struct cu_nvml_meter *m = state;
	if (!m->running)
		return npl_fail(err, NPL_EDEVICE, "the GPU's energy meter was not started");
	stop_thread(m);
	double elapsed = npl_clock_seconds() - m->start_seconds;
	if (m->code) {
		const char *text = m->nvml.error_string(m->code);
		return npl_fail(err, NPL_EDEVICE, "the GPU's energy could not be read: %s (%d)",
				text ? text : "an unknown error", m->code);
	}
	if (elapsed < m->shortest_seconds)
		return npl_fail(err, NPL_EDEVICE, "%.2f s are too short for the GPU's energy: at least %g s", elapsed,
				m->shortest_seconds);
	double covered = m->has_counter && m->steps < 2 ? 0 : m->last_seconds - m->first_seconds;
	if (!(covered > MIN_COVERED * elapsed))
		return npl_fail(err, NPL_EDEVICE,
				"the GPU's energy counter stepped %d time%s in %.2f s: too seldom to be read", m->steps,
				npl_plural(m->steps), elapsed);
	if (m->has_counter && m->last_mj < m->first_mj)
		return npl_fail(err, NPL_EDEVICE, "the GPU's energy counter went back from %llu to %llu mJ",
				m->first_mj, m->last_mj);
	*reading = (struct npl_energy_reading){
		.joules = m->has_counter ? 1e-3 * (double)(m->last_mj - m->first_mj) : m->joules,
		.seconds = covered,
		.origin = m->has_counter ? "measured:nvml-energy" : "measured:nvml-power-integral"};
	return 0;
}

static void close_meter(void *state)
{
	struct cu_nvml_meter *m = state;
	stop_thread(m);
	cu_nvml_close(&m->nvml);
	free(m);
}

/* Chooses the method that the board supports: its call succeeds and returns more than 0. */
static int choose_method(struct cu_nvml_meter *m, struct npl_err *err)
{
	unsigned long long count = 0;
	double watts = 0;
	int code = m->nvml.energy ? m->nvml.energy(m->nvml.gpu, &count) : CU_NVML_NOT_SUPPORTED, power_code;
	m->has_counter = !code && count;
	if (m->has_counter)
		return 0;
	m->instant = m->nvml.fields != NULL;
	if (m->instant && !read_power(m, &watts) && watts > 0)
		return 0;
	m->instant = false;
	power_code = m->nvml.power ? read_power(m, &watts) : CU_NVML_NOT_SUPPORTED;
	if (!power_code && watts > 0)
		return 0;
	const char *text = m->nvml.error_string(power_code ? power_code : code);
	return npl_fail(err, NPL_EDEVICE, "the GPU tells neither its energy nor its power: %s",
			power_code || code ? text ? text : "an unknown error" : "both read 0");
}

int cu_nvml_open_meter(const struct cu_loader *loader, const char *bus_id, struct npl_energy_meter *meter,
		       struct npl_err *err)
{
	*meter = (struct npl_energy_meter){.component = "board",
					   .shortest_seconds = SHORTEST_SECONDS,
					   .start = start_meter,
					   .stop = stop_meter,
					   .close = close_meter};
	struct cu_nvml_meter *m = calloc(1, sizeof *m);
	if (!m)
		return npl_no_memory(err);
	m->shortest_seconds = SHORTEST_SECONDS;
	m->poll_seconds = POLL_SECONDS;
	if (cu_nvml_open(loader, bus_id, &m->nvml, err)) {
		free(m);
		return err->code;
	}
	if (choose_method(m, err)) {
		close_meter(m);
		return err->code;
	}
	snprintf(meter->source, sizeof meter->source, "NVML: %s",
		 m->has_counter ? "the board's energy counter"
		 : m->instant   ? "the board's power, polled and integrated"
				: "the board's power, polled and integrated; many boards average it over a second");
	meter->state = m;
	return 0;
}
