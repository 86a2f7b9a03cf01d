/* SPDX-License-Identifier: MIT
 *
 * The number format of a step's device, and the form in which it takes and leaves values. */
#include "frontend/quantise/quantise.h"
#include "model_layer.h"

enum npl_format npl_step_format(const struct npl_session *s, const struct npl_step *step)
{
	if (step->device == NPL_ON_HOST || step->plain)
		return NPL_FORMAT_F32;
	return npl_device_get_info(s->device[step->device])->format;
}

enum npl_format npl_step_form(const struct npl_session *s, const struct npl_step *step)
{
	return step->in_integers ? NPL_FORMAT_F32 : npl_step_format(s, step);
}
