// The folders by which tessera-agent, tessera-mps and containers meet (docs/formats/mps-folder.md).
#pragma once

#include <filesystem>
#include <string>

namespace tessera {

// Of one GPU.
struct MpsPaths {
    explicit MpsPaths(std::filesystem::path gpu_folder) : folder(std::move(gpu_folder)) {}

    [[nodiscard]] std::filesystem::path wanted() const { return folder / "wanted.json"; }
    [[nodiscard]] std::filesystem::path state() const { return folder / "state.json"; }
    // Of the agent: what it reported to the users of the GPU's pods.
    [[nodiscard]] std::filesystem::path reported() const { return folder / "reported.json"; }
    // Of the daemon and its servers.
    [[nodiscard]] std::filesystem::path pipes() const { return folder / "pipes"; }
    [[nodiscard]] std::filesystem::path logs() const { return folder / "logs"; }
    // What containers mount: of the daemon's files, only those that a client needs.
    [[nodiscard]] std::filesystem::path tenants() const { return folder / "tenants"; }

    std::filesystem::path folder;
};

}  // namespace tessera
