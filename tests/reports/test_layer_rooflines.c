/* SPDX-License-Identifier: MIT
 *
 * The point of each layer below the roofs in the JSON of a comparison. What the program promises: its bytes and its
 * intensity, and the roofs, are those of `npulab roofline`; its share is the least time that both roofs allow over the
 * time taken; a device without roofs and a layer on the host have no point. */
#include <criterion/criterion.h>

#include "tests/kit/cli_json.h"
#include "tests/kit/support.h"

static json_t *document(const char *command, const char *devices)
{
	return cli_json(&(struct cli_run_options){0}, command, "lenet5", "--devices", devices, "--batch", "8", "--json",
			"-", "--quiet");
}

static bool same(json_t *a, json_t *b)
{
	return json_is_null(a) ? json_is_null(b) : fabs(cli_number(a) / cli_number(b) - 1) < 1e-12 || json_equal(a, b);
}

static json_t *layer_of(json_t *device, long long index)
{
	json_t *layer;
	size_t i;
	json_array_foreach (cli_at(device, "layers"), i, layer)
		if (cli_integer(cli_at(layer, "index")) == index)
			return layer;
	return NULL;
}

static void check_share(json_t *device, json_t *layer)
{
	json_t *point = cli_at(layer, "roofline");
	const double macs = (double)cli_integer(cli_at(layer, "macs")), bytes = cli_number(cli_at(point, "bytes"));
	const double peak = cli_number(cli_at(device, "roofs.0.peak_ops_per_second")),
		     rate = cli_number(cli_at(device, "memory.bytes_per_second"));
	if (!macs)
		return;
	const double seconds = 2 * macs / cli_number(cli_at(point, "ops_per_second"));
	const double least = fmax(2 * macs / peak, bytes / rate);
	cr_expect_float_eq(cli_number(cli_at(point, "share")), least / seconds, 1e-9 * least / seconds);
	cr_expect_str_eq(cli_text(cli_at(point, "lower_roof")), bytes / rate > 2 * macs / peak ? "memory" : "peak");
	cr_expect_float_eq(cli_number(cli_at(point, "roof_ops_per_second")), 2 * macs / least, 1e-9 * macs / least);
}

Test(layer_rooflines, are_those_of_roofline)
{
	static const char devices[] = "tpu_v1,diannao,gpu_k80";
	json_t *compared = document("compare", devices), *roofline = document("roofline", devices), *device, *layer;
	size_t d, l;
	int points = 0;
	json_array_foreach (cli_at(compared, "devices"), d, device) {
		json_t *other = cli_device(roofline, cli_text(cli_at(device, "name")));
		cr_expect(same(cli_at(device, "roofs.0.peak_ops_per_second"),
			       cli_at(other, "roofs.0.peak_ops_per_second")));
		cr_expect(same(cli_at(device, "memory.bytes_per_second"), cli_at(other, "memory.bytes_per_second")));
		json_array_foreach (cli_at(device, "layers"), l, layer) {
			json_t *point = cli_at(layer, "roofline"),
			       *alone = layer_of(other, cli_integer(cli_at(layer, "index")));
			cr_expect(!json_is_object(point) || alone);
			if (!json_is_object(point) || !alone)
				continue;
			cr_expect(same(cli_at(point, "bytes"), cli_at(alone, "bytes")), "%s",
				  cli_text(cli_at(layer, "name")));
			cr_expect(same(cli_at(point, "macs_per_byte"), cli_at(alone, "macs_per_byte")));
			check_share(device, layer);
			points++;
		}
	}
	cr_expect_geq(points, 15);
	json_decref(compared);
	json_decref(roofline);
}

Test(layer_rooflines, are_absent_without_roofs)
{
	json_t *root = cli_json(&(struct cli_run_options){0}, "run", "lenet5", "--place",
				"/conv1/=tpu_v1,Gemm=reference,*=host", "--batch", "8", "--json", "-", "--quiet"),
	       *device = json_array_get(cli_at(root, "devices"), 0), *layer;
	size_t l;
	int points = 0;
	json_array_foreach (cli_at(device, "layers"), l, layer) {
		const bool has_point = json_is_object(cli_at(layer, "roofline"));
		cr_expect_eq(has_point, !strcmp(cli_text(cli_at(layer, "name")), "conv1"), "%s",
			     cli_text(cli_at(layer, "name")));
		points += has_point;
	}
	cr_expect_eq(points, 1);
	json_decref(root);
}

/* Measured without its roofs a real device has intensities and rates, and nothing that follows from roofs. */
Test(layer_rooflines, of_a_real_device_lack_the_roofs)
{
	json_t *root = document("compare", "cpu"), *device = json_array_get(cli_at(root, "devices"), 0);
	cr_expect_eq(json_array_size(cli_at(device, "roofs")), 0);
	cr_expect(json_is_null(cli_at(device, "memory.bytes_per_second")));
	json_t *point = cli_at(layer_of(device, 0), "roofline");
	cr_expect_gt(cli_number(cli_at(point, "macs_per_byte")), 0);
	cr_expect_gt(cli_number(cli_at(point, "ops_per_second")), 0);
	cr_expect(json_is_null(cli_at(point, "share")) && json_is_null(cli_at(point, "roof_ops_per_second")));
	json_decref(root);
}
