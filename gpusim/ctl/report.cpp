#include "gpusim/ctl/report.hpp"

#include <fmt/format.h>

#include "api/nvidia/nvml.h"
#include "gpusim/state/timeline.hpp"

namespace gpusim {
namespace {

std::string condition(const State& state, const Gpu& gpu) {
    std::string words = gpu.lost.load() != 0 ? "lost" : "ok";
    if (gpu.recovery_action.load() != 0) words += ", wants a reset";
    if (gpu.nvml_error.load() != 0) words += ", fails";
    if (gpu.mig_mode.load() != 0) words += ", MIG on";
    if (gpu.compute_mode.load() != NVML_COMPUTEMODE_DEFAULT) words += ", compute mode not default";
    if (gpu.remapped_rows.load() != Rows::good || gpu.retired_pages.load() != 0 ||
        gpu.uncorrected_errors.load() != 0) {
        words += ", memory errors";
    }
    if (!has_marker(state, gpu)) words += ", hidden";
    return words;
}

std::string process_line(const State& state, int slot, int gpu) {
    const Slot& held = state.file->slots[slot];
    const std::uint64_t bytes = slot_bytes(state, slot, gpu);
    const std::uint32_t contexts = held.contexts[gpu].load();
    if (bytes == 0 && contexts == 0) return "";
    const pid_t pid = slot_owner(state, slot);
    if (pid == kNobody) return "";
    const std::int64_t worked =
        used_ps(state, {gpu, Engine::compute}, slot, monotonic_ns()) / kPsPerNs;
    return fmt::format("process {}: GPU {}, used {} bytes, contexts {}, worked {} ns\n",
                       pid == kInvisible ? "elsewhere" : fmt::format("{}", pid), gpu, bytes,
                       contexts, worked);
}

}  // namespace

std::string report(const State& state) {
    const int count = static_cast<int>(state.file->gpu_count);
    std::string out;
    for (int i = 0; i < count; i++) {
        const Gpu& gpu = state.file->gpus[i];
        out += fmt::format(
            "GPU {}: {}, {}, minor {}, memory {} bytes, reserved {} bytes, used {} bytes, {}\n", i,
            gpu.uuid, gpu.model, gpu.minor, gpu.memory_bytes, gpu.reserved_bytes,
            used_bytes(state, i), condition(state, gpu));
    }
    for (int slot = 0; slot < kMaxSlots; slot++) {
        for (int gpu = 0; gpu < count; gpu++)
            out += process_line(state, slot, gpu);
    }
    return out;
}

}  // namespace gpusim
