#include "testing/fuzz/fuzz.hpp"
#include "wire/extender/extender_json.hpp"
#include "wire/text/json.hpp"

// The first byte chooses: if odd, bind arguments; if even, filter arguments. Arguments that can be
// read can be answered, and the answer is JSON.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    if (size == 0) return 0;
    std::string body(fuzz_text(data + 1, size - 1));
    if (data[0] % 2 == 1) {
        const auto bind = read_bind_args(body);
        if (bind) {
            FUZZ_CHECK(!bind->uid.empty() && !bind->node.empty() && !bind->pod.name.empty());
        } else {
            FUZZ_CHECK(JsonDocument::parse(write_bind_result(bind.error().text)));
        }
        return 0;
    }
    const auto args = read_extender_args(body);
    if (!args) {
        FUZZ_CHECK(JsonDocument::parse(write_filter_error(args.error().text)));
        return 0;
    }
    FUZZ_CHECK(args->raws.size() == (args->full_objects ? args->names.size() : 0));
    FilterAnswer answer;
    for (std::size_t i = 0; i < args->names.size(); ++i) {
        if (i % 2 == 0) {
            answer.fitting.push_back(i);
        } else {
            answer.failed.push_back({i, std::string(args->names[i])});
        }
    }
    const std::string names_only = write_priorities(*args, std::vector<int>(args->names.size(), 5));
    FUZZ_CHECK(JsonDocument::parse(names_only));
    // An object is echoed as the text that came, without parsing.
    const std::string result = write_filter_result(*args, answer);
    FUZZ_CHECK(args->full_objects || JsonDocument::parse(result));
    return 0;
}
