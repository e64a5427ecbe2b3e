# The few functions that every CMakeLists.txt of this tree uses, so that flags live in one place.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(tessera_flags INTERFACE)
# Designated initialisers leave members to their defaults on purpose; GCC 12 warns of that in -Wextra.
target_compile_options(tessera_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                       -Wno-missing-field-initializers)
# clang (`./dev check clang`) also proves which lock protects what (src/base/mutex.hpp). Its -Wconversion
# includes changes of sign, which GCC's does not. GCC 12's std::stable_sort uses what its own library
# calls deprecated.
target_compile_options(tessera_flags INTERFACE
                       $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety -Wthread-safety-beta>
                       "$<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion;-Wno-deprecated-declarations>")
target_compile_definitions(tessera_flags INTERFACE TESSERA_VERSION="${PROJECT_VERSION}")
if(TESSERA_WERROR)
  target_compile_options(tessera_flags INTERFACE -Werror)
endif()

# Sanitizers and coverage apply to everything but the guard and the simulated driver, which any program
# must be able to load.
add_library(tessera_sanitize INTERFACE)
if(TESSERA_COVERAGE)
  target_compile_options(tessera_sanitize INTERFACE --coverage -O0)
  target_link_options(tessera_sanitize INTERFACE --coverage)
endif()
if(TESSERA_SANITIZE)
  # With sanitizers, GCC 12 wrongly takes members of its own <regex> for uninitialized.
  target_compile_options(tessera_sanitize INTERFACE -fsanitize=${TESSERA_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all
                         -Wno-maybe-uninitialized)
  target_link_options(tessera_sanitize INTERFACE -fsanitize=${TESSERA_SANITIZE})
  if(TESSERA_SANITIZE MATCHES thread)
    # GCC's thread sanitizer knows no fences. Boost.Asio has them for handlers of several threads,
    # and we have one.
    target_compile_definitions(tessera_sanitize INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

# tessera_library(NAME SOURCES a.cpp b.cpp DEPS other_library ...)
# A layer links only what stands to its left: base, domain, wire, ports, adapters | app, programs.
function(tessera_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE tessera_flags tessera_sanitize)
endfunction()

# tessera_program(NAME SOURCES main.cpp DEPS library ...)
function(tessera_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} tessera_flags tessera_sanitize)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

# `./dev test` runs tests in three slots per core. A test that computes takes two of them (PROCESSORS of
# ctest). An e2e test takes one, because it waits most of the time.
set(TESSERA_SLOTS_OF_A_TEST 2)
# Test programs need not be fast, and compile faster so.
set(TESSERA_TEST_OPTIONS $<$<AND:$<CONFIG:RelWithDebInfo>,$<CXX_COMPILER_ID:GNU>>:-O1>)

# tessera_test(NAME SOURCES a_test.cpp ... DEPS library ... [LABEL unit] [SHARDS 3])
# One gtest binary per library, one ctest entry per binary: fast to start on two cores. SHARDS: how many
# processes run its tests at the same time, for tests that mostly wait.
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
function(tessera_test name)
  cmake_parse_arguments(ARG "" "LABEL;SHARDS" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main Threads::Threads
                        tessera_flags tessera_sanitize)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_definitions(${name} PRIVATE TESSERA_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             TESSERA_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_compile_options(${name} PRIVATE ${TESSERA_TEST_OPTIONS})
  if(ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/tools/in-shards ${ARG_SHARDS}
             $<TARGET_FILE:${name}> --gtest_brief=1)
  else()
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  endif()
  # A timeout ends a test that hangs, so that the run still ends and names it; it says nothing of how long one may
  # take.
  # Property tests read their seed from RC_PARAMS, which `./dev test` sets.
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 1800
                       PROCESSORS ${TESSERA_SLOTS_OF_A_TEST})
endfunction()

# tessera_fuzz(NAME SOURCE a_fuzz.cpp DEPS library ...)
# A parser of foreign text under a fuzzer. With TESSERA_FUZZ (testing/fuzz/run) it is a program of
# libFuzzer's; in every build it is also part of fuzz_smoke, which runs the seeds and some mutations.
option(TESSERA_FUZZ "Build the fuzz targets with libFuzzer; needs clang" OFF)
function(tessera_fuzz name)
  cmake_parse_arguments(ARG "" "SOURCE" "DEPS" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY TESSERA_FUZZ_TARGETS ${name})
  if(TESSERA_FUZZ)
    add_executable(fuzz_${name} ${ARG_SOURCE})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  else()
    # One program contains them all, so each entry has a name of its own.
    add_library(fuzz_${name} OBJECT ${ARG_SOURCE})
    target_compile_definitions(fuzz_${name} PRIVATE LLVMFuzzerTestOneInput=fuzz_${name})
  endif()
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_DEPS} tessera_flags tessera_sanitize)
endfunction()
