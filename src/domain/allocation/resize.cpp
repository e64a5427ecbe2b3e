#include "domain/allocation/resize.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

tl::unexpected<Error> refuse(Code code, std::string text) {
    return fail(code, std::move(text));
}

tl::unexpected<Error> refuse(const std::string& container, std::string_view what,
                             std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("container {}: {}: {}", container, what, why));
}

bool has_amounts(const GpuShare& share, const ResizeWish::Container& wish) {
    return share.memory == wish.memory.value_or(share.memory) &&
           share.cores == wish.cores.value_or(share.cores) &&
           share.ceiling == wish.ceiling.value_or(share.ceiling);
}

GpuShare with_amounts(GpuShare share, const ResizeWish::Container& wish) {
    share.memory = wish.memory.value_or(share.memory);
    share.cores = wish.cores.value_or(share.cores);
    share.ceiling = wish.ceiling.value_or(share.ceiling);
    return share;
}

Result<> check_memory(const std::string& name, const GpuShare& share, const Allocation& of,
                      const ResizeRoom& room) {
    if (share.memory < kSmallestShare) {
        return refuse(name, "memory",
                      fmt::format("{} is less than {}, what a card gives out at a time",
                                  to_string(share.memory), to_string(kSmallestShare)));
    }
    const Bytes unit = bytes_per_unit(room.unit);
    if (of.dialect == DialectId::aliyun && share.memory.count % unit.count != 0) {
        return refuse(name, "memory",
                      fmt::format("{} is no multiple of {}, in which its node counts the pod's "
                                  "aliyun.com/gpu-mem",
                                  to_string(share.memory), to_string(unit)));
    }
    const Gpu* gpu = find_gpu(room.gpus, share.uuid);
    if (gpu == nullptr || share.memory <= gpu->capacity()) return {};
    return refuse(name, "memory",
                  fmt::format("{} is more than card {} has, {}", to_string(share.memory),
                              gpu->index, to_string(gpu->capacity())));
}

Result<> check_compute(const std::string& name, const GpuShare& share) {
    if (share.cores.value < 0 || share.cores.value > 100) {
        return refuse(
            name, "cores",
            fmt::format("{} is not a percentage of one card; write 0 to 100", share.cores.value));
    }
    if (share.ceiling.value < 1 || share.ceiling > kNoCeiling) {
        return refuse(
            name, "ceiling",
            fmt::format("{} is not a percentage of one card; write 1 to 100", share.ceiling.value));
    }
    if (share.ceiling >= share.cores) return {};
    return refuse(name, "ceiling",
                  fmt::format("{} percent would be below the cores, {} percent; raise the ceiling "
                              "too",
                              share.ceiling.value, share.cores.value));
}

Result<> change(Allocation& allocation, const ResizeWish::Container& wish, const ResizeRoom& room) {
    const ContainerAllocation* found = find_container(allocation, wish.name);
    if (found == nullptr) {
        std::string names;
        for (const ContainerAllocation& container : allocation.containers)
            names += (names.empty() ? "" : ", ") + container.container;
        return refuse(Code::not_found, fmt::format("the pod has no container {} with a share of a "
                                                   "card; it has {}",
                                                   wish.name, names));
    }
    auto& container =
        allocation.containers[static_cast<std::size_t>(found - allocation.containers.data())];
    for (GpuShare& share : container.gpus) {
        if (share.whole) {
            return refuse(Code::unsupported, fmt::format("container {} has whole cards: there is "
                                                         "nothing to resize",
                                                         wish.name));
        }
        share = with_amounts(share, wish);
        if (wish.memory) TRY_VOID(check_memory(wish.name, share, allocation, room));
        TRY_VOID(check_compute(wish.name, share));
    }
    return {};
}

// Of what the pod holds of one card: what it did, and is to.
struct Growth {
    Hold before;
    Hold after;

    [[nodiscard]] bool of_memory() const { return after.memory > before.memory; }
    [[nodiscard]] bool of_cores() const { return after.cores > before.cores; }
};

Result<> check_room(const Growth& growth, const ResizeRoom& room) {
    const Gpu* gpu = find_gpu(room.gpus, growth.after.uuid);
    if (gpu == nullptr) {
        return refuse(Code::unavailable,
                      fmt::format("card {} is no longer on this node", growth.after.uuid.str()));
    }
    const Card& card = room.cards[static_cast<std::size_t>(gpu - room.gpus.data())];
    if (!card.usable) {
        return refuse(Code::unavailable,
                      fmt::format("card {} is out of use: {}", gpu->index, gpu->reason));
    }
    if (growth.of_memory() && growth.after.memory > card.free()) {
        return refuse(
            Code::unavailable,
            fmt::format("no room on card {}: the pod would hold {} of it, and beside the others "
                        "it can have {}",
                        gpu->index, to_string(growth.after.memory),
                        to_string(std::max(card.free(), Bytes{}))));
    }
    if (growth.of_cores() && (card.cores_held + growth.after.cores).value > 100) {
        return refuse(
            Code::unavailable,
            fmt::format("no room on card {}: the pod would be sure of {} percent of it, and "
                        "beside the others it can be of {}",
                        gpu->index, growth.after.cores.value,
                        std::max(100 - card.cores_held.value, 0)));
    }
    return {};
}

}  // namespace

bool is_granted(const ResizeWish& wish, const Allocation& allocation) {
    return std::ranges::all_of(wish.containers, [&](const ResizeWish::Container& wanted) {
        const ContainerAllocation* has = find_container(allocation, wanted.name);
        return has != nullptr && std::ranges::all_of(has->gpus, [&](const GpuShare& share) {
                   return !share.whole && has_amounts(share, wanted);
               });
    });
}

bool is_resize_of(const Allocation& before, const Allocation& after) {
    const auto is_same_share = [](const GpuShare& a, const GpuShare& b) {
        return a.uuid == b.uuid && a.index == b.index && a.whole == b.whole;
    };
    const auto is_same = [&](const ContainerAllocation& a, const ContainerAllocation& b) {
        return a.container == b.container && a.kind == b.kind &&
               std::ranges::equal(a.gpus, b.gpus, is_same_share);
    };
    return after.revision > before.revision && after.pod == before.pod &&
           after.node == before.node && after.dialect == before.dialect &&
           std::ranges::equal(before.containers, after.containers, is_same);
}

Result<Allocation> resize(const Allocation& now, const ResizeWish& wish, const ResizeRoom& room) {
    Allocation after = now;
    ++after.revision;
    for (const ResizeWish::Container& container : wish.containers)
        TRY_VOID(change(after, container, room));
    const auto held = holds(now.containers);
    const auto wanted = holds(after.containers);
    for (std::size_t i = 0; i < held.size(); ++i) {  // of the same cards
        const Growth growth{held[i], wanted[i]};
        if (growth.of_memory() || growth.of_cores()) TRY_VOID(check_room(growth, room));
    }
    return after;
}

}  // namespace tessera
