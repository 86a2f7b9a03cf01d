/* SPDX-License-Identifier: MIT
 *
 * Error messages and exit statuses; the convention is in error.h. */
#include "npulab/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "printable.h"

int npl_fail(struct npl_err *err, int code, const char *format, ...)
{
	if (err) {
		va_list args;
		va_start(args, format);
		vsnprintf(err->msg, sizeof err->msg, format, args);
		va_end(args);
		npl_make_printable(err->msg);
		err->code = code;
	}
	return code;
}

int npl_prefix(struct npl_err *err, const char *format, ...)
{
	if (!err)
		return NPL_EINTERNAL;
	char prefixed[2 * sizeof err->msg + 2];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(prefixed, sizeof err->msg, format, args);
	va_end(args);
	size_t used = n < 0 ? 0 : (size_t)n < sizeof err->msg ? (size_t)n : sizeof err->msg - 1;
	snprintf(prefixed + used, sizeof prefixed - used, ": %s", err->msg);
	prefixed[sizeof err->msg - 1] = '\0';
	memcpy(err->msg, prefixed, sizeof err->msg);
	npl_make_printable(err->msg);
	return err->code;
}

int npl_exit_status(int code)
{
	switch (code) {
	case NPL_OK:
		return 0;
	case NPL_ECHECK:
		return 1;
	case NPL_EUSAGE:
		return 2;
	case NPL_EINPUT:
		return 3;
	case NPL_EDEVICE:
		return 4;
	case NPL_ENOMEM:
	case NPL_EOUTPUT:
		return 5;
	default:
		return 6;
	}
}
