# Runs a shipped study and compares its report with, or with the environment variable STAGECRAFT_UPDATE replaces,
# docs/studies/NAME.csv and docs/studies/NAME.svg.
#   cmake -D PROGRAM=… -D STUDY=….yaml -D ROOT=… -D FOLDER=… -P study.cmake
get_filename_component(name "${STUDY}" NAME_WE)
file(REMOVE_RECURSE "${FOLDER}")
function(stagecraft output)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} WORKING_DIRECTORY "${ROOT}" RESULT_VARIABLE code
                  OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  string(REGEX REPLACE "stagecraft: after [^\n]* still [^\n]*\n" "" errors "${errors}")  # progress
  if(NOT code EQUAL 0 OR NOT errors STREQUAL "")
    message(FATAL_ERROR "stagecraft ${ARGN}\nended with ${code}:\n${text}${errors}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()
stagecraft(ignored run "${STUDY}" --out "${FOLDER}")
foreach(kind csv svg)
  set(kept "${ROOT}/docs/studies/${name}.${kind}")
  if("$ENV{STAGECRAFT_UPDATE}")
    stagecraft(ignored report "${FOLDER}" -o "${kept}")
    continue()
  endif()
  stagecraft(ignored report "${FOLDER}" -o "${FOLDER}/${name}.${kind}")
  execute_process(COMMAND diff -u "${kept}" "${FOLDER}/${name}.${kind}" RESULT_VARIABLE differs
                  OUTPUT_VARIABLE difference)
  if(differs)
    message(FATAL_ERROR "${difference}\nIf this is meant: ./check --update, and say why in CHANGELOG.md.")
  endif()
endforeach()
