# What "cmake --install" installs besides the program: the header for peers, the documentation, and the
# completions and manual page, which the program writes itself from the definitions of its commands.

include(GNUInstallDirs)

# nf4bench_generate(FILE ARGUMENTS...): FILE in the build tree is what the program prints.
function(nf4bench_generate file)
  set(output ${PROJECT_BINARY_DIR}/generated/${file})
  # Options in the environment must not change the output.
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated
    COMMAND ${CMAKE_COMMAND} -E env --unset=NF4BENCH_CONFIG
            $<TARGET_FILE:nf4bench> ${ARGN} > ${output}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${output}.new ${output}
    DEPENDS nf4bench VERBATIM)
  set(generated ${generated} ${output} PARENT_SCOPE)
endfunction()

install(FILES include/nf4bench_peer.h include/nf4bench_kernel.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES README.md SECURITY.md CONTRIBUTING.md CHANGELOG.md THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)

# A program for another machine cannot be asked here.
if(NOT CMAKE_CROSSCOMPILING)
  nf4bench_generate(nf4bench completion bash)
  nf4bench_generate(_nf4bench completion zsh)
  nf4bench_generate(nf4bench.fish completion fish)
  nf4bench_generate(nf4bench.1 man)
  add_custom_target(nf4bench_generated ALL DEPENDS ${generated})
  set(from ${PROJECT_BINARY_DIR}/generated)
  set(shared ${CMAKE_INSTALL_DATADIR})
  install(FILES ${from}/nf4bench DESTINATION ${shared}/bash-completion/completions)
  install(FILES ${from}/_nf4bench DESTINATION ${shared}/zsh/site-functions)
  install(FILES ${from}/nf4bench.fish DESTINATION ${shared}/fish/vendor_completions.d)
  install(FILES ${from}/nf4bench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

# What "pip install" puts beside the Python package: the program on PATH, and libnf4.
if(SKBUILD)
  install(PROGRAMS $<TARGET_FILE:nf4bench> DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python
          EXCLUDE_FROM_ALL)
  install(FILES $<TARGET_FILE:nf4> DESTINATION nf4bench RENAME libnf4.so COMPONENT python
          EXCLUDE_FROM_ALL)
endif()
