// The CdiStore port over the runtime's CDI folders. Our file is
// DYNAMIC/tessera.dev-share-NAME.json; it is written whole or not at all. Vendor specs are read,
// never touched.
#pragma once

#include <string>
#include <vector>

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

    std::optional<std::string> vendor_device(const GpuUuid& uuid, int minor) override;
    Result<> write_share(const std::string& name, const ContainerEdits& edits) override;
    void keep_only_shares(const std::set<std::string>& names) override;

  private:
    const CdiFolderOptions options_;
};

}  // namespace tessera
