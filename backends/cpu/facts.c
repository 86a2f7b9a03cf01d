/* SPDX-License-Identifier: MIT
 *
 * Facts of the cpu device: the processor and libraries found (`npulab devices --verbose`), how its energy is measured,
 * and its assumed power where energy cannot be measured. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/message.h"
#include "core/int8/int8.h"
#include "cpu.h"
#include "npulab/cpu_features.h"
#include "npulab/thread.h"

int cpu_open_meter(void *state, struct npl_energy_meter *meter, struct npl_err *err)
{
	const struct cpu_state *cpu = state;
	return npl_energy_meter_open_rapl(cpu->config.powercap, meter, err);
}

void cpu_assume_power(const void *state, struct npl_assumed_power *power)
{
	const struct cpu_state *cpu = state;
	struct npl_processor processor;
	npl_processor_read(NULL, &processor);
	npl_assume_package(&processor, cpu->threads, cpu->config.tdp_watts, (int)cpu->config.tdp_cores, power);
}

static int processor_facts(const struct cpu_state *cpu, struct npl_facts *facts, struct npl_err *err)
{
	struct npl_processor p;
	char caches[300];
	const char *limit = npl_cpu_cap();
	npl_processor_read(NULL, &p);
	if (npl_fact(facts, err, "processor", "%s", *p.model ? p.model : "a model that Linux does not tell") ||
	    npl_fact(facts, err, "cores", "%d in %d package%s, %d processor%s online%s", p.cores, p.packages,
		     npl_plural(p.packages), p.processors, npl_plural(p.processors),
		     p.is_virtual ? ", in a virtual machine" : ""))
		return err->code;
	if (p.clock_hz > 0 && p.max_clock_hz > 0) {
		if (npl_fact(facts, err, "clock", "%.2f GHz now, %.2f GHz at most", 1e-9 * p.clock_hz,
			     1e-9 * p.max_clock_hz))
			return err->code;
	} else if (p.clock_hz > 0 && npl_fact(facts, err, "clock", "%.2f GHz now", 1e-9 * p.clock_hz)) {
		return err->code;
	}
	if (npl_fact(facts, err, "caches", "%s", npl_processor_caches(&p, caches, sizeof caches)) ||
	    npl_fact(facts, err, "instruction_set", limit ? "%s, as NPULAB_MAX_ISA=%s allows" : "%s",
		     cpu_level_name(cpu_vectors_detect().level), limit))
		return err->code;
	const int processors = npl_processors();
	return npl_fact(facts, err, "threads", cpu->threads > processors ? "%d on %d processors" : "%d of %d available",
			cpu->threads, processors);
}

static int blas_facts(const struct cpu_blas *blas, struct npl_facts *facts, struct npl_err *err)
{
	const char *config = blas->config(), *core = blas->corename();
	char reason[CPU_BLAS_REASON];
	size_t name = strcspn(config, " "), version = strcspn(config + name + strspn(config + name, " "), " ");
	const char *number = config + name + strspn(config + name, " ");
	enum cpu_level level = cpu_core_level(core);
	if (npl_fact(facts, err, "library", "%.*s", (int)name, config) ||
	    npl_fact(facts, err, "library_version", "%.*s", (int)version, number) ||
	    npl_fact(facts, err, "core_type", "%s, of kernels for %s", core, cpu_level_name(level)))
		return err->code;
	cpu_blas_reason(blas, reason);
	if (level < blas->isa.level)
		return npl_fact(facts, err, "warning",
				"the %s kernels of OpenBLAS are older than this processor: %s instead of %s%s", core,
				cpu_level_name(level), cpu_level_name(blas->isa.level), reason);
	if (cpu_blas_obeys(blas))
		return 0;
	if (!cpu_core_runs(getenv("OPENBLAS_CORETYPE"), blas->isa))
		return npl_fact(
			facts, err, "warning",
			"OPENBLAS_CORETYPE is '%.60s', whose kernels this processor cannot run: OpenBLAS took %s",
			getenv("OPENBLAS_CORETYPE"), core);
	return npl_fact(facts, err, "warning",
			"OPENBLAS_CORETYPE is '%.60s', of which name OpenBLAS has no kernels here: it took %s",
			getenv("OPENBLAS_CORETYPE"), core);
}

/* Adds facts about the library that runs float32 convolutions. */
static int convolution_facts(const struct cpu_state *cpu, struct npl_facts *facts, struct npl_err *err)
{
	static const char key[] = "convolution_library";
	struct cpu_dnn reopened;
	struct npl_onednn_limit limit;
	struct npl_err failure = {0};
	if (cpu->dnn.engine) {
		char text[120];
		bool older = cpu_dnn_version(&cpu->dnn, text, sizeof text);
		if (npl_fact(facts, err, key, "%s", text))
			return err->code;
		if (older)
			return npl_fact(facts, err, "convolution_warning",
					"convolutions run by older instructions than the processor has: %s", text);
		if (!npl_onednn_limit(&limit) || limit.known)
			return 0;
		return npl_fact(facts, err, "convolution_warning", "%s is '%.60s', which oneDNN ignores: it knows %s",
				limit.variable, limit.word, NPL_ONEDNN_LIMITS);
	}
	if (cpu->config.convolution == CPU_CONV_BLAS)
		return npl_fact(facts, err, key, "that of products, as convolution=blas asks for");
	if (!cpu_dnn_open(NPL_ONEDNN_SONAME, &reopened, &failure))
		cpu_dnn_close(&reopened);
	return npl_fact(facts, err, key, "that of products: %s", failure.msg);
}

static int int8_facts(struct npl_facts *facts, struct npl_err *err)
{
	const char *reason = "", *library = npl_int8_library(&reason);
	if (npl_fact(facts, err, "int8_kernels", "%s", npl_int8_kernel_name(0)))
		return err->code;
	return library ? npl_fact(facts, err, "int8_library", "%s", library)
		       : npl_fact(facts, err, "int8_library", "none: %s", reason);
}

static int energy_facts(struct cpu_state *cpu, struct npl_facts *facts, struct npl_err *err)
{
	struct npl_energy_meter meter = {0};
	struct npl_assumed_power power;
	struct npl_err failure = {0};
	if (!cpu_open_meter(cpu, &meter, &failure)) {
		int rc = npl_fact(facts, err, "energy", "measured by %s", meter.source);
		npl_energy_meter_close(&meter);
		return rc;
	}
	cpu_assume_power(cpu, &power);
	if (npl_fact(facts, err, "energy", "%s: %s", power.watts > 0 ? "assumed" : "absent", failure.msg))
		return err->code;
	if (power.watts > 0)
		return npl_fact(facts, err, "assumed_power", "%.3g W: %s", power.watts, power.note);
	return npl_fact(facts, err, "assumed_power", "none: %s", power.note);
}

int cpu_facts(void *state, struct npl_facts *facts, struct npl_err *err)
{
	struct cpu_state *cpu = state;
	if (processor_facts(cpu, facts, err) ||
	    (cpu->blas.library && (blas_facts(&cpu->blas, facts, err) || convolution_facts(cpu, facts, err))) ||
	    int8_facts(facts, err))
		return err->code;
	return energy_facts(cpu, facts, err);
}
