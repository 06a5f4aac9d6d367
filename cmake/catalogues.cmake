# po/CODE.po -> msgfmt -> C array nm_catalogue_CODE inside the library.
find_program(MSGFMT msgfmt REQUIRED)
set(NM_CATALOGUES)
foreach(code pl ru ja)
  set(mo ${CMAKE_BINARY_DIR}/po/${code}.mo)
  set(c ${CMAKE_BINARY_DIR}/po/${code}.c)
  add_custom_command(OUTPUT ${c}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/po
    COMMAND ${MSGFMT} --check --endianness=little --no-hash -o ${mo} ${CMAKE_SOURCE_DIR}/po/${code}.po
    COMMAND ${CMAKE_COMMAND} -DIN=${mo} -DOUT=${c} -DNAME=nm_catalogue_${code}
      -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/po/${code}.po ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  list(APPEND NM_CATALOGUES ${c})
endforeach()
