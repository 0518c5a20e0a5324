# Included by CMake when llama.cpp is configured: its "common" library is for its own programs.
# Python never loads it, and leaving it out halves the build.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)
