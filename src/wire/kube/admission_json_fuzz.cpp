#include "testing/fuzz/fuzz.hpp"
#include "wire/kube/admission_json.hpp"
#include "wire/tessera/keys.hpp"

// For any review, the answer and its patch are valid JSON.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto document = JsonDocument::parse(fuzz_text(data, size));
    if (!document) return 0;
    const auto request = read_admission_review(document->root(), all_dialects());
    if (!request) return 0;
    const PodEdits edits = admit_pod(request->checked.pod,
                                     {.own_annotations = key::kWrittenByTessera,
                                      .scheduler = "tessera-scheduler",
                                      .runtime_class = "nvidia"},
                                     all_dialects());
    const std::string patch = write_pod_patch(edits);
    if (!patch.empty()) FUZZ_CHECK(JsonDocument::parse(patch));
    FUZZ_CHECK(JsonDocument::parse(write_admission_answer(request->id, edits)));
    const auto valid = validate_pod(request->checked, all_dialects());
    if (!valid)
        FUZZ_CHECK(JsonDocument::parse(write_admission_answer(request->id, fail(valid.error()))));
    return 0;
}
