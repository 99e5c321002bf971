# Compiles several sources as one unit, because the headers that they share take longer than they do (decision 20). A unit
# names its sources relative to the root: so it is the same in every clone, and a compiler cache serves all of them.
# (CMake's own unity build writes absolute paths.)
#   stagecraft_units(RESULT NAME source…)
# RESULT is the list of what to compile: units of STAGECRAFT_UNIT_SIZE sources, or with size 1 the sources themselves.
# A source is compiled by itself if it has the property SKIP_UNITY_BUILD_INCLUSION or definitions of its own; they are set
# before the function is called.
set(STAGECRAFT_UNIT_SIZE 1 CACHE STRING "How many sources are compiled as one unit")

function(stagecraft_units result name)
  set(alone)
  set(together)
  foreach(source ${ARGN})
    get_filename_component(source "${source}" ABSOLUTE)
    get_source_file_property(skipped "${source}" SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(defined "${source}" COMPILE_DEFINITIONS)
    if(STAGECRAFT_UNIT_SIZE EQUAL 1 OR skipped OR defined)
      list(APPEND alone "${source}")
    else()
      file(RELATIVE_PATH path "${CMAKE_SOURCE_DIR}" "${source}")
      list(APPEND together "#include \"${path}\"")
    endif()
  endforeach()
  list(LENGTH together count)
  set(first 0)
  while(first LESS count)
    list(SUBLIST together ${first} ${STAGECRAFT_UNIT_SIZE} lines)
    list(JOIN lines "\n" text)
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/units/${name}_${first}.cpp")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}\n" @ONLY)  # written only if it changes
    list(APPEND alone "${unit}")
    math(EXPR first "${first} + ${STAGECRAFT_UNIT_SIZE}")
  endwhile()
  set(${result} ${alone} PARENT_SCOPE)
endfunction()
