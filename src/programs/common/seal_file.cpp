#include "programs/common/seal_file.hpp"

#include <fmt/format.h>

#include "adapters/os/text_file.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

Result<AllocationSeal> read(const std::string& path) {
    const auto text = read_text_file(path);
    if (!text) return fail(text.error().in("allocation_key_file"));
    auto seal = AllocationSeal::from_keys(*text);
    if (!seal) return fail(seal.error().in(fmt::format("allocation_key_file: {}", path)));
    return seal;
}

}  // namespace

Result<std::optional<AllocationSeal>> load_seal(const std::string& path) {
    if (path.empty()) {
        log_event(Event::allocations_unsigned);
        return std::optional<AllocationSeal>();
    }
    TRY(auto seal, read(path));
    return std::optional(std::move(seal));
}

Result<> check_seal(const std::string& path) {
    if (!path.empty()) TRY_VOID(read(path));
    return {};
}

}  // namespace tessera
