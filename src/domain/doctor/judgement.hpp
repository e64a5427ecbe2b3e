// The result of a check, and helpers that the checks share. Only the checks use it.
#pragma once

#include <string>
#include <string_view>
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

// True when neither controller nor agents are in the namespace that was named.
bool is_not_installed(const Facts& facts);

// A list of faults, and what to do about them.
class Faults {
  public:
    void add(std::string fault) { all_.push_back(std::move(fault)); }
    void add(std::string fault, std::string_view fix);
    [[nodiscard]] bool any() const { return !all_.empty(); }
    // The first few faults.
    [[nodiscard]] std::string text() const;
    // Every fix, each once.
    [[nodiscard]] std::string fixes() const;

  private:
    std::vector<std::string> all_;
    std::vector<std::string> fixes_;
};

}  // namespace tessera::doctor
