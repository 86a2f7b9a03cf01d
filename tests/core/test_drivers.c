/* SPDX-License-Identifier: MIT
 *
 * Promises of the contract of drivers (npulab/driver.h): members that go together are all there or all absent, in every
 * driver, and a driver that is not so is refused with the reason. */
#include <criterion/criterion.h>

#include "npulab/driver.h"

Test(drivers, every_driver_is_whole)
{
	static const char *const engines[] = {"fast", NULL};
	char reason[200] = "";
	const struct npl_driver *with_groups = NULL;
	for (const struct npl_driver *const *d = npl_drivers; *d; d++) {
		cr_assert(npl_driver_ok(*d, reason, sizeof reason), "%s: %s", (*d)->name, reason);
		with_groups = (*d)->open_layer_group && (*d)->isa ? *d : with_groups;
	}
	cr_assert(with_groups, "no driver has layer groups and programs");
	struct npl_driver wrong = *with_groups;
	wrong.close_layer_group = NULL;
	cr_expect_not(npl_driver_ok(&wrong, reason, sizeof reason));
	cr_expect_str_eq(reason, "2 of the three functions of layer groups, expected all or none");
	wrong = *with_groups;
	wrong.engines = NULL;
	cr_expect_not(npl_driver_ok(&wrong, reason, sizeof reason));
	wrong.choose_engine = NULL;
	cr_expect_not(npl_driver_ok(&wrong, reason, sizeof reason));
	cr_expect_str_eq(reason, "an instruction set without engines to run its programs");
	wrong = *with_groups;
	wrong.dump_layer_group = NULL;
	cr_expect_not(npl_driver_ok(&wrong, reason, sizeof reason));
	wrong = (struct npl_driver){.name = "none", .dump_layer = with_groups->dump_layer, .engines = engines};
	wrong.choose_engine = with_groups->choose_engine;
	cr_expect_not(npl_driver_ok(&wrong, reason, sizeof reason));
	cr_expect_str_eq(reason, "dumps of programs without an instruction set");
}
