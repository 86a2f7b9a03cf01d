/* SPDX-License-Identifier: MIT
 *
 * Verdicts of traces as annotations of GitHub: workflow commands on standard output. */
#include <inttypes.h>

#include "core/files/path.h"
#include "reports/format/markup.h"
#include "trace_verdict.h"

void npl_trace_annotations(FILE *out, const struct npl_trace_verdict *verdict, int n)
{
	for (int i = 0; i < n; i++) {
		const struct npl_trace_verdict *v = &verdict[i];
		const struct npl_trace_difference *first = &v->diff.first;
		const enum npl_trace_state state = npl_trace_state_of(v);
		char sentence[1024];
		if (state == NPL_TRACE_SAME)
			continue;
		fprintf(out, "::%s file=", state == NPL_TRACE_WITHIN ? "notice" : "error");
		npl_github_put_property(out, v->path);
		if (!v->code && first->is_known && first->line[0] && !npl_path_ends_in(v->path, ".zst"))
			fprintf(out, ",line=%" PRIu64, first->line[0]);
		fputs(",title=", out);
		npl_github_put_property(out, "npulab trace: ");
		npl_github_put_property(out, npl_trace_verdict_name(v));
		fputs("::", out);
		npl_github_put_message(out, v->code ? "" : v->path); /* an error names it itself */
		fputs(v->code ? "" : ": ", out);
		npl_github_put_message(out, npl_trace_sentence(v, sentence, sizeof sentence));
		fputs("\n", out);
	}
}
