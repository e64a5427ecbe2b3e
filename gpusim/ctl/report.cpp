#include "gpusim/ctl/report.hpp"

#include <fmt/format.h>

#include "api/nvidia/nvml.h"
#include "gpusim/state/timeline.hpp"

namespace gpusim {
namespace {

std::string condition(const State& state, const Card& card) {
    std::string words = card.lost.load() != 0 ? "lost" : "ok";
    if (card.recovery_action.load() != 0) words += ", wants a reset";
    if (card.nvml_error.load() != 0) words += ", fails";
    if (card.mig_mode.load() != 0) words += ", MIG on";
    if (card.compute_mode.load() != NVML_COMPUTEMODE_DEFAULT) words += ", compute mode not default";
    if (card.remapped_rows.load() != Rows::good || card.retired_pages.load() != 0 ||
        card.uncorrected_errors.load() != 0) {
        words += ", memory errors";
    }
    if (!has_marker(state, card)) words += ", hidden";
    return words;
}

std::string process_line(const State& state, int slot, int card) {
    const Slot& held = state.file->slots[slot];
    const std::uint64_t bytes = slot_bytes(state, slot, card);
    const std::uint32_t contexts = held.contexts[card].load();
    if (bytes == 0 && contexts == 0) return "";
    const pid_t pid = slot_owner(state, slot);
    if (pid == kNobody) return "";
    const std::int64_t worked =
        used_ps(state, {card, Engine::compute}, slot, monotonic_ns()) / kPsPerNs;
    return fmt::format("process {}: card {}, used {} bytes, contexts {}, worked {} ns\n",
                       pid == kInvisible ? "elsewhere" : fmt::format("{}", pid), card, bytes,
                       contexts, worked);
}

}  // namespace

std::string report(const State& state) {
    const int count = static_cast<int>(state.file->card_count);
    std::string out;
    for (int i = 0; i < count; i++) {
        const Card& card = state.file->cards[i];
        out += fmt::format(
            "card {}: {}, {}, minor {}, memory {} bytes, reserved {} bytes, used {} bytes, {}\n", i,
            card.uuid, card.model, card.minor, card.memory_bytes, card.reserved_bytes,
            used_bytes(state, i), condition(state, card));
    }
    for (int slot = 0; slot < kMaxSlots; slot++) {
        for (int card = 0; card < count; card++)
            out += process_line(state, slot, card);
    }
    return out;
}

}  // namespace gpusim
