/* SPDX-License-Identifier: MIT
 *
 * The activity of operands on DianNao. What the program promises: a layer's counts are those that its program has when
 * it is executed (diannao_layers compares them with rtl's); a sample of a layer's repeats is near them; random operands
 * cost what is charged, and zeros less. */
#include "tests/kit/sim/diannao/fixture.h"

static struct npl_result run(enum sim_activity activity, struct dn_case *c)
{
	struct dn_config config = dn_default();
	struct npl_result result;
	config.technology.activity = activity;
	dn_case_run(&config, c, &result);
	return result;
}

Test(diannao_activity, samples_are_near_the_counts)
{
	static const char *const names[] = {"products", "zero_products", "partial_product_toggles", "nbin_toggles",
					    "sb_toggles"};
	struct dn_case c;
	uint64_t rng = 1;
	dn_case_window(&c, NPL_OP_CONV, 1, 48, 30, 30, 80, 1, dn_window(3, 1));
	dn_case_data(&c, &rng, 9, 9);
	for (int64_t i = 0; i < npl_tensor_count(&c.x); i += 3) /* a third of the inputs is 0 */
		((int16_t *)c.x.data)[i] = 0;
	const struct npl_result all = run(SIM_COUNTED, &c), some = run(SIM_SAMPLED, &c);
	cr_expect_eq(dn_counter(&all, "products"), dn_counter(&some, "products"));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_expect_float_eq((double)dn_counter(&some, names[i]) / (double)dn_counter(&all, names[i]), 1, 0.03,
				   "%s", names[i]);
	cr_expect_float_eq((double)dn_counter(&all, "zero_products") / (double)dn_counter(&all, "products"), 1 / 3.0,
			   0.02);
	cr_expect_eq(all.cycles, some.cycles);
	dn_case_free(&c);
}

Test(diannao_activity, zeros_cost_less_than_random_operands)
{
	struct dn_case c;
	uint64_t rng = 2;
	dn_case_gemm(&c, 4, 256, 256);
	dn_case_data(&c, &rng, 15, 15);
	const struct npl_result random = run(SIM_COUNTED, &c);
	memset(c.x.data, 0, npl_tensor_bytes(&c.x));
	const struct npl_result zero = run(SIM_COUNTED, &c);
	cr_expect_float_eq(npl_energy_by_activity(random.energy, random.n_energy), npl_result_joules(&random),
			   0.01 * npl_result_joules(&random));
	cr_expect_lt(npl_energy_by_activity(zero.energy, zero.n_energy),
		     npl_energy_by_activity(random.energy, random.n_energy));
	cr_expect_eq(dn_counter(&zero, "zero_products"), dn_counter(&zero, "products"));
	cr_expect_float_eq(npl_result_joules(&zero), npl_result_joules(&random), 1e-15, "what is charged is the same");
	dn_case_free(&c);
}
