/* SPDX-License-Identifier: MIT
 *
 * Rows of a table of parameters (npulab/params.h). The file with the table says which struct holds the values:
 *
 *     #define PARAM_CONFIG struct dn_config
 *     const struct npl_param dn_params[] = {NUMBER("nfu.tn", INT, tn, "16", 2, 256, "neurons", "inputs a step"), {0}};
 */
#ifndef NPULAB_CORE_PARAM_ROWS_H
#define NPULAB_CORE_PARAM_ROWS_H

#include <stddef.h>

#include "npulab/params.h"

/* Makes the row of a number of type NPL_PARAM_..., with its default. */
#define NUMBER(key, type, member, value, min, max, unit, help)                                                         \
	{                                                                                                              \
		key, NPL_PARAM_##type, offsetof(PARAM_CONFIG, member), value, min, max, unit, help, NULL               \
	}
#define TEXT(key, member, value, help)                                                                                 \
	{                                                                                                              \
		key, NPL_PARAM_STRING, offsetof(PARAM_CONFIG, member), value, 0, 0, "", help, NULL                     \
	}
/* Makes the row of a text that is a name or the path of a file. `content` is what the file has: "memory". */
#define FILE_OR_NAME(key, member, value, help, content)                                                                \
	{                                                                                                              \
		key, NPL_PARAM_STRING, offsetof(PARAM_CONFIG, member), value, 0, 0, "", help, content                  \
	}
/* Makes the row of a choice of several words. `words` has them with blanks between them. */
#define CHOICE(key, member, value, help, words)                                                                        \
	{                                                                                                              \
		key, NPL_PARAM_CHOICE, offsetof(PARAM_CONFIG, member), value, 0, 0, "", help, words                    \
	}
/* Makes the row of a number in an array, `index` of it. */
#define ELEMENT(key, type, array, index, ...) NUMBER(key, type, array[index], __VA_ARGS__)
/* Makes the row of a number that is a size or clock of the machine, with which its energies and fitted figures go. */
#define SIZE(...) NUMBER(__VA_ARGS__)
/* Makes the row of the origin of energy figures. `of` has the figures' keys. */
#define ORIGIN(key, member, help, of)                                                                                  \
	{                                                                                                              \
		key, NPL_PARAM_ORIGIN, offsetof(PARAM_CONFIG, member), "absent", 0, 0, "", help "; absent: not known", \
			of                                                                                             \
	}

/* These make npl_driver.size_keys from the rows of a list: the key of each SIZE, with a blank behind it. */
#define PARAM_SIZE_SIZE(key, ...) key " "
#define PARAM_SIZE_NUMBER(...)
#define PARAM_SIZE_TEXT(...)
#define PARAM_SIZE_FILE_OR_NAME(...)
#define PARAM_SIZE_CHOICE(...)
#define PARAM_SIZE_ELEMENT(...)
#define PARAM_SIZE_ORIGIN(...)

#endif
