// The folder that all runs of a machine share. It has the leases, and there is no daemon: a run is
// live while one of its processes has its lock, is alive in the accounts of its region, or has the
// guard loaded. The kernel answers all three, whichever process was killed. Only a run's user and
// root see the third; if another user finds a run by none of the first two, it is released, and
// the guard refuses the GPU to its processes from then on.
//
//     FOLDER/lock                 locked while a run is added, or runs are listed
//     FOLDER/arbiter-UID          locked by the process that divides GPU time (run_arbiter.hpp)
//     FOLDER/runs/ID/lock         locked by the processes of the run
//     FOLDER/runs/ID/lease        wire/tessera/run_lease_json.hpp
//     FOLDER/runs/ID/share/       the region, and the guard's library
//     FOLDER/runs/.new-ID         a run that is being made
//     FOLDER/runs/.old-ID         a run that is being removed
//
// A run appears and disappears by one rename. Folders of ended runs that a killed process left are
// removed with the next call of live_runs(), by their user or root; for others they do not count.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "adapters/run/owned_descriptor.hpp"
#include "base/result.hpp"
#include "domain/run/run_lease.hpp"

namespace tessera {

struct RunShare {
    GpuUuid gpu;
    Bytes memory;
    Percent cores;
    Percent cores_limit;
    std::string library;  // the guard's library, which is copied
};

// A run that is not live yet. The folder is removed if the run is not published.
class NewRun {
  public:
    NewRun(std::filesystem::path runs, std::string id)
        : runs_(std::move(runs)), id_(std::move(id)) {}
    NewRun(NewRun&&) = default;
    NewRun& operator=(NewRun&&) = default;
    NewRun(const NewRun&) = delete;
    NewRun& operator=(const NewRun&) = delete;
    ~NewRun() = default;

    [[nodiscard]] const std::string& id() const { return id_; }
    // Paths of the published run.
    [[nodiscard]] std::filesystem::path folder() const { return runs_ / id_; }
    [[nodiscard]] std::filesystem::path region() const { return folder() / "share"; }
    [[nodiscard]] std::filesystem::path library() const;
    [[nodiscard]] const OwnedDescriptor& lock() const { return lock_; }

    // Makes the run live. Call with the lock of the folder held.
    Result<> publish(const RunLease& lease) const;
    // Removes the folder of a run that has no process any more, published or not. Needs no lock.
    void remove() const;

  private:
    friend class RunFolder;
    [[nodiscard]] std::filesystem::path draft() const { return runs_ / (".new-" + id_); }

    std::filesystem::path runs_;
    std::string id_;
    OwnedDescriptor lock_;
};

class RunFolder {
  public:
    // Makes the folder if it does not exist. Errors name it and the fix: permission_denied,
    // invalid_argument, unavailable.
    static Result<RunFolder> open(const std::string& path);
    // Whether there is such a folder.
    static bool exists(const std::string& path);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path runs() const { return path_ / "runs"; }
    // While the result is open, no run is added. unavailable after minutes.
    [[nodiscard]] Result<OwnedDescriptor> lock() const;

    // Both need the lock. The live runs, in the order of their start. corrupt for a lease that
    // cannot be read: its run may have any share, so nothing can be decided.
    [[nodiscard]] Result<std::vector<LiveRun>> live_runs() const;
    [[nodiscard]] Result<NewRun> prepare(const RunShare& share) const;

  private:
    explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

    std::filesystem::path path_;
};

}  // namespace tessera
