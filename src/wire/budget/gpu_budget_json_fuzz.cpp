#include "testing/fuzz/fuzz.hpp"
#include "wire/budget/gpu_budget_json.hpp"

// Of any object, the status is valid JSON.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto document = JsonDocument::parse(fuzz_text(data, size));
    if (!document) return 0;
    const BudgetObject budget = read_gpu_budget(document->root());
    (void)parse_budget(budget.fields);
    FUZZ_CHECK(JsonDocument::parse(write_budget_status(budget, {.message = budget.fault}, 0)));
    return 0;
}
