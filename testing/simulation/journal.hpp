// What happened in a run: the log, which is written only on demand, the number of each fault, and
// the first broken invariant.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "testing/simulation/rng.hpp"

namespace tessera::simulation {

enum class Fault {
#define FAULT(name, meaning) name,
#include "testing/simulation/faults.def"
#undef FAULT
};

inline constexpr auto kFaultNames = std::to_array<std::string_view>({
#define FAULT(name, meaning) #name,
#include "testing/simulation/faults.def"
#undef FAULT
});

using FaultCounts = std::array<std::uint64_t, kFaultNames.size()>;

class Journal {
  public:
    explicit Journal(bool keep_log) : keep_log_(keep_log) {}

    // `text` is a function, so that a run without a log does not format the text.
    template <class Text>
    void note(Time now, std::string_view part, const Text& text) {
        if (keep_log_) add(now, part, text());
    }
    void count(Fault fault) { ++faults_[static_cast<std::size_t>(fault)]; }
    // Only the first violation is kept, because later ones may be its consequences.
    void violation(Time now, const std::string& text);

    [[nodiscard]] bool broken() const { return !violation_.empty(); }
    [[nodiscard]] const std::string& violation() const { return violation_; }
    [[nodiscard]] const FaultCounts& faults() const { return faults_; }
    [[nodiscard]] const std::string& log() const { return log_; }

  private:
    void add(Time now, std::string_view part, const std::string& text);

    const bool keep_log_;
    std::string log_;
    std::string violation_;
    FaultCounts faults_{};
};

}  // namespace tessera::simulation
