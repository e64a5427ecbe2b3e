// The daemons of a node, and the containers that started with MPS, as a test sets them.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ports/mps/mps_daemons.hpp"

namespace tessera {

// Used by one thread.
class FakeMpsDaemons final : public MpsDaemons, public MpsGrants {
  public:
    [[nodiscard]] bool is_supervised() const override { return supervised; }
    [[nodiscard]] std::vector<GpuUuid> gpus() const override {
        std::vector<GpuUuid> out;
        out.reserve(wants.size() + states.size());
        for (const auto& [gpu, settings] : wants)
            out.push_back(gpu);
        for (const auto& [gpu, state] : states) {
            if (!wants.contains(gpu)) out.push_back(gpu);
        }
        return out;
    }
    [[nodiscard]] Result<std::optional<MpsSettings>> wanted(const GpuUuid& gpu) const override {
        if (!wanted_error) return fail(wanted_error.error());
        const auto at = wants.find(gpu);
        return at == wants.end() ? std::nullopt : std::optional(at->second);
    }
    Result<> want(const GpuUuid& gpu, const std::optional<MpsSettings>& settings) override {
        if (!wants_error) return wants_error;
        if (settings) {
            wants.insert_or_assign(gpu, *settings);
        } else {
            wants.erase(gpu);
        }
        return {};
    }
    [[nodiscard]] Result<std::optional<MpsState>> state(const GpuUuid& gpu) const override {
        const auto at = states.find(gpu);
        return at == states.end() ? std::nullopt : std::optional(at->second);
    }
    [[nodiscard]] std::optional<MpsReported> reported(const GpuUuid& gpu) const override {
        const auto at = all_reported.find(gpu);
        return at == all_reported.end() ? std::nullopt : std::optional(at->second);
    }
    Result<> note_reported(const GpuUuid& gpu, const MpsReported& reported) override {
        all_reported.insert_or_assign(gpu, reported);
        return {};
    }
    [[nodiscard]] std::vector<MpsGrant> grants() const override { return started; }

    bool supervised = true;
    std::map<GpuUuid, MpsSettings> wants;
    std::map<GpuUuid, MpsState> states;
    std::map<GpuUuid, MpsReported> all_reported;
    std::vector<MpsGrant> started;
    Result<> wants_error;   // of want()
    Result<> wanted_error;  // of wanted()
};

}  // namespace tessera
