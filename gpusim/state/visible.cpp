#include "gpusim/state/visible.hpp"

#include <cstdlib>
#include <cstring>

namespace gpusim {
namespace {

constexpr char kUuidPrefix[] = "GPU-";
constexpr std::size_t kUuidPrefixLength = sizeof kUuidPrefix - 1;

struct Entry {
    const char* text;
    std::size_t length;
};

// Removes the next entry from the comma-separated `list`, without blanks around it.
bool next_entry(const char*& list, Entry& entry) {
    if (list == nullptr) return false;
    const char* start = list;
    const char* comma = std::strchr(list, ',');
    const char* end = comma != nullptr ? comma : list + std::strlen(list);
    list = comma != nullptr ? comma + 1 : nullptr;
    while (start < end && *start == ' ')
        start++;
    while (end > start && end[-1] == ' ')
        end--;
    entry = {start, static_cast<std::size_t>(end - start)};
    return true;
}

bool is_uuid(const Entry& entry) {
    return entry.length > kUuidPrefixLength &&
           strncasecmp(entry.text, kUuidPrefix, kUuidPrefixLength) == 0;
}

// The position in `among` of the only GPU whose UUID begins with the entry; -1 for none or
// several.
int position_of_uuid(const State& state, const GpuList& among, const Entry& entry) {
    int found = -1;
    for (int i = 0; i < among.count; i++) {
        const char* uuid = state.file->gpus[among.gpus[i]].uuid;
        if (strncasecmp(uuid, entry.text, entry.length) != 0) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

// As the driver reads it: the number that the entry begins with, so "1x" is 1 and "x" is no index.
int position_of_index(const GpuList& among, const Entry& entry) {
    if (entry.length == 0 || entry.text[0] < '0' || entry.text[0] > '9') return -1;
    const unsigned long index = std::strtoul(entry.text, nullptr, 10);
    return index < static_cast<unsigned long>(among.count) ? static_cast<int>(index) : -1;
}

int position_of(const State& state, const GpuList& among, const Entry& entry) {
    return is_uuid(entry) ? position_of_uuid(state, among, entry) : position_of_index(among, entry);
}

bool restricts(const char* nvidia_visible_devices) {
    return nvidia_visible_devices != nullptr && *nvidia_visible_devices != '\0' &&
           std::strcmp(nvidia_visible_devices, "all") != 0 &&
           std::strcmp(nvidia_visible_devices, "void") != 0;
}

}  // namespace

GpuList present_gpus(const State& state, const char* nvidia_visible_devices) {
    GpuList all;
    for (std::uint32_t i = 0; i < state.file->gpu_count; i++) {
        all.gpus[all.count++] = static_cast<int>(i);
    }
    bool allowed[kMaxGpus] = {};
    const bool restricted = restricts(nvidia_visible_devices);
    Entry entry = {};
    while (restricted && next_entry(nvidia_visible_devices, entry)) {
        if (const int gpu = position_of(state, all, entry); gpu >= 0) allowed[gpu] = true;
    }
    GpuList present;
    for (int gpu = 0; gpu < all.count; gpu++) {
        if (restricted && !allowed[gpu]) continue;
        if (has_marker(state, state.file->gpus[gpu])) present.gpus[present.count++] = gpu;
    }
    return present;
}

GpuList cuda_gpus(const State& state, const GpuList& present, const char* cuda_visible_devices) {
    if (cuda_visible_devices == nullptr) return present;
    GpuList chosen;
    bool named[kMaxGpus] = {};
    Entry entry = {};
    while (next_entry(cuda_visible_devices, entry)) {
        const int position = position_of(state, present, entry);
        if (position < 0) break;
        if (named[position]) return {};
        named[position] = true;
        chosen.gpus[chosen.count++] = present.gpus[position];
    }
    return chosen;
}

}  // namespace gpusim
