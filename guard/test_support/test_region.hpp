// A region in a temporary directory, for tests.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "guard/region/create.hpp"
#include "guard/region/life.hpp"

namespace tessera::guard {

// The directory and all of its contents are removed when this object is destroyed.
class TestRegion {
  public:
    explicit TestRegion(const std::vector<RegionGpu>& gpus) {
        std::string made = (std::filesystem::temp_directory_path() / "guard-XXXXXX").string();
        if (mkdtemp(made.data()) == nullptr) throw std::runtime_error("mkdtemp");
        directory_ = made;
        std::filesystem::permissions(directory_, static_cast<std::filesystem::perms>(0755));
        if (create_region(made.c_str(), gpus.data(), static_cast<int>(gpus.size())) != 0)
            throw std::runtime_error("create_region");
        fd_ = open(path(kAccountsName).c_str(), O_RDWR | O_CLOEXEC);
        void* pages = mmap(nullptr, sizeof(Accounts), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (pages == MAP_FAILED) throw std::runtime_error("mmap");
        accounts_ = static_cast<Accounts*>(pages);
    }
    ~TestRegion() {
        munmap(accounts_, sizeof(Accounts));
        close(fd_);
        std::filesystem::remove_all(directory_);
    }
    TestRegion(const TestRegion&) = delete;
    TestRegion& operator=(const TestRegion&) = delete;

    const std::filesystem::path& directory() const { return directory_; }
    std::string path(const char* name) const { return (directory_ / name).string(); }
    // The accounts as another process of the container sees them.
    Accounts& accounts() const { return *accounts_; }
    int fd() const { return fd_; }
    AllocationUnits reap() const { return reap_dead(*accounts_, fd_); }

  private:
    std::filesystem::path directory_;
    int fd_ = -1;
    Accounts* accounts_ = nullptr;
};

}  // namespace tessera::guard
