/* SPDX-License-Identifier: MIT
 *
 * What the devices of comparisons (npulab.compare/1) are. */
#ifndef NPULAB_PAGES_ABOUT_DEVICES_H
#define NPULAB_PAGES_ABOUT_DEVICES_H

#include "entries.h"

/* Says of each device what it is, where its energies come from, how far its times can be trusted, and its notes; of a
 * placement, of the devices that it used too. */
void page_put_about_devices(struct page_writer *writer, const struct page_entries *entries);

#endif
