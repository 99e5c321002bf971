# A room is one static library, made of every .cpp file below its folder. USES names the rooms that it may use
# (docs/explanation/architecture.md).
#   stagecraft_room(NAME [FRONT|HOT] USES room… PRIVATE target…)
# PRIVATE targets are third-party libraries whose headers no header of the room may include. Every room may use fmt so.
# A HOT room has what runs for every operation of a run, and is optimized most. A FRONT room reads or writes what people
# see. It is optimized lightly: that halves its build and takes a fifth off the program, of which a forked cell of a
# study reads in each page that it comes through.
add_library(stagecraft_warnings INTERFACE)
target_compile_options(stagecraft_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # false warnings of g++ 12 about overlaps in std::string concatenation (GCC bug 105329)
  $<$<BOOL:${STAGECRAFT_WERROR}>:-Werror>)
add_library(stagecraft_light INTERFACE)
target_compile_options(stagecraft_light INTERFACE
  $<$<CONFIG:Release>:-O1> $<$<AND:$<CONFIG:Debug>,$<CXX_COMPILER_ID:GNU>>:-Og>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # false warnings of g++ 12 about std::variant, which -O3 does not give
add_library(stagecraft_usual INTERFACE)
target_compile_options(stagecraft_usual INTERFACE $<$<CONFIG:Release>:-O2>)
# g++ inlines until a unit has grown by 40 %. Where several sources are one unit, the functions that run for every
# operation would lose to the others (measured: 6 % more instructions in an evaluation).
add_library(stagecraft_hot INTERFACE)
target_compile_options(stagecraft_hot INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=inline-unit-growth=400>)

function(stagecraft_room name)
  cmake_parse_arguments(ROOM "FRONT;HOT" "" "USES;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(NOT sources)
    add_library(stagecraft_${name} INTERFACE)
    target_link_libraries(stagecraft_${name} INTERFACE ${ROOM_USES} ${ROOM_PRIVATE})
    return()
  endif()
  stagecraft_units(units ${name} ${sources})
  add_library(stagecraft_${name} STATIC ${units})
  target_include_directories(stagecraft_${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  set(optimized stagecraft_usual)
  if(ROOM_HOT)
    set(optimized stagecraft_hot)
  elseif(ROOM_FRONT)
    set(optimized stagecraft_light)
  endif()
  # fmt is only linked: its one definition says nothing outside Windows, and would be part of every compilation.
  target_link_libraries(stagecraft_${name} PUBLIC ${ROOM_USES} PRIVATE ${ROOM_PRIVATE} $<LINK_ONLY:fmt::fmt>
                        stagecraft_warnings ${optimized})
  if(STAGECRAFT_COVERAGE)
    target_compile_options(stagecraft_${name} PRIVATE --coverage)
    target_link_options(stagecraft_${name} PUBLIC --coverage)
  endif()
endfunction()
