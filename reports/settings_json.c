/* SPDX-License-Identifier: MIT
 *
 * Parameters in force as JSON (settings_json.h). */
#include "settings_json.h"

void npl_json_setting(struct npl_json *json, const char *key, const struct npl_param_value *parameter)
{
	if (parameter->is_number)
		npl_json_number(json, key, parameter->value);
	else
		npl_json_string(json, key, parameter->value);
}

void npl_json_settings(struct npl_json *json, const struct npl_param_value *parameter, int n)
{
	npl_json_open(json, "settings", '{');
	for (int i = 0; i < n; i++)
		npl_json_setting(json, parameter[i].key, &parameter[i]);
	npl_json_close(json, '}');
}

void npl_json_sources(struct npl_json *json, const struct npl_param_value *parameter, int n)
{
	npl_json_open(json, "sources", '{');
	for (int i = 0; i < n; i++)
		npl_json_string(json, parameter[i].key,
				parameter[i].has_no_effect ? "no effect" : npl_source_name(parameter[i].source));
	npl_json_close(json, '}');
}
