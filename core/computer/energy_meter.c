/* SPDX-License-Identifier: MIT
 *
 * Energy meters of any kind (energy_meter.h), and the first of them: the processor's packages. */
#include "npulab/energy_meter.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "rapl.h"

#define IDLE_SECONDS 0.5

static int fail_not_open(struct npl_err *err)
{
	return npl_fail(err, NPL_EDEVICE, "the energy meter is not open");
}

int npl_energy_meter_start(struct npl_energy_meter *meter, struct npl_err *err)
{
	return meter->state ? meter->start(meter->state, err) : fail_not_open(err);
}

int npl_energy_meter_stop(struct npl_energy_meter *meter, struct npl_energy_reading *reading, struct npl_err *err)
{
	return meter->state ? meter->stop(meter->state, reading, err) : fail_not_open(err);
}

void npl_energy_meter_close(struct npl_energy_meter *meter)
{
	if (meter->state)
		meter->close(meter->state);
	meter->state = NULL;
}

static void sleep_seconds(double seconds)
{
	struct timespec remaining = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - floor(seconds)))};
	while (nanosleep(&remaining, &remaining)) /* after a signal, sleeps for the rest */
		;
}

double npl_energy_meter_idle_watts(struct npl_energy_meter *meter)
{
	struct npl_energy_reading reading;
	struct npl_err error;
	if (npl_energy_meter_start(meter, &error))
		return NAN;
	sleep_seconds(1.05 * fmax(IDLE_SECONDS, meter->shortest_seconds));
	if (npl_energy_meter_stop(meter, &reading, &error) || !(reading.seconds > 0))
		return NAN;
	return reading.joules / reading.seconds;
}

static int start_rapl(void *state, struct npl_err *err)
{
	return npl_rapl_start(state, err);
}

static int stop_rapl(void *state, struct npl_energy_reading *reading, struct npl_err *err)
{
	reading->origin = "measured:rapl-pkg";
	return npl_rapl_stop(state, &reading->joules, &reading->seconds, err);
}

static void close_rapl(void *state)
{
	npl_rapl_close(state);
	free(state);
}

/* Writes "RAPL: package-0 and package-1"; of many packages the first few. */
static void name_domains(const struct npl_rapl *rapl, char *text, size_t size)
{
	snprintf(text, size, "RAPL: ");
	for (int i = 0; i < rapl->n_domains; i++) {
		bool last = i + 1 == rapl->n_domains;
		if (strlen(text) + strlen(rapl->domain[i].name) + 24 > size) {
			npl_append(text, size, "", " and %d more", rapl->n_domains - i);
			return;
		}
		npl_append(text, size, "", "%s%s", !i ? "" : last ? " and " : ", ", rapl->domain[i].name);
	}
	if (rapl->stuck_package[0])
		npl_append(text, size, "", ", without %s, whose counter stands still", rapl->stuck_package);
}

int npl_energy_meter_open_rapl(const char *root, struct npl_energy_meter *meter, struct npl_err *err)
{
	*meter = (struct npl_energy_meter){.component = "package",
					   .shortest_seconds = NPL_RAPL_SHORTEST_SECONDS,
					   .start = start_rapl,
					   .stop = stop_rapl,
					   .close = close_rapl};
	struct npl_rapl *rapl = calloc(1, sizeof *rapl);
	if (!rapl)
		return npl_no_memory(err);
	if (npl_rapl_open(root, rapl, err)) {
		free(rapl);
		return err->code;
	}
	name_domains(rapl, meter->source, sizeof meter->source);
	meter->state = rapl;
	return 0;
}
