/* SPDX-License-Identifier: MIT
 *
 * Signals of register-level engines (signals.h): which are chosen, and what changes. */
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"

enum { MOST_SIGNALS = 1 << 20 };

void sim_signals_index(struct npl_signal_def *def, int n, const struct sim_signal_index *index)
{
	for (int i = 0; i < n; i++) {
		const char *at = def[i].name;
		for (def[i].n_indices = 0; def[i].n_indices < 2 && (at = strchr(at, '[')); at++) {
			const struct sim_signal_index *found = index;
			while (strncmp(found->word, at + 1, strcspn(at + 1, "]")) != 0)
				found++;
			def[i].extent[def[i].n_indices++] = found->extent;
		}
	}
}

/* ---- Patterns. */

/* One pattern of a choice: so many bytes from its begin on. */
struct pattern {
	const char *text;
	size_t bytes;
};

/* Gets the next pattern of a list. Returns false at its end. */
static bool next_pattern(const char **list, struct pattern *pattern)
{
	if (!**list)
		return false;
	*pattern = (struct pattern){*list, strcspn(*list, ",")};
	*list += pattern->bytes + ((*list)[pattern->bytes] == ',');
	return true;
}

static bool is_default(const struct pattern *pattern)
{
	return pattern->bytes == strlen("default") && !strncmp(pattern->text, "default", pattern->bytes);
}

static bool fits(const char *pattern, const char *end, const char *name)
{
	const char *star = NULL, *resume = name; /* the last '*', and where the text that it stands for may end */
	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = pattern++;
			resume = name;
		} else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

/* Says whether a name that begins like this may fit: it differs from no letter of the pattern before a wildcard. */
static bool may_fit(const struct pattern *pattern, const char *begin)
{
	for (size_t i = 0; i < pattern->bytes && begin[i]; i++) {
		if (pattern->text[i] == '*')
			return true;
		if (pattern->text[i] != '?' && pattern->text[i] != begin[i])
			return false;
	}
	return true;
}

static bool any_may_fit(const char *choice, const struct npl_signal_def *def, const char *begin)
{
	struct pattern pattern;
	while (next_pattern(&choice, &pattern))
		if (is_default(&pattern) ? def->by_default : may_fit(&pattern, begin))
			return true;
	return false;
}

static bool any_fits(const char *choice, const struct npl_signal_def *def, const char *name)
{
	struct pattern pattern;
	while (next_pattern(&choice, &pattern))
		if (is_default(&pattern) ? def->by_default : fits(pattern.text, pattern.text + pattern.bytes, name))
			return true;
	return false;
}

/* ---- The choice. */

/* Writes the name with numbers for the first `n` indices; it ends before the next index. */
static void put_name(char name[NPL_SIGNAL_NAME], const struct npl_signal_def *def, const int64_t index[2], int n)
{
	size_t used = 0;
	const char *at = def->name;
	for (int i = 0; used < NPL_SIGNAL_NAME - 1; i++) {
		const size_t plain = i < def->n_indices ? strcspn(at, "[") : strlen(at);
		used += (size_t)snprintf(name + used, NPL_SIGNAL_NAME - used, "%.*s", (int)plain, at);
		if (i == def->n_indices || i == n || used >= NPL_SIGNAL_NAME)
			return;
		used += (size_t)snprintf(name + used, NPL_SIGNAL_NAME - used, "[%lld]", (long long)index[i]);
		at += plain + strcspn(at + plain, "]") + 1;
	}
}

static int add(struct sim_signals *signals, const struct sim_signal *signal, struct npl_err *err)
{
	if (signals->n == MOST_SIGNALS)
		return npl_fail(err, NPL_EUSAGE, "more than %d signals are chosen, expected fewer", MOST_SIGNALS);
	if (signals->n == signals->capacity) {
		const int capacity = signals->capacity ? 2 * signals->capacity : 64;
		struct sim_signal *grown = realloc(signals->signal, (size_t)capacity * sizeof *grown);
		if (!grown)
			return npl_no_memory(err);
		signals->signal = grown;
		signals->capacity = capacity;
	}
	signals->signal[signals->n++] = *signal;
	return 0;
}

/* Adds the signals of a row that fit. */
static int choose_row(struct sim_signals *signals, const char *choice, const struct npl_signal_def *def, int row,
		      struct npl_err *err)
{
	struct sim_signal signal = {.row = row};
	int64_t *index = signal.index;
	const int64_t first = def->n_indices > 0 ? def->extent[0] : 1, second = def->n_indices > 1 ? def->extent[1] : 1;
	char name[NPL_SIGNAL_NAME];
	put_name(name, def, index, 0);
	for (index[0] = 0; index[0] < first && any_may_fit(choice, def, name); index[0]++) {
		char begin[NPL_SIGNAL_NAME];
		put_name(begin, def, index, 1);
		for (index[1] = 0; index[1] < second && any_may_fit(choice, def, begin); index[1]++) {
			char whole[NPL_SIGNAL_NAME];
			put_name(whole, def, index, 2);
			if (any_fits(choice, def, whole) && add(signals, &signal, err))
				return err->code;
		}
	}
	return 0;
}

/* Refuses a pattern that fits none of the signals. */
static int refuse_idle_patterns(const char *choice, const struct npl_signal_def *def, int n, struct npl_err *err)
{
	const char *names[NPL_MAX_SIGNAL_ROWS];
	struct pattern pattern;
	for (int i = 0; i < n; i++)
		names[i] = def[i].name;
	while (next_pattern(&choice, &pattern)) {
		struct sim_signals found = {.n = 0};
		char text[NPL_SIGNAL_NAME];
		int rc = 0;
		snprintf(text, sizeof text, "%.*s", (int)pattern.bytes, pattern.text);
		for (int i = 0; i < n && !rc && !found.n; i++)
			rc = choose_row(&found, text, &def[i], i, err);
		free(found.signal);
		if (rc)
			return rc;
		if (!found.n)
			return npl_fail(err, NPL_EUSAGE, "no signal has the name '%s'%s", text,
					NPL_NEAREST_ONLY(text, names, n));
	}
	return 0;
}

static int tell_signals(struct sim_signals *signals, const struct npl_signal_def *def, int64_t clock_hz,
			struct npl_err *err)
{
	const struct npl_signal_sink *sink = signals->sink;
	const size_t n = (size_t)signals->n + 1;
	signals->change = malloc(n * sizeof *signals->change);
	signals->described = calloc(n, sizeof *signals->described);
	if (!signals->change || !signals->described)
		return npl_no_memory(err);
	for (int i = 0; i < signals->n; i++) {
		const struct sim_signal *signal = &signals->signal[i];
		put_name(signals->described[i].name, &def[signal->row], signal->index, 2);
		signals->described[i].def = def[signal->row];
	}
	return sink->on_signals ? sink->on_signals(sink->context, signals->described, signals->n, clock_hz, err) : 0;
}

int sim_signals_open(const struct npl_signal_sink *sink, const struct npl_signal_def *def, int n, int64_t clock_hz,
		     struct sim_signals **opened, struct npl_err *err)
{
	*opened = NULL;
	if (!sink || sink->from == UINT64_MAX)
		return 0;
	const char *choice = sink->choice ? sink->choice : "default";
	struct sim_signals *signals = calloc(1, sizeof *signals);
	if (!signals)
		return npl_no_memory(err);
	signals->sink = sink;
	int rc = refuse_idle_patterns(choice, def, n, err);
	for (int i = 0; i < n && !rc; i++)
		rc = choose_row(signals, choice, &def[i], i, err);
	if (!rc)
		rc = tell_signals(signals, def, clock_hz, err);
	if (rc)
		sim_signals_close(signals);
	else
		*opened = signals;
	return rc;
}

void sim_signals_close(struct sim_signals *signals)
{
	if (!signals)
		return;
	free(signals->signal);
	free(signals->change);
	free(signals->described);
	free(signals);
}

int sim_signals_tell(struct sim_signals *signals, uint64_t cycle, struct npl_err *err)
{
	const struct npl_signal_sink *sink = signals->sink;
	const int n = signals->n_changes;
	signals->n_changes = 0;
	return n && sink->on_cycle ? sink->on_cycle(sink->context, cycle, signals->change, n, err) : 0;
}
