/* SPDX-License-Identifier: MIT
 *
 * Parameters in force as JSON: a number where the value is one, else a string. */
#ifndef NPULAB_REPORTS_SETTINGS_JSON_H
#define NPULAB_REPORTS_SETTINGS_JSON_H

#include "npulab/params.h"
#include "reports/format/json.h"

/* Writes the value of one parameter under the key. */
void npl_json_setting(struct npl_json *json, const char *key, const struct npl_param_value *parameter);
/* Writes n parameters as the object "settings", each under its dotted key. */
void npl_json_settings(struct npl_json *json, const struct npl_param_value *parameter, int n);
/* Writes where each of them comes from as the object "sources": "fitted", or "no effect" where nothing depends on
 * it. */
void npl_json_sources(struct npl_json *json, const struct npl_param_value *parameter, int n);

#endif
