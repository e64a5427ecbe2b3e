// The result of a check, and helpers that the checks share. Only the checks use it.
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

// For facts that could not be read.
Judgement unread(const Error& error);

// A list of faults; its text names the first few.
class Faults {
  public:
    void add(std::string fault) { all_.push_back(std::move(fault)); }
    [[nodiscard]] bool any() const { return !all_.empty(); }
    [[nodiscard]] std::string text() const;

  private:
    std::vector<std::string> all_;
};

}  // namespace tessera::doctor
