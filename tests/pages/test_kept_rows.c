/* SPDX-License-Identifier: MIT
 *
 * Charts of many rows. What the program promises: the greatest rows are kept in their order, and nothing of a stacked
 * chart is lost. The test counts on random values by itself. */
#include <criterion/criterion.h>
#include <math.h>

#include "pages/kept_rows.h"
#include "tests/kit/support.h"

enum { MOST = 700, SERIES = 3 };

struct chart {
	char text[MOST][12];
	const char *row[MOST];
	double value[SERIES][MOST];
	struct page_series series[SERIES];
	struct page_bars bars;
};

static void draw(struct chart *chart, uint64_t *rng, enum page_bars_kind kind)
{
	const int rows = (int)test_range(rng, PAGE_MOST_ROWS + 1, MOST);
	for (int i = 0; i < rows; i++) {
		snprintf(chart->text[i], sizeof chart->text[i], "%d", i);
		chart->row[i] = chart->text[i];
		for (int s = 0; s < SERIES; s++)
			chart->value[s][i] = test_range(rng, 0, 9) ? (double)test_range(rng, -500, 1000) / 10 : NAN;
	}
	for (int s = 0; s < SERIES; s++)
		chart->series[s] = (struct page_series){"s", chart->value[s], NULL, chart->value[0]};
	chart->bars = (struct page_bars){
		.kind = kind, .n_rows = rows, .n_series = SERIES, .row = chart->row, .series = chart->series};
}

/* How many rows of the chart matter more than this one. */
static int count_before(const struct chart *chart, int row)
{
	double weight[MOST];
	int before = 0;
	for (int i = 0; i < chart->bars.n_rows; i++) {
		weight[i] = chart->bars.kind == PAGE_BARS_STACKED ? 0 : -INFINITY;
		for (int s = 0; s < SERIES; s++) {
			const double value = chart->value[s][i];
			if (isnan(value))
				continue;
			if (chart->bars.kind == PAGE_BARS_STACKED)
				weight[i] += fmax(value, 0);
			else if (chart->bars.kind == PAGE_BARS_MARKS)
				weight[i] = fmax(weight[i], chart->bars.keeps_farthest_from_0 ? fabs(value) : -value);
			else
				weight[i] = fmax(weight[i], value);
		}
	}
	for (int i = 0; i < chart->bars.n_rows; i++)
		before += weight[i] > weight[row] || (i < row && weight[i] == weight[row]);
	return before;
}

static double sum(const struct page_bars *bars)
{
	double total = 0;
	for (int s = 0; s < bars->n_series; s++)
		for (int i = 0; i < bars->n_rows; i++)
			total += fmax(bars->series[s].value[i], 0);
	return total;
}

Test(kept_rows, are_kept_in_their_order)
{
	static struct chart chart;
	uint64_t rng = 11;
	for (int round = 0; round < 60; round++) {
		struct page_kept_rows greatest;
		const enum page_bars_kind kind = (enum page_bars_kind)(round % 3);
		int next = 0;
		draw(&chart, &rng, kind);
		chart.bars.keeps_farthest_from_0 = round % 2;
		cr_assert(page_kept_rows(&chart.bars, &greatest));
		cr_expect_eq(greatest.bars.n_rows, PAGE_MOST_ROWS);
		for (int i = 0; i < chart.bars.n_rows; i++) {
			if (count_before(&chart, i) >= PAGE_MOST_ROWS - 1)
				continue;
			cr_assert_str_eq(greatest.bars.row[next], chart.text[i], "seed 11, round %d", round);
			const double kept = greatest.bars.series[1].value[next], from = chart.value[1][i];
			cr_expect(kept == from || (isnan(kept) && isnan(from)));
			next++;
		}
		cr_expect_eq(next, PAGE_MOST_ROWS - 1);
		char others[60];
		snprintf(others, sizeof others, "%d others%s", chart.bars.n_rows - next,
			 kind == PAGE_BARS_STACKED ? "" : " are not shown");
		cr_expect_str_eq(greatest.bars.row[next], others);
		if (kind == PAGE_BARS_STACKED)
			cr_expect_float_eq(sum(&greatest.bars), sum(&chart.bars), 1e-9 * sum(&chart.bars));
		else
			cr_expect(isnan(greatest.bars.series[0].value[next]));
		page_kept_rows_free(&greatest);
	}
}
