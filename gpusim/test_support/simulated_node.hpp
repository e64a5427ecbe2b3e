// A driver root in a temporary directory, and what tests do to it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gpusim/ctl/driver_root.hpp"
#include "gpusim/test_support/library.hpp"

namespace gpusim {

// GPUs of the given YAML text. The directory is removed when this goes out of scope.
class SimulatedNode {
  public:
    explicit SimulatedNode(const std::string& yaml);
    ~SimulatedNode();
    SimulatedNode(const SimulatedNode&) = delete;
    SimulatedNode& operator=(const SimulatedNode&) = delete;

    const std::filesystem::path& root() const { return root_; }
    std::filesystem::path library(const char* name) const;
    std::filesystem::path state_directory() const;
    const std::vector<GpuSpec>& gpus() const { return gpus_; }

    // Runs the built gpusimctl with --root; returns its exit status.
    int control(const std::string& arguments) const;

    // The state as a process without a slot sees it.
    const State& state() const { return state_; }
    std::uint64_t used(int gpu) const { return used_bytes(state_, gpu); }

    void hide(unsigned minor) const;

  private:
    std::filesystem::path scratch_;
    std::filesystem::path root_;
    std::vector<GpuSpec> gpus_;
    State state_;
};

inline constexpr char kTwoGpus[] =
    "gpus:\n"
    "  - {model: Tesla T4, memory: 15360MiB, minor: 3}\n"
    "  - {model: Tesla T4, memory: 15360MiB, minor: 1}\n";

// Standard output of a shell command, and its exit status; -1 if a signal killed it.
struct CommandResult {
    std::string output;
    int status = -1;
};
CommandResult result_of(const std::string& command);

// Standard output of a shell command.
std::string output_of(const std::string& command);

}  // namespace gpusim
