# npulab: `make help` lists the targets. One file, no recursion but for the two README commands, everything built
# under build/. BUILD=debug|asan|... builds another flavour under build/FLAVOUR.

VERSION := 0.1.0
BUILD ?= release
PREFIX ?= /usr/local
# Both stand in shell commands, `rm -rf` of uninstall among them.
ifneq ($(words x$(PREFIX)x$(DESTDIR)x),1)
$(error PREFIX and DESTDIR may hold no blanks, got '$(PREFIX)' and '$(DESTDIR)')
endif
ifeq ($(filter /%,$(PREFIX)),)
$(error PREFIX must be an absolute path, got '$(PREFIX)')
endif
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif

out := build/$(BUILD)
bin := $(if $(filter release,$(BUILD)),build,$(out))

warnings := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(if $(WERROR),-Werror)
# Values must not depend on the compiler's taste: no fused multiply-add, baseline x86-64, faster kernels chosen at run time.
# -fno-math-errno lets the compiler vectorise square roots; no code reads errno after one. One compilation serves the program and the
# shared library: no function is replaced from outside, so calls stay direct and inline.
base_flags := -std=c17 -D_GNU_SOURCE $(warnings) -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC -fno-semantic-interposition -g -MMD -MP -Iinclude -I.
flags_release := -O3
flags_debug := -O0
# Sources compile in half of the time that -O2 -g takes with the sanitizers, those of vectors of 512 bits in a quarter.
flags_asan := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
flags_tsan := -O1 -fsanitize=thread
flags_coverage := -O1 --coverage
flags_lint-gcc := $(flags_release)
flags_fuzz := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# Names of the library cannot be hidden in objects that are compiled when they are linked.
# The flavours gcc-O0, clang-O3 and so on name a compiler and its optimisation.
all_flags := $(base_flags) $(flags_$(BUILD)) $(filter -O%,$(subst -, -,$(BUILD))) $(CFLAGS) -fno-lto
# libyaml, libmd, jansson, SQLite, zlib and zstd are linked in, everything else (OpenBLAS, oneDNN, CUDA) is loaded at run time: the program starts with libc and libm alone.
libs := -l:libyaml.a -l:libmd.a -l:libz.a -l:libzstd.a -lm -ldl
# Pages read JSON, and sweeps have databases: they are the program's, and no part of the library for others.
program_libs := -l:libjansson.a -l:libsqlite3.a $(libs)

# Every source below these folders is the library's: a new folder within them is no edit anywhere.
lib_dirs := $(shell cat scripts/code-folders.txt)
# What is installed below share/npulab: all files of these folders but the programs that made them.
data_dirs := $(shell cat scripts/data-folders.txt) schemas
data_files := $(filter-out %.py,$(wildcard $(addsuffix /*.*,$(data_dirs))))
# Of the labs everything but what is for lecturers alone.
lab_files := $(sort $(shell find labs -type f ! -path '*/lecturer/*' ! -path '*/__pycache__/*' ! -name lecturer.py))
program_dirs := pages explore
lib_src := $(sort $(shell find $(filter-out $(program_dirs),$(lib_dirs)) -name '*.c'))
program_src := $(sort $(shell find $(program_dirs) -name '*.c'))
cli_src := $(sort $(wildcard cli/*.c))
# A program of its own ends in _main; everything else in tests/kit is what several tests share.
test_src := $(sort $(shell find tests -name 'test_*.c'))
main_src := $(sort $(shell find tests/kit -name '*_main.c'))
fuzz_src := $(sort $(wildcard tests/fuzz/*.c))
kit_src := $(sort $(filter-out $(main_src),$(shell find tests/kit -name '*.c')))
# The GPU's kernels travel in the program as text, which is compiled for the GPU that is found.
kernel_texts := $(sort $(wildcard backends/cuda/kernels/*.h backends/cuda/kernels/*.cuh backends/cuda/kernels/*.cu))
ifeq ($(kernel_texts),)
$(error backends/cuda/kernels holds no kernel: was the folder moved?)
endif
# Pages travel with their styles and their script.
# Chart.js is Debian's; without it pages have their drawings all the same.
page_texts := $(sort $(wildcard pages/*.css pages/*.js)) $(wildcard /usr/share/javascript/chart.js/chart.min.js)
program_obj := $(program_src:%.c=$(out)/%.o) $(out)/page_texts.o
lib_obj := $(lib_src:%.c=$(out)/%.o) $(out)/kernel_texts.o
cli_obj := $(cli_src:%.c=$(out)/%.o)
# What tests call directly, and not through the program.
cli_tested := $(patsubst %,$(out)/cli/%.o,signals terminal time_left trace_wire waiting)
kit_obj := $(kit_src:%.c=$(out)/%.o)
test_obj := $(test_src:%.c=$(out)/%.o) $(kit_obj)
agree_obj := $(out)/tests/kit/sim/agree_main.o $(filter $(out)/tests/kit/sim/%,$(kit_obj))
# A program links libnpulab.so, and finds libnpulab.so.$(abi) when it runs: a change that old programs cannot run with gives another number.
abi := 0
shared := $(bin)/libnpulab.so.$(VERSION)
fake_cuda := $(out)/fake_cuda/libcuda.so.1
bench_cuda := $(bin)/bench-cuda
bench_cuda_src := $(sort $(wildcard bench/cuda/*.c))
bench_cuda_obj := $(bench_cuda_src:%.c=$(out)/%.o)
example_bin := $(patsubst examples/%.c,$(bin)/examples/%,$(wildcard examples/*.c))
sources := $(lib_src) $(program_src) $(cli_src) $(test_src) $(kit_src) $(main_src) $(fuzz_src) $(wildcard bench/*.c examples/*.c) $(bench_cuda_src) $(if $(shell command -v mpicc),$(wildcard cluster/*.c))
headers := $(sort $(shell find include $(lib_dirs) cli tests bench examples -name '*.h'))

# Compiling prints a short line a file, V=1 the whole command, `make -s` nothing.
quiet := $(if $(V),,@)
say := @$(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),:,echo)

.DELETE_ON_ERROR:
.SUFFIXES:

all: $(bin)/npulab $(bin)/libnpulab.a $(bin)/libnpulab.so ## build/npulab, build/libnpulab.a and build/libnpulab.so (the default)

help: ## this list
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

deps: ## installs the Debian packages that are missing, for all targets here (sudo when not root)
	@scripts/install-deps.sh demo test lint

demo: ## the main job from nothing: packages, build, the digits network on four machines
	@scripts/install-deps.sh demo
	@$(MAKE) --no-print-directory -j$$(nproc) all
	build/npulab compare digits --devices reference,tpu_v1,diannao,cpu

test: ## the tests from nothing: packages, build, run
	@scripts/install-deps.sh test
	@$(MAKE) --no-print-directory -j$$(nproc) all check

# Tests of the program for clusters are skipped without it.
check: $(out)/npulab_tests all $(fake_cuda) $(bench_cuda) $(and $(filter release,$(BUILD)),$(shell command -v mpicc),mpi) ## builds and runs the tests (packages already there); FOR=core/q16 for those of a folder or source, FILTER='q16*/*' for some suites
	@$(if $(FOR),FILTER=$$(scripts/suites.sh $(FOR)) && export FILTER &&) scripts/run-tests.sh $(BUILD) $(out)/npulab_tests $(bin)/npulab

# Suites whose code asks the processor what it can; one without AVX, one with AVX2 and nothing beyond. qemu 7.2 has no AVX-512.
empty :=
processor_suites := @(runner|processor*|$(subst $(empty) $(empty),|,$(shell cat tests/processor_suites.txt)))/*
PROCESSORS := Nehalem Haswell
test-emulated: ## the suites that depend on the processor, on emulated ones (PROCESSORS=Nehalem for one of the two)
	@scripts/install-deps.sh test emulate
	@$(MAKE) --no-print-directory -j$$(nproc) all $(out)/npulab_tests
	@for processor in $(PROCESSORS); do \
	 EMULATE=$$processor FILTER='$(processor_suites)' scripts/run-tests.sh $(BUILD) $(out)/npulab_tests $(bin)/npulab || exit 1; done

asan: ## the tests under the address and undefined-behaviour sanitizers; a leak fails
	@scripts/install-deps.sh test
	@$(MAKE) --no-print-directory -j$$(nproc) BUILD=asan WERROR=1 check

tsan: ## eager contexts in several threads under the thread sanitizer
	@scripts/install-deps.sh demo
	@$(MAKE) --no-print-directory -j$$(nproc) BUILD=tsan build/tsan/threads
	@TSAN_OPTIONS=halt_on_error=1 build/tsan/threads

COMPILERS := gcc-O0 gcc-O3 clang-O0 clang-O3
GOLDEN := traces/golden/*
stability: ## the golden traces, checked by the program that other compilers make (COMPILERS=clang-O0 for one, GOLDEN for some traces)
	@scripts/install-deps.sh lint
	@for compiler in $(COMPILERS); do \
	 $(MAKE) --no-print-directory -j$$(nproc) BUILD=$$compiler CC=$${compiler%-O*} build/$$compiler/npulab && \
	 echo "made by $$compiler:" && build/$$compiler/npulab trace check $(GOLDEN) --quiet || exit 1; done

lint: ## formatting, the ranks of folders, both compilers' warnings as errors, clang-tidy and its analyzer, cppcheck
	@scripts/install-deps.sh lint
	@scripts/lint.sh

docs-check: all ## runs the commands that README.md and docs/ name and compares what they print with what stands there (PAGES='...' for some)
	@scripts/docs_check.py --program $(bin) $(PAGES)

docs-update: all ## the same, and rewrites the blocks and figures that differ
	@scripts/docs_check.py --program $(bin) --update $(PAGES)

format: ## rewrites the sources in the project's format
	@clang-format -i $(sources) $(headers) $(kernel_texts)

cosim: ## the systolic machines' matrix unit beside its Verilog, cycle by cycle (COSIM_MUTATE=skew: must fail)
	@scripts/install-deps.sh cosim
	@$(MAKE) --no-print-directory -j$$(nproc) $(out)/objects.a
	@scripts/cosim.sh $(out)/objects.a

mutants: ## faults put into the engines one at a time: the test of their agreement must find each (NAMES='...' or --changed for some)
	@scripts/install-deps.sh demo
	@$(MAKE) --no-print-directory -j$$(nproc) $(out)/agree
	@CC='$(CC)' CFLAGS='$(filter-out -MMD -MP,$(all_flags))' LIBS='$(libs)' AGREEMENT='$(agree_obj)' \
	 scripts/mutants.sh $(out)/objects.a $(NAMES)

soak: all $(fake_cuda) ## random models and damaged files against an evaluator of our own (SOAK_SECONDS=600 SOAK_SEED=n)
	@scripts/install-deps.sh test
	@scripts/soak.sh $(bin)/npulab $(dir $(fake_cuda))

fuzz: ## a minute of libFuzzer on each parser (FUZZ_SECONDS=n for another time)
	@scripts/install-deps.sh lint
	@scripts/fuzz.sh

bench: all ## measurements (see bench/README.md)
	@scripts/bench.sh

bench-host: all ## how near the modelled host comes to this computer, operator by operator
	@scripts/install-deps.sh test
	@bench/host_model.py $(bin)/npulab

test-cuda: all ## on a machine with a GPU: precisions, layers and ONNX's cases against the reference
	@scripts/test-cuda.sh

bench-cuda: all $(bench_cuda) ## on a machine with a GPU: products beside cuBLASLt itself, networks beside PyTorch, in every precision
	@scripts/bench-cuda.sh

cuda-bundle: all $(bench_cuda) ## build/npulab-cuda.tar.gz: the program and its data for a machine with a GPU and no package manager
	@scripts/cuda-bundle.sh

prove: ## both README commands in a bare Debian 12 root made for it (needs root)
	@scripts/install-deps.sh prove
	@scripts/prove-clean-root.sh

examples: $(example_bin) ## build/examples: the programs of examples/, against the library here

install: all ## installs under $(DESTDIR)$(PREFIX)
	@$(MAKE) --no-print-directory install-files

install-files:
	rm -rf $(DESTDIR)$(PREFIX)/include/npulab
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/npulab \
	        $(addprefix $(DESTDIR)$(PREFIX)/share/npulab/,$(data_dirs))
	install -m 755 $(bin)/npulab $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(bin)/libnpulab.a $(shared) $(DESTDIR)$(PREFIX)/lib/
	cp -P $(bin)/libnpulab.so $(bin)/libnpulab.so.$(abi) $(DESTDIR)$(PREFIX)/lib/
	install -m 644 include/npulab/*.h include/npulab/*.def $(DESTDIR)$(PREFIX)/include/npulab/
	$(foreach d,$(data_dirs),install -m 644 $(filter $d/%,$(data_files)) $(DESTDIR)$(PREFIX)/share/npulab/$d/ &&) true
	$(foreach f,$(lab_files),install -D -m 644 $f $(DESTDIR)$(PREFIX)/share/npulab/$f &&) true
	printf 'prefix=%s\nName: npulab\nDescription: cycle-level models of published neural-network accelerators\nVersion: %s\nCflags: -I$${prefix}/include\nLibs: -L$${prefix}/lib -Wl,-rpath,$${prefix}/lib -lnpulab\nLibs.private: %s\n' \
	        '$(PREFIX)' '$(VERSION)' '$(libs)' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/npulab.pc

installed = $(addprefix $(DESTDIR)$(PREFIX)/,bin/npulab lib/libnpulab.a lib/libnpulab.so lib/libnpulab.so.$(abi) lib/$(notdir $(shared)) lib/pkgconfig/npulab.pc \
	$(addprefix share/npulab/,$(data_files)))
uninstall: ## removes what install put there
	rm -f $(installed)
	rm -rf $(DESTDIR)$(PREFIX)/include/npulab $(DESTDIR)$(PREFIX)/share/npulab/labs
	@rmdir $(addprefix $(DESTDIR)$(PREFIX)/share/npulab/,$(data_dirs)) $(DESTDIR)$(PREFIX)/share/npulab 2> /dev/null || true

clean: ## removes build/
	rm -rf build

$(bin)/npulab: $(cli_obj) $(out)/cli.list $(out)/objects.a
	$(say) '  link $@'
	$(quiet)$(CC) $(all_flags) -o $@ $(cli_obj) $(out)/objects.a $(LDFLAGS) $(program_libs)

# The program for clusters, where MPI is installed (scripts/install-deps.sh mpi).
.PHONY: mpi
mpi: $(bin)/npulab-mpi ## build/npulab-mpi: sweeps as jobs of MPI (docs/scaling.md)
mpi_obj := $(patsubst %.c,$(out)/%.o,$(sort $(wildcard cluster/*.c)))
$(bin)/npulab-mpi: $(mpi_obj) $(filter-out $(out)/cli/npulab.o,$(cli_obj)) $(out)/objects.a
	$(say) '  link $@'
	$(quiet)$(CC) $(all_flags) -o $@ $(mpi_obj) $(filter-out $(out)/cli/npulab.o,$(cli_obj)) $(out)/objects.a $(LDFLAGS) $(program_libs) $$(mpicc --showme:link)
$(mpi_obj): private all_flags += $(patsubst -I%,-isystem %,$(filter -I%,$(shell mpicc --showme:compile 2> /dev/null)))

# For the program and the tests, which know what is inside.
$(out)/objects.a: $(lib_obj) $(program_obj) $(out)/library.list
	$(say) '  ar   $@'
	$(quiet)rm -f $@
	$(quiet)ar rcs $@ $(lib_obj) $(program_obj)

# For everybody else: one object, or a shared library, which give no names but those that the public headers have.
$(bin)/libnpulab.a: $(lib_obj) $(out)/library.list $(out)/public.names
	$(say) '  ar   $@'
	$(quiet)ld -r -o $(out)/libnpulab.o $(lib_obj)
	$(quiet)objcopy --keep-global-symbols=$(out)/public.names $(out)/libnpulab.o
	$(quiet)rm -f $@
	$(quiet)ar rcs $@ $(out)/libnpulab.o

$(shared): $(lib_obj) $(out)/library.list $(out)/public.names
	$(say) '  link $@'
	$(quiet)(echo '{ global:'; sed 's/$$/;/' $(out)/public.names; echo 'local: *; };') > $(out)/public.map
	$(quiet)$(CC) $(all_flags) -shared -Wl,-soname,libnpulab.so.$(abi) -Wl,--version-script=$(out)/public.map -Wl,-z,defs -Wl,-z,nodelete -o $@ $(lib_obj) $(LDFLAGS) -lyaml -lmd -lz -lzstd -lm -ldl

$(bin)/libnpulab.so.$(abi): $(shared)
	$(quiet)ln -sf $(<F) $@

$(bin)/libnpulab.so: $(bin)/libnpulab.so.$(abi)
	$(quiet)ln -sf $(<F) $@

# The names that the public headers have outside of comments. As the lists below: written anew only when it changes.
$(out)/public.names: FORCE
	@mkdir -p $(@D)
	@cat $(wildcard include/npulab/*.h include/npulab/*.def) | gcc -std=c17 -w -fpreprocessed -dD -E -P -x c - | \
	 grep -oE '\bnpl_[a-z0-9_]+' | sort -u > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(out)/npulab_tests: $(test_obj) $(out)/tests.list $(cli_tested) $(out)/objects.a
	$(say) '  link $@'
	$(quiet)$(CC) $(all_flags) -o $@ $(test_obj) $(cli_tested) $(out)/objects.a $(LDFLAGS) -lcriterion $(program_libs)

$(bench_cuda): $(bench_cuda_obj) $(out)/bench_cuda.list $(out)/objects.a
	$(say) '  link $@'
	$(quiet)$(CC) $(all_flags) -o $@ $(bench_cuda_obj) $(out)/objects.a $(LDFLAGS) $(libs)

$(out)/agree: $(agree_obj) $(out)/agree.list $(out)/objects.a
	$(say) '  link $@'
	$(quiet)$(CC) $(all_flags) -o $@ $(agree_obj) $(out)/objects.a $(LDFLAGS) $(libs)

$(bin)/examples/%: examples/%.c examples/digits.h $(bin)/libnpulab.a
	@mkdir -p $(@D)
	$(say) '  link $@'
	$(quiet)$(CC) $(all_flags) -o $@ $< $(bin)/libnpulab.a $(LDFLAGS) $(libs)

# Races between the threads of eager contexts, under ThreadSanitizer; tests/kit/threads_main.c is a program of its own because Criterion cannot
# run under it.
$(out)/threads: $(out)/tests/kit/threads_main.o $(out)/objects.a
	$(say) '  link $@'
	$(quiet)$(CC) $(all_flags) -o $@ $^ $(LDFLAGS) $(libs)

$(out)/fuzz_%: $(out)/tests/fuzz/%.o $(out)/objects.a
	$(say) '  link $@'
	$(quiet)$(CC) $(all_flags) -fsanitize=fuzzer -o $@ $< $(out)/objects.a $(LDFLAGS) $(program_libs)

# For clang-tidy, which has the compilers' warnings too.
warnings:
	@echo $(filter-out -Werror,$(warnings))

# Every source and no program: what `make lint` has both compilers look at.
objects: $(sources:%.c=$(out)/%.o)

# Everything runs on a stack of 96 KB (ulimit -s 96), so no function takes more than a fifth of it. Tests may.
ifneq ($(and $(WERROR),$(filter release lint-gcc,$(BUILD))),)
$(lib_obj) $(program_obj) $(cli_obj): private all_flags += -Wframe-larger-than=20000
endif
# What tests compute themselves is small beside what they have computed: optimised less they take as long, and are compiled in half of the
# time; with the sanitizers, in a third.
ifneq ($(filter release asan,$(BUILD)),)
$(test_obj): private all_flags += $(if $(filter asan,$(BUILD)),-O0,-O1)
# What several tests share runs most: under the sanitizers -O1 saves a sixth of the time of six suites.
$(kit_obj): private all_flags += -O1
endif
# The GPU's kernels run on the processor there. Each of 900 is compiled once for all flavours: undefined behaviour ends it with a trap, and an
# access beyond the fake GPU's memory meets a page that is not there.
kernel_flags = -DTEST_CC='"$(CC)"' -DTEST_KERNEL_FLAGS='"-fsanitize=undefined -fsanitize-undefined-trap-on-error"' \
	-DTEST_KERNEL_FOLDER='"build/kernels"'
# The fake libraries' products: plain loops over that memory, which its pages watch.
ifeq ($(BUILD),asan)
$(out)/tests/kit/cuda/fake_blas.o $(out)/tests/kit/cuda/fake_dnn.o: private all_flags += -fno-sanitize=all -O2
endif
$(out)/tests/kit/cuda/native.o: private all_flags += $(kernel_flags)

$(out)/tests/backends/cuda/test_headers.o $(out)/tests/test_rooms.o: private all_flags += -DTEST_CC='"$(CC)"'
$(out)/tests/cli/test_cuda.o: private all_flags += -DTEST_BENCH_CUDA='"$(bench_cuda)"'
$(test_obj): private all_flags += -DTEST_FAKE_CUDA='"$(out)/fake_cuda"'

# CUDA without a GPU for the program itself, found through LD_LIBRARY_PATH: one library under the names of four.
fake_src := $(sort $(wildcard tests/kit/cuda/fake*.c)) tests/kit/cuda/native.c core/base/half.c core/base/cpu_features.c core/base/error.c core/base/printable.c
$(fake_cuda): $(fake_src) $(wildcard tests/kit/cuda/*.h) $(wildcard backends/cuda/load/*_api.def backends/cuda/load/*_api.h) $(out)/flags
	@mkdir -p $(@D)
	$(say) '  link $@'
	$(quiet)$(CC) $(filter-out -MMD -MP -fsanitize% -fno-sanitize%,$(all_flags)) -O2 $(kernel_flags) -DCU_FAKE_LIBRARY -fPIC -shared -o $@ $(fake_src) -lm -ldl
	@cd $(@D) && for name in libcublasLt.so.13 libcudnn.so.9 libnvrtc.so.13; do ln -sf libcuda.so.1 $$name; done

$(out)/%.o: %.c $(out)/flags
	@mkdir -p $(@D)
	$(say) '  cc   $<'
	$(quiet)$(CC) $(all_flags) -c -o $@ $<

$(out)/kernel_texts.c: $(kernel_texts) $(out)/kernels.list scripts/embed.sh
	@mkdir -p $(@D)
	@scripts/embed.sh backends/cuda/load/nvrtc.h 'struct cu_text cu_texts' $(kernel_texts) > $@

$(out)/page_texts.c: $(page_texts) scripts/embed.sh
	@mkdir -p $(@D)
	@scripts/embed.sh pages/texts.h 'struct page_embedded page_embedded' $(page_texts) > $@

$(out)/%_texts.o: $(out)/%_texts.c $(out)/flags
	$(say) '  cc   $<'
	$(quiet)$(CC) $(all_flags) -c -o $@ $<

# The one file that knows where data is installed: another PREFIX compiles nothing else again.
$(out)/core/files/data_dir.o: $(out)/prefix
$(out)/core/files/data_dir.o: private all_flags += -DNPULAB_DATADIR='"$(PREFIX)/share/npulab"'
$(out)/prefix: text = $(PREFIX)

# Rebuilds everything when the command line of the compiler changes.
# Objects are the same whether a warning ends the compilation or not.
$(out)/flags: text = $(CC) $(filter-out -Werror,$(all_flags))
# A source that was moved or removed leaves its old object behind: what is linked is told by name, and linked anew when the names change.
$(out)/library.list: text = $(lib_obj) $(program_obj)
$(out)/tests.list: text = $(test_obj)
$(out)/cli.list: text = $(cli_obj)
$(out)/agree.list: text = $(agree_obj)
$(out)/bench_cuda.list: text = $(bench_cuda_obj)
$(out)/kernels.list: text = $(kernel_texts)
$(out)/flags $(out)/prefix $(out)/library.list $(out)/tests.list $(out)/cli.list $(out)/agree.list $(out)/bench_cuda.list $(out)/kernels.list: FORCE
	@mkdir -p $(@D)
	@echo '$(text)' | cmp -s - $@ || echo '$(text)' > $@

# The commit a result came from; "+" when the tree had changes.
$(out)/core/base/version.o: $(out)/version.h
$(out)/core/base/version.o: private all_flags += -include $(out)/version.h
$(out)/version.h: FORCE
	@mkdir -p $(@D)
	@commit=$$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown); \
	 test -z "$$(git status --porcelain --untracked-files=no 2>/dev/null)" || commit=$$commit+; \
	 printf '#define NPULAB_VERSION "%s"\n#define NPULAB_COMMIT "%s"\n' '$(VERSION)' "$$commit" > $@.new; \
	 cmp -s $@.new $@ && rm $@.new || mv $@.new $@

FORCE:

.PHONY: all help deps demo test test-cuda test-emulated bench-cuda cuda-bundle check docs-check docs-update asan stability lint format cosim mutants fuzz soak bench bench-host prove examples install install-files uninstall tsan clean warnings objects FORCE

-include $(sources:%.c=$(out)/%.d)
