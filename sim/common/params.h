/* SPDX-License-Identifier: MIT
 *
 * Rows of a machine's table of parameters (npulab/params.h). `config` is the struct that holds them. */
#ifndef NPULAB_SIM_COMMON_PARAMS_H
#define NPULAB_SIM_COMMON_PARAMS_H

#include <stddef.h>

#include "npulab/params.h"

/* Makes the row of a number of type NPL_PARAM_..., with its default. */
#define SIM_PARAM(config, key, type, member, value, min, max, unit, help)                                              \
	{                                                                                                              \
		key, NPL_PARAM_##type, offsetof(config, member), value, min, max, unit, help, NULL                     \
	}
#define SIM_TEXT(config, key, member, value, help)                                                                     \
	{                                                                                                              \
		key, NPL_PARAM_STRING, offsetof(config, member), value, 0, 0, "", help, NULL                           \
	}
/* Makes the row of a choice of several words. `words` has them with blanks between them. */
#define SIM_CHOICE(config, key, member, value, help, words)                                                            \
	{                                                                                                              \
		key, NPL_PARAM_CHOICE, offsetof(config, member), value, 0, 0, "", help, words                          \
	}
/* Makes the row of the origin of energy figures. of has the figures' keys. */
#define SIM_ORIGIN(config, key, member, help, of)                                                                      \
	{                                                                                                              \
		key, NPL_PARAM_ORIGIN, offsetof(config, member), "absent", 0, 0, "", help "; absent: not known", of    \
	}

#endif
