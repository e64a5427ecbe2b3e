// Reaps the processes of a run and measures what they use. For the process that is their parent,
// and gets those whose parent has ended (PR_SET_CHILD_SUBREAPER).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "adapters/guard/open_region.hpp"
#include "domain/run/run_end.hpp"

namespace tessera {

class RunWatch {
  public:
    // `region` may appear later.
    RunWatch(std::filesystem::path region, pid_t program)
        : region_path_(std::move(region)), program_(program) {}

    // Call it every kPeriodMs, and after SIGCHLD.
    void look();
    static constexpr int kPeriodMs = 200;

    // Of the program: the exit status, or 128 and its signal. Nothing while it lives.
    [[nodiscard]] const std::optional<int>& exit_status() const { return exit_status_; }
    // Whether the caller has a child, as of the last look().
    [[nodiscard]] bool has_children() const { return has_children_; }
    [[nodiscard]] const RunUse& use() const { return use_; }

  private:
    void measure();

    const std::filesystem::path region_path_;
    const pid_t program_;
    std::unique_ptr<OpenRegion> region_;
    std::optional<int> exit_status_;
    bool has_children_ = true;
    RunUse use_;
};

}  // namespace tessera
