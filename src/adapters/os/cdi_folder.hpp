// The CdiStore port over the runtime's CDI folders. Our file is
// DYNAMIC/tessera.dev-share-NAME.json; it is written atomically. Vendor specifications are only
// read.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/os/cdi_spec.hpp"
#include "base/mutex.hpp"
#include "ports/cdi_store.hpp"

namespace tessera {

struct CdiFolderOptions {
    std::vector<std::string> folders = {"/etc/cdi", "/var/run/cdi"};
    std::string dynamic = "/var/run/cdi";  // the folder for our files
    std::string vendor_kind = "nvidia.com/gpu";
};

// Any thread may call.
class CdiFolder final : public CdiStore {
  public:
    explicit CdiFolder(CdiFolderOptions options) : options_(std::move(options)) {}

    Result<CdiDevice> vendor_device(const GpuUuid& uuid, int minor) override;
    Result<> write_share(const std::string& name, const ContainerEdits& edits) override;
    void keep_only_shares(const std::set<std::string>& names) override;

  private:
    // The identity of a file when it was last read; it is read again if one of these has changed.
    // `written_ns` is of its text, and a program may set it back. `changed_ns` is of its inode,
    // permissions included.
    struct Stamp {
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        std::int64_t written_ns = 0;
        std::int64_t changed_ns = 0;
        std::int64_t size = 0;

        friend bool operator==(const Stamp&, const Stamp&) = default;
    };
    using SharedSpec = std::shared_ptr<const Result<CdiSpec>>;
    struct Cached {
        Stamp stamp;
        SharedSpec spec;
    };
    // The current contents of the folders, in the runtime's order.
    struct Found {
        std::vector<CdiSpec> specs;  // of the vendor's kind
        std::vector<std::string>
            problems;  // files that cannot be read, and other kinds: one line each
    };

    Found vendor_specs();
    // Reads and parses without the lock, so that a large file does not delay other containers.
    SharedSpec read_cached(const std::string& path, const Stamp& stamp);
    static Stamp stamp_of(const struct stat& about);
    [[nodiscard]] Error not_found(const GpuUuid& uuid, const Found& found) const;

    const CdiFolderOptions options_;
    Mutex mutex_;
    std::map<std::string, Cached> cache_ TESSERA_GUARDED_BY(mutex_);  // by path
};

}  // namespace tessera
