#include <array>

#include "programs/common/config.hpp"
#include "testing/fuzz/fuzz.hpp"

// A file that can be read has known keys only. Its resolved values survive print and read.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    static constexpr auto kRows = std::to_array<ConfigRow>({
        {ConfigType::text, "listen", "127.0.0.1", 0, 0, "", "address"},
        {ConfigType::integer, "port", "1", 1, 65535, "", "port"},
        {ConfigType::flag, "verbose", "false", 0, 0, "", "say more"},
    });
    const auto file = read_config_file(kRows, std::string(fuzz_text(data, size)));
    if (!file) return 0;
    FUZZ_CHECK(file->size() <= kRows.size());
    const auto values =
        resolve_config(kRows, {}, *file, [](const char*) -> const char* { return nullptr; });
    if (!values) return 0;
    (void)read_config_file(kRows, print_config(kRows, *values));
    return 0;
}
