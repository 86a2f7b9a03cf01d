/* SPDX-License-Identifier: MIT
 *
 * npulab exec with memories as text (docs/exec.md). What the program promises: a text and a .npy of the same bytes give
 * the same run; results come back as numbers of the type and shape asked for; whatever is wrong with a text is told
 * with its line, and leaves no file. */
#include "npulab/tensor_file.h"
#include "tests/kit/cli_example.h"

#define TPU  "--machine", "systolic_16x16"
#define MARK "\xef\xbb\xbf"

/* The sums of two rows with one tile, in planes, from row 8 of the buffer and from byte 32 of host memory on. */
#define PRODUCT                                                                                                        \
	"read_weights first=0 count=1\nread_host_memory ub=0 rows=2\nsync host_in\n"                                   \
	"matrix_multiply.switch ub=0 acc=0 rows=2\nset_config result_type i32\nset_config result_plane_rows 2\n"       \
	"activate ub=8 acc=0 rows=2\nset_config host_address 32\nsync activate\nwrite_host_memory ub=8 rows=8\nhalt\n"

static int weight(int row, int column)
{
	return (row * 16 + column) * 89 % 256 - 128;
}

static int input(int row, int column)
{
	return (row * 16 + column) * 57 % 256 - 128;
}

static int sum(int row, int column)
{
	int all = 0;
	for (int i = 0; i < 16; i++)
		all += input(row, i) * weight(i, column);
	return all;
}

static void put_matrix(FILE *out, int rows, int columns, int (*value)(int row, int column))
{
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			fprintf(out, "%d%c", value(r, c), c + 1 < columns ? ' ' : '\n');
}

static void save_matrix(const char *folder, const char *name, const char *head, int rows,
			int (*value)(int row, int column))
{
	uint8_t bytes[256];
	FILE *out = fopen(cli_path(folder, name), "w");
	cr_assert(out);
	fputs(head, out);
	put_matrix(out, rows, 16, value);
	fclose(out);
	for (int i = 0; i < rows * 16; i++)
		bytes[i] = (uint8_t)value(i / 16, i % 16);
	char numpy[64];
	snprintf(numpy, sizeof numpy, "%s.npy", name);
	cli_save_bytes(folder, numpy, bytes, rows * 16);
}

static char *expected_text(void)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	put_matrix(out, 2, 16, sum);
	fclose(out);
	return text;
}

/* The texts begin with a byte order mark, as some editors write it. */
static void write_product(const char *folder)
{
	cli_write_text(folder, "p.s", MARK PRODUCT);
	save_matrix(folder, "in", MARK "# rows of inputs\n\n", 2, input);
	save_matrix(folder, "w", MARK ".int8 # weights\n", 16, weight);
}

Test(cli_exec_memories, text_and_npy_are_the_same_memory)
{
	char folder[CLI_PATH], *expected = expected_text();
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	write_product(folder);
	for (int text = 0; text < 2; text++)
		for (int buffer = 0; buffer < 2; buffer++) {
			struct cli_result r = cli_run(
				&options, "exec", "@/p.s", TPU, "--host-memory", text ? "@/in" : "@/in.npy",
				"--weights", text ? "@/w" : "@/w.npy", buffer ? "--buffer-output" : "--output", "-",
				buffer ? "--buffer-output-as" : "--output-as", buffer ? "int32:2x16:8" : "int32:2x16");
			cr_assert_eq(r.status, 0, "%s", r.err);
			cr_assert_str_eq(r.out, expected);
			cli_free(&r);
		}
	free(expected);
	cli_remove_folder(folder);
}

/* A form states how bytes lie; .npy has its type and shape, and what is not stated is that of the memory. */
Test(cli_exec_memories, results_have_the_stated_type_and_shape)
{
	static const struct {
		const char *output, *as, *form;
		enum npl_dtype dtype;
		int rank;
		int64_t rows, columns;
	} cases[] = {
		{"--output", NULL, NULL, NPL_U8, 1, 128, 0},
		{"--output", "--output-as", "int8", NPL_I8, 2, 1, 128},
		{"--output", "--output-as", "int32", NPL_I32, 2, 1, 32},
		{"--output", "--output-as", "int16:4x16", NPL_I16, 2, 4, 16},
		{"--output", "--output-as", "uint8:1x16:48", NPL_U8, 2, 1, 16},
		{"--buffer-output", NULL, NULL, NPL_U8, 1, 256, 0},
		{"--buffer-output", "--buffer-output-as", "int8", NPL_I8, 2, 16, 16},
		{"--buffer-output", "--buffer-output-as", "int32:2x3:8", NPL_I32, 2, 2, 3},
	};
	char folder[CLI_PATH];
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	write_product(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_tensor y = {0};
		struct npl_err err = {0};
		struct cli_result r = cli_run(&options, "exec", "@/p.s", TPU, "--host-memory", "@/in", "--weights",
					      "@/w", "--quiet", cases[i].output, "@/y.npy", cases[i].as, cases[i].form);
		cr_assert(r.status == 0 && !r.out_bytes, "%zu: %s%s", i, r.err, r.out);
		cli_free(&r);
		cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
		cr_assert(y.dtype == cases[i].dtype && y.shape.rank == cases[i].rank, "%zu", i);
		cr_assert_eq(y.shape.dim[0], cases[i].rows, "%zu", i);
		cr_assert(y.shape.rank == 1 || y.shape.dim[1] == cases[i].columns, "%zu", i);
		if (i == 7)
			for (int k = 0; k < 6; k++)
				cr_assert_eq(((int32_t *)y.data)[k], sum(k / 3, k % 3));
		npl_tensor_free(&y);
	}
	cli_remove_folder(folder);
}

/* Results wider than a row of the buffer are blocks of columns, each with its planes: those of a layer are its
 * output. */
Test(cli_exec_memories, wide_results_are_read_by_blocks_of_columns)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = {.folder = folder};
	struct npl_tensor y[2] = {{0}, {0}};
	struct npl_err err = {0};
	cli_folder(folder);
	struct cli_result r = cli_run(&options, "layer", "gemm", "-m", "5", "-n", "40", "-k", "7", "--devices",
				      "systolic_16x16", "--quiet", "--dump-program", "@/l.s", "--output", "@/0.npy");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	r = cli_run(&options, "exec", "@/l.s", TPU, "--weights", "@/l.weights.npy", "--buffer", "@/l.buffer.npy",
		    "--quiet", "--buffer-output", "@/1.npy", "--buffer-output-as", "int32:5x40");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(npl_tensor_load(cli_path(folder, i ? "1.npy" : "0.npy"), &y[i], &err), 0, "%s", err.msg);
	cr_assert(y[0].dtype == NPL_I32 && y[1].dtype == NPL_I32 && npl_shape_equal(&y[0].shape, &y[1].shape));
	cr_assert_arr_eq(y[0].data, y[1].data, npl_tensor_bytes(&y[0]));
	npl_tensor_free(&y[0]);
	npl_tensor_free(&y[1]);
	cli_remove_folder(folder);
}

/* DianNao's words are 16 bits: a text is int16 unless it says otherwise, and so is what is written as text. */
Test(cli_exec_memories, diannaos_texts_are_int16_unless_they_say_otherwise)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	/* Four inputs as they are: the sums of NFU-2, in the order of memory, through NFU-3 without a function. */
	cli_write_text(folder, "p.s",
		       "NBIN LOAD,0,0,0,0,0,32 | NBOUT NOP,STORE,64,32 | NFU NOP,MAX,RESET,NFU3,NONE,0,0\nCP END\n");
	cli_write_text(folder, "in", "-32768 32767 -1 0x102 .int32 65536 3 .uint8 255 1\n.at 32\n");
	struct cli_result r = cli_run(&options, "exec", "@/p.s", "--machine", "diannao", "--host-memory", "@/in",
				      "--output", "@/y.txt", "--quiet");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	char *text = cli_read(cli_path(folder, "y.txt"), NULL);
	cr_assert_str_eq(text, "-32768 32767 -1 258 0 1 3 0 511 0 0 0 0 0 0 0\n");
	free(text);
	cli_remove_folder(folder);
}

/* What fills up, and where rows begin; numbers as numpy.savetxt writes them; float32 low byte first. */
Test(cli_exec_memories, texts_are_read_to_their_rows_and_addresses)
{
	char folder[CLI_PATH];
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	cli_write_text(folder, "copy.s",
		       "read_host_memory ub=0 rows=3\nset_config host_address 64\nsync host_in\n"
		       "write_host_memory ub=0 rows=3\nhalt\n");
	cli_write_text(
		folder, "in",
		".row 6 # the first two rows\r\n1 2 -3.0e+00\r\n-128 255 0x10\r\n\r\n.at 16 .row 8 .float32 -0.5\n1e3\n"
		".int32 -2 .int8 -1\n.at 48\n");
	struct cli_result r = cli_run(&options, "exec", "@/copy.s", TPU, "--host-memory", "@/in", "--output", "-",
				      "--output-as", "uint8:3x16");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert_str_eq(r.out, "1 2 253 0 0 0 128 255 16 0 0 0 0 0 0 0\n"
				"0 0 0 191 0 0 0 0 0 0 122 68 0 0 0 0\n"
				"254 255 255 255 255 0 0 0 0 0 0 0 0 0 0 0\n");
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Options, and memories of the wrong size, that are refused. */
static const struct cli_refusal wrong_options[] = {
	{2, "--output-as int64: expected uint8, int8, int16 or int32", {"exec", "@/p.s", TPU, "--output-as", "int64"}},
	{2, "--output-as int8:0x4: expected", {"exec", "@/p.s", TPU, "--output-as", "int8:0x4"}},
	{2, "--output-as int8:4:1: expected", {"exec", "@/p.s", TPU, "--output-as", "int8:4:1"}},
	{2, "--output-as goes with --output", {"exec", "@/p.s", TPU, "--output-as", "int8"}},
	{2,
	 "--buffer-output-as goes with --buffer-output",
	 {"exec", "@/p.s", TPU, "--output", "@/y.txt", "--buffer-output-as", "int8"}},
	{2,
	 "--output - and --buffer-output - cannot both",
	 {"exec", "@/p.s", TPU, "--output", "-", "--buffer-output", "-"}},
	{3,
	 "host memory: bytes 32 to 159 were written, expected 96 for int32 of 2x12, each byte in a plane of "
	 "its own",
	 {"exec", "@/p.s", TPU, "--host-memory", "@/in", "--weights", "@/w", "--output", "@/y.txt", "--output-as",
	  "int32:2x12"}},
	{3,
	 "the buffer: bytes 0 to 255 were written, expected 128 of them from there on",
	 {"exec", "@/p.s", TPU, "--host-memory", "@/in", "--weights", "@/w", "--buffer-output", "@/y.txt",
	  "--buffer-output-as", "int32:2x12:9"}},
	{3,
	 "expected a multiple of 64 for int32",
	 {"exec", "@/copy.s", TPU, "--host-memory", "@/in", "--buffer-output", "@/y.txt", "--buffer-output-as",
	  "int32"}},
	{3, "bytes: neither .npy nor text", {"exec", "@/p.s", TPU, "--host-memory", "@/bytes", "--weights", "@/w"}},
};

/* Texts that are no memory, and what is said of each. */
static const struct {
	const char *text, *expected;
} wrong_texts[] = {
	{"1 2\n3 x4\n", "m:2: 'x4' is not a whole number, expected one from -128 to 255 (a byte)"},
	{"1 2\n\n# two\n3 256\n", "m:4: 256 is out of range, expected -128 to 255 (a byte)"},
	{".int8 128\n", "m:1: 128 is out of range, expected -128 to 127 (int8)"},
	{".int32 4294967296\n", "m:1: 4294967296 is out of range"},
	{"1 2.5\n", "m:1: '2.5' is not a whole number"},
	{".float32 1e39\n", "m:1: 1e39 is out of range"},
	{".float32 nan\n", "m:1: 'nan' is not a number"},
	{"1 2 3\n4 5\n", "m:2: 2 numbers, expected 3 as in line 1"},
	{".row 2\n1 2 3\n", "m:2: a row of 3 bytes, expected at most the 2 of .row"},
	{"1 2 3\n.at 2\n", "m:2: .at '2', expected a number of bytes from 3"},
	{"1 .at 2\n", "m:1: .at after a number"},
	{".row\n1\n", "m:1: .row '', expected a number of bytes from 1"},
	{".int9 1\n", "m:1: there is no '.int9'; the nearest is '.int"},
	{"# nothing\n", "m: no numbers, expected rows of them"},
	{"", "m: the file is empty"},
	{"\x93NUMPY", "m: "},
};

Test(cli_exec_memories, wrong_memory_files_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_product(folder);
	cli_write_text(folder, "copy.s", "read_host_memory ub=0 rows=2\nhalt\n");
	for (size_t i = 0; i < sizeof wrong_texts / sizeof *wrong_texts; i++) {
		const struct cli_refusal one = {3,
						wrong_texts[i].expected,
						{"exec", "@/p.s", TPU, "--host-memory", "@/m", "--output", "@/y.txt"}};
		cli_write_text(folder, "m", wrong_texts[i].text);
		cli_check_refusals(folder, &one, 1);
	}
	cli_write(folder, "bytes", "1 2\0 3", 6);
	CLI_CHECK(folder, wrong_options);
	cli_remove_folder(folder);
}

/* A program may write two rows that lie gigabytes apart. The bytes between them are copied too, which is refused
 * beforehand. */
Test(cli_exec_memories, bytes_that_lie_far_apart_count_as_memory)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "far.s",
		       ".machine systolic_16x16\nset_config host_row_bytes 16\nset_config host_stride 2000000000\n"
		       "set_config host_address 0\nwrite_host_memory ub=0 rows=2\nhalt\n");
	const struct cli_refusal cases[] = {{5,
					     "the bytes that the program has written: out of memory: about",
					     {"exec", "@/far.s", "--max-memory", "100M"}}};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
