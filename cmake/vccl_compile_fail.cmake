# Files with one mistake each, which no compiler may accept.

# vccl_compile_fail(<file>): the file has one line "// EXPECT: <word>", and a branch
# "#ifdef VCCL_CONTROL" without the mistake. Adds compile_fail.<name>, which passes when compiling
# fails with the word in a message, and compile_fail.<name>.control, which passes when the branch
# compiles.
function(vccl_compile_fail file)
  cmake_path(GET file STEM name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} expected REGEX "// EXPECT:")
  list(LENGTH expected count)
  if(NOT count EQUAL 1 OR NOT expected MATCHES "^// EXPECT: ([A-Za-z0-9_]+)$")
    message(FATAL_ERROR "${file}: needs exactly one line '// EXPECT: <word>'")
  endif()
  set(word ${CMAKE_MATCH_1})
  file(STRINGS ${file} control REGEX "^#if(n?def VCCL_CONTROL| .*VCCL_CONTROL)")
  if(NOT control)
    message(FATAL_ERROR "${file}: needs an '#ifdef VCCL_CONTROL' branch that compiles")
  endif()
  set(compile
      ${CMAKE_CXX_COMPILER} -std=c++20 -I${PROJECT_SOURCE_DIR}/include
      -I${PROJECT_SOURCE_DIR}/tests -c ${file} -o /dev/null)
  vccl_command_test(
    compile_fail ${name}
    COMMAND ${CMAKE_COMMAND} -DWORD=${word} -DFILE=${file} -P
            ${PROJECT_SOURCE_DIR}/cmake/expect_compile_error.cmake -- ${compile})
  vccl_command_test(compile_fail ${name}.control COMMAND ${compile} -DVCCL_CONTROL)
endfunction()
