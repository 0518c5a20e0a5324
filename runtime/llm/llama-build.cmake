# Read by CMake when llama.cpp is configured for llama-cpp-python; see the Makefile.

# llama.cpp's "common" library is for its own programs. Python never loads it, and leaving it out
# halves the build.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)

# GCC 12 compiles the AMX kernels so that the first multiplication ends the process (SIGSEGV at
# ldtilecfg). Without them the AVX-512 kernels with repacked weights are used.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-mno-amx-tile -mno-amx-int8 -mno-amx-bf16)
endif()
