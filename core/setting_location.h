/* SPDX-License-Identifier: MIT
 *
 * Where the user gave a setting, for messages: a line of a file, or what was typed. */
#ifndef NPULAB_CORE_SETTING_LOCATION_H
#define NPULAB_CORE_SETTING_LOCATION_H

#include "npulab/params.h"

#define SETTING_LOCATION 320 /* bytes that hold a location; a longer one is cut */

/* Writes where the setting was given, "FILE:LINE" or "--set MACHINE.KEY=VALUE", to begin a message with. Returns
 * text. */
const char *setting_location(const struct npl_description *machine, const struct npl_setting *setting,
			     char text[SETTING_LOCATION]);
/* Writes where a heading of the file, such as `name:`, is: "FILE:LINE", or "FILE" for line 0. Returns text. */
const char *setting_heading_location(const struct npl_description *machine, int line, char text[SETTING_LOCATION]);
/* Returns the code of a message about the setting: NPL_EINPUT for one of a file, NPL_EUSAGE for one that was typed. */
int setting_code(const struct npl_setting *setting);
/* Puts before a message about several parameters where one of them was given: the first that the message names and that
 * was typed, else the first that it names and that the file gives, else the file alone. A key may be named by its last
 * part, "tRC" for "timing.tRC", where no whole key is named. The code becomes that of this setting if it is NPL_EUSAGE.
 * Does nothing for codes other than NPL_EUSAGE and NPL_EINPUT. Returns err->code. */
int setting_locate_fault(const struct npl_description *machine, struct npl_err *err);

#endif
