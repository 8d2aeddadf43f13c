# Functions that must compile to the same instructions as hand-written ones.

# vccl_codegen(<name> [LIBS <target>...]): tests/codegen/<name>.cpp defines pairs of extern "C"
# functions ours_<x> and bare_<x>; ctest entry codegen.<name> passes when each pair is the same,
# instruction by instruction.
function(vccl_codegen name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS")
  if(NOT VCCL_RELEASE)
    return()
  endif()
  find_program(VCCL_OBJDUMP objdump REQUIRED)
  add_library(codegen_${name} OBJECT ${PROJECT_SOURCE_DIR}/tests/codegen/${name}.cpp)
  target_include_directories(codegen_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(codegen_${name} PRIVATE vccl::core vccl_dev ${arg_LIBS})
  # Each function in its own section, and none that g++ turns into a jump to its pair.
  target_compile_options(
    codegen_${name} PRIVATE -O2 -ffunction-sections $<$<CXX_COMPILER_ID:GNU>:-fno-ipa-icf>)
  vccl_command_test(
    codegen ${name}
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/codegen/compare_asm.py --objdump
            ${VCCL_OBJDUMP} $<TARGET_OBJECTS:codegen_${name}>
    DEPENDS codegen_${name})
endfunction()
