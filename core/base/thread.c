/* SPDX-License-Identifier: MIT
 *
 * Starting threads (thread.h). */
#include "npulab/thread.h"

int npl_thread_start(pthread_t *thread, void *(*work)(void *context), void *context)
{
	pthread_attr_t attributes;
	int code = pthread_attr_init(&attributes);
	if (code)
		return code;
	code = pthread_attr_setstacksize(&attributes, NPL_THREAD_STACK_BYTES);
	if (!code)
		code = pthread_create(thread, &attributes, work, context);
	pthread_attr_destroy(&attributes);
	return code;
}
