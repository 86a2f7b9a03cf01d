/* SPDX-License-Identifier: MIT
 *
 * Error messages and exit statuses; the convention is in error.h. */
#include "npulab/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"

/* Copies a text into a message. A text that is too long loses its middle, so that its end stays: the reason, and what
 * was expected, come after the name of a file or a node. */
static void fit(char *msg, size_t capacity, const char *text, size_t length)
{
	static const char gap[] = " ... ";
	if (length < capacity) {
		memcpy(msg, text, length + 1);
		return;
	}
	size_t head = capacity / 3, tail = capacity - 1 - head - (sizeof gap - 1);
	while (head && ((unsigned char)text[head] & 0xc0) == 0x80) /* inside a UTF-8 sequence */
		head--;
	while (tail && ((unsigned char)text[length - tail] & 0xc0) == 0x80)
		tail--;
	memcpy(msg, text, head);
	memcpy(msg + head, gap, sizeof gap - 1);
	memcpy(msg + head + sizeof gap - 1, text + length - tail, tail + 1);
}

/* Fills the message with the format's text, and ": " and `rest` after it unless rest is NULL. */
static void fill(struct npl_err *err, const char *rest, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	const int n = vsnprintf(NULL, 0, format, args);
	const size_t head = n < 0 ? 0 : (size_t)n, length = head + (rest ? 2 + strlen(rest) : 0);
	char *text = malloc(length + 1);
	if (text) {
		vsnprintf(text, head + 1, format, again);
		if (rest)
			snprintf(text + head, length + 1 - head, ": %s", rest);
		fit(err->msg, sizeof err->msg, text, length);
		free(text);
	} else { /* without memory the end of a long message is lost */
		vsnprintf(err->msg, sizeof err->msg, format, again);
		const size_t used = strlen(err->msg);
		if (rest)
			snprintf(err->msg + used, sizeof err->msg - used, ": %s", rest);
	}
	va_end(again);
	npl_make_printable(err->msg);
	err->name_bytes = 0;
}

int npl_fail(struct npl_err *err, int code, const char *format, ...)
{
	if (err) {
		va_list args;
		va_start(args, format);
		fill(err, NULL, format, args);
		va_end(args);
		err->code = code;
		npl_blame_settings(err, NULL, "");
	}
	return code;
}

int npl_fail_settings(struct npl_err *err, const char *mapping, const char *keys, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(err, NULL, format, args);
	va_end(args);
	err->code = NPL_EUSAGE;
	return npl_blame_settings(err, mapping, keys);
}

int npl_fail_as(struct npl_err *err, const struct npl_err *failure)
{
	if (err)
		*err = *failure;
	return failure->code;
}

int npl_prefix(struct npl_err *err, const char *format, ...)
{
	if (!err)
		return NPL_EINTERNAL;
	char rest[sizeof err->msg];
	va_list args;
	memcpy(rest, err->msg, sizeof rest);
	va_start(args, format);
	fill(err, rest, format, args);
	va_end(args);
	return err->code;
}

int npl_prefix_name(struct npl_err *err, const char *name)
{
	const size_t reason_bytes = strlen(err->msg), bytes = strlen(name) + strlen(": ") + reason_bytes;
	npl_prefix(err, "%s", name);
	if (bytes < sizeof err->msg) /* nothing was cut */
		err->name_bytes = strlen(err->msg) - reason_bytes;
	return err->code;
}

const char *npl_err_reason(const struct npl_err *err)
{
	return err->msg + err->name_bytes;
}

int npl_blame_settings(struct npl_err *err, const char *mapping, const char *keys)
{
	size_t used = 0;
	err->settings[0] = '\0';
	err->in_file = false;
	for (; *keys && used < sizeof err->settings; keys += strspn(keys, " ")) {
		const size_t length = strcspn(keys, " ");
		used += (size_t)snprintf(err->settings + used, sizeof err->settings - used, "%s%s%s%.*s",
					 used ? " " : "", mapping ? mapping : "", mapping ? "." : "", (int)length,
					 keys);
		keys += length;
	}
	npl_make_printable(err->settings);
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
