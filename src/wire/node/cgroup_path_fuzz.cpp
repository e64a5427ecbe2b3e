#include "testing/fuzz/fuzz.hpp"
#include "wire/node/cgroup_path.hpp"

// A folder that is found is below the root, and names itself.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto folder = cgroup_folder_of(fuzz_text(data, size));
    if (!folder) return 0;
    FUZZ_CHECK(!folder->empty() && !folder->starts_with('/') && !folder->ends_with('/'));
    FUZZ_CHECK(("/" + *folder + "/").find("/../") == std::string::npos);
    if (folder->find(':') == std::string::npos) {
        const auto again = cgroup_folder_of(*folder);
        FUZZ_CHECK(again && *again == *folder);
    }
    return 0;
}
