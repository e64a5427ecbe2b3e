// Whether a store can keep a record.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/budget/usage_record.hpp"

namespace tessera {

// Of a text. PostgreSQL's indices have rows of at most 2704 bytes, and one index has four texts.
inline constexpr std::size_t kMostStoredBytes = 512;

// SOCI ends texts at a NUL, and PostgreSQL refuses what is no UTF-8. Kubernetes and the driver use
// ASCII.
inline Result<> check_stored_text(std::string_view field, std::string_view text) {
    const auto refuse = [field](std::string_view why) {
        return fail(Code::invalid_argument, "usage record: " + std::string(field) +
                                                std::string(why) +
                                                "; write what Kubernetes or the driver says");
    };
    if (text.size() > kMostStoredBytes) return refuse(" is longer than 512 bytes");
    if (!std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }))
        return refuse(" is not printable ASCII");
    return {};
}

// Every store refuses these records in LedgerStore::add.
inline Result<> check_stored(const UsageRecord& record) {
    TRY_VOID(check_record(record));
    TRY_VOID(check_stored_text("pod", record.pod.str()));
    TRY_VOID(check_stored_text("container", record.container));
    TRY_VOID(check_stored_text("gpu", record.gpu.str()));
    TRY_VOID(check_stored_text("name.ns", record.name.ns));
    TRY_VOID(check_stored_text("name.name", record.name.name));
    return check_stored_text("model", record.model);
}

}  // namespace tessera
