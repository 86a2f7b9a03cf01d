/* SPDX-License-Identifier: MIT
 *
 * Where the user gave a setting, for messages: a line of a file, or what was typed. */
#ifndef NPULAB_CORE_SETTING_LOCATION_H
#define NPULAB_CORE_SETTING_LOCATION_H

#include "npulab/params.h"

#define NPL_SETTING_LOCATION 320 /* bytes that hold a location; a longer one is cut */

/* Writes where the setting was given, "FILE:LINE" or "--set MACHINE.KEY=VALUE", to begin a message with. Returns
 * text. */
const char *npl_setting_location(const struct npl_description *description, const struct npl_setting *setting,
				 char text[NPL_SETTING_LOCATION]);
/* Writes where a heading of the file, such as `name:`, is: "FILE:LINE", or "FILE" for line 0. Returns text. */
const char *npl_setting_heading_location(const struct npl_description *description, int line,
					 char text[NPL_SETTING_LOCATION]);
/* Returns the code of an error about the setting: NPL_EINPUT for one of a file, NPL_EUSAGE for one that was typed. */
int npl_setting_code(const struct npl_setting *setting);
/* Says that this setting is at fault, in the file if it stands there. Returns err->code. */
int npl_setting_blame(const struct npl_setting *setting, struct npl_err *err);
/* Puts before a message about settings (err->settings) where one of them was given: the first that was typed, else the
 * first that the file gives. Where there is none, the file stands before the message, or the machine's name if there is
 * no file. A code NPL_EUSAGE becomes NPL_EINPUT unless the setting was typed or there is no file. Does nothing for
 * codes other than NPL_EUSAGE and NPL_EINPUT. Returns err->code. */
int npl_setting_locate_fault(const struct npl_description *description, struct npl_err *err);

#endif
