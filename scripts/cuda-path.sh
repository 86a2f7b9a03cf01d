# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For the scripts of the GPU: where NPULAB_CUDA_PATH does not say which libraries of CUDA to take, and python3 has NVIDIA's wheels, as
# PyTorch brings them, take those: on machines that have nothing else, and so that PyTorch is compared on the same libraries.
if [ -z "${NPULAB_CUDA_PATH:-}" ]; then
	NPULAB_CUDA_PATH=$(python3 -c 'import importlib.util
print(":".join(importlib.util.find_spec("nvidia").submodule_search_locations))' 2> /dev/null) || NPULAB_CUDA_PATH=
	[ -z "$NPULAB_CUDA_PATH" ] || export NPULAB_CUDA_PATH
fi
