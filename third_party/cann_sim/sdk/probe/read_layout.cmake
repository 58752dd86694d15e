# cmake -DOBJECT=<probe object> -DHEADER=<file to write> -P read_layout.cmake
file(STRINGS "${OBJECT}" found REGEX "OP_COMMAND_BYTES=[0-9]+,ALIGN=[0-9]+" LIMIT_COUNT 1)
if(NOT "${found}" MATCHES "OP_COMMAND_BYTES=0*([0-9]+),ALIGN=0*([0-9]+)")
  message(FATAL_ERROR "no layout of OpCommand in ${OBJECT}")
endif()
file(WRITE "${HEADER}"
  "// Generated when the SDK was built, from the header of the installed torch-npu.\n"
  "#pragma once\n"
  "#define CANN_SIM_OP_COMMAND_BYTES ${CMAKE_MATCH_1}\n"
  "#define CANN_SIM_OP_COMMAND_ALIGNMENT ${CMAKE_MATCH_2}\n")
