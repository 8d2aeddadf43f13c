# How tests are added. Each is a ctest entry <group>.<name> with its group as label.

# Also read by scripts/test, which runs these groups in this order.
set(VCCL_TEST_GROUPS format unit compile_fail codegen scenario model sim fuzz demo consumer rxe)

# Those with more than one thread are also in group threads: what ThreadSanitizer is for.
set(VCCL_THREADED
    unit.connection.threads
    unit.contracts.*
    unit.context
    unit.detail.end
    unit.detail.service
    unit.policies.health.per_port
    unit.scenarios.*
    unit.sender
    unit.transport.soft.fabric
    unit.transport.tcp.*
    unit.transport.verbs.errands
    unit.transport.verbs.lane)
list(JOIN VCCL_THREADED "|" VCCL_THREADED)

find_package(doctest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# What is compared or compiled only once per compiler runs in the release presets.
set(VCCL_RELEASE FALSE)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT VCCL_SANITIZE)
  set(VCCL_RELEASE TRUE)
endif()

foreach(group IN LISTS VCCL_TEST_GROUPS ITEMS threads)
  add_custom_target(vccl_group_${group})  # builds what the group runs
endforeach()

# vccl_command_test(<group> <name> COMMAND <command>... [DEPENDS <target>...] [TIMEOUT <seconds>])
# Any command as ctest entry <group>.<name>; exit status 77 means skipped.
function(vccl_command_test group name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "COMMAND;DEPENDS")
  if(NOT group IN_LIST VCCL_TEST_GROUPS)
    message(FATAL_ERROR "${name}: unknown test group '${group}', known: ${VCCL_TEST_GROUPS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${group}.${name} COMMAND ${arg_COMMAND})
  set(labels ${group})
  if("${group}.${name}" MATCHES "^(${VCCL_THREADED})$")
    list(APPEND labels threads)
  endif()
  set_tests_properties(
    ${group}.${name} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT})
  if(arg_DEPENDS)
    foreach(label IN LISTS labels)
      add_dependencies(vccl_group_${label} ${arg_DEPENDS})
    endforeach()
  endif()
endfunction()

# vccl_test_program(<dir/name> <target variable> [SOURCES <file>...] [LIBS <target>...])
# Builds tests/<dir/name>.test.cpp once, however often it is asked for.
function(vccl_test_program path target)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LIBS")
  string(REPLACE "/" "_" program "test_${path}")
  set(${target} ${program} PARENT_SCOPE)
  if(TARGET ${program})
    return()
  endif()
  add_executable(${program} ${PROJECT_SOURCE_DIR}/tests/${path}.test.cpp ${arg_SOURCES})
  target_link_libraries(${program} PRIVATE vccl::core vccl_dev vccl_test_main ${arg_LIBS})
  set_property(GLOBAL APPEND PROPERTY VCCL_TEST_FILES tests/${path}.test.cpp)
endfunction()

# vccl_test(<dir/name> [GROUP <group>] [SOURCES <file>...] [LIBS <target>...] [TIMEOUT <seconds>])
# tests/<dir/name>.test.cpp as ctest entry <group>.<dir.name>; the group is unit unless given.
function(vccl_test path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "GROUP;TIMEOUT" "SOURCES;LIBS")
  if(NOT arg_GROUP)
    set(arg_GROUP unit)
  endif()
  vccl_test_program(${path} program SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  string(REPLACE "/" "." name ${path})
  vccl_command_test(
    ${arg_GROUP} ${name} COMMAND ${program} DEPENDS ${program} TIMEOUT ${arg_TIMEOUT})
endfunction()

# vccl_test_folder(<dir> NAMES <name>... [APART <name>...] [LIBS <target>...])
# tests/<dir>/<name>.test.cpp for each name, each a ctest entry of its own, all in one program that is
# compiled in few pieces: for folders whose headers cost more than their tests. The files share scopes;
# those named APART as well do not.
function(vccl_test_folder path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "NAMES;APART;LIBS")
  string(REPLACE "/" "_" program "tests_${path}")
  string(REPLACE "/" "." prefix ${path})
  list(TRANSFORM arg_NAMES PREPEND ${PROJECT_SOURCE_DIR}/tests/${path}/ OUTPUT_VARIABLE files)
  list(TRANSFORM files APPEND .test.cpp)
  add_executable(${program} ${files})
  set_target_properties(${program} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 14)
  foreach(name IN LISTS arg_APART)
    set_source_files_properties(
      ${PROJECT_SOURCE_DIR}/tests/${path}/${name}.test.cpp
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  target_link_libraries(${program} PRIVATE vccl::core vccl_dev vccl_test_main ${arg_LIBS})
  foreach(name IN LISTS arg_NAMES)
    set_property(GLOBAL APPEND PROPERTY VCCL_TEST_FILES tests/${path}/${name}.test.cpp)
    vccl_command_test(
      unit ${prefix}.${name} COMMAND ${program} "--source-file=*/${path}/${name}.test.cpp"
      DEPENDS ${program} TIMEOUT 400)
  endforeach()
endfunction()

# vccl_scenario(<id> <sim|tcp|verbs|rxe|gpu> <dir/name> [SOURCES <file>...] [LIBS <target>...]
#               [TIMEOUT <seconds>])
# The test cases "<id>: ..." of tests/<dir/name>.test.cpp as ctest entry scenario.<id>.<kind>.
# It fails when there is no such test case.
function(vccl_scenario id kind path)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "TIMEOUT" "SOURCES;LIBS")
  if(NOT kind MATCHES "^(sim|tcp|verbs|rxe|gpu)$")
    message(FATAL_ERROR "scenario ${id}: kind '${kind}' is none of sim, tcp, verbs, rxe, gpu")
  endif()
  vccl_test_program(${path} program SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  vccl_command_test(
    scenario ${id}.${kind} COMMAND ${program} "--test-case=${id}:*" DEPENDS ${program}
    TIMEOUT ${arg_TIMEOUT})
endfunction()
