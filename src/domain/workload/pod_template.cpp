#include "domain/workload/pod_template.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace tessera::workload {

std::string files_name(std::string_view object, const std::vector<File>& files) {
    // FNV-1a, 64 bits.
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&](std::string_view text) {
        for (const char c : text)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        hash = (hash ^ 0xff) * 0x100000001b3;  // ends the text: no byte of UTF-8
    };
    for (const File& file : files) {
        add(file.path);
        add(file.content);
    }
    return fmt::format("{}-{:016x}", object, hash);
}

}  // namespace tessera::workload
