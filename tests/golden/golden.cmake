# Runs the command that the first line of a golden file names and compares, or with the environment variable
# STAGECRAFT_UPDATE replaces, the rest.
#   cmake -D PROGRAM=… -D CASE=….txt -D ROOT=… -P golden.cmake
file(READ "${CASE}" expected)
if(NOT expected MATCHES "^\\$ stagecraft ([^\n]*)\n")
  message(FATAL_ERROR "${CASE}: the first line is not '$ stagecraft ARGUMENTS'")
endif()
set(line "${CMAKE_MATCH_1}")
separate_arguments(arguments UNIX_COMMAND "${line}")
execute_process(COMMAND "${PROGRAM}" ${arguments} WORKING_DIRECTORY "${ROOT}" RESULT_VARIABLE code
                OUTPUT_VARIABLE output ERROR_VARIABLE errors)
set(actual "$ stagecraft ${line}\n${output}")
if(NOT errors STREQUAL "")
  string(APPEND actual "--- standard error\n${errors}")
endif()
string(APPEND actual "--- exit code ${code}\n")
if(actual STREQUAL expected)
  return()
endif()
if("$ENV{STAGECRAFT_UPDATE}" AND code MATCHES "^[02-9]$")  # else it is a defect, which nobody expects
  file(WRITE "${CASE}" "${actual}")
else()
  get_filename_component(name "${CASE}" NAME)
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${name}.actual" "${actual}")
  execute_process(COMMAND diff -u "${CASE}" "${CMAKE_CURRENT_BINARY_DIR}/${name}.actual" OUTPUT_VARIABLE difference)
  message(FATAL_ERROR "${difference}\nIf this is meant: ./check --update, and say why in CHANGELOG.md.")
endif()
