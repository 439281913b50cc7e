# Writes OUTPUT, a header with the commit that SOURCE_DIR is at. Runs at every build; the file
# changes, and what includes it is compiled again, only when the answer does. Outside a checkout the
# commit is in commit.txt, where "git archive" has written it.
cmake_policy(VERSION 3.25)
set(commit "")
set(dirty false)
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} rev-parse HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(dirty true)
  endif()
else()
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt commit REGEX "^[0-9a-f]+$")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "#pragma once

namespace nf4bench {

inline constexpr char kGitCommit[] = \"@commit@\";
inline constexpr bool kGitDirty = @dirty@;

}  // namespace nf4bench
")
