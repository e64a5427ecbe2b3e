#include "gpusim/state/compute_mode.hpp"

#include "api/nvidia/nvml.h"

namespace gpusim {
namespace {

// The slot of a server; null if it is dead.
const Slot* find_server(const State& state, std::uint64_t server) {
    for (int i = 0; i < kMaxSlots; i++) {
        const Slot& slot = state.file->slots[i];
        if (slot.in_use.load() == 0 || slot.is_mps_server.load() == 0) continue;
        if (slot.mps_server.load() == server && slot_owner(state, i) != kNobody) return &slot;
    }
    return nullptr;
}

// A server leaves out what it could not hold at its start. Without it, the GPU would not be kept
// for its clients.
bool has_server_on(const State& state, int gpu, std::uint64_t server) {
    const Slot* slot = find_server(state, server);
    return slot != nullptr && slot->contexts[gpu].load() > 0;
}

// Whether the owner of `slot`, which has contexts, keeps processes of `server` (0: none) out.
bool keeps_out(const State& state, int slot, std::uint64_t server) {
    if (slot_owner(state, slot) == kNobody) return false;
    const std::uint64_t other = state.file->slots[slot].mps_server.load();
    if (other == 0) return true;
    return other != server && find_server(state, other) != nullptr;
}

}  // namespace

bool is_admitted(const State& state, int gpu, int slot) {
    const std::uint32_t mode = state.file->gpus[gpu].compute_mode.load();
    if (mode == NVML_COMPUTEMODE_DEFAULT) return true;
    if (mode == NVML_COMPUTEMODE_PROHIBITED) return false;
    const std::uint64_t server = state.file->slots[slot].mps_server.load();
    if (is_mps_client(state, slot) && !has_server_on(state, gpu, server)) return false;
    for (int i = 0; i < kMaxSlots; i++) {
        if (i == slot || state.file->slots[i].contexts[gpu].load() == 0) continue;
        if (keeps_out(state, i, server)) return false;
    }
    return true;
}

std::uint64_t become_mps_server(const State& state, int slot) {
    const std::uint64_t number = state.file->mps_servers_total.load() + 1;
    state.file->mps_servers_total.store(number);
    state.file->slots[slot].is_mps_server.store(1);
    state.file->slots[slot].mps_server.store(number);
    return number;
}

bool is_mps_client(const State& state, int slot) {
    const Slot& owned = state.file->slots[slot];
    return owned.mps_server.load() != 0 && owned.is_mps_server.load() == 0;
}

void end_mps_client(const State& state, std::uint64_t server, int slot, pid_t pid) {
    if (slot < 0 || slot >= kMaxSlots || !is_mps_client(state, slot)) return;
    Slot& owned = state.file->slots[slot];
    if (owned.mps_server.load() == server && slot_owner(state, slot) == pid)
        owned.is_ended.store(1);
}

bool is_over(const State& state, int slot) {
    if (slot_owner(state, slot) == kNobody) return true;
    if (!is_mps_client(state, slot)) return false;
    const Slot& owned = state.file->slots[slot];
    return owned.is_ended.load() != 0 || find_server(state, owned.mps_server.load()) == nullptr;
}

}  // namespace gpusim
