#include "adapters/guard/resized_allocations.hpp"

#include <system_error>

#include "adapters/os/text_file.hpp"
#include "wire/tessera/allocation_json.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

constexpr const char* kAllocation = "allocation.json";

}  // namespace

Result<> ResizedAllocationFiles::keep(const Allocation& allocation) {
    const fs::path folder = pods_ / allocation.pod.str();
    std::error_code error;
    fs::create_directory(folder, error);
    if (!error) fs::permissions(folder, fs::perms::owner_all, error);
    if (error) return fail(Code::unavailable, folder.string() + ": " + error.message());
    return write_text_file(folder / kAllocation, write_allocation(allocation));
}

Result<std::optional<Allocation>> ResizedAllocationFiles::kept(const PodUid& pod) const {
    const fs::path path = pods_ / pod.str() / kAllocation;
    const auto text = read_text_file(path);
    if (!text && text.error().code == Code::not_found) return std::optional<Allocation>{};
    if (!text) return fail(text.error());
    auto allocation = read_allocation(*text);
    if (!allocation) return fail(Error{Code::corrupt, allocation.error().text}.in(path.string()));
    return std::optional(*std::move(allocation));
}

}  // namespace tessera
