# Writes the commit of the working tree to OUT, for `--version`. The file changes only if the commit does, so that
# nothing is compiled again otherwise. "-changed": files differ from the commit. "unknown": no git, as in a tarball.
execute_process(
  COMMAND git -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty=-changed
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define TESSERA_COMMIT \"${commit}\"\n")
