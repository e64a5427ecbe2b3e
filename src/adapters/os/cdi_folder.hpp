// The CdiStore port over the runtime's CDI folders. Our file is
// DYNAMIC/tessera.dev-share-NAME.json; it is written whole or not at all. Vendor specs are read,
// never touched.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "adapters/os/cdi_spec.hpp"
#include "ports/cdi_store.hpp"

namespace tessera {

struct CdiFolderOptions {
    std::vector<std::string> folders = {"/etc/cdi", "/var/run/cdi"};
    std::string dynamic = "/var/run/cdi";  // where we write
    std::string vendor_kind = "nvidia.com/gpu";
};

// Any thread.
class CdiFolder final : public CdiStore {
  public:
    explicit CdiFolder(CdiFolderOptions options) : options_(std::move(options)) {}

    Result<CdiDevice> vendor_device(const GpuUuid& uuid, int minor) override;
    Result<> write_share(const std::string& name, const ContainerEdits& edits) override;
    void keep_only_shares(const std::set<std::string>& names) override;

  private:
    // A file as it was last read; read again once one of these has changed. The times are those of
    // its text, which a program may set back, and of its inode: its rights, too.
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
    // What the folders hold now, in the runtime's order.
    struct Found {
        std::vector<CdiSpec> specs;         // of the vendor's kind
        std::vector<std::string> problems;  // files that cannot be read, other kinds: one line each
    };

    Found vendor_specs();
    // Reads and parses without the lock: a large file keeps no other container waiting.
    SharedSpec read_cached(const std::string& path, const Stamp& stamp);
    static Stamp stamp_of(const struct stat& about);
    [[nodiscard]] Error not_found(const GpuUuid& uuid, const Found& found) const;

    const CdiFolderOptions options_;
    std::mutex mutex_;
    std::map<std::string, Cached> cache_;  // by path; guarded by mutex_
};

}  // namespace tessera
