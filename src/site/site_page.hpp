#pragma once

#include "site/site.hpp"
#include "text/sheet.hpp"

#include <string>
#include <vector>

namespace nf4bench::site {

struct File {
  std::string name;
  std::string text;
};

// index.html, and a page for each card. They need no server and nothing of each other.
std::vector<File> site_files(const Site& site);

// The times of each card as GitHub and GitLab take it.
std::string site_markdown(const Site& site);

}  // namespace nf4bench::site
