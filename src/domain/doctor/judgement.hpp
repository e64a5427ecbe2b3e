// What a check comes to, and the words that the checks have in common. For the checks alone.
#pragma once

#include <string>
#include <vector>

#include "domain/doctor/checks.hpp"

namespace tessera::doctor {

struct Judgement {
    Status status = Status::ok;
    std::string found;
    std::string fix;
};

// What could not be read.
Judgement unread(const Error& error);

// Things that are wrong, of which the first few are named.
class Faults {
  public:
    void add(std::string fault) { all_.push_back(std::move(fault)); }
    [[nodiscard]] bool any() const { return !all_.empty(); }
    [[nodiscard]] std::string text() const;

  private:
    std::vector<std::string> all_;
};

}  // namespace tessera::doctor
