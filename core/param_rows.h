/* SPDX-License-Identifier: MIT
 *
 * Rows of a table of parameters (npulab/params.h). `config` is the struct that holds them. A table defines short names
 * for its own struct: #define NUMBER(...) NPL_NUMBER_ROW(struct dn_config, __VA_ARGS__). */
#ifndef NPULAB_CORE_PARAM_ROWS_H
#define NPULAB_CORE_PARAM_ROWS_H

#include <stddef.h>

#include "npulab/params.h"

/* Makes the row of a number of type NPL_PARAM_..., with its default. */
#define NPL_NUMBER_ROW(config, key, type, member, value, min, max, unit, help)                                         \
	{                                                                                                              \
		key, NPL_PARAM_##type, offsetof(config, member), value, min, max, unit, help, NULL                     \
	}
#define NPL_TEXT_ROW(config, key, member, value, help)                                                                 \
	{                                                                                                              \
		key, NPL_PARAM_STRING, offsetof(config, member), value, 0, 0, "", help, NULL                           \
	}
/* Makes the row of a choice of several words. `words` has them with blanks between them. */
#define NPL_CHOICE_ROW(config, key, member, value, help, words)                                                        \
	{                                                                                                              \
		key, NPL_PARAM_CHOICE, offsetof(config, member), value, 0, 0, "", help, words                          \
	}
/* Makes the row of the origin of energy figures. `of` has the figures' keys. */
#define NPL_ORIGIN_ROW(config, key, member, help, of)                                                                  \
	{                                                                                                              \
		key, NPL_PARAM_ORIGIN, offsetof(config, member), "absent", 0, 0, "", help "; absent: not known", of    \
	}

#endif
