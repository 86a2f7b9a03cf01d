/* SPDX-License-Identifier: MIT
 *
 * Links between chips: exactly how many bytes of payload cross one per second.
 *
 *     plain           one bandwidth
 *     pcie            PCI Express Base Specification, generations 1 to 6: lanes, line code, packets
 *     hypertransport  HyperTransport I/O Link Specification, or any other clocked parallel link: width, clock, packets
 *
 * The device at the end of a link may be slower than the link; `limit_bytes_per_second` says so. A plain link has no
 * limit beside its bandwidth. Rates are ratios of integers, because 128 of 130 bits of a PCI Express lane are data.
 * Both directions work at that rate at the same time, and do not affect each other.
 *
 *     if (npl_link_model_of(&config.link, "host_link", &model, &err)) ...
 *     info->link = npl_link_of(&config.link, npl_link_bytes_per_second(&model));
 *
 * A transfer is cut into packets of payload_bytes, whole 4-byte words, each with its overhead. Not modelled: what
 * crosses a link beside data (acknowledgements, credits, skip sequences, HyperTransport's periodic CRC), read requests
 * and credits that run out.
 */
#ifndef NPULAB_SIM_MEMORY_LINK_MODEL_H
#define NPULAB_SIM_MEMORY_LINK_MODEL_H

#include <stdint.h>

#include "core/param_members.h"
#include "npulab/device.h"
#include "npulab/error.h"
#include "npulab/memory.h"
#include "npulab/params.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_LINK_KINDS(X)                                                                                              \
	X(NPL_LINK_PLAIN, "plain") X(NPL_LINK_PCIE, "pcie") X(NPL_LINK_HYPERTRANSPORT, "hypertransport")
enum npl_link_kind { NPL_LINK_KINDS(PARAM_CONSTANT) };

/* The component of energies of part NPL_OF_LINK. Sums merge energies by this name, whether the session or the machine
 * itself counted the transfers. */
#define NPL_HOST_LINK "host link"

/* The parameters of a link in a machine file; NPL_LINK_PARAMS reads them. A kind ignores the members that are not its
 * own, except bytes_per_second: npl_link_model_of refuses it for kinds other than plain. */
struct npl_link_config {
	const char *name;             /* "PCIe Gen3 x16"; what "" means is the machine's affair */
	int kind;                     /* enum npl_link_kind */
	int64_t bytes_per_second;     /* plain; 0 for other kinds */
	int64_t generation, lanes;    /* pcie */
	int64_t clock_hz, width_bits; /* hypertransport */
	int64_t transfers_per_clock;  /* hypertransport: transfers of one wire */
	int64_t payload_bytes;        /* pcie, hypertransport: of a full packet */
	int64_t header_bytes; /* pcie, hypertransport: of a packet, without what the link's own layers put around it */
	/* pcie, hypertransport: the limit of the device at the end of the link; 0: it has none */
	int64_t limit_bytes_per_second;
	double latency_seconds; /* the time before each transfer */
	double pj_per_byte;
	const char *energy_origin; /* of pj_per_byte; "absent": the energy is not known */
};

/* One direction of a link. */
struct npl_link_model {
	struct npl_ratio line; /* bytes per second including the packets' overhead, in lowest terms */
	struct npl_ratio rate; /* bytes of payload per second of a long transfer: full packets, within the limit */
	int64_t payload_bytes, overhead_bytes; /* bytes of a full packet; 0 for a plain link, which has no packets */
	double latency_seconds;
};

/* Computes the model. NPL_EUSAGE: no such link has these parameters; the error names them after `prefix`, the machine's
 * key of the link. */
int npl_link_model_of(const struct npl_link_config *config, const char *prefix, struct npl_link_model *model,
		      struct npl_err *err);
double npl_link_bytes_per_second(const struct npl_link_model *model);
/* Returns the link as a device describes it. */
struct npl_link npl_link_of(const struct npl_link_config *config, double bytes_per_second);

/* The range of a link's clock in Hz. */
#define NPL_LINK_MIN_CLOCK 1000
#define NPL_LINK_MAX_CLOCK 100000000000

/* Rows of a machine's table of parameters (core/param_rows.h) for a struct npl_link_config that is `member` of
 * PARAM_CONFIG: KEY.name, KEY.kind... Defaults are texts. */
#define NPL_LINK_PARAMS(key, member, name_is, name_help, kind_is, generation_is, lanes_is, payload_is, header_is,      \
			rate_is, limit_is, latency_is)                                                                 \
	TEXT(key ".name", member.name, name_is, name_help),                                                            \
		CHOICE(key ".kind", member.kind, kind_is, "of link", NPL_LINK_KINDS(PARAM_WORD)),                      \
		NUMBER(key ".generation", INT, member.generation, generation_is, 1, 6, "", "pcie: 1 to 6"),            \
		NUMBER(key ".lanes", INT, member.lanes, lanes_is, 1, 32, "lanes", "pcie"),                             \
		NUMBER(key ".clock_hz", INT, member.clock_hz, "1000000000", NPL_LINK_MIN_CLOCK, NPL_LINK_MAX_CLOCK,    \
		       "Hz", "hypertransport"),                                                                        \
		NUMBER(key ".width_bits", INT, member.width_bits, "16", 1, 1024, "bits",                               \
		       "hypertransport, of one direction"),                                                            \
		NUMBER(key ".transfers_per_clock", INT, member.transfers_per_clock, "2", 1, 16, "",                    \
		       "hypertransport, of one wire"),                                                                 \
		NUMBER(key ".payload_bytes", INT, member.payload_bytes, payload_is, 4, 65536, "bytes",                 \
		       "of a full packet's data; links of kind plain have no packets"),                                \
		NUMBER(key ".header_bytes", INT, member.header_bytes, header_is, 0, 256, "bytes",                      \
		       "of a packet's header; links of kind plain have none"),                                         \
		NUMBER(key ".bytes_per_second", INT, member.bytes_per_second, rate_is, 0, 1e15, "bytes/s",             \
		       "of kind plain"),                                                                               \
		NUMBER(key ".limit_bytes_per_second", INT, member.limit_bytes_per_second, limit_is, 0, 1e15,           \
		       "bytes/s", "of what is behind the link, but for kind plain; 0: none"),                          \
		NUMBER(key ".latency_seconds", DOUBLE, member.latency_seconds, latency_is, 0, 1, "s",                  \
		       "before each transfer"),                                                                        \
		NUMBER(key ".pj_per_byte", DOUBLE, member.pj_per_byte, "0", 0, 1e9, "pJ",                              \
		       "energy of the link, per byte"),                                                                \
		ORIGIN(key ".energy_origin", member.energy_origin, "where that figure is from", key ".pj_per_byte")
/* The member of such a row in a list of parameters (core/param_members.h). */
#define PARAM_MEMBER_LINK(key, member, ...) struct npl_link_config member;
/* The keys that have no effect without the link: those of all of these parameters except the name. */
#define NPL_LINK_KEYS(key)                                                                                             \
	key ".kind " key ".generation " key ".lanes " key ".clock_hz " key ".width_bits " key                          \
	    ".transfers_per_clock " key ".payload_bytes " key ".header_bytes " key ".bytes_per_second " key            \
	    ".limit_bytes_per_second " key ".latency_seconds " key ".pj_per_byte " key ".energy_origin"
/* Entries of a machine's conditions (npl_driver.conditions) for these parameters. */
#define NPL_LINK_CONDITIONS(key)                                                                                       \
	{key ".generation " key ".lanes", key ".kind", "pcie", NULL},                                                  \
		{key ".clock_hz " key ".width_bits " key ".transfers_per_clock", key ".kind", "hypertransport", NULL}, \
		{key ".payload_bytes " key ".header_bytes " key ".limit_bytes_per_second", key ".kind", NULL,          \
		 "plain"},                                                                                             \
	{                                                                                                              \
		key ".bytes_per_second", key ".kind", "plain", NULL                                                    \
	}

#ifdef __cplusplus
}
#endif

#endif
