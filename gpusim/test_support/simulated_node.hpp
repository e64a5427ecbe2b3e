// A driver root in a temporary directory, and what tests do to it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gpusim/ctl/driver_root.hpp"
#include "gpusim/test_support/library.hpp"

namespace gpusim {

// Cards of the given YAML text. Removed with all that is in it when it goes out of scope.
class SimulatedNode {
  public:
    explicit SimulatedNode(const std::string& yaml);
    ~SimulatedNode();
    SimulatedNode(const SimulatedNode&) = delete;
    SimulatedNode& operator=(const SimulatedNode&) = delete;

    const std::filesystem::path& root() const { return root_; }
    std::filesystem::path library(const char* name) const;
    std::filesystem::path state_directory() const;
    const std::vector<CardSpec>& cards() const { return cards_; }

    // The built gpusimctl with --root; its exit status.
    int control(const std::string& arguments) const;

    // As any outsider sees it.
    const State& state() const { return state_; }
    std::uint64_t used(int card) const { return used_bytes(state_, card); }

    void hide(unsigned minor) const;

  private:
    std::filesystem::path scratch_;
    std::filesystem::path root_;
    std::vector<CardSpec> cards_;
    State state_;
};

inline constexpr char kTwoCards[] =
    "cards:\n"
    "  - {model: Tesla T4, memory: 15360MiB, minor: 3}\n"
    "  - {model: Tesla T4, memory: 15360MiB, minor: 1}\n";

// Standard output of a shell command.
std::string output_of(const std::string& command);

}  // namespace gpusim
