/* SPDX-License-Identifier: MIT
 *
 * Values of expressions over points (measure.h). */
#include "measure.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/files/words.h"

struct sweep_measure sweep_measure_of(const struct sweep_expression *expression)
{
	struct sweep_measure measure = {.expression = *expression};
	for (int i = 0; i < expression->n_names; i++)
		measure.metric[i] = sweep_metric_of(expression->name[i]);
	const int metric = sweep_metric_of(expression->text);
	measure.is_maximised = metric >= 0 && sweep_metric_info[metric].better > 0;
	return measure;
}

double sweep_measure_value(const struct sweep_measure *measure, const struct sweep_parameter *parameter, int n,
			   const struct sweep_metrics *metrics)
{
	const struct sweep_expression *e = &measure->expression;
	struct sweep_operand operand[SWEEP_EXPRESSION_NAMES];
	for (int i = 0; i < e->n_names; i++) {
		operand[i] = (struct sweep_operand){.number = NAN};
		if (measure->metric[i] >= 0) {
			operand[i].number = metrics->value[measure->metric[i]];
			continue;
		}
		for (int k = 0; k < n; k++)
			if (!strcmp(parameter[k].key, e->name[i]))
				operand[i].text = parameter[k].value;
		if (operand[i].text && !npl_parse_number(operand[i].text, &operand[i].number))
			operand[i].number = NAN;
	}
	return sweep_expression_value(e, operand);
}
