# cmake -DWORD=<word> -DFILE=<source> -P expect_compile_error.cmake -- <compiler command>
# Succeeds when the command fails and <word> stands in a message. Quoted source lines and file names
# do not count: they could hold the word without any message saying it.

set(command "")
set(after FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(after)
    list(APPEND command ${CMAKE_ARGV${i}})
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(after TRUE)
  endif()
endforeach()

set(no_quotes -fno-diagnostics-show-caret)
if(command MATCHES "clang")
  set(no_quotes -fno-caret-diagnostics)
endif()
execute_process(
  COMMAND ${command} ${no_quotes}
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${FILE} compiles, but must not")
endif()
string(REGEX REPLACE "[^ \n]*\\.(cpp|hpp|h):" "" messages "${output}")
if(NOT messages MATCHES "error: ")
  message(FATAL_ERROR "${FILE}: the compiler itself failed:\n${output}")
endif()
if(NOT messages MATCHES "(^|[^A-Za-z0-9_])${WORD}([^A-Za-z0-9_]|$)")
  message(FATAL_ERROR "${FILE}: no message names '${WORD}':\n${output}")
endif()
