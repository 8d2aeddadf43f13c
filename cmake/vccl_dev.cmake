# What our own programs are built with, and nobody else's: warnings, sanitizers, ccache.

set(VCCL_SANITIZE "" CACHE STRING "Sanitizers for our own programs, as -fsanitize= takes them")

add_library(vccl_dev INTERFACE)
target_compile_options(
  vccl_dev
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wsign-conversion
            -Wold-style-cast
            -Wswitch
            -Werror
            $<$<CXX_COMPILER_ID:GNU>:-fconcepts-diagnostics-depth=3>)
if(VCCL_SANITIZE)
  target_compile_options(
    vccl_dev INTERFACE -fsanitize=${VCCL_SANITIZE} -fno-sanitize-recover=all
                       -fno-omit-frame-pointer)
  target_link_options(vccl_dev INTERFACE -fsanitize=${VCCL_SANITIZE})
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(VCCL_CCACHE ccache)
  if(VCCL_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${VCCL_CCACHE})
  endif()
endif()
