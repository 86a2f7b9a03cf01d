/* SPDX-License-Identifier: MIT
 *
 * Promise: the estimate by which tiles are chosen (generate/tiles.c) stays near the time of the engine, on the
 * layers of the paper (Chen et al., ASPLOS 2014, Table 5) behind the paper's memory. A time that the engines alone
 * have moves the ratio of the two. */
#include "sim/diannao/diannao/driver/driver_impl.h"
#include "sim/diannao/diannao/fast/run.h"
#include "tests/kit/sim/diannao/fixture.h"
#include "validate/diannao_layers.h"

static void make_case(const struct npl_diannao_layer *from, struct dn_case *c)
{
	const struct npl_simd_layer *shape = &from->shape;
	if (from->kind == NPL_DIANNAO_CLASS) {
		dn_case_gemm(c, 1, shape->no, shape->ni);
		return;
	}
	dn_case_window(c, shape->pools ? NPL_OP_MAXPOOL : NPL_OP_CONV, 1, shape->ni, shape->in[0], shape->in[1],
		       shape->pools ? 0 : shape->no, 1, dn_window(shape->kernel[0], shape->stride[0]));
	if (shape->private_kernels) {
		c->attrs.conv.private_kernels = true;
		c->w.shape.dim[0] *= c->y.shape.dim[2] * c->y.shape.dim[3];
	}
}

/* Returns the cycles that the engine takes for the layer with these tiles. */
static uint64_t engine_cycles(const struct dn_machine *machine, const struct dn_layer *layer,
			      const struct dn_tiles *tiles)
{
	struct dn_generator *generator;
	struct npl_err err;
	cr_assert_eq(dn_generator_open(machine->config, layer, tiles, &generator, &err), 0, "%s", err.msg);
	const struct dn_engine_input input = dn_engine_input_of(machine, layer, generator);
	struct dn_outcome outcome = {0};
	cr_assert_eq(dn_run_fast(&input, &outcome, &err), 0, "%s", err.msg);
	cr_assert_eq(dn_generator_failed(generator, &err), 0, "%s", err.msg);
	dn_generator_close(generator);
	return outcome.cycles;
}

/* The bounds are a little beyond the ratios of engine to estimate as they are: 0.774 to 1.168 of all candidates,
 * 0.907 to 1.092 of those with the least estimate, and for half of the layers that ratio is 1 to within a
 * thousandth. If a further time of the port or of the NFU leaves them, add it to the estimate. */
Test(diannao_estimate, the_papers_layers_take_about_the_estimated_cycles)
{
	const struct dn_config config = dn_default();
	struct dn_machine *machine = dn_opened(&config);
	const double bytes_per_cycle = dn_bytes_per_cycle(machine);
	int exact = 0;
	for (int i = 0; i < NPL_DIANNAO_LAYERS; i++) {
		const char *name = npl_diannao_layers[i].name;
		struct dn_case c;
		struct dn_layer layer;
		struct dn_candidates all;
		struct npl_err err;
		char reason[200];
		make_case(&npl_diannao_layers[i], &c);
		cr_assert(dn_layer_of(&config, &c.layer, &layer, reason, sizeof reason), "%s: %s", name, reason);
		cr_assert_eq(dn_find_tiles(&config, &layer, bytes_per_cycle, &all, &err), 0, "%s: %s", name, err.msg);
		for (int k = 0; k < all.n; k++) {
			const double ratio = (double)engine_cycles(machine, &layer, &all.tiles[k]) /
					     dn_estimated_cycles(&config, &layer, bytes_per_cycle, &all.tiles[k]);
			cr_expect(ratio > (k ? 0.75 : 0.9) && ratio < (k ? 1.2 : 1.1), "%s, candidate %d: %g", name, k,
				  ratio);
			exact += !k && fabs(ratio - 1) < 0.001;
		}
	}
	cr_expect_geq(exact, NPL_DIANNAO_LAYERS / 2);
	npl_driver_diannao.close(machine);
}
