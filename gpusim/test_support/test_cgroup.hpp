// A cgroup of the machine for tests: root, and a hierarchy that can be written to, are needed.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "gpusim/state/cgroups.hpp"

namespace gpusim {

// Created below the cgroup of this process, and removed at the end.
class TestCgroup {
  public:
    // An empty path, or one in an empty path: none, which cannot be entered.
    explicit TestCgroup(const std::filesystem::path& directory) : directory_(directory) {
        std::error_code error;
        if (directory_.is_absolute()) std::filesystem::create_directory(directory_, error);
    }
    ~TestCgroup() { remove(); }
    TestCgroup(const TestCgroup&) = delete;
    TestCgroup& operator=(const TestCgroup&) = delete;

    // Below the cgroup of this process.
    static std::filesystem::path directory_here(const std::string& name) {
        CgroupName own;
        if (own_cgroup_name(own) != CgroupText::found || own.inode == 0) return {};
        return std::filesystem::path(own.path) / (name + std::to_string(getpid()));
    }

    const std::filesystem::path& directory() const { return directory_; }

    // Moves the calling process into it. False if the machine does not allow that.
    bool enter() const {
        if (!directory_.is_absolute()) return false;
        std::ofstream processes(directory_ / "cgroup.procs");
        processes << 0 << std::flush;
        return processes.good();
    }
    void remove() const {
        if (directory_.is_absolute()) rmdir(directory_.c_str());
    }

  private:
    std::filesystem::path directory_;
};

}  // namespace gpusim
