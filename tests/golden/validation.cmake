# Predicts the steps of a table of measurements and compares the predictions with, or with the environment variable
# STAGECRAFT_UPDATE replaces, docs/validation/NAME.csv and docs/validation/NAME.svg.
#   cmake -D PROGRAM=… -D TABLE=….csv -D ROOT=… -D FOLDER=… -P validation.cmake
get_filename_component(name "${TABLE}" NAME_WE)
file(MAKE_DIRECTORY "${FOLDER}")
set(kept "${ROOT}/docs/validation/${name}")
set(made "${FOLDER}/${name}")
if("$ENV{STAGECRAFT_UPDATE}")
  set(made "${kept}")
endif()
execute_process(COMMAND "${PROGRAM}" validate "validation/${name}.csv" -o "${made}.csv" -o "${made}.svg"
                WORKING_DIRECTORY "${ROOT}" RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE errors)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "stagecraft validate validation/${name}.csv\nended with ${code}:\n${text}${errors}")
endif()
foreach(kind csv svg)
  execute_process(COMMAND diff -u "${kept}.${kind}" "${made}.${kind}" RESULT_VARIABLE differs OUTPUT_VARIABLE difference)
  if(differs)
    message(FATAL_ERROR "${difference}\nIf this is meant: ./check --update, and say why in CHANGELOG.md.")
  endif()
endforeach()
