/* SPDX-License-Identifier: MIT
 *
 * npulab trace export: writes a trace for other programs (docs/waveforms.md): its instructions in time for Perfetto, or
 * the signals of its run, which is made again, for viewers of waveforms. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/vcd.h"
#include "reports/format/paragraph.h"
#include "reports/format/table.h"
#include "trace_run.h"
#include "trace_window.h"

struct export_options {
	const char *vcd, *perfetto; /* the file of the waveforms, of the picture in time */
	const char *signals, *machine, *layer, *unit;
	int64_t from, until, bin;
	bool list, current, quiet;
};

/* ---- The list of signals. */

/* Writes the name of a signal with the range of its indices: "cell[0..15][0..15].sum". */
static const char *name_text(const struct npl_signal_def *def, char *buf, size_t n)
{
	size_t used = 0;
	const char *at = def->name;
	for (int i = 0; i < def->n_indices && used < n; i++) {
		const size_t plain = strcspn(at, "[");
		used += (size_t)snprintf(buf + used, n - used, "%.*s[0..%" PRId64 "]", (int)plain, at,
					 def->extent[i] - 1);
		at += plain + strcspn(at + plain, "]") + 1;
	}
	if (used < n)
		snprintf(buf + used, n - used, "%s", at);
	return buf;
}

static int list_signals(void *context, const struct npl_device *device, struct npl_err *err)
{
	const struct export_options *o = context;
	struct npl_signal_def def[NPL_MAX_SIGNAL_ROWS];
	struct npl_table table;
	if (o->machine && strcmp(o->machine, npl_device_name(device)) != 0 &&
	    strcmp(o->machine, npl_device_instance(device)) != 0)
		return 0;
	const int n = npl_device_signals(device, def);
	printf("%s: %s\n", npl_device_instance(device),
	       n ? "* stands before signals that are told by default" : "no signals: it has no engine rtl");
	if (!n)
		return 0;
	npl_table_open(&table, "llrl", (const char *const[]){"", "SIGNAL", "BITS", "MEANING"});
	table.keys = 2; /* the mark and the name of a signal */
	for (int i = 0; i < n; i++) {
		char name[NPL_SIGNAL_NAME], bits[20];
		snprintf(bits, sizeof bits, "%d", def[i].width);
		npl_table_row(&table,
			      (const char *const[]){def[i].by_default ? "*" : "", name_text(&def[i], name, sizeof name),
						    bits, def[i].meaning});
	}
	npl_table_print(&table, stdout);
	return npl_table_close(&table) ? npl_no_memory(err) : 0;
}

/* ---- Waveforms. */

/* Returns the machine of a program that runs by itself; NULL: others run. */
static const char *own_machine(const struct npl_trace_header *header)
{
	return !strcmp(header->command, "exec") && header->n_machines ? header->machine[0].name : NULL;
}

/* Narrows the dump to the cycles of the layers, which a run of the quick engine finds. */
static int narrow_to_layer(const char *trace, const struct npl_trace_header *header, bool current, struct npl_vcd *vcd,
			   struct npl_err *err)
{
	const int rc = cli_trace_listen_again(trace, header, current, npl_vcd_layer_sink(vcd), err);
	return rc ? rc : npl_vcd_narrow(vcd, err);
}

static int export_vcd(const char *trace, const struct npl_trace_header *header, const struct export_options *o,
		      struct npl_err *err)
{
	const struct npl_vcd_options options = {.signals = o->signals,
						.machine = o->machine ? o->machine : own_machine(header),
						.layer = o->layer,
						.from = (uint64_t)o->from,
						.until = (uint64_t)o->until};
	struct npl_vcd *vcd;
	/* The run takes long. Machines of today may have other layers. */
	if (o->layer && !o->current && npl_trace_find_layer(trace, o->layer, err))
		return err->code;
	if (npl_vcd_open(&options, o->vcd, &vcd, err))
		return err->code;
	int rc = o->layer ? narrow_to_layer(trace, header, o->current, vcd, err) : 0;
	if (!rc)
		rc = cli_trace_listen_again(trace, header, o->current, npl_vcd_sink(vcd), err);
	if (!rc)
		rc = npl_vcd_finish(vcd, err);
	const struct npl_vcd_size size = npl_vcd_size_of(vcd);
	cli_waiting_end();
	char text[160];
	snprintf(text, sizeof text,
		 ": %" PRId64 " signals, %" PRIu64 " changes in %" PRIu64 " cycles of %" PRId64 " program%s",
		 size.signals, size.changes, size.cycles, size.programs, size.programs == 1 ? "" : "s");
	if (!rc && !o->quiet)
		npl_put_line(stdout, (const char *const[]){o->vcd, text, NULL});
	npl_vcd_close(vcd);
	return rc;
}

/* ---- The picture in time. */

static int export_perfetto(const char *trace, const struct export_options *o, struct npl_err *err)
{
	const struct npl_trace_choice choice = {
		.layer = o->layer, .unit = o->unit, .from = (uint64_t)o->from, .until = (uint64_t)o->until};
	struct npl_trace_size size;
	const int rc = npl_trace_export_perfetto(trace, o->perfetto, &choice,
						 o->bin ? (uint64_t)o->bin : NPL_TRACE_BIN_CYCLES, &size, err);
	cli_waiting_end();
	if (!rc && !o->quiet)
		cli_trace_say_size(o->perfetto, &size);
	return rc;
}

/* ---- The command. */

static int check_names(const struct export_options *o, struct npl_err *err)
{
	static const char vcd[] = "trace export: --vcd";
	if (cli_trace_check_name(
		    vcd, o->vcd, ".fst",
		    "the file is VCD, expected a name that ends in .vcd; vcd2fst of GTKWave makes FST of it", err) ||
	    cli_trace_check_name(vcd, o->vcd, ".gz", "it is compressed by zstd, expected a name that ends in .zst",
				 err))
		return err->code;
	return cli_trace_check_name("trace export: --perfetto", o->perfetto, NULL, NULL, err);
}

/* Refuses options that do not go together. */
static int check_options(const char *trace, const struct export_options *o, struct npl_err *err)
{
	const char *of_picture = o->unit  ? "--unit"
				 : o->bin ? "--bin"
					  : NULL,
		   *of_machine = o->machine   ? "--machine"
				 : o->current ? "--current"
					      : NULL,
		   *of_signals = o->signals ? "--signals" : of_machine,
		   *of_choice = o->signals ? "--signals"
				: o->layer ? "--layer"
				: o->from  ? "--from"
				: o->until ? "--until"
					   : of_picture;
	const int exports = (o->vcd != NULL) + (o->perfetto != NULL) + o->list;
	if (!trace || exports != 1)
		return npl_fail(err, NPL_EUSAGE,
				"trace export: expected a trace, and one of --perfetto OUT, --vcd OUT and --list");
	if (o->list && of_choice)
		return npl_fail(err, NPL_EUSAGE, "trace export: --list takes no %s, as it exports nothing", of_choice);
	if (o->perfetto ? of_signals : of_picture)
		return npl_fail(err, NPL_EUSAGE, "trace export: %s goes with %s alone",
				o->perfetto ? of_signals : of_picture, o->perfetto ? "--vcd" : "--perfetto");
	return check_names(o, err) ? err->code : cli_trace_check_window(&cli_trace_export, o->from, o->until, err);
}

static int export_main(int argc, char **argv, struct npl_err *err)
{
	const char *word = NULL;
	struct export_options o = {0};
	bool help_printed;
	int n_words;
	struct npl_trace_header header;
	const struct cli_option options[] = {
		{"perfetto", CLI_OUTPUT, &o.perfetto, 0, 0, "OUT",
		 "the trace as a picture in time, for Perfetto or chrome://tracing; compressed if it ends in .gz"},
		{"vcd", CLI_OUTPUT, &o.vcd, 0, 0, "OUT", "the signals of the engine rtl, as a value change dump"},
		{"signals", CLI_TEXT, &o.signals, 0, 0, "LIST",
		 "which signals: names with * and ?, separated by commas (default: those marked * by --list)"},
		{"machine", CLI_TEXT, &o.machine, 0, 0, "D",
		 "of which device of the run (default: that of the first program that is written)"},
		{"layer", CLI_TEXT, &o.layer, 0, 0, "TEXT",
		 "only layers whose name has this text; signals: the cycles of their instructions"},
		{"unit", CLI_TEXT, &o.unit, 0, 0, "UNIT", "only instructions of this unit"},
		{"bin", CLI_INT, &o.bin, 1, 1000000000, "CYCLES",
		 "average counters over this many cycles (default: 256)"},
		CLI_FROM_OPTION(&o.from),
		CLI_UNTIL_OPTION(&o.until),
		{"list", CLI_FLAG, &o.list, 0, 0, NULL, "print the signals that there are, and run nothing"},
		{"current", CLI_FLAG, &o.current, 0, 0, NULL,
		 "with the machines and files as they are now, not as in the trace"},
		CLI_QUIET_OPTION(&o.quiet, ""),
		{0}};
	if (cli_parse(&cli_trace_export, options, argc, argv, &word, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (check_options(word, &o, err))
		return err->code;
	if (o.perfetto)
		return export_perfetto(word, &o, err);
	if (npl_trace_header_read(word, &header, err))
		return err->code;
	int rc = o.list ? cli_trace_each_machine(word, &header, o.current, list_signals, &o, err)
			: export_vcd(word, &header, &o, err);
	npl_trace_header_free(&header);
	return rc;
}

const struct cli_command cli_trace_export = {
	"trace export", "FILE --perfetto OUT | --vcd OUT [--signals LIST] [--layer TEXT]",
	"writes a trace for viewers: instructions in time, or signals as waveforms", export_main};
